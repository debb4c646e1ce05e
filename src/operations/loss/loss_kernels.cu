// A loss by one block, or in several launches. In f64, the last block to arrive sums over samples: first at a chunk,
// then at all chunks.
#include "samples.cuh"

#include <synfire/synfire.h>

namespace synfire::cuda {
namespace {

// ---- f32 ------------------------------------------------------------------------------------------------------------

__global__ void __launch_bounds__(threads_per_block) share_maxima(const __grid_constant__ LossLaunch launch) {
  wait_for_previous();
  __shared__ uint32_t largest;
  if (threadIdx.x == 0) largest = 0;
  __syncthreads();
  if (is_weighted(launch.loss)) find_largest_share(launch.loss, first_element(), stride(), &largest);
  __syncthreads();
  if (threadIdx.x == 0) launch.loss.sums.largest_share[blockIdx.x] = largest;
}

__global__ void __launch_bounds__(threads_per_block) share_sums(const __grid_constant__ LossLaunch launch) {
  wait_for_previous();
  __shared__ int64_t shares[2];
  const LossSums& sums = launch.loss.sums;
  if (threadIdx.x < 2) shares[threadIdx.x] = 0;
  const uint32_t largest = largest_of_slots(launch.loss, sums);  // synchronises the block
  add_shares(launch.loss, first_element(), stride(), largest, shares);
  __syncthreads();
  if (threadIdx.x < 2) sums.shares[static_cast<int>(threadIdx.x) * sums.n_slots + blockIdx.x] = shares[threadIdx.x];
  if (!launch.clears || blockIdx.x != 0 || threadIdx.x != 0) return;
  *sums.largest = *sums.n_arrived = 0;
  sums.losses[0] = sums.losses[1] = 0;
}

// True if this block is the last of `expected` to arrive, which then sees everything that the others wrote before.
__device__ __forceinline__ bool arrives_last(uint32_t* n_arrived, uint32_t expected) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(n_arrived, 1u) == expected - 1;
    __threadfence();
  }
  __syncthreads();
  const bool is_last = last;
  __syncthreads();
  return is_last;
}

__device__ __forceinline__ int64_t loaded(const int64_t* from) {
  return __ldcg(reinterpret_cast<const long long*>(from));
}
// The loss of a sample, which another block may have written.
__device__ __forceinline__ auto loss_of(const LossSums& sums) {
  return [from = sums.of_samples](int64_t i) { return __ldcg(from + i); };
}
__device__ __forceinline__ void write_loss(const LossArguments& a, int64_t sum, const LossShares& shares,
                                           double divisor) {
  write_results(a, loss_of_terms(sum, __ldcg(a.sums.largest)), divisor,
                static_cast<uint64_t>(loaded(a.sums.losses + 1)), static_cast<uint64_t>(shares.count));
}

template <class E>
__global__ void __launch_bounds__(threads_per_block) samples(const __grid_constant__ LossLaunch launch) {
  wait_for_previous();
  __shared__ double lanes[reduction_lanes];
  __shared__ int64_t total;
  const LossArguments& a = launch.loss;
  const LossSums& sums = a.sums;
  const int64_t n_tiles = (a.n_samples + launch.tile - 1) / launch.tile;
  const LossShares shares = shares_of_slots(a, sums);
  const double divisor = divisor_of(a, shares, all_class_weights(a, lanes));
  const LossConstants<float> k = constants_of<float>(a, factor_of(a, divisor));
  const Group group = group_of(launch.group);
  uint32_t largest = 0;
  int64_t n_correct = 0;
  for (int64_t tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
    const int64_t first = tile * launch.tile;
    const int64_t end = first + launch.tile < a.n_samples ? first + launch.tile : a.n_samples;
    n_correct += samples_of<E, float>(a, k, first, end, group, sums.of_samples, largest);
  }
  __syncwarp();
  warp_max_to(sums.largest, largest);
  warp_sum_to(sums.losses + 1, n_correct);
  if (threadIdx.x == 0) total = 0;
  if (!launch.finishes || !arrives_last(sums.n_arrived, gridDim.x)) return;
  add_losses(a, static_cast<int64_t>(threadIdx.x), static_cast<int64_t>(blockDim.x), __ldcg(sums.largest),
             loss_of(sums), &total);
  __syncthreads();
  if (threadIdx.x == 0) write_loss(a, total, shares, divisor);
}

__global__ void __launch_bounds__(threads_per_block) loss_sums(const __grid_constant__ LossLaunch launch) {
  wait_for_previous();
  __shared__ double lanes[reduction_lanes];
  const LossArguments& a = launch.loss;
  const LossSums& sums = a.sums;
  if (launch.adds) add_losses(a, first_element(), stride(), *sums.largest, loss_of(sums), sums.losses);
  if (!launch.finishes || (launch.adds && !arrives_last(sums.n_arrived, gridDim.x))) return;
  const LossShares shares = shares_of_slots(a, sums);
  const double divisor = divisor_of(a, shares, all_class_weights(a, lanes));
  if (threadIdx.x == 0) write_loss(a, loaded(sums.losses), shares, divisor);
}

// ---- f64 ------------------------------------------------------------------------------------------------------------

__global__ void __launch_bounds__(threads_per_block) divisor(const __grid_constant__ LossLaunch launch) {
  wait_for_previous();
  __shared__ double lanes[reduction_lanes];
  const LossArguments& a = launch.loss;
  const LossScratch& scratch = a.scratch;
  const int64_t n_chunks = (a.n_samples + reduction_chunk - 1) / reduction_chunk;
  if (blockIdx.x == 0) {
    const double all = all_class_weights(a, lanes);
    if (threadIdx.x == 0) *scratch.totals = {all, 0, 0};
  }
  for (int64_t chunk = blockIdx.x; chunk < n_chunks; chunk += gridDim.x) {
    const Weighed weighed = weigh_chunk(a, chunk, lanes);
    if (threadIdx.x != 0) continue;
    scratch.weights[chunk] = weighed.weight;
    scratch.counts[chunk] = weighed.count;
    scratch.n_arrived[chunk] = 0;
  }
}

__global__ void __launch_bounds__(threads_per_block) samples_in_f64(const __grid_constant__ LossLaunch launch) {
  wait_for_previous();
  __shared__ double lanes[reduction_lanes];
  const LossArguments& a = launch.loss;
  const LossScratch& scratch = a.scratch;
  double* const losses = static_cast<double*>(scratch.losses);
  const int64_t n_chunks = (a.n_samples + reduction_chunk - 1) / reduction_chunk;
  const int64_t n_tiles = (a.n_samples + launch.tile - 1) / launch.tile,
                tiles_per_chunk = reduction_chunk / launch.tile;
  const double count = lane_sum(0, n_chunks, lanes, [&](int64_t i) { return scratch.counts[i]; });
  const double weight =
      is_weighted(a) ? lane_sum(0, n_chunks, lanes, [&](int64_t i) { return scratch.weights[i]; }) : 0;
  const double divisor = divisor_of(a, weight, count, scratch.totals->class_weight);
  const LossConstants<double> k = constants_of<double>(a, factor_of(a, divisor));
  const Group group = group_of(launch.group);
  uint32_t unused = 0;
  for (int64_t tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
    const int64_t first = tile * launch.tile;
    const int64_t end = first + launch.tile < a.n_samples ? first + launch.tile : a.n_samples;
    const unsigned n_correct = samples_of<double, double>(a, k, first, end, group, losses, unused);
    if (n_correct != 0)
      atomicAdd(reinterpret_cast<unsigned long long*>(&scratch.totals->n_correct),
                static_cast<unsigned long long>(n_correct));
    const int64_t chunk = tile / tiles_per_chunk, later = n_tiles - chunk * tiles_per_chunk;
    const auto expected = static_cast<uint32_t>(later < tiles_per_chunk ? later : tiles_per_chunk);
    if (!arrives_last(&scratch.n_arrived[chunk], expected)) continue;
    const double sum = lane_sum(chunk * reduction_chunk, chunk_end(chunk, a.n_samples), lanes,
                                [&](int64_t i) { return __ldcg(losses + i); });
    if (threadIdx.x == 0) scratch.sums[chunk] = sum;
    if (!arrives_last(&scratch.totals->n_arrived, static_cast<uint32_t>(n_chunks))) continue;
    const double total = lane_sum(0, n_chunks, lanes, [&](int64_t i) { return __ldcg(scratch.sums + i); });
    if (threadIdx.x == 0)
      write_results(a, total, divisor,
                    atomicAdd(reinterpret_cast<unsigned long long*>(&scratch.totals->n_correct), 0ull),
                    static_cast<uint64_t>(count));
  }
}

// ---- by one block ---------------------------------------------------------------------------------------------------

template <class E>
__global__ void __launch_bounds__(loss_block_threads) block(const __grid_constant__ LossLaunch launch) {
  wait_for_previous();
  whole_loss<E>(launch);
}

using SourceTypes = NumberTypes::with<uint32_t>;

}  // namespace

const void* loss_share_maxima_kernel() {
  return address(share_maxima);
}
const void* loss_share_sums_kernel() {
  return address(share_sums);
}
const void* loss_sums_kernel() {
  return address(loss_sums);
}
const void* loss_divisor_kernel() {
  return address(divisor);
}
const void* loss_samples_kernel(int32_t dtype) {
  if (dtype == SYNFIRE_DTYPE_F64) return address(samples_in_f64);
  return core::with_element_type(F32NumberTypes::with<uint32_t>{}, dtype,
                                 [](auto type) { return address(samples<typename decltype(type)::Type>); });
}
const void* loss_block_kernel(int32_t dtype) {
  return core::with_element_type(SourceTypes{}, dtype,
                                 [](auto type) { return address(block<typename decltype(type)::Type>); });
}

}  // namespace synfire::cuda

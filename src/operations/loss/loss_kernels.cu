// A loss in two launches, or by one block. The last block to arrive sums over samples: first a chunk, then all chunks.
#include "samples.cuh"

#include <synfire/synfire.h>

namespace synfire::cuda {
namespace {

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

template <class E>
__global__ void __launch_bounds__(threads_per_block) samples(const __grid_constant__ LossLaunch launch) {
  wait_for_previous();
  using R = Arithmetic<E>;
  __shared__ double lanes[reduction_lanes];
  const LossArguments& a = launch.loss;
  const LossScratch& scratch = a.scratch;
  R* const losses = static_cast<R*>(scratch.losses);
  const int64_t n_chunks = (a.n_samples + reduction_chunk - 1) / reduction_chunk;
  const int64_t n_tiles = (a.n_samples + launch.tile - 1) / launch.tile,
                tiles_per_chunk = reduction_chunk / launch.tile;
  const double count = lane_sum(0, n_chunks, lanes, [&](int64_t i) { return scratch.counts[i]; });
  const double weight =
      is_weighted(a) ? lane_sum(0, n_chunks, lanes, [&](int64_t i) { return scratch.weights[i]; }) : 0;
  const double divisor = divisor_of(a, weight, count, scratch.totals->class_weight);
  const LossConstants<R> k = constants_of<R>(a, factor_of(a, divisor));
  const Group group = group_of(launch.group);
  for (int64_t tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
    const int64_t first = tile * launch.tile;
    const int64_t end = first + launch.tile < a.n_samples ? first + launch.tile : a.n_samples;
    const unsigned n_correct = samples_of<E, R>(a, k, first, end, group, losses);
    if (n_correct != 0)
      atomicAdd(reinterpret_cast<unsigned long long*>(&scratch.totals->n_correct),
                static_cast<unsigned long long>(n_correct));
    const int64_t chunk = tile / tiles_per_chunk, later = n_tiles - chunk * tiles_per_chunk;
    const auto expected = static_cast<uint32_t>(later < tiles_per_chunk ? later : tiles_per_chunk);
    if (!arrives_last(&scratch.n_arrived[chunk], expected)) continue;
    const double sum = lane_sum(chunk * reduction_chunk, chunk_end(chunk, a.n_samples), lanes,
                                [&](int64_t i) { return static_cast<double>(__ldcg(losses + i)); });
    if (threadIdx.x == 0) scratch.sums[chunk] = sum;
    if (!arrives_last(&scratch.totals->n_arrived, static_cast<uint32_t>(n_chunks))) continue;
    const double total = lane_sum(0, n_chunks, lanes, [&](int64_t i) { return __ldcg(scratch.sums + i); });
    if (threadIdx.x == 0)
      write_results(a, total, divisor,
                    atomicAdd(reinterpret_cast<unsigned long long*>(&scratch.totals->n_correct), 0ull),
                    static_cast<uint64_t>(count));
  }
}

template <class E>
__global__ void __launch_bounds__(loss_block_threads) block(const __grid_constant__ LossLaunch launch) {
  wait_for_previous();
  whole_loss<E>(launch);
}

using SourceTypes = NumberTypes::with<uint32_t>;

}  // namespace

const void* loss_divisor_kernel() {
  return address(divisor);
}
const void* loss_samples_kernel(int32_t dtype) {
  return core::with_element_type(SourceTypes{}, dtype,
                                 [](auto type) { return address(samples<typename decltype(type)::Type>); });
}
const void* loss_block_kernel(int32_t dtype) {
  return core::with_element_type(SourceTypes{}, dtype,
                                 [](auto type) { return address(block<typename decltype(type)::Type>); });
}

}  // namespace synfire::cuda

// Counts spikes, sums the deviations of chunks of neurons, and gives every step of a neuron the same gradient.
#include "rate_loss_kernels.hpp"
#include "rate_loss_steps.cuh"

#include <backends/cuda/cuda_storage.cuh>
#include <operations/lane_tree.cuh>
#include <operations/spikes/blocks.cuh>

#include <synfire/synfire.h>

namespace synfire::cuda {
namespace {

using namespace synfire::model;
using operations::Rates;
using operations::RateWork;

constexpr int threads = reduction_lanes;

// ---- counts ---------------------------------------------------------------------------------------------------------

template <class From>
__global__ void __launch_bounds__(spike_threads) count(const __grid_constant__ RateCountLaunch launch) {
  wait_for_previous();
  __shared__ BitsTile tile;
  const Extents& e = launch.extents;
  const int64_t n_rows = launch.counting.rows(e.batch);
  for (int64_t index = blockIdx.x; index < launch.n_runs * launch.n_tiles; index += gridDim.x) {
    const int64_t first = index / launch.n_tiles * launch.run;
    const int64_t end = first + launch.run < launch.n_pairs ? first + launch.run : launch.n_pairs;
    Place at = {};
    u64 sum = 0;
    for (int64_t pair = first; pair < end; ++pair) {
      at = place(e, pair / e.batch, pair % e.batch, index % launch.n_tiles);
      if (at.row >= n_rows) continue;
      const int64_t steps = launch.counting.steps(e.n_steps, at.row) - at.step;
      if (steps <= 0) continue;
      const uint32_t word = Format<From>::read(launch.spikes, e, at, tile);
      sum += static_cast<u64>(__popc(steps < 32 ? word & ((1u << steps) - 1) : word));
    }
    if (at.exists && sum != 0) atomicAdd(reinterpret_cast<u64*>(launch.counts) + at.neuron, sum);
  }
}

// ---- sums and the loss ----------------------------------------------------------------------------------------------

__device__ __forceinline__ Rates rates_of(const RateLaunch& launch, u64 counted) {
  return {launch.target_value ? *launch.target_value : launch.target,
          launch.strength_value ? *launch.strength_value : launch.strength, launch.extents.n_neurons, counted,
          launch.whole_layer};
}

__device__ void finish(const RateLaunch& launch, u64 counted, double squares, u64 total) {
  const RateWork work(launch.work, launch.extents.n_neurons);
  work.summary[0] = counted;
  work.summary[1] = total;
  if (!launch.loss) return;
  const double loss = rates_of(launch, counted).loss(squares, total);
  if (launch.wide_loss) {
    double& to = *static_cast<double*>(launch.loss);
    to = launch.add_loss ? to + loss : loss;
  } else {
    float& to = *static_cast<float*>(launch.loss);
    to = static_cast<float>(launch.add_loss ? static_cast<double>(to) + loss : loss);
  }
}

__global__ void __launch_bounds__(threads) sums(const __grid_constant__ RateLaunch launch) {
  wait_for_previous();
  __shared__ double lanes[reduction_lanes];
  __shared__ u64 whole[reduction_lanes];
  const int64_t n_neurons = launch.extents.n_neurons, n_chunks = RateWork::n_chunks(n_neurons);
  const RateWork work(launch.work, n_neurons);
  const u64 counted = counted_steps(launch.extents, launch.counting, whole);
  const Rates rates = rates_of(launch, counted);
  for (int64_t chunk = blockIdx.x; chunk < n_chunks; chunk += gridDim.x) {
    const int64_t first = chunk * reduction_chunk;
    const int64_t end = first + reduction_chunk < n_neurons ? first + reduction_chunk : n_neurons;
    double lane = 0;
    u64 spikes = 0;
#pragma unroll 8
    for (int64_t n = first + threadIdx.x; n < end; n += threads) {
      const u64 count = launch.counts[n];
      spikes += count;
      if (launch.whole_layer || counted == 0) continue;
      const double off = rates.deviation(count, 0);
      lane = fma(off, off, lane);
    }
    const double squares = tree_sum(lane, lanes);
    const u64 total = tree_sum(spikes, whole);
    if (threadIdx.x != 0) continue;
    work.squares[chunk] = squares;
    work.totals[chunk] = total;
    if (n_chunks == 1) finish(launch, counted, squares, total);
  }
}

__global__ void __launch_bounds__(threads) total(const __grid_constant__ RateLaunch launch) {
  wait_for_previous();
  __shared__ double lanes[reduction_lanes];
  __shared__ u64 whole[reduction_lanes];
  const int64_t n_neurons = launch.extents.n_neurons, n_chunks = RateWork::n_chunks(n_neurons);
  const RateWork work(launch.work, n_neurons);
  double lane = 0;
  u64 spikes = 0;
  for (int64_t chunk = threadIdx.x; chunk < n_chunks; chunk += threads) {
    lane += work.squares[chunk];
    spikes += work.totals[chunk];
  }
  const double squares = tree_sum(lane, lanes);
  const u64 all = tree_sum(spikes, whole);
  const u64 counted = counted_steps(launch.extents, launch.counting, whole);
  if (threadIdx.x == 0) finish(launch, counted, squares, all);
}

// ---- the gradient ---------------------------------------------------------------------------------------------------

template <class To>
__global__ void __launch_bounds__(rate_spread_threads) spread(const __grid_constant__ RateLaunch launch) {
  wait_for_previous();
  using R = Arithmetic<To>;
  constexpr int n_warps = rate_spread_threads / 32;
  const Extents& e = launch.extents;
  const RateWork work(launch.work, e.n_neurons);
  const u64 counted = work.summary[0], all = work.summary[1];
  const Rates rates = rates_of(launch, counted);
  const int64_t n_rows = launch.counting.rows(e.batch), all_rows = e.n_steps * e.batch;
  const int64_t n_tiles = (e.n_neurons + 31) / 32, n_pieces = n_tiles * ((all_rows + rate_rows - 1) / rate_rows);
  for (int64_t piece = blockIdx.x; piece < n_pieces; piece += gridDim.x) {
    const int64_t neuron = piece % n_tiles * 32 + threadIdx.x % 32;
    if (neuron >= e.n_neurons) continue;
    const R value = counted == 0 ? R(0) : static_cast<R>(rates.gradient(launch.counts[neuron], all));
    const int64_t first = piece / n_tiles * rate_rows;
    const int64_t end = first + rate_rows < all_rows ? first + rate_rows : all_rows;
    int64_t t = (first + threadIdx.x / 32) / e.batch, b = (first + threadIdx.x / 32) % e.batch;
    for (int64_t row = first + threadIdx.x / 32; row < end; row += n_warps) {
      const bool receives = b < n_rows && launch.counting.counts(t, b);
      To& to = static_cast<To*>(launch.grad)[t * launch.pitch + b * e.n_neurons + neuron];
      if (!launch.add_grad)
        to = encode<To, R>(receives ? value : R(0));
      else if (receives)
        to = encode<To, R>(static_cast<R>(decode(to)) + value);
      for (b += n_warps; b >= e.batch; b -= e.batch) ++t;
    }
  }
}

}  // namespace

const void* rate_count_kernel(operations::SpikeStorage storage) {
  static const void* const kernels[operations::n_spike_storages] = {address(count<uint8_t>),  address(count<uint16_t>),
                                                                    address(count<uint32_t>), address(count<uint64_t>),
                                                                    address(count<Bits>),     address(count<TimeBits>)};
  return kernels[static_cast<int>(storage)];
}
const void* rate_sums_kernel() {
  return address(sums);
}
const void* rate_total_kernel() {
  return address(total);
}
const void* rate_spread_kernel(int32_t dtype) {
  return core::with_element_type(NumberTypes{}, dtype,
                                 [](auto type) { return address(spread<typename decltype(type)::Type>); });
}

}  // namespace synfire::cuda

// Conversions and counts of spikes. All arithmetic is on integers, so the order of additions does not matter.
#include "spikes_kernels.hpp"

#include "blocks.cuh"

#include <backends/cuda/wait.cuh>

#include <synfire/synfire.h>

namespace synfire::cuda {
namespace {

template <class From, class To>
__global__ void __launch_bounds__(spike_threads) convert(const __grid_constant__ ConvertSpikesLaunch launch) {
  wait_for_previous();
  __shared__ BitsTile tile;
  const Extents& e = launch.extents;
  const int64_t per_row = row_tiles(e);
  for (int64_t index = blockIdx.x; index < launch.n_tiles; index += gridDim.x) {
    const int64_t row = index / per_row;
    const Place at = place(e, row / e.batch, row % e.batch, index % per_row);
    Format<To>::write(Format<From>::read(launch.source, e, at, tile), launch.destination, e, at, tile);
  }
}

__device__ __forceinline__ void add(uint32_t* count, uint32_t value) {
  atomicAdd(count, value);
}
__device__ __forceinline__ void add(uint64_t* count, uint64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(count), static_cast<unsigned long long>(value));
}

template <class From, class C>
__global__ void __launch_bounds__(spike_threads) count(const __grid_constant__ CountSpikesLaunch launch) {
  wait_for_previous();
  __shared__ BitsTile tile;
  const Extents& e = launch.extents;
  C* const counts = static_cast<C*>(launch.counts);
  const int64_t per_row = row_tiles(e), groups = (e.n_steps + 31) / 32;
  const bool neurons = launch.kind == SYNFIRE_COUNT_PER_NEURON, steps = launch.kind == SYNFIRE_COUNT_PER_STEP;
  // A run goes along the groups of steps or the tiles of a row; the other index is fixed.
  const int64_t length = neurons ? groups : per_row;
  const int64_t runs_per_line = (length + launch.run - 1) / launch.run;
  C sum = 0;
  for (int64_t index = blockIdx.x; index < launch.n_runs; index += gridDim.x) {
    const int64_t line = index / runs_per_line, first = index % runs_per_line * launch.run;
    const int64_t end = first + launch.run < length ? first + launch.run : length;
    const int64_t across = line / e.batch, row = line % e.batch;
    Place at = {};
    for (int64_t i = first; i < end; ++i) {
      at = neurons ? place(e, i, row, across) : place(e, across, row, i);
      const uint32_t word = Format<From>::read(launch.spikes, e, at, tile);
      sum += static_cast<C>(__popc(steps ? transposed(word) : word));
    }
    if (neurons) {
      if (at.exists && sum != 0) add(counts + at.row * e.n_neurons + at.neuron, sum);
      sum = 0;
    } else if (steps) {
      if (sum != 0) add(counts + at.step + threadIdx.x % 32, sum);
      sum = 0;
    }
  }
  if (neurons || steps) return;
  for (int half = 16; half > 0; half /= 2) sum += __shfl_xor_sync(0xFFFFFFFF, sum, half);
  if (threadIdx.x % 32 == 0 && sum != 0) add(counts, sum);
}

template <class From>
const void* convert_from(operations::SpikeStorage to) {
  static const void* const kernels[operations::n_spike_storages] = {
      reinterpret_cast<const void*>(&convert<From, uint8_t>),  reinterpret_cast<const void*>(&convert<From, uint16_t>),
      reinterpret_cast<const void*>(&convert<From, uint32_t>), reinterpret_cast<const void*>(&convert<From, uint64_t>),
      reinterpret_cast<const void*>(&convert<From, Bits>),     reinterpret_cast<const void*>(&convert<From, TimeBits>)};
  return kernels[static_cast<int>(to)];
}

}  // namespace

const void* convert_spikes_kernel(operations::SpikeStorage from, operations::SpikeStorage to) {
  switch (from) {
    case operations::SpikeStorage::bytes1:
      return convert_from<uint8_t>(to);
    case operations::SpikeStorage::bytes2:
      return convert_from<uint16_t>(to);
    case operations::SpikeStorage::bytes4:
      return convert_from<uint32_t>(to);
    case operations::SpikeStorage::bytes8:
      return convert_from<uint64_t>(to);
    case operations::SpikeStorage::bits:
      return convert_from<Bits>(to);
    default:
      return convert_from<TimeBits>(to);
  }
}

template <class C>
const void* count_spikes_kernel(operations::SpikeStorage storage) {
  static const void* const kernels[operations::n_spike_storages] = {
      reinterpret_cast<const void*>(&count<uint8_t, C>),  reinterpret_cast<const void*>(&count<uint16_t, C>),
      reinterpret_cast<const void*>(&count<uint32_t, C>), reinterpret_cast<const void*>(&count<uint64_t, C>),
      reinterpret_cast<const void*>(&count<Bits, C>),     reinterpret_cast<const void*>(&count<TimeBits, C>)};
  return kernels[static_cast<int>(storage)];
}
template const void* count_spikes_kernel<uint32_t>(operations::SpikeStorage);
template const void* count_spikes_kernel<uint64_t>(operations::SpikeStorage);

}  // namespace synfire::cuda

// Conversions and counts of spikes. A warp holds 32 steps of 32 neurons time-packed: lane i has the word of neuron i,
// bit t is step t. Every format is read into such words and written from them; all arithmetic is on whole numbers, so
// the order of additions does not matter.
#include "spike_kernels.hpp"
#include "wait.cuh"

#include <synfire/synfire.h>

namespace synfire::cuda {
namespace {

using core::Extents;
using core::SpikeArray;

struct Bits {};
struct TimeBits {};

// Where a warp works, and how much of it exists.
struct Place {
  int64_t step, row, word;  // the block's first step, its batch row, the first word of its tile
  int64_t neuron;           // the lane's
  int steps;
  bool exists;  // the lane's neuron does
};

__device__ __forceinline__ Place place(const Extents& e, int64_t layer, int64_t row, int64_t tile) {
  Place at;
  at.step = layer * 32;
  at.row = row;
  at.word = tile * words_per_tile;
  at.neuron = at.word * 32 + threadIdx.x;
  at.steps = e.n_steps - at.step < 32 ? static_cast<int>(e.n_steps - at.step) : 32;
  at.exists = at.neuron < e.n_neurons;
  return at;
}

// Bit j of lane i goes to bit i of lane j: ever smaller squares off the diagonal change places.
__device__ __forceinline__ uint32_t transposed(uint32_t word) {
  uint32_t mask = 0x0000FFFF;
#pragma unroll
  for (int half = 16; half > 0; half /= 2) {
    const uint32_t other = __shfl_xor_sync(0xFFFFFFFF, word, half);
    word = (threadIdx.x & static_cast<unsigned>(half)) == 0 ? (word & mask) | ((other & mask) << half)
                                                            : (word & ~mask) | ((other & ~mask) >> half);
    mask ^= mask << (half / 2);
  }
  return word;
}

// ---- reading and writing one format ---------------------------------------------------------------------------------

// Neuron-packed words of a tile pass through shared memory, where a thread has word i mod 8 of step i / 8: a row's
// words are read and written together. The last column keeps a warp's reads in different banks.
struct BitsTile {
  uint32_t words[32][words_per_tile + 1];
};

template <class F>
struct Format;

template <class E>
struct Dense {
  static __device__ __forceinline__ E* element(const SpikeArray& spikes, const Extents& e, const Place& at) {
    return static_cast<E*>(spikes.data) + at.step * spikes.pitch + at.row * e.n_neurons + at.neuron;
  }
  static __device__ __forceinline__ uint32_t read(const SpikeArray& spikes, const Extents& e, const Place& at,
                                                  BitsTile&) {
    if (!at.exists) return 0;
    const E* const from = element(spikes, e, at);
    const E magnitude = static_cast<E>(spikes.magnitude);
    uint32_t word = 0;
    if (at.steps == 32) {
#pragma unroll
      for (int t = 0; t < 32; ++t) word |= static_cast<uint32_t>((from[t * spikes.pitch] & magnitude) != 0) << t;
    } else {
      for (int t = 0; t < at.steps; ++t) word |= static_cast<uint32_t>((from[t * spikes.pitch] & magnitude) != 0) << t;
    }
    return word;
  }
  static __device__ __forceinline__ void write(uint32_t word, const SpikeArray& spikes, const Extents& e,
                                               const Place& at, BitsTile&) {
    if (!at.exists) return;
    E* const to = element(spikes, e, at);
    const E one = static_cast<E>(spikes.one);
    for (int t = 0; t < at.steps; ++t) to[t * spikes.pitch] = (word >> t & 1u) != 0 ? one : E(0);
  }
};
template <>
struct Format<uint8_t> : Dense<uint8_t> {};
template <>
struct Format<uint16_t> : Dense<uint16_t> {};
template <>
struct Format<uint32_t> : Dense<uint32_t> {};
template <>
struct Format<uint64_t> : Dense<uint64_t> {};

template <>
struct Format<TimeBits> {
  static __device__ __forceinline__ uint32_t* word(const SpikeArray& spikes, const Extents& e, const Place& at) {
    return static_cast<uint32_t*>(spikes.data) + at.step / 32 * spikes.pitch + at.row * e.n_neurons + at.neuron;
  }
  static __device__ __forceinline__ uint32_t read(const SpikeArray& spikes, const Extents& e, const Place& at,
                                                  BitsTile&) {
    if (!at.exists) return 0;
    return *word(spikes, e, at) & (0xFFFFFFFFu >> (32 - at.steps));
  }
  static __device__ __forceinline__ void write(uint32_t value, const SpikeArray& spikes, const Extents& e,
                                               const Place& at, BitsTile&) {
    if (at.exists) *word(spikes, e, at) = value;
  }
};

// Every thread of the block must come here.
template <>
struct Format<Bits> {
  static __device__ __forceinline__ uint32_t read(const SpikeArray& spikes, const Extents& e, const Place& at,
                                                  BitsTile& tile) {
    const int step = static_cast<int>(threadIdx.x) / words_per_tile,
              column = static_cast<int>(threadIdx.x) % words_per_tile;
    const bool mine = step < at.steps && at.word + column < e.words_per_row();
    const uint32_t loaded = mine ? *word(spikes, e, at, step, column) : 0;
    __syncthreads();  // the tile before this one has been read
    tile.words[step][column] = loaded;
    __syncthreads();
    const uint32_t value = transposed(tile.words[threadIdx.x % 32][threadIdx.x / 32]);
    return at.exists ? value : 0;
  }
  static __device__ __forceinline__ void write(uint32_t value, const SpikeArray& spikes, const Extents& e,
                                               const Place& at, BitsTile& tile) {
    const int step = static_cast<int>(threadIdx.x) / words_per_tile,
              column = static_cast<int>(threadIdx.x) % words_per_tile;
    const uint32_t packed = transposed(value);
    __syncthreads();
    tile.words[threadIdx.x % 32][threadIdx.x / 32] = packed;
    __syncthreads();
    if (step < at.steps && at.word + column < e.words_per_row())
      *word(spikes, e, at, step, column) = tile.words[step][column];
  }

 private:
  static __device__ __forceinline__ uint32_t* word(const SpikeArray& spikes, const Extents& e, const Place& at,
                                                   int step, int column) {
    return static_cast<uint32_t*>(spikes.data) + (at.step + step) * spikes.pitch + at.row * e.words_per_row() +
           at.word + column;
  }
};

// ---- kernels --------------------------------------------------------------------------------------------------------

__device__ __forceinline__ int64_t row_tiles(const Extents& e) {
  return (e.words_per_row() + words_per_tile - 1) / words_per_tile;
}

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
  const int64_t per_row = row_tiles(e), layers = (e.n_steps + 31) / 32;
  const bool neurons = launch.kind == SYNFIRE_COUNT_PER_NEURON, steps = launch.kind == SYNFIRE_COUNT_PER_STEP;
  // A run goes along the layers or along the tiles of a row; the other of the two is fixed within it.
  const int64_t length = neurons ? layers : per_row;
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
const void* convert_from(core::SpikeStorage to) {
  static const void* const kernels[core::n_spike_storages] = {
      reinterpret_cast<const void*>(&convert<From, uint8_t>),  reinterpret_cast<const void*>(&convert<From, uint16_t>),
      reinterpret_cast<const void*>(&convert<From, uint32_t>), reinterpret_cast<const void*>(&convert<From, uint64_t>),
      reinterpret_cast<const void*>(&convert<From, Bits>),     reinterpret_cast<const void*>(&convert<From, TimeBits>)};
  return kernels[static_cast<int>(to)];
}

}  // namespace

const void* convert_spikes_kernel(core::SpikeStorage from, core::SpikeStorage to) {
  switch (from) {
    case core::SpikeStorage::bytes1:
      return convert_from<uint8_t>(to);
    case core::SpikeStorage::bytes2:
      return convert_from<uint16_t>(to);
    case core::SpikeStorage::bytes4:
      return convert_from<uint32_t>(to);
    case core::SpikeStorage::bytes8:
      return convert_from<uint64_t>(to);
    case core::SpikeStorage::bits:
      return convert_from<Bits>(to);
    default:
      return convert_from<TimeBits>(to);
  }
}

template <class C>
const void* count_spikes_kernel(core::SpikeStorage spikes) {
  static const void* const kernels[core::n_spike_storages] = {
      reinterpret_cast<const void*>(&count<uint8_t, C>),  reinterpret_cast<const void*>(&count<uint16_t, C>),
      reinterpret_cast<const void*>(&count<uint32_t, C>), reinterpret_cast<const void*>(&count<uint64_t, C>),
      reinterpret_cast<const void*>(&count<Bits, C>),     reinterpret_cast<const void*>(&count<TimeBits, C>)};
  return kernels[static_cast<int>(spikes)];
}
template const void* count_spikes_kernel<uint32_t>(core::SpikeStorage);
template const void* count_spikes_kernel<uint64_t>(core::SpikeStorage);

}  // namespace synfire::cuda

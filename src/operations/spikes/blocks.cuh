// Spikes on a GPU: a warp holds 32 steps of 32 neurons time-packed; lane i has the word of neuron i, bit t is step t.
// Every format is read into such words and written from them, by blocks of spike_threads.
#ifndef SYNFIRE_OPERATIONS_SPIKES_BLOCKS_CUH
#define SYNFIRE_OPERATIONS_SPIKES_BLOCKS_CUH

#include "spikes_kernels.hpp"

namespace synfire::cuda {
namespace {

using core::Extents;
using operations::SpikeArray;

struct Bits {};
struct TimeBits {};

// The block of a warp, and how much of it exists.
struct Place {
  int64_t step, row, word;  // the block's first step, its batch row, the first word of its tile
  int64_t neuron;           // the lane's
  int steps;
  bool exists;  // the lane's neuron does
};

__device__ __forceinline__ Place place(const Extents& e, int64_t group, int64_t row, int64_t tile) {
  Place at;
  at.step = group * 32;
  at.row = row;
  at.word = tile * words_per_tile;
  at.neuron = at.word * 32 + threadIdx.x;
  at.steps = e.n_steps - at.step < 32 ? static_cast<int>(e.n_steps - at.step) : 32;
  at.exists = at.neuron < e.n_neurons;
  return at;
}

// Bit j of lane i goes to bit i of lane j, by swapping ever smaller squares off the diagonal.
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
// words are accessed together. The last column keeps a warp's reads in different banks.
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

// Every thread of the block must call this.
template <>
struct Format<Bits> {
  static __device__ __forceinline__ uint32_t read(const SpikeArray& spikes, const Extents& e, const Place& at,
                                                  BitsTile& tile) {
    const int step = static_cast<int>(threadIdx.x) / words_per_tile,
              column = static_cast<int>(threadIdx.x) % words_per_tile;
    const bool mine = step < at.steps && at.word + column < e.words_per_row();
    const uint32_t loaded = mine ? *word(spikes, e, at, step, column) : 0;
    __syncthreads();  // wait until the previous tile has been read
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

__device__ __forceinline__ int64_t row_tiles(const Extents& e) {
  return (e.words_per_row() + words_per_tile - 1) / words_per_tile;
}

}  // namespace
}  // namespace synfire::cuda

#endif

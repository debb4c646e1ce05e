// Which neurons a thread owns, and where a warp's packed words go.
//
// A warp owns a tile, neighbouring elements of a row [B, N] of the state, over all steps. Rows of a tile may begin
// anywhere: nothing here needs an alignment.
#ifndef SYNFIRE_OPERATIONS_NEURON_TILES_CUH
#define SYNFIRE_OPERATIONS_NEURON_TILES_CUH

#include "kernels.hpp"

#include <synfire/model/platform.hpp>

namespace synfire::cuda {
namespace {

using model::u32;

inline constexpr int warp_lanes = 32;

// How W neurons of a thread lie: side by side, for accesses of W elements, which rows must be aligned to; or a warp's
// width apart, for accesses of one element, which need no alignment and are as well coalesced.
template <int W>
struct Adjacent {
  static constexpr int width = W;
  static constexpr int adjacent = W;
  static __device__ __forceinline__ constexpr int offset(int w) { return w; }
};
template <int W>
struct Strided {
  static constexpr int width = W;
  static constexpr int adjacent = 1;
  static __device__ __forceinline__ constexpr int offset(int w) { return w * warp_lanes; }
};
template <class O>
inline constexpr int tile_elements = O::width * warp_lanes;

// Calls f with the type of an ownership that has an instance; 1: there is none with several neurons.
template <int AdjacentWidth, int StridedWidth, class F>
void visit_ownership(const Ownership& ownership, F f) {
  if (ownership == Ownership{1}) f(Strided<1>{});
  if constexpr (StridedWidth > 1)
    if (ownership == Ownership{StridedWidth}) f(Strided<StridedWidth>{});
  if constexpr (AdjacentWidth > 1)
    if (ownership == Ownership{AdjacentWidth, true}) f(Adjacent<AdjacentWidth>{});
}

// Which of its neurons a thread computes: of adjacent ones all or none, of strided ones any.
template <class O>
class Owned {
 public:
  Owned() = default;
  __device__ __forceinline__ explicit Owned(u32 bits) : bits_(bits) {}

  __device__ __forceinline__ bool operator[](int w) const {
    return O::width == O::adjacent ? bits_ != 0 : (bits_ >> w & 1u) != 0;
  }
  __device__ __forceinline__ bool any() const { return bits_ != 0; }

 private:
  u32 bits_ = 0;
};

__device__ __forceinline__ int lane_of_warp() {
  return static_cast<int>(threadIdx.x % warp_lanes);
}
// The warps of a block take successive tiles.
__device__ __forceinline__ int64_t tile_of(unsigned block) {
  return static_cast<int64_t>(block) * (blockDim.x / warp_lanes) + threadIdx.x / warp_lanes;
}

// The elements that a tile owns.
struct Range {
  int64_t first;
  int count;
};

template <class O>
__device__ __forceinline__ Range range_of(int64_t tile, int64_t row) {
  const int64_t first = tile * tile_elements<O>, left = row - first;
  return {first, left < tile_elements<O> ? static_cast<int>(left) : tile_elements<O>};
}

// Threads read valid elements in place of neurons that they do not own, and write nothing there: they take part in warp
// votes, and loads need no condition. For that, the last tile of a row reads from an earlier element on, so that it
// ends with the row.
template <class O>
__device__ __forceinline__ int64_t window_of(const Range& tile, int64_t row) {
  if (O::adjacent > 1) return tile.first;
  const int64_t latest = row - tile_elements<O>;
  return tile.first <= latest ? tile.first : latest > 0 ? latest : 0;
}

// The first element of a thread.
template <class O>
__device__ __forceinline__ int64_t element_in(int64_t window, int64_t row) {
  const int64_t element = window + lane_of_warp() * O::adjacent;
  const int64_t latest = row - O::adjacent;
  return O::width > 1 && O::adjacent == 1 ? element : element < latest ? element : latest;
}

// Elements from `active` on belong to batch rows that the pass leaves out.
template <class O>
__device__ __forceinline__ Owned<O> owned_in(const Range& tile, int64_t window, int64_t active) {
  const int from = static_cast<int>(tile.first - window);
  const int64_t present = active - window;
  const int to = present < from + tile.count ? static_cast<int>(present < 0 ? 0 : present) : from + tile.count;
  if constexpr (O::adjacent > 1) return Owned<O>(lane_of_warp() * O::width < to ? 1u : 0u);
  u32 owned = 0;
#pragma unroll
  for (int w = 0; w < O::width; ++w) {
    const int at = lane_of_warp() + O::offset(w);
    owned |= at >= from && at < to ? 1u << w : 0u;
  }
  return Owned<O>(owned);
}

// The word that this lane writes at every step.
struct OwnWord {
  int64_t index;  // in a row of words
  int64_t start;  // its first neuron, an element of a row
  int bits;       // the last word of a batch row may have fewer than 32
  bool exists;
};

__device__ __forceinline__ int64_t quotient(int64_t a, int64_t b, bool narrow) {
  return narrow ? static_cast<int64_t>(static_cast<u32>(a) / static_cast<u32>(b)) : a / b;
}

// Words end with their batch row. A tile has the same number of whole words everywhere, as many as fit, so its elements
// are neighbours although its words may have fewer bits than 32.
template <class O>
__device__ __forceinline__ OwnWord own_word(const Tiles& tiles, const core::Extents& extents, int64_t tile) {
  // Adjacent neurons of a word are those of 32 / W lanes, the first of which writes it; else lane k writes word k.
  constexpr int lanes_of_word = O::adjacent > 1 ? warp_lanes / O::width : 1;
  const int words = O::adjacent == 1 && tiles.words > 0 ? tiles.words : O::width;
  const int lane = lane_of_warp() / lanes_of_word;
  const int64_t index = tile * words + lane;
  if (O::adjacent > 1 || tiles.words == 0) {
    const int64_t start = index * 32, left = tiles.elements - start;
    return {index, start, static_cast<int>(left < 32 ? left : 32),
            lane < words && lane_of_warp() % lanes_of_word == 0 && left > 0};
  }
  const int64_t per_row = extents.words_per_row(), n_words = extents.batch * per_row;
  const int64_t batch_row = quotient(index, per_row, n_words < (int64_t{1} << 32) - warp_lanes);
  const int64_t first = (index - batch_row * per_row) * 32, left = extents.n_neurons - first;
  return {index, batch_row * extents.n_neurons + first, static_cast<int>(left < 32 ? left : 32),
          lane < words && index < n_words};
}

template <class O>
__device__ __forceinline__ Range range_of_words(const Tiles& tiles, int64_t tile, const OwnWord& word) {
  if (O::adjacent > 1 || tiles.words == 0) return range_of<O>(tile, tiles.elements);
  const u32 lanes = __ballot_sync(0xFFFFFFFFu, word.exists);
  const int64_t first = __shfl_sync(0xFFFFFFFFu, word.start, 0);
  const int count = static_cast<int>(word.start - first) + word.bits;
  return {first, __shfl_sync(0xFFFFFFFFu, count, 31 - __clz(static_cast<int>(lanes)))};
}

// Packs a tile's spikes of one step and writes its words.
template <class O>
class WordWriter {
  static constexpr int W = O::width;

 public:
  WordWriter() = default;
  __device__ __forceinline__ WordWriter(const core::Words& words, const OwnWord& word, int64_t window, int64_t active)
      : step_(words.pitch) {
    if (!words) return;
    writes_ = word.exists && word.start < active;
    next_ = words.data + (writes_ ? word.index : 0);
    mask_ = word.bits == 32 ? 0xFFFFFFFFu : (1u << (word.bits & 31)) - 1u;
    if constexpr (O::adjacent == 1) {
      const int at = static_cast<int>(word.start - window);
      shift_ = at & 31;
      from_ = at >> 5;
    }
  }

  // Bit w: neuron w of the thread spiked.
  __device__ __forceinline__ void put(u32 spikes) {
    const u32 word = gathered(spikes) & mask_;
    if (writes_) *next_ = word;
    next_ += step_;
  }

 private:
  __device__ __forceinline__ u32 gathered(u32 spikes) const {
    if constexpr (W == 1) {
      return __ballot_sync(0xFFFFFFFFu, spikes) >> shift_;
    } else if constexpr (O::adjacent > 1) {
      constexpr u32 group = warp_lanes / W;
      u32 word = spikes << ((threadIdx.x % group) * W);
#pragma unroll
      for (u32 distance = 1; distance < group; distance *= 2) word |= __shfl_xor_sync(0xFFFFFFFFu, word, distance);
      return word;
    } else {
      u32 low = 0, high = 0;
#pragma unroll
      for (int w = 0; w < W; ++w) {
        const u32 votes = __ballot_sync(0xFFFFFFFFu, spikes >> w & 1u);
        low = w == 0 || from_ == w ? votes : low;
        high = w == 1 || from_ + 1 == w ? votes : high;
      }
      return __funnelshift_r(low, high, shift_);
    }
  }

  u32* next_ = nullptr;
  int64_t step_ = 0;
  u32 mask_ = 0;
  int shift_ = 0, from_ = 0;  // the word's first bit among the votes of the tile
  bool writes_ = false;
};

}  // namespace
}  // namespace synfire::cuda

#endif

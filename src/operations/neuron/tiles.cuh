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
inline constexpr int tile_elements = O::width* warp_lanes;

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

// One of the packed words of a tile.
struct OwnWord {
  int64_t index;  // in a row of words
  int64_t start;  // its first neuron, an element of a row
  int bits;       // the last word of a batch row may have fewer than 32
  bool exists;
};

__device__ __forceinline__ int64_t quotient(int64_t a, int64_t b, bool narrow) {
  return narrow ? static_cast<int64_t>(static_cast<u32>(a) / static_cast<u32>(b)) : a / b;
}

// Lane k has the data of the tile's word k; of adjacent neurons, those of the word to which its own belong.
template <class O>
__device__ __forceinline__ OwnWord own_word(const Tiles& tiles, const core::Extents& extents, int64_t tile) {
  constexpr int lanes_of_word = O::adjacent > 1 ? warp_lanes / O::width : 1;
  const int k = lane_of_warp() / lanes_of_word;
  if (O::adjacent > 1 || (tiles.words == 0 && tiles.of_batch_row == 0)) {
    const int64_t index = tile * O::width + k, start = index * 32, left = tiles.elements - start;
    return {index, start, static_cast<int>(left < 32 ? left : 32), k < O::width && left > 0};
  }
  const int64_t per_row = extents.words_per_row(), n_words = extents.batch * per_row;
  const bool narrow = n_words < (int64_t{1} << 32) - warp_lanes;
  int64_t batch_row, number;  // of the word in it
  if (tiles.words == 0) {
    batch_row = quotient(tile, tiles.of_batch_row, narrow);
    number = (tile - batch_row * tiles.of_batch_row) * O::width + k;
  } else {
    batch_row = quotient(tile * tiles.words + k, per_row, narrow);
    number = tile * tiles.words + k - batch_row * per_row;
  }
  const int64_t left = extents.n_neurons - number * 32;
  return {batch_row * per_row + number, batch_row * extents.n_neurons + number * 32,
          static_cast<int>(left < 32 ? left : 32),
          k < (tiles.words == 0 ? O::width : tiles.words) && left > 0 && batch_row < extents.batch};
}

template <class O>
__device__ __forceinline__ Range range_of_words(const Tiles& tiles, int64_t tile, const OwnWord& word) {
  if (O::adjacent > 1 || (tiles.words == 0 && tiles.of_batch_row == 0)) return range_of<O>(tile, tiles.elements);
  const u32 lanes = __ballot_sync(0xFFFFFFFFu, word.exists);
  const int64_t first = __shfl_sync(0xFFFFFFFFu, word.start, 0);
  const int count = static_cast<int>(word.start - first) + word.bits;
  return {first, __shfl_sync(0xFFFFFFFFu, count, 31 - __clz(static_cast<int>(lanes)))};
}

// Transposes units of `Unit` bits within groups of 32 / Unit lanes: unit i of lane g becomes unit g of lane i.
template <int Unit>
__device__ __forceinline__ u32 transposed(u32 x) {
#pragma unroll
  for (int lanes = warp_lanes / Unit / 2; lanes > 0; lanes /= 2) {
    const int bits = lanes * Unit;
    const u32 lower = 0xFFFFFFFFu / ((1u << bits) + 1u);  // the lower of each two halves
    const bool upper_lane = (lane_of_warp() & lanes) != 0;
    const u32 kept = upper_lane ? ~lower : lower;
    const u32 other = __shfl_xor_sync(0xFFFFFFFFu, x, lanes);
    x = (x & kept) | (__funnelshift_l(other, other, upper_lane ? 32 - bits : bits) & ~kept);
  }
  return x;
}

// Writes a tile's packed words. A thread notes the spikes of a chunk of steps in one register; then the warp exchanges
// them, so that a lane has the spikes of one step of 32 neurons. That takes fewer instructions than to vote at every
// step.
template <class O, int Ahead>
class WordWriter {
  static constexpr int W = O::width;
  static_assert(Ahead * W <= 32);

 public:
  WordWriter() = default;
  __device__ __forceinline__ WordWriter(const core::Words& words, const OwnWord& word, int64_t window, int64_t active,
                                        const Tiles& tiles)
      : pitch_(words.pitch) {
    if (!words) return;
    writes_ = word.exists && word.start < active;
    mask_ = word.bits == 32 ? 0xFFFFFFFFu : (1u << (word.bits & 31)) - 1u;
    if constexpr (O::adjacent > 1) {
      next_ = words.data + (writes_ ? word.index : 0) + step_of_lane() * pitch_;
    } else {
      const int64_t first = __shfl_sync(0xFFFFFFFFu, word.index, 0);
      at_ = static_cast<int>(word.start - window);
      n_words_ = __popc(__ballot_sync(0xFFFFFFFFu, writes_));
      plain_ = tiles.words == 0 && __shfl_sync(0xFFFFFFFFu, at_, 0) == 0;
      next_ = words.data + first + (plain_ ? lane_of_warp() % W + step_of_lane() * pitch_ : 0);
    }
  }

  __device__ __forceinline__ void note(int step, int neuron, bool spike) {
    if (spike) spikes_ |= 1u << (step * W + neuron);
  }

  // Behind a chunk, or the part of one with so many steps.
  __device__ __forceinline__ void write(int n_steps) {
    if constexpr (O::adjacent > 1) {
      const u32 word = transposed<W>(spikes_) & mask_;
      if (writes_ && step_of_lane() < n_steps) *next_ = word;
    } else {
      const u32 votes = transposed<1>(spikes_);  // of 32 neurons, those number lane mod W, at step lane / W
      if (plain_) {
        const u32 mask = __shfl_sync(0xFFFFFFFFu, mask_, lane_of_warp() % W);
        if (lane_of_warp() % W < n_words_ && step_of_lane() < n_steps) *next_ = votes & mask;
      } else {
        // A lane for each word of each step.
        const u32 inverse = 65536u / static_cast<u32>(n_words_ > 0 ? n_words_ : 1) + 1u;
        for (int first = 0; first < n_words_ * n_steps; first += warp_lanes) {
          const int pair = first + lane_of_warp();
          const int step = static_cast<int>(static_cast<u32>(pair) * inverse >> 16), k = pair - step * n_words_;
          const int at = __shfl_sync(0xFFFFFFFFu, at_, k), from = step * W + (at >> 5);
          const u32 mask = __shfl_sync(0xFFFFFFFFu, mask_, k);
          const u32 low = __shfl_sync(0xFFFFFFFFu, votes, from & 31);
          const u32 high = __shfl_sync(0xFFFFFFFFu, votes, (from + 1) & 31);
          if (step < n_steps) next_[step * pitch_ + k] = __funnelshift_r(low, high, at) & mask;
        }
      }
    }
    next_ += Ahead * pitch_;
    spikes_ = 0;
  }

 private:
  // The step of a chunk whose word this lane has after the exchange.
  __device__ __forceinline__ static int step_of_lane() {
    return O::adjacent > 1 ? lane_of_warp() % (warp_lanes / W) : lane_of_warp() / W;
  }

  u32* next_ = nullptr;
  int64_t pitch_ = 0;
  u32 spikes_ = 0, mask_ = 0;
  int at_ = 0;          // the word's first bit among those of the tile
  int n_words_ = 0;     // that are written
  bool plain_ = false;  // words are votes of 32 neurons as they are
  bool writes_ = false;
};

}  // namespace
}  // namespace synfire::cuda

#endif

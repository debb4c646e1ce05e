// The places of a warp's packed words: those of a tile end with their batch row, wherever that is.
#ifndef SYNFIRE_NEURONS_PASSES_CUDA_PACKED_WORDS_CUH
#define SYNFIRE_NEURONS_PASSES_CUDA_PACKED_WORDS_CUH

#include "tiles.cuh"

namespace synfire::cuda {
namespace {

struct OwnWord {
  int64_t index;  // in a row of words
  int64_t start;  // its first neuron, an element of a row
  int bits;       // the last word of a batch row may have fewer than 32
  bool exists;
};

// A tile among those of its batch row.
struct TileOfRow {
  int64_t batch_row, number;
};
__device__ __forceinline__ TileOfRow tile_of_row(const Tiles& tiles, int64_t tile) {
  const int64_t batch_row = __umulhi(2 * static_cast<u32>(tile), tiles.multiplier) >> tiles.shift;
  return {batch_row, tile - batch_row * tiles.of_batch_row};
}

// Lane k has the data of the tile's word k; with adjacent neurons, of the word to which its own belong.
template <class O>
__device__ __forceinline__ OwnWord own_word(const Tiles& tiles, const core::Extents& extents, int64_t tile) {
  constexpr int lanes_of_word = O::adjacent > 1 ? warp_lanes / O::width : 1;
  const int k = lane_of_warp() / lanes_of_word;
  if constexpr (O::of_rows) {
    const int64_t per_row = extents.words_per_row();
    const TileOfRow at = tile_of_row(tiles, tile);
    const int64_t number = at.number * O::width + k, left = extents.n_neurons - number * 32;
    return {at.batch_row * per_row + number, at.batch_row * extents.n_neurons + number * 32,
            static_cast<int>(left < 32 ? left : 32), left > 0};
  } else if constexpr (O::adjacent > 1) {
    const int64_t index = tile * O::width + k, start = index * 32, left = tiles.elements - start;
    return {index, start, static_cast<int>(left < 32 ? left : 32), left > 0};
  } else {
    if (tiles.words == 0 && tiles.of_batch_row == 0) {
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
}

template <class O>
__device__ __forceinline__ Range range_of_words(const Tiles& tiles, const core::Extents& extents, int64_t tile,
                                                const OwnWord& word) {
  if constexpr (O::of_rows) {
    const TileOfRow at = tile_of_row(tiles, tile);
    Range range = range_of<O>(at.number, extents.n_neurons);
    range.first += at.batch_row * extents.n_neurons;
    return range;
  } else if constexpr (O::adjacent > 1) {
    return range_of<O>(tile, tiles.elements);
  } else {
    if (tiles.words == 0 && tiles.of_batch_row == 0) return range_of<O>(tile, tiles.elements);
    const u32 lanes = __ballot_sync(0xFFFFFFFFu, word.exists);
    const int64_t first = __shfl_sync(0xFFFFFFFFu, word.start, 0);
    const int count = static_cast<int>(word.start - first) + word.bits;
    return {first, __shfl_sync(0xFFFFFFFFu, count, 31 - __clz(static_cast<int>(lanes)))};
  }
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
// them, so that a lane has the spikes of one step of 32 neurons, in fewer instructions than a vote at every step.
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

  // Called after a chunk, or after a part of one with this many steps.
  __device__ __forceinline__ void write(int n_steps) {
    if constexpr (O::adjacent > 1) {
      const u32 word = transposed<W>(spikes_) & mask_;
      if (writes_ && step_of_lane() < n_steps) *next_ = word;
    } else {
      const u32 votes = transposed<1>(spikes_);  // of 32 neurons, those number lane mod W, at step lane / W
      if (plain_) {
        const u32 mask = __shfl_sync(0xFFFFFFFFu, mask_, lane_of_warp() % W);
        if (lane_of_warp() % W < n_words_ && step_of_lane() < n_steps) *next_ = votes & mask;
      } else if (W == 1 && (Ahead <= 8 || n_words_ >= 8)) {
        // Step by step, each lane its word, all of which are in the 32 bits of the tile.
#pragma unroll 4
        for (int step = 0; step < n_steps; ++step) {
          const u32 word = __shfl_sync(0xFFFFFFFFu, votes, step) >> (at_ & 31) & mask_;
          if (writes_) next_[step * pitch_ + lane_of_warp()] = word;
        }
      } else if (W == 1) {
        // Word by word, each lane its step.
        for (int k = 0; k < n_words_; ++k) {
          const int at = __shfl_sync(0xFFFFFFFFu, at_, k);
          const u32 mask = __shfl_sync(0xFFFFFFFFu, mask_, k);
          if (lane_of_warp() < n_steps) next_[lane_of_warp() * pitch_ + k] = votes >> (at & 31) & mask;
        }
      } else {
        // A lane for each word of each step: mostly one round or two.
        const u32 inverse = 65536u / static_cast<u32>(n_words_ > 0 ? n_words_ : 1) + 1u;
#pragma unroll 1
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

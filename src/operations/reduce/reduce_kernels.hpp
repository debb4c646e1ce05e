// The kernels of reductions, as the host code sees them.
#ifndef SYNFIRE_OPERATIONS_REDUCE_REDUCE_KERNELS_HPP
#define SYNFIRE_OPERATIONS_REDUCE_REDUCE_KERNELS_HPP

#include "counting.hpp"

#include <backends/cuda/device_types.hpp>

namespace synfire::cuda {

// A block computes 32 neighbouring elements of the result. Its eight warps share the entries (steps or batch rows).
inline constexpr int reduce_threads = 256;
// Entries of a gradient that a block writes.
inline constexpr int spread_chunk = 128, spread_few = 16;

// A group is a batch row (over the steps) or a step (over the batch).
struct ReduceLaunch {
  core::Extents extents;
  operations::Counting counting;
  int32_t reduction;  // one of SYNFIRE_REDUCE_*
  bool steps;         // over the steps
  bool wide;          // the result is f64
  bool whole;         // the source holds integers or spikes
  const void* source;
  int64_t pitch;  // of the source: elements or words from one step, or 32 steps, to the next
  void* destination;
  int64_t group_pitch;  // of the destination
  uint64_t* partials;   // [n_chunks, n_columns] of f64, sums of integers or orders; null: a single chunk
  int64_t n_columns;    // elements of the result
  int64_t n_tiles;      // of 32 columns
  int64_t n_chunks;     // of model::reduction_chunk entries
};

// The index of the first of the largest entries, or -1.
struct WinnersLaunch {
  ReduceLaunch of;
  int64_t* winners;  // [n_columns]
};

struct SpreadLaunch {
  core::Extents extents;
  operations::Counting counting;
  int32_t reduction;
  bool steps;
  bool add;
  const void* from;     // f64 beside f64, else f32
  int64_t group_pitch;  // of it
  void* to;
  int64_t pitch;
  const int64_t* winners;  // of a maximum
  int64_t n_columns, n_tiles;
  int64_t n_chunks;  // of spread_chunk entries
  // A block has a tile, of which each warp has some entries; with few entries, as many tiles as it has warps.
  bool tile_of_warp;

  int64_t n_pieces() const {
    return n_chunks * (tile_of_warp ? (n_tiles + reduce_threads / 32 - 1) / (reduce_threads / 32) : n_tiles);
  }
};

// Sums (for means too) or maxima (for last values too) of a source of this type: of each chunk, or the result.
const void* reduce_kernel(int32_t dtype, bool largest);
// The result of those of the chunks.
const void* partials_kernel(bool whole, bool largest);
const void* winners_kernel(int32_t dtype);
const void* spread_kernel(int32_t dtype);

}  // namespace synfire::cuda

#endif

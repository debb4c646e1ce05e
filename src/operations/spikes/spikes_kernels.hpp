// The kernels that convert and count spikes, as the host code sees them: their arguments, addresses and tiles.
#ifndef SYNFIRE_OPERATIONS_SPIKES_SPIKES_KERNELS_HPP
#define SYNFIRE_OPERATIONS_SPIKES_SPIKES_KERNELS_HPP

#include "spikes_arrays.hpp"

#include <base/extents.hpp>

namespace synfire::cuda {

inline constexpr int spike_threads = 256;
// A warp works on 32 steps of 32 neurons; a block's warps are adjacent in one batch row, so that eight words of
// neuron-packed spikes fill a sector of 32 bytes.
inline constexpr int words_per_tile = spike_threads / 32;

inline int64_t step_groups(const core::Extents& e) {
  return (e.n_steps + 31) / 32;
}
inline int64_t tiles_per_row(const core::Extents& e) {
  return (e.words_per_row() + words_per_tile - 1) / words_per_tile;
}

struct ConvertSpikesLaunch {
  core::Extents extents;
  int64_t n_tiles;  // groups of 32 steps, batch rows, tiles of a row
  operations::SpikeArray source, destination;
};

// Adds to counts of zero. A block sums `run` tiles, along the steps (per neuron) or along the row, and adds them.
struct CountSpikesLaunch {
  core::Extents extents;
  int64_t n_runs;
  int64_t run;
  operations::SpikeArray spikes;
  void* counts;
  int32_t kind;  // one of SYNFIRE_COUNT_*
};

const void* convert_spikes_kernel(operations::SpikeStorage from, operations::SpikeStorage to);
template <class C>
const void* count_spikes_kernel(operations::SpikeStorage storage);

}  // namespace synfire::cuda

#endif

// The kernel of the encoding, as the host code sees it.
#ifndef SYNFIRE_OPERATIONS_ENCODE_ENCODE_KERNELS_HPP
#define SYNFIRE_OPERATIONS_ENCODE_ENCODE_KERNELS_HPP

#include <operations/spikes/spikes_kernels.hpp>

namespace synfire::cuda {

struct EncodeBernoulliLaunch {
  core::Extents extents;
  int64_t n_tiles;    // groups of 32 steps, batch rows, tiles of a row
  const void* rates;  // of the first step and neuron
  int64_t pitch;      // elements to the next step; 0: one row for all steps
  operations::SpikeArray spikes;
  uint64_t seed, offset;
  const uint64_t* seed_value;  // null: `seed`
  const uint64_t* offset_set;  // null: `offset`
  uint64_t* offset_state;
  uint32_t first_row = 0;  // the number of the first batch row
};

// Rates of any type of numbers whose arithmetic is f32.
const void* encode_bernoulli_kernel(int32_t rates, operations::SpikeStorage storage);

}  // namespace synfire::cuda

#endif

// The input of a synapse as numbers, as kernels see it: spikes of any format, or values of any type.
#ifndef SYNFIRE_SYNAPSES_PASSES_INPUT_NUMBERS_HPP
#define SYNFIRE_SYNAPSES_PASSES_INPUT_NUMBERS_HPP

#include <base/extents.hpp>
#include <operations/spikes/spikes_arrays.hpp>

namespace synfire::cuda {

struct InputNumbers {
  core::Extents extents;
  bool are_spikes;
  operations::SpikeStorage storage;  // of spikes
  operations::SpikeArray array;      // of values too, without the last two fields
  int32_t dtype;                     // of values
};

}  // namespace synfire::cuda

#endif

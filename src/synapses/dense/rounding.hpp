// How far the weights of an output are from its grid.
#ifndef SYNFIRE_SYNAPSES_DENSE_ROUNDING_HPP
#define SYNFIRE_SYNAPSES_DENSE_ROUNDING_HPP

#include <synapses/synapse.hpp>

#include <span>

namespace synfire::operations {

// Adds an output to those before it, with weights of 24 - dropped_bits bits. The bias is 0 if there is none. An output
// with a number that is not finite has no grid: its errors are NaN, also among those of other outputs, and none of its
// weights becomes 0.
void add_output(core::Rounding& rounding, int64_t output, std::span<const float> weights, float bias,
                int dropped_bits = 0);

}  // namespace synfire::operations

#endif

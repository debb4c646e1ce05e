// Checks every element of the arrays of a data set before the network uses any.
#ifndef SYNFIRE_NETWORK_DATA_CHECKS_HPP
#define SYNFIRE_NETWORK_DATA_CHECKS_HPP

#include "data_set.hpp"

namespace synfire::network {

// Throws INVALID_ARGUMENT for the first element of an array that cannot be meant, with its row and its value: labels
// that are no class, spikes that are neither 0 nor 1, rates outside 0 to 1, and other numbers that are not finite, as
// far as the stages do not allow them. Steps beyond a row's length may hold anything. The arrays have their types, and
// rows without gaps.
void check_elements(core::Context& context, const Design& design, int64_t n_rows, const DataArrays& arrays);

}  // namespace synfire::network

#endif

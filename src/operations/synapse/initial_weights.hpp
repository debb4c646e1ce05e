// The initial weights and biases of a synapse, from counter-based random numbers.
#ifndef SYNFIRE_OPERATIONS_SYNAPSE_INITIAL_WEIGHTS_HPP
#define SYNFIRE_OPERATIONS_SYNAPSE_INITIAL_WEIGHTS_HPP

#include <synapse/synapse_spec.hpp>

#include <vector>

namespace synfire::operations {

// [N, K] of weights, or [N] of biases, rounded to the synapse's type.
template <class R>
std::vector<R> initial_weights(const core::SynapseSpec& spec);
template <class R>
std::vector<R> initial_biases(const core::SynapseSpec& spec);

}  // namespace synfire::operations

#endif

// The initial weights and biases of a synapse, from counter-based random numbers.
#ifndef SYNFIRE_SYNAPSES_DENSE_INITIAL_WEIGHTS_HPP
#define SYNFIRE_SYNAPSES_DENSE_INITIAL_WEIGHTS_HPP

#include <synapses/dense/dense_spec.hpp>

#include <vector>

namespace synfire::operations {

// [N, K] of weights, or [N] of biases, rounded to the synapse's type.
template <class R>
std::vector<R> initial_weights(const DenseSpec& spec);
template <class R>
std::vector<R> initial_biases(const DenseSpec& spec);

}  // namespace synfire::operations

#endif

// One number of the input of a synapse, in the twin of a kernel.
#ifndef SYNFIRE_TESTS_TWINS_INPUT_NUMBERS_TWIN_HPP
#define SYNFIRE_TESTS_TWINS_INPUT_NUMBERS_TWIN_HPP

#include <backends/host/host_storage.hpp>
#include <operations/spikes/one_spike.hpp>
#include <synapses/passes/input_numbers.hpp>

namespace synfire::cuda {

template <class R>
R number(const InputNumbers& input, int64_t t, int64_t b, int64_t k) {
  namespace stored = host::SYNFIRE_MODEL_LEVEL;
  if (input.are_spikes) return OneSpike{input.array, input.storage, input.extents}.get(t, b, k) ? R(1) : R(0);
  const int64_t at = t * input.array.pitch + b * input.extents.n_neurons + k;
  return stored::number_at<R>(stored::NumberTypesBeside<R>{}, input.dtype, input.array.data, at);
}

}  // namespace synfire::cuda

#endif

// Converts operands of operations of synapses with delays to the arguments of kernels; the same on both backends.
#ifndef SYNFIRE_SYNAPSES_DELAYED_DELAYED_ARRAYS_OF_HPP
#define SYNFIRE_SYNAPSES_DELAYED_DELAYED_ARRAYS_OF_HPP

#include "delayed.hpp"
#include "delayed_elements.hpp"

#include <synapses/passes/synapse_arguments_of.hpp>

namespace synfire::operations {

template <class Op>
DelayedSpikes delayed_spikes_of(const Op& op, const View& words) {
  const core::Extents& e = op.extents;
  return {e.n_steps,
          e.batch,
          e.words_per_row(),
          op.synapse->spec().max_delay,
          data_of<const uint32_t>(words),
          words.pitch,
          data_of<const uint32_t>(op.history),
          op.history.pitch,
          ~0U >> (e.words_per_row() * 32 - e.n_neurons)};
}

inline DelayedInputsArrays arrays_of(const DelayedInputs& op) {
  return {delayed_spikes_of(op, op.words()), data_of<uint32_t>(op.delayed)};
}
inline DelayedHistoryArrays arrays_of(const DelayedHistory& op) {
  return {delayed_spikes_of(op, op.input), data_of<const uint32_t>(op.n_active), data_of<uint32_t>(op.next),
          op.next.pitch};
}

template <class R, class Op>
DelayedConnections<R> connections_of(const Op& op, const View& bias) {
  const DelayedSpec& spec = op.synapse->spec();
  return {spec.n_inputs(),        spec.n_outputs(),           spec.padded_inputs(),
          spec.max_delay,         data_of<R>(op.weights),     data_of<R>(op.delays),
          data_of<const R>(bias), data_of<const R>(op.width), data_of<const uint32_t>(op.mask)};
}
template <class R>
PrepareDelayedArrays<R> arrays_of(const PrepareDelayed& op) {
  return {connections_of<R>(op, op.bias), data_of<R>(op.spread), data_of<R>(op.spread_bias), data_of<R>(op.whole),
          data_of<R>(op.whole_bias)};
}
template <class R>
DelayedGradientArrays<R> arrays_of(const DelayedGradient& op) {
  return {connections_of<R>(op, op.of_plane_bias),
          data_of<const R>(op.of_planes),
          data_of<const R>(op.of_plane_bias),
          data_of<R>(op.weight_gradient),
          data_of<R>(op.delay_gradient),
          data_of<R>(op.bias_gradient),
          op.add};
}
template <class R>
DelayedInputGradientArrays<R> arrays_of(const DelayedInputGradient& op) {
  const DelayedSpec& spec = op.synapse->spec();
  return {op.extents.batch,
          spec.n_inputs(),
          spec.padded_inputs(),
          spec.max_delay,
          op.first_step,
          op.n_steps,
          data_of<const uint32_t>(op.n_active),
          data_of<const R>(op.of_delayed),
          data_of<R>(op.grad_input),
          op.grad_input.pitch,
          op.add};
}

}  // namespace synfire::operations

#endif

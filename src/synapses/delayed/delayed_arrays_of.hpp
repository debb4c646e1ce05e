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

inline SharedDelays shared_delays_of(const DelayedSpec& spec, const View& delays) {
  const bool is_wide = spec.dtype() == SYNFIRE_DTYPE_F64;
  return {spec.max_delay, is_wide ? nullptr : data_of<const float>(delays),
          is_wide ? data_of<const double>(delays) : nullptr};
}

inline DelayedInputsArrays arrays_of(const DelayedInputs& op) {
  const DelayedSpec& spec = op.synapse->spec();
  return {delayed_spikes_of(op, op.words()),    spec.n_taps(),   spec.steps_before(),
          shared_delays_of(spec, op.of_inputs), spec.n_inputs(), data_of<uint32_t>(op.delayed)};
}
template <class R>
DelayedOutputsArrays<R> arrays_of(const DelayedOutputs& op) {
  return {op.extents,      shared_delays_of(op.synapse->spec(), op.delays),
          op.back,         op.first_step,
          op.n_steps_read, data_of<const R>(op.from),
          op.from.pitch,   data_of<R>(op.to),
          op.to.pitch};
}
inline DelayedHistoryArrays arrays_of(const DelayedHistory& op) {
  return {delayed_spikes_of(op, op.input), data_of<const uint32_t>(op.n_active), data_of<uint32_t>(op.next),
          op.next.pitch};
}

template <class R, class Op>
DelayedConnections<R> connections_of(const Op& op, const View& bias) {
  const DelayedSpec& spec = op.synapse->spec();
  return {spec.n_inputs(),        spec.n_outputs(),           spec.padded_inputs(),
          spec.n_taps() - 1,      data_of<R>(op.weights),     data_of<R>(op.delays),
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
          spec.max_delay - spec.steps_before(),
          spec.n_taps(),
          shared_delays_of(spec, op.of_inputs),
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

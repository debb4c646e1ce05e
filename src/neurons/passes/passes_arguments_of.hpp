// Converts a pass to its kernel's arguments; the same on both backends.
#ifndef SYNFIRE_NEURONS_PASSES_PASSES_ARGUMENTS_OF_HPP
#define SYNFIRE_NEURONS_PASSES_PASSES_ARGUMENTS_OF_HPP

#include "backward.hpp"
#include "forward.hpp"

namespace synfire::operations {

inline Sequence sequence_of(const View& array) {
  return {array.data, array.pitch, array.dtype};
}

inline Words words_of(const View& array, bool wanted) {
  if (!wanted) return {nullptr, 0};
  return {static_cast<uint32_t*>(array.data), array.pitch};
}

template <class R>
R* row_of(const View& view) {
  return static_cast<R*>(view.data);
}

template <class R>
ForwardArguments<R> arguments_of(const Forward& op) {
  const core::LayerSpec& spec = op.layer->spec();
  ForwardArguments<R> a;  // every member is set: clearing them first takes longer
  a.parameters = row_of<const ParameterBlock<R>>(op.parameters);
  a.extents = op.extents;
  a.rules = spec.rules;
  a.x = sequence_of(op.x);
  a.spikes = op.spike_format == SpikeFormat::dense ? sequence_of(op.spikes) : Sequence{};
  a.spike_bits = words_of(op.spikes, op.spike_format == SpikeFormat::bits);
  a.spike_time_bits = words_of(op.spikes, op.spike_format == SpikeFormat::time_bits);
  a.v_in = row_of<R>(op.v_in);
  a.v_out = row_of<R>(op.v_out);
  a.v_final = row_of<R>(op.v_final);
  a.v_seq = sequence_of(op.v_seq);
  a.h_seq = sequence_of(op.h_seq);
  a.tape = row_of<R>(op.tape);
  a.tape_h = sequence_of(op.tape_h);
  a.tape_spikes = row_of<uint32_t>(op.tape_spikes);
  for (int k = 0; k < model::max_further_states; ++k) {
    a.w_in[k] = row_of<R>(op.w_in[k]);
    a.w_out[k] = row_of<R>(op.w_out[k]);
    a.w_final[k] = row_of<R>(op.w_final[k]);
    a.w_seq[k] = sequence_of(op.w_seq[k]);
  }
  return a;
}

template <class R>
BackwardArguments<R> arguments_of(const Backward& op) {
  const core::LayerSpec& spec = op.layer->spec();
  BackwardArguments<R> a = {.parameters = row_of<const ParameterBlock<R>>(op.parameters),
                            .extents = op.extents,
                            .rules = spec.rules,
                            .surrogate = spec.surrogate->kernel_id(),
                            .x = sequence_of(op.x),
                            .tape = row_of<R>(op.tape),
                            .tape_h = sequence_of(op.tape_h),
                            .tape_spikes = row_of<uint32_t>(op.tape_spikes),
                            .grad_spike = sequence_of(op.grad_spike),
                            .grad_v_seq = sequence_of(op.grad_v_seq),
                            .grad_v_final = row_of<R>(op.grad_v_final),
                            .grad_x = sequence_of(op.grad_x),
                            .grad_v_init = row_of<R>(op.grad_v_init),
                            .grad_w_seq = {},
                            .grad_w_final = {},
                            .grad_w_init = {},
                            .gradients = op.gradients,
                            .gradient_partials = row_of<double>(op.gradient_partials)};
  for (int k = 0; k < model::max_further_states; ++k) {
    a.grad_w_seq[k] = sequence_of(op.grad_w_seq[k]);
    a.grad_w_final[k] = row_of<R>(op.grad_w_final[k]);
    a.grad_w_init[k] = row_of<R>(op.grad_w_init[k]);
  }
  return a;
}

}  // namespace synfire::operations

#endif

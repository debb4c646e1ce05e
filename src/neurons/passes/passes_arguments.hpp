// The arguments of a pass's kernel, on either backend, for the arithmetic type R (f32 or f64). State, parameters and
// their gradients are of type R; sequences [T, B, N] carry their own storage type. A null pointer means "not given".
#ifndef SYNFIRE_NEURONS_PASSES_PASSES_ARGUMENTS_HPP
#define SYNFIRE_NEURONS_PASSES_PASSES_ARGUMENTS_HPP

#include <base/extents.hpp>
#include <neurons/parameter_block.hpp>

#include <synfire/model/layout.hpp>

namespace synfire::operations {

using core::Extents;
using core::ParameterBlock;
using core::Sequence;
using core::Words;

// The gradients of parameters that a backward accumulates: rows of slopes, or model::gradient_of_*.
struct GradientRows {
  int32_t count;
  int32_t rows[model::max_gradients];
};

template <class R>
struct ForwardArguments {
  const ParameterBlock<R>* parameters;
  Extents extents;
  model::Rules rules;
  Sequence x;
  Sequence spikes;
  Words spike_bits;       // neuron-packed
  Words spike_time_bits;  // time-packed
  const R* v_in;
  R* v_out;
  R* v_final;
  Sequence v_seq;
  Sequence h_seq;
  R* tape;                // checkpoints
  Sequence tape_h;        // H of every step, in tape modes that store it
  uint32_t* tape_spikes;  // time-packed [ceil(T/32), B, N], beside an H that is stored narrower than R
  // Further variables, W first: w_in is given exactly when the model has it.
  const R* w_in[model::max_further_states];
  R* w_out[model::max_further_states];
  R* w_final[model::max_further_states];
  Sequence w_seq[model::max_further_states];
};

template <class R>
struct BackwardArguments {
  const ParameterBlock<R>* parameters;
  Extents extents;
  model::Rules rules;
  int32_t surrogate;
  Sequence x;  // not given if H is stored and nothing else needs X
  const R* tape;
  Sequence tape_h;              // null: H is recomputed from X and the checkpoints
  const uint32_t* tape_spikes;  // as in ForwardArguments
  Sequence grad_spike;
  Sequence grad_v_seq;
  const R* grad_v_final;
  Sequence grad_x;
  R* grad_v_init;
  Sequence grad_w_seq[model::max_further_states];
  const R* grad_w_final[model::max_further_states];
  R* grad_w_init[model::max_further_states];
  GradientRows gradients;
  double* gradient_partials;  // [gradients.count, B, N]: sums over the steps
};

}  // namespace synfire::operations

#endif

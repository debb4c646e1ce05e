// What a kernel receives, on either backend: plain structures of pointers and extents over the storage type R.
// Pointers that are null mean "not given". All extents are 64-bit.
#ifndef SYNFIRE_CORE_ARGUMENTS_HPP
#define SYNFIRE_CORE_ARGUMENTS_HPP

#include <synfire/model/layout.hpp>
#include <synfire/model/platform.hpp>

#include <cstdint>

namespace synfire::core {

// A layer's constants where kernels read them, rewritten between replays without re-recording.
template <class R>
struct ParameterBlock {
  R shared[model::max_constants];
  const R* per_neuron;  // [n_constants, N] as soon as any parameter is one number per neuron, else null
  // Slopes of the model's constants along its parameters, for gradients of parameters.
  R slopes[model::max_slope_rows * model::max_model_constants];  // [row, constant]
  const R* slopes_per_neuron;  // [row, constant, N] when constants are per neuron and a gradient was asked for
};

// Which gradients of parameters a backward accumulates: rows of slopes, or model::gradient_of_*.
struct GradientRows {
  int32_t count;
  int32_t rows[model::max_gradients];
};

struct Extents {
  int64_t n_steps;
  int64_t batch;
  int64_t n_neurons;  // of one batch row

  SYNFIRE_MODEL_FN int64_t row() const { return batch * n_neurons; }  // elements of one step
  SYNFIRE_MODEL_FN int64_t words_per_row() const { return (n_neurons + 31) / 32; }  // packed words of one batch row
};

template <class R>
struct ForwardArguments {
  const ParameterBlock<R>* parameters;
  Extents extents;
  model::Rules rules;
  const R* x;
  R* spikes;
  uint32_t* spike_bits;
  const R* v_in;
  R* v_out;
  R* v_final;
  R* v_seq;
  R* h_seq;
  R* tape;
  const R* w_in;  // the second variable: given exactly when the model has one
  R* w_out;
  R* w_final;
  R* w_seq;
};

template <class R>
struct BackwardArguments {
  const ParameterBlock<R>* parameters;
  Extents extents;
  model::Rules rules;
  int32_t surrogate;
  const R* x;
  const R* tape;
  const R* grad_spike;
  const R* grad_v_seq;
  const R* grad_v_final;
  R* grad_x;
  R* grad_v_init;
  const R* grad_w_seq;
  const R* grad_w_final;
  R* grad_w_init;
  GradientRows gradients;
  double* gradient_partials;  // [gradients.count, B, N]: sums over the steps
};

template <class R>
struct ResetStateArguments {
  const ParameterBlock<R>* parameters;
  Extents extents;
  model::Rules rules;
  R* v;
  R* w;  // null in models with one variable
};

}  // namespace synfire::core

#endif

// What a kernel receives, on either backend: plain structures of pointers and extents over the arithmetic type R (f32
// or f64). State, parameters and gradients of either are R; sequences [T, B, N] say their own storage type. Pointers
// that are null mean "not given". All extents are 64-bit.
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
  int64_t active;  // elements of a row [B, N] that passes compute: those of the first batch rows
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

// Rows [B, N], one per step, `pitch` elements apart.
struct Sequence {
  void* data;
  int64_t pitch;
  int32_t dtype;  // SYNFIRE_DTYPE_F64 beside R = f64; F32, F16, BF16 (spikes also U8) beside R = f32

  SYNFIRE_MODEL_FN explicit operator bool() const { return data != nullptr; }
};

// Packed words, `pitch` words apart: of one step (neuron-packed), or of 32 steps (time-packed).
struct Words {
  uint32_t* data;
  int64_t pitch;

  SYNFIRE_MODEL_FN explicit operator bool() const { return data != nullptr; }
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
  R* tape;               // checkpoints
  Sequence tape_h;       // H of every step, in tape modes that store it
  uint32_t* tape_spikes; // time-packed [ceil(T/32), B, N], beside an H that is stored narrower than R
  const R* w_in;         // the second variable: given exactly when the model has one
  R* w_out;
  R* w_final;
  Sequence w_seq;
};

template <class R>
struct BackwardArguments {
  const ParameterBlock<R>* parameters;
  Extents extents;
  model::Rules rules;
  int32_t surrogate;
  Sequence x;  // not given when H is stored and nothing else needs X
  const R* tape;
  Sequence tape_h;              // null: H is recomputed from X and the checkpoints
  const uint32_t* tape_spikes;  // as in ForwardArguments
  Sequence grad_spike;
  Sequence grad_v_seq;
  const R* grad_v_final;
  Sequence grad_x;
  R* grad_v_init;
  Sequence grad_w_seq;
  const R* grad_w_final;
  R* grad_w_init;
  GradientRows gradients;
  double* gradient_partials;  // [gradients.count, B, N]: sums over the steps
};

}  // namespace synfire::core

#endif

// The generic recursion of one neuron through time: firing, reset and adjoint, once for all models and both backends.
// Loops over neurons and steps, and access to memory, are in the backends' kernels.
//
// Notation: X is the input, H the charged potential, S the spike, V the potential after reset and W the second variable
// (adaptation) of models that have one; S[t] = [H[t] ≥ v_threshold].
#ifndef SYNFIRE_MODEL_RECURSION_HPP
#define SYNFIRE_MODEL_RECURSION_HPP

#include "dual.hpp"
#include "layout.hpp"

SYNFIRE_MODEL_BEGIN

// Whether the model never fires: V[t] = H[t], without a threshold, a reset or a surrogate. Such a model has one variable
// and an H that is linear in V and X, so that backward needs neither of them, unless it takes gradients of parameters.
template <class Model>
inline constexpr bool never_fires = false;
template <class Model>
  requires requires {
    Model::never_fires;
  }
inline constexpr bool never_fires<Model> = Model::never_fires;

// Parameters of firing that a model has beside its own: v_threshold and v_reset, or none.
template <class Model>
inline constexpr int n_firing_parameters = never_fires<Model> ? 0 : 2;

// Index of the first constant of the surrogate among the constants of a neuron.
template <class Model>
inline constexpr int first_surrogate_constant = first_model_constant + Model::n_constants;

// Whether ∂H/∂V or ∂H/∂X depends on X, so that backward needs X in addition to H. True unless the model says otherwise.
template <class Model>
inline constexpr bool slope_reads_input = true;
template <class Model>
  requires requires {
    Model::slope_reads_input;
  }
inline constexpr bool slope_reads_input<Model> = Model::slope_reads_input;

// Whether a derivative of H or W depends on W, so that backward needs W before each step. For models with a W, true
// unless the model says otherwise.
template <class Model>
inline constexpr bool slope_reads_w = Model::n_states == 2;
template <class Model>
  requires requires {
    Model::slope_reads_w;
  }
inline constexpr bool slope_reads_w<Model> = Model::slope_reads_w;

// The state that a neuron carries from step to step; w stays 0 in models with one variable.
template <class R>
struct State {
  R v, w;
};

// A NaN never fires.
template <class Model, class R>
SYNFIRE_MODEL_FN bool fires(const R* constants, R h) {
  if constexpr (never_fires<Model>)
    return false;
  else
    return h >= constants[constant_v_threshold];
}

// H. The arguments may be numbers or dual numbers.
template <class Model, class C, class V, class W, class X>
SYNFIRE_MODEL_FN auto charge_of(const C* model_constants, V v, W w, X x) {
  if constexpr (Model::n_states == 2)
    return Model::charge(model_constants, v, w, x);
  else
    return Model::charge(model_constants, v, x);
}

template <class Model, class R>
SYNFIRE_MODEL_FN R charge(const R* constants, State<R> before, R x) {
  return charge_of<Model>(constants + first_model_constant, before.v, before.w, x);
}

// The largest number below x.
SYNFIRE_MODEL_FN float next_below(float x) {
  const u32 bits = bits_of(x);
  return from_bits(x > 0.0f ? bits - 1u : (x < 0.0f ? bits + 1u : 0x80000001u));
}

// Clamps a finite H to ±`largest`, the largest number of a narrower type, so that it stays finite there.
SYNFIRE_MODEL_FN float within(float largest, float h) {
  const float bounded = h > largest ? largest : (h < -largest ? -largest : h);
  return absolute(h) <= 3.4028234663852886e38f ? bounded : h;
}
inline constexpr float largest_f16 = 65504.0f;
inline constexpr float largest_bf16 = 3.3895313892515355e38f;

// H as a tape keeps it in 16 bits beside the spike: moved to the spike's side of the threshold, so that fires() gives
// the same answer as for the exact H. A NaN stays a NaN.
SYNFIRE_MODEL_FN float on_the_side_of(bool spike, float h, float v_threshold) {
  const bool over = h >= v_threshold;
  return spike ? (over ? h : v_threshold) : (over ? next_below(v_threshold) : h);
}

// V after reset. It is selected, not blended, so that an infinite H is reset correctly.
template <class R>
SYNFIRE_MODEL_FN R reset(const R* constants, Rules rules, R h, bool spike) {
  const R after_spike = choose(rules.soft_reset, h - constants[constant_v_threshold], constants[constant_v_reset]);
  return spike ? after_spike : h;
}

// The state after a step whose charged potential is h.
template <class Model, class R>
SYNFIRE_MODEL_FN State<R> advance(const R* constants, Rules rules, State<R> before, R h, bool spike) {
  State<R> after = {reset(constants, rules, h, spike), R(0)};
  if constexpr (Model::n_states == 2)
    after.w = Model::adapt(constants + first_model_constant, before.w, h, spike ? R(1) : R(0));
  return after;
}

// The incoming gradient of a step: dL/dS[t], dL/dV[t], dL/dW[t], the latter two including what step t+1 carried back.
template <class R>
struct Incoming {
  R spike, v, w;
};

template <class R>
struct StepGradient {
  R x;              // dL/dX[t]
  State<R> before;  // dL/dV[t−1], dL/dW[t−1]: carried to the previous step
  R h;              // dL/dH[t]
  R spike;          // dL/dS[t] including reset and adaptation; times g it is a term of dL/dH[t]
};

// One step of the adjoint; g = g'(H − v_threshold) is the surrogate derivative.
//
//     ∂V/∂S = v_reset − H   (hard)     −v_threshold   (soft)     0 when the reset is detached
//     G_S'  = G_S + G_V·∂V/∂S + G_W·∂W/∂S                       (adaptation is never detached)
//     G_H   = G_S'·g + G_V·(1 − S or 1) + G_W·∂W/∂H
//     G_X   = G_H·∂H/∂X      dL/dV[t−1] = G_H·∂H/∂V[t−1]      dL/dW[t−1] = G_H·∂H/∂W[t−1] + G_W·∂W[t]/∂W[t−1]
template <class Model, class R>
SYNFIRE_MODEL_FN StepGradient<R> backward_step(const R* constants, Rules rules, State<R> before, R x, R h, R g,
                                               Incoming<R> in) {
  static_assert(!never_fires<Model> || (Model::n_states == 1 && !slope_reads_input<Model>));
  Dual<R, Zero> c[Model::n_constants > 0 ? Model::n_constants : 1];
  for (int k = 0; k < Model::n_constants; ++k) c[k] = constant(constants[first_model_constant + k]);
  const auto v = constant(before.v), w = constant(before.w), xx = constant(x);
  const R dh_dv = number<R>(charge_of<Model>(c, variable(before.v), w, xx).derivative);
  const R dh_dx = number<R>(charge_of<Model>(c, v, w, variable(x)).derivative);

  if constexpr (never_fires<Model>) return {in.v * dh_dx, {in.v * dh_dv, R(0)}, in.v, R(0)};
  const R v_threshold = constants[constant_v_threshold];
  const R v_reset = constants[constant_v_reset];
  const bool spike = fires<Model>(constants, h);
  const R jump = choose(rules.soft_reset, -v_threshold, v_reset - h);
  R grad_spike = choose(rules.detach_reset, in.spike, fma(in.v, jump, in.spike));
  const R through = choose(rules.soft_reset, in.v, spike ? R(0) : in.v);
  if constexpr (Model::n_states == 1) {
    const R grad_h = fma(grad_spike, g, through);
    return {grad_h * dh_dx, {grad_h * dh_dv, R(0)}, grad_h, grad_spike};
  } else {
    const auto hh = constant(h), s = constant(spike ? R(1) : R(0));
    const R dw_ds = number<R>(Model::adapt(c, w, hh, variable(s.value)).derivative);
    const R dw_dh = number<R>(Model::adapt(c, w, variable(h), s).derivative);
    const R dw_dw = number<R>(Model::adapt(c, variable(before.w), hh, s).derivative);
    const R dh_dw = number<R>(charge_of<Model>(c, v, variable(before.w), xx).derivative);
    grad_spike = fma(in.w, dw_ds, grad_spike);
    const R grad_h = fma(in.w, dw_dh, fma(grad_spike, g, through));
    return {grad_h * dh_dx, {grad_h * dh_dv, fma(in.w, dw_dw, grad_h * dh_dw)}, grad_h, grad_spike};
  }
}

// The contribution of one step to the gradient of a parameter p of the model; `slopes` are ∂c/∂p of the model's
// constants c.
//
//     dL/dp += G_H·∂H/∂p + G_W·∂W/∂p
template <class Model, class R>
SYNFIRE_MODEL_FN R parameter_gradient(const R* constants, const R* slopes, State<R> before, R x, R h,
                                      const StepGradient<R>& step, Incoming<R> in) {
  Dual<R, R> c[Model::n_constants > 0 ? Model::n_constants : 1];
  for (int k = 0; k < Model::n_constants; ++k) c[k] = {constants[first_model_constant + k], slopes[k]};
  const auto v = constant(before.v), w = constant(before.w);
  const R through_h = step.h * number<R>(charge_of<Model>(c, v, w, constant(x)).derivative);
  if constexpr (Model::n_states == 1) {
    return through_h;
  } else {
    const R spike = fires<Model>(constants, h) ? R(1) : R(0);
    return fma(in.w, number<R>(Model::adapt(c, w, constant(h), constant(spike)).derivative), through_h);
  }
}

// The same for v_threshold: −g·dL/dS, and the soft reset's own −S·G_V.
template <class Model, class R>
SYNFIRE_MODEL_FN R v_threshold_gradient(const R* constants, Rules rules, R h, R g, const StepGradient<R>& step,
                                        Incoming<R> in) {
  const R direct = choose(rules.soft_reset, fires<Model>(constants, h) ? in.v : R(0), R(0));
  return -fma(g, step.spike, direct);
}

// The same for v_reset: the hard reset's S·G_V.
template <class Model, class R>
SYNFIRE_MODEL_FN R v_reset_gradient(const R* constants, Rules rules, R h, Incoming<R> in) {
  return choose(rules.soft_reset, R(0), fires<Model>(constants, h) ? in.v : R(0));
}

SYNFIRE_MODEL_END

#endif

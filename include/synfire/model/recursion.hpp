// The generic recursion of one neuron through time: firing, reset and adjoint, once for all models and both backends.
// What does not live here: loops over neurons and steps, memory (the backends' kernels).
//
// Notation: X input, H charged potential, S spike, V potential after reset; S[t] = [H[t] ≥ v_threshold].
#ifndef SYNFIRE_MODEL_RECURSION_HPP
#define SYNFIRE_MODEL_RECURSION_HPP

#include "dual.hpp"
#include "layout.hpp"

SYNFIRE_MODEL_BEGIN

// Where a surrogate's constants begin among those of a neuron.
template <class Model>
inline constexpr int first_surrogate_constant = first_model_constant + Model::n_constants;

// A NaN never fires.
template <class R>
SYNFIRE_MODEL_FN bool fires(const R* constants, R h) { return h >= constants[constant_v_threshold]; }

template <class Model, class R>
SYNFIRE_MODEL_FN R charge(const R* constants, R v, R x) {
  return Model::charge(constants + first_model_constant, v, x);
}

// V after reset: a selection, never a blend, so that an infinite H resets cleanly.
template <class R>
SYNFIRE_MODEL_FN R reset(const R* constants, Rules rules, R h, bool spike) {
  const R after_spike = choose(rules.soft_reset, h - constants[constant_v_threshold], constants[constant_v_reset]);
  return spike ? after_spike : h;
}

template <class R>
struct StepGradient {
  R x;         // dL/dX[t]
  R v_before;  // dL/dV[t−1], carried to the step before
};

// One step of the adjoint. `grad_v` is dL/dV[t]: what arrived from outside plus what step t+1 carried.
//
//     ∂V/∂H = 1 − S + (v_reset − H)·g'   (hard)     1 − v_threshold·g'   (soft)     g' terms absent when detached
//     G_H   = G_S·g' + G_V·∂V/∂H
//     G_X   = G_H·∂H/∂X                  dL/dV[t−1] = G_H·∂H/∂V[t−1]
template <class Model, class Surrogate, class R>
SYNFIRE_MODEL_FN StepGradient<R> backward_step(const R* constants, Rules rules, R v_before, R x, R h, R grad_spike,
                                               R grad_v) {
  const R v_threshold = constants[constant_v_threshold];
  const R v_reset = constants[constant_v_reset];
  const bool spike = fires(constants, h);
  const R g = Surrogate::derivative(constants + first_surrogate_constant<Model>, h - v_threshold);

  const R direct = choose(rules.soft_reset, R(1), spike ? R(0) : R(1));
  const R jump = choose(rules.soft_reset, -v_threshold, v_reset - h);
  const R dv_dh = choose(rules.detach_reset, direct, fma(jump, g, direct));
  const R grad_h = fma(grad_v, dv_dh, grad_spike * g);

  Dual<R, Zero> c[Model::n_constants > 0 ? Model::n_constants : 1];
  for (int k = 0; k < Model::n_constants; ++k) c[k] = constant(constants[first_model_constant + k]);
  const R dh_dv = number<R>(Model::charge(c, variable(v_before), constant(x)).derivative);
  const R dh_dx = number<R>(Model::charge(c, constant(v_before), variable(x)).derivative);
  return {grad_h * dh_dx, grad_h * dh_dv};
}

SYNFIRE_MODEL_END

#endif

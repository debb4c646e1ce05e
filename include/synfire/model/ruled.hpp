// A step under the rules of few layers: a threshold that depends on the neuron's variables, a strict threshold, a delayed
// reset, refractory steps. These functions overload those of recursion.hpp; the kernels of all other layers do not have
// them, nor the instructions that they take.
//
//     theta = v_threshold, or the model's threshold of its variables before the step
//     f     = the model's charge of the variables before the step
//     H[t]  = f, or V[t-1] in a refractory step; less theta[t]*S[t-1] with a delayed reset
//     S[t]  = [H[t] >= theta[t]], or [H[t] > theta[t]] with a strict threshold; 0 in a refractory step
//     V[t]  = H[t] with a delayed reset, else after the hard or the soft reset, which subtracts theta[t]
//     U_k   = as ever
//     Q[t]  = refractory_steps + 1 after a spike, else one less than Q[t-1], down to 0
//
// Q is the countdown, the last variable: a step is refractory if Q[t-1] > 1, and S[t-1] is [Q[t-1] = refractory_steps +
// 1]. It is whole and at most 1,000,001, so exact in f32. Layers that need none, whose threshold is strict or depends on
// variables, do not store it: it begins at 0 in each pass, and nothing depends on it. Models with four variables have none.
//
// Sources: Bellec, Salaj, Subramoney, Legenstein and Maass 2018, Yin, Corradi and Bohte 2021 (a threshold that depends on
// past spikes; the latter with a delayed reset); Gerstner, Kistler, Naud and Paninski 2014, 1.3 (refractoriness).
#ifndef SYNFIRE_MODEL_RULED_HPP
#define SYNFIRE_MODEL_RULED_HPP

#include "recursion.hpp"

SYNFIRE_MODEL_BEGIN

// ---- the state ------------------------------------------------------------------------------------------------------

// Place of the countdown among the further variables.
template <IsRuled Model>
inline constexpr int countdown_place = Model::n_states - 2;

// The state or the incoming gradient as the formula has it.
template <IsRuled Model, class R>
SYNFIRE_MODEL_FN StateOf<typename Model::Formula, R> of_formula(StateOf<Model, R> state) {
  StateOf<typename Model::Formula, R> own = {state.v, {}};
  for (int k = 0; k < n_further_states<typename Model::Formula>; ++k) own.w[k] = state.w[k];
  return own;
}
template <IsRuled Model, class R>
SYNFIRE_MODEL_FN IncomingOf<typename Model::Formula, R> of_formula(IncomingOf<Model, R> in) {
  IncomingOf<typename Model::Formula, R> own = {in.spike, in.v, {}};
  for (int k = 0; k < n_further_states<typename Model::Formula>; ++k) own.w[k] = in.w[k];
  return own;
}

// The variables that a pass keeps in memory: all but a countdown that its layer does not need.
template <class Model>
SYNFIRE_MODEL_FN int stored_states(Rules rules) {
  if constexpr (is_ruled<Model>)
    return !Model::counts_down || rules.delayed_reset || rules.refractory_steps > 0 ? Model::n_states
                                                                                    : Model::n_states - 1;
  else
    return Model::n_states;
}

template <IsRuled Model, class R>
SYNFIRE_MODEL_FN bool is_refractory(StateOf<Model, R> before) {
  if constexpr (Model::counts_down)
    return before.w[countdown_place<Model>] > R(1);
  else
    return false;
}
// The countdown after a step with a spike.
template <class R>
SYNFIRE_MODEL_FN R full_countdown(Rules rules) {
  return static_cast<R>(rules.refractory_steps + 1);
}
// `value` if there was a spike in the step before and the reset is delayed, else 0.
template <IsRuled Model, class R>
SYNFIRE_MODEL_FN R if_delayed(Rules rules, StateOf<Model, R> before, R value) {
  if constexpr (!Model::counts_down) return R(0);
  const R after_spike = before.w[countdown_place<Model>] == full_countdown<R>(rules) ? value : R(0);
  return choose(rules.delayed_reset, after_spike, R(0));
}

template <class Formula, class R>
SYNFIRE_MODEL_FN R threshold_of(const R* constants, StateOf<Formula, R> before) {
  if constexpr (AdaptsThreshold<Formula>)
    return threshold_as<Formula, AsNumbers>(constants + first_model_constant, constants[constant_v_threshold], before);
  else
    return constants[constant_v_threshold];
}
// True if the threshold is that of the variables before each step, so that a row of it is taken off H in a pass of its own.
template <class Model>
inline constexpr bool is_centred = false;
template <IsRuled Model>
inline constexpr bool is_centred<Model> = AdaptsThreshold<typename Model::Formula>;

// The threshold of the step that follows this state.
template <class Model, class R>
SYNFIRE_MODEL_FN R step_threshold(const R* constants, StateOf<Model, R> before) {
  if constexpr (is_ruled<Model>)
    return threshold_of<typename Model::Formula>(constants, of_formula<Model>(before));
  else
    return constants[constant_v_threshold];
}

// ---- forward --------------------------------------------------------------------------------------------------------

template <IsRuled Model, class R>
SYNFIRE_MODEL_FN R charge(const R* constants, Rules rules, StateOf<Model, R> before, R x) {
  const R charged = charge<typename Model::Formula>(constants, of_formula<Model>(before), x);
  const R kept = is_refractory<Model>(before) ? before.v : charged;
  return kept - if_delayed<Model>(rules, before, step_threshold<Model>(constants, before));
}

// Selects numbers, not conditions, so that loops over neurons are vectorised.
template <IsRuled Model, class R>
SYNFIRE_MODEL_FN bool fires(const R* constants, Rules rules, StateOf<Model, R> before, R h) {
  const R threshold = step_threshold<Model>(constants, before);
  const R above = h > threshold ? R(1) : R(0), at_least = h >= threshold ? R(1) : R(0);
  const R spike = choose(rules.strict_threshold, above, at_least);
  return (is_refractory<Model>(before) ? R(0) : spike) > R(0);
}

template <IsRuled Model, class R>
SYNFIRE_MODEL_FN R reset(const R* constants, Rules rules, StateOf<Model, R> before, R h, bool spike) {
  const R after_spike =
      choose(rules.soft_reset, h - step_threshold<Model>(constants, before), constants[constant_v_reset]);
  const R charged = choose(rules.delayed_reset, h, after_spike);
  return spike ? charged : h;
}

template <IsRuled Model, class R>
SYNFIRE_MODEL_FN StateOf<Model, R> advance(const R* constants, Rules rules, StateOf<Model, R> before, R x, R h,
                                           bool spike) {
  using Formula = typename Model::Formula;
  StateOf<Formula, R> own = {};
  advance_further<Formula>(constants + first_model_constant, of_formula<Model>(before), x, h, spike ? R(1) : R(0), own);
  StateOf<Model, R> after = {};
  after.v = reset<Model>(constants, rules, before, h, spike);
  for (int k = 0; k < n_further_states<Formula>; ++k) after.w[k] = own.w[k];
  if constexpr (Model::counts_down) {
    const R left = before.w[countdown_place<Model>] - R(1);
    const R lower = left > R(0) ? left : R(0);
    after.w[countdown_place<Model>] = spike ? full_countdown<R>(rules) : lower;
  }
  return after;
}

// H as a tape keeps it in 16 bits beside the spike, as on_the_side_of() in recursion.hpp. A refractory step has no spike,
// whatever its H.
SYNFIRE_MODEL_FN float next_above(float x) {
  return -next_below(-x);
}
template <IsRuled Model>
SYNFIRE_MODEL_FN float on_the_side_of(const float* constants, Rules rules, StateOf<Model, float> before, bool spike,
                                      float h) {
  const float threshold = step_threshold<Model>(constants, before);
  const float least = choose(rules.strict_threshold, next_above(threshold), threshold);
  const float moved = on_the_side_of(spike, h, least);
  return is_refractory<Model>(before) ? h : moved;
}
template <IsPlain Model>
SYNFIRE_MODEL_FN float on_the_side_of(const float* constants, Rules, StateOf<Model, float>, bool spike, float h) {
  return on_the_side_of(spike, h, constants[constant_v_threshold]);
}

// ---- backward -------------------------------------------------------------------------------------------------------

// dL/dU_k[t-1] of the formula's variables K and above; `charged` is dL/df.
template <class Formula, int K = 1, class C, class R>
SYNFIRE_MODEL_FN void carry_further(const C* c, R v_threshold, StateOf<Formula, R> before, R x, R h, R spike,
                                    IncomingOf<Formula, R> in, R charged, R grad_threshold, R* carried) {
  if constexpr (K <= n_further_states<Formula>) {
    R grad = charged * number<R>(charge_as<Formula, AsDuals<K>>(c, before, x).derivative);
    if constexpr (AdaptsThreshold<Formula>)
      grad = add_through(grad_threshold, threshold_as<Formula, AsDuals<K>>(c, v_threshold, before).derivative, grad);
    carried[K - 1] = add_further<Formula, K>(c, before, x, h, spike, in, grad);
    carry_further<Formula, K + 1>(c, v_threshold, before, x, h, spike, in, charged, grad_threshold, carried);
  }
}

// One step of the adjoint, as in recursion.hpp. g is 0 in a refractory step, and G_S also has what the next step's delayed
// reset carried back, G_Q: the gradient of the countdown is that of the last spike.
//
//     G_f     = G_H, or 0 in a refractory step, whose V[t-1] receives G_H
//     G_theta = -G_S'*g - S*G_V (soft) - S[t-1]*G_H (delayed)
//     G_Q     = -theta*G_H (delayed, attached)
template <IsRuled Model, class R>
SYNFIRE_MODEL_FN StepGradientOf<Model, R> backward_step(const R* constants, Rules rules, StateOf<Model, R> before, R x,
                                                        R h, R g, IncomingOf<Model, R> in) {
  using Formula = typename Model::Formula;
  Dual<R, Zero> c[Model::n_constants > 0 ? Model::n_constants : 1];
  for (int k = 0; k < Model::n_constants; ++k) c[k] = constant(constants[first_model_constant + k]);
  const StateOf<Formula, R> own = of_formula<Model>(before);
  const IncomingOf<Formula, R> incoming = of_formula<Model>(in);
  const R v_threshold = constants[constant_v_threshold];
  const R threshold = threshold_of<Formula>(constants, own);
  const bool spike = fires<Model>(constants, rules, before, h);
  const R s = spike ? R(1) : R(0), slope = is_refractory<Model>(before) ? R(0) : g;

  const R jump = choose(rules.soft_reset, -threshold, constants[constant_v_reset] - h);
  const R attached = choose(rules.delayed_reset, in.spike, fma(in.v, jump, in.spike));
  R grad_spike = choose(rules.detach_reset, in.spike, attached);
  if constexpr (Model::counts_down) grad_spike = grad_spike + in.w[countdown_place<Model>];
  grad_spike = add_further<Formula, along_spike>(c, own, x, h, s, incoming, grad_spike);
  const R through = choose(rules.soft_reset, in.v, spike ? R(0) : in.v);
  const R grad_h = add_further<Formula, along_h>(c, own, x, h, s, incoming, fma(grad_spike, slope, through));
  const R charged = is_refractory<Model>(before) ? R(0) : grad_h;

  const R subtracted = choose(rules.delayed_reset, if_delayed<Model>(rules, before, grad_h),
                              choose(rules.soft_reset, spike ? in.v : R(0), R(0)));
  const R grad_threshold = -fma(slope, grad_spike, subtracted);
  const R dh_dv = number<R>(charge_as<Formula, AsDuals<0>>(c, own, x).derivative);
  const R dh_dx = number<R>(charge_as<Formula, AsDuals<along_input>>(c, own, x).derivative);
  const R through_charge = charged * dh_dv;
  StateOf<Model, R> carried = {};
  carried.v =
      add_further<Formula, 0>(c, own, x, h, s, incoming, is_refractory<Model>(before) ? grad_h : through_charge);
  carry_further<Formula>(c, v_threshold, own, x, h, s, incoming, charged, grad_threshold, carried.w);
  if constexpr (Model::counts_down)
    carried.w[countdown_place<Model>] =
        choose(rules.delayed_reset, choose(rules.detach_reset, R(0), -(threshold * grad_h)), R(0));
  return {add_further<Formula, along_input>(c, own, x, h, s, incoming, charged * dh_dx), carried, charged, grad_spike,
          grad_threshold};
}

template <IsRuled Model, class R>
SYNFIRE_MODEL_FN R parameter_gradient(const R* constants, Rules rules, const R* slopes, StateOf<Model, R> before, R x,
                                      R h, const StepGradientOf<Model, R>& step, IncomingOf<Model, R> in) {
  using Formula = typename Model::Formula;
  using Constant = AsDuals<along_nothing>;
  Dual<R, R> c[Model::n_constants > 0 ? Model::n_constants : 1];
  for (int k = 0; k < Model::n_constants; ++k) c[k] = {constants[first_model_constant + k], slopes[k]};
  const StateOf<Formula, R> own = of_formula<Model>(before);
  R sum = step.h * number<R>(charge_as<Formula, Constant>(c, own, x).derivative);
  if constexpr (AdaptsThreshold<Formula>)
    sum = add_through(step.threshold,
                      threshold_as<Formula, Constant>(c, constants[constant_v_threshold], own).derivative, sum);
  const R spike = fires<Model>(constants, rules, before, h) ? R(1) : R(0);
  return add_further<Formula, along_nothing>(c, own, x, h, spike, of_formula<Model>(in), sum);
}
template <IsPlain Model, class R>
SYNFIRE_MODEL_FN R parameter_gradient(const R* constants, Rules, const R* slopes, StateOf<Model, R> before, R x, R h,
                                      const StepGradientOf<Model, R>& step, IncomingOf<Model, R> in) {
  return parameter_gradient<Model>(constants, slopes, before, x, h, step, in);
}

template <IsRuled Model, class R>
SYNFIRE_MODEL_FN R v_threshold_gradient(const R* constants, Rules, StateOf<Model, R> before, R /*h*/, R /*g*/,
                                        const StepGradientOf<Model, R>& step, IncomingOf<Model, R> /*in*/) {
  using Formula = typename Model::Formula;
  if constexpr (AdaptsThreshold<Formula>) {
    Dual<R, Zero> c[Model::n_constants > 0 ? Model::n_constants : 1];
    for (int k = 0; k < Model::n_constants; ++k) c[k] = constant(constants[first_model_constant + k]);
    return step.threshold * number<R>(threshold_as<Formula, AsDuals<along_v_threshold>>(
                                          c, constants[constant_v_threshold], of_formula<Model>(before))
                                          .derivative);
  } else {
    return step.threshold;
  }
}

template <IsRuled Model, class R>
SYNFIRE_MODEL_FN R v_reset_gradient(const R* constants, Rules rules, StateOf<Model, R> before, R h,
                                    IncomingOf<Model, R> in) {
  return choose(rules.soft_reset, R(0), fires<Model>(constants, rules, before, h) ? in.v : R(0));
}

SYNFIRE_MODEL_END

#endif

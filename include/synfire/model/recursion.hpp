// The generic recursion of one neuron through time: firing, reset and adjoint, once for all models and both backends.
// Loops over neurons and steps, and access to memory, are in the backends' kernels.
//
// Notation: X is the input, H the charged potential, S the spike, V the potential after reset; S[t] = [H[t] ≥
// v_threshold]. U_1, U_2 and U_3 are the further variables of models that have them; U_1 is called W.
#ifndef SYNFIRE_MODEL_RECURSION_HPP
#define SYNFIRE_MODEL_RECURSION_HPP

#include "dual.hpp"
#include "layout.hpp"

SYNFIRE_MODEL_BEGIN

// True if layers of the model never fire: V[t] = H[t], without a threshold, a reset or a surrogate.
template <class Model>
inline constexpr bool is_silent = false;
template <class Model>
  requires requires {
    Model::never_fires;
  }
inline constexpr bool is_silent<Model> = Model::never_fires;

// True if, in addition, the kernels do without firing: one variable, and an H that is linear in V and X, so that backward
// needs neither of them, unless it takes gradients of parameters. A silent model with further variables takes the kernels
// of one that fires: its threshold is a NaN, which no H reaches and at which every surrogate's derivative is 0.
template <class Model>
inline constexpr bool never_fires = is_silent<Model>&& Model::n_states == 1;

// The constant v_threshold of a model that never fires, by its number of variables.
SYNFIRE_MODEL_FN double threshold_of_silence(int n_states) {
  return n_states == 1 ? 0.0 : from_bits(0x7FF8000000000000ull);
}

// Parameters of firing that a model has beside its own: v_threshold and v_reset, or none.
template <class Model>
inline constexpr int n_firing_parameters = is_silent<Model> ? 0 : 2;

// The formula of a model under the rules that few layers have. Its steps are in ruled.hpp, for which the other parts of
// kernels have hooks: functions of the recursion that take the rules and the state before the step.
template <class Model>
struct Ruled : Model {
  using Formula = Model;
  // The countdown is behind those of the formula; four leave no room for it.
  static constexpr bool counts_down = Model::n_states < max_states;
  static constexpr int n_states = Model::n_states + (counts_down ? 1 : 0);
  static constexpr bool slope_reads_w = true;
};
template <class Model>
inline constexpr bool is_ruled = false;
template <class Model>
inline constexpr bool is_ruled<Ruled<Model>> = true;
template <class Model>
concept IsRuled = is_ruled<Model>;
template <class Model>
concept IsPlain = !is_ruled<Model>;

// Index of the first constant of the surrogate among the constants of a neuron.
template <class Model>
inline constexpr int first_surrogate_constant = first_model_constant + Model::n_constants;

// ---- state ----------------------------------------------------------------------------------------------------------

// State variables beside V.
template <class Model>
inline constexpr int n_further_states = Model::n_states - 1;

// The state that a neuron carries from step to step: V, and the further variables in w; w[0] stays 0 in models with
// one variable.
template <class R, int N = 1>
struct State {
  R v;
  R w[N];
};
template <class Model, class R>
using StateOf = State<R, (Model::n_states > 2 ? Model::n_states - 1 : 1)>;

// Computes further variable K (1 to 3) by the model's adapt(), adapt_third() or adapt_fourth().
template <class Model, int K, class C, class... Arguments>
  requires(K == 1)
SYNFIRE_MODEL_FN auto adapted(const C* model_constants, Arguments... arguments)
    -> decltype(Model::adapt(model_constants, arguments...)) {
  return Model::adapt(model_constants, arguments...);
}
template <class Model, int K, class C, class... Arguments>
  requires(K == 2)
SYNFIRE_MODEL_FN auto adapted(const C* model_constants, Arguments... arguments)
    -> decltype(Model::adapt_third(model_constants, arguments...)) {
  return Model::adapt_third(model_constants, arguments...);
}
template <class Model, int K, class C, class... Arguments>
  requires(K == 3)
SYNFIRE_MODEL_FN auto adapted(const C* model_constants, Arguments... arguments)
    -> decltype(Model::adapt_fourth(model_constants, arguments...)) {
  return Model::adapt_fourth(model_constants, arguments...);
}

// True if that function has the short form, adapt(constants, u, h, s), in which the variable depends on itself, H and S.
// The full form, adapt(constants, v, w, ..., x, h, s), has all variables before the step, and X.
// clang-format off
template <class Model, int K>
concept AdaptsAlone = requires(const float* c, float a) { adapted<Model, K>(c, a, a, a); };
// clang-format on

// True if a further variable may depend on V or X, so that the state after a step does not follow from H alone.
template <class Model, int K = Model::n_states - 1>
constexpr bool follows_input() {
  if constexpr (is_ruled<Model>)
    return follows_input<typename Model::Formula>();
  else if constexpr (K < 1)
    return false;
  else
    return !AdaptsAlone<Model, K> || follows_input<Model, K - 1>();
}

// True if ∂H/∂V or ∂H/∂X depends on X, so that backward needs X in addition to H. True unless the model says otherwise.
template <class Model>
inline constexpr bool slope_reads_input = true;
template <class Model>
  requires requires {
    Model::slope_reads_input;
  }
inline constexpr bool slope_reads_input<Model> = Model::slope_reads_input || follows_input<Model>();

// True if a derivative of H or of a further variable depends on a further variable, so that backward needs them before
// each step. For models that have some, true unless the model says otherwise.
template <class Model>
inline constexpr bool slope_reads_w = Model::n_states >= 2;
template <class Model>
  requires requires {
    Model::slope_reads_w;
  }
inline constexpr bool slope_reads_w<Model> = Model::slope_reads_w;

// True if the threshold depends on further variables: threshold(constants, v_threshold, w, ...), with all of them as they
// were before the step. Such a model has Ruled kernels only.
// clang-format off
template <class Model>
concept AdaptsThreshold =
    (Model::n_states == 2 && requires(const float* c, float a) { Model::threshold(c, a, a); }) ||
    (Model::n_states == 3 && requires(const float* c, float a) { Model::threshold(c, a, a, a); }) ||
    (Model::n_states == 4 && requires(const float* c, float a) { Model::threshold(c, a, a, a, a); });
// clang-format on

// The names of the state variables. V is "v", and W is "w" unless the model names it.
template <class Model>
constexpr const char* state_name(int variable) {
  if constexpr (requires { Model::states[0]; }) return Model::states[variable];
  return variable == 0 ? "v" : "w";
}

// ---- the model's functions ------------------------------------------------------------------------------------------

// A function of the model may be differentiated along V (0), a further variable (1 to 3), or one of these.
inline constexpr int along_input = -1;
inline constexpr int along_h = -2;
inline constexpr int along_spike = -3;
inline constexpr int along_nothing = -4;
inline constexpr int along_v_threshold = -5;

// How arguments are passed: as numbers, or as dual numbers of which argument `Along` is the variable.
struct AsNumbers {
  template <int I, class R>
  static SYNFIRE_MODEL_FN R pass(R value) {
    return value;
  }
};
template <int Along>
struct AsDuals {
  template <int I, class R>
  static SYNFIRE_MODEL_FN auto pass(R value) {
    if constexpr (I == Along)
      return variable(value);
    else
      return constant(value);
  }
};

// H of a model with one or two variables. The arguments may be numbers or dual numbers.
template <class Model, class C, class V, class W, class X>
SYNFIRE_MODEL_FN auto charge_of(const C* model_constants, V v, W w, X x) {
  if constexpr (Model::n_states == 2)
    return Model::charge(model_constants, v, w, x);
  else
    return Model::charge(model_constants, v, x);
}

// H of any model.
template <class Model, class As, class C, class R>
SYNFIRE_MODEL_FN auto charge_as(const C* model_constants, StateOf<Model, R> before, R x) {
  const auto v = As::template pass<0>(before.v);
  const auto input = As::template pass<along_input>(x);
  if constexpr (Model::n_states <= 2)
    return charge_of<Model>(model_constants, v, As::template pass<1>(before.w[0]), input);
  else if constexpr (Model::n_states == 3)
    return Model::charge(model_constants, v, As::template pass<1>(before.w[0]), As::template pass<2>(before.w[1]),
                         input);
  else
    return Model::charge(model_constants, v, As::template pass<1>(before.w[0]), As::template pass<2>(before.w[1]),
                         As::template pass<3>(before.w[2]), input);
}

// Further variable K after the step.
template <class Model, int K, class As, class C, class R>
SYNFIRE_MODEL_FN auto adapt_as(const C* model_constants, StateOf<Model, R> before, R x, R h, R spike) {
  const auto charged = As::template pass<along_h>(h);
  const auto s = As::template pass<along_spike>(spike);
  const auto w = As::template pass<1>(before.w[0]);
  if constexpr (AdaptsAlone<Model, K>) {
    return adapted<Model, K>(model_constants, As::template pass<K>(before.w[K - 1]), charged, s);
  } else {
    const auto v = As::template pass<0>(before.v);
    const auto input = As::template pass<along_input>(x);
    if constexpr (Model::n_states == 2)
      return adapted<Model, K>(model_constants, v, w, input, charged, s);
    else if constexpr (Model::n_states == 3)
      return adapted<Model, K>(model_constants, v, w, As::template pass<2>(before.w[1]), input, charged, s);
    else
      return adapted<Model, K>(model_constants, v, w, As::template pass<2>(before.w[1]),
                               As::template pass<3>(before.w[2]), input, charged, s);
  }
}

// The threshold of a model that has such a function.
template <class Model, class As, class C, class R>
SYNFIRE_MODEL_FN auto threshold_as(const C* model_constants, R v_threshold, StateOf<Model, R> before) {
  const auto common = As::template pass<along_v_threshold>(v_threshold);
  const auto w = As::template pass<1>(before.w[0]);
  if constexpr (Model::n_states == 2)
    return Model::threshold(model_constants, common, w);
  else if constexpr (Model::n_states == 3)
    return Model::threshold(model_constants, common, w, As::template pass<2>(before.w[1]));
  else
    return Model::threshold(model_constants, common, w, As::template pass<2>(before.w[1]),
                            As::template pass<3>(before.w[2]));
}

// ---- forward --------------------------------------------------------------------------------------------------------

// A NaN never fires.
template <class Model, class R>
SYNFIRE_MODEL_FN bool fires(const R* constants, R h) {
  if constexpr (never_fires<Model>)
    return false;
  else
    return h >= constants[constant_v_threshold];
}

template <class Model, class R>
SYNFIRE_MODEL_FN R charge(const R* constants, StateOf<Model, R> before, R x) {
  return charge_as<Model, AsNumbers>(constants + first_model_constant, before, x);
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

template <class Model, int K = 1, class R>
SYNFIRE_MODEL_FN void advance_further(const R* model_constants, StateOf<Model, R> before, R x, R h, R spike,
                                      StateOf<Model, R>& after) {
  if constexpr (K <= n_further_states<Model>) {
    after.w[K - 1] = adapt_as<Model, K, AsNumbers>(model_constants, before, x, h, spike);
    advance_further<Model, K + 1>(model_constants, before, x, h, spike, after);
  }
}

// The state after a step whose charged potential is h. Only further variables in the full form read V and X.
template <IsPlain Model, class R>
SYNFIRE_MODEL_FN StateOf<Model, R> advance(const R* constants, Rules rules, StateOf<Model, R> before, R x, R h,
                                           bool spike) {
  StateOf<Model, R> after = {};
  after.v = reset(constants, rules, h, spike);
  advance_further<Model>(constants + first_model_constant, before, x, h, spike ? R(1) : R(0), after);
  return after;
}

// ---- backward -------------------------------------------------------------------------------------------------------

// The incoming gradient of a step: dL/dS[t], dL/dV[t], dL/dU_k[t], all but the first including what step t+1 carried
// back.
template <class R, int N = 1>
struct Incoming {
  R spike, v;
  R w[N];
};
template <class Model, class R>
using IncomingOf = Incoming<R, (Model::n_states > 2 ? Model::n_states - 1 : 1)>;

template <class R, int N = 1>
struct StepGradient {
  R x;                 // dL/dX[t]
  State<R, N> before;  // dL/dV[t−1], dL/dU_k[t−1]: carried to the previous step
  R h;                 // dL/dH[t]
  R spike;             // dL/dS[t] including reset and adaptation; times g it is a term of dL/dH[t]
  R threshold = R(0);  // dL/d(threshold of the step), of Ruled models only
};
template <class Model, class R>
using StepGradientOf = StepGradient<R, (Model::n_states > 2 ? Model::n_states - 1 : 1)>;

// a·derivative + c; nothing is added where the derivative is known to be zero.
template <class R, class D>
SYNFIRE_MODEL_FN R add_through(R a, D derivative, R c) {
  if constexpr (is_zero<D>)
    return c;
  else
    return fma(a, number<R>(derivative), c);
}

// sum + Σ_k G_k·∂U_k/∂i, one product after the other, where i is what `Along` names.
template <class Model, int Along, int K = 1, class C, class R>
SYNFIRE_MODEL_FN R add_further(const C* c, StateOf<Model, R> before, R x, R h, R spike, IncomingOf<Model, R> in,
                               R sum) {
  if constexpr (K > n_further_states<Model>)
    return sum;
  else
    return add_further<Model, Along, K + 1>(
        c, before, x, h, spike, in,
        add_through(in.w[K - 1], adapt_as<Model, K, AsDuals<Along>>(c, before, x, h, spike).derivative, sum));
}

// dL/dU_k[t−1] of variables K and above.
template <class Model, int K = 1, class C, class R>
SYNFIRE_MODEL_FN void step_further(const C* c, StateOf<Model, R> before, R x, R h, R spike, IncomingOf<Model, R> in,
                                   R grad_h, StateOf<Model, R>& carried) {
  if constexpr (K <= n_further_states<Model>) {
    const R slope = number<R>(charge_as<Model, AsDuals<K>>(c, before, x).derivative);
    carried.w[K - 1] = add_further<Model, K>(c, before, x, h, spike, in, grad_h * slope);
    step_further<Model, K + 1>(c, before, x, h, spike, in, grad_h, carried);
  }
}

// One step of the adjoint; g = g'(H − v_threshold) is the surrogate derivative, the sums are over the further variables.
//
//     ∂V/∂S = v_reset − H   (hard)     −v_threshold   (soft)     0 when the reset is detached
//     G_S'  = G_S + G_V·∂V/∂S + Σ G_k·∂U_k/∂S                    (adaptation is never detached)
//     G_H   = G_S'·g + G_V·(1 − S or 1) + Σ G_k·∂U_k/∂H
//     G_X   = G_H·∂H/∂X + Σ G_k·∂U_k/∂X
//     dL/dV[t−1] = G_H·∂H/∂V[t−1] + Σ G_k·∂U_k/∂V[t−1]           likewise for each U[t−1]
template <IsPlain Model, class R>
SYNFIRE_MODEL_FN StepGradientOf<Model, R> backward_step(const R* constants, Rules rules, StateOf<Model, R> before, R x,
                                                        R h, R g, IncomingOf<Model, R> in) {
  static_assert(!never_fires<Model> || (Model::n_states == 1 && !slope_reads_input<Model>));
  Dual<R, Zero> c[Model::n_constants > 0 ? Model::n_constants : 1];
  for (int k = 0; k < Model::n_constants; ++k) c[k] = constant(constants[first_model_constant + k]);
  const R dh_dv = number<R>(charge_as<Model, AsDuals<0>>(c, before, x).derivative);
  const R dh_dx = number<R>(charge_as<Model, AsDuals<along_input>>(c, before, x).derivative);

  if constexpr (never_fires<Model>) return {in.v * dh_dx, {in.v * dh_dv, {R(0)}}, in.v, R(0)};
  const R v_threshold = constants[constant_v_threshold];
  const R v_reset = constants[constant_v_reset];
  const bool spike = fires<Model>(constants, h);
  const R jump = choose(rules.soft_reset, -v_threshold, v_reset - h);
  R grad_spike = choose(rules.detach_reset, in.spike, fma(in.v, jump, in.spike));
  const R through = choose(rules.soft_reset, in.v, spike ? R(0) : in.v);
  if constexpr (Model::n_states == 1) {
    const R grad_h = fma(grad_spike, g, through);
    return {grad_h * dh_dx, {grad_h * dh_dv, {R(0)}}, grad_h, grad_spike};
  } else {
    const R s = spike ? R(1) : R(0);
    grad_spike = add_further<Model, along_spike>(c, before, x, h, s, in, grad_spike);
    const R grad_h = add_further<Model, along_h>(c, before, x, h, s, in, fma(grad_spike, g, through));
    StateOf<Model, R> carried = {};
    carried.v = add_further<Model, 0>(c, before, x, h, s, in, grad_h * dh_dv);
    step_further<Model>(c, before, x, h, s, in, grad_h, carried);
    return {add_further<Model, along_input>(c, before, x, h, s, in, grad_h * dh_dx), carried, grad_h, grad_spike};
  }
}

// The contribution of one step to the gradient of a parameter p of the model; `slopes` are ∂c/∂p of the model's
// constants c.
//
//     dL/dp += G_H·∂H/∂p + Σ G_k·∂U_k/∂p
template <class Model, class R>
SYNFIRE_MODEL_FN R parameter_gradient(const R* constants, const R* slopes, StateOf<Model, R> before, R x, R h,
                                      const StepGradientOf<Model, R>& step, IncomingOf<Model, R> in) {
  Dual<R, R> c[Model::n_constants > 0 ? Model::n_constants : 1];
  for (int k = 0; k < Model::n_constants; ++k) c[k] = {constants[first_model_constant + k], slopes[k]};
  using Constant = AsDuals<along_nothing>;
  const R through_h = step.h * number<R>(charge_as<Model, Constant>(c, before, x).derivative);
  const R spike = fires<Model>(constants, h) ? R(1) : R(0);
  return add_further<Model, along_nothing>(c, before, x, h, spike, in, through_h);
}

// The same for v_threshold: −g·dL/dS, and the soft reset's own −S·G_V.
template <class Model, class R>
SYNFIRE_MODEL_FN R v_threshold_gradient(const R* constants, Rules rules, R h, R g, const StepGradientOf<Model, R>& step,
                                        IncomingOf<Model, R> in) {
  const R direct = choose(rules.soft_reset, fires<Model>(constants, h) ? in.v : R(0), R(0));
  return -fma(g, step.spike, direct);
}

// The same for v_reset: the hard reset's S·G_V.
template <class Model, class R>
SYNFIRE_MODEL_FN R v_reset_gradient(const R* constants, Rules rules, R h, IncomingOf<Model, R> in) {
  return choose(rules.soft_reset, R(0), fires<Model>(constants, h) ? in.v : R(0));
}

// ---- hooks for Ruled models -----------------------------------------------------------------------------------------

// The same functions with the rules and the state before the step, which only Ruled models read (ruled.hpp).
template <IsPlain Model, class R>
SYNFIRE_MODEL_FN bool fires(const R* constants, Rules, StateOf<Model, R>, R h) {
  return fires<Model>(constants, h);
}
template <IsPlain Model, class R>
SYNFIRE_MODEL_FN R charge(const R* constants, Rules, StateOf<Model, R> before, R x) {
  return charge<Model>(constants, before, x);
}
template <IsPlain Model, class R>
SYNFIRE_MODEL_FN R reset(const R* constants, Rules rules, StateOf<Model, R>, R h, bool spike) {
  return reset(constants, rules, h, spike);
}
template <IsPlain Model, class R>
SYNFIRE_MODEL_FN R v_threshold_gradient(const R* constants, Rules rules, StateOf<Model, R>, R h, R g,
                                        const StepGradientOf<Model, R>& step, IncomingOf<Model, R> in) {
  return v_threshold_gradient<Model>(constants, rules, h, g, step, in);
}
template <IsPlain Model, class R>
SYNFIRE_MODEL_FN R v_reset_gradient(const R* constants, Rules rules, StateOf<Model, R>, R h, IncomingOf<Model, R> in) {
  return v_reset_gradient<Model>(constants, rules, h, in);
}

SYNFIRE_MODEL_END

#endif

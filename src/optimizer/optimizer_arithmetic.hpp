// The arithmetic of a step, the same on every backend: synfire_graph_record_optimizer_step() says where operations are
// fused. Values for a whole member are computed in f64.
#ifndef SYNFIRE_OPTIMIZER_OPTIMIZER_ARITHMETIC_HPP
#define SYNFIRE_OPTIMIZER_OPTIMIZER_ARITHMETIC_HPP

#include "optimizer_arguments.hpp"

#include <synfire/model/platform.hpp>

namespace synfire::operations {
inline namespace SYNFIRE_MODEL_LEVEL {

// ---- correctly rounded operations -----------------------------------------------------------------------------------

SYNFIRE_MODEL_FN float divide(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fdiv_rn(a, b);
#else
  return a / b;
#endif
}
SYNFIRE_MODEL_FN double divide(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __ddiv_rn(a, b);
#else
  return a / b;
#endif
}
SYNFIRE_MODEL_FN float square_root(float x) {
#if defined(__CUDA_ARCH__)
  return __fsqrt_rn(x);
#else
  return __builtin_sqrtf(x);
#endif
}
SYNFIRE_MODEL_FN double square_root(double x) {
#if defined(__CUDA_ARCH__)
  return __dsqrt_rn(x);
#else
  return __builtin_sqrt(x);
#endif
}

template <class R>
constexpr R largest_of_type = R(1.7976931348623157e308);
template <>
inline constexpr float largest_of_type<float> = 3.4028234663852886e38f;

template <class R>
SYNFIRE_MODEL_FN R saturated(R x) {
  constexpr R largest = largest_of_type<R>;
  const R below = x > largest ? largest : x;
  return below < -largest ? -largest : below;
}

// ---- one step -------------------------------------------------------------------------------------------------------

// Begins a step, given the sum of the squares of all gradients.
SYNFIRE_MODEL_FN void begin_step(OptimizerState& state, const OptimizerRates& rates, const StepValues& values,
                                 double squares) {
  const bool finite = squares <= largest_of_type<double>;  // false for a NaN
  state.takes_step = finite ? 1 : 0;
  if (!finite) {
    ++state.skipped;
    return;
  }
  const double norm = square_root(squares), clip = values.clip.get();
  state.gradient_norm = norm;
  state.scale = 1;
  if (clip > 0) {
    const double scale = divide(clip, norm + 1e-6);
    state.scale = scale < 1 ? scale : 1;
  }
  ++state.step_count;
  state.beta1_power = state.beta1_power * rates.beta1;
  state.beta2_power = state.beta2_power * rates.beta2;
  const bool adam = rates.rule == OptimizerRule::adam;
  state.correction1 = adam ? 1 - state.beta1_power : 1.0;
  state.correction2 = adam ? square_root(1 - state.beta2_power) : 1.0;
  state.rate = values.rate.get();
  state.decay = values.decay.get();
}

// The numbers of a member's step.
template <class R>
struct StepConstants {
  R scale, decay, keep, step;  // decay: of the gradient; keep: what a weight is multiplied by first
  R momentum, one_minus_beta1, beta2, one_minus_beta2, correction2, epsilon;
  bool nesterov;
};

template <class R>
SYNFIRE_MODEL_FN StepConstants<R> constants_of(const OptimizerState& state, const OptimizerRates& rates,
                                               const MemberFactors& factors) {
  const double rate = state.rate * factors.rate, decay = state.decay * factors.decay;
  return {static_cast<R>(state.scale),
          static_cast<R>(rates.decoupled ? 0.0 : decay),
          static_cast<R>(rates.decoupled ? 1 - rate * decay : 1.0),
          static_cast<R>(divide(rate, state.correction1)),
          static_cast<R>(rates.momentum),
          static_cast<R>(1 - rates.beta1),
          static_cast<R>(rates.beta2),
          static_cast<R>(1 - rates.beta2),
          static_cast<R>(state.correction2),
          static_cast<R>(rates.epsilon),
          rates.nesterov};
}

// The direction of a step for a gradient and a weight; updates the moments.
template <OptimizerRule rule, class R>
SYNFIRE_MODEL_FN R direction_of(const StepConstants<R>& k, R gradient, R weight, R& moment1, R& moment2) {
  const R d = model::fma(k.decay, weight, gradient * k.scale);
  if constexpr (rule == OptimizerRule::descent) return d;
  if constexpr (rule == OptimizerRule::momentum) {
    moment1 = saturated(model::fma(k.momentum, moment1, d));
    return k.nesterov ? model::fma(k.momentum, moment1, d) : moment1;
  }
  if constexpr (rule == OptimizerRule::adam) {
    moment1 = saturated(model::fma(k.one_minus_beta1, d - moment1, moment1));
    moment2 = saturated(model::fma(k.one_minus_beta2, d * d, k.beta2 * moment2));
    return divide(moment1, divide(square_root(moment2), k.correction2) + k.epsilon);
  }
}

template <OptimizerRule rule, class R>
SYNFIRE_MODEL_FN R stepped_weight(const StepConstants<R>& k, R gradient, R weight, R& moment1, R& moment2) {
  const R direction = direction_of<rule>(k, gradient, weight, moment1, moment2);
  const R next = model::fma(-k.step, direction, weight * k.keep);
  return model::absolute(next) <= largest_of_type<R> ? next : weight;
}

// Calls f with the rule as a constant.
template <OptimizerRule rule>
struct RuleConstant {
  static constexpr OptimizerRule value = rule;
};
template <class F>
SYNFIRE_MODEL_FN void with_rule(OptimizerRule rule, F f) {
  if (rule == OptimizerRule::adam)
    f(RuleConstant<OptimizerRule::adam>());
  else if (rule == OptimizerRule::momentum)
    f(RuleConstant<OptimizerRule::momentum>());
  else
    f(RuleConstant<OptimizerRule::descent>());
}

}  // namespace SYNFIRE_MODEL_LEVEL
}  // namespace synfire::operations

#endif

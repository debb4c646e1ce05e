// The arithmetic of a step, the same on every backend: synfire_graph_record_optimizer_step() says where operations are
// fused. Values for a whole member are computed in f64.
#ifndef SYNFIRE_OPTIMIZER_OPTIMIZER_ARITHMETIC_HPP
#define SYNFIRE_OPTIMIZER_OPTIMIZER_ARITHMETIC_HPP

#include "optimizer_arguments.hpp"

#include <synfire/model/elementary.hpp>
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
SYNFIRE_MODEL_FN R within(R x, R bound) {
  const R below = x > bound ? bound : x;
  return below < -bound ? -bound : below;
}
template <class R>
SYNFIRE_MODEL_FN R saturated(R x) {
  return within(x, largest_of_type<R>);
}

// ---- several batches for a step -------------------------------------------------------------------------------------

// The number of a batch among those of its step, from 1 on.
SYNFIRE_MODEL_FN uint64_t batch_of_step(const OptimizerState& state, const OptimizerRates& rates) {
  return state.accumulated_batches < rates.batches_per_step ? state.accumulated_batches + 1 : 1;
}
// The step waits for further batches.
SYNFIRE_MODEL_FN void note_batch(OptimizerState& state, uint64_t batch) {
  state.accumulated_batches = batch;
  state.takes_step = 0;
}

// Adds a gradient to the mean of those of a step; `share` is that of a batch.
template <class R>
SYNFIRE_MODEL_FN R accumulated_gradient(R gradient, R share, R mean, bool is_first) {
  return model::fma(gradient, share, is_first ? R(0) : mean);
}

// ---- schedules ------------------------------------------------------------------------------------------------------

// base^exponent, as a product of base^1, base^2, base^4, ... where the exponent has a binary digit.
SYNFIRE_MODEL_FN double whole_power(double base, uint64_t exponent) {
  double product = 1;
  for (double power = base; exponent != 0; exponent >>= 1, power *= power)
    if ((exponent & 1) != 0) product *= power;
  return product;
}

// The factor of the learning rate after `taken` steps.
SYNFIRE_MODEL_FN double factor_of_schedule(const StepValues& values, uint64_t taken) {
  const double kind = values.schedule.get(), warmup = values.warmup_steps.get(), steps = values.schedule_steps.get(),
               factor = values.schedule_factor.get();
  const auto t = static_cast<double>(taken);
  if (t < warmup) return divide(t + 1, warmup);
  if (kind == schedule_constant || !(steps >= 1)) return 1;
  const double s = t - warmup;
  if (kind == schedule_step) {
    constexpr double most = 0x1p63;  // further powers are 0 too, or 1; a count near 2^64 is 2^64 in f64
    const double changes = divide(s, steps);
    return whole_power(factor == 0 ? default_step_factor : factor,
                       static_cast<uint64_t>(changes < most ? changes : most));
  }
  if (kind != schedule_cosine) return 1;
  if (s >= steps) return factor;
  const double sine = model::sine_of_half_turn(0.5 * (1 - divide(s, steps)));
  return model::fma(1 - factor, sine * sine, factor);
}

// ---- one step -------------------------------------------------------------------------------------------------------

// The bound of Adam's |m| / sqrt(v). With r = beta1^2 / beta2, the inequality of Cauchy and Schwarz gives
//   |m| = (1 - beta1) |sum beta1^i d_i| <= (1 - beta1) sqrt(sum r^i) sqrt(sum beta2^i d_i^2)
//       <= (1 - beta1) / sqrt(1 - r) * sqrt(v / (1 - beta2)),
// whatever the gradients are. A 1024th more leaves room for rounding. Without a bound for r of 1 or more.
SYNFIRE_MODEL_FN double longest_ratio_of(const OptimizerRates& rates) {
  const double r = divide(rates.beta1 * rates.beta1, rates.beta2);
  if (!(r < 1)) return largest_of_type<double>;
  return divide((1 - rates.beta1) * (1 + 0x1p-10), square_root((1 - rates.beta2) * (1 - r)));
}

// The numbers of a step that depend on the steps before, and not on the gradients.
struct StepCorrections {
  double beta1_power, beta2_power;
  double correction1, correction2, longest;
  double rate;
};
SYNFIRE_MODEL_FN StepCorrections next_corrections(const OptimizerState& state, const OptimizerRates& rates,
                                                  const StepValues& values) {
  const double beta1_power = state.beta1_power * rates.beta1, beta2_power = state.beta2_power * rates.beta2,
               rate = values.rate.get() * factor_of_schedule(values, state.step_count);
  if (rates.rule != OptimizerRule::adam) return {beta1_power, beta2_power, 1.0, 1.0, 0.0, rate};
  const double correction2 = square_root(1 - beta2_power);
  return {beta1_power, beta2_power, 1 - beta1_power, correction2, rates.longest_ratio * correction2, rate};
}

// Begins a step, given the sum of the squares of all gradients, and the largest norm that they may have after clipping.
SYNFIRE_MODEL_FN void begin_step(OptimizerState& state, const StepCorrections& next, const StepValues& values,
                                 double squares, double largest_norm) {
  const double norm = square_root(squares), clip = values.clip.get();
  double scale = 1;
  if (clip > 0) {
    const double clipping = divide(clip, norm + 1e-6);
    scale = clipping < 1 ? clipping : 1;
  }
  // The first is false for a NaN, the second for an infinite norm too, which clipping does not mend.
  const bool takes_step = squares <= largest_of_type<double> && norm * scale <= largest_norm;
  state.takes_step = takes_step ? 1 : 0;
  state.accumulated_batches = 0;
  if (!takes_step) {
    ++state.skipped;
    return;
  }
  state.gradient_norm = norm;
  state.scale = scale;
  ++state.step_count;
  state.beta1_power = next.beta1_power;
  state.beta2_power = next.beta2_power;
  state.correction1 = next.correction1;
  state.correction2 = next.correction2;
  state.longest = next.longest;
  state.rate = next.rate;
  state.decay = values.decay.get();
}

// The numbers of a member's step.
template <class R>
struct StepConstants {
  R scale, decay, keep, step;  // decay: of the gradient; keep: what a weight is multiplied by first
  R momentum, one_minus_beta1, beta2, one_minus_beta2, correction2, epsilon, longest;
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
          static_cast<R>(state.longest < largest_of_type<R> ? state.longest : largest_of_type<R>),
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
    return within(divide(moment1, divide(square_root(moment2), k.correction2) + k.epsilon), k.longest);
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

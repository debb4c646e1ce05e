// A step for a parameter of a layer: its gradient becomes a direction, along which the parameter descends as in
// parameters/. The same on both backends.
#ifndef SYNFIRE_OPTIMIZER_PARAMETER_STEP_HPP
#define SYNFIRE_OPTIMIZER_PARAMETER_STEP_HPP

#include "optimizer_arithmetic.hpp"

#include <neurons/parameters/derive.hpp>

namespace synfire::operations {

template <class R>
struct ParameterStepArguments {
  UpdateParameterArguments<R> update;  // its `rate` is not read
  const OptimizerState* state;
  OptimizerRates rates;
  const MemberFactors* factors;
  R *moment1, *moment2;
};

inline namespace SYNFIRE_MODEL_LEVEL {

template <class R>
struct ParameterMoments {
  R first, second;
};

// Returns the direction along which the parameter descends; updates the moments.
template <class R>
SYNFIRE_MODEL_FN double parameter_direction(const ParameterStepArguments<R>& a, R gradient, double stored,
                                            ParameterMoments<R>& moments) {
  const double value = a.update.descent.reciprocal ? divide(1.0, stored) : stored;
  const StepConstants<R> constants = constants_of<R>(*a.state, a.rates, *a.factors);
  double direction = 0;
  with_rule(a.rates.rule, [&](auto rule) {
    direction = static_cast<double>(
        direction_of<decltype(rule)::value>(constants, gradient, static_cast<R>(value), moments.first, moments.second));
  });
  direction = divide(direction, a.state->correction1);
  return a.rates.decoupled ? model::fma(a.state->decay * a.factors->decay, value, direction) : direction;
}

template <class R>
SYNFIRE_MODEL_FN ParameterMoments<R> moments_at(const ParameterStepArguments<R>& a, int64_t i) {
  return {a.moment1 ? a.moment1[i] : R(0), a.moment2 ? a.moment2[i] : R(0)};
}
template <class R>
SYNFIRE_MODEL_FN void store_moments(const ParameterStepArguments<R>& a, int64_t i, const ParameterMoments<R>& moments) {
  if (a.moment1) a.moment1[i] = moments.first;
  if (a.moment2) a.moment2[i] = moments.second;
}

SYNFIRE_MODEL_FN double parameter_rate(const OptimizerState& state, const MemberFactors& factors) {
  return state.rate * factors.rate;
}

// Computes neuron i, or only neuron 0 if nothing is per neuron. Returns the new value. Stores the moments of a
// parameter per channel or neuron, of which each neuron has its own; the caller stores a shared value and its moments
// once every neuron has read the old ones.
template <class R>
SYNFIRE_MODEL_FN double step_parameter_of(const ParameterStepArguments<R>& a, int64_t i) {
  return update_parameter_of(a.update, i, parameter_rate(*a.state, *a.factors), [&](int64_t at, double stored) {
    ParameterMoments<R> moments = moments_at(a, at);
    const double direction = parameter_direction(a, a.update.gradient[a.update.entry_of(at)], stored, moments);
    if (a.update.target.master->rows[a.update.parameter]) store_moments(a, at, moments);
    return direction;
  });
}

template <class R>
SYNFIRE_MODEL_FN double shared_parameter_step(const ParameterStepArguments<R>& a) {
  ParameterMoments<R> moments = moments_at(a, 0);
  const double next = shared_value_of(a.update, parameter_rate(*a.state, *a.factors), [&](int64_t, double stored) {
    moments = moments_at(a, 0);
    return parameter_direction(a, a.update.gradient[0], stored, moments);
  });
  store_moments(a, 0, moments);
  return next;
}

}  // namespace SYNFIRE_MODEL_LEVEL
}  // namespace synfire::operations

namespace synfire::cuda {

template <class R>
struct ParameterStepLaunch {
  operations::ParameterStepArguments<R> arguments;
};

}  // namespace synfire::cuda

#endif

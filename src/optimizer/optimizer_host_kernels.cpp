#include "optimizer_host_kernels.hpp"

#include "optimizer_arithmetic.hpp"

#include <synfire/model/reduction.hpp>

namespace synfire::host::SYNFIRE_MODEL_LEVEL {
namespace {

using namespace synfire::operations;

constexpr int lanes = model::reduction_lanes;

template <class R>
double squares(const R* values, int64_t count) {
  double lane[lanes];
  for (double& sum : lane) sum = 0;
  const int64_t whole = count / lanes * lanes;
  for (int64_t first = 0; first < whole; first += lanes)
    for (int i = 0; i < lanes; ++i) {
      const auto value = static_cast<double>(values[first + i]);
      lane[i] += value * value;
    }
  for (int64_t i = whole; i < count; ++i) {
    const auto value = static_cast<double>(values[i]);
    lane[i - whole] += value * value;
  }
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] += lane[i + half];
  return lane[0];
}

template <class R>
void accumulate(const R* __restrict gradients, R* __restrict means, R share, bool is_first, int64_t count) {
  for (int64_t i = 0; i < count; ++i) means[i] = accumulated_gradient(gradients[i], share, means[i], is_first);
}

template <OptimizerRule rule, class R>
void step_elements(const StepConstants<R>& constants, R* __restrict weights, const R* __restrict gradients,
                   R* __restrict moments1, R* __restrict moments2, int64_t count) {
  const StepConstants<R> k = constants;
  for (int64_t i = 0; i < count; ++i) {
    R moment1 = 0, moment2 = 0;
    if constexpr (rule != OptimizerRule::descent) moment1 = moments1[i];
    if constexpr (rule == OptimizerRule::adam) moment2 = moments2[i];
    weights[i] = stepped_weight<rule>(k, gradients[i], weights[i], moment1, moment2);
    if constexpr (rule != OptimizerRule::descent) moments1[i] = moment1;
    if constexpr (rule == OptimizerRule::adam) moments2[i] = moment2;
  }
}

template <class R>
void step(const MemberArray& array, const OptimizerState& state, const OptimizerRates& rates, int64_t first,
          int64_t count) {
  const StepConstants<R> constants = constants_of<R>(state, rates, *array.factors);
  R* const moments1 = array.moment1 ? static_cast<R*>(array.moment1) + first : nullptr;
  R* const moments2 = array.moment2 ? static_cast<R*>(array.moment2) + first : nullptr;
  with_rule(rates.rule, [&](auto rule) {
    step_elements<decltype(rule)::value>(constants, static_cast<R*>(array.values) + first,
                                         static_cast<const R*>(array.gradient) + first, moments1, moments2, count);
  });
}

}  // namespace

extern const OptimizerKernels optimizer_kernels = {{squares<float>, accumulate<float>, step<float>},
                                                   {squares<double>, accumulate<double>, step<double>}};

}  // namespace synfire::host::SYNFIRE_MODEL_LEVEL

// Shared by the twins of kernels that update an array.
#ifndef SYNFIRE_TESTS_TWINS_STEP_ARRAY_TWIN_HPP
#define SYNFIRE_TESTS_TWINS_STEP_ARRAY_TWIN_HPP

#include <optimizer/optimizer_arithmetic.hpp>

namespace synfire::operations {

template <OptimizerRule rule, class R>
void step_array(const OptimizerState& state, const OptimizerRates& rates, const MemberArray& array, int64_t count) {
  if (!array.is_stepped()) return;
  const auto constants = constants_of<R>(state, rates, *array.factors);
  R none = 0;
  for (int64_t i = 0; i < count; ++i) {
    R& weight = static_cast<R*>(array.values)[i];
    R& moment1 = array.moment1 ? static_cast<R*>(array.moment1)[i] : none;
    R& moment2 = array.moment2 ? static_cast<R*>(array.moment2)[i] : none;
    weight = stepped_weight<rule>(constants, static_cast<const R*>(array.gradient)[i], weight, moment1, moment2);
  }
}

}  // namespace synfire::operations

#endif

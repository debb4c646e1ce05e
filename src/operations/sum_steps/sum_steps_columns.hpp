// One sum over the steps, for host code, kernel and twin.
#ifndef SYNFIRE_OPERATIONS_SUM_STEPS_SUM_STEPS_COLUMNS_HPP
#define SYNFIRE_OPERATIONS_SUM_STEPS_SUM_STEPS_COLUMNS_HPP

#include <synfire/model/platform.hpp>

#include <cstdint>

namespace synfire::operations {

struct SumStepsArrays {
  int64_t n_steps, n_columns;
  int64_t pitch;     // of the source, from step to step
  const void* from;  // f32 or f64
  void* to;
  bool add;
};

// Adds from the last step to the first, from +0, in the type of the arrays.
template <class R>
SYNFIRE_MODEL_FN void sum_column(const SumStepsArrays& arrays, int64_t column) {
  const R* const from = static_cast<const R*>(arrays.from) + column;
  R sum = R(0);
  for (int64_t t = arrays.n_steps - 1; t >= 0; --t) sum = sum + from[t * arrays.pitch];
  R& to = static_cast<R*>(arrays.to)[column];
  to = arrays.add ? to + sum : sum;
}

}  // namespace synfire::operations

#endif

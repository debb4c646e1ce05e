// The sum of model/reduction.hpp on the host: running sums in lanes, joined by a binary tree.
#ifndef SYNFIRE_OPERATIONS_GRADIENTS_LANE_SUM_HPP
#define SYNFIRE_OPERATIONS_GRADIENTS_LANE_SUM_HPP

#include <synfire/model/reduction.hpp>

#include <cstdint>

namespace synfire::operations {

inline double lane_sum(const double* values, int64_t count) {
  double lanes[model::reduction_lanes] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i % model::reduction_lanes] += values[i];
  for (int half = model::reduction_lanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

}  // namespace synfire::operations

#endif

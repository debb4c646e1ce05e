// The sum of model/reduction.hpp by one thread: running sums in lanes, added by a binary tree.
#ifndef SYNFIRE_MODEL_LANE_SUM_HPP
#define SYNFIRE_MODEL_LANE_SUM_HPP

#include "platform.hpp"
#include "reduction.hpp"

SYNFIRE_MODEL_BEGIN

SYNFIRE_MODEL_FN double lane_sum(const double* values, s64 count) {
  double lanes[synfire::model::reduction_lanes] = {};
  for (s64 i = 0; i < count; ++i) lanes[i % synfire::model::reduction_lanes] += values[i];
  for (int half = synfire::model::reduction_lanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

SYNFIRE_MODEL_END

#endif

// The sum of model/reduction.hpp by one thread: running sums in lanes, added by a binary tree.
#ifndef SYNFIRE_MODEL_LANE_SUM_HPP
#define SYNFIRE_MODEL_LANE_SUM_HPP

#include "platform.hpp"
#include "reduction.hpp"

SYNFIRE_MODEL_BEGIN

// The sum of numbers that are given one after the other.
class LaneSum {
 public:
  SYNFIRE_MODEL_FN void add(double value) { lanes_[n_added_++ % synfire::model::reduction_lanes] += value; }
  // Called once, after the last number.
  SYNFIRE_MODEL_FN double total() {
    for (int half = synfire::model::reduction_lanes / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) lanes_[i] += lanes_[i + half];
    return lanes_[0];
  }

 private:
  double lanes_[synfire::model::reduction_lanes] = {};
  s64 n_added_ = 0;
};

SYNFIRE_MODEL_FN double lane_sum(const double* values, s64 count) {
  LaneSum sum;
  for (s64 i = 0; i < count; ++i) sum.add(values[i]);
  return sum.total();
}

SYNFIRE_MODEL_END

#endif

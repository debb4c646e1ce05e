// A sum of squares as host code, kernels and twins see it.
#ifndef SYNFIRE_OPERATIONS_SQUARE_SUM_SQUARE_SUM_ARRAYS_HPP
#define SYNFIRE_OPERATIONS_SQUARE_SUM_SQUARE_SUM_ARRAYS_HPP

#include <synfire/model/platform.hpp>
#include <synfire/model/reduction.hpp>

#include <cstdint>

namespace synfire::operations {

struct SquareSumArrays {
  int64_t count;
  const void* source;
  double* partials;  // [n_chunks]
  double* sums;      // [2]
  bool accumulate;

  SYNFIRE_MODEL_FN int64_t n_chunks() const { return (count + model::reduction_chunk - 1) / model::reduction_chunk; }
  SYNFIRE_MODEL_FN int64_t end_of(int64_t chunk) const {
    const int64_t end = (chunk + 1) * model::reduction_chunk;
    return end < count ? end : count;
  }
  SYNFIRE_MODEL_FN void finish(double sum) const {
    sums[0] = accumulate ? sums[0] + sum : sum;
    sums[1] = accumulate ? sums[1] + 1.0 : 1.0;
  }
};

}  // namespace synfire::operations

#endif

// One result of a reduction that continues, for host code, kernel and twin.
#ifndef SYNFIRE_OPERATIONS_RUNNING_REDUCE_RUNNING_REDUCE_COLUMNS_HPP
#define SYNFIRE_OPERATIONS_RUNNING_REDUCE_RUNNING_REDUCE_COLUMNS_HPP

#include <operations/reduce/counting.hpp>

#include <cstdint>

namespace synfire::operations {

// The element type of packed spikes.
struct PackedBits {};

struct RunningReduceArrays {
  int64_t n_steps, n_rows, n_neurons;
  int64_t pitch;         // of the source, from step to step: elements, or words
  bool divides, is_max;  // a mean; a maximum
  bool wide;             // the result is f64
  const void* from;
  double* totals;
  uint64_t* steps;
  void* to;

  SYNFIRE_MODEL_FN int64_t n_columns() const { return n_rows * n_neurons; }
};

template <class E>
struct RunningSource {
  const E* from;
  int64_t pitch;

  SYNFIRE_MODEL_FN RunningSource(const RunningReduceArrays& arrays, int64_t column)
      : from(static_cast<const E*>(arrays.from) + column), pitch(arrays.pitch) {}
  SYNFIRE_MODEL_FN double operator[](int64_t step) const { return static_cast<double>(from[step * pitch]); }
};
template <>
struct RunningSource<PackedBits> {
  const uint32_t* from;
  int64_t pitch;
  int bit;

  SYNFIRE_MODEL_FN RunningSource(const RunningReduceArrays& arrays, int64_t column)
      : from(static_cast<const uint32_t*>(arrays.from) + column / arrays.n_neurons * ((arrays.n_neurons + 31) / 32) +
             column % arrays.n_neurons / 32),
        pitch(arrays.pitch),
        bit(static_cast<int>(column % arrays.n_neurons % 32)) {}
  SYNFIRE_MODEL_FN double operator[](int64_t step) const { return static_cast<double>(from[step * pitch] >> bit & 1u); }
};

template <class E>
SYNFIRE_MODEL_FN void continue_column(const RunningReduceArrays& arrays, int64_t column) {
  const RunningSource<E> source(arrays, column);
  double total = arrays.totals[column];
  uint64_t steps = arrays.steps[column];
  for (int64_t t = 0; t < arrays.n_steps; ++t) {
    const double value = source[t];
    if (!arrays.is_max)
      total = total + value;
    else if (steps + static_cast<uint64_t>(t) == 0 || order_of(value) > order_of(total))
      total = value;
  }
  steps += static_cast<uint64_t>(arrays.n_steps);
  arrays.totals[column] = total;
  arrays.steps[column] = steps;
  const double result = arrays.divides ? total / static_cast<double>(steps) : total;
  if (arrays.wide)
    static_cast<double*>(arrays.to)[column] = result;
  else
    static_cast<float*>(arrays.to)[column] = static_cast<float>(result);
}

}  // namespace synfire::operations

#endif

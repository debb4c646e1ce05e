// The arrays of means over groups, as host code, kernels and twins read them.
#ifndef SYNFIRE_OPERATIONS_GROUP_MEAN_GROUP_MEAN_ARRAYS_HPP
#define SYNFIRE_OPERATIONS_GROUP_MEAN_GROUP_MEAN_ARRAYS_HPP

#include <synfire/model/platform.hpp>

#include <cstdint>

namespace synfire::operations {

// Group j of a step is [j * size, (j + 1) * size) of the step's elements; those of all batch rows follow each other.
struct GroupMeanArrays {
  int64_t n_steps, n_groups;  // of a step
  int64_t size;
  const void* from;  // of means: the elements; of gradients: those of the means
  void* to;
  int64_t from_pitch, to_pitch;
  int32_t from_dtype, to_dtype;
  bool add;

  SYNFIRE_MODEL_FN int64_t n_elements() const { return n_groups * size; }  // of a step
};

}  // namespace synfire::operations

#endif

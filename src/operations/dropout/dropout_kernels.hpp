// The kernel of dropout, as the host code sees it.
#ifndef SYNFIRE_OPERATIONS_DROPOUT_DROPOUT_KERNELS_HPP
#define SYNFIRE_OPERATIONS_DROPOUT_DROPOUT_KERNELS_HPP

#include <base/extents.hpp>

#include <cstdint>

namespace synfire::cuda {

// A thread draws for four neurons.
inline constexpr int dropout_groups = 8;  // of a word

struct DropoutLaunch {
  core::Extents extents;  // one step
  uint32_t* mask;
  void* scale;
  bool wide;  // the scale is f64
  double probability;
  uint64_t seed, offset;
  const double* probability_value;  // null: `probability`
  const uint64_t* seed_value;       // null: `seed`
  const uint64_t* offset_set;       // null: `offset`
  uint64_t* offset_state;
  uint32_t first_row = 0;  // the number of the first batch row
};

const void* dropout_kernel();

}  // namespace synfire::cuda

#endif

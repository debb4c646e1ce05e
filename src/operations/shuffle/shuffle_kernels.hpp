// The kernel of the shuffle, as the host code sees it.
#ifndef SYNFIRE_OPERATIONS_SHUFFLE_SHUFFLE_KERNELS_HPP
#define SYNFIRE_OPERATIONS_SHUFFLE_SHUFFLE_KERNELS_HPP

#include "permutation.hpp"

namespace synfire::cuda {

struct ShuffleLaunch {
  operations::ShuffleRules rules;
  uint32_t* indices;
  uint32_t* n_active;  // may be null
  uint64_t seed, offset;
  const uint64_t* seed_value;  // null: `seed`
  const uint64_t* offset_set;  // null: `offset`
  uint64_t* offset_state;
};

const void* shuffle_kernel();

}  // namespace synfire::cuda

#endif

// The launch of a loss by one block.
#ifndef SYNFIRE_OPERATIONS_LOSS_LAUNCH_OF_HPP
#define SYNFIRE_OPERATIONS_LOSS_LAUNCH_OF_HPP

#include "loss_arguments_of.hpp"
#include "loss_kernels.hpp"

#include <algorithm>
#include <bit>

namespace synfire::operations {

// Each thread has four classes, as long as a warp suffices.
inline int32_t threads_of_a_sample(int64_t n_classes) {
  return static_cast<int32_t>(std::bit_ceil(static_cast<uint64_t>(std::min<int64_t>((n_classes + 3) / 4, 32))));
}

inline cuda::LossLaunch loss_launch_of(const Loss& op) {
  return {arguments_of(op), threads_of_a_sample(op.extents.n_neurons), model::reduction_chunk, true, true, true};
}

}  // namespace synfire::operations

#endif

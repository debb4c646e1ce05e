// The host kernel of a loss: the samples of a range, each with its loss, prediction and gradient.
#ifndef SYNFIRE_OPERATIONS_LOSS_LOSS_HOST_KERNELS_HPP
#define SYNFIRE_OPERATIONS_LOSS_LOSS_HOST_KERNELS_HPP

#include "loss_arguments.hpp"

#include <backends/host/level.hpp>

#include <cstdint>

namespace synfire::host {

struct LossRange {
  int32_t dtype;  // of the predictions
  double factor;  // of the gradients
  int64_t first, end;
  void* losses;  // of all samples, in the type of the arithmetic
};

struct LossKernels {
  // Returns how many predictions are correct.
  uint64_t (*samples)(const operations::LossArguments& arguments, const LossRange& range);
};
SYNFIRE_LEVEL_TABLES(LossKernels, loss_kernels)

}  // namespace synfire::host

#endif

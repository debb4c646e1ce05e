#include "dropout.hpp"
#include "dropout_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

Hints hints(const Dropout&, const GpuShape&) {
  return {};
}

void enqueue(const Dropout& op, Launcher& launcher) {
  launcher.launch(
      dropout_kernel(), launcher.over_elements(op.extents.batch * op.extents.words_per_row() * dropout_groups),
      DropoutLaunch{op.extents, static_cast<uint32_t*>(op.mask.data), op.scale.data,
                    op.scale.dtype == SYNFIRE_DTYPE_F64, op.probability, op.seed, op.offset, op.probability_value,
                    op.seed_value, op.offset_value.set, op.offset_value.state, op.first_row});
}

}  // namespace synfire::operations

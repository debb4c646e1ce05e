#include "shuffle.hpp"
#include "shuffle_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

Hints hints(const Shuffle&, const GpuShape&) {
  return {};
}

void enqueue(const Shuffle& op, Launcher& launcher) {
  launcher.launch(
      shuffle_kernel(), launcher.over_elements(op.rules.batch),
      ShuffleLaunch{op.rules, static_cast<uint32_t*>(op.indices.data), static_cast<uint32_t*>(op.n_active.data),
                    op.seed, op.offset, op.seed_value, op.offset_value.set, op.offset_value.state});
}

}  // namespace synfire::operations

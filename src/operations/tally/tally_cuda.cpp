#include "tally.hpp"
#include "tally_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>
#include <operations/rate_loss/rate_loss_counts.hpp>
#include <operations/reduce/reduce.hpp>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

Hints hints(const Tally&, const GpuShape&) {
  return {};
}

void enqueue(const Tally& op, Launcher& launcher) {
  const Counting counting = counting_of(op.lengths, op.n_active);
  enqueue_counts(op.extents, counting, op.spikes, static_cast<uint64_t*>(op.counts.data), launcher);
  launcher.launch(tally_kernel(), {1, model::reduction_lanes},
                  TallyLaunch{op.extents, counting, static_cast<uint64_t*>(op.totals.data)});
}

}  // namespace synfire::operations

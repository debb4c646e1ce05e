// The operation, and its work on processors.
#include "tally.hpp"

#include <backends/host/host_launcher.hpp>
#include <base/view_checks.hpp>
#include <graph/operands.hpp>
#include <operations/rate_loss/rate_loss_counts.hpp>
#include <operations/reduce/reduce.hpp>
#include <operations/spikes/spike_views.hpp>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// Below this many spikes the calling thread works alone.
constexpr int64_t tally_parallel_threshold = 1 << 18;

}  // namespace

OperationList tally(const TallyRequest& request) {
  const Extents& e = request.extents;
  const Tally op = {e,
                    spike_view(*request.spikes, "the monitored spikes", e),
                    lengths_view(request.lengths, e),
                    n_active_view(request.n_active),
                    array_view(*request.counts, "the counts of a monitor", {1, e.n_neurons}),
                    array_view(*request.totals, "the totals of a monitor", {1, 2})};
  OperationList operations = {op};
  check_overlap(operations);
  return operations;
}

OperationLabel label(const Tally& op) {
  return {nullptr, shape_text(op.extents)};
}

bool wants_threads(const Tally& op) {
  return op.extents.n_steps * op.extents.row() >= tally_parallel_threshold;
}

void run(const Tally& op, host::Launcher& launcher) {
  const Counting counting = counting_of(op.lengths, op.n_active);
  add_counts(op.extents, counting, op.spikes, static_cast<uint64_t*>(op.counts.data), wants_threads(op), launcher);
  auto* const totals = static_cast<uint64_t*>(op.totals.data);
  totals[0] += counted_steps(counting, op.extents);
  ++totals[1];
}

}  // namespace synfire::operations

// Counts the spikes of each neuron over replays, and the steps in which they could fire: what a rate, and the neurons
// that never fire, are made of. It adds to what the counts hold.
#ifndef SYNFIRE_OPERATIONS_TALLY_TALLY_HPP
#define SYNFIRE_OPERATIONS_TALLY_TALLY_HPP

#include <base/buffer.hpp>
#include <base/extents.hpp>
#include <operations/kind.hpp>

namespace synfire::operations {

struct Tally {
  core::Extents extents;
  View spikes;    // [T, B, N] in any format
  View lengths;   // u32 [B]; may be absent
  View n_active;  // u32 [1]; may be absent
  View counts;    // u64 [N]: the spikes of each neuron
  View totals;    // u64 [2]: the steps of batch rows that count, and replays

  static constexpr const char* name = "tally";
  static void operands(Tally& op, OperandVisitor visit) {
    visit({"the monitored spikes", op.spikes, Access::read});
    visit({"desc.lengths", op.lengths, Access::read});
    visit({"desc.n_active", op.n_active, Access::read});
    visit({"the counts of a monitor", op.counts, Access::update});
    visit({"the totals of a monitor", op.totals, Access::update});
  }
};
OperationLabel label(const Tally& op);
bool wants_threads(const Tally& op);
void run(const Tally& op, host::Launcher& launcher);
cuda::Hints hints(const Tally& op, const cuda::GpuShape& gpu);
void enqueue(const Tally& op, cuda::Launcher& launcher);

struct TallyRequest {
  core::Extents extents;
  core::Buffer *spikes, *lengths, *n_active;  // the last two may be null
  core::Buffer *counts, *totals;
};
core::OperationList tally(const TallyRequest& request);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(Tally);

#endif

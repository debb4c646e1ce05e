// Counts spikes: per neuron, per step, or in total. The counts overwrite the output.
#ifndef SYNFIRE_OPERATIONS_SPIKES_COUNT_SPIKES_HPP
#define SYNFIRE_OPERATIONS_SPIKES_COUNT_SPIKES_HPP

#include <base/buffer.hpp>
#include <base/extents.hpp>
#include <operations/kind.hpp>

namespace synfire::operations {

enum class CountKind : int32_t {
  per_neuron = SYNFIRE_COUNT_PER_NEURON,
  per_step = SYNFIRE_COUNT_PER_STEP,
  total = SYNFIRE_COUNT_TOTAL
};

struct CountSpikes {
  CountKind count;
  core::Extents extents;
  View spikes;
  View counts;  // u32 or u64: [B, N], [T] or [1]

  static constexpr const char* name = "count spikes";
  static void operands(CountSpikes& op, OperandVisitor visit) {
    visit({"desc.spikes", op.spikes, Access::read});
    visit({"desc.counts", op.counts, Access::write, Transfer::accumulated});
  }
};
OperationLabel label(const CountSpikes& op);
bool wants_threads(const CountSpikes& op);
void run(const CountSpikes& op, host::Launcher& launcher);
cuda::Hints hints(const CountSpikes& op, const cuda::GpuShape& gpu);
void enqueue(const CountSpikes& op, cuda::Launcher& launcher);

struct CountSpikesRequest {
  CountKind kind;
  core::Extents extents;  // batch 0 means 1
  core::Buffer* spikes;
  core::Buffer* counts;
};
// Throws INVALID_ARGUMENT, or OUT_OF_MEMORY for a shape that cannot be addressed.
core::OperationList count_spikes(const CountSpikesRequest& request);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(CountSpikes);

#endif

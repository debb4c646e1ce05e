// Converts spikes [T, B, N] from one format to another; the dtypes of the views are the formats.
#ifndef SYNFIRE_OPERATIONS_SPIKES_CONVERT_SPIKES_HPP
#define SYNFIRE_OPERATIONS_SPIKES_CONVERT_SPIKES_HPP

#include <base/buffer.hpp>
#include <base/extents.hpp>
#include <operations/kind.hpp>

namespace synfire::operations {

struct ConvertSpikes {
  core::Extents extents;
  View source;
  View destination;

  static constexpr const char* name = "convert spikes";
  static void operands(ConvertSpikes& op, OperandVisitor visit) {
    visit({"desc.source", op.source, Access::read});
    visit({"desc.destination", op.destination, Access::write});
  }
};
OperationLabel label(const ConvertSpikes& op);
bool wants_threads(const ConvertSpikes& op);
void run(const ConvertSpikes& op, host::Launcher& launcher);
cuda::Hints hints(const ConvertSpikes& op, const cuda::GpuShape& gpu);
void enqueue(const ConvertSpikes& op, cuda::Launcher& launcher);

struct ConvertSpikesRequest {
  core::Extents extents;  // batch 0 means 1
  core::Buffer* source;
  core::Buffer* destination;
};
// Throws INVALID_ARGUMENT, or OUT_OF_MEMORY for a shape that cannot be addressed.
core::OperationList convert_spikes(const ConvertSpikesRequest& request);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(ConvertSpikes);

#endif

// Copies numbers [T, B, N] with 0 in place of those that are not finite, and counts these.
#ifndef SYNFIRE_OPERATIONS_REPLACE_NONFINITE_REPLACE_NONFINITE_HPP
#define SYNFIRE_OPERATIONS_REPLACE_NONFINITE_REPLACE_NONFINITE_HPP

#include <graph/graph.hpp>
#include <operations/kind.hpp>

namespace synfire::operations {

struct ReplaceNonfinite {
  bool accumulate;   // the count is added
  View source;       // numbers of any type [T, B, N]
  View count;        // u64 [1]
  View destination;  // [T, B, N] of the same type; it may be the source

  static constexpr const char* name = "replace nonfinite";
  static void operands(ReplaceNonfinite& op, OperandVisitor visit) {
    visit({"desc.source", op.source, Access::read});
    visit({"desc.count", op.count, op.accumulate ? Access::update : Access::write, Transfer::accumulated});
    // Each element is read before it is written.
    visit({"desc.destination", op.destination, Access::write, Transfer::staged, &op.source});
  }
};
OperationLabel label(const ReplaceNonfinite& op);
bool wants_threads(const ReplaceNonfinite& op);
void run(const ReplaceNonfinite& op, host::Launcher& launcher);
cuda::Hints hints(const ReplaceNonfinite& op, const cuda::GpuShape& gpu);
void enqueue(const ReplaceNonfinite& op, cuda::Launcher& launcher);

struct ReplaceNonfiniteRequest {
  bool accumulate;
  int64_t n_steps;  // 0 means 1
  int64_t n_elements;
  int64_t batch;  // 0 means 1
  core::Buffer* source;
  core::Buffer* count;
  core::Buffer* destination;
};
// Throws INVALID_ARGUMENT, or OUT_OF_MEMORY for a shape that cannot be addressed.
core::OperationList replace_nonfinite(const ReplaceNonfiniteRequest& request);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(ReplaceNonfinite);

#endif

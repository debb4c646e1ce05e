// Gathers rows of a data set [R, T, N] by index into a batch [T, B, N].
#ifndef SYNFIRE_OPERATIONS_GATHER_ROWS_GATHER_ROWS_HPP
#define SYNFIRE_OPERATIONS_GATHER_ROWS_GATHER_ROWS_HPP

#include <graph/graph.hpp>
#include <operations/kind.hpp>

namespace synfire::operations {

struct GatherRows {
  View source;       // [R, T, N] of any type; packed spikes in words
  View indices;      // u32 [B]
  View n_active;     // u32 [1], or none
  View destination;  // [T, B, N] of the same type
  View lengths;      // u32 [B], or none

  static constexpr const char* name = "gather rows";
  static void operands(GatherRows& op, OperandVisitor visit) {
    visit({"desc.source", op.source, Access::read, Transfer::shared});
    visit({"desc.indices", op.indices, Access::read});
    visit({"desc.n_active", op.n_active, Access::read});
    visit({"desc.destination", op.destination, Access::write});
    visit({"desc.lengths", op.lengths, Access::read});
  }
};
OperationLabel label(const GatherRows& op);
bool wants_threads(const GatherRows& op);
void run(const GatherRows& op, host::Launcher& launcher);
cuda::Hints hints(const GatherRows& op, const cuda::GpuShape& gpu);
void enqueue(const GatherRows& op, cuda::Launcher& launcher);

struct GatherRowsRequest {
  int64_t n_rows;
  int64_t n_steps;  // 0 means 1
  int64_t n_elements;
  int64_t batch;  // 0 means 1
  core::Buffer* source;
  core::Buffer* indices;
  core::Buffer* n_active;  // may be null
  core::Buffer* destination;
  core::Buffer* lengths;  // may be null
};
// Throws INVALID_ARGUMENT, or OUT_OF_MEMORY for a shape that cannot be addressed.
core::OperationList gather_rows(const GatherRowsRequest& request);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(GatherRows);

#endif

// Means over groups of neighbours, and their gradient.
#ifndef SYNFIRE_OPERATIONS_GROUP_MEAN_GROUP_MEAN_HPP
#define SYNFIRE_OPERATIONS_GROUP_MEAN_GROUP_MEAN_HPP

#include <base/buffer.hpp>
#include <operations/kind.hpp>

namespace synfire::operations {

struct GroupMean {
  int64_t size;
  View source;       // [T, B, G * size]
  View destination;  // [T, B, G]

  static constexpr const char* name = "group mean";
  static void operands(GroupMean& op, OperandVisitor visit) {
    visit({"desc.source", op.source, Access::read});
    visit({"desc.destination", op.destination, Access::write});
  }
};
OperationLabel label(const GroupMean& op);
bool wants_threads(const GroupMean& op);
void run(const GroupMean& op, host::Launcher& launcher);
cuda::Hints hints(const GroupMean& op, const cuda::GpuShape& gpu);
void enqueue(const GroupMean& op, cuda::Launcher& launcher);

struct GroupMeanBackward {
  int64_t size;
  bool add;
  View grad_destination;  // [T, B, G]
  View grad_source;       // [T, B, G * size]

  static constexpr const char* name = "group mean backward";
  static void operands(GroupMeanBackward& op, OperandVisitor visit) {
    visit({"desc.grad_destination", op.grad_destination, Access::read});
    visit({"desc.grad_source", op.grad_source, op.add ? Access::update : Access::write});
  }
};
OperationLabel label(const GroupMeanBackward& op);
bool wants_threads(const GroupMeanBackward& op);
void run(const GroupMeanBackward& op, host::Launcher& launcher);
cuda::Hints hints(const GroupMeanBackward& op, const cuda::GpuShape& gpu);
void enqueue(const GroupMeanBackward& op, cuda::Launcher& launcher);

struct GroupMeanRequest {
  int64_t n_steps, n_groups, group_size;
  int64_t batch;  // 0 means 1
  core::Buffer* source;
  core::Buffer* destination;
};
struct GroupMeanBackwardRequest {
  int64_t n_steps, n_groups, group_size;
  int64_t batch;  // 0 means 1
  bool accumulate;
  core::Buffer* grad_destination;
  core::Buffer* grad_source;
};
// Both throw INVALID_ARGUMENT, or OUT_OF_MEMORY for a shape that cannot be addressed.
core::OperationList group_mean(const GroupMeanRequest& request);
core::OperationList group_mean_backward(const GroupMeanBackwardRequest& request);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(GroupMean);
SYNFIRE_DECLARE_KIND(GroupMeanBackward);

#endif

// The sum of an array over its steps, from the last to the first: the gradient of a step that stands for all of them.
#ifndef SYNFIRE_OPERATIONS_SUM_STEPS_SUM_STEPS_HPP
#define SYNFIRE_OPERATIONS_SUM_STEPS_SUM_STEPS_HPP

#include <base/buffer.hpp>
#include <operations/kind.hpp>

namespace synfire::operations {

struct SumSteps {
  bool add;          // to what the destination holds
  View source;       // [T, B, N], f32 or f64
  View destination;  // [1, B, N], of the same type

  static constexpr const char* name = "sum of steps";
  static void operands(SumSteps& op, OperandVisitor visit) {
    visit({"the gradients of all steps", op.source, Access::read});
    visit({"the gradient of a step", op.destination, op.add ? Access::update : Access::write});
  }
};
OperationLabel label(const SumSteps& op);
bool wants_threads(const SumSteps& op);
void run(const SumSteps& op, host::Launcher& launcher);
cuda::Hints hints(const SumSteps& op, const cuda::GpuShape& gpu);
void enqueue(const SumSteps& op, cuda::Launcher& launcher);

// Both buffers are of one type, f32 or f64, and of these lengths.
core::OperationList sum_steps(int64_t n_steps, int64_t batch, int64_t n_neurons, const core::Buffer& source,
                              const core::Buffer& destination, bool add);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(SumSteps);

#endif

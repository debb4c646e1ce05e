// The last steps of a sequence of neurons, which edges with a delay read in the next replay: a copy of them, for the
// rows that are active in the layer; or zeros in their place, which is a reset.
#ifndef SYNFIRE_OPERATIONS_LAST_STEPS_LAST_STEPS_HPP
#define SYNFIRE_OPERATIONS_LAST_STEPS_LAST_STEPS_HPP

#include <base/buffer.hpp>
#include <operations/kind.hpp>

namespace synfire::operations {

struct LastSteps {
  int64_t first_row, n_rows;  // of the batch
  int64_t n_neurons;
  View source;        // [T, B, W], packed or numbers of 4 or 8 bytes; T is at least D. Not given: zeros
  View destination;   // [D, B, W], of the same type
  View layer_active;  // i64 [1]: the active elements of a row [B, N]; not given: all rows count

  static constexpr const char* name = "last steps";
  static void operands(LastSteps& op, OperandVisitor visit) {
    visit({"the neurons' sequence", op.source, Access::read});
    visit({"the neurons' last steps", op.destination, Access::update});
    visit({"the layer's active rows", op.layer_active, Access::read});
  }
};
OperationLabel label(const LastSteps& op);
bool wants_threads(const LastSteps& op);
void run(const LastSteps& op, host::Launcher& launcher);
cuda::Hints hints(const LastSteps& op, const cuda::GpuShape& gpu);
void enqueue(const LastSteps& op, cuda::Launcher& launcher);

// Both buffers are [steps, B, W], packed rows of a layer's N neurons or one number for each.
core::OperationList keep_last_steps(int64_t n_neurons, const core::View& layer_active, const core::Buffer& source,
                                    const core::Buffer& destination);
// Rows of the batch; n_rows of 0 means all.
core::OperationList clear_last_steps(const core::Buffer& destination, int64_t first_row, int64_t n_rows);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(LastSteps);

#endif

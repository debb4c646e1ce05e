// The last steps of a sequence of neurons, which the next replay reads with a delay: a copy of them, for the rows that
// are active in the layer; or zeros in their place, which is a reset.
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
  View mask = {};     // u8 [B]: rows whose byte is 0 do not count; not given: all do
  // Their names in errors.
  const char *source_name = "the neurons' sequence", *destination_name = "the neurons' last steps";

  static constexpr const char* name = "last steps";
  static void operands(LastSteps& op, OperandVisitor visit) {
    // Rows that do not count keep what they have.
    const bool all = op.n_rows == op.destination.shape[1] && !op.layer_active.data && !op.mask.data;
    visit({op.source_name, op.source, Access::read});
    visit({op.destination_name, op.destination, all ? Access::write : Access::update});
    visit({"the layer's active rows", op.layer_active, Access::read});
    visit({"desc.buffer", op.mask, Access::read});
  }
};
OperationLabel label(const LastSteps& op);
bool wants_threads(const LastSteps& op);
void run(const LastSteps& op, host::Launcher& launcher);
cuda::Hints hints(const LastSteps& op, const cuda::GpuShape& gpu);
void enqueue(const LastSteps& op, cuda::Launcher& launcher);

// Both are [steps, B, W], packed rows of a layer's N neurons or one number for each.
inline LastSteps last_steps(int64_t n_neurons, const View& layer_active, const View& source, const View& destination) {
  return {0, destination.shape[1], n_neurons, source, destination, layer_active};
}
// Rows of the batch; n_rows of 0 means all.
core::OperationList clear_last_steps(const core::Buffer& destination, int64_t first_row, int64_t n_rows);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(LastSteps);

#endif

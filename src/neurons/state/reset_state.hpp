// V = v_reset (hard) or 0 (soft), from the parameters on the device, and further variables 0: of n_rows batch rows from
// first_row on, or of those among them whose byte in the mask [B] is not 0.
#ifndef SYNFIRE_NEURONS_STATE_RESET_STATE_HPP
#define SYNFIRE_NEURONS_STATE_RESET_STATE_HPP

#include <neurons/layer.hpp>
#include <operations/kind.hpp>

namespace synfire::operations {

struct ResetState {
  core::Layer* layer;
  int64_t first_row;
  int64_t n_rows;
  View v, w[model::max_further_states];  // those rows of the state; in w, further variables that the model has
  View parameters;
  View mask = {};

  static constexpr const char* name = "reset state";
  static void operands(ResetState& op, OperandVisitor visit) {
    const Access access =
        op.mask.data ? Access::update : Access::write;  // rows that the mask leaves out keep their state
    visit({"desc.buffer", op.mask, Access::read});
    visit({"the layer's parameters", op.parameters, Access::read});
    visit({"the layer's v", op.v, access});
    for (View& w : op.w) visit({"the layer's w", w, access});
  }
};
inline OperationLabel label(const ResetState& op) {
  return {op.layer};
}
inline bool wants_threads(const ResetState&) {
  return false;
}
void run(const ResetState& op, host::Launcher& launcher);
cuda::Hints hints(const ResetState& op, const cuda::GpuShape& gpu);
void enqueue(const ResetState& op, cuda::Launcher& launcher);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(ResetState);

#endif

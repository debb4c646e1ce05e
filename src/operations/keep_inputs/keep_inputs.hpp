// Inputs of which those that a mask drops are +0, and masks of channels as masks of inputs.
#ifndef SYNFIRE_OPERATIONS_KEEP_INPUTS_KEEP_INPUTS_HPP
#define SYNFIRE_OPERATIONS_KEEP_INPUTS_KEEP_INPUTS_HPP

#include <base/extents.hpp>
#include <operations/kind.hpp>

namespace synfire::operations {

struct KeepInputs {
  core::Extents extents;  // of the inputs
  int64_t n_channels;     // input i uses bit i mod this of its row of the mask
  View mask;              // words [B, ceil(n_channels / 32)], the same in every step
  View input;             // [T, B, K]; absent: all ones, in one step
  View kept;              // likewise; spikes, and ones, are bits

  static constexpr const char* name = "keep inputs";
  static void operands(KeepInputs& op, OperandVisitor visit) {
    visit({"desc.input_mask", op.mask, Access::read});
    visit({"desc.input", op.input, Access::read});
    visit({"the inputs that dropout keeps", op.kept, Access::write});
  }
};
OperationLabel label(const KeepInputs& op);
bool wants_threads(const KeepInputs& op);
void run(const KeepInputs& op, host::Launcher& launcher);
cuda::Hints hints(const KeepInputs& op, const cuda::GpuShape& gpu);
void enqueue(const KeepInputs& op, cuda::Launcher& launcher);

// An entry of a list, and the transient array of that number that it writes. `mask` is [1, B, n_channels].
KeepInputs keep_inputs(int32_t transient, const core::Extents& extents, const View& mask, const View& input,
                       bool are_spikes);
KeepInputs expand_mask(int32_t transient, const core::Extents& extents, const View& mask, int64_t n_channels);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(KeepInputs);

#endif

// Copies values that the host has set since the last time to the parameters on the device.
#ifndef SYNFIRE_NEURONS_PARAMETERS_SET_PARAMETERS_HPP
#define SYNFIRE_NEURONS_PARAMETERS_SET_PARAMETERS_HPP

#include <neurons/layer.hpp>
#include <operations/kind.hpp>

namespace synfire::operations {

struct SetParameters {
  core::Layer* layer;
  View parameters;

  static constexpr const char* name = "set parameters";
  static void operands(SetParameters& op, OperandVisitor visit) {
    visit({"the layer's parameters", op.parameters, Access::update});
  }
};
inline OperationLabel label(const SetParameters& op) {
  return {op.layer};
}
inline bool wants_threads(const SetParameters&) {
  return false;
}
void run(const SetParameters& op, host::Launcher& launcher);
cuda::Hints hints(const SetParameters& op, const cuda::GpuShape& gpu);
void enqueue(const SetParameters& op, cuda::Launcher& launcher);

// Every layer is created with this sender.
extern const core::ValueSender value_sender;

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(SetParameters);

#endif

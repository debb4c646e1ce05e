// Updates a parameter along its gradient, then the constants that depend on it.
#ifndef SYNFIRE_NEURONS_PARAMETERS_UPDATE_PARAMETER_HPP
#define SYNFIRE_NEURONS_PARAMETERS_UPDATE_PARAMETER_HPP

#include <graph/graph.hpp>
#include <neurons/layer.hpp>
#include <operations/kind.hpp>

#include <synfire/model/layout.hpp>

namespace synfire::operations {

struct UpdateParameter {
  core::Layer* layer;
  uint32_t parameter;
  model::Descent descent;
  View gradient;       // [1], [C] or [N], in the type of the arithmetic
  int64_t n_entries;   // of the parameter and its gradient
  const double* rate;  // in device memory
  View parameters;     // of the layer

  static constexpr const char* name = "update parameter";
  static void operands(UpdateParameter& op, OperandVisitor visit) {
    visit({"desc.gradient", op.gradient, Access::read});
    visit({"the layer's parameters", op.parameters, Access::update});
  }
};
OperationLabel label(const UpdateParameter& op);
inline bool wants_threads(const UpdateParameter&) {
  return false;
}
void run(const UpdateParameter& op, host::Launcher& launcher);
cuda::Hints hints(const UpdateParameter& op, const cuda::GpuShape& gpu);
void enqueue(const UpdateParameter& op, cuda::Launcher& launcher);

// An update by gradient descent inside a replay.
struct UpdateRequest {
  core::ParameterName parameter;
  core::Buffer* gradient;       // as many elements as the parameter has
  const double *lower, *upper;  // narrower than the parameter's range, or null
};
// Called under Layer::lock_parameters(). Throws INVALID_ARGUMENT, with `place` before the names of fields in texts.
model::Descent checked_descent(const core::Layer& layer, const UpdateRequest& request, const char* place);
// Appends an update whose "learning_rate" may change between replays. Throws INVALID_ARGUMENT.
void record_update(core::Graph& graph, core::Layer& layer, const UpdateRequest& request, double learning_rate);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(UpdateParameter);

#endif

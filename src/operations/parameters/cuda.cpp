#include "arguments_of.hpp"
#include "kernels.hpp"

#include <cuda/launcher.hpp>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

namespace {

template <class R>
void set(const SetParameters& op, Launcher& launcher) {
  SetParametersLaunch<R> arguments = {arguments_of<R>(op), 1};
  if (arguments.arguments.per_neuron) arguments.count = arguments.arguments.target.n_neurons;
  launcher.launch(set_parameters_kernel<R>(), launcher.over_elements(arguments.count), arguments);
}

template <class R>
void update(const UpdateParameter& op, Launcher& launcher) {
  // If constants become per neuron later, the same grid covers all of them.
  const int64_t count = op.layer->has_neuron_constants() ? op.layer->spec().extents.n_neurons : 1;
  launcher.launch(update_parameter_kernel<R>(), launcher.over_elements(count),
                  UpdateParameterLaunch<R>{arguments_of<R>(op)});
}

}  // namespace

Hints hints(const SetParameters&, const GpuShape&) {
  return {};
}
Hints hints(const UpdateParameter&, const GpuShape&) {
  return {};
}

void enqueue(const SetParameters& op, Launcher& launcher) {
  if (op.layer->spec().dtype == SYNFIRE_DTYPE_F64)
    set<double>(op, launcher);
  else
    set<float>(op, launcher);
}

void enqueue(const UpdateParameter& op, Launcher& launcher) {
  if (op.layer->spec().dtype == SYNFIRE_DTYPE_F64)
    update<double>(op, launcher);
  else
    update<float>(op, launcher);
}

}  // namespace synfire::operations

#include "parameters_arguments_of.hpp"
#include "parameters_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

namespace {

// Layers with a loaded model or surrogate have kernels of their own.
template <class R>
const void* kernel_of(const LayerSpec& spec, const void* listed, uint32_t number, const char* name) {
  if (!spec.loaded()) return listed;
  const auto expression = [&] {
    return std::string("synfire::cuda::").append(name).append(sizeof(R) == 4 ? "<float>" : "<double>");
  };
  return spec.loaded()->kernel({480u + 2u * number + (sizeof(R) == 4 ? 0u : 1u),
                                "neurons/parameters/parameters_kernels.cuh", expression, *spec.model, spec.surrogate});
}

template <class R>
void set(const SetParameters& op, Launcher& launcher) {
  SetParametersLaunch<R> arguments = {arguments_of<R>(op), 1};
  if (arguments.arguments.per_neuron) arguments.count = arguments.arguments.target.n_neurons;
  launcher.launch(kernel_of<R>(op.layer->spec(), set_parameters_kernel<R>(), 0, "set_parameters"),
                  launcher.over_elements(arguments.count), arguments);
}

template <class R>
void update(const UpdateParameter& op, Launcher& launcher) {
  // If constants become per neuron later, the same grid covers all of them.
  const int64_t count = op.layer->has_neuron_constants() ? op.layer->spec().extents.n_neurons : 1;
  launcher.launch(kernel_of<R>(op.layer->spec(), update_parameter_kernel<R>(), 1, "update_parameter"),
                  launcher.over_elements(count), UpdateParameterLaunch<R>{arguments_of<R>(op)});
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

#include "optimizer.hpp"
#include "optimizer_kernels.hpp"
#include "parameter_arguments.hpp"

#include <backends/cuda/cuda_launcher.hpp>

#include <algorithm>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

namespace {

void enqueue_norm(const OptimizerStep& op, Launcher& launcher) {
  const Optimizer& optimizer = *op.optimizer;
  NormLaunch launch = {optimizer.gradients_on_device(),
                       static_cast<int32_t>(optimizer.gradients().size()),
                       0,
                       {},
                       optimizer.n_chunks(),
                       optimizer.chunk_sums(),
                       optimizer.state(),
                       optimizer.spec().rates,
                       op.values,
                       optimizer.largest_norm(),
                       false};
  constexpr int chunks_per_block = norm_threads / 32;
  const Grid grid = launcher.over_pieces((optimizer.n_chunks() + chunks_per_block - 1) / chunks_per_block,
                                         static_cast<uint32_t>(norm_threads));
  const bool accumulates = optimizer.accumulates();
  do {
    const size_t first = static_cast<size_t>(launch.first_parameter),
                 count = std::min<size_t>(op.parameters.size() - first, norm_parameters);
    for (size_t i = 0; i < count; ++i) launch.parameters[i] = op.parameters[first + i].gradient.data;
    launch.begins_step = first + count == op.parameters.size();
    launcher.launch(accumulates ? accumulate_kernel() : norm_kernel(), grid, launch);
    launch.first_parameter += norm_parameters;
  } while (!launch.begins_step);
  if (!accumulates) return;
  launch.first_parameter = 0;
  launcher.launch(norm_kernel(), grid, launch);
}

// Arrays without a fused step, and the arrays derived from them.
void enqueue_arrays(const OptimizerStep& op, Launcher& launcher) {
  const Optimizer& optimizer = *op.optimizer;
  if (optimizer.arrays().empty()) return;
  const StepArraysLaunch launch = {optimizer.arrays_on_device(), static_cast<int32_t>(optimizer.arrays().size()),
                                   optimizer.n_pieces(), optimizer.state(), optimizer.spec().rates};
  launcher.launch(step_arrays_kernel(launch.rates.rule),
                  launcher.over_pieces(launch.n_pieces, static_cast<uint32_t>(step_threads)), launch);
  for (const OptimizerSynapse& member : optimizer.synapses()) {
    if (member.is_fused) continue;
    for (const Operation& operation : member.derive) operation.kind().enqueue(operation.data(), launcher);
  }
}

template <class R>
void enqueue_parameter(const OptimizerStep& op, const ParameterStep& step, Launcher& launcher) {
  // If constants become per neuron later, the same grid covers all of them.
  const Layer& layer = *op.optimizer->members()[step.member].layer;
  const int64_t count = layer.has_neuron_constants() ? layer.spec().extents.n_neurons : 1;
  const auto expression = [] {
    return std::string("synfire::cuda::parameter_step<").append(sizeof(R) == 4 ? "float>" : "double>");
  };
  const LayerSpec& spec = layer.spec();
  const void* const kernel = spec.loaded()
                                 ? spec.loaded()->kernel({sizeof(R) == 4 ? 490u : 491u, "optimizer/parameter_step.cuh",
                                                          expression, *spec.model, spec.surrogate})
                                 : parameter_step_kernel<R>();
  launcher.launch(kernel, launcher.over_elements(count), ParameterStepLaunch<R>{arguments_of<R>(op, step)});
}

}  // namespace

Hints hints(const OptimizerStep&, const GpuShape&) {
  return {};
}

void enqueue(const OptimizerStep& op, Launcher& launcher) {
  const Optimizer& optimizer = *op.optimizer;
  enqueue_norm(op, launcher);
  for (const Optimizer::Fused& fused : optimizer.fused())
    fused.steps->enqueue(fused.table, optimizer.state(), optimizer.spec().rates, launcher);
  enqueue_arrays(op, launcher);
  for (const ParameterStep& step : op.parameters)
    if (optimizer.members()[step.member].dtype == SYNFIRE_DTYPE_F64)
      enqueue_parameter<double>(op, step, launcher);
    else
      enqueue_parameter<float>(op, step, launcher);
}

}  // namespace synfire::operations

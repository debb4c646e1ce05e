// The launches of synapses with delays on a GPU.
#include "delayed_arrays_of.hpp"
#include "delayed_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>
#include <operations/spikes/convert_spikes.hpp>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

namespace {

template <class R>
void delay_all(const DelayedOutputs& op, Launcher& launcher) {
  const DelayedOutputsLaunch<R> launch = {arrays_of<R>(op)};
  launcher.launch(delayed_outputs_kernel<R>(), launcher.over_elements(launch.arrays.count()), launch);
}
template <class R>
void prepare_all(const PrepareDelayed& op, Launcher& launcher) {
  const PrepareDelayedLaunch<R> launch = {arrays_of<R>(op)};
  launcher.launch(prepare_delayed_kernel<R>(), launcher.over_elements(launch.arrays.connections.count()), launch);
}
template <class R>
void find_all(const DelayedGradient& op, Launcher& launcher) {
  const DelayedGradientLaunch<R> launch = {arrays_of<R>(op)};
  launcher.launch(delayed_gradient_kernel<R>(), launcher.over_elements(launch.arrays.connections.count()), launch);
}
template <class R>
void fold_all(const DelayedInputGradient& op, Launcher& launcher) {
  const DelayedInputGradientLaunch<R> launch = {arrays_of<R>(op)};
  launcher.launch(delayed_input_gradient_kernel<R>(), launcher.over_elements(launch.arrays.count()), launch);
}

}  // namespace

Hints hints(const DelayedInputs&, const GpuShape&) {
  return {};
}
Hints hints(const DelayedHistory&, const GpuShape&) {
  return {};
}
Hints hints(const DelayedOutputs&, const GpuShape&) {
  return {};
}
Hints hints(const PrepareDelayed&, const GpuShape&) {
  return {};
}
Hints hints(const DelayedGradient&, const GpuShape&) {
  return {};
}
Hints hints(const DelayedInputGradient&, const GpuShape&) {
  return {};
}

void enqueue(const DelayedInputs& op, Launcher& launcher) {
  if (op.packed) enqueue(ConvertSpikes{op.extents, op.input, op.packed}, launcher);
  const DelayedInputsLaunch launch = {arrays_of(op)};
  launcher.launch(delayed_inputs_kernel(), launcher.over_elements(launch.arrays.count()), launch);
}
void enqueue(const DelayedHistory& op, Launcher& launcher) {
  const DelayedHistoryLaunch launch = {arrays_of(op)};
  launcher.launch(delayed_history_kernel(), launcher.over_elements(launch.arrays.count()), launch);
}
void enqueue(const DelayedOutputs& op, Launcher& launcher) {
  if (op.synapse->dtype() == SYNFIRE_DTYPE_F64) return delay_all<double>(op, launcher);
  delay_all<float>(op, launcher);
}
void enqueue(const PrepareDelayed& op, Launcher& launcher) {
  if (op.synapse->dtype() == SYNFIRE_DTYPE_F64) return prepare_all<double>(op, launcher);
  prepare_all<float>(op, launcher);
}
void enqueue(const DelayedGradient& op, Launcher& launcher) {
  if (op.synapse->dtype() == SYNFIRE_DTYPE_F64) return find_all<double>(op, launcher);
  find_all<float>(op, launcher);
}
void enqueue(const DelayedInputGradient& op, Launcher& launcher) {
  if (op.synapse->dtype() == SYNFIRE_DTYPE_F64) return fold_all<double>(op, launcher);
  fold_all<float>(op, launcher);
}

}  // namespace synfire::operations

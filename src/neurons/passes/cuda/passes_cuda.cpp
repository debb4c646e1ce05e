#include "plan.hpp"

#include <backends/cuda/cuda_launcher.hpp>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

namespace {

Grid grid_of(const Plan& plan) {
  return {plan.n_blocks, plan.n_threads, plan.shared_bytes, plan.shared_percent};
}

template <class R>
void forward(const Forward& op, Launcher& launcher) {
  const Plan plan = plan_of(op, launcher.gpu());
  launcher.launch(kernel_for(op, plan), grid_of(plan),
                  ForwardLaunch<R>{arguments_of<R>(op), plan.tiles, launcher.next_begins_early()});
}

template <class R>
void backward(const Backward& op, Launcher& launcher) {
  const Plan plan = plan_of(op, launcher.gpu());
  launcher.launch(kernel_for(op, plan), grid_of(plan),
                  BackwardLaunch<R>{arguments_of<R>(op), plan.tiles, launcher.next_begins_early()});
}

// The most threads that a multiprocessor holds (CUDA C++ Programming Guide, "Compute Capabilities").
constexpr uint64_t most_resident_threads = 2048;

}  // namespace

// True if a pass gains when it starts while the blocks of the pass before are leaving the GPU. A backward does. A
// forward does if it has more threads than the GPU holds; a smaller one is then spread unevenly over the
// multiprocessors (docs/pages/tuning.md, "Passes that begin early").
Hints hints(const Forward& op, const GpuShape& gpu) {
  const Plan plan = plan_of(op, gpu);
  return {true, uint64_t{plan.n_blocks} * plan.n_threads >
                    most_resident_threads * static_cast<uint64_t>(gpu.n_multiprocessors)};
}
Hints hints(const Backward&, const GpuShape&) {
  return {true, true};
}

void enqueue(const Forward& op, Launcher& launcher) {
  if (op.layer->spec().dtype == SYNFIRE_DTYPE_F64)
    forward<double>(op, launcher);
  else
    forward<float>(op, launcher);
}

void enqueue(const Backward& op, Launcher& launcher) {
  if (op.layer->spec().dtype == SYNFIRE_DTYPE_F64)
    backward<double>(op, launcher);
  else
    backward<float>(op, launcher);
}

}  // namespace synfire::operations

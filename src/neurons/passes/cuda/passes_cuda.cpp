#include "pass_instances.hpp"

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

// From this many steps on, two passes take less time side by side than one after the other: the ordinary edges of a
// branch cost more than programmatic ones (docs/pages/tuning.md, "Branches").
constexpr int64_t least_steps_beside_others = 16;

// A pass on at most half of the multiprocessors leaves room for another one.
bool leaves_room(const Plan& plan, const Extents& extents, const GpuShape& gpu) {
  return extents.n_steps >= least_steps_beside_others &&
         uint64_t{plan.n_blocks} * 2 <= static_cast<uint64_t>(gpu.n_multiprocessors);
}

// This many neurons fill any GPU. A launch reports it if a grid has too few blocks for them.
constexpr int64_t row_that_fills = int64_t{1} << 31;

}  // namespace

// True if a pass gains when it starts while the blocks of the pass before are leaving the GPU. A backward does. A
// forward does if it has more threads than the GPU holds; a smaller one is then spread unevenly over the
// multiprocessors (docs/pages/tuning.md, "Passes that begin early").
Hints hints(const Forward& op, const GpuShape& gpu) {
  if (op.extents.row() >= row_that_fills) return {true, true};
  const Plan plan = plan_of(op, gpu);
  const bool fills =
      uint64_t{plan.n_blocks} * plan.n_threads > most_resident_threads * static_cast<uint64_t>(gpu.n_multiprocessors);
  return {true, fills, leaves_room(plan, op.extents, gpu)};
}
Hints hints(const Backward& op, const GpuShape& gpu) {
  if (op.extents.row() >= row_that_fills) return {true, true};
  return {true, true, leaves_room(plan_of(op, gpu), op.extents, gpu)};
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

// The launches of normalisations on a GPU.
#include "normalize.hpp"
#include "normalize_kernels.hpp"
#include "normalize_work_of.hpp"

#include <backends/cuda/cuda_launcher.hpp>

#include <algorithm>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

namespace {

void launch_sums(const IntegerSums& sums, Launcher& launcher) {
  const LinesLaunch<IntegerSums> launch(sums, sums.shape, sums.counting, sums.n_slots);
  const Grid grid = launcher.over_pieces(launch.n_tiles * launch.n_slots, normalize_threads);
  launcher.launch(channel_maxima_kernel(), grid, launch);
  launcher.launch(channel_sums_kernel(), grid, launch);
}
void launch_sums(const OrderedSums& sums, Launcher& launcher) {
  launcher.launch(ordered_sums_kernel(), launcher.over_elements(sums.shape.channels), sums);
}

// A warp has eight lines of a tile.
template <class Work>
void launch_lines(const void* kernel, const Work& work, Launcher& launcher) {
  const ChannelShape& shape = work.sums.shape;
  constexpr int64_t lines_of_block = 8 * normalize_threads / 32;
  const int64_t n_lines = shape.n_steps * shape.batch * shape.lines();
  const LinesLaunch<Work> launch(work, shape, work.sums.counting, (n_lines + lines_of_block - 1) / lines_of_block);
  launcher.launch(kernel, launcher.over_pieces(launch.n_tiles * launch.n_slots, normalize_threads), launch);
}

template <class R>
void enqueue_normalize(const Normalize& op, Launcher& launcher) {
  const NormalizeWork<R> work = work_of<R>(op, false);
  if (!op.evaluation) launch_sums(work.sums, launcher);
  launcher.launch(finish_channels_kernel<R>(), launcher.over_elements(op.shape.channels), work);
  launch_lines(normalize_kernel<R>(), work, launcher);
}

template <class R>
void enqueue_normalize_backward(const NormalizeBackward& op, Launcher& launcher) {
  const NormalizeGradientWork<R> work = work_of<R>(op, false);
  if (work.has_sums) launch_sums(work.sums, launcher);
  launcher.launch(finish_gradients_kernel<R>(), launcher.over_elements(op.shape.channels), work);
  if (op.grad_source) launch_lines(normalize_backward_kernel<R>(), work, launcher);
}

}  // namespace

Hints hints(const Normalize&, const GpuShape&) {
  return {};
}
Hints hints(const NormalizeBackward&, const GpuShape&) {
  return {};
}

void enqueue(const Normalize& op, Launcher& launcher) {
  if (op.source.dtype == SYNFIRE_DTYPE_F64) return enqueue_normalize<double>(op, launcher);
  enqueue_normalize<float>(op, launcher);
}
void enqueue(const NormalizeBackward& op, Launcher& launcher) {
  if (op.grad_destination.dtype == SYNFIRE_DTYPE_F64) return enqueue_normalize_backward<double>(op, launcher);
  enqueue_normalize_backward<float>(op, launcher);
}

}  // namespace synfire::operations

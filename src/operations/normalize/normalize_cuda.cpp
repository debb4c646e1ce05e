// The launches of normalisations on a GPU.
#include "normalize.hpp"
#include "normalize_kernels.hpp"
#include "normalize_work_of.hpp"

#include <backends/cuda/cuda_launcher.hpp>
#include <operations/elementwise/fill.hpp>

#include <algorithm>
#include <initializer_list>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

namespace {

// Four elements of f32 at once, where they are aligned and of neighbouring channels.
bool is_aligned(const Images& images) {
  return !images.data || ((images.pitch | images.length) % normalize_width == 0 &&
                          reinterpret_cast<uintptr_t>(images.data) % (sizeof(float) * normalize_width) == 0);
}
template <class R>
int width_of(const ChannelShape& shape, std::initializer_list<const Images*> arrays) {
  const auto aligned = [](const Images* images) { return is_aligned(*images); };
  return sizeof(R) == sizeof(float) && shape.channels % normalize_width == 0 &&
                 std::all_of(arrays.begin(), arrays.end(), aligned)
             ? normalize_width
             : 1;
}

// The maxima and sums of a channel are added to by all blocks, so there are no more than a GPU holds at once.
void launch_sums(const IntegerSums& sums, const View& scratch, Launcher& launcher) {
  View zeros = scratch;
  zeros.bytes = NormalizeMemory{sums.shape.channels, false}.integer_bytes();
  enqueue(Fill{zeros, 0}, launcher);
  const int width = width_of<float>(sums.shape, {&sums.first, &sums.second});
  LinesLaunch<IntegerSums> launch(sums, sums.shape, sums.counting, width);
  constexpr int64_t least_lines = 8 * normalize_threads / 32, blocks_of_multiprocessor = 4;
  const int64_t most =
      std::max<int64_t>(1, blocks_of_multiprocessor * launcher.gpu().n_multiprocessors / launch.n_tiles);
  launch.n_shares = std::clamp<int64_t>(launch.all_lines() / least_lines, 1, most);
  const Grid grid = launcher.over_pieces(launch.n_tiles * launch.n_shares, normalize_threads);
  launcher.launch(channel_maxima_kernel(width), grid, launch);
  launcher.launch(channel_sums_kernel(width), grid, launch);
}
void launch_sums(const OrderedSums& sums, const View&, Launcher& launcher) {
  launcher.launch(ordered_sums_kernel(), launcher.over_elements(sums.shape.channels), sums);
}

// A warp has eight lines of a tile.
template <class Work>
void launch_lines(const void* kernel, const Work& work, int width, Launcher& launcher) {
  LinesLaunch<Work> launch(work, work.sums.shape, work.sums.counting, width);
  constexpr int64_t lines_of_block = 8 * normalize_threads / 32;
  launch.n_shares = (launch.all_lines() + lines_of_block - 1) / lines_of_block;
  launcher.launch(kernel, launcher.over_pieces(launch.n_tiles * launch.n_shares, normalize_threads), launch);
}

template <class R>
void enqueue_normalize(const Normalize& op, Launcher& launcher) {
  const NormalizeWork<R> work = work_of<R>(op);
  if (!op.evaluation) launch_sums(work.sums, op.scratch, launcher);
  launcher.launch(finish_channels_kernel<R>(), launcher.over_elements(op.shape.channels), work);
  const int width = width_of<R>(op.shape, {&work.sums.first, &work.destination});
  launch_lines(normalize_kernel<R>(width), work, width, launcher);
}

template <class R>
void enqueue_normalize_backward(const NormalizeBackward& op, Launcher& launcher) {
  const NormalizeGradientWork<R> work = work_of<R>(op);
  if (work.has_sums) launch_sums(work.sums, op.scratch, launcher);
  launcher.launch(finish_gradients_kernel<R>(), launcher.over_elements(op.shape.channels), work);
  if (!op.grad_source) return;
  const int width = width_of<R>(op.shape, {&work.sums.first, &work.sums.second, &work.grad_source});
  launch_lines(normalize_backward_kernel<R>(width), work, width, launcher);
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

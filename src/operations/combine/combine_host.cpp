#include "combine_arrays_of.hpp"
#include "combine_host_kernels.hpp"

#include <backends/host/host_launcher.hpp>

#include <algorithm>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// Below this many elements the calling thread works alone.
constexpr int64_t combine_parallel_threshold = 1 << 18;

// Calls f(tile) for the tiles of all rows: of each step, or of each 32 steps.
template <class F>
void for_each_tile(const Extents& e, bool time_packed, bool share, host::Launcher& launcher, F f) {
  constexpr int64_t length = host::combine_tile;
  const int64_t per_row = (e.n_neurons + length - 1) / length;
  const int64_t n_steps = time_packed ? (e.n_steps + 31) / 32 : e.n_steps;
  launcher.for_each_range(n_steps * e.batch * per_row, share, [&](int64_t begin, int64_t end) {
    int64_t row = begin / per_row, index = begin % per_row;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = index * length;
      f(host::CombineTile{row / e.batch, row % e.batch, first,
                          static_cast<int>(std::min(length, e.n_neurons - first))});
      if (++index == per_row) {
        index = 0;
        ++row;
      }
    }
  });
}

// The sum of two arrays of f32, as in each step of a recurrent layer, where making the arguments of any combination
// takes longer than the sum.
bool is_plain_sum(const Combine& op) {
  const auto is_f32 = [](const View& view) { return view.dtype == SYNFIRE_DTYPE_F32; };
  return op.kind == CombineKind::sum && op.n_sources == 2 && is_f32(op.sources[0]) && is_f32(op.sources[1]) &&
         is_f32(op.destination);
}
void run_plain_sum(const Combine& op, const host::CombineKernels& kernels) {
  const auto step = [](const View& view, int64_t t) { return static_cast<float*>(view.data) + t * view.pitch; };
  for (int64_t t = 0; t < op.extents.n_steps; ++t)
    kernels.add(step(op.destination, t), step(op.sources[0], t), step(op.sources[1], t), op.extents.row());
}

}  // namespace

bool wants_threads(const Combine& op) {
  return op.extents.n_steps * op.extents.row() >= combine_parallel_threshold;
}
bool wants_threads(const CombineBackward& op) {
  return op.extents.n_steps * op.extents.row() >= combine_parallel_threshold;
}

void run(const Combine& op, host::Launcher& launcher) {
  const host::CombineKernels& kernels = SYNFIRE_SELECT_LEVEL(combine_kernels);
  if (is_plain_sum(op) && !wants_threads(op)) return run_plain_sum(op, kernels);
  const CombineArrays arrays = arrays_of(op);
  for_each_tile(arrays.extents, arrays.dtype == SYNFIRE_DTYPE_TIME_BITS, wants_threads(op), launcher,
                [&](const host::CombineTile& at) { kernels.combine(arrays, at); });
}

void run(const CombineBackward& op, host::Launcher& launcher) {
  const host::CombineKernels& kernels = SYNFIRE_SELECT_LEVEL(combine_kernels);
  const CombineGradientArrays arrays = arrays_of(op);
  for_each_tile(arrays.extents, false, wants_threads(op), launcher,
                [&](const host::CombineTile& at) { kernels.gradient(arrays, at); });
}

}  // namespace synfire::operations

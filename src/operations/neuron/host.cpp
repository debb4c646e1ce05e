// Passes on the host: their rows are divided into tiles, which threads share.
#include "arguments_of.hpp"
#include "host_kernels.hpp"
#include "loaded_code.hpp"

#include <host/launcher.hpp>

#include <algorithm>

namespace synfire::operations {

using namespace synfire::core;
using host::Tile;

namespace {

// Neuron-steps of a forward below which the calling thread works alone. One processor with AVX-512 does this many in 63
// us, two in 41; on a busy machine a second thread may be scheduled milliseconds late.
constexpr int64_t parallel_threshold = 1 << 19;
// A backward step costs about four forward steps.
constexpr int64_t backward_weight = 4;

// Bytes of sequences from which a pass prefetches its rows: hot, prefetching costs 12 % below it and halves a backward
// of 24 MiB (docs/pages/tuning.md, "The host backend"). A single step is one contiguous row, which the processor
// prefetches by itself.
constexpr int64_t far_bytes = int64_t{4} << 20;
constexpr int64_t forward_sequences = 1, backward_sequences = 3;  // a lower bound, without packed spikes

// Divides the rows [B, N] of a layer into tiles. Batch rows are divided one by one if a tile must not cross from one to
// the next: per-neuron constants, and packed words when N is not a multiple of 32. Otherwise [B, N] is one long row.
class Tiling {
 public:
  Tiling(const Extents& extents, bool keep_rows, int tile_size, int64_t bytes_per_element)
      : row_length_(keep_rows ? extents.n_neurons : extents.row()),
        tiles_per_row_((row_length_ + tile_size - 1) / tile_size),
        n_tiles_(tiles_per_row_ * (keep_rows ? extents.batch : 1)),
        words_per_row_((row_length_ + 31) / 32),
        end_(extents.row()),
        tile_size_(tile_size),
        far_(extents.n_steps > 1 && extents.n_steps * extents.row() * bytes_per_element > far_bytes) {}

  int64_t n_tiles() const { return n_tiles_; }
  Tile operator[](int64_t index) const {
    const int64_t row = index / tiles_per_row_;
    const int64_t neuron = index % tiles_per_row_ * tile_size_;
    const int64_t element = row * row_length_ + neuron, count = std::min<int64_t>(tile_size_, row_length_ - neuron);
    return {element,
            neuron,
            row * words_per_row_ + neuron / 32,
            static_cast<int>(count),
            static_cast<int>(std::min<int64_t>(tile_size_, end_ - element - count)),
            far_};
  }

 private:
  int64_t row_length_, tiles_per_row_, n_tiles_, words_per_row_, end_;
  int tile_size_;
  bool far_;
};

// Without the inactive batch rows.
Extents active_of(const Extents& extents, int64_t active) {
  return {extents.n_steps, active / extents.n_neurons, extents.n_neurons};
}

// Neuron-steps.
int64_t work_of(const Extents& extents) {
  return extents.n_steps * extents.row();
}

// Calls f(tile) for every tile; `work` is in neuron-steps of a forward.
template <class F>
void for_each_tile(const host::Launcher& launcher, const Tiling& tiling, int64_t work, F f) {
  launcher.for_each_range(tiling.n_tiles(), work >= parallel_threshold, [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile) f(tiling[tile]);
  });
}

// Those of the lists at the processor's level, or those that were compiled at run time.
const host::NeuronKernels& kernels_of(const core::LoadedCode* loaded) {
  return loaded ? *static_cast<const LoadedTable*>(loaded->host_table())->kernels
                : SYNFIRE_SELECT_LEVEL(neuron_kernels);
}

template <class R>
void forward(const Forward& op, const host::Launcher& launcher) {
  const LayerSpec& spec = op.layer->spec();
  const auto arguments = arguments_of<R>(op);
  const bool rows = arguments.parameters->per_neuron || (arguments.spike_bits && spec.extents.n_neurons % 32 != 0);
  const Extents active = active_of(spec.extents, arguments.parameters->active);
  const host::NeuronKernels& kernels = kernels_of(spec.loaded_model.get());
  for_each_tile(launcher, Tiling(active, rows, host::forward_tile, forward_sequences * int64_t{sizeof(R)}),
                work_of(active), [&](const Tile& tile) { kernels.forward(spec.model->kernel_id(), arguments, tile); });
}

template <class R>
void backward(const Backward& op, const host::Launcher& launcher) {
  const LayerSpec& spec = op.layer->spec();
  const auto arguments = arguments_of<R>(op);
  const Extents active = active_of(spec.extents, arguments.parameters->active);
  const host::NeuronKernels& kernels = kernels_of(spec.loaded_model.get());
  const host::SurrogateRow<R> surrogate_row =
      kernels_of(spec.loaded_surrogate.get())
          .surrogate_row<R>(arguments.surrogate, arguments.parameters->per_neuron != nullptr);
  for_each_tile(
      launcher,
      Tiling(active, arguments.parameters->per_neuron, host::backward_tile<R>, backward_sequences * int64_t{sizeof(R)}),
      backward_weight * work_of(active),
      [&](const Tile& tile) { kernels.backward(spec.model->kernel_id(), surrogate_row, arguments, tile); });
}

}  // namespace

bool wants_threads(const Forward& op) {
  return work_of(op.layer->spec().extents) >= parallel_threshold;
}
bool wants_threads(const Backward& op) {
  return backward_weight * work_of(op.layer->spec().extents) >= parallel_threshold;
}

void run(const Forward& op, host::Launcher& launcher) {
  if (op.layer->spec().dtype == SYNFIRE_DTYPE_F64)
    forward<double>(op, launcher);
  else
    forward<float>(op, launcher);
}

void run(const Backward& op, host::Launcher& launcher) {
  if (op.layer->spec().dtype == SYNFIRE_DTYPE_F64)
    backward<double>(op, launcher);
  else
    backward<float>(op, launcher);
}

}  // namespace synfire::operations

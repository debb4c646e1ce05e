// Passes on the host: their rows are divided into tiles, which threads share.
#include "passes_host_kernels.hpp"

#include <backends/host/host_launcher.hpp>
#include <neurons/passes/loaded/loaded_code.hpp>
#include <neurons/passes/passes_arguments_of.hpp>
#include <operations/host_places.hpp>

#include <algorithm>

namespace synfire::operations {

using namespace synfire::core;
using host::Tile;

namespace {

// Below this many neuron-steps of a forward the calling thread works alone: a second one may be scheduled too late.
constexpr int64_t neuron_parallel_threshold = 1 << 19;
// A backward step costs about four forward steps.
constexpr int64_t backward_weight = 4;

// From this many bytes of sequences on, a pass prefetches its rows (docs/pages/tuning.md, "The host backend"). The
// processor prefetches a single step, which is one contiguous row, by itself.
constexpr int64_t far_bytes = int64_t{4} << 20;
constexpr int64_t forward_sequences = 1, backward_sequences = 3;  // a lower bound, without packed spikes

// The most whole words of packed rows that hold at most this many neurons, wherever the first one is.
int64_t words_of_tile(const Extents& extents, int tile_size) {
  const int64_t n = extents.n_neurons, per_row = extents.words_per_row();
  if (n < 32) return tile_size / n;
  int64_t words = tile_size / 32;
  while ((words + 1) / per_row * n + (words + 1) % per_row * 32 <= tile_size) ++words;
  return words;
}

// Divides the rows [B, N] of a layer, as one long row, into tiles. Tiles with per-neuron constants do not cross batch
// rows. Tiles that write packed words begin and end with a word, so that two tiles never write the same.
class Tiling {
 public:
  enum Cut { anywhere, at_rows, at_words };

  Tiling(const Extents& extents, Cut cut, int tile_size, int64_t bytes_per_element)
      : extents_(extents),
        cut_(cut),
        is_one_(extents.row() <= tile_size && (cut != at_rows || extents.batch == 1)),
        row_length_(cut == at_rows ? extents.n_neurons : extents.row()),
        tiles_per_row_(is_one_ ? 1 : (row_length_ + tile_size - 1) / tile_size),
        tile_words_(!is_one_ && cut == at_words ? words_of_tile(extents, tile_size) : 0),
        tile_size_(tile_size),
        far_(extents.n_steps > 1 && extents.n_steps * extents.row() * bytes_per_element > far_bytes) {}

  int64_t n_tiles() const {
    if (is_one_) return extents_.batch > 0 ? 1 : 0;
    if (cut_ == at_words) return (extents_.batch * extents_.words_per_row() + tile_words_ - 1) / tile_words_;
    return tiles_per_row_ * (cut_ == at_rows ? extents_.batch : 1);
  }
  Tile operator[](int64_t index) const {
    if (is_one_) {
      const int64_t count = extents_.row();
      const int64_t words = cut_ == at_words ? extents_.batch * extents_.words_per_row() : (count + 31) / 32;
      return tile(0, 0, 0, words, count);
    }
    if (cut_ == at_words) return of_words(index * tile_words_);
    const int64_t row = index / tiles_per_row_;
    const int64_t neuron = index % tiles_per_row_ * tile_size_;
    const int64_t element = row * row_length_ + neuron, count = std::min<int64_t>(tile_size_, row_length_ - neuron);
    return tile(element, neuron, row * ((row_length_ + 31) / 32) + neuron / 32, (count + 31) / 32, count);
  }

 private:
  int64_t element_of(int64_t word) const {
    const int64_t per_row = extents_.words_per_row();
    return word / per_row * extents_.n_neurons + word % per_row * 32;
  }
  Tile of_words(int64_t first) const {
    const int64_t last = std::min(first + tile_words_, extents_.batch * extents_.words_per_row());
    const int64_t element = element_of(first);
    return tile(element, element % extents_.n_neurons, first, last - first, element_of(last) - element);
  }
  Tile tile(int64_t element, int64_t neuron, int64_t word, int64_t words, int64_t count) const {
    const int64_t next = std::min<int64_t>(tile_size_, extents_.row() - element - count);
    return {element, neuron, word, static_cast<int>(words), static_cast<int>(count), static_cast<int>(next), far_};
  }

  const Extents extents_;
  const Cut cut_;
  const bool is_one_;  // found without divisions, which take as long as a step of a small layer
  const int64_t row_length_, tiles_per_row_, tile_words_;
  const int tile_size_;
  const bool far_;
};

// The batch rows of this pass that are active in its layer.
Extents active_of(const Extents& extents, int64_t active) {
  if (active >= extents.row()) return extents;
  return {extents.n_steps, std::min(active / extents.n_neurons, extents.batch), extents.n_neurons};
}

// Neuron-steps rounded up to rows of 128 neurons and 8 steps, so that a shape is shared like the next rounder one.
int64_t work_of(const Extents& extents) {
  return (extents.n_steps + 7) / 8 * 8 * ((extents.row() + 127) / 128 * 128);
}

// True if this much work, in neuron-steps of a forward, is shared among threads.
bool is_shared(int64_t work) {
  return work >= neuron_parallel_threshold;
}
int64_t backward_work_of(const Extents& extents) {
  return backward_weight * work_of(extents);
}

// The built-in kernels at the processor's level, or those that were compiled at run time.
const host::NeuronKernels& kernels_of(const core::LoadedCode* loaded) {
  return loaded ? *static_cast<const LoadedTable*>(loaded->host_table())->kernels
                : SYNFIRE_SELECT_LEVEL(neuron_kernels);
}

template <class R>
uint64_t bytes_of_forward_rows(const LayerSpec& spec) {
  return static_cast<uint64_t>(host::RowsOfForward::n_rows(spec.kernel_states() - 1)) * host::forward_tile * sizeof(R);
}

template <class R>
void forward(const Forward& op, const host::Launcher& launcher) {
  const LayerSpec& spec = op.layer->spec();
  const auto arguments = arguments_of<R>(op);
  const Tiling::Cut cut = arguments.parameters->per_neuron                         ? Tiling::at_rows
                          : arguments.spike_bits && op.extents.n_neurons % 32 != 0 ? Tiling::at_words
                                                                                   : Tiling::anywhere;
  const Extents active = active_of(op.extents, arguments.parameters->active);
  const host::NeuronKernels& kernels = kernels_of(spec.loaded_model.get());
  const Tiling tiling(active, cut, host::forward_tile, forward_sequences * int64_t{sizeof(R)});
  const uint64_t bytes = bytes_of_forward_rows<R>(spec);
  const auto work = [&](int64_t begin, int64_t end, int64_t place) {
    R* const rows = place_of<R>(op.host_rows, place, bytes);
    for (int64_t tile = begin; tile < end; ++tile)
      kernels.forward(spec.model->kernel_id(), arguments, tiling[tile], rows);
  };
  launcher.for_each_placed_range(tiling.n_tiles(), is_shared(work_of(active)), work);
}

template <class R>
uint64_t bytes_of_rows(const LayerSpec& spec) {
  using Rows = host::RowsOfBackward;
  const int64_t count = std::min<int64_t>(spec.extents.row(), host::backward_tile<R>);
  const int64_t row_bytes = (count * int64_t{sizeof(R)} + Rows::alignment - 1) / Rows::alignment * Rows::alignment;
  const int n_further = spec.kernel_states() - 1;
  return static_cast<uint64_t>(Rows::n_wide(n_further) * Rows::wide_bytes +
                               Rows::n_rows(n_further, spec.extents.n_steps) * row_bytes);
}

// The most tiles of a pass, those with constants per neuron, which may come later.
int64_t most_tiles(const Extents& extents, int tile) {
  return Tiling(extents, Tiling::at_rows, tile, 0).n_tiles();
}

template <class R>
void backward(const Backward& op, const host::Launcher& launcher) {
  const LayerSpec& spec = op.layer->spec();
  const auto arguments = arguments_of<R>(op);
  const Extents active = active_of(op.extents, arguments.parameters->active);
  const host::NeuronKernels& kernels = kernels_of(spec.loaded_model.get());
  const host::SurrogateRow<R> surrogate_row =
      kernels_of(spec.loaded_surrogate.get())
          .surrogate_row<R>(arguments.surrogate, arguments.parameters->per_neuron != nullptr,
                            spec.model->adapts_threshold);
  const Tiling tiling(active, arguments.parameters->per_neuron ? Tiling::at_rows : Tiling::anywhere,
                      host::backward_tile<R>, backward_sequences * int64_t{sizeof(R)});
  const uint64_t bytes = bytes_of_rows<R>(spec);
  const auto work = [&](int64_t begin, int64_t end, int64_t place) {
    R* const rows = place_of<R>(op.host_rows, place, bytes);
    for (int64_t tile = begin; tile < end; ++tile)
      kernels.backward(spec.model->kernel_id(), surrogate_row, arguments, tiling[tile], rows);
  };
  launcher.for_each_placed_range(tiling.n_tiles(), is_shared(backward_work_of(active)), work);
}

}  // namespace

bool wants_threads(const Forward& op) {
  return is_shared(work_of(op.extents));
}
bool wants_threads(const Backward& op) {
  return is_shared(backward_work_of(op.extents));
}

View forward_rows_of(const Device& device, const LayerSpec& spec) {
  const bool f64 = spec.dtype == SYNFIRE_DTYPE_F64;
  return places_for(device, most_tiles(spec.extents, host::forward_tile), is_shared(work_of(spec.extents)),
                    f64 ? bytes_of_forward_rows<double>(spec) : bytes_of_forward_rows<float>(spec));
}
View backward_rows_of(const Device& device, const LayerSpec& spec) {
  const bool f64 = spec.dtype == SYNFIRE_DTYPE_F64, shared = is_shared(backward_work_of(spec.extents));
  return f64 ? places_for(device, most_tiles(spec.extents, host::backward_tile<double>), shared,
                          bytes_of_rows<double>(spec))
             : places_for(device, most_tiles(spec.extents, host::backward_tile<float>), shared,
                          bytes_of_rows<float>(spec));
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

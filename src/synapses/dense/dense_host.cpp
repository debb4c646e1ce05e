// Synapses on processors: weights on their grid, outputs, and gradients of inputs. Results do not depend on how the
// work is shared: integers have no order, and one thread makes each sum of numbers in the fixed order.
#include "dense_host_parts.hpp"

namespace synfire::operations {
namespace {

// ---- weights on their grid ------------------------------------------------------------------------------------------

template <class R>
void apply_mask(const PrepareDense& op, int64_t n) {
  if (!op.mask) return;
  const DenseSpec& spec = op.synapse->spec();
  R* const row = static_cast<R*>(op.weights.data) + n * spec.n_inputs;
  for (int64_t k = 0; k < spec.n_inputs; ++k)
    if (!is_connected(op.mask, spec, n, k)) row[k] = R(0);
}

void put_row_on_grid(const PrepareDense& op, int64_t n) {
  const host::SynapseKernels& kernels = SYNFIRE_SELECT_LEVEL(synapse_kernels);
  const DenseSpec& spec = op.synapse->spec();
  const float* const weights = static_cast<const float*>(op.weights.data) + n * spec.n_inputs;
  const auto factor = static_cast<float>(op.synapse->weight_factor());
  const float largest = kernels.largest_weight(weights, factor, spec.n_inputs);
  const float bias = spec.is_exact() && op.bias ? static_cast<const float*>(op.bias.data)[n] : 0.0f;
  const int32_t grid = model::grid_of_row(largest, bias, spec.dropped_bits());
  static_cast<int32_t*>(op.grid.data)[n] = grid;
  static_cast<int32_t*>(op.bias_on_grid.data)[n] = model::on_grid(bias, grid);
  int32_t* const row = static_cast<int32_t*>(op.rows.data) + n * spec.rows_pitch();
  kernels.put_weights_on_grid(row, weights, factor, grid, spec.dropped_bits(), spec.n_inputs);
  if (spec.is_exact()) {
    int32_t* const column = static_cast<int32_t*>(op.table.data) + n;
    for (int64_t k = 0; k < spec.n_inputs; ++k) column[k * spec.table_pitch()] = row[k];
  } else {
    float* const column = static_cast<float*>(op.table.data) + n;
    for (int64_t k = 0; k < spec.n_inputs; ++k)
      column[k * spec.table_pitch()] = spec.has_rounded_values() ? model::from_integer(row[k], grid) : weights[k];
  }
}

void copy_row(const PrepareDense& op, int64_t n) {
  const DenseSpec& spec = op.synapse->spec();
  const double* const weights = static_cast<const double*>(op.weights.data) + n * spec.n_inputs;
  const double factor = op.synapse->weight_factor();
  double* const row = static_cast<double*>(op.rows.data) + n * spec.rows_pitch();
  double* const column = static_cast<double*>(op.table.data) + n;
  for (int64_t k = 0; k < spec.n_inputs; ++k) column[k * spec.table_pitch()] = row[k] = weights[k] * factor;
}

// ---- products with spikes -------------------------------------------------------------------------------------------

class ExactTile {
 public:
  ExactTile(const DenseProduct& op, const KeptInputs<float>& kept) : op_(op), spec_(op.synapse->spec()), kept_(kept) {}

  int64_t n_tiles() const { return pieces(spec_.n_outputs, product_tile); }
  int width(int64_t tile) const {
    return static_cast<int>(std::min<int64_t>(product_tile, spec_.table_pitch() - tile * product_tile));
  }
  void clear(double* sums, int64_t tile) const { std::fill_n(sums, width(tile), 0.0); }
  void add(double* sums, int64_t tile, const int32_t* list, int count) const {
    kernels_.add_listed(sums, static_cast<const int32_t*>(op_.table.data) + tile * product_tile, spec_.table_pitch(),
                        list, count, width(tile));
  }
  void finish(const double* sums, int64_t tile, int64_t t, int64_t b) const {
    const int64_t first = tile * product_tile;
    const auto* const grid = static_cast<const int32_t*>(op_.grid.data) + first;
    float* const output = row(tile, t, b);
    const auto* const own_bias = static_cast<const float*>(op_.bias.data);
    if (kept_)
      kernels_.finish_kept(output, sums, own_bias ? own_bias + first : nullptr, grid, kept_.scale(), count(tile));
    else
      kernels_.finish(output, sums, static_cast<const int32_t*>(op_.bias_on_grid.data) + first, grid, count(tile));
  }
  // clear(), add() and finish().
  void multiply(const int32_t* list, int n_listed, int64_t tile, int64_t t, int64_t b) const {
    const int64_t first = tile * product_tile;
    if (!kept_)
      return kernels_.multiply_listed(row(tile, t, b), static_cast<const int32_t*>(op_.table.data) + first,
                                      spec_.table_pitch(), list, n_listed,
                                      static_cast<const int32_t*>(op_.bias_on_grid.data) + first,
                                      static_cast<const int32_t*>(op_.grid.data) + first, count(tile));
    double sums[product_tile];
    clear(sums, tile);
    add(sums, tile, list, n_listed);
    finish(sums, tile, t, b);
  }
  void write_zeros(int64_t tile, int64_t t, int64_t b) const { std::fill_n(row(tile, t, b), count(tile), 0.0f); }

 private:
  int count(int64_t tile) const {
    return static_cast<int>(std::min<int64_t>(product_tile, spec_.n_outputs - tile * product_tile));
  }
  float* row(int64_t tile, int64_t t, int64_t b) const {
    return row_of<float>(op_.output, t, b, spec_.n_outputs) + tile * product_tile;
  }

  const DenseProduct& op_;
  const DenseSpec& spec_;
  const KeptInputs<float>& kept_;
  const host::SynapseKernels& kernels_ = SYNFIRE_SELECT_LEVEL(synapse_kernels);
};

// Lists of the inputs that fire in a few steps serve all tiles of an item, because making them takes time too.
constexpr int listed_steps = 8;
constexpr int64_t tiles_of_an_item = 4;
// Fewer items are divided further, so that threads can share them; one thread does all tiles in one item.
constexpr int64_t enough_items = 64;

// An item needs this memory, which is too large for a stack; one of a step needs the list of its inputs.
constexpr int64_t most_listed = int64_t{32} * SpikeWords::most_words;
constexpr int64_t most_of_step = 1 << 16;
struct ShortItem {
  int32_t lists[listed_steps][most_listed];
  int32_t slack[host::list_slack];
};
struct LongItem {
  double sums[32][product_tile];
  int32_t list[most_listed + host::list_slack];
};

struct ExactItems {
  enum class Kind { step, few_inputs, many_inputs } kind;
  bool share;
  int64_t n_inputs, of_item, across, count;  // tiles of an item, items of a block of steps, all items

  explicit ExactItems(const DenseProduct& op) : share(wants_threads(op)), n_inputs(op.synapse->spec().n_inputs) {
    const int64_t n_blocks = pieces(op.extents.n_steps, 32) * op.extents.batch,
                  n_tiles = pieces(op.synapse->spec().n_outputs, product_tile);
    kind = op.extents.n_steps == 1 && n_inputs <= most_of_step && op.input.dtype == SYNFIRE_DTYPE_BITS && !op.kept.mask
               ? Kind::step
           : n_inputs > most_listed ? Kind::many_inputs
                                    : Kind::few_inputs;
    of_item = kind == Kind::many_inputs                                     ? 1
              : !share                                                      ? n_tiles
              : n_blocks * pieces(n_tiles, tiles_of_an_item) < enough_items ? 1
                                                                            : tiles_of_an_item;
    across = of_item == n_tiles ? 1 : pieces(n_tiles, of_item);
    count = n_blocks * across;
  }
  uint64_t bytes_of_place() const {
    return kind == Kind::step          ? static_cast<uint64_t>(n_inputs + host::list_slack) * sizeof(int32_t)
           : kind == Kind::many_inputs ? sizeof(LongItem)
                                       : sizeof(ShortItem);
  }
};

// One step of packed spikes: no weight is read twice. A small one waits for divisions and copies more than for sums.
void run_step(const DenseProduct& op, const ExactItems& items, host::Launcher& launcher) {
  const host::SynapseKernels& kernels = SYNFIRE_SELECT_LEVEL(synapse_kernels);
  const DenseSpec& spec = op.synapse->spec();
  const int64_t active = active_rows(op), columns = items.of_item * product_tile, pitch = spec.table_pitch();
  launcher.for_each_placed_range(items.count, items.share, [&](int64_t begin, int64_t end, int64_t place) {
    int32_t* const list = place_of<int32_t>(op.host_places, place, items.bytes_of_place());
    for (int64_t item = begin; item < end; ++item) {
      const int64_t b = items.across == 1 ? item : item / items.across, first = (item - b * items.across) * columns,
                    count = std::min(columns, spec.n_outputs - first);
      float* const output = row_of<float>(op.output, 0, b, spec.n_outputs) + first;
      if (b >= active) {
        std::fill_n(output, count, 0.0f);
        continue;
      }
      const auto* const words = static_cast<const uint32_t*>(op.input.data) + b * op.extents.words_per_row();
      const int n_listed = kernels.list_spikes(list, words, static_cast<int>(spec.n_inputs), 0);
      kernels.multiply_listed(output, static_cast<const int32_t*>(op.table.data) + first, pitch, list, n_listed,
                              static_cast<const int32_t*>(op.bias_on_grid.data) + first,
                              static_cast<const int32_t*>(op.grid.data) + first, count);
    }
  });
}

// Up to 1,024 inputs: each step is done at once.
void run_item(const ExactTile& tiles, SpikeWords& words, int64_t step, int n_steps, int64_t b, int64_t first_tile,
              int64_t end_tile, ShortItem& item) {
  int counts[listed_steps];
  words.read(step, b, 0);
  for (int t = 0; t < n_steps; t += listed_steps) {
    const int now = std::min(listed_steps, n_steps - t);
    for (int i = 0; i < now; ++i) counts[i] = words.list(t + i, 0, item.lists[i]);
    for (int64_t tile = first_tile; tile < end_tile; ++tile)
      for (int i = 0; i < now; ++i) tiles.multiply(item.lists[i], counts[i], tile, step + t + i, b);
  }
}

// Any number of inputs: the sums of all steps of a tile are held.
void run_long_item(const ExactTile& tiles, SpikeWords& words, int64_t n_inputs, int64_t step, int n_steps, int64_t b,
                   int64_t tile, LongItem& item) {
  for (int t = 0; t < n_steps; ++t) tiles.clear(item.sums[t], tile);
  for (int64_t k = 0; k < n_inputs; k += most_listed) {
    words.read(step, b, k);
    for (int t = 0; t < n_steps; ++t) tiles.add(item.sums[t], tile, item.list, words.list(t, k, item.list));
  }
  for (int t = 0; t < n_steps; ++t) tiles.finish(item.sums[t], tile, step + t, b);
}

void run_exact(const DenseProduct& op, host::Launcher& launcher) {
  const ExactItems items(op);
  if (items.kind == ExactItems::Kind::step) return run_step(op, items, launcher);
  const Extents& e = op.extents;
  const int64_t active = active_rows(op);
  const KeptInputs<float> kept(op.kept, e);
  const ExactTile tiles(op, kept);
  launcher.for_each_placed_range(items.count, items.share, [&](int64_t begin, int64_t end, int64_t place) {
    SpikeWords words(op.input, e, kept);
    const uint64_t bytes = items.bytes_of_place();
    for (int64_t item = begin; item < end; ++item) {
      const int64_t first = item % items.across * items.of_item,
                    last = std::min(first + items.of_item, tiles.n_tiles()), b = item / items.across % e.batch,
                    step = item / items.across / e.batch * 32;
      const int n_steps = static_cast<int>(std::min<int64_t>(32, e.n_steps - step));
      if (b >= active) {
        for (int t = 0; t < n_steps; ++t)
          for (int64_t tile = first; tile < last; ++tile) tiles.write_zeros(tile, step + t, b);
      } else if (items.kind == ExactItems::Kind::many_inputs) {
        run_long_item(tiles, words, items.n_inputs, step, n_steps, b, first,
                      *place_of<LongItem>(op.host_places, place, bytes));
      } else {
        run_item(tiles, words, step, n_steps, b, first, last, *place_of<ShortItem>(op.host_places, place, bytes));
      }
    }
  });
}

// ---- products in the fixed order ------------------------------------------------------------------------------------

template <class R>
void run_chains(const DenseProduct& op, host::Launcher& launcher) {
  const DenseSpec& spec = op.synapse->spec();
  const Extents& e = op.extents;
  const int64_t active = active_rows(op);
  const KeptInputs<R> kept(op.kept, e);
  const Numbers<R> input(op.input, e, spec.input == InputKind::spikes, kept);
  const auto scale = static_cast<double>(kept.scale());
  const R* const bias = op.bias ? static_cast<const R*>(op.bias.data) : nullptr;
  clear_inactive<R>(op.output, e, active, spec.n_outputs);
  multiply<R>(
      launcher, wants_threads(op), {e, active, spec.n_inputs, spec.n_outputs, spec.table_pitch()},
      static_cast<const R*>(op.table.data),
      [&](int64_t t, int64_t b, int64_t k, int count, R* to) { input.read(t, b, k, count, to); },
      [&](int64_t t, int64_t b, int64_t n, int count, const double* totals) {
        R* const to = row_of<R>(op.output, t, b, spec.n_outputs) + n;
        for (int i = 0; i < count; ++i)
          to[i] = static_cast<R>(!bias  ? totals[i] * scale
                                 : kept ? model::fma(totals[i], scale, static_cast<double>(bias[n + i]))
                                        : totals[i] + static_cast<double>(bias[n + i]));
      });
}

void write_input_gradient(const DenseInputGradient& op, int64_t t, int64_t b, int64_t k, int count, auto gradient) {
  auto* const to = row_of<decltype(gradient(0))>(op.grad_input, t, b, op.extents.n_neurons) + k;
  for (int i = 0; i < count; ++i) to[i] = op.add ? to[i] + gradient(i) : gradient(i);
}

void run_chains(const DenseInputGradient& op, host::Launcher& launcher) {
  const DenseSpec& spec = op.synapse->spec();
  const Extents& e = op.extents;
  const int64_t active = active_rows(op);
  const KeptInputs<double> kept(op.kept, e);
  if (!op.add) clear_inactive<double>(op.grad_input, e, active, spec.n_inputs);
  multiply<double>(
      launcher, wants_threads(op), {e, active, spec.n_outputs, spec.n_inputs, spec.rows_pitch()},
      static_cast<const double*>(op.rows.data),
      [&](int64_t t, int64_t b, int64_t n, int count, double* to) {
        std::copy_n(row_of<const double>(op.grad_output, t, b, spec.n_outputs) + n, count, to);
      },
      [&](int64_t t, int64_t b, int64_t k, int count, const double* totals) {
        write_input_gradient(op, t, b, k, count,
                             [&](int i) { return kept.has(b, k + i) ? totals[i] * kept.scale() : 0.0; });
      });
}

// ---- exact gradients of inputs --------------------------------------------------------------------------------------

constexpr int32_t not_finite = INT32_MAX;  // in place of a row's grid

void put_gradients_on_grid(const DenseInputGradient& op, int64_t active, host::Launcher& launcher) {
  const host::SynapseKernels& kernels = SYNFIRE_SELECT_LEVEL(synapse_kernels);
  const DenseSpec& spec = op.synapse->spec();
  const auto* const grid = static_cast<const int32_t*>(op.grid.data);
  launcher.for_each_range(op.extents.n_steps * active, wants_threads(op), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float* const gradients = row_of<const float>(op.grad_output, row / active, row % active, spec.n_outputs);
      int32_t* const to = static_cast<int32_t*>(op.grad_on_grid.data) + row * spec.table_pitch();
      const bool finite = std::all_of(gradients, gradients + spec.n_outputs,
                                      [](float g) { return (model::bits_of(g) & 0x7F800000u) != 0x7F800000u; });
      const int32_t row_grid =
          finite ? model::grid_of_magnitude(kernels.largest_product(gradients, grid, spec.n_outputs)) : not_finite;
      static_cast<int32_t*>(op.row_grid.data)[row] = row_grid;
      if (finite) kernels.put_products_on_grid(to, gradients, grid, row_grid, spec.n_outputs);
    }
  });
}

void run_exact(const DenseInputGradient& op, host::Launcher& launcher) {
  const host::SynapseKernels& kernels = SYNFIRE_SELECT_LEVEL(synapse_kernels);
  const DenseSpec& spec = op.synapse->spec();
  const Extents& e = op.extents;
  const int64_t active = active_rows(op), n_rows = e.n_steps * active, n_tiles = pieces(spec.n_inputs, product_tile);
  const KeptInputs<float> kept(op.kept, e);
  if (!op.add) clear_inactive<float>(op.grad_input, e, active, spec.n_inputs);
  put_gradients_on_grid(op, active, launcher);
  const auto* const weights = static_cast<const int32_t*>(op.rows.data);
  const auto* const on_grid = static_cast<const int32_t*>(op.grad_on_grid.data);
  const auto* const row_grid = static_cast<const int32_t*>(op.row_grid.data);
  launcher.for_each_range(pieces(n_rows, chain_rows) * n_tiles, wants_threads(op), [&](int64_t begin, int64_t end) {
    double coefficients[chain_rows][host::most_products];
    const int32_t* rows[host::most_products];
    int64_t sums[chain_rows][product_tile];
    for (int64_t item = begin; item < end; ++item) {
      const int64_t first = item % n_tiles * product_tile, row = item / n_tiles * chain_rows;
      const int width = static_cast<int>(std::min<int64_t>(product_tile, spec.rows_pitch() - first)),
                count = static_cast<int>(std::min<int64_t>(product_tile, spec.n_inputs - first)),
                now = static_cast<int>(std::min<int64_t>(chain_rows, n_rows - row));
      for (int r = 0; r < now; ++r) std::fill_n(sums[r], width, 0);
      for (int64_t n = 0; n < spec.n_outputs; n += host::most_products) {
        const int length = static_cast<int>(std::min<int64_t>(host::most_products, spec.n_outputs - n));
        for (int i = 0; i < length; ++i) rows[i] = weights + (n + i) * spec.rows_pitch() + first;
        for (int r = 0; r < now; ++r)
          std::copy_n(on_grid + (row + r) * spec.table_pitch() + n, length, coefficients[r]);
        kernels.add_products(sums, rows, coefficients, length, now, width);
      }
      for (int r = 0; r < now; ++r) {
        const int32_t grid = row_grid[row + r];
        const int64_t b = (row + r) % active;
        write_input_gradient(op, (row + r) / active, b, first, count, [&](int i) {
          if (!kept.has(b, first + i)) return 0.0f;
          return grid == not_finite ? std::numeric_limits<float>::quiet_NaN()
                                    : model::from_wide_grid(sums[r][i], grid, static_cast<double>(kept.scale()));
        });
      }
    }
  });
}

}  // namespace
bool wants_threads(const PrepareDense& op) {
  return op.synapse->spec().n_weights() >= 1 << 16;
}
bool wants_threads(const DenseProduct& op) {
  return is_long(op);
}
View host_places_of(const Device& device, const DenseProduct& op) {
  if (!op.synapse->spec().is_exact()) return {};
  const ExactItems items(op);
  return places_for(device, items.count, wants_threads(op), items.bytes_of_place());
}
bool wants_threads(const DenseWeightGradient& op) {
  return is_long(op);
}
bool wants_threads(const DenseInputGradient& op) {
  return is_long(op);
}

void run(const PrepareDense& op, host::Launcher& launcher) {
  const bool wide = op.synapse->spec().dtype == SYNFIRE_DTYPE_F64;
  launcher.for_each_range(op.synapse->spec().n_outputs, wants_threads(op), [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      if (wide) {
        apply_mask<double>(op, n);
        copy_row(op, n);
      } else {
        apply_mask<float>(op, n);
        put_row_on_grid(op, n);
      }
    }
  });
}

void run(const DenseProduct& op, host::Launcher& launcher) {
  const DenseSpec& spec = op.synapse->spec();
  if (spec.is_exact()) return run_exact(op, launcher);
  if (spec.dtype == SYNFIRE_DTYPE_F64) return run_chains<double>(op, launcher);
  run_chains<float>(op, launcher);
}

void run(const DenseInputGradient& op, host::Launcher& launcher) {
  if (op.synapse->spec().has_grid()) return run_exact(op, launcher);
  run_chains(op, launcher);
}

}  // namespace synfire::operations

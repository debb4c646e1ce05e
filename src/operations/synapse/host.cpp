// Synapses on processors. Results do not depend on how the work is shared: integers have no order, and each sum of
// numbers is made by one thread in the fixed order.
#include "host_kernels.hpp"
#include "synapse.hpp"

#include <host/launcher.hpp>
#include <host/storage.hpp>
#include <operations/spikes/arrays_of.hpp>
#include <operations/spikes/blocks.hpp>
#include <operations/spikes/one_spike.hpp>

#include <synfire/model/grid.hpp>

#include <algorithm>
#include <bit>

namespace synfire::operations {

using namespace synfire::core;

namespace {

namespace generic = synfire::host::SYNFIRE_MODEL_LEVEL;
using host::chain_rows;
using host::most_addends;
using host::product_tile;
using model::block_length;
using model::chain_length;

// Multiplications below which the calling thread works alone: about 100 us.
constexpr int64_t parallel_threshold = int64_t{1} << 24;

bool is_long(const Extents& e, int64_t n_outputs) {
  return static_cast<double>(e.n_steps * e.row()) * static_cast<double>(n_outputs) >=
         static_cast<double>(parallel_threshold);
}

template <class Op>
int64_t active_rows(const Op& op) {
  const int64_t batch = op.extents.batch;
  const int64_t active =
      op.n_active ? std::min<int64_t>(*static_cast<const uint32_t*>(op.n_active.data), batch) : batch;
  if (!op.layer_active) return active;
  return std::min(active, *static_cast<const int64_t*>(op.layer_active.data) / op.synapse->spec().n_outputs);
}

int64_t pieces(int64_t count, int64_t length) {
  return (count + length - 1) / length;
}

template <class R>
R* row_of(const View& sequence, int64_t t, int64_t b, int64_t length) {
  return static_cast<R*>(sequence.data) + t * sequence.pitch + b * length;
}

// ---- inputs ---------------------------------------------------------------------------------------------------------

// Which inputs count. All of them, times 1, where there is no dropout.
template <class R>
class KeptInputs {
 public:
  KeptInputs(const Kept& kept, const Extents& extents)
      : words_(static_cast<const uint32_t*>(kept.mask.data)),
        n_words_(extents.words_per_row()),
        scale_(kept.scale ? *static_cast<const R*>(kept.scale.data) : R(1)) {}

  explicit operator bool() const { return words_ != nullptr; }
  R scale() const { return scale_; }
  uint32_t word(int64_t b, int64_t word) const { return words_ ? words_[b * n_words_ + word] : ~uint32_t{0}; }
  bool has(int64_t b, int64_t k) const { return (word(b, k / 32) >> k % 32 & 1u) != 0; }
  // Sets those that do not count to +0.
  void apply(int64_t b, int64_t first, int count, R* to) const {
    if (!words_) return;
    for (int i = 0; i < count; ++i) to[i] = has(b, first + i) ? to[i] : R(0);
  }

 private:
  const uint32_t* words_;
  int64_t n_words_;
  R scale_;
};

// Spikes [T, B, K] of any format as words of 32 inputs each, for 32 steps of one batch row.
class SpikeWords {
 public:
  static constexpr int most_words = 32;  // at a time: 1,024 inputs

  SpikeWords(const View& spikes, const Extents& extents, const KeptInputs<float>& kept)
      : array_(spikes_of(spikes)), storage_(storage_of(spikes.dtype)), extents_(extents), kept_(kept) {}

  // The words of inputs `first`, a multiple of 32, and up.
  void read(int64_t step, int64_t row, int64_t first) {
    n_steps_ = static_cast<int>(std::min<int64_t>(32, extents_.n_steps - step));
    n_words_ = static_cast<int>(std::min<int64_t>(most_words, extents_.words_per_row() - first / 32));
    for (int j = 0; j < n_words_; ++j) {
      const int64_t input = first + int64_t{32} * j;
      const Place at = {step, row, input, n_steps_,
                        static_cast<int>(std::min<int64_t>(32, extents_.n_neurons - input))};
      const uint32_t counts = lowest(at.neurons) & kept_.word(row, input / 32);
      if (storage_ == SpikeStorage::bits) {
        for (int t = 0; t < n_steps_; ++t) words_[t][j] = *bits_word(array_, extents_, at, t) & counts;
        continue;
      }
      Block block = operations::read(storage_, array_, extents_, at);
      transpose(block);
      for (int t = 0; t < n_steps_; ++t) words_[t][j] = block.words[t] & counts;
    }
  }
  int n_steps() const { return n_steps_; }
  // The inputs that fire in a step, from `first` on.
  int list(int step, int64_t first, int32_t* inputs) const {
    int count = 0;
    for (int j = 0; j < n_words_; ++j)
      for (uint32_t word = words_[step][j]; word != 0; word &= word - 1)
        inputs[count++] = static_cast<int32_t>(first) + 32 * j + std::countr_zero(word);
    return count;
  }

 private:
  SpikeArray array_;
  SpikeStorage storage_;
  const Extents& extents_;
  const KeptInputs<float>& kept_;
  int n_steps_ = 0, n_words_ = 0;
  uint32_t words_[32][most_words];
};

// Inputs of any type as numbers.
template <class R>
class Numbers {
 public:
  Numbers(const View& input, const Extents& extents, bool are_spikes, const KeptInputs<R>& kept)
      : input_(input), extents_(extents), are_spikes_(are_spikes), kept_(kept) {
    if (are_spikes) spikes_ = {spikes_of(input), storage_of(input.dtype), extents};
  }
  void read(int64_t t, int64_t b, int64_t first, int count, R* to) const {
    read_all(t, b, first, count, to);
    kept_.apply(b, first, count, to);
  }

 private:
  void read_all(int64_t t, int64_t b, int64_t first, int count, R* to) const {
    if (are_spikes_) {
      for (int i = 0; i < count; ++i) to[i] = spikes_.get(t, b, first + i) ? R(1) : R(0);
      return;
    }
    const int64_t at = t * input_.pitch + b * extents_.n_neurons + first;
    switch (input_.dtype) {
      case SYNFIRE_DTYPE_F16:
        return decode(static_cast<const generic::F16*>(input_.data) + at, count, to);
      case SYNFIRE_DTYPE_BF16:
        return decode(static_cast<const generic::Bf16*>(input_.data) + at, count, to);
      default:
        std::copy_n(static_cast<const R*>(input_.data) + at, count, to);
    }
  }
  template <class E>
  static void decode(const E* from, int count, R* to) {
    for (int i = 0; i < count; ++i) to[i] = static_cast<R>(generic::decode(from[i]));
  }

  const View& input_;
  const Extents& extents_;
  bool are_spikes_;
  const KeptInputs<R>& kept_;
  cuda::OneSpike spikes_ = {};
};

// ---- weights on their grid ------------------------------------------------------------------------------------------

bool is_connected(const View& mask, const SynapseSpec& spec, int64_t n, int64_t k) {
  return !mask || (static_cast<const uint32_t*>(mask.data)[n * spec.mask_words() + k / 32] >> k % 32 & 1u) != 0;
}

template <class R>
void apply_mask(const PrepareSynapse& op, int64_t n) {
  if (!op.mask) return;
  const SynapseSpec& spec = op.synapse->spec();
  R* const row = static_cast<R*>(op.weights.data) + n * spec.n_inputs;
  for (int64_t k = 0; k < spec.n_inputs; ++k)
    if (!is_connected(op.mask, spec, n, k)) row[k] = R(0);
}

float largest_weight(const float* row, int64_t count) {
  float largest = 0;
  for (int64_t k = 0; k < count; ++k) largest = std::max(largest, model::absolute(row[k]));
  return largest;
}

void put_row_on_grid(const PrepareSynapse& op, int64_t n) {
  const SynapseSpec& spec = op.synapse->spec();
  const float* const weights = static_cast<const float*>(op.weights.data) + n * spec.n_inputs;
  const float largest = largest_weight(weights, spec.n_inputs);
  const float bias = spec.is_exact() && op.bias ? static_cast<const float*>(op.bias.data)[n] : 0.0f;
  const int32_t grid = model::grid_of_row(largest, bias);
  static_cast<int32_t*>(op.grid.data)[n] = grid;
  static_cast<int32_t*>(op.bias_on_grid.data)[n] = model::on_grid(bias, grid);
  int32_t* const row = static_cast<int32_t*>(op.rows.data) + n * spec.rows_pitch();
  for (int64_t k = 0; k < spec.n_inputs; ++k) row[k] = model::on_grid(weights[k], grid);
  if (spec.is_exact()) {
    int32_t* const column = static_cast<int32_t*>(op.table.data) + n;
    for (int64_t k = 0; k < spec.n_inputs; ++k) column[k * spec.table_pitch()] = row[k];
  } else {
    float* const column = static_cast<float*>(op.table.data) + n;
    for (int64_t k = 0; k < spec.n_inputs; ++k)
      column[k * spec.table_pitch()] = static_cast<float>(row[k]) * model::power_of_two(grid);
  }
}

void copy_row(const PrepareSynapse& op, int64_t n) {
  const SynapseSpec& spec = op.synapse->spec();
  const double* const weights = static_cast<const double*>(op.weights.data) + n * spec.n_inputs;
  double* const row = static_cast<double*>(op.rows.data) + n * spec.rows_pitch();
  double* const column = static_cast<double*>(op.table.data) + n;
  for (int64_t k = 0; k < spec.n_inputs; ++k) column[k * spec.table_pitch()] = row[k] = weights[k];
}

// ---- products with spikes -------------------------------------------------------------------------------------------

void run_exact(const SynapseForward& op, host::Launcher& launcher) {
  const host::SynapseKernels& kernels = SYNFIRE_SELECT_LEVEL(synapse_kernels);
  const SynapseSpec& spec = op.synapse->spec();
  const Extents& e = op.extents;
  const int64_t active = active_rows(op), n_tiles = pieces(spec.n_outputs, product_tile);
  const auto* const table = static_cast<const int32_t*>(op.table.data);
  const auto* const grid = static_cast<const int32_t*>(op.grid.data);
  const auto* const bias = static_cast<const int32_t*>(op.bias_on_grid.data);
  const auto* const own_bias = static_cast<const float*>(op.bias.data);
  const KeptInputs<float> kept(op.kept, e);
  launcher.for_each_range(
      pieces(e.n_steps, 32) * e.batch * n_tiles, wants_threads(op), [&](int64_t begin, int64_t end) {
        SpikeWords words(op.input, e, kept);
        double sums[32][product_tile];
        int32_t list[32 * SpikeWords::most_words];
        for (int64_t item = begin; item < end; ++item) {
          const int64_t first = item % n_tiles * product_tile, b = item / n_tiles % e.batch,
                        step = item / n_tiles / e.batch * 32;
          const int n_steps = static_cast<int>(std::min<int64_t>(32, e.n_steps - step));
          const int width = static_cast<int>(std::min<int64_t>(product_tile, spec.table_pitch() - first)),
                    count = static_cast<int>(std::min<int64_t>(product_tile, spec.n_outputs - first));
          if (b >= active) {
            for (int t = 0; t < n_steps; ++t)
              std::fill_n(row_of<float>(op.output, step + t, b, spec.n_outputs) + first, count, 0.0f);
            continue;
          }
          for (int t = 0; t < n_steps; ++t) std::fill_n(sums[t], width, 0.0);
          for (int64_t k = 0; k < spec.n_inputs; k += int64_t{32} * SpikeWords::most_words) {
            words.read(step, b, k);
            for (int t = 0; t < n_steps; ++t)
              kernels.add_listed(sums[t], table + first, spec.table_pitch(), list, words.list(t, k, list), width);
          }
          for (int t = 0; t < n_steps; ++t) {
            float* const output = row_of<float>(op.output, step + t, b, spec.n_outputs) + first;
            if (kept)
              kernels.finish_kept(output, sums[t], own_bias ? own_bias + first : nullptr, grid + first, kept.scale(),
                                  count);
            else
              kernels.finish(output, sums[t], bias + first, grid + first, count);
          }
        }
      });
}

// ---- products in the fixed order ------------------------------------------------------------------------------------

template <class R>
const host::ChainKernels<R>& chain_kernels() {
  if constexpr (sizeof(R) == 4)
    return SYNFIRE_SELECT_LEVEL(synapse_kernels).chain_f32;
  else
    return SYNFIRE_SELECT_LEVEL(synapse_kernels).chain_f64;
}

// Up to four rows [width] of sums in the fixed order: chains, blocks, and the sum of the blocks.
template <class R>
class ChainSums {
 public:
  explicit ChainSums(int n_rows, int width) : n_rows_(n_rows), width_(width) {
    for (int r = 0; r < n_rows; ++r) {
      std::fill_n(block_[r], width, R(0));
      std::fill_n(total_[r], width, 0.0);
    }
  }
  // The next chain, of `chain_length` products or the last ones.
  void add(const R* const* rows, const R (*coefficients)[chain_length], int length) {
    kernels_.add_chain(block_, rows, coefficients, length, n_rows_, width_);
    n_added_ += length;
    if (n_added_ % block_length == 0) add_block();
  }
  // Call once, after the last chain.
  const double* total(int r) {
    if (n_added_ % block_length != 0) {
      add_block();
      n_added_ = 0;
    }
    return total_[r];
  }

 private:
  void add_block() {
    for (int r = 0; r < n_rows_; ++r) kernels_.add_block(total_[r], block_[r], width_);
  }

  const host::ChainKernels<R>& kernels_ = chain_kernels<R>();
  const int n_rows_, width_;
  int64_t n_added_ = 0;
  R block_[chain_rows][product_tile];
  double total_[chain_rows][product_tile];
};

// Rows (t, b), four at a time, times a matrix [L, n] with padded rows: calls read(t, b, first, count, R*) for the
// coefficients and write(t, b, first, count, totals) for the results; rows that are not active are skipped.
struct ChainShape {
  const Extents& extents;
  int64_t active, length, n_columns, pitch;
};
template <class R, class Read, class Write>
void multiply(host::Launcher& launcher, bool share, const ChainShape& shape, const R* matrix, Read read, Write write) {
  const int64_t n_tiles = pieces(shape.n_columns, product_tile), n_rows = shape.extents.n_steps * shape.active;
  launcher.for_each_range(pieces(n_rows, chain_rows) * n_tiles, share, [&](int64_t begin, int64_t end) {
    R coefficients[chain_rows][chain_length];
    const R* rows[chain_length];
    for (int64_t item = begin; item < end; ++item) {
      const int64_t first = item % n_tiles * product_tile, row = item / n_tiles * chain_rows;
      const int width = static_cast<int>(std::min<int64_t>(product_tile, shape.pitch - first)),
                count = static_cast<int>(std::min<int64_t>(product_tile, shape.n_columns - first)),
                now = static_cast<int>(std::min<int64_t>(chain_rows, n_rows - row));
      ChainSums<R> sums(now, width);
      for (int64_t l = 0; l < shape.length; l += chain_length) {
        const int length = static_cast<int>(std::min<int64_t>(chain_length, shape.length - l));
        for (int i = 0; i < length; ++i) rows[i] = matrix + (l + i) * shape.pitch + first;
        for (int r = 0; r < now; ++r)
          read((row + r) / shape.active, (row + r) % shape.active, l, length, coefficients[r]);
        sums.add(rows, coefficients, length);
      }
      for (int r = 0; r < now; ++r)
        write((row + r) / shape.active, (row + r) % shape.active, first, count, sums.total(r));
    }
  });
}

// Rows from `active` on are +0, or stay as they are where results are added.
template <class R>
void clear_inactive(const View& sequence, const Extents& e, int64_t active, int64_t length) {
  for (int64_t t = 0; t < e.n_steps && active < e.batch; ++t)
    std::fill_n(row_of<R>(sequence, t, active, length), (e.batch - active) * length, R(0));
}

template <class R>
void run_chains(const SynapseForward& op, host::Launcher& launcher) {
  const SynapseSpec& spec = op.synapse->spec();
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

void write_input_gradient(const SynapseInputGradient& op, int64_t t, int64_t b, int64_t k, int count, auto gradient) {
  auto* const to = row_of<decltype(gradient(0))>(op.grad_input, t, b, op.extents.n_neurons) + k;
  for (int i = 0; i < count; ++i) to[i] = op.add ? to[i] + gradient(i) : gradient(i);
}

void run_chains(const SynapseInputGradient& op, host::Launcher& launcher) {
  const SynapseSpec& spec = op.synapse->spec();
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

void put_gradients_on_grid(const SynapseInputGradient& op, int64_t active, host::Launcher& launcher) {
  const host::SynapseKernels& kernels = SYNFIRE_SELECT_LEVEL(synapse_kernels);
  const SynapseSpec& spec = op.synapse->spec();
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

void run_exact(const SynapseInputGradient& op, host::Launcher& launcher) {
  const host::SynapseKernels& kernels = SYNFIRE_SELECT_LEVEL(synapse_kernels);
  const SynapseSpec& spec = op.synapse->spec();
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

// ---- gradients of weights, in the fixed order -----------------------------------------------------------------------

template <class R>
void write_gradient(const View& to, int64_t at, R gradient, bool add) {
  R& held = static_cast<R*>(to.data)[at];
  held = add ? held + gradient : gradient;
}

constexpr int gradient_outputs = 32;  // that share what is read of the inputs

template <class R>
void sum_biases(const SynapseWeightGradient& op, int64_t active) {
  const SynapseSpec& spec = op.synapse->spec();
  const int64_t n_rows = op.extents.n_steps * active;
  for (int64_t n = 0; n < spec.n_outputs; ++n) {
    double total = 0;
    R block = R(0), chain = R(0);
    for (int64_t m = 0; m < n_rows; ++m) {
      chain += row_of<const R>(op.grad_output, m / active, m % active, spec.n_outputs)[n];
      if ((m + 1) % chain_length != 0 && m + 1 < n_rows) continue;
      block += chain;
      chain = R(0);
      if ((m + 1) % block_length != 0 && m + 1 < n_rows) continue;
      total += static_cast<double>(block);
      block = R(0);
    }
    write_gradient(op.bias_gradient, n, static_cast<R>(total), op.add);
  }
}

template <class R>
void sum_weights(const SynapseWeightGradient& op, int64_t active, int64_t first_output, int64_t first_input) {
  const SynapseSpec& spec = op.synapse->spec();
  const int64_t n_rows = op.extents.n_steps * active;
  const KeptInputs<R> kept(op.kept, op.extents);
  const Numbers<R> input(op.input, op.extents, spec.input == InputKind::spikes, kept);
  const int n_inputs = static_cast<int>(std::min<int64_t>(product_tile, spec.n_inputs - first_input)),
            n_outputs = static_cast<int>(std::min<int64_t>(gradient_outputs, spec.n_outputs - first_output)),
            width = static_cast<int>(SynapseSpec::padded(n_inputs));
  R inputs[chain_length][product_tile] = {};
  const R* rows[chain_length];
  for (int l = 0; l < chain_length; ++l) rows[l] = inputs[l];
  for (int at = 0; at < n_outputs; at += chain_rows) {
    const int now = std::min(chain_rows, n_outputs - at);
    ChainSums<R> sums(now, width);
    R coefficients[chain_rows][chain_length];
    for (int64_t m = 0; m < n_rows; m += chain_length) {
      const int length = static_cast<int>(std::min<int64_t>(chain_length, n_rows - m));
      for (int l = 0; l < length; ++l) {
        const int64_t t = (m + l) / active, b = (m + l) % active;
        input.read(t, b, first_input, n_inputs, inputs[l]);
        const R* const gradients = row_of<const R>(op.grad_output, t, b, spec.n_outputs) + first_output + at;
        for (int r = 0; r < now; ++r) coefficients[r][l] = gradients[r];
      }
      sums.add(rows, coefficients, length);
    }
    for (int r = 0; r < now; ++r) {
      const int64_t n = first_output + at + r;
      const double* const totals = sums.total(r);
      for (int i = 0; i < n_inputs; ++i) {
        const bool connected = is_connected(op.mask, spec, n, first_input + i);
        write_gradient(op.weight_gradient, n * spec.n_inputs + first_input + i,
                       connected ? static_cast<R>(totals[i] * static_cast<double>(kept.scale())) : R(0), op.add);
      }
    }
  }
}

template <class R>
void run_chains(const SynapseWeightGradient& op, host::Launcher& launcher) {
  const SynapseSpec& spec = op.synapse->spec();
  const int64_t active = active_rows(op);
  const int64_t n_tiles = pieces(spec.n_inputs, product_tile);
  launcher.for_each_range(
      pieces(spec.n_outputs, gradient_outputs) * n_tiles, wants_threads(op), [&](int64_t begin, int64_t end) {
        for (int64_t item = begin; item < end; ++item)
          sum_weights<R>(op, active, item / n_tiles * gradient_outputs, item % n_tiles * product_tile);
      });
  if (op.bias_gradient) sum_biases<R>(op, active);
}

// ---- exact gradients of weights -------------------------------------------------------------------------------------

// The work of one exact weight gradient, in four steps.
class ExactGradient {
 public:
  ExactGradient(const SynapseWeightGradient& op, host::Launcher& launcher)
      : op_(op), launcher_(launcher), active_(active_rows(op)) {}

  void run() {
    find_grids();
    put_on_grid();
    add();
    write();
  }

 private:
  static constexpr int columns = 256;  // of outputs, and inputs, that an item of the third step has

  // The largest magnitude of each output, and the grid that it needs. Those of an output whose largest is not finite
  // must not be added up: they could overflow.
  void find_grids() {
    share(pieces(pitch_, product_tile), [&](int64_t item) {
      const int64_t first = item * product_tile, count = std::min<int64_t>(product_tile, spec_.n_outputs - first);
      std::fill_n(largest() + first, std::min<int64_t>(product_tile, pitch_ - first), 0u);
      for (int64_t t = 0; t < e_.n_steps; ++t)
        for (int64_t b = 0; b < active_; ++b) kernels_.largest(largest() + first, gradients(t, b) + first, count);
      for (int64_t n = first; n < std::min(first + product_tile, pitch_); ++n)
        grid()[n] = is_finite(n) ? model::grid_of(model::from_bits(largest()[n]),
                                                  wide_ ? model::largest_on_grid_32 : model::largest_on_grid_24)
                                 : model::grid_of_zeros;
    });
  }

  void put_on_grid() {
    share(e_.n_steps * active_, [&](int64_t item) {
      const int64_t t = item / active_, b = item % active_;
      int32_t* const to = on_grid(t, b);
      kernels_.put_on_grid(to, gradients(t, b), grid(), spec_.n_outputs);
      std::fill(to + spec_.n_outputs, to + pitch_, 0);
    });
  }

  void add() {
    const int64_t n_tiles = pieces(pitch_, columns);
    share(pieces(spec_.n_inputs, columns) * n_tiles, [&](int64_t item) {
      const int64_t output = item % n_tiles * columns, input = item / n_tiles * columns;
      const int width = static_cast<int>(std::min<int64_t>(columns, pitch_ - output));
      add_inputs(input, std::min(input + columns, spec_.n_inputs), output, width);
      if (input == 0 && op_.bias_gradient) add_bias(output, width);
    });
  }

  void add_inputs(int64_t begin, int64_t end, int64_t output, int width) {
    const SpikeArray spikes = spikes_of(op_.input);
    const SpikeStorage storage = storage_of(op_.input.dtype);
    int counts[columns] = {};
    for (int64_t k = begin; k < end; ++k) {
      std::fill_n(total(k) + output, width, 0);
      std::fill_n(partial(k) + output, width, 0);
    }
    for_each_block([&](int64_t step, int64_t b, int n_steps) {
      const int32_t* const rows = on_grid(step, b) + output;
      for (int64_t first = begin; first < end; first += 32) {
        const int now = static_cast<int>(std::min<int64_t>(32, end - first));
        const Block block = read(storage, spikes, e_, {step, b, first, n_steps, now});
        const uint32_t counted = kept_.word(b, first / 32);
        for (int i = 0; i < now; ++i) {
          const uint32_t bits = block.words[i];
          if (bits == 0 || (counted >> i & 1u) == 0) continue;
          if (wide_) {
            kernels_.add_where_wide(total(first + i) + output, rows, step_pitch(), bits, width);
            continue;
          }
          int& count = counts[first + i - begin];
          if (count + std::popcount(bits) > most_addends) {
            kernels_.flush(total(first + i) + output, partial(first + i) + output, width);
            count = 0;
          }
          count += std::popcount(bits);
          kernels_.add_where(partial(first + i) + output, rows, step_pitch(), bits, width);
        }
      }
    });
    for (int64_t k = begin; k < end; ++k) kernels_.flush(total(k) + output, partial(k) + output, width);
  }

  void add_bias(int64_t output, int width) {
    std::fill_n(total(spec_.n_inputs) + output, width, 0);
    for_each_block([&](int64_t step, int64_t b, int n_steps) {
      kernels_.add_where_wide(total(spec_.n_inputs) + output, on_grid(step, b) + output, step_pitch(), lowest(n_steps),
                              width);
    });
  }

  void write() {
    share(spec_.n_outputs, [&](int64_t n) {
      const double scale =
          is_finite(n) ? model::wide_power_of_two(grid()[n]) : std::numeric_limits<double>::quiet_NaN();
      const auto of_kept = static_cast<double>(kept_.scale());
      for (int64_t k = 0; k < spec_.n_inputs; ++k)
        write_gradient(op_.weight_gradient, n * spec_.n_inputs + k,
                       is_connected(op_.mask, spec_, n, k) ? gradient(k, n, scale, of_kept) : 0.0f, op_.add);
      if (op_.bias_gradient) write_gradient(op_.bias_gradient, n, gradient(spec_.n_inputs, n, scale, 1), op_.add);
    });
  }
  float gradient(int64_t k, int64_t n, double scale, double factor) const {
    return static_cast<float>(static_cast<double>(total(k)[n]) * scale * factor);
  }

  // 32 steps, or the last ones, of an active batch row.
  template <class F>
  void for_each_block(F f) const {
    for (int64_t step = 0; step < e_.n_steps; step += 32)
      for (int64_t b = 0; b < active_; ++b) f(step, b, static_cast<int>(std::min<int64_t>(32, e_.n_steps - step)));
  }
  template <class F>
  void share(int64_t count, F f) const {
    launcher_.for_each_range(count, wants_threads(op_), [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) f(item);
    });
  }

  const float* gradients(int64_t t, int64_t b) const {
    return row_of<const float>(op_.grad_output, t, b, spec_.n_outputs);
  }
  int64_t step_pitch() const { return e_.batch * pitch_; }
  int32_t* on_grid(int64_t t, int64_t b) const {
    return static_cast<int32_t*>(op_.grad_on_grid.data) + (t * e_.batch + b) * pitch_;
  }
  int32_t* partial(int64_t k) const { return static_cast<int32_t*>(op_.partial.data) + k * pitch_; }
  int64_t* total(int64_t k) const { return static_cast<int64_t*>(op_.total.data) + k * pitch_; }
  uint32_t* largest() const { return static_cast<uint32_t*>(op_.gradient_grid.data); }
  int32_t* grid() const { return static_cast<int32_t*>(op_.gradient_grid.data) + pitch_; }
  bool is_finite(int64_t n) const { return largest()[n] < 0x7F800000u; }

  const SynapseWeightGradient& op_;
  host::Launcher& launcher_;
  const int64_t active_;
  const SynapseSpec& spec_ = op_.synapse->spec();
  const Extents& e_ = op_.extents;
  const host::SynapseKernels& kernels_ = SYNFIRE_SELECT_LEVEL(synapse_kernels);
  const KeptInputs<float> kept_{op_.kept, e_};
  const int64_t pitch_ = spec_.table_pitch();
  const bool wide_ = spec_.gradient_bits == 32;
};

}  // namespace

bool wants_threads(const PrepareSynapse& op) {
  return op.synapse->spec().n_weights() >= 1 << 16;
}
bool wants_threads(const SynapseForward& op) {
  return is_long(op.extents, op.synapse->spec().n_outputs);
}
bool wants_threads(const SynapseWeightGradient& op) {
  return is_long(op.extents, op.synapse->spec().n_outputs);
}
bool wants_threads(const SynapseInputGradient& op) {
  return is_long(op.extents, op.synapse->spec().n_outputs);
}

void run(const PrepareSynapse& op, host::Launcher& launcher) {
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

void run(const SynapseForward& op, host::Launcher& launcher) {
  const SynapseSpec& spec = op.synapse->spec();
  if (spec.is_exact()) return run_exact(op, launcher);
  if (spec.dtype == SYNFIRE_DTYPE_F64) return run_chains<double>(op, launcher);
  run_chains<float>(op, launcher);
}

void run(const SynapseWeightGradient& op, host::Launcher& launcher) {
  const SynapseSpec& spec = op.synapse->spec();
  if (spec.is_exact()) return ExactGradient(op, launcher).run();
  if (spec.dtype == SYNFIRE_DTYPE_F64) return run_chains<double>(op, launcher);
  run_chains<float>(op, launcher);
}

void run(const SynapseInputGradient& op, host::Launcher& launcher) {
  if (op.synapse->spec().has_grid()) return run_exact(op, launcher);
  run_chains(op, launcher);
}

}  // namespace synfire::operations

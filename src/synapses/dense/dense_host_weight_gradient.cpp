// Gradients of the weights and biases of synapses on processors.
#include "dense_host_parts.hpp"

namespace synfire::operations {
namespace {

// ---- gradients of weights, in the fixed order -----------------------------------------------------------------------

template <class R>
void write_gradient(const View& to, int64_t at, R gradient, bool add) {
  R& held = static_cast<R*>(to.data)[at];
  held = add ? held + gradient : gradient;
}

constexpr int gradient_outputs = 32;  // that share what is read of the inputs

template <class R>
void sum_biases(const DenseWeightGradient& op, int64_t active) {
  const DenseSpec& spec = op.synapse->spec();
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
struct ChainInputs {
  R values[chain_length][product_tile];
};

template <class R>
void sum_weights(const DenseWeightGradient& op, int64_t active, int64_t first_output, int64_t first_input,
                 ChainInputs<R>& chain) {
  const DenseSpec& spec = op.synapse->spec();
  const int64_t n_rows = op.extents.n_steps * active;
  const KeptInputs<R> kept(op.kept, op.extents);
  const Numbers<R> input(op.input, op.extents, spec.input == InputKind::spikes, kept);
  const int n_inputs = static_cast<int>(std::min<int64_t>(product_tile, spec.n_inputs - first_input)),
            n_outputs = static_cast<int>(std::min<int64_t>(gradient_outputs, spec.n_outputs - first_output)),
            width = static_cast<int>(DenseSpec::padded(n_inputs));
  const R* rows[chain_length];
  for (int l = 0; l < chain_length; ++l) {
    std::fill_n(chain.values[l], product_tile, R(0));
    rows[l] = chain.values[l];
  }
  for (int at = 0; at < n_outputs; at += chain_rows) {
    const int now = std::min(chain_rows, n_outputs - at);
    ChainSums<R> sums(now, width);
    R coefficients[chain_rows][chain_length];
    for (int64_t m = 0; m < n_rows; m += chain_length) {
      const int length = static_cast<int>(std::min<int64_t>(chain_length, n_rows - m));
      for (int l = 0; l < length; ++l) {
        const int64_t t = (m + l) / active, b = (m + l) % active;
        input.read(t, b, first_input, n_inputs, chain.values[l]);
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

int64_t chain_items(const DenseWeightGradient& op) {
  const DenseSpec& spec = op.synapse->spec();
  return pieces(spec.n_outputs, gradient_outputs) * pieces(spec.n_inputs, product_tile);
}

template <class R>
void run_chains(const DenseWeightGradient& op, host::Launcher& launcher) {
  const DenseSpec& spec = op.synapse->spec();
  const int64_t active = active_rows(op);
  const int64_t n_tiles = pieces(spec.n_inputs, product_tile);
  launcher.for_each_placed_range(chain_items(op), wants_threads(op), [&](int64_t begin, int64_t end, int64_t place) {
    auto& chain = *place_of<ChainInputs<R>>(op.host_places, place, sizeof(ChainInputs<R>));
    for (int64_t item = begin; item < end; ++item)
      sum_weights<R>(op, active, item / n_tiles * gradient_outputs, item % n_tiles * product_tile, chain);
  });
  if (op.bias_gradient) sum_biases<R>(op, active);
}

// ---- exact gradients of weights -------------------------------------------------------------------------------------

class ExactGradient {
 public:
  ExactGradient(const DenseWeightGradient& op, host::Launcher& launcher)
      : op_(op), launcher_(launcher), active_(active_rows(op)) {}

  void run() {
    find_grids();
    put_on_grid();
    add();
    write();
  }

 private:
  static constexpr int columns = 256;  // of outputs, and inputs, that an item of the third step has

  // The largest magnitude of each output, and the grid that it needs. If the largest is not finite, the output's
  // magnitudes must not be added up: they could overflow.
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

  const DenseWeightGradient& op_;
  host::Launcher& launcher_;
  const int64_t active_;
  const DenseSpec& spec_ = op_.synapse->spec();
  const Extents& e_ = op_.extents;
  const host::SynapseKernels& kernels_ = SYNFIRE_SELECT_LEVEL(synapse_kernels);
  const KeptInputs<float> kept_{op_.kept, e_};
  const int64_t pitch_ = spec_.table_pitch();
  const bool wide_ = spec_.gradient_bits == 32;
};

}  // namespace

View host_places_of(const Device& device, const DenseWeightGradient& op) {
  const DenseSpec& spec = op.synapse->spec();
  if (spec.is_exact()) return {};
  const bool wide = spec.dtype == SYNFIRE_DTYPE_F64;
  return places_for(device, chain_items(op), wants_threads(op),
                    wide ? sizeof(ChainInputs<double>) : sizeof(ChainInputs<float>));
}

void run(const DenseWeightGradient& op, host::Launcher& launcher) {
  const DenseSpec& spec = op.synapse->spec();
  if (spec.is_exact()) return ExactGradient(op, launcher).run();
  if (spec.dtype == SYNFIRE_DTYPE_F64) return run_chains<double>(op, launcher);
  run_chains<float>(op, launcher);
}

}  // namespace synfire::operations

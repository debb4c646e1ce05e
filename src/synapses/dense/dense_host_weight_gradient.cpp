// Gradients of the weights and biases of synapses on processors.
#include "dense_host_parts.hpp"

namespace synfire::operations {
namespace {

template <class R>
void write_gradient(const View& to, int64_t at, R gradient, bool add) {
  R& held = static_cast<R*>(to.data)[at];
  held = add ? held + gradient : gradient;
}

constexpr int gradient_outputs = 32;  // that share what is read of the inputs

int64_t tiles_of_gradient(const DenseWeightGradient& op) {
  const DenseSpec& spec = op.synapse->spec();
  return pieces(spec.n_outputs, gradient_outputs) * pieces(spec.n_inputs, product_tile);
}

// ---- in the fixed order, in f64 -------------------------------------------------------------------------------------

void sum_biases(const DenseWeightGradient& op, int64_t active) {
  const DenseSpec& spec = op.synapse->spec();
  const int64_t n_rows = op.extents.n_steps * active;
  for (int64_t n = 0; n < spec.n_outputs; ++n) {
    double total = 0, block = 0, chain = 0;
    for (int64_t m = 0; m < n_rows; ++m) {
      chain += row_of<const double>(op.grad_output, m / active, m % active, spec.n_outputs)[n];
      if ((m + 1) % chain_length != 0 && m + 1 < n_rows) continue;
      block += chain;
      chain = 0;
      if ((m + 1) % block_length != 0 && m + 1 < n_rows) continue;
      total += block;
      block = 0;
    }
    write_gradient(op.bias_gradient, n, total, op.add);
  }
}

struct ChainInputs {
  double values[chain_length][product_tile];
};

void sum_weights(const DenseWeightGradient& op, int64_t active, int64_t first_output, int64_t first_input,
                 ChainInputs& chain) {
  const DenseSpec& spec = op.synapse->spec();
  const int64_t n_rows = op.extents.n_steps * active;
  const KeptInputs<double> kept(op.kept, op.extents);
  const Numbers<double> input(op.input, op.extents, spec.input == InputKind::spikes, kept);
  const int n_inputs = static_cast<int>(std::min<int64_t>(product_tile, spec.n_inputs - first_input)),
            n_outputs = static_cast<int>(std::min<int64_t>(gradient_outputs, spec.n_outputs - first_output)),
            width = static_cast<int>(DenseSpec::padded(n_inputs));
  const double* rows[chain_length];
  for (int l = 0; l < chain_length; ++l) {
    std::fill_n(chain.values[l], product_tile, 0.0);
    rows[l] = chain.values[l];
  }
  for (int at = 0; at < n_outputs; at += chain_rows) {
    const int now = std::min(chain_rows, n_outputs - at);
    ChainSums<double> sums(now, width);
    double coefficients[chain_rows][chain_length];
    for (int64_t m = 0; m < n_rows; m += chain_length) {
      const int length = static_cast<int>(std::min<int64_t>(chain_length, n_rows - m));
      for (int l = 0; l < length; ++l) {
        const int64_t t = (m + l) / active, b = (m + l) % active;
        input.read(t, b, first_input, n_inputs, chain.values[l]);
        const double* const gradients = row_of<const double>(op.grad_output, t, b, spec.n_outputs) + first_output + at;
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
                       connected ? totals[i] * kept.scale() : 0.0, op.add);
      }
    }
  }
}

void run_chains(const DenseWeightGradient& op, host::Launcher& launcher) {
  const DenseSpec& spec = op.synapse->spec();
  const int64_t active = active_rows(op);
  const int64_t n_tiles = pieces(spec.n_inputs, product_tile);
  launcher.for_each_placed_range(
      tiles_of_gradient(op), wants_threads(op), [&](int64_t begin, int64_t end, int64_t place) {
        auto& chain = *place_of<ChainInputs>(op.host_places, place, sizeof(ChainInputs));
        for (int64_t item = begin; item < end; ++item)
          sum_weights(op, active, item / n_tiles * gradient_outputs, item % n_tiles * product_tile, chain);
      });
  if (op.bias_gradient) sum_biases(op, active);
}

// ---- sums of integers -----------------------------------------------------------------------------------------------

// Spikes and values share this: the largest magnitude of each output, and dL/dy on its grid. If the largest is not
// finite, the output's magnitudes must not be added up: they could overflow.
class IntegerGradient {
 public:
  IntegerGradient(const DenseWeightGradient& op, host::Launcher& launcher)
      : op_(op), launcher_(launcher), active_(active_rows(op)) {}

 protected:
  void find_largest() {
    share(pieces(spec_.n_outputs, product_tile), [&](int64_t item) {
      const int64_t first = item * product_tile, count = std::min<int64_t>(product_tile, spec_.n_outputs - first);
      std::fill_n(largest() + first, count, 0u);
      for (int64_t t = 0; t < e_.n_steps; ++t)
        for (int64_t b = 0; b < active_; ++b) kernels_.largest(largest() + first, gradients(t, b) + first, count);
    });
  }
  void find_grids() {
    for (int64_t n = 0; n < pitch_; ++n)
      grid()[n] = n < spec_.n_outputs ? model::grid_of_sum(largest()[n], most_) : model::grid_of_zeros;
  }
  // The rows that count, one after the other.
  void put_on_grid() {
    share(n_rows(), [&](int64_t m) {
      int32_t* const to = on_grid(m);
      kernels_.put_on_grid(to, gradients(m / active_, m % active_), grid(), spec_.n_outputs);
      std::fill(to + spec_.n_outputs, to + pitch_, 0);
    });
  }

  template <class F>
  void share(int64_t count, F f) const {
    launcher_.for_each_range(count, wants_threads(op_), [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) f(item);
    });
  }

  int64_t n_rows() const { return e_.n_steps * active_; }
  const float* gradients(int64_t t, int64_t b) const {
    return row_of<const float>(op_.grad_output, t, b, spec_.n_outputs);
  }
  int32_t* on_grid(int64_t m) const { return static_cast<int32_t*>(op_.grad_on_grid.data) + m * pitch_; }
  uint32_t* largest() const { return static_cast<uint32_t*>(op_.largest.data); }
  int32_t* grid() const { return static_cast<int32_t*>(op_.gradient_grid.data); }
  bool is_finite(int64_t n) const { return model::is_finite_magnitude(largest()[n]); }

  const DenseWeightGradient& op_;
  host::Launcher& launcher_;
  const int64_t active_;
  const DenseSpec& spec_ = op_.synapse->spec();
  const Extents& e_ = op_.extents;
  const host::SynapseKernels& kernels_ = SYNFIRE_SELECT_LEVEL(synapse_kernels);
  const KeptInputs<float> kept_{op_.kept, e_};
  const int64_t pitch_ = spec_.table_pitch();
  const bool wide_ = spec_.gradient_bits == 32;
  const uint32_t most_ = wide_ ? model::largest_on_grid_32 : model::largest_on_grid_24;
};

// ---- of spikes ------------------------------------------------------------------------------------------------------

class SpikeGradient : IntegerGradient {
 public:
  using IntegerGradient::IntegerGradient;

  void run() {
    if (does(op_.entry, SumEntry::maxima)) find_largest();
    if (does(op_.entry, SumEntry::sums)) {
      find_grids();
      put_on_grid();
      add();
    }
    if (does(op_.entry, SumEntry::finish)) write();
  }

 private:
  static constexpr int columns = 256;  // of outputs, and inputs, that an item of the third step has

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
      if (!few_) std::fill_n(total(k) + output, width, 0);
      std::fill_n(partial(k) + output, width, 0);
    }
    for_each_block([&](int64_t step, int64_t b, int n_steps) {
      const int32_t* const rows = on_grid(step * active_ + b) + output;
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
    if (few_) return;
    for (int64_t k = begin; k < end; ++k) kernels_.flush(total(k) + output, partial(k) + output, width);
  }

  void add_bias(int64_t output, int width) {
    std::fill_n(total(spec_.n_inputs) + output, width, 0);
    for_each_block([&](int64_t step, int64_t b, int n_steps) {
      kernels_.add_where_wide(total(spec_.n_inputs) + output, on_grid(step * active_ + b) + output, step_pitch(),
                              lowest(n_steps), width);
    });
  }

  void write() {
    const int64_t n_tiles = pieces(spec_.n_outputs, sum_tile);
    const auto of_kept = static_cast<double>(kept_.scale());
    share(pieces(spec_.n_inputs, columns) * n_tiles, [&](int64_t item) {
      const int64_t output = item % n_tiles * sum_tile, input = item / n_tiles * columns;
      double scales[sum_tile];
      for (int i = 0; i < sum_tile; ++i) scales[i] = output + i < spec_.n_outputs ? scale_of(output + i) : 0.0;
      for (int64_t k = input; k < std::min(input + columns, spec_.n_inputs); k += sum_tile)
        write_tile(output, k, scales, of_kept);
      if (input != 0 || !op_.bias_gradient) return;
      for (int64_t n = output; n < std::min(output + sum_tile, spec_.n_outputs); ++n)
        write_gradient(op_.bias_gradient, n,
                       static_cast<float>(static_cast<double>(total(spec_.n_inputs)[n]) * scales[n - output]), op_.add);
    });
  }
  double scale_of(int64_t n) const {
    return is_finite(n) ? model::wide_power_of_two(model::grid_of_sum(largest()[n], most_))
                        : std::numeric_limits<double>::quiet_NaN();
  }
  // The sums lie by inputs and gradients by outputs, so that a tile changes from one order to the other.
  void write_tile(int64_t output, int64_t input, const double* scales, double factor) {
    const int n_outputs = static_cast<int>(std::min<int64_t>(sum_tile, spec_.n_outputs - output)),
              n_inputs = static_cast<int>(std::min<int64_t>(sum_tile, spec_.n_inputs - input));
    float gradients[sum_tile][sum_tile];
    if (few_)
      kernels_.scale_few(gradients, partial(input) + output, pitch_, scales, factor, n_inputs);
    else
      kernels_.scale_sums(gradients, total(input) + output, pitch_, scales, factor, n_inputs);
    for (int i = 0; i < n_outputs; ++i)
      for (int k = 0; k < n_inputs; ++k)
        write_gradient(op_.weight_gradient, (output + i) * spec_.n_inputs + input + k,
                       is_connected(op_.mask, spec_, output + i, input + k) ? gradients[k][i] : 0.0f, op_.add);
  }

  template <class F>
  void for_each_block(F f) const {
    for (int64_t step = 0; step < e_.n_steps; step += 32)
      for (int64_t b = 0; b < active_; ++b) f(step, b, static_cast<int>(std::min<int64_t>(32, e_.n_steps - step)));
  }
  int64_t step_pitch() const { return active_ * pitch_; }
  int32_t* partial(int64_t k) const { return static_cast<int32_t*>(op_.partial.data) + k * pitch_; }
  int64_t* total(int64_t k) const { return static_cast<int64_t*>(op_.total.data) + k * pitch_; }

  // So few that sums of 32 bits hold them, which nobody else needs.
  const bool few_ = !wide_ && op_.entry == SumEntry::all && n_rows() <= most_addends;
};

// ---- of values ------------------------------------------------------------------------------------------------------

// dL/dy on 32 bits times inputs on 24 bits. The sums are made in f64, for which dL/dy is divided into its high and low
// 16 bits: f64 holds the sums of the products of this many rows.
constexpr int64_t rows_of_sums = 8192;
constexpr int rows_at_once = host::split_length;
constexpr int gradient_groups = gradient_outputs / chain_rows;

struct ValueSums {
  double high[gradient_groups][chain_rows][product_tile], low[gradient_groups][chain_rows][product_tile];
};

class ValueGradient : IntegerGradient {
 public:
  using IntegerGradient::IntegerGradient;

  void run() {
    if (does(op_.entry, SumEntry::maxima)) {
      find_largest();
      find_largest_inputs();
    }
    if (does(op_.entry, SumEntry::sums)) {
      find_grids();
      for (int64_t k = 0; k < spec_.n_inputs; ++k) input_grid()[k] = grid_of_input(k);
      put_on_grid();
      put_inputs_on_grid();
      add();
      add_biases();
    }
    if (does(op_.entry, SumEntry::finish)) write();
  }

 private:
  void find_largest_inputs() {
    share(pieces(spec_.n_inputs, product_tile), [&](int64_t item) {
      const int64_t first = item * product_tile;
      const int count = static_cast<int>(std::min<int64_t>(product_tile, spec_.n_inputs - first));
      float numbers[product_tile];
      std::fill_n(largest_inputs() + first, count, 0u);
      for (int64_t t = 0; t < e_.n_steps; ++t)
        for (int64_t b = 0; b < active_; ++b) {
          input_.read(t, b, first, count, numbers);
          kernels_.largest(largest_inputs() + first, numbers, count);
        }
    });
  }

  void put_inputs_on_grid() {
    const int64_t pitch = input_pitch();
    share(n_rows(), [&](int64_t m) {
      int32_t* const to = input_on_grid(m);
      float numbers[product_tile];
      for (int64_t first = 0; first < spec_.n_inputs; first += product_tile) {
        const int count = static_cast<int>(std::min<int64_t>(product_tile, spec_.n_inputs - first));
        input_.read(m / active_, m % active_, first, count, numbers);
        kernels_.put_on_grid(to + first, numbers, input_grid() + first, count);
      }
      std::fill(to + spec_.n_inputs, to + pitch, 0);
    });
  }

  void add() {
    const int64_t n_tiles = pieces(spec_.n_inputs, product_tile);
    launcher_.for_each_placed_range(
        tiles_of_gradient(op_), wants_threads(op_), [&](int64_t begin, int64_t end, int64_t place) {
          auto& sums = *place_of<ValueSums>(op_.host_places, place, sizeof(ValueSums));
          for (int64_t item = begin; item < end; ++item)
            add_tile(item / n_tiles * gradient_outputs, item % n_tiles * product_tile, sums);
        });
  }

  void add_tile(int64_t first_output, int64_t first_input, ValueSums& sums) {
    const int n_outputs = static_cast<int>(std::min<int64_t>(gradient_outputs, spec_.n_outputs - first_output)),
              width = static_cast<int>(std::min<int64_t>(product_tile, input_pitch() - first_input));
    for (int i = 0; n_rows() == 0 && i < n_outputs; ++i) {
      std::fill_n(high(first_output + i) + first_input, width, 0);
      std::fill_n(low(first_output + i) + first_input, width, 0);
    }
    const int32_t* rows[rows_at_once];
    double coefficients[2][chain_rows][rows_at_once];
    for (int64_t begin = 0; begin < n_rows(); begin += rows_of_sums) {
      const int64_t end = std::min(begin + rows_of_sums, n_rows());
      std::fill_n(&sums.high[0][0][0], sizeof(ValueSums) / sizeof(double), 0.0);
      for (int64_t first = begin; first < end; first += rows_at_once) {
        const int length = static_cast<int>(std::min<int64_t>(rows_at_once, end - first));
        for (int l = 0; l < length; ++l) rows[l] = input_on_grid(first + l) + first_input;
        for (int at = 0; at < n_outputs; at += chain_rows) {
          const int now = std::min(chain_rows, n_outputs - at);
          for (int l = 0; l < length; ++l)
            for (int r = 0; r < now; ++r) {
              const int32_t gradient = on_grid(first + l)[first_output + at + r];
              coefficients[0][r][l] = gradient >> 16;
              coefficients[1][r][l] = gradient & 0xFFFF;
            }
          const int group = at / chain_rows;
          kernels_.add_split_products(sums.high[group], sums.low[group], rows, coefficients[0], coefficients[1], length,
                                      now, width);
        }
      }
      for (int i = 0; i < n_outputs; ++i)
        keep(first_output + i, first_input, width, sums.high[i / chain_rows][i % chain_rows],
             sums.low[i / chain_rows][i % chain_rows], begin > 0);
    }
  }

  // Writes high * 2^16 + low to the two parts of the totals, or adds it.
  void keep(int64_t n, int64_t first, int width, const double* of_high, const double* of_low, bool add) {
    int64_t* const to_high = high(n) + first;
    int64_t* const to_low = low(n) + first;
    for (int i = 0; i < width; ++i) {
      const auto h = static_cast<int64_t>(of_high[i]), l = static_cast<int64_t>(of_low[i]);
      const int64_t below = (h & 0xFFFF) * 0x10000 + l;
      to_high[i] = (add ? to_high[i] : 0) + (h >> 16) + model::high_part(below);
      to_low[i] = (add ? to_low[i] : 0) + model::low_part(below);
    }
  }

  void add_biases() {
    std::fill_n(bias_totals(), spec_.n_outputs, 0);
    if (!op_.bias_gradient) return;
    share(pieces(spec_.n_outputs, product_tile), [&](int64_t item) {
      const int64_t first = item * product_tile, end = std::min<int64_t>(first + product_tile, spec_.n_outputs);
      for (int64_t m = 0; m < n_rows(); ++m)
        for (int64_t n = first; n < end; ++n) bias_totals()[n] += on_grid(m)[n];
    });
  }

  void write() {
    const auto factor = static_cast<double>(kept_.scale());
    for (int64_t k = 0; k < spec_.n_inputs; ++k) input_grid()[k] = grid_of_input(k);
    share(spec_.n_outputs, [&](int64_t n) {
      const int32_t grid = model::grid_of_sum(largest()[n], most_);
      constexpr float nan = std::numeric_limits<float>::quiet_NaN();
      const bool finite = is_finite(n);
      const int64_t* const of_high = high(n);
      const int64_t* const of_low = low(n);
      const int32_t* const of_inputs = input_grid();
      const uint32_t* const largest_of = largest_inputs();
      for (int64_t k = 0; k < spec_.n_inputs; ++k) {
        float gradient = 0;
        if (is_connected(op_.mask, spec_, n, k))
          gradient = finite && model::is_finite_magnitude(largest_of[k])
                         ? model::from_parts(of_high[k], of_low[k], grid + of_inputs[k], factor)
                         : nan;
        write_gradient(op_.weight_gradient, n * spec_.n_inputs + k, gradient, op_.add);
      }
      if (op_.bias_gradient)
        write_gradient(op_.bias_gradient, n, finite ? model::from_wide_grid(bias_totals()[n], grid) : nan, op_.add);
    });
  }

  int64_t input_pitch() const { return spec_.rows_pitch(); }
  uint32_t* largest_inputs() const { return largest() + spec_.n_outputs; }
  int32_t* input_grid() const { return grid() + pitch_; }
  int32_t grid_of_input(int64_t k) const { return model::grid_of_sum(largest_inputs()[k], model::largest_on_grid_24); }
  int32_t* input_on_grid(int64_t m) const { return static_cast<int32_t*>(op_.input_on_grid.data) + m * input_pitch(); }
  int64_t* high(int64_t n) const { return static_cast<int64_t*>(op_.total.data) + n * input_pitch(); }
  int64_t* low(int64_t n) const { return high(spec_.n_outputs + n); }
  int64_t* bias_totals() const { return high(2 * spec_.n_outputs); }

  const Numbers<float> input_{op_.input, e_, false, kept_};
};

}  // namespace

View host_places_of(const Device& device, const DenseWeightGradient& op) {
  const DenseSpec& spec = op.synapse->spec();
  if (spec.is_exact()) return {};
  return places_for(device, tiles_of_gradient(op), wants_threads(op),
                    spec.has_values() ? sizeof(ValueSums) : sizeof(ChainInputs));
}

void run(const DenseWeightGradient& op, host::Launcher& launcher) {
  const DenseSpec& spec = op.synapse->spec();
  if (spec.is_exact()) return SpikeGradient(op, launcher).run();
  if (spec.has_values()) return ValueGradient(op, launcher).run();
  run_chains(op, launcher);
}

}  // namespace synfire::operations

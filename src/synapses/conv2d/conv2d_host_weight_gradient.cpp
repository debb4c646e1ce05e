// Gradients of the weights and biases of convolutions on processors. In f32 they are sums of integers over all places
// of the active rows; in f64 sums in the fixed order, whose terms are ordered by step, by active row, and by place.
#include "conv2d_host_parts.hpp"

namespace synfire::operations {
namespace {

void write_gradient(const View& to, int64_t at, auto gradient, bool add) {
  auto& held = static_cast<decltype(gradient)*>(to.data)[at];
  held = add ? held + gradient : gradient;
}

// Outputs that share what is read of the inputs, and tiles of the loops that add spikes.
constexpr int gradient_outputs = 32, tile_outputs = 128, tile_channels = 32, depthwise_channels = 256;

// The places of the active rows: place m is place m mod P of image m / P.
class Places {
 public:
  explicit Places(const Conv2dWeightGradient& op)
      : op_(op), active_(active_rows(op)), n_places_(op.synapse->map().places()) {}

  int64_t active() const { return active_; }
  int64_t n_images() const { return op_.extents.n_steps * active_; }
  int64_t count() const { return n_images() * n_places_; }
  int64_t step(int64_t image) const { return image / active_; }
  int64_t row(int64_t image) const { return image % active_; }
  // dL/dy of all channels.
  template <class R>
  const R* gradients(int64_t m) const {
    const Conv2dShape& map = op_.synapse->map();
    const int64_t image = m / n_places_;
    return row_of<const R>(op_.grad_output, step(image), row(image), map.n_outputs()) +
           m % n_places_ * map.output_channels;
  }

 private:
  const Conv2dWeightGradient& op_;
  const int64_t active_, n_places_;
};

// An item of gradients that are made of patches: outputs and terms of a group.
struct PatchTile {
  int64_t group, output, term;
  int n_outputs, n_terms;
};
class PatchTiles {
 public:
  explicit PatchTiles(const Conv2dShape& shape)
      : shape_(shape),
        across_(pieces(shape.n_terms(), product_tile)),
        of_group_(pieces(shape.group_outputs(), gradient_outputs) * across_) {}
  int64_t count() const { return of_group_ * shape_.groups; }
  PatchTile at(int64_t item) const {
    const int64_t group = item / of_group_, output = item % of_group_ / across_ * gradient_outputs,
                  term = item % across_ * product_tile;
    return {group, group * shape_.group_outputs() + output, term,
            static_cast<int>(std::min<int64_t>(gradient_outputs, shape_.group_outputs() - output)),
            static_cast<int>(std::min<int64_t>(product_tile, shape_.n_terms() - term))};
  }

 private:
  const Conv2dShape& shape_;
  const int64_t across_, of_group_;
};

// ---- in the fixed order, in f64 -------------------------------------------------------------------------------------

struct ChainInputs {
  double values[chain_length][product_tile];
};

void sum_tile(const Conv2dWeightGradient& op, const Places& places, const ImageNumbers<double>& input,
              const PatchTile& tile, ChainInputs& chain) {
  const Conv2dShape& shape = op.synapse->map();
  const int width = static_cast<int>(DenseSpec::padded(tile.n_terms));
  const double* rows[chain_length];
  for (int l = 0; l < chain_length; ++l) {
    std::fill_n(chain.values[l], product_tile, 0.0);
    rows[l] = chain.values[l];
  }
  for (int at = 0; at < tile.n_outputs; at += chain_rows) {
    const int now = std::min(chain_rows, tile.n_outputs - at);
    ChainSums<double> sums(now, width);
    double coefficients[chain_rows][chain_length];
    for (int64_t m = 0; m < places.count(); m += chain_length) {
      const int length = static_cast<int>(std::min<int64_t>(chain_length, places.count() - m));
      for (int l = 0; l < length; ++l) {
        const int64_t image = (m + l) / shape.places();
        input.read_terms(places.step(image), places.row(image), (m + l) % shape.places(), tile.group, tile.term,
                         tile.n_terms, chain.values[l]);
        const double* const gradients = places.gradients<double>(m + l) + tile.output + at;
        for (int r = 0; r < now; ++r) coefficients[r][l] = gradients[r];
      }
      sums.add(rows, coefficients, length);
    }
    for (int r = 0; r < now; ++r) {
      const double* const totals = sums.total(r);
      const int64_t n = tile.output + at + r;
      for (int i = 0; i < tile.n_terms; ++i)
        write_gradient(op.weight_gradient, n * shape.n_terms() + tile.term + i,
                       is_connected(op.mask, op.synapse->spec(), n, tile.term + i)
                           ? totals[i] * factor_of<double>(op.scale) * op.synapse->weight_factor()
                           : 0.0,
                       op.add);
    }
  }
}

void run_chains(const Conv2dWeightGradient& op, host::Launcher& launcher) {
  const Places places(op);
  const ImageNumbers<double> input(op);
  const PatchTiles tiles(op.synapse->map());
  launcher.for_each_placed_range(tiles.count(), wants_threads(op), [&](int64_t begin, int64_t end, int64_t place) {
    auto& chain = *place_of<ChainInputs>(op.host_places, place, sizeof(ChainInputs));
    for (int64_t item = begin; item < end; ++item) sum_tile(op, places, input, tiles.at(item), chain);
  });
  if (!op.bias_gradient) return;
  launcher.for_each_range(op.synapse->map().output_channels, wants_threads(op), [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      OrderedSum<double> sum;
      for (int64_t m = 0; m < places.count(); ++m) sum.add(places.gradients<double>(m)[o], 1.0);
      write_gradient(op.bias_gradient, o, sum.total(), op.add);
    }
  });
}

// ---- sums of integers -----------------------------------------------------------------------------------------------

// Spikes, counts and values share this: the largest magnitude of each output channel, and dL/dy on its grid. If the
// largest is not finite, the channel's magnitudes must not be added up: they could overflow.
class IntegerGradient {
 public:
  IntegerGradient(const Conv2dWeightGradient& op, host::Launcher& launcher)
      : op_(op), launcher_(launcher), places_(op) {}

 protected:
  void find_largest() {
    const int64_t n_outputs = shape_.output_channels;
    share(pieces(n_outputs, product_tile), [&](int64_t item) {
      const int64_t first = item * product_tile, count = std::min<int64_t>(product_tile, n_outputs - first);
      std::fill_n(largest() + first, count, 0u);
      for (int64_t m = 0; m < places_.count(); ++m)
        kernels_.largest(largest() + first, places_.gradients<float>(m) + first, count);
    });
  }
  // The places that count, one after the other.
  void put_on_grid() {
    auto* const grids = static_cast<int32_t*>(op_.gradient_grid.data);
    for (int64_t n = 0; n < shape_.output_channels; ++n) grids[n] = grid_of_output(n);
    share(places_.count(), [&](int64_t m) {
      int32_t* const to = on_grid(m);
      kernels_.put_on_grid(to, places_.gradients<float>(m), grids, shape_.output_channels);
      std::fill(to + shape_.output_channels, to + pitch_, 0);
    });
  }

  template <class F>
  void share(int64_t count, F f) const {
    launcher_.for_each_range(count, wants_threads(op_), [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) f(item);
    });
  }
  void clear(int64_t count) const {
    constexpr int64_t at_once = 4096;
    share(pieces(count, at_once), [&](int64_t item) {
      std::fill_n(static_cast<int64_t*>(op_.total.data) + item * at_once, std::min(at_once, count - item * at_once), 0);
    });
  }
  // Calls f(image, step, row) for the active images.
  template <class F>
  void for_each_image(F f) const {
    for (int64_t image = 0; image < places_.n_images(); ++image) f(image, places_.step(image), places_.row(image));
  }

  int32_t* on_grid(int64_t m) const { return static_cast<int32_t*>(op_.grad_on_grid.data) + m * pitch_; }
  uint32_t* largest() const { return static_cast<uint32_t*>(op_.largest.data); }
  bool is_connected(int64_t n, int64_t k) const { return operations::is_connected(op_.mask, spec_.matrix, n, k); }
  double factor_of_kept() const { return static_cast<double>(factor_of<float>(op_.scale)); }
  bool is_finite(int64_t n) const { return model::is_finite_magnitude(largest()[n]); }
  int32_t grid_of_output(int64_t n) const { return model::grid_of_sum(largest()[n], most_); }

  const Conv2dWeightGradient& op_;
  host::Launcher& launcher_;
  const Places places_;
  const Conv2dSpec& spec_ = op_.synapse->conv();
  const Conv2dShape& shape_ = spec_.shape;
  const host::SynapseKernels& kernels_ = SYNFIRE_SELECT_LEVEL(synapse_kernels);
  const host::Conv2dKernels& conv_kernels_ = SYNFIRE_SELECT_LEVEL(conv2d_kernels);
  const int64_t pitch_ = spec_.matrix.table_pitch();
  const uint32_t most_ = spec_.matrix.gradient_bits == 32 ? model::largest_on_grid_32 : model::largest_on_grid_24;
};

// ---- of spikes and counts -------------------------------------------------------------------------------------------

class CountGradient : IntegerGradient {
 public:
  using IntegerGradient::IntegerGradient;

  void run() {
    if (does(op_.entry, SumEntry::maxima)) find_largest();
    if (does(op_.entry, SumEntry::sums)) {
      put_on_grid();
      clear((shape_.n_terms() + 1) * pitch_);
      const SpikeRows<Conv2dWeightGradient> spikes(op_, launcher_);
      if (shape_.is_depthwise())
        add_channels(spikes);
      else
        add_terms(spikes);
      if (op_.bias_gradient) add_bias();
    }
    if (does(op_.entry, SumEntry::finish)) write();
  }

 private:
  // An item has a tap, channels of a group, and outputs of it.
  void add_terms(const SpikeRows<Conv2dWeightGradient>& spikes) {
    const int64_t channels = shape_.group_inputs(), outputs = shape_.group_outputs();
    const int64_t channel_tiles = pieces(channels, tile_channels), output_tiles = pieces(outputs, tile_outputs),
                  of_group = channel_tiles * output_tiles;
    share(shape_.n_taps() * shape_.groups * of_group, [&](int64_t item) {
      const int64_t tap = item / (shape_.groups * of_group), group = item / of_group % shape_.groups,
                    channel = item % channel_tiles * tile_channels,
                    output = item % of_group / channel_tiles * tile_outputs;
      add_tile(spikes, static_cast<int32_t>(tap), group, channel,
               static_cast<int>(std::min<int64_t>(tile_channels, channels - channel)), group * outputs + output,
               static_cast<int>(std::min<int64_t>(tile_outputs, outputs - output)));
    });
  }

  // Calls f(place of the input, index of the place of the output) for the places whose tap meets an input.
  template <class F>
  void for_each_meeting(int32_t tap, int64_t image, F f) const {
    const int32_t ky = tap / shape_.x.kernel, kx = tap % shape_.x.kernel;
    for (int32_t oy = 0; oy < shape_.y.n_outputs; ++oy) {
      const int32_t iy = shape_.y.input_of(oy, ky);
      if (iy < 0) continue;
      for (int32_t ox = 0; ox < shape_.x.n_outputs; ++ox) {
        const int32_t ix = shape_.x.input_of(ox, kx);
        if (ix >= 0)
          f(int64_t{iy} * shape_.x.n_inputs + ix, image * shape_.places() + int64_t{oy} * shape_.x.n_outputs + ox);
      }
    }
  }

  void add_tile(const SpikeRows<Conv2dWeightGradient>& spikes, int32_t tap, int64_t group, int64_t channel,
                int n_channels, int64_t output, int n_outputs) {
    const bool counts = spec_.elements == Elements::counts;
    const int64_t term = tap * shape_.group_inputs() + channel, first = group * shape_.group_inputs() + channel;
    for_each_image([&](int64_t image, int64_t t, int64_t b) {
      const uint32_t* const words = counts ? nullptr : spikes.row(t, b);
      const uint8_t* const of_counts = counts ? count_row(op_, t, b) : nullptr;
      for_each_meeting(tap, image, [&](int64_t from, int64_t m) {
        const int32_t* const row = on_grid(m) + output;
        const int64_t at = from * shape_.channels + first;
        if (counts) {
          for (int i = 0; i < n_channels; ++i)
            if (of_counts[at + i] != 0)
              conv_kernels_.add_row(total(term + i) + output, row, bounded(of_counts[at + i], spec_.count_bound),
                                    n_outputs);
          return;
        }
        for (uint32_t bits = bits_at(words, at, n_channels); bits != 0; bits &= bits - 1)
          conv_kernels_.add_row(total(term + lowest_bit(bits)) + output, row, 1, n_outputs);
      });
    });
  }

  // An item has a tap, and channels.
  void add_channels(const SpikeRows<Conv2dWeightGradient>& spikes) {
    const bool counts = spec_.elements == Elements::counts;
    const int64_t n_tiles = pieces(shape_.channels, depthwise_channels);
    share(shape_.n_taps() * n_tiles, [&](int64_t item) {
      const auto tap = static_cast<int32_t>(item / n_tiles);
      const int64_t first = item % n_tiles * depthwise_channels;
      const int count = static_cast<int>(std::min<int64_t>(depthwise_channels, shape_.channels - first));
      for_each_image([&](int64_t image, int64_t t, int64_t b) {
        uint8_t times[depthwise_channels];
        for_each_meeting(tap, image, [&](int64_t from, int64_t m) {
          const int64_t at = from * shape_.channels + first;
          if (counts) {
            const uint8_t* const row = count_row(op_, t, b) + at;
            for (int i = 0; i < count; ++i) times[i] = static_cast<uint8_t>(bounded(row[i], spec_.count_bound));
          } else {
            unpack(spikes.row(t, b), at, count, times);
          }
          conv_kernels_.add_counted(total(tap) + first, on_grid(m) + first, times, count);
        });
      });
    });
  }

  void add_bias() {
    int64_t* const to = total(shape_.n_terms());
    share(pieces(shape_.output_channels, tile_outputs), [&](int64_t item) {
      const int64_t first = item * tile_outputs;
      const int count = static_cast<int>(std::min<int64_t>(tile_outputs, shape_.output_channels - first));
      for (int64_t m = 0; m < places_.count(); ++m) conv_kernels_.add_row(to + first, on_grid(m) + first, 1, count);
    });
  }

  void write() {
    const int64_t n_terms = shape_.n_terms();
    const double factor = op_.synapse->weight_factor(), of_kept = factor_of_kept();
    share(shape_.output_channels, [&](int64_t n) {
      const auto gradient = [&](int64_t k, double first, double second) {
        return is_finite(n) ? model::from_wide_grid(total(k)[n], grid_of_output(n), first, second)
                            : std::numeric_limits<float>::quiet_NaN();
      };
      for (int64_t k = 0; k < n_terms; ++k)
        write_gradient(op_.weight_gradient, n * n_terms + k, is_connected(n, k) ? gradient(k, of_kept, factor) : 0.0f,
                       op_.add);
      if (op_.bias_gradient) write_gradient(op_.bias_gradient, n, gradient(n_terms, 1, 1), op_.add);
    });
  }

  int64_t* total(int64_t k) const { return static_cast<int64_t*>(op_.total.data) + k * pitch_; }
};

// ---- of values ------------------------------------------------------------------------------------------------------

// dL/dy on 32 bits times inputs on 24 bits. The sums are made in f64, for which dL/dy is divided into its high and low
// 16 bits: f64 holds the sums of the products of this many places.
constexpr int64_t places_of_sums = 8192;
constexpr int places_at_once = host::split_length;
constexpr int output_groups = gradient_outputs / chain_rows;

struct ValueSums {
  double high[output_groups][chain_rows][product_tile], low[output_groups][chain_rows][product_tile];
  int32_t terms[places_at_once][product_tile];
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
      put_on_grid();
      put_inputs_on_grid();
      clear(shape_.output_channels * (2 * spec_.matrix.rows_pitch() + 1));
      add();
      if (op_.bias_gradient) add_biases();
    }
    if (does(op_.entry, SumEntry::finish)) write();
  }

 private:
  void find_largest_inputs() {
    const int64_t channels = shape_.channels;
    share(pieces(channels, product_tile), [&](int64_t item) {
      const int64_t first = item * product_tile;
      const int count = static_cast<int>(std::min<int64_t>(product_tile, channels - first));
      float numbers[product_tile];
      std::fill_n(largest_inputs() + first, count, 0u);
      for_each_image([&](int64_t, int64_t t, int64_t b) {
        for (int64_t place = 0; place < shape_.input_places(); ++place) {
          input_.read(t, b, place * channels + first, count, numbers);
          kernels_.largest(largest_inputs() + first, numbers, count);
        }
      });
    });
  }

  void put_inputs_on_grid() {
    const int64_t channels = shape_.channels;
    share(places_.n_images() * shape_.input_places(), [&](int64_t item) {
      const int64_t image = item / shape_.input_places(), place = item % shape_.input_places();
      float numbers[product_tile];
      int32_t grids[product_tile];
      for (int64_t first = 0; first < channels; first += product_tile) {
        const int count = static_cast<int>(std::min<int64_t>(product_tile, channels - first));
        for (int i = 0; i < count; ++i) grids[i] = grid_of_channel(first + i);
        input_.read(places_.step(image), places_.row(image), place * channels + first, count, numbers);
        kernels_.put_on_grid(input_on_grid(image) + place * channels + first, numbers, grids, count);
      }
    });
  }

  void add() {
    const PatchTiles tiles(shape_);
    launcher_.for_each_placed_range(tiles.count(), wants_threads(op_), [&](int64_t begin, int64_t end, int64_t place) {
      auto& sums = *place_of<ValueSums>(op_.host_places, place, sizeof(ValueSums));
      for (int64_t item = begin; item < end; ++item) add_tile(tiles.at(item), sums);
    });
  }

  void add_tile(const PatchTile& tile, ValueSums& sums) {
    const int width = static_cast<int>(DenseSpec::padded(tile.n_terms));
    const int32_t* rows[places_at_once];
    for (int l = 0; l < places_at_once; ++l) {
      std::fill_n(sums.terms[l], product_tile, 0);
      rows[l] = sums.terms[l];
    }
    double coefficients[2][chain_rows][places_at_once];
    for (int64_t begin = 0; begin < places_.count(); begin += places_of_sums) {
      const int64_t end = std::min(begin + places_of_sums, places_.count());
      std::fill_n(&sums.high[0][0][0], gradient_outputs * product_tile, 0.0);
      std::fill_n(&sums.low[0][0][0], gradient_outputs * product_tile, 0.0);
      for (int64_t first = begin; first < end; first += places_at_once) {
        const int length = static_cast<int>(std::min<int64_t>(places_at_once, end - first));
        for (int l = 0; l < length; ++l) read_terms(tile, first + l, sums.terms[l]);
        for (int at = 0; at < tile.n_outputs; at += chain_rows) {
          const int now = std::min(chain_rows, tile.n_outputs - at);
          for (int r = 0; r < now; ++r)
            for (int l = 0; l < length; ++l) {
              const int32_t gradient = on_grid(first + l)[tile.output + at + r];
              coefficients[0][r][l] = static_cast<double>(gradient >> 16);
              coefficients[1][r][l] = static_cast<double>(gradient & 0xFFFF);
            }
          kernels_.add_split_products(sums.high[at / chain_rows], sums.low[at / chain_rows], rows, coefficients[0],
                                      coefficients[1], length, now, width);
        }
      }
      for (int i = 0; i < tile.n_outputs; ++i)
        for (int k = 0; k < tile.n_terms; ++k) {
          const auto upper = static_cast<int64_t>(sums.high[i / chain_rows][i % chain_rows][k]),
                     lower = static_cast<int64_t>(sums.low[i / chain_rows][i % chain_rows][k]);
          // upper * 2^16 + lower
          high(tile.output + i)[tile.term + k] += upper >> 16;
          const int64_t rest = ((upper & 0xFFFF) << 16) + lower;
          high(tile.output + i)[tile.term + k] += model::high_part(rest);
          low(tile.output + i)[tile.term + k] += model::low_part(rest);
        }
    }
  }

  void read_terms(const PatchTile& tile, int64_t m, int32_t* to) const {
    const int32_t* const inputs = input_on_grid(m / shape_.places());
    for_each_run(shape_, m % shape_.places(), tile.group, tile.term, tile.n_terms, [&](int at, int now, int64_t from) {
      if (from < 0)
        std::fill_n(to + at, now, 0);
      else
        std::copy_n(inputs + from, now, to + at);
    });
  }

  void add_biases() {
    share(shape_.output_channels, [&](int64_t n) {
      int64_t sum = 0;
      for (int64_t m = 0; m < places_.count(); ++m) sum += on_grid(m)[n];
      bias_totals()[n] = sum;
    });
  }

  void write() {
    const int64_t n_terms = shape_.n_terms(), channels = shape_.group_inputs();
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    share(shape_.output_channels, [&](int64_t n) {
      const int32_t grid = grid_of_output(n);
      const int64_t first_channel = n / shape_.group_outputs() * channels;
      for (int64_t k = 0; k < n_terms; ++k) {
        const int64_t channel = first_channel + k % channels;
        const float gradient =
            !is_connected(n, k) ? 0.0f
            : is_finite(n) && model::is_finite_magnitude(largest_inputs()[channel])
                ? model::from_parts(high(n)[k], low(n)[k], grid + grid_of_channel(channel), factor_of_kept())
                : nan;
        write_gradient(op_.weight_gradient, n * n_terms + k, gradient, op_.add);
      }
      if (op_.bias_gradient)
        write_gradient(op_.bias_gradient, n, is_finite(n) ? model::from_wide_grid(bias_totals()[n], grid) : nan,
                       op_.add);
    });
  }

  uint32_t* largest_inputs() const { return largest() + shape_.output_channels; }
  int32_t grid_of_channel(int64_t c) const {
    return model::grid_of_sum(largest_inputs()[c], model::largest_on_grid_24);
  }
  int32_t* input_on_grid(int64_t image) const {
    return static_cast<int32_t*>(op_.input_on_grid.data) + image * op_.extents.n_neurons;
  }
  int64_t* high(int64_t n) const { return static_cast<int64_t*>(op_.total.data) + n * spec_.matrix.rows_pitch(); }
  int64_t* low(int64_t n) const { return high(shape_.output_channels + n); }
  int64_t* bias_totals() const { return high(2 * shape_.output_channels); }

  const ImageNumbers<float> input_{op_};
};

}  // namespace

bool wants_threads(const Conv2dWeightGradient& op) {
  return is_long(op);
}

View host_places_of(const Device& device, const Conv2dWeightGradient& op) {
  const Conv2dSpec& spec = op.synapse->conv();
  if (spec.is_exact()) return {};
  return places_for(device, PatchTiles(spec.shape).count(), wants_threads(op),
                    spec.has_values() ? sizeof(ValueSums) : sizeof(ChainInputs));
}

void run(const Conv2dWeightGradient& op, host::Launcher& launcher) {
  const Conv2dSpec& spec = op.synapse->conv();
  if (spec.is_exact()) return CountGradient(op, launcher).run();
  if (spec.has_values()) return ValueGradient(op, launcher).run();
  run_chains(op, launcher);
}

}  // namespace synfire::operations

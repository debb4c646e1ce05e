// Convolutions on processors: outputs, and gradients of inputs. Results do not depend on how the work is shared:
// integers have no order, and one thread makes each sum of numbers in the fixed order.
#include "conv2d_host_parts.hpp"

#include <new>
#include <type_traits>

namespace synfire::operations {
namespace {

// ---- exact products -------------------------------------------------------------------------------------------------

// Sums of a tile of outputs become elements of the output.
void finish(const Conv2dProduct& op, float* output, const double* sums, int64_t first, int count) {
  const host::SynapseKernels& kernels = SYNFIRE_SELECT_LEVEL(synapse_kernels);
  const int32_t* const grid = static_cast<const int32_t*>(op.grid.data) + first;
  const auto* const own_bias = static_cast<const float*>(op.bias.data);
  if (op.scale)
    kernels.finish_kept(output + first, sums, own_bias ? own_bias + first : nullptr, grid, factor_of<float>(op.scale),
                        count);
  else
    kernels.finish(output + first, sums, static_cast<const int32_t*>(op.bias_on_grid.data) + first, grid, count);
}

// The terms of an output place that are not 0, and how often each counts.
struct Listed {
  int32_t *terms, *times;  // null times: once
  int count = 0;
};

template <class Spikes>
void list_spikes(const Conv2dShape& shape, const Spikes& words, int64_t place, int64_t group, Listed& listed) {
  const int64_t channels = shape.group_inputs();
  for_each_input_place(shape, place, [&](int64_t tap, int64_t from) {
    const int64_t first = from * shape.channels + group * channels;
    for (int64_t c = 0; c < channels; c += 32) {
      const auto k = static_cast<int32_t>(tap * channels + c);
      for (uint32_t bits = bits_at(words, first + c, static_cast<int>(std::min<int64_t>(32, channels - c))); bits != 0;
           bits &= bits - 1)
        listed.terms[listed.count++] = k + lowest_bit(bits);
    }
  });
}

void list_counts(const Conv2dShape& shape, const uint8_t* counts, int32_t bound, int64_t place, int64_t group,
                 Listed& listed) {
  const int64_t channels = shape.group_inputs();
  for_each_input_place(shape, place, [&](int64_t tap, int64_t from) {
    const uint8_t* const row = counts + from * shape.channels + group * channels;
    for (int64_t c = 0; c < channels; ++c) {
      if (row[c] == 0) continue;
      listed.terms[listed.count] = static_cast<int32_t>(tap * channels + c);
      listed.times[listed.count++] = bounded(row[c], bound);
    }
  });
}

void add_tiles(const Conv2dProduct& op, const Listed& listed, int64_t group, float* output) {
  const Conv2dShape& shape = op.synapse->map();
  const DenseSpec& matrix = op.synapse->spec();
  const int64_t begin = group * shape.group_outputs(), end = begin + shape.group_outputs();
  for (int64_t first = begin; first < end; first += product_tile) {
    const int count = static_cast<int>(std::min<int64_t>(product_tile, end - first)),
              width = static_cast<int>(DenseSpec::padded(count));
    double sums[product_tile];
    std::fill_n(sums, width, 0.0);
    const int32_t* const table = static_cast<const int32_t*>(op.table.data) + first;
    if (listed.times)
      SYNFIRE_SELECT_LEVEL(conv2d_kernels)
          .add_listed(sums, table, matrix.table_pitch(), listed.terms, listed.times, listed.count, width);
    else
      SYNFIRE_SELECT_LEVEL(synapse_kernels)
          .add_listed(sums, table, matrix.table_pitch(), listed.terms, listed.count, width);
    finish(op, output, sums, first, count);
  }
}

void add_depthwise(const Conv2dProduct& op, const uint32_t* words, const uint8_t* counts, int64_t place,
                   float* output) {
  const Conv2dShape& shape = op.synapse->map();
  const int32_t bound = op.synapse->conv().count_bound;
  for (int64_t first = 0; first < shape.channels; first += product_tile) {
    const int count = static_cast<int>(std::min<int64_t>(product_tile, shape.channels - first));
    int64_t sums[product_tile] = {};
    uint8_t times[product_tile];
    for_each_input_place(shape, place, [&](int64_t tap, int64_t from) {
      if (words) {
        unpack(words, from * shape.channels + first, count, times);
      } else {
        const uint8_t* const row = counts + from * shape.channels + first;
        for (int i = 0; i < count; ++i) times[i] = static_cast<uint8_t>(bounded(row[i], bound));
      }
      SYNFIRE_SELECT_LEVEL(conv2d_kernels)
          .add_counted(sums,
                       static_cast<const int32_t*>(op.table.data) + tap * op.synapse->spec().table_pitch() + first,
                       times, count);
    });
    double exact[product_tile];
    for (int i = 0; i < count; ++i) exact[i] = static_cast<double>(sums[i]);
    finish(op, output, exact, first, count);
  }
}

uint64_t bytes_of_lists(const Conv2dSpec& spec) {
  if (spec.shape.is_depthwise()) return 0;
  return static_cast<uint64_t>(spec.shape.n_terms()) * (spec.elements == Elements::counts ? 2 : 1) * sizeof(int32_t);
}

// An item is a row of places of an image.
int64_t n_items(const Conv2dProduct& op) {
  return op.extents.n_steps * op.extents.batch * op.synapse->map().y.n_outputs;
}

void run_exact(const Conv2dProduct& op, host::Launcher& launcher) {
  const Conv2dSpec& spec = op.synapse->conv();
  const Conv2dShape& shape = spec.shape;
  const Extents& e = op.extents;
  const bool counts = spec.elements == Elements::counts, depthwise = shape.is_depthwise();
  const int64_t active = active_rows(op), across = shape.x.n_outputs;
  const SpikeRows<Conv2dProduct> spikes(op, launcher);
  const uint64_t bytes = bytes_of_lists(spec);
  launcher.for_each_placed_range(
      n_items(op), wants_threads(op), [&](int64_t begin, int64_t end, int64_t place_of_item) {
        Listed listed = {};
        if (!depthwise) {
          listed.terms = place_of<int32_t>(op.host_places, place_of_item, bytes);
          listed.times = counts ? listed.terms + shape.n_terms() : nullptr;
        }
        for (int64_t item = begin; item < end; ++item) {
          const int64_t image = item / shape.y.n_outputs, t = image / e.batch, b = image % e.batch,
                        first = item % shape.y.n_outputs * across;
          float* output = row_of<float>(op.output, t, b, shape.n_outputs()) + first * shape.output_channels;
          if (b >= active) {
            std::fill_n(output, across * shape.output_channels, 0.0f);
            continue;
          }
          const uint32_t* const words = counts ? nullptr : spikes.row(t, b);
          const uint8_t* const of_counts = counts ? count_row(op, t, b) : nullptr;
          for (int64_t place = first; place < first + across; ++place, output += shape.output_channels) {
            if (depthwise) {
              add_depthwise(op, words, of_counts, place, output);
              continue;
            }
            for (int64_t group = 0; group < shape.groups; ++group) {
              listed.count = 0;
              if (counts)
                list_counts(shape, of_counts, spec.count_bound, place, group, listed);
              else
                list_spikes(shape, words, place, group, listed);
              add_tiles(op, listed, group, output);
            }
          }
        }
      });
}

// ---- products in the fixed order ------------------------------------------------------------------------------------

template <class R>
void run_chains(const Conv2dProduct& op, host::Launcher& launcher) {
  const Conv2dShape& shape = op.synapse->map();
  const DenseSpec& matrix = op.synapse->spec();
  const Extents& e = op.extents;
  const int64_t active = active_rows(op), n_places = shape.places();
  clear_inactive<R>(op.output, e, active, shape.n_outputs());
  const ImageNumbers<R> input(op);
  const Extents places = {e.n_steps * active * n_places, 1, shape.n_terms()};
  const auto scale = static_cast<double>(factor_of<R>(op.scale));
  for (int64_t group = 0; group < shape.groups; ++group) {
    const int64_t first = group * shape.group_outputs();
    const R* const bias = op.bias ? static_cast<const R*>(op.bias.data) + first : nullptr;
    multiply<R>(
        launcher, wants_threads(op), {places, 1, shape.n_terms(), shape.group_outputs(), matrix.table_pitch()},
        static_cast<const R*>(op.table.data) + first,
        [&](int64_t m, int64_t, int64_t k, int count, R* to) {
          const int64_t image = m / n_places;
          input.read_terms(image / active, image % active, m % n_places, group, k, count, to);
        },
        [&](int64_t m, int64_t, int64_t n, int count, const double* totals) {
          const int64_t image = m / n_places;
          R* const to = row_of<R>(op.output, image / active, image % active, shape.n_outputs()) +
                        m % n_places * shape.output_channels + first + n;
          for (int i = 0; i < count; ++i)
            to[i] = static_cast<R>(!bias      ? totals[i] * scale
                                   : op.scale ? model::fma(totals[i], scale, static_cast<double>(bias[n + i]))
                                              : totals[i] + static_cast<double>(bias[n + i]));
        });
  }
}

// ---- gradients of inputs --------------------------------------------------------------------------------------------

// Writes the gradient of input i of an image; of a dropped one it is +0.
template <class R>
void write_gradient(const Conv2dInputGradient& op, const KeptInputs<R>& kept, int64_t b, int64_t i, R* image,
                    R gradient) {
  if (!kept.has(b, i)) gradient = R(0);
  image[i] = op.add ? image[i] + gradient : gradient;
}

// An item is a row of places of an active image: its index, and the index of the row.
template <class F>
void for_each_row_of_inputs(const Conv2dInputGradient& op, host::Launcher& launcher, int64_t active, F f) {
  const int64_t height = op.synapse->map().y.n_inputs;
  launcher.for_each_placed_range(op.extents.n_steps * active * height, wants_threads(op),
                                 [&](int64_t begin, int64_t end, int64_t place) {
                                   for (int64_t item = begin; item < end; ++item)
                                     f(item / height, static_cast<int32_t>(item % height), place);
                                 });
}

void run_chains(const Conv2dInputGradient& op, host::Launcher& launcher) {
  const Conv2dShape& shape = op.synapse->map();
  const DenseSpec& matrix = op.synapse->spec();
  const int64_t active = active_rows(op), channels = shape.group_inputs(), outputs = shape.group_outputs(),
                n_terms = shape.n_taps() * outputs;
  const KeptInputs<double> kept(op.kept, op.extents);
  if (!op.add) clear_inactive<double>(op.grad_input, op.extents, active, shape.n_inputs());
  for_each_row_of_inputs(op, launcher, active, [&](int64_t image, int32_t iy, int64_t) {
    const auto* const gradients =
        row_of<const double>(op.grad_output, image / active, image % active, shape.n_outputs());
    auto* const to = row_of<double>(op.grad_input, image / active, image % active, shape.n_inputs());
    const double* rows[chain_length];
    double coefficients[chain_rows][chain_length];
    for (int64_t first_channel = 0; first_channel < channels; first_channel += product_tile)
      for (int64_t group = 0; group < shape.groups; ++group)
        for (int32_t ix = 0; ix < shape.x.n_inputs; ix += chain_rows) {
          const int count = static_cast<int>(std::min<int64_t>(product_tile, channels - first_channel)),
                    now = std::min(chain_rows, shape.x.n_inputs - ix);
          ChainSums<double> sums(now, static_cast<int>(DenseSpec::padded(count)));
          for (int64_t l = 0; l < n_terms; l += chain_length) {
            const int length = static_cast<int>(std::min<int64_t>(chain_length, n_terms - l));
            for (int i = 0; i < length; ++i) {
              const int64_t tap = (l + i) / outputs, o = group * outputs + (l + i) % outputs;
              rows[i] =
                  static_cast<const double*>(op.rows.data) + o * matrix.rows_pitch() + tap * channels + first_channel;
              for (int r = 0; r < now; ++r) {
                const int64_t place = shape.output_place(iy, ix + r, static_cast<int32_t>(tap / shape.x.kernel),
                                                         static_cast<int32_t>(tap % shape.x.kernel));
                coefficients[r][i] = place < 0 ? 0.0 : gradients[place * shape.output_channels + o];
              }
            }
            sums.add(rows, coefficients, length);
          }
          for (int r = 0; r < now; ++r) {
            const double* const totals = sums.total(r);
            const int64_t at =
                (int64_t{iy} * shape.x.n_inputs + ix + r) * shape.channels + group * channels + first_channel;
            for (int i = 0; i < count; ++i)
              write_gradient(op, kept, image % active, at + i, to, totals[i] * kept.scale());
          }
        }
  });
}

// ---- exact gradients of inputs --------------------------------------------------------------------------------------

// The grid of each image, and dL/dy times the outputs' grids on it.
void put_gradients_on_grid(const Conv2dInputGradient& op, int64_t active, host::Launcher& launcher) {
  const host::SynapseKernels& kernels = SYNFIRE_SELECT_LEVEL(synapse_kernels);
  const Conv2dSpec& spec = op.synapse->conv();
  const int64_t channels = spec.shape.output_channels, n_places = spec.shape.places(),
                n_outputs = spec.shape.n_outputs();
  const auto* const grid = static_cast<const int32_t*>(op.grid.data);
  launcher.for_each_range(op.extents.n_steps * active, wants_threads(op), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float* const gradients = row_of<const float>(op.grad_output, row / active, row % active, n_outputs);
      int32_t& row_grid = static_cast<int32_t*>(op.row_grid.data)[row];
      row_grid = conv2d_not_finite;
      if (!std::all_of(gradients, gradients + n_outputs,
                       [](float g) { return model::is_finite_magnitude(model::magnitude_bits(g)); }))
        continue;
      int64_t largest = model::magnitude_of(0.0f, 0);
      for (int64_t place = 0; place < n_places; ++place)
        largest = std::max(largest, kernels.largest_product(gradients + place * channels, grid, channels));
      row_grid = model::grid_of_magnitude(largest, spec.input_gradient_bits);
      int32_t* const to = static_cast<int32_t*>(op.grad_on_grid.data) + row * n_outputs;
      for (int64_t place = 0; place < n_places; ++place)
        kernels.put_products_on_grid(to + place * channels, gradients + place * channels, grid, row_grid, channels);
    }
  });
}

// Sums of products of up to four places and a tile of channels: integers of up to 24 bits in one part; of 32 bits in
// two, the products with the high and with the low 16 bits. Too large for a stack.
class PlaceSums {
 public:
  PlaceSums(bool wide, int n_places, int width) : wide_(wide), n_places_(n_places), width_(width) {
    for (int r = 0; r < n_places; ++r) {
      std::fill_n(sums_[r], width, 0);
      std::fill_n(low_sums_[r], width, 0);
    }
    clear();
  }
  // Adds row * h[r] for each place r.
  void add(const int32_t* row, const int32_t* h) {
    rows_[length_] = row;
    for (int r = 0; r < n_places_; ++r) {
      if (wide_) {
        high_parts_[r][length_] = static_cast<double>(h[r] >> 16);
        low_parts_[r][length_] = static_cast<double>(h[r] & 0xFFFF);
      } else {
        coefficients_[r][length_] = static_cast<double>(h[r]);
      }
    }
    if (++length_ == (wide_ ? host::split_length : host::most_products)) flush();
  }
  void finish() {
    flush();
    if (wide_) carry();
  }
  float gradient(int r, int i, int32_t grid, double factor) const {
    if (!wide_) return model::from_wide_grid(sums_[r][i], grid, factor);
    return model::from_parts(sums_[r][i] >> 16, ((sums_[r][i] & 0xFFFF) << 16) + low_sums_[r][i], grid, factor);
  }

 private:
  // f64 holds the sums of this many products of 16 and 24 bits.
  static constexpr int most_split = 8192;

  void flush() {
    if (length_ == 0) return;
    if (wide_) {
      kernels_.add_split_products(high_, low_, rows_, high_parts_, low_parts_, length_, n_places_, width_);
      n_held_ += length_;
      if (n_held_ > most_split - host::split_length) carry();
    } else {
      kernels_.add_products(sums_, rows_, coefficients_, length_, n_places_, width_);
    }
    length_ = 0;
  }
  void carry() {
    for (int r = 0; r < n_places_; ++r)
      for (int i = 0; i < width_; ++i) {
        sums_[r][i] += static_cast<int64_t>(high_[r][i]);
        low_sums_[r][i] += static_cast<int64_t>(low_[r][i]);
      }
    clear();
  }
  void clear() {
    n_held_ = 0;
    for (int r = 0; r < n_places_; ++r) {
      std::fill_n(high_[r], width_, 0.0);
      std::fill_n(low_[r], width_, 0.0);
    }
  }

  const host::SynapseKernels& kernels_ = SYNFIRE_SELECT_LEVEL(synapse_kernels);
  const bool wide_;
  const int n_places_, width_;
  int length_ = 0, n_held_ = 0;
  const int32_t* rows_[host::most_products];
  double coefficients_[chain_rows][host::most_products];
  double high_parts_[chain_rows][host::split_length], low_parts_[chain_rows][host::split_length];
  double high_[chain_rows][product_tile], low_[chain_rows][product_tile];
  int64_t sums_[chain_rows][product_tile], low_sums_[chain_rows][product_tile];
};

// Places whose taps meet outputs together: every stride-th.
struct FourPlaces {
  int32_t ix[chain_rows];
  int count;
};
template <class F>
void for_each_four(const WindowAxis& axis, F f) {
  const int32_t step = axis.transposed ? 1 : std::min(axis.stride, axis.n_inputs);
  for (int32_t phase = 0; phase < step; ++phase)
    for (int32_t first = phase; first < axis.n_inputs; first += chain_rows * step) {
      FourPlaces four = {{}, 0};
      for (int r = 0; r < chain_rows && first + r * step < axis.n_inputs; ++r) four.ix[four.count++] = first + r * step;
      f(four);
    }
}

void add_row_of_inputs(const Conv2dInputGradient& op, const KeptInputs<float>& kept, int64_t image, int64_t active,
                       int32_t iy, void* memory) {
  const Conv2dShape& shape = op.synapse->map();
  const int64_t channels = shape.group_inputs(), outputs = shape.group_outputs(),
                pitch = op.synapse->spec().rows_pitch();
  const int32_t* const on_grid = static_cast<const int32_t*>(op.grad_on_grid.data) + image * shape.n_outputs();
  const int32_t* const weights = static_cast<const int32_t*>(op.rows.data);
  const int32_t grid = static_cast<const int32_t*>(op.row_grid.data)[image];
  float* const to = row_of<float>(op.grad_input, image / active, image % active, shape.n_inputs());
  const int64_t first_of_row = int64_t{iy} * shape.x.n_inputs * shape.channels;
  const auto factor = static_cast<double>(kept.scale());
  for (int64_t group = 0; group < shape.groups; ++group)
    for (int64_t first = 0; first < channels; first += product_tile)
      for_each_four(shape.x, [&](const FourPlaces& four) {
        const int count = static_cast<int>(std::min<int64_t>(product_tile, channels - first));
        PlaceSums& sums = *new (memory) PlaceSums(op.synapse->conv().input_gradient_bits == 32, four.count,
                                                  static_cast<int>(DenseSpec::padded(count)));
        for (int32_t tap = 0; tap < shape.n_taps(); ++tap) {
          const int32_t* from[chain_rows];
          bool any = false;
          for (int r = 0; r < four.count; ++r) {
            const int64_t place = shape.output_place(iy, four.ix[r], tap / shape.x.kernel, tap % shape.x.kernel);
            from[r] = place < 0 ? nullptr : on_grid + place * shape.output_channels + group * outputs;
            any = any || from[r];
          }
          if (!any) continue;
          for (int64_t o = 0; o < outputs; ++o) {
            int32_t h[chain_rows];
            for (int r = 0; r < four.count; ++r) h[r] = from[r] ? from[r][o] : 0;
            sums.add(weights + (group * outputs + o) * pitch + tap * channels + first, h);
          }
        }
        sums.finish();
        for (int r = 0; r < four.count; ++r)
          for (int i = 0; i < count; ++i)
            write_gradient(op, kept, image % active,
                           first_of_row + four.ix[r] * shape.channels + group * channels + first + i, to,
                           sums.gradient(r, i, grid, factor));
      });
}

// Sums of 64 bits are enough: of numbers on 24 bits for every kernel that is allowed, of 32 bits for these.
constexpr int32_t most_wide_taps = 512;
bool adds_channels(const Conv2dSpec& spec) {
  return spec.shape.is_depthwise() && (spec.input_gradient_bits != 32 || spec.shape.n_taps() <= most_wide_taps);
}

static_assert(std::is_trivially_destructible_v<PlaceSums>);
uint64_t bytes_of_place(const Conv2dSpec& spec) {
  if (!spec.matrix.has_grid()) return 0;
  if (!adds_channels(spec)) return sizeof(PlaceSums);
  return static_cast<uint64_t>(spec.shape.n_taps()) * product_tile * sizeof(int32_t);
}

// Each channel by itself. `kernels` holds the weights of a tile of channels, by taps.
void add_row_of_channels(const Conv2dInputGradient& op, const KeptInputs<float>& kept, int64_t image, int64_t active,
                         int32_t iy, int32_t* kernels) {
  const Conv2dShape& shape = op.synapse->map();
  const int64_t pitch = op.synapse->spec().rows_pitch();
  const int32_t* const on_grid = static_cast<const int32_t*>(op.grad_on_grid.data) + image * shape.n_outputs();
  const int32_t grid = static_cast<const int32_t*>(op.row_grid.data)[image];
  float* const to = row_of<float>(op.grad_input, image / active, image % active, shape.n_inputs());
  for (int64_t first = 0; first < shape.channels; first += product_tile) {
    const int count = static_cast<int>(std::min<int64_t>(product_tile, shape.channels - first));
    for (int32_t tap = 0; tap < shape.n_taps(); ++tap)
      for (int i = 0; i < count; ++i)
        kernels[tap * product_tile + i] = static_cast<const int32_t*>(op.rows.data)[(first + i) * pitch + tap];
    for (int32_t ix = 0; ix < shape.x.n_inputs; ++ix) {
      const int64_t place = int64_t{iy} * shape.x.n_inputs + ix;
      int64_t sums[product_tile] = {};
      for_each_output_place(shape, place, [&](int64_t tap, int64_t from) {
        SYNFIRE_SELECT_LEVEL(conv2d_kernels)
            .add_products(sums, on_grid + from * shape.channels + first, kernels + tap * product_tile, count);
      });
      for (int i = 0; i < count; ++i)
        write_gradient(op, kept, image % active, place * shape.channels + first + i, to,
                       model::from_wide_grid(sums[i], grid, static_cast<double>(kept.scale())));
    }
  }
}

void run_exact(const Conv2dInputGradient& op, host::Launcher& launcher) {
  const Conv2dSpec& spec = op.synapse->conv();
  const Conv2dShape& shape = spec.shape;
  const int64_t active = active_rows(op), row = int64_t{shape.x.n_inputs} * shape.channels;
  const KeptInputs<float> kept(op.kept, op.extents);
  if (!op.add) clear_inactive<float>(op.grad_input, op.extents, active, shape.n_inputs());
  put_gradients_on_grid(op, active, launcher);
  for_each_row_of_inputs(op, launcher, active, [&](int64_t image, int32_t iy, int64_t place) {
    void* const memory = place_of<char>(op.host_places, place, bytes_of_place(spec));
    if (static_cast<const int32_t*>(op.row_grid.data)[image] == conv2d_not_finite) {
      float* const to = row_of<float>(op.grad_input, image / active, image % active, shape.n_inputs());
      for (int64_t i = iy * row; i < (iy + 1) * row; ++i)
        write_gradient(op, kept, image % active, i, to, std::numeric_limits<float>::quiet_NaN());
    } else if (adds_channels(spec)) {
      add_row_of_channels(op, kept, image, active, iy, static_cast<int32_t*>(memory));
    } else {
      add_row_of_inputs(op, kept, image, active, iy, memory);
    }
  });
}

}  // namespace

bool wants_threads(const Conv2dProduct& op) {
  return is_long(op);
}
bool wants_threads(const Conv2dInputGradient& op) {
  return is_long(op);
}

View host_places_of(const Device& device, const Conv2dProduct& op) {
  if (!op.synapse->conv().is_exact()) return {};
  return places_for(device, n_items(op), wants_threads(op), bytes_of_lists(op.synapse->conv()));
}
View host_places_of(const Device& device, const Conv2dInputGradient& op) {
  const uint64_t bytes = bytes_of_place(op.synapse->conv());
  if (bytes == 0) return {};
  const Extents& e = op.extents;
  return places_for(device, e.n_steps * e.batch * op.synapse->map().y.n_inputs, wants_threads(op), bytes);
}

void run(const Conv2dProduct& op, host::Launcher& launcher) {
  if (op.synapse->conv().is_exact()) return run_exact(op, launcher);
  if (op.synapse->dtype() == SYNFIRE_DTYPE_F64) return run_chains<double>(op, launcher);
  run_chains<float>(op, launcher);
}

void run(const Conv2dInputGradient& op, host::Launcher& launcher) {
  if (op.synapse->spec().has_grid()) return run_exact(op, launcher);
  run_chains(op, launcher);
}

}  // namespace synfire::operations

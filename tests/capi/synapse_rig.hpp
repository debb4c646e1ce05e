// Synapses under test: references of their products, written out here (exact sums by integers of 64 and 128 bits,
// ordered sums by loops), and the calls that run them.
#ifndef SYNFIRE_TESTS_CAPI_SYNAPSE_RIG_HPP
#define SYNFIRE_TESTS_CAPI_SYNAPSE_RIG_HPP

#include <cmath>
#include <limits>
#include <vector>

#include "storage_rig.hpp"

namespace synfire_test {

// ---- The reference --------------------------------------------------------------------------------------------------

// A product: M = T * B rows.
struct Product {
  int64_t n_steps, batch, n_inputs, n_outputs;
  int64_t active = -1;  // batch rows; -1: all

  size_t inputs() const { return static_cast<size_t>(n_inputs); }
  size_t outputs() const { return static_cast<size_t>(n_outputs); }
  size_t rows() const { return static_cast<size_t>(n_steps * batch); }
  size_t rows_per_step() const { return static_cast<size_t>(batch); }
  bool is_active(size_t row) const {
    return active < 0 || static_cast<int64_t>(row % static_cast<size_t>(batch)) < active;
  }
  Shape shape() const { return {n_steps, batch, n_inputs}; }
};
inline std::ostream& operator<<(std::ostream& out, const Product& p) {
  return out << "T " << p.n_steps << " B " << p.batch << " K " << p.n_inputs << " N " << p.n_outputs << " active "
             << p.active;
}

inline int64_t on_grid(double value, int grid) {
  return static_cast<int64_t>(std::nearbyint(std::ldexp(value, -grid)));  // to even; ldexp is exact here
}
// The finest grid, found by trying them all.
inline int grid_of(double magnitude, int64_t bound) {
  int grid = -149;
  while (std::fabs(std::ldexp(magnitude, -grid)) > 4e18 || on_grid(magnitude, grid) > bound) ++grid;
  return grid;
}
inline constexpr int64_t largest_24 = 0x7F7F7F, largest_32 = 0x7FFFFFFF;

struct Weights {
  std::vector<float> weight, bias;  // [N, K], [N]; bias may be empty
};

inline float largest_of(const std::vector<float>& values, size_t first, size_t count) {
  float largest = 0;
  for (size_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(values[first + i]));
  return largest;
}
inline int grid_of_row(const Product& p, const Weights& w, size_t n) {
  const int own = grid_of(largest_of(w.weight, n * p.inputs(), p.inputs()), largest_24);
  return w.bias.empty() ? own : std::max(own, grid_of(std::fabs(w.bias[n]), largest_32));
}

inline std::vector<float> exact_product(const Product& p, const Weights& w, const std::vector<double>& spikes) {
  std::vector<float> y(p.rows() * p.outputs());
  for (size_t n = 0; n < p.outputs(); ++n) {
    const int grid = grid_of_row(p, w, n);
    std::vector<int64_t> q(p.inputs());
    for (size_t k = 0; k < q.size(); ++k) q[k] = on_grid(w.weight[n * p.inputs() + k], grid);
    for (size_t m = 0; m < p.rows(); ++m) {
      if (!p.is_active(m)) continue;
      int64_t sum = w.bias.empty() ? 0 : on_grid(w.bias[n], grid);
      for (size_t k = 0; k < q.size(); ++k) sum += spikes[m * p.inputs() + k] != 0 ? q[k] : 0;
      y[m * p.outputs() + n] = std::ldexp(static_cast<float>(sum), grid);
    }
  }
  return y;
}

// The sum of `count` products in the fixed order; `at(i)` gives the two factors.
template <typename R, typename At>
double ordered_sum(size_t count, At at) {
  double total = 0;
  for (size_t block = 0; block < count; block += 1024) {
    R sum = 0;
    for (size_t chain = block; chain < std::min(block + 1024, count); chain += 64) {
      R link = 0;
      for (size_t i = chain; i < std::min({chain + 64, block + 1024, count}); ++i) {
        const auto [a, b] = at(i);
        link = std::fma(a, b, link);
      }
      sum += link;
    }
    total += static_cast<double>(sum);
  }
  return total;
}

template <typename R>
std::vector<R> ordered_product(const Product& p, const std::vector<R>& weight, const std::vector<R>& bias,
                               const std::vector<double>& x) {
  std::vector<R> y(p.rows() * p.outputs());
  for (size_t m = 0; m < p.rows(); ++m)
    for (size_t n = 0; n < p.outputs() && p.is_active(m); ++n) {
      const double total = ordered_sum<R>(p.inputs(), [&](size_t k) {
        return std::pair(static_cast<R>(x[m * p.inputs() + k]), weight[n * p.inputs() + k]);
      });
      y[m * p.outputs() + n] = static_cast<R>(bias.empty() ? total : total + static_cast<double>(bias[n]));
    }
  return y;
}

template <typename R>
std::vector<R> input_gradient(const Product& p, const std::vector<R>& weight, const std::vector<R>& grad) {
  std::vector<R> dx(p.rows() * p.inputs());
  for (size_t m = 0; m < p.rows(); ++m)
    for (size_t k = 0; k < p.inputs() && p.is_active(m); ++k)
      dx[m * p.inputs() + k] = static_cast<R>(ordered_sum<R>(
          p.outputs(), [&](size_t n) { return std::pair(grad[m * p.outputs() + n], weight[n * p.inputs() + k]); }));
  return dx;
}

// Exactly, in integers of 128 bits; every product with its own scale.
inline std::vector<float> exact_input_gradient(const Product& p, const Weights& w, const std::vector<float>& grad) {
  std::vector<float> dx(p.rows() * p.inputs());
  std::vector<int> grids(p.outputs());
  for (size_t n = 0; n < p.outputs(); ++n) grids[n] = grid_of_row(p, w, n);
  for (size_t m = 0; m < p.rows(); ++m) {
    if (!p.is_active(m)) continue;
    const float* const g = grad.data() + m * p.outputs();
    const bool finite = std::all_of(g, g + p.outputs(), [](float value) { return std::isfinite(value); });
    // f64 holds every float times a power of two; a grid is found by trying them all.
    double largest = 0;
    for (size_t n = 0; n < p.outputs() && finite; ++n)
      largest = std::max(largest, std::fabs(std::ldexp(static_cast<double>(g[n]), grids[n])));
    int row = -340;
    while (std::fabs(std::ldexp(largest, -row)) > 4e18 || on_grid(largest, row) > largest_24) ++row;
    for (size_t k = 0; k < p.inputs(); ++k) {
      int64_t sum = 0;
      for (size_t n = 0; n < p.outputs() && finite; ++n)
        sum += static_cast<int64_t>(on_grid(g[n], row - grids[n])) * on_grid(w.weight[n * p.inputs() + k], grids[n]);
      dx[m * p.inputs() + k] = finite ? static_cast<float>(std::ldexp(static_cast<double>(sum), row))
                                      : std::numeric_limits<float>::quiet_NaN();
    }
  }
  return dx;
}

template <typename R>
struct Gradients {
  std::vector<R> weight, bias;
};

inline Gradients<float> exact_gradients(const Product& p, const std::vector<float>& grad,
                                        const std::vector<double>& spikes, int bits) {
  Gradients<float> got = {std::vector<float>(p.inputs() * p.outputs()), std::vector<float>(p.outputs())};
  for (size_t n = 0; n < p.outputs(); ++n) {
    float largest = 0;
    for (size_t m = 0; m < p.rows(); ++m)
      if (p.is_active(m)) {
        const float magnitude = std::fabs(grad[m * p.outputs() + n]);
        largest = magnitude > largest || std::isnan(magnitude) ? magnitude : largest;
        if (std::isnan(largest)) break;
      }
    const bool finite = std::isfinite(largest);
    const int grid = finite ? grid_of(largest, bits == 24 ? largest_24 : largest_32) : 0;
    std::vector<int64_t> sums(p.inputs() + 1);
    for (size_t m = 0; m < p.rows() && finite; ++m) {
      if (!p.is_active(m)) continue;
      const int64_t g = on_grid(grad[m * p.outputs() + n], grid);
      sums.back() += g;
      for (size_t k = 0; k < p.inputs(); ++k) sums[k] += spikes[m * p.inputs() + k] != 0 ? g : 0;
    }
    const auto number = [&](int64_t sum) {
      return finite ? static_cast<float>(std::ldexp(static_cast<double>(sum), grid))
                    : std::numeric_limits<float>::quiet_NaN();
    };
    for (size_t k = 0; k < p.inputs(); ++k) got.weight[n * p.inputs() + k] = number(sums[k]);
    got.bias[n] = number(sums.back());
  }
  return got;
}

// A sum of one contribution for each row, in f32: on the grid of 32 bits of the largest. NaN, if one is not finite.
inline float sum_of_contributions(const std::vector<float>& contributions) {
  float largest = 0;
  for (const float value : contributions) {
    if (!std::isfinite(value)) return std::numeric_limits<float>::quiet_NaN();
    largest = std::max(largest, std::fabs(value));
  }
  const int grid = grid_of(largest, largest_32);
  int64_t sum = 0;
  for (const float value : contributions) sum += on_grid(value, grid);
  return static_cast<float>(std::ldexp(static_cast<double>(sum), grid));
}

// The largest magnitude in a column of the active rows; a NaN is above all.
inline float largest_in_column(const Product& p, size_t columns, size_t column, auto at) {
  float largest = 0;
  for (size_t m = 0; m < p.rows(); ++m) {
    if (!p.is_active(m)) continue;
    const float magnitude = std::fabs(static_cast<float>(at(m * columns + column)));
    if (!(magnitude <= largest)) largest = magnitude;
    if (std::isnan(largest)) break;
  }
  return largest;
}

__extension__ typedef __int128 Wide;  // NOLINT(modernize-use-using): an extension

// For values: dL/dy is on a grid for each output, values are on a grid of 24 bits for each input.
inline Gradients<float> value_gradients(const Product& p, const std::vector<float>& grad, const std::vector<double>& x,
                                        double scale = 1, int bits = 32) {
  Gradients<float> got = {std::vector<float>(p.inputs() * p.outputs()), std::vector<float>(p.outputs())};
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<std::vector<int64_t>> columns(p.inputs());
  std::vector<int> grids(p.inputs());
  std::vector<bool> finite(p.inputs());
  for (size_t k = 0; k < p.inputs(); ++k) {
    const float largest = largest_in_column(p, p.inputs(), k, [&](size_t i) { return x[i]; });
    finite[k] = std::isfinite(largest);
    if (!finite[k]) continue;
    grids[k] = grid_of(largest, largest_24);
    for (size_t m = 0; m < p.rows(); ++m)
      columns[k].push_back(p.is_active(m) ? on_grid(x[m * p.inputs() + k], grids[k]) : 0);
  }
  for (size_t n = 0; n < p.outputs(); ++n) {
    const float largest = largest_in_column(p, p.outputs(), n, [&](size_t i) { return grad[i]; });
    const int grid = std::isfinite(largest) ? grid_of(largest, bits == 24 ? largest_24 : largest_32) : 0;
    std::vector<int64_t> g(p.rows());
    int64_t bias = 0;
    for (size_t m = 0; m < p.rows() && std::isfinite(largest); ++m) {
      g[m] = p.is_active(m) ? on_grid(grad[m * p.outputs() + n], grid) : 0;
      bias += g[m];
    }
    got.bias[n] = std::isfinite(largest) ? static_cast<float>(std::ldexp(static_cast<double>(bias), grid)) : nan;
    for (size_t k = 0; k < p.inputs(); ++k) {
      Wide sum = 0;
      for (size_t m = 0; m < p.rows() && finite[k]; ++m) sum += static_cast<Wide>(g[m]) * columns[k][m];
      got.weight[n * p.inputs() + k] =
          std::isfinite(largest) && finite[k]
              ? static_cast<float>(std::ldexp(static_cast<double>(sum), grid + grids[k]) * scale)
              : nan;
    }
  }
  return got;
}

template <typename R>
Gradients<R> ordered_gradients(const Product& p, const std::vector<R>& grad, const std::vector<double>& x) {
  std::vector<size_t> rows;
  for (size_t m = 0; m < p.rows(); ++m)
    if (p.is_active(m)) rows.push_back(m);
  Gradients<R> got = {std::vector<R>(p.inputs() * p.outputs()), std::vector<R>(p.outputs())};
  for (size_t n = 0; n < p.outputs(); ++n) {
    for (size_t k = 0; k < p.inputs(); ++k)
      got.weight[n * p.inputs() + k] = static_cast<R>(ordered_sum<R>(rows.size(), [&](size_t i) {
        return std::pair(grad[rows[i] * p.outputs() + n], static_cast<R>(x[rows[i] * p.inputs() + k]));
      }));
    got.bias[n] = static_cast<R>(
        ordered_sum<R>(rows.size(), [&](size_t i) { return std::pair(grad[rows[i] * p.outputs() + n], R(1)); }));
  }
  return got;
}

// ---- The calls ------------------------------------------------------------------------------------------------------

inline Synapse make_synapse(synfire_context context, const synfire_synapse_desc& desc) {
  synfire_synapse synapse = nullptr;
  EXPECT_OK(synfire_synapse_create(context, &desc, &synapse));
  return Synapse(synapse);
}

inline synfire_synapse_desc describe(const Product& p, bool with_bias, int32_t dtype = SYNFIRE_DTYPE_F32,
                                     int32_t kind = SYNFIRE_INPUT_SPIKES) {
  synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
  desc.input_kind = kind;
  desc.n_inputs = p.n_inputs;
  desc.n_outputs = p.n_outputs;
  desc.dtype = dtype;
  desc.bias = with_bias ? 1 : 0;
  return desc;
}

template <typename R>
std::vector<R> read(synfire_synapse synapse, const char* name, size_t count) {
  std::vector<R> values(count);
  EXPECT_OK(synfire_synapse_read(synapse, name, values.data(), count * sizeof(R)));
  return values;
}
template <typename R>
void write(synfire_synapse synapse, const char* name, const std::vector<R>& values) {
  ASSERT_OK(synfire_synapse_write(synapse, name, values.data(), values.size() * sizeof(R)));
}

inline Rows rows_for_input(synfire_context context, int32_t dtype, const Product& p, Placement placement = {}) {
  const auto n_steps = static_cast<size_t>(p.n_steps), batch = static_cast<size_t>(p.batch);
  if (dtype == SYNFIRE_DTYPE_BITS) return Rows(context, dtype, n_steps, batch * p.shape().words_per_row(), placement);
  return Rows(context, dtype, dtype == SYNFIRE_DTYPE_TIME_BITS ? (n_steps + 31) / 32 : n_steps, batch * p.inputs(),
              placement);
}

// Spikes in any format, made from 0 and 1 by the library's own conversion, which has its own tests.
inline Rows spikes_in(synfire_context context, int32_t dtype, const Product& p, const std::vector<double>& spikes,
                      Placement placement = {}) {
  Rows bytes = rows_for_input(context, SYNFIRE_DTYPE_U8, p);
  bytes.put(spikes);
  Rows rows = rows_for_input(context, dtype, p, placement);
  synfire_convert_spikes_desc desc = SYNFIRE_CONVERT_SPIKES_DESC_INIT;
  desc.n_steps = p.n_steps;
  desc.n_neurons = p.n_inputs;
  desc.batch = p.batch;
  desc.source = bytes;
  desc.destination = rows;
  EXPECT_OK(synfire_convert_spikes(context, &desc, nullptr));
  return rows;
}

inline Rows outputs_in(synfire_context context, int32_t dtype, const Product& p, Placement placement = {}) {
  return Rows(context, dtype, static_cast<size_t>(p.n_steps), p.rows_per_step() * p.outputs(), placement);
}

inline std::vector<double> as_doubles(const std::vector<float>& values) {
  return std::vector<double>(values.begin(), values.end());
}

class SynapseTest : public testing::Test {
 protected:
  Buffer active_buffer(const Product& p) {
    if (p.active < 0) return {};
    Buffer buffer = make_buffer(context, SYNFIRE_DTYPE_U32, 1);
    upload(buffer, std::vector<uint32_t>{static_cast<uint32_t>(p.active)});
    return buffer;
  }
  synfire_synapse_forward_desc forward(const Product& p, synfire_buffer input, synfire_buffer output,
                                       synfire_buffer n_active) {
    synfire_synapse_forward_desc desc = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
    desc.n_steps = p.n_steps;
    desc.batch = p.batch;
    desc.input = input;
    desc.output = output;
    desc.n_active = n_active;
    return desc;
  }
  synfire_synapse_backward_desc backward(const Product& p, synfire_buffer grad_output, synfire_buffer input,
                                         synfire_buffer grad_input, synfire_buffer n_active) {
    synfire_synapse_backward_desc desc = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
    desc.n_steps = p.n_steps;
    desc.batch = p.batch;
    desc.grad_output = grad_output;
    desc.input = input;
    desc.grad_input = grad_input;
    desc.n_active = n_active;
    return desc;
  }
  // Both passes in a graph, once.
  void replay_of(synfire_synapse synapse, const synfire_synapse_forward_desc& fd,
                 const synfire_synapse_backward_desc& bd) {
    const Graph graph = make_graph(context);
    EXPECT_OK(synfire_graph_record_synapse_forward(graph, synapse, &fd));
    EXPECT_OK(synfire_graph_record_synapse_backward(graph, synapse, &bd));
    EXPECT_OK(synfire_graph_instantiate(graph));
    replay(graph);
  }
  void replay_of(synfire_layer layer, const synfire_forward_desc& fd, const synfire_backward_desc& bd) {
    const Graph graph = make_graph(context);
    EXPECT_OK(synfire_graph_record_forward(graph, layer, &fd));
    EXPECT_OK(synfire_graph_record_backward(graph, layer, &bd));
    EXPECT_OK(synfire_graph_instantiate(graph));
    replay(graph);
  }

  const Context context = make_context();
};

inline Weights random_weights(const Product& p, bool with_bias, uint64_t seed) {
  Random random(seed);
  Weights w = {random.values<float>(p.inputs() * p.outputs(), -1, 1), {}};
  // Rows on different grids, with some weights far smaller than the largest.
  for (size_t n = 0; n < p.outputs(); ++n) {
    const auto scale = static_cast<float>(std::ldexp(1.0, static_cast<int>(random.whole(-8, 8))));
    for (size_t k = 0; k < p.inputs(); ++k)
      w.weight[n * p.inputs() + k] *= random.whole(0, 9) == 0 ? scale * 1e-4f : scale;
    if (with_bias) w.bias.push_back(static_cast<float>(random.uniform(-1, 1)) * scale);
  }
  return w;
}
inline std::vector<double> random_spikes(const Product& p, double rate, uint64_t seed) {
  Random random(seed);
  std::vector<double> spikes(p.rows() * p.inputs());
  for (double& spike : spikes) spike = random.uniform(0, 1) < rate ? 1 : 0;
  return spikes;
}

inline void set(synfire_synapse synapse, const Weights& w) {
  write(synapse, "weight", w.weight);
  if (!w.bias.empty()) write(synapse, "bias", w.bias);
}

}  // namespace synfire_test

#endif

#include "rounding.hpp"

#include "dense.hpp"

#include <base/host_memory.hpp>

#include <synfire/model/grid.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// |q 2^s - x| / |x|, rounded once: the product and the difference are exact in f64.
double relative_error(float x, model::s32 integer, model::s32 grid) {
  const double exact = static_cast<double>(x);
  return std::fabs(static_cast<double>(integer) * model::wide_power_of_two(grid) - exact) / std::fabs(exact);
}

// A NaN is above every number.
bool is_above(double a, double b) {
  return std::isnan(a) ? !std::isnan(b) : a > b;
}

}  // namespace

void add_output(Rounding& rounding, int64_t output, std::span<const float> weights, float bias, int dropped_bits) {
  float most = 0;
  bool is_finite = std::isfinite(bias);
  for (const float weight : weights) {
    is_finite = is_finite && std::isfinite(weight);
    most = std::max(most, std::fabs(weight));
  }
  const auto n_weights =
      weights.size() - static_cast<size_t>(std::count(weights.begin(), weights.end(), 0.0f));  // -0 too
  rounding.n_weights += n_weights;
  double error = 0, bias_error = 0;
  if (is_finite) {
    const model::s32 grid = model::grid_of_row(most, bias, dropped_bits);
    for (const float weight : weights) {
      if (weight == 0) continue;
      const model::s32 integer = model::on_grid(weight, grid, dropped_bits);
      rounding.n_lost += integer == 0 ? 1 : 0;
      error = std::max(error, relative_error(weight, integer, grid));
    }
    if (bias != 0) bias_error = relative_error(bias, model::on_grid(bias, grid), grid);
  } else {
    error = bias_error = std::numeric_limits<double>::quiet_NaN();
  }
  if (is_above(error, rounding.largest_error)) {
    rounding.largest_error = error;
    rounding.output = output;
  }
  if (is_above(bias_error, rounding.largest_bias_error)) rounding.largest_bias_error = bias_error;
}

std::optional<Rounding> rounding_of_rows(MatrixSynapse& synapse, int64_t first, int64_t count) {
  const DenseSpec& spec = synapse.spec();
  if (!spec.has_grid()) return std::nullopt;
  // Biases of values have no grid.
  const View bias = spec.is_exact() ? synapse.bias() : View{};
  constexpr int64_t most_at_once = 1 << 20;  // weights
  const int64_t rows = std::clamp<int64_t>(most_at_once / spec.n_inputs, 1, count);
  require_host_memory(static_cast<uint64_t>(rows * (spec.n_inputs + 1)) * sizeof(float), Paging::pageable);
  std::vector<float> weights(static_cast<size_t>(rows * spec.n_inputs)), biases(static_cast<size_t>(rows));
  const auto read = [&](std::vector<float>& to, const View& from, int64_t at, int64_t n) {
    synapse.context()->device().download(to.data(), static_cast<const float*>(from.data) + at,
                                         static_cast<uint64_t>(n) * sizeof(float));
  };
  const auto factor = static_cast<float>(synapse.weight_factor());
  Rounding rounding;
  rounding.output = first;
  for (int64_t n = first; n < first + count; n += rows) {
    const int64_t now = std::min(rows, first + count - n);
    read(weights, synapse.weights(), n * spec.n_inputs, now * spec.n_inputs);
    for (float& weight : weights) weight *= factor;
    if (bias) read(biases, bias, n, now);
    for (int64_t i = 0; i < now; ++i)
      add_output(rounding, n + i,
                 std::span(weights).subspan(static_cast<size_t>(i * spec.n_inputs), static_cast<size_t>(spec.n_inputs)),
                 biases[static_cast<size_t>(i)], spec.dropped_bits());
  }
  return rounding;
}

std::optional<Rounding> rounding_of(Synapse& synapse, int64_t first, int64_t count) {
  return rounding_of_rows(static_cast<DenseSynapse&>(synapse), first, count);
}

}  // namespace synfire::operations

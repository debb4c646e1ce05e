// One result at a time, from the same arrays in the same order.
#include "input_numbers_twin.hpp"
#include "twin.hpp"

#include <backends/cuda/device_types.hpp>
#include <operations/spikes/one_spike.hpp>
#include <synapses/dense/dense_kernels.hpp>
#include <synapses/dense/fragments.hpp>

#include <backends/host/host_storage.hpp>

#include <synfire/model/grid.hpp>

#include <algorithm>
#include <limits>

namespace synfire::cuda {
namespace {

using operations::left_at;
using operations::left_value;
using operations::right_at;
using operations::right_value;

bool is_set(const uint32_t* words, int64_t bit) {
  return (words[bit / 32] >> bit % 32 & 1u) != 0;
}
bool is_connected(const uint32_t* mask, int64_t n, int64_t k, int64_t n_inputs) {
  return !mask || is_set(mask + n * ((n_inputs + 31) / 32), k);
}
template <class R>
bool is_kept(const KeptArray<R>& kept, int64_t b, int64_t k) {
  return !kept.mask || is_set(kept.row(b), k);
}
template <class R>
double factor_of(const R* scale) {
  return scale ? static_cast<double>(*scale) : 1.0;
}
bool is_finite(float x) {
  return (model::bits_of(x) & 0x7F800000u) != 0x7F800000u;
}
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

template <class R>
void write(R& to, R value, bool add) {
  to = add ? to + value : value;
}

template <class F>
void for_each_row(const SequenceRows& rows, F f) {
  for (int64_t t = 0; t < rows.n_steps; ++t)
    for (int64_t b = 0; b < rows.active(); ++b) f(RowIndex{t, b}, t * rows.batch + b);
}

void put_row_on_grid(const PrepareRowsLaunch<float>& launch, int64_t n) {
  const float* const weights = launch.weights + n * launch.n_inputs;
  float largest = 0;
  for (int64_t k = 0; k < launch.n_inputs; ++k)
    largest = std::max(largest, model::absolute(weights[k] * launch.factor));
  const float bias = launch.bias ? launch.bias[n] : 0.0f;
  const int32_t grid = launch.grid[n] = model::grid_of_row(largest, bias, launch.dropped_bits);
  launch.bias_on_grid[n] = model::on_grid(bias, grid);
  for (int64_t k = 0; k < launch.n_inputs; ++k)
    static_cast<int32_t*>(launch.rows)[n * launch.rows_pitch + k] =
        model::on_grid(weights[k] * launch.factor, grid, launch.dropped_bits);
}
void put_row_on_grid(const PrepareRowsLaunch<double>& launch, int64_t n) {
  for (int64_t k = 0; k < launch.n_inputs; ++k)
    static_cast<double*>(launch.rows)[n * launch.rows_pitch + k] =
        launch.weights[n * launch.n_inputs + k] * launch.factor;
}

int32_t gradient_grid(uint32_t largest, bool wide) {
  return model::grid_of(model::from_bits(largest), wide ? model::largest_on_grid_32 : model::largest_on_grid_24);
}
bool counts(uint32_t largest) {
  return largest < 0x7F800000u;
}

// A sum in the fixed order; product(l, chain) adds term l to a chain.
template <class R>
double ordered(int64_t length, auto product) {
  double total = 0;
  R block = 0, chain = 0;
  for (int64_t l = 0; l < length; ++l) {
    chain = product(l, chain);
    if ((l + 1) % model::chain_length != 0 && l + 1 < length) continue;
    block += chain;
    chain = 0;
    if ((l + 1) % model::block_length != 0 && l + 1 < length) continue;
    total += static_cast<double>(block);
    block = 0;
  }
  return total;
}

void find_largest(const LargestLaunch& launch) {
  for_each_row(launch.rows, [&](RowIndex at, int64_t) {
    for (int64_t n = 0; n < launch.gradients.length; ++n)
      launch.largest[n] =
          std::max(launch.largest[n], model::bits_of(launch.gradients.row(at)[n]) & uint32_t{0x7FFFFFFF});
  });
}

void write_gradient_planes(const GradientPlanesLaunch& launch, int n_planes) {
  std::fill_n(launch.planes, launch.n_words * 32 * launch.column_groups * 8 * n_planes, uint8_t{0});
  for_each_row(launch.rows, [&](RowIndex at, int64_t m) {
    for (int64_t n = 0; n < launch.gradients.length; ++n) {
      if (!counts(launch.largest[n])) continue;
      const int32_t value =
          model::on_grid(launch.gradients.row(at)[n], gradient_grid(launch.largest[n], n_planes == 4));
      for (int plane = 0; plane < n_planes; ++plane)
        launch.planes[right_at(m, n, plane, n_planes, launch.n_words)] =
            static_cast<uint8_t>(operations::byte_of(value, plane));
      if (launch.bias_total) launch.bias_total[n] += value;
    }
  });
}

void write_input_planes(const GradientPlanesLaunch& launch) {
  std::fill_n(launch.planes, launch.n_words * 32 * launch.column_groups * 8 * 3, uint8_t{0});
  for_each_row(launch.rows, [&](RowIndex at, int64_t m) {
    for (int64_t k = 0; k < launch.gradients.length; ++k) {
      if (!counts(launch.largest[k])) continue;
      const int32_t value = model::on_grid(launch.gradients.row(at)[k], gradient_grid(launch.largest[k], false));
      for (int plane = 0; plane < 3; ++plane)
        launch.planes[left_at(m, k, plane, 3, launch.column_groups / 2)] =
            static_cast<uint8_t>(operations::byte_of(value, plane));
    }
  });
}

}  // namespace

// ---- weights on their grid ------------------------------------------------------------------------------------------

template <class R>
const void* prepare_rows_kernel() {
  return twin<PrepareRowsLaunch<R>>({}, [](const PrepareRowsLaunch<R>& launch) {
    for (int64_t n = 0; n < launch.n_outputs; ++n) {
      for (int64_t k = 0; k < launch.n_inputs; ++k)
        if (!is_connected(launch.mask, n, k, launch.n_inputs)) launch.weights[n * launch.n_inputs + k] = 0;
      put_row_on_grid(launch, n);
    }
  });
}
template const void* prepare_rows_kernel<float>();
template const void* prepare_rows_kernel<double>();

const void* prepare_table_kernel(TableKind kind) {
  return twin<PrepareTableLaunch>({static_cast<int64_t>(kind)}, [=](const PrepareTableLaunch& launch) {
    for (int64_t n = 0; n < launch.n_outputs; ++n)
      for (int64_t k = 0; k < launch.n_inputs; ++k) {
        const int64_t from = n * launch.rows_pitch + k, to = k * launch.table_pitch + n;
        if (kind == TableKind::f64)
          static_cast<double*>(launch.table)[to] = static_cast<const double*>(launch.rows)[from];
        else if (kind == TableKind::rounded)
          static_cast<float*>(launch.table)[to] =
              model::from_integer(static_cast<const int32_t*>(launch.rows)[from], launch.grid[n]);
        else if (kind == TableKind::f32)
          static_cast<float*>(launch.table)[to] = static_cast<const float*>(launch.rows)[from];
        else
          static_cast<int32_t*>(launch.table)[to] = static_cast<const int32_t*>(launch.rows)[from];
      }
  });
}

const void* prepare_planes_kernel() {
  return twin<PreparePlanesLaunch>({}, [](const PreparePlanesLaunch& launch) {
    const auto weight = [&](int64_t n, int64_t k) {
      return n < launch.n_outputs && k < launch.n_inputs ? launch.rows[n * launch.rows_pitch + k] : 0;
    };
    for (int plane = 0; plane < 3; ++plane) {
      for (int64_t k = 0; launch.table_planes && k < launch.table_words * 32; ++k)
        for (int64_t n = 0; n < launch.table_groups * 8; ++n)
          launch.table_planes[right_at(k, n, plane, 3, launch.table_words)] =
              static_cast<uint8_t>(operations::byte_of(weight(n, k), plane));
      const int64_t inputs = launch.n_taps == 0 ? 0 : launch.n_inputs / launch.n_taps;
      for (int64_t l = 0; l < launch.rows_words * 32; ++l)
        for (int64_t c = 0; c < launch.rows_groups * 8; ++c) {
          const int64_t tap = l / launch.n_outputs;
          const bool exists = tap < launch.n_taps && c < inputs;
          launch.rows_planes[right_at(l, c, plane, 3, launch.rows_words)] = static_cast<uint8_t>(
              operations::byte_of(exists ? weight(l % launch.n_outputs, tap * inputs + c) : 0, plane));
        }
    }
  });
}

// ---- exact products with spikes -------------------------------------------------------------------------------------

namespace {

// The part of a weight that kernels multiply which leave out the lowest planes.
int32_t without_planes(int32_t value, int zero_planes) {
  return static_cast<int32_t>(static_cast<uint32_t>(value) >> (8 * zero_planes) << (8 * zero_planes));
}

}  // namespace

const void* spike_product_kernel(SpikeProduct product, bool kept, int zero_planes) {
  return twin<SpikeProductLaunch>(
      {static_cast<int64_t>(product), kept, zero_planes}, [=](const SpikeProductLaunch& launch) {
        for (int64_t m = 0; m < launch.rows.count(); ++m) {
          const RowIndex at = row_index(m, launch.rows.batch);
          for (int64_t n = 0; n < launch.n_outputs; ++n) {
            float& output = launch.output.row(at)[n];
            output = 0;
            if (at.b >= launch.rows.active()) continue;
            int64_t sum = 0;
            for (int64_t k = 0; k < launch.n_inputs; ++k) {
              if (!is_set(launch.bits.row(at), k) || !is_kept(launch.kept, at.b, k)) continue;
              sum += product == SpikeProduct::gather
                         ? launch.table[k * launch.table_pitch + n]
                         : without_planes(right_value(launch.planes, k, n, 3, launch.plane_words), zero_planes);
            }
            const float scale = model::power_of_two(launch.grid[n]);
            output = kept ? model::from_grid_of_kept(static_cast<float>(sum), scale, *launch.kept.scale,
                                                     launch.own_bias ? launch.own_bias[n] : 0.0f)
                          : model::from_grid(sum + launch.bias[n], scale);
          }
        }
      });
}

// ---- exact gradients of weights -------------------------------------------------------------------------------------

const void* largest_kernel(int width) {
  return twin<LargestLaunch>({width}, find_largest);
}

const void* largest_of_values_kernel() {
  return twin<LargestOfValuesLaunch>({}, [](const LargestOfValuesLaunch& launch) {
    for (const LargestLaunch& array : launch.arrays) find_largest(array);
  });
}

const void* gradient_planes_kernel(int n_planes) {
  return twin<GradientPlanesLaunch>(
      {n_planes}, [=](const GradientPlanesLaunch& launch) { write_gradient_planes(launch, n_planes); });
}

const void* value_planes_kernel(int n_planes) {
  return twin<ValuePlanesLaunch>({n_planes}, [=](const ValuePlanesLaunch& launch) {
    write_gradient_planes(launch.gradients, n_planes);
    write_input_planes(launch.inputs);
  });
}

const void* value_product_kernel(BytesProduct product, int n_planes) {
  return twin<ValueProductLaunch>({static_cast<int64_t>(product), n_planes}, [=](const ValueProductLaunch& launch) {
    for (int64_t n = 0; n < launch.n_outputs; ++n)
      for (int64_t k = 0; k < launch.n_inputs; ++k)
        for (int64_t m = 0; m < launch.n_words * 32; ++m) {
          const int64_t term = static_cast<int64_t>(right_value(launch.gradients, m, n, n_planes, launch.n_words)) *
                               left_value(launch.inputs, m, k, 3, launch.row_groups);
          launch.high[n * launch.pitch + k] += model::high_part(term);
          launch.low[n * launch.pitch + k] += model::low_part(term);
        }
  });
}

const void* finish_values_kernel() {
  return twin<FinishValuesLaunch>({}, [](const FinishValuesLaunch& launch) {
    const FinishWeightsLaunch& of = launch.of;
    for (int64_t n = 0; n < of.n_outputs; ++n) {
      const int32_t grid =
          model::grid_of_sum(of.largest[n], of.wide ? model::largest_on_grid_32 : model::largest_on_grid_24);
      for (int64_t k = 0; k < of.n_inputs; ++k) {
        const int64_t at = n * of.pitch + k;
        const int32_t input = model::grid_of_sum(launch.largest_inputs[k], model::largest_on_grid_24);
        float gradient = counts(of.largest[n]) && counts(launch.largest_inputs[k])
                             ? model::from_parts(of.total[at], launch.low[at], grid + input, factor_of(of.scale))
                             : nan;
        if (!is_connected(of.mask, n, k, of.n_inputs)) gradient = 0;
        write(of.weight_gradient[n * of.n_inputs + k], gradient, of.add);
      }
      if (of.bias_gradient)
        write(of.bias_gradient[n], counts(of.largest[n]) ? model::from_wide_grid(of.bias_total[n], grid) : nan, of.add);
    }
  });
}

const void* few_values_kernel() {
  return twin<FewValuesLaunch>({}, [](const FewValuesLaunch& launch) {
    const int64_t n_outputs = launch.gradients.length, n_inputs = launch.inputs.length;
    const auto largest_of = [&](const RowArray<const float>& array, int64_t column) {
      uint32_t largest = 0;
      for_each_row(launch.rows, [&](RowIndex at, int64_t) {
        largest = std::max<uint32_t>(largest, model::magnitude_bits(array.row(at)[column]));
      });
      return largest;
    };
    for (int64_t n = 0; n < n_outputs; ++n) {
      const uint32_t largest = largest_of(launch.gradients, n);
      const int32_t grid =
          model::grid_of_sum(largest, launch.wide ? model::largest_on_grid_32 : model::largest_on_grid_24);
      int64_t bias = 0;
      for_each_row(launch.rows,
                   [&](RowIndex at, int64_t) { bias += model::on_grid(launch.gradients.row(at)[n], grid); });
      for (int64_t k = 0; k < n_inputs; ++k) {
        const uint32_t largest_input = largest_of(launch.inputs, k);
        const int32_t input_grid = model::grid_of_sum(largest_input, model::largest_on_grid_24);
        int64_t sum = 0;
        for_each_row(launch.rows, [&](RowIndex at, int64_t) {
          sum += static_cast<int64_t>(model::on_grid(launch.gradients.row(at)[n], grid)) *
                 model::on_grid(launch.inputs.row(at)[k], input_grid);
        });
        float gradient = counts(largest) && counts(largest_input)
                             ? model::from_wide_grid(sum, grid + input_grid, factor_of(launch.scale))
                             : nan;
        if (!is_connected(launch.mask, n, k, n_inputs)) gradient = 0;
        write(launch.weight_gradient[n * n_inputs + k], gradient, launch.add);
      }
      if (launch.bias_gradient)
        write(launch.bias_gradient[n], counts(largest) ? model::from_wide_grid(bias, grid) : nan, launch.add);
    }
  });
}

const void* pack_kept_kernel() {
  return twin<PackKeptLaunch>({}, [](const PackKeptLaunch& launch) {
    for (int64_t word = 0; word < launch.n_words; ++word)
      for (int64_t k = 0; k < launch.bits.length * 32; ++k) {
        uint32_t found = 0;
        for (int i = 0; i < 32 && word * 32 + i < launch.rows.count(); ++i) {
          const RowIndex at = row_index(word * 32 + i, launch.rows.batch);
          found |= static_cast<uint32_t>(is_set(launch.bits.row(at), k) && is_kept(launch.kept, at.b, k)) << i;
        }
        launch.packed[word * launch.pitch + k] = found;
      }
  });
}

const void* weight_product_kernel(BytesProduct product, int n_planes) {
  return twin<WeightProductLaunch>({static_cast<int64_t>(product), n_planes}, [=](const WeightProductLaunch& launch) {
    std::vector<int32_t> values(static_cast<size_t>(launch.n_words * 32));
    for (int64_t n = 0; n < launch.n_outputs; ++n) {
      for (int64_t m = 0; m < launch.n_words * 32; ++m)
        values[static_cast<size_t>(m)] = right_value(launch.planes, m, n, n_planes, launch.n_words);
      for (int64_t k = 0; k < launch.n_inputs; ++k)
        for (int64_t m = 0; m < launch.n_words * 32; ++m)
          if ((launch.packed[m / 32 * launch.pitch + k] >> m % 32 & 1u) != 0)
            launch.total[n * launch.pitch + k] += values[static_cast<size_t>(m)];
    }
  });
}

const void* finish_weights_kernel() {
  return twin<FinishWeightsLaunch>({}, [](const FinishWeightsLaunch& launch) {
    for (int64_t n = 0; n < launch.n_outputs; ++n) {
      const auto gradient = [&](int64_t total, double factor, double second) {
        return counts(launch.largest[n])
                   ? model::from_wide_grid(total, gradient_grid(launch.largest[n], launch.wide), factor, second)
                   : nan;
      };
      for (int64_t k = 0; k < launch.n_inputs; ++k)
        write(launch.weight_gradient[n * launch.n_inputs + k],
              is_connected(launch.mask, n, k, launch.n_inputs)
                  ? gradient(launch.total[n * launch.pitch + k], factor_of(launch.scale), launch.factor)
                  : 0.0f,
              launch.add);
      if (launch.bias_gradient) write(launch.bias_gradient[n], gradient(launch.bias_total[n], 1, 1), launch.add);
    }
  });
}

const void* few_rows_kernel() {
  return twin<FewRowsLaunch>({}, [](const FewRowsLaunch& launch) {
    for (int64_t n = 0; n < launch.gradients.length; ++n) {
      uint32_t largest = 0;
      for_each_row(launch.rows, [&](RowIndex at, int64_t) {
        largest = std::max(largest, model::bits_of(launch.gradients.row(at)[n]) & uint32_t{0x7FFFFFFF});
      });
      const bool finite = counts(largest);
      const int32_t grid = finite ? gradient_grid(largest, launch.wide) : 0;
      const auto gradient = [&](double factor, auto spikes) {
        int64_t sum = 0;
        for_each_row(launch.rows, [&](RowIndex at, int64_t) {
          if (finite && spikes(at)) sum += model::on_grid(launch.gradients.row(at)[n], grid);
        });
        return finite ? model::from_wide_grid(sum, grid, factor) : nan;
      };
      for (int64_t k = 0; k < launch.n_inputs; ++k)
        write(
            launch.weight_gradient[n * launch.n_inputs + k],
            is_connected(launch.mask, n, k, launch.n_inputs)
                ? gradient(factor_of(launch.kept.scale),
                           [&](RowIndex at) { return is_set(launch.bits.row(at), k) && is_kept(launch.kept, at.b, k); })
                : 0.0f,
            launch.add);
      if (launch.bias_gradient) write(launch.bias_gradient[n], gradient(1, [](RowIndex) { return true; }), launch.add);
    }
  });
}

const void* held_rows_kernel() {
  return twin<HeldRowsLaunch>({}, [](const HeldRowsLaunch& launch) {
    for (int32_t i = 0; i < launch.n_gradients; ++i)
      static_cast<const Twin*>(few_rows_kernel())->run(&launch.gradients[i]);
  });
}

// ---- exact gradients of inputs --------------------------------------------------------------------------------------

const void* input_planes_kernel() {
  return twin<InputPlanesLaunch>({}, [](const InputPlanesLaunch& launch) {
    for_each_row(launch.rows, [&](RowIndex at, int64_t m) {
      const float* const row = launch.gradients.row(at);
      const int64_t n_outputs = launch.gradients.length;
      int64_t largest = model::magnitude_of(0.0f, 0);
      for (int64_t n = 0; n < n_outputs; ++n)
        largest = std::max<int64_t>(largest, model::magnitude_of(row[n], launch.grid[n]));
      const bool finite = std::all_of(row, row + n_outputs, is_finite);
      const int32_t grid = launch.row_grid[m] = finite ? model::grid_of_magnitude(largest) : not_finite;
      for (int64_t n = 0; n < launch.n_words * 32; ++n) {
        const int32_t value = n < n_outputs && finite ? model::on_grid(row[n], grid - launch.grid[n]) : 0;
        for (int plane = 0; plane < 3; ++plane)
          launch.planes[left_at(n, m, plane, 3, launch.row_groups)] =
              static_cast<uint8_t>(operations::byte_of(value, plane));
      }
    });
  });
}

const void* input_product_kernel(BytesProduct product, int) {
  return twin<InputProductLaunch>({static_cast<int64_t>(product)}, [](const InputProductLaunch& launch) {
    std::vector<int64_t> weights(static_cast<size_t>(launch.n_outputs * launch.n_inputs));
    for (int64_t n = 0; n < launch.n_outputs; ++n)
      for (int64_t k = 0; k < launch.n_inputs; ++k)
        weights[static_cast<size_t>(n * launch.n_inputs + k)] =
            without_planes(right_value(launch.right, n, k, 3, launch.n_words), launch.zero_planes);
    std::vector<int64_t> sums(static_cast<size_t>(launch.n_inputs));
    for (int64_t m = 0; m < launch.rows.count(); ++m) {
      const RowIndex at = row_index(m, launch.rows.batch);
      const bool active = at.b < launch.rows.active();
      if (!active && launch.add) continue;
      std::fill(sums.begin(), sums.end(), 0);
      for (int64_t n = 0; active && n < launch.n_outputs; ++n) {
        const int64_t value = left_value(launch.left, n, m, 3, launch.row_groups);
        for (int64_t k = 0; k < launch.n_inputs; ++k)
          sums[static_cast<size_t>(k)] += value * weights[static_cast<size_t>(n * launch.n_inputs + k)];
      }
      for (int64_t k = 0; k < launch.n_inputs; ++k)
        write(
            launch.grad_input.row(at)[k],
            !active || !is_kept(launch.kept, at.b, k) ? 0.0f
            : launch.row_grid[m] == not_finite
                ? nan
                : model::from_wide_grid(sums[static_cast<size_t>(k)], launch.row_grid[m], factor_of(launch.kept.scale)),
            launch.add);
    }
  });
}

const void* held_input_kernel() {
  return twin<HeldInputLaunch>({}, [](const HeldInputLaunch& launch) {
    InputProductLaunch product = launch.product;
    const int64_t n_rows = product.rows.count();
    product.row_groups = (n_rows + 15) / 16;
    std::vector<uint8_t> planes(static_cast<size_t>(3 * product.n_words * 32 * product.row_groups * 16));
    std::vector<int32_t> row_grid(static_cast<size_t>(n_rows));
    product.left = planes.data();
    product.row_grid = row_grid.data();
    const InputPlanesLaunch of_planes = {product.rows,  launch.gradients, launch.grid,       row_grid.data(),
                                         planes.data(), product.n_words,  product.row_groups};
    static_cast<const Twin*>(input_planes_kernel())->run(&of_planes);
    static_cast<const Twin*>(input_product_kernel(BytesProduct::warps, 0))->run(&product);
  });
}

// ---- sums in the fixed order ----------------------------------------------------------------------------------------

template <class R>
const void* to_numbers_kernel() {
  return twin<ToNumbersLaunch>({}, [](const ToNumbersLaunch& launch) {
    const core::Extents& e = launch.input.extents;
    auto* to = static_cast<R*>(launch.numbers);
    for_each_spike(e, [&](int64_t t, int64_t b, int64_t k) {
      const bool counts = !launch.kept || is_set(launch.kept + b * e.words_per_row(), k);
      *to++ = counts ? number<R>(launch.input, t, b, k) : R(0);
    });
  });
}
template const void* to_numbers_kernel<float>();
template const void* to_numbers_kernel<double>();

template <class R>
const void* chain_kernel(bool over_rows, bool large) {
  return twin<ChainLaunch<R>>({over_rows, large}, [=](const ChainLaunch<R>& launch) {
    const int64_t active = launch.rows.active();
    if (over_rows) {
      const int64_t length = launch.rows.n_steps * active;
      for (int64_t n = 0; n < launch.left.length; ++n)
        for (int64_t k = 0; k < launch.n_columns; ++k) {
          const double total = ordered<R>(length, [&](int64_t l, R chain) {
            const RowIndex at = row_index(l, active);
            return model::fma(launch.left.row(at)[n], launch.right.row(at)[k], chain);
          });
          const R sum = static_cast<R>(total * factor_of(launch.scale));
          write(launch.result[n * launch.n_columns + k], is_connected(launch.mask, n, k, launch.n_columns) ? sum : R(0),
                launch.add);
        }
      return;
    }
    for (int64_t m = 0; m < launch.rows.count(); ++m) {
      const RowIndex at = row_index(m, launch.rows.batch);
      if (at.b >= active && launch.add) continue;
      for (int64_t n = 0; n < launch.n_columns; ++n) {
        R& result = launch.result[at.t * launch.result_pitch + at.b * launch.n_columns + n];
        if (at.b >= active) {
          result = 0;
          continue;
        }
        const R* const row = launch.left.row(at);
        double total = ordered<R>(launch.left.length, [&](int64_t l, R chain) {
          return model::fma(row[l], launch.right.data[l * launch.right.pitch + n], chain);
        });
        const double factor = factor_of(launch.scale);
        total = launch.bias ? model::fma(total, factor, static_cast<double>(launch.bias[n])) : total * factor;
        write(result, is_kept(launch.kept, at.b, n) ? static_cast<R>(total) : R(0), launch.add);
      }
    }
  });
}
template const void* chain_kernel<float>(bool, bool);
template const void* chain_kernel<double>(bool, bool);

const void* column_sum_kernel() {
  return twin<ColumnSumLaunch>({}, [](const ColumnSumLaunch& launch) {
    const int64_t active = launch.rows.active();
    for (int64_t n = 0; n < launch.values.length; ++n)
      write(
          launch.result[n],
          ordered<double>(launch.rows.n_steps * active,
                          [&](int64_t l, double chain) { return chain + launch.values.row(row_index(l, active))[n]; }),
          launch.add);
  });
}

}  // namespace synfire::cuda

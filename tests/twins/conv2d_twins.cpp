// One result at a time; what a result is made of is the same code as in the kernels
// (synapses/conv2d/conv2d_results.hpp).
#include "input_numbers_twin.hpp"
#include "twin.hpp"

#include <synapses/conv2d/conv2d_kernels.hpp>
#include <synapses/conv2d/conv2d_results.hpp>
#include <synapses/dense/dense_kernels.hpp>
#include <synapses/dense/fragments.hpp>

#include <algorithm>
#include <limits>

namespace synfire::cuda {
namespace {

using namespace synfire::model;
using operations::bounded;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

template <class R>
void write_gradient(R& to, R gradient, bool add) {
  to = add ? to + gradient : gradient;
}

// Calls f(image, its number among all, is active).
template <class F>
void for_each_image(const SequenceRows& rows, F f) {
  for (int64_t t = 0; t < rows.n_steps; ++t)
    for (int64_t b = 0; b < rows.batch; ++b) f(RowIndex{t, b}, t * rows.batch + b, b < rows.active());
}

template <class R>
R number_of(const Conv2dInputs& inputs, RowIndex image, int64_t i) {
  if (inputs.counts.data) return static_cast<R>(bounded(inputs.counts.row(image)[i], inputs.bound));
  return number<R>(inputs.numbers, image.t, image.b, i);
}

// The factor of dropout.
template <class R>
double factor_of(const R* scale) {
  return scale ? static_cast<double>(*scale) : 1.0;
}

u32 most_of(bool wide) {
  return wide ? largest_on_grid_32 : largest_on_grid_24;
}
int64_t channel_of(const Conv2dShape& shape, int64_t o, int64_t k) {
  return o / shape.group_outputs() * shape.group_inputs() + k % shape.group_inputs();
}

}  // namespace

template <class R>
const void* conv2d_product_kernel(Conv2dInput input) {
  return twin<Conv2dProductLaunch<R>>({static_cast<int64_t>(input)}, [=](const Conv2dProductLaunch<R>& launch) {
    const Conv2dShape& shape = launch.shape;
    for_each_image(launch.rows, [&](RowIndex image, int64_t, bool is_active) {
      for (int64_t place = 0; place < shape.places(); ++place)
        for (int64_t o = 0; o < shape.output_channels; ++o) {
          R& to = launch.output.row(image)[place * shape.output_channels + o];
          to = 0;
          if (!is_active) continue;
          if (input == Conv2dInput::numbers) {
            const double total = operations::sum_of_numbers<R>(
                shape, [&](int64_t i) { return number_of<R>(launch.inputs, image, i); },
                static_cast<const R*>(launch.table) + o, launch.table_pitch, place, o);
            const double scale = launch.scale ? static_cast<double>(*launch.scale) : 1.0;
            to = static_cast<R>(!launch.bias   ? total * scale
                                : launch.scale ? model::fma(total, scale, static_cast<double>(launch.bias[o]))
                                               : total + static_cast<double>(launch.bias[o]));
            continue;
          }
          const int32_t* const column = static_cast<const int32_t*>(launch.table) + o;
          const int64_t sum =
              input == Conv2dInput::bits
                  ? operations::sum_of_spikes(shape, launch.inputs.bits.row(image), column, launch.table_pitch, place,
                                              o)
                  : operations::sum_of_counts(shape, launch.inputs.counts.row(image), launch.inputs.bound, column,
                                              launch.table_pitch, place, o);
          const float power = power_of_two(launch.grid[o]);
          to = static_cast<R>(launch.scale
                                  ? from_grid_of_kept(static_cast<float>(sum), power, static_cast<float>(*launch.scale),
                                                      launch.bias ? static_cast<float>(launch.bias[o]) : 0.0f)
                                  : from_grid(sum + launch.bias_on_grid[o], power));
        }
    });
  });
}
template const void* conv2d_product_kernel<float>(Conv2dInput);
template const void* conv2d_product_kernel<double>(Conv2dInput);

// Bit by bit, from the definition of a term.
namespace {

bool has_spike(const Conv2dPatchLaunch& launch, int64_t m, int64_t k) {
  const int64_t image = m / launch.shape.places();
  const int64_t at = operations::input_of_term(launch.shape, m % launch.shape.places(), 0, k);
  return at >= 0 && operations::bits_at(launch.bits.row(row_index(image, launch.rows.batch)), at, 1) != 0;
}

}  // namespace

const void* conv2d_active_places_kernel() {
  return twin<Conv2dActivePlacesLaunch>({}, [](const Conv2dActivePlacesLaunch& launch) {
    for (int64_t i = 0; i < launch.n_parts; ++i) {
      int64_t images = 0;
      for (int64_t b = i * launch.n_images; b < (i + 1) * launch.n_images; ++b) images += b < launch.rows.active();
      launch.active[i] = static_cast<uint32_t>(images * launch.n_places);
    }
  });
}

const void* conv2d_patches_kernel() {
  return twin<Conv2dPatchLaunch>({0}, [](const Conv2dPatchLaunch& launch) {
    for (int64_t m = 0; m < launch.rows.count() * launch.shape.places(); ++m) {
      std::fill_n(launch.patches + m * launch.row_words, launch.row_words, 0u);
      for (int64_t k = 0; k < launch.shape.n_terms(); ++k)
        launch.patches[m * launch.row_words + k / 32] |= static_cast<uint32_t>(has_spike(launch, m, k)) << k % 32;
    }
  });
}

const void* conv2d_packed_patches_kernel() {
  return twin<Conv2dPatchLaunch>({1}, [](const Conv2dPatchLaunch& launch) {
    const int64_t n_places = launch.rows.count() * launch.shape.places();
    for (int64_t word = 0; word < launch.n_words; ++word) {
      std::fill_n(launch.patches + word * launch.pitch, launch.row_words * 32, 0u);
      for (int64_t m = word * 32; m < std::min(word * 32 + 32, n_places); ++m)
        for (int64_t k = 0; k < launch.shape.n_terms(); ++k)
          launch.patches[word * launch.pitch + k] |= static_cast<uint32_t>(has_spike(launch, m, k)) << m % 32;
    }
  });
}

namespace {

// The count that term k of place m meets.
uint8_t count_of(const Conv2dCountPatchLaunch& launch, int64_t m, int64_t k) {
  const Conv2dShape& shape = launch.shape;
  if (m >= launch.rows.count() * shape.places() || k >= shape.n_terms()) return 0;
  const RowIndex image = row_index(m / shape.places(), launch.rows.batch);
  const int64_t i = operations::input_of_term(shape, m % shape.places(), 0, k);
  if (image.b >= launch.rows.active() || i < 0) return 0;
  return static_cast<uint8_t>(operations::bounded(launch.counts.row(image)[i], launch.bound));
}

}  // namespace

const void* conv2d_count_patches_kernel() {
  return twin<Conv2dCountPatchLaunch>({0}, [](const Conv2dCountPatchLaunch& launch) {
    for (int64_t m = 0; m < launch.rows.count() * launch.shape.places(); ++m)
      for (int64_t k = 0; k < launch.n_words * 32; ++k)
        launch.patches[operations::left_at(k, m, 0, 1, launch.row_groups)] = count_of(launch, m, k);
  });
}
const void* conv2d_packed_count_patches_kernel() {
  return twin<Conv2dCountPatchLaunch>({1}, [](const Conv2dCountPatchLaunch& launch) {
    for (int64_t m = 0; m < launch.n_words * 32; ++m)
      for (int64_t k = 0; k < launch.row_groups * 16; ++k)
        launch.patches[operations::left_at(m, k, 0, 1, launch.row_groups)] = count_of(launch, m, k);
  });
}

const void* count_product_kernel(CountProduct, int) {
  return twin<CountProductLaunch>({}, [](const CountProductLaunch& launch) {
    for (int64_t m = 0; m < launch.rows.count(); ++m) {
      const RowIndex at = row_index(m, launch.rows.batch);
      for (int64_t n = 0; n < launch.n_outputs; ++n) {
        int64_t sum = launch.bias[n];
        for (int64_t k = 0; k < launch.n_inputs; ++k) {
          const int32_t weight = operations::right_value(launch.planes, k, n, 3, launch.plane_words);
          const int zeros = 8 * launch.zero_planes;  // of the planes that are left out
          sum += int64_t{launch.left[operations::left_at(k, m, 0, 1, launch.row_groups)]} *
                 static_cast<int32_t>(static_cast<uint32_t>(weight) >> zeros << zeros);
        }
        launch.output.row(at)[n] = at.b < launch.rows.active() ? from_grid(sum, power_of_two(launch.grid[n])) : 0.0f;
      }
    }
  });
}
const void* count_weights_kernel(bool, int n_planes) {
  return twin<WeightProductLaunch>({n_planes}, [n_planes](const WeightProductLaunch& launch) {
    const auto* const patches = reinterpret_cast<const uint8_t*>(launch.packed);
    for (int64_t n = 0; n < launch.n_outputs; ++n)
      for (int64_t m = 0; m < launch.n_words * 32; ++m) {
        const int64_t gradient = operations::right_value(launch.planes, m, n, n_planes, launch.n_words);
        for (int64_t k = 0; k < launch.n_inputs; ++k)
          launch.total[n * launch.pitch + k] += gradient * patches[operations::left_at(m, k, 0, 1, launch.pitch / 16)];
      }
  });
}

const void* conv2d_largest_kernel() {
  return twin<Conv2dLargestLaunch>({}, [](const Conv2dLargestLaunch& launch) {
    for_each_image(launch.rows, [&](RowIndex image, int64_t, bool is_active) {
      for (int64_t i = 0; is_active && i < launch.n_places * launch.n_channels; ++i) {
        uint32_t& largest = launch.largest[i % launch.n_channels];
        largest = std::max<uint32_t>(largest, magnitude_bits(launch.images.row(image)[i]));
      }
    });
  });
}

const void* conv2d_weight_sums_kernel(Conv2dInput input) {
  return twin<Conv2dWeightSumsLaunch>({static_cast<int64_t>(input)}, [=](const Conv2dWeightSumsLaunch& launch) {
    const Conv2dShape& shape = launch.shape;
    const int64_t n_terms = shape.n_terms();
    for_each_image(launch.rows, [&](RowIndex image, int64_t, bool is_active) {
      for (int64_t i = 0; is_active && i < shape.n_outputs(); ++i) {
        const int64_t place = i / shape.output_channels, o = i % shape.output_channels;
        const int64_t gradient =
            on_grid(launch.gradients.row(image)[i], grid_of_sum(launch.largest[o], most_of(launch.wide)));
        for (int64_t k = 0; k <= n_terms; ++k) {
          int64_t x = 1;
          if (k < n_terms) {
            const int64_t at = operations::input_of_term(shape, place, o, k);
            if (at < 0) continue;
            if (input == Conv2dInput::bits)
              x = operations::bits_at(launch.inputs.bits.row(image), at, 1);
            else if (input == Conv2dInput::counts)
              x = bounded(launch.inputs.counts.row(image)[at], launch.inputs.bound);
            else
              x = on_grid(number<float>(launch.inputs.numbers, image.t, image.b, at),
                          grid_of_sum(launch.largest_inputs[channel_of(shape, o, k)], largest_on_grid_24));
          }
          int64_t& total = launch.total[o * (n_terms + 1) + k];
          if (input != Conv2dInput::numbers) {
            total += gradient * x;
            continue;
          }
          total += high_part(gradient * x);
          launch.low[o * (n_terms + 1) + k] += low_part(gradient * x);
        }
      }
    });
  });
}

const void* conv2d_finish_kernel() {
  return twin<Conv2dFinishLaunch>({}, [](const Conv2dFinishLaunch& launch) {
    const Conv2dShape& shape = launch.shape;
    const int64_t n_terms = shape.n_terms();
    for (int64_t o = 0; o < shape.output_channels; ++o)
      for (int64_t k = 0; k <= n_terms; ++k) {
        const bool is_bias = k == n_terms, in_parts = launch.low != nullptr;
        if (is_bias && !launch.bias_gradient) continue;
        const uint32_t largest_input = is_bias || !in_parts ? 0 : launch.largest_inputs[channel_of(shape, o, k)];
        const int32_t grid = grid_of_sum(launch.largest[o], most_of(launch.wide)) +
                             (is_bias || !in_parts ? 0 : grid_of_sum(largest_input, largest_on_grid_24));
        const int64_t at = o * (n_terms + 1) + k;
        const double of_weights = is_bias ? 1 : launch.factor, of_kept = is_bias ? 1 : factor_of(launch.scale);
        float gradient = nan;
        if (!is_bias && !operations::is_connected(shape, launch.mask, o, k))
          gradient = 0;
        else if (is_finite_magnitude(launch.largest[o]) && is_finite_magnitude(largest_input))
          gradient = in_parts ? from_parts(launch.total[at], launch.low[at], grid, of_kept)
                              : from_wide_grid(launch.total[at], grid, of_kept, of_weights);
        write_gradient(is_bias ? launch.bias_gradient[o] : launch.weight_gradient[o * n_terms + k], gradient,
                       launch.add);
      }
  });
}

const void* conv2d_ordered_gradient_kernel() {
  return twin<Conv2dOrderedGradientLaunch>({}, [](const Conv2dOrderedGradientLaunch& launch) {
    const Conv2dShape& shape = launch.shape;
    const int64_t n_terms = shape.n_terms();
    for (int64_t o = 0; o < shape.output_channels; ++o)
      for (int64_t k = 0; k <= n_terms; ++k) {
        if (k == n_terms && !launch.bias_gradient) continue;
        operations::OrderedSum<double> sum;
        for_each_image(launch.rows, [&](RowIndex image, int64_t, bool is_active) {
          for (int64_t place = 0; is_active && place < shape.places(); ++place) {
            const int64_t at = k < n_terms ? operations::input_of_term(shape, place, o, k) : 0;
            const double x = k == n_terms ? 1 : at < 0 ? 0 : number_of<double>(launch.inputs, image, at);
            sum.add(launch.gradients.row(image)[place * shape.output_channels + o], x);
          }
        });
        if (k < n_terms)
          write_gradient(launch.weight_gradient[o * n_terms + k],
                         operations::is_connected(shape, launch.mask, o, k)
                             ? sum.total() * factor_of(launch.scale) * launch.factor
                             : 0.0,
                         launch.add);
        else
          write_gradient(launch.bias_gradient[o], sum.total(), launch.add);
      }
  });
}

const void* conv2d_image_maxima_kernel(int) {
  return twin<Conv2dImageGridLaunch>({}, [](const Conv2dImageGridLaunch& launch) {
    for_each_image(launch.rows, [&](RowIndex image, int64_t m, bool is_active) {
      if (!is_active) return;
      const float* const gradients = launch.gradients.row(image);
      for (int64_t i = 0; i < launch.gradients.length; ++i)
        launch.largest[m] =
            std::max(launch.largest[m], operations::largest_key(gradients[i], launch.grid[i % launch.n_channels]));
    });
  });
}
const void* conv2d_image_integers_kernel(int) {
  return twin<Conv2dImageGridLaunch>({}, [](const Conv2dImageGridLaunch& launch) {
    const int64_t n = launch.gradients.length;
    for_each_image(launch.rows, [&](RowIndex image, int64_t m, bool is_active) {
      if (!is_active) return;
      const float* const gradients = launch.gradients.row(image);
      const int32_t grid = launch.row_grid[m] = operations::grid_of_key(launch.largest[m], launch.bits);
      for (int64_t i = 0; grid != operations::conv2d_not_finite && i < n; ++i)
        launch.on_grid[m * n + i] = on_grid(gradients[i], grid - launch.grid[i % launch.n_channels]);
    });
  });
}

// From the definition of a tap: which outputs it has, and which inputs they meet.
const void* conv2d_gradient_patches_kernel() {
  return twin<Conv2dGradientPatchLaunch>({}, [](const Conv2dGradientPatchLaunch& launch) {
    const Conv2dShape& shape = launch.shape;
    const int64_t n_places = launch.n_places(), inputs = shape.input_places();
    std::fill_n(launch.planes, launch.n_words * 3 * launch.row_groups * operations::left_bytes, uint8_t{0});
    for (int64_t m = 0; m < n_places; ++m) {
      const int64_t image = m / inputs, b = launch.first_image + image % launch.n_images;
      if (b >= launch.rows.active()) continue;
      const int64_t at = (launch.first_step + image / launch.n_images) * launch.rows.batch + b;
      launch.patch_grid[m] = launch.row_grid[at];
      if (launch.row_grid[at] == operations::conv2d_not_finite) continue;
      operations::for_each_output_place(shape, m % inputs, [&](int64_t tap, int64_t place) {
        for (int64_t o = 0; o < shape.output_channels; ++o) {
          const int32_t value = launch.on_grid[(at * shape.places() + place) * shape.output_channels + o];
          for (int plane = 0; plane < 3; ++plane)
            launch.planes[operations::left_at(tap * shape.output_channels + o, m, plane, 3, launch.row_groups)] =
                static_cast<uint8_t>(operations::byte_of(value, plane));
        }
      });
    }
  });
}

namespace {

// Calls gradient(image, number, place, channel) for the elements of the active images; those of others are +0.
template <class Launch, class F>
void write_input_gradients(const Launch& launch, F gradient) {
  const Conv2dShape& shape = launch.shape;
  for_each_image(launch.rows, [&](RowIndex image, int64_t m, bool is_active) {
    for (int64_t i = 0; i < shape.n_inputs(); ++i) {
      auto& to = launch.grad_input.row(image)[i];
      const bool is_kept =
          !launch.kept.mask || operations::has_bit(launch.kept.mask + image.b * launch.kept.n_words, i);
      if (is_active && is_kept)
        write_gradient(to, gradient(image, m, i / shape.channels, i % shape.channels), launch.add);
      else if (is_active)
        write_gradient(to, decltype(gradient(image, m, 0, 0))(0), launch.add);
      else if (!launch.add)
        to = 0;
    }
  });
}

}  // namespace

const void* conv2d_input_gradient_kernel(bool wide) {
  return twin<Conv2dInputGradientLaunch>({wide}, [=](const Conv2dInputGradientLaunch& launch) {
    const Conv2dShape& shape = launch.shape;
    write_input_gradients(launch, [&](RowIndex, int64_t image, int64_t place, int64_t c) {
      const int32_t grid = launch.row_grid[image];
      if (grid == operations::conv2d_not_finite) return nan;
      const int32_t* const of_image = launch.on_grid + image * shape.n_outputs();
      const double factor = factor_of(launch.kept.scale);
      return wide ? operations::input_gradient_of<true>(shape, of_image, launch.weights, launch.weights_pitch, place, c,
                                                        grid, factor)
                  : operations::input_gradient_of<false>(shape, of_image, launch.weights, launch.weights_pitch, place,
                                                         c, grid, factor);
    });
  });
}

const void* conv2d_ordered_input_gradient_kernel() {
  return twin<Conv2dOrderedInputGradientLaunch>({}, [](const Conv2dOrderedInputGradientLaunch& launch) {
    write_input_gradients(launch, [&](RowIndex image, int64_t, int64_t place, int64_t c) {
      return operations::ordered_input_gradient(launch.shape, launch.gradients.row(image), launch.weights,
                                                launch.weights_pitch, place, c) *
             factor_of(launch.kept.scale);
    });
  });
}

const void* depthwise_product_kernel(Conv2dInput input) {
  return conv2d_product_kernel<float>(input);
}
const void* depthwise_weight_sums_kernel(Conv2dInput input) {
  return conv2d_weight_sums_kernel(input);
}
const void* depthwise_input_gradient_kernel() {
  return conv2d_input_gradient_kernel(false);
}

}  // namespace synfire::cuda

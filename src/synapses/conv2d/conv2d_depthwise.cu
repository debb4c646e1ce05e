// Convolutions with a kernel for each channel, of spikes and counts, and their gradients: neighbouring threads have
// neighbouring channels, and a thread some places side by side, for which it reads a weight once.
#include "conv2d_kernels.hpp"
#include "conv2d_results.hpp"

#include <backends/cuda/cuda_storage.cuh>
#include <backends/cuda/grid_scale.cuh>

#include <synfire/model/grid.hpp>

namespace synfire::cuda {
namespace {

using namespace synfire::model;
using operations::bounded;

// A warp's part of the maps of all images: 32 channels, a row, and some places of it.
struct Run {
  RowIndex image;
  int32_t y, x, channel;

  // Images have `height` rows of `width` places.
  __device__ __forceinline__ Run(int64_t index, int64_t batch, int32_t channels, int32_t height, int32_t width) {
    const RowIndex of_channels = row_index(index, (channels + 31) / 32);
    const RowIndex of_row = row_index(of_channels.t, (width + depthwise_places - 1) / depthwise_places);
    const RowIndex of_image = row_index(of_row.t, height);
    image = row_index(of_image.t, batch);
    y = static_cast<int32_t>(of_image.b);
    x = static_cast<int32_t>(of_row.b) * depthwise_places;
    channel = static_cast<int32_t>(of_channels.b) * 32 + static_cast<int32_t>(threadIdx.x % 32);
  }
  static __device__ __forceinline__ int64_t count(int64_t n_images, int64_t channels, int64_t height, int64_t width) {
    return n_images * height * ((width + depthwise_places - 1) / depthwise_places) * ((channels + 31) / 32);
  }
};

__device__ __forceinline__ int64_t first_warp() {
  return (static_cast<int64_t>(blockIdx.x) * conv2d_threads + threadIdx.x) / 32;
}
__device__ __forceinline__ int64_t all_warps() {
  return static_cast<int64_t>(gridDim.x) * (conv2d_threads / 32);
}

// A row of the input, with the lane's channel.
template <Conv2dInput input>
class InputRow {
 public:
  __device__ __forceinline__ InputRow(const Conv2dInputs& inputs, const operations::Conv2dShape& shape, RowIndex image,
                                      int32_t iy, int32_t channel)
      : bound_(inputs.bound) {
    const int64_t first = static_cast<int64_t>(iy) * shape.x.n_inputs;
    if constexpr (input == Conv2dInput::bits) {
      pitch_ = shape.channels / 32;
      words_ = inputs.bits.row(image) + first * pitch_ + channel / 32;
      lane_ = channel % 32;
    } else {
      pitch_ = shape.channels;
      counts_ = inputs.counts.row(image) + first * pitch_ + channel;
    }
  }
  // A weight, or a gradient, times the input of a place.
  __device__ __forceinline__ s64 times(s32 value, int32_t ix) const {
    if constexpr (input == Conv2dInput::bits)
      return (words_[ix * pitch_] >> lane_ & 1u) != 0 ? value : 0;
    else
      return static_cast<s64>(value) * bounded(counts_[ix * pitch_], bound_);
  }

 private:
  int32_t bound_, lane_ = 0;
  int64_t pitch_;
  const uint32_t* words_ = nullptr;
  const uint8_t* counts_ = nullptr;
};

template <Conv2dInput input>
__global__ void __launch_bounds__(conv2d_threads)
    depthwise_product(const __grid_constant__ Conv2dProductLaunch<float> launch) {
  wait_for_previous();
  const operations::Conv2dShape& shape = launch.shape;
  const auto channels = static_cast<int32_t>(shape.channels);
  const int32_t height = shape.y.n_outputs, width = shape.x.n_outputs;
  const int64_t active = launch.rows.active(), batch = launch.rows.batch,
                n_runs = Run::count(launch.rows.count(), channels, height, width);
  for (int64_t i = first_warp(); i < n_runs; i += all_warps()) {
    const Run run(i, batch, channels, height, width);
    if (run.channel >= channels) continue;
    float* const output =
        launch.output.row(run.image) + (static_cast<int64_t>(run.y) * width + run.x) * channels + run.channel;
    s64 sums[depthwise_places] = {};
    for (int32_t ky = 0; run.image.b < active && ky < shape.y.kernel; ++ky) {
      const int32_t iy = shape.y.input_of(run.y, ky);
      if (iy < 0) continue;
      const InputRow<input> row(launch.inputs, shape, run.image, iy, run.channel);
      const int32_t* const weights =
          static_cast<const int32_t*>(launch.table) + ky * shape.x.kernel * launch.table_pitch + run.channel;
      for (int32_t kx = 0; kx < shape.x.kernel; ++kx) {
        const int32_t weight = weights[kx * launch.table_pitch];
#pragma unroll
        for (int k = 0; k < depthwise_places; ++k) {
          const int32_t ix = shape.x.input_of(run.x + k, kx);
          if (ix >= 0) sums[k] += row.times(weight, ix);
        }
      }
    }
    const float power = power_of_two(launch.grid[run.channel]);
#pragma unroll
    for (int k = 0; k < depthwise_places; ++k) {
      if (run.x + k >= width) break;
      float result = 0;
      if (run.image.b < active)
        result = launch.scale ? from_grid_of_kept(static_cast<float>(sums[k]), power, *launch.scale,
                                                  launch.bias ? launch.bias[run.channel] : 0.0f)
                              : from_grid(sums[k] + launch.bias_on_grid[run.channel], power);
      output[static_cast<int64_t>(k) * channels] = result;
    }
  }
}

// A warp has 32 channels, some rows of places, and taps of one row of the kernel; those of the first row the bias too.
template <Conv2dInput input>
__global__ void __launch_bounds__(conv2d_threads)
    depthwise_weight_sums(const __grid_constant__ Conv2dWeightSumsLaunch launch) {
  wait_for_previous();
  const operations::Conv2dShape& shape = launch.shape;
  const auto channels = static_cast<int32_t>(shape.channels);
  const int64_t active = launch.rows.active(), n_rows = launch.rows.n_steps * active * shape.y.n_outputs,
                across = (channels + 31) / 32, tap_parts = (shape.x.kernel + depthwise_taps - 1) / depthwise_taps,
                n_pieces = (n_rows + launch.places_per_piece - 1) / launch.places_per_piece;
  for (int64_t i = first_warp(); i < n_pieces * across * tap_parts * shape.y.kernel; i += all_warps()) {
    const RowIndex of_channels = row_index(i, across), of_taps = row_index(of_channels.t, tap_parts),
                   of_kernel = row_index(of_taps.t, shape.y.kernel);
    const int32_t channel = static_cast<int32_t>(of_channels.b) * 32 + static_cast<int32_t>(threadIdx.x % 32),
                  first_tap = static_cast<int32_t>(of_taps.b) * depthwise_taps, ky = static_cast<int32_t>(of_kernel.b);
    if (channel >= channels) continue;
    const bool has_bias = ky == 0 && first_tap == 0;
    const GridScale on_grid(
        grid_of_sum(launch.largest[channel], launch.wide ? largest_on_grid_32 : largest_on_grid_24));
    const int64_t first = of_kernel.t * launch.places_per_piece,
                  end = first + launch.places_per_piece < n_rows ? first + launch.places_per_piece : n_rows;
    s64 sums[depthwise_taps] = {}, bias = 0;
    for (int64_t m = first; m < end; ++m) {
      const RowIndex of_image = row_index(m, shape.y.n_outputs), image = row_index(of_image.t, active);
      const auto oy = static_cast<int32_t>(of_image.b);
      const int32_t iy = shape.y.input_of(oy, ky);
      if (iy < 0 && !has_bias) continue;
      const float* const gradients =
          launch.gradients.row(image) + static_cast<int64_t>(oy) * shape.x.n_outputs * channels + channel;
      const InputRow<input> row(launch.inputs, shape, image, iy < 0 ? 0 : iy, channel);
      for (int32_t ox = 0; ox < shape.x.n_outputs; ++ox) {
        const s32 gradient = on_grid(gradients[static_cast<int64_t>(ox) * channels]);
        if (has_bias) bias += gradient;
        if (iy < 0) continue;
#pragma unroll
        for (int k = 0; k < depthwise_taps; ++k) {
          const int32_t kx = first_tap + k, ix = kx < shape.x.kernel ? shape.x.input_of(ox, kx) : -1;
          if (ix >= 0) sums[k] += row.times(gradient, ix);
        }
      }
    }
    int64_t* const total = launch.total + channel * (shape.n_terms() + 1);
    const auto add = [&](int64_t tap, s64 sum) {
      if (sum != 0) atomicAdd(reinterpret_cast<unsigned long long*>(total + tap), static_cast<unsigned long long>(sum));
    };
#pragma unroll
    for (int k = 0; k < depthwise_taps; ++k)
      if (first_tap + k < shape.x.kernel) add(ky * shape.x.kernel + first_tap + k, sums[k]);
    if (has_bias) add(shape.n_terms(), bias);
  }
}

__global__ void __launch_bounds__(conv2d_threads)
    depthwise_input_gradient(const __grid_constant__ Conv2dInputGradientLaunch launch) {
  wait_for_previous();
  const operations::Conv2dShape& shape = launch.shape;
  const auto channels = static_cast<int32_t>(shape.channels);
  const int32_t height = shape.y.n_inputs, width = shape.x.n_inputs;
  const int64_t active = launch.rows.active(), batch = launch.rows.batch,
                n_runs = Run::count(launch.rows.count(), channels, height, width);
  const double factor = launch.kept.mask ? static_cast<double>(*launch.kept.scale) : 1.0;
  for (int64_t i = first_warp(); i < n_runs; i += all_warps()) {
    const Run run(i, batch, channels, height, width);
    if (run.channel >= channels || (run.image.b >= active && launch.add)) continue;
    const int64_t image = run.image.t * batch + run.image.b,
                  first = (static_cast<int64_t>(run.y) * width + run.x) * channels + run.channel;
    float* const to = launch.grad_input.row(run.image) + first;
    const s32 grid = run.image.b < active ? launch.row_grid[image] : 0;
    const bool finite = grid != operations::conv2d_not_finite;
    const int32_t* const weights = launch.weights + run.channel * launch.weights_pitch;
    s64 sums[depthwise_places] = {};
    for (int32_t ky = 0; run.image.b < active && finite && ky < shape.y.kernel; ++ky) {
      const int32_t oy = shape.y.output_of(run.y, ky);
      if (oy < 0) continue;
      const int32_t* const gradients = launch.on_grid + image * shape.n_outputs() +
                                       static_cast<int64_t>(oy) * shape.x.n_outputs * channels + run.channel;
      for (int32_t kx = 0; kx < shape.x.kernel; ++kx) {
        const int32_t weight = weights[ky * shape.x.kernel + kx];
#pragma unroll
        for (int k = 0; k < depthwise_places; ++k) {
          const int32_t ox = shape.x.output_of(run.x + k, kx);
          if (ox >= 0) sums[k] += static_cast<s64>(gradients[static_cast<int64_t>(ox) * channels]) * weight;
        }
      }
    }
#pragma unroll
    for (int k = 0; k < depthwise_places; ++k) {
      if (run.x + k >= width) break;
      const int64_t step = static_cast<int64_t>(k) * channels;
      const bool counts = run.image.b < active;
      const bool dropped = counts && launch.kept.mask &&
                           !operations::has_bit(launch.kept.mask + run.image.b * launch.kept.n_words, first + step);
      const float gradient = !counts || dropped ? 0.0f
                             : !finite          ? from_bits(0x7FC00000u)
                                                : from_wide_grid(sums[k], grid, factor);
      to[step] = launch.add ? to[step] + gradient : gradient;
    }
  }
}

}  // namespace

const void* depthwise_product_kernel(Conv2dInput input) {
  return input == Conv2dInput::bits ? address(depthwise_product<Conv2dInput::bits>)
                                    : address(depthwise_product<Conv2dInput::counts>);
}
const void* depthwise_weight_sums_kernel(Conv2dInput input) {
  return input == Conv2dInput::bits ? address(depthwise_weight_sums<Conv2dInput::bits>)
                                    : address(depthwise_weight_sums<Conv2dInput::counts>);
}
const void* depthwise_input_gradient_kernel() {
  return address(depthwise_input_gradient);
}

}  // namespace synfire::cuda

#include "conv2d_kernels.hpp"
#include "conv2d_results.hpp"

#include <backends/cuda/grid_scale.cuh>
#include <operations/spikes/blocks.cuh>
#include <synapses/passes/input_numbers.cuh>

#include <synfire/model/grid.hpp>

namespace synfire::cuda {
namespace {

using namespace synfire::model;
using operations::bounded;

template <class R>
__device__ __forceinline__ void write_gradient(R& to, R gradient, bool add) {
  to = add ? to + gradient : gradient;
}

// An input of an image as a number.
template <class R>
__device__ __forceinline__ R number_of(const Conv2dInputs& inputs, RowIndex image, int64_t i) {
  if (inputs.counts.data) return static_cast<R>(bounded(inputs.counts.row(image)[i], inputs.bound));
  return number<R>(inputs.numbers, image, i);
}

// Active images, one after the other.
struct Images {
  int64_t active, count;

  __device__ __forceinline__ explicit Images(const SequenceRows& rows)
      : active(rows.active()), count(rows.n_steps * active) {}
  __device__ __forceinline__ RowIndex at(int64_t image) const { return row_index(image, active); }
};

// ---- products -------------------------------------------------------------------------------------------------------

template <class R, Conv2dInput input>
__global__ void __launch_bounds__(threads_per_block)
    conv2d_product(const __grid_constant__ Conv2dProductLaunch<R> launch) {
  wait_for_previous();
  const Conv2dShape& shape = launch.shape;
  const int64_t active = launch.rows.active(), n_outputs = shape.n_outputs(), count = launch.rows.count() * n_outputs;
  for (int64_t i = first_element(); i < count; i += stride()) {
    const RowIndex at = row_index(i, n_outputs);  // of [T * B, n_outputs]
    const RowIndex image = row_index(at.t, launch.rows.batch), element = row_index(at.b, shape.output_channels);
    const int64_t place = element.t, o = element.b;
    R result = R(0);
    if (image.b < active) {
      if constexpr (input == Conv2dInput::numbers) {
        const double total = operations::sum_of_numbers<R>(
            shape, [&](int64_t k) { return number_of<R>(launch.inputs, image, k); },
            static_cast<const R*>(launch.table) + o, launch.table_pitch, place, o);
        const double scale = launch.scale ? static_cast<double>(*launch.scale) : 1.0;
        result = static_cast<R>(!launch.bias   ? total * scale
                                : launch.scale ? fma(total, scale, static_cast<double>(launch.bias[o]))
                                               : total + static_cast<double>(launch.bias[o]));
      } else {
        const int32_t* const column = static_cast<const int32_t*>(launch.table) + o;
        int64_t sum;
        if constexpr (input == Conv2dInput::bits)
          sum = operations::sum_of_spikes(shape, launch.inputs.bits.row(image), column, launch.table_pitch, place, o);
        else
          sum = operations::sum_of_counts(shape, launch.inputs.counts.row(image), launch.inputs.bound, column,
                                          launch.table_pitch, place, o);
        const float power = power_of_two(launch.grid[o]);
        result = launch.scale ? from_grid_of_kept(static_cast<float>(sum), power, static_cast<float>(*launch.scale),
                                                  launch.bias ? static_cast<float>(launch.bias[o]) : 0.0f)
                              : from_grid(sum + launch.bias_on_grid[o], power);
      }
    }
    launch.output.row(image)[at.b] = result;
  }
}

// ---- patches --------------------------------------------------------------------------------------------------------

__global__ void conv2d_active_places(const __grid_constant__ Conv2dActivePlacesLaunch launch) {
  wait_for_previous();
  const int64_t active = launch.rows.active();
  for (int64_t i = first_element(); i < launch.n_parts; i += stride())
    launch.active[i] = static_cast<uint32_t>(operations::images_of_part(active, i * launch.n_images, launch.n_images) *
                                             launch.n_places);
}

// Word `word` of place m of all images.
__device__ __forceinline__ uint32_t patch_word(const Conv2dPatchLaunch& launch, int64_t m, int64_t word) {
  const RowIndex place = row_index(m, launch.shape.places());
  return operations::word_of_patch(launch.shape, launch.bits.row(row_index(place.t, launch.rows.batch)), place.b, word);
}

__global__ void __launch_bounds__(threads_per_block) conv2d_patches(const __grid_constant__ Conv2dPatchLaunch launch) {
  wait_for_previous();
  const int64_t count = launch.rows.count() * launch.shape.places() * launch.row_words;
  for (int64_t i = first_element(); i < count; i += stride()) {
    const RowIndex at = row_index(i, launch.row_words);
    launch.patches[i] = patch_word(launch, at.t, at.b);
  }
}

__global__ void __launch_bounds__(patch_threads)
    conv2d_packed_patches(const __grid_constant__ Conv2dPatchLaunch launch) {
  wait_for_previous();
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int64_t warp = (static_cast<int64_t>(blockIdx.x) * patch_threads + threadIdx.x) / 32,
                n_warps = static_cast<int64_t>(gridDim.x) * (patch_threads / 32);
  const int64_t n_places = launch.rows.count() * launch.shape.places();
  for (int64_t i = warp; i < launch.n_words * launch.row_words; i += n_warps) {
    const int64_t word = i / launch.row_words, column = i % launch.row_words, m = word * 32 + lane;
    const uint32_t found = m < n_places ? patch_word(launch, m, column) : 0;
    launch.patches[word * launch.pitch + column * 32 + lane] = transposed(found);
  }
}

// ---- gradients of weights -------------------------------------------------------------------------------------------

constexpr int n_warps = conv2d_threads / 32;

__global__ void __launch_bounds__(conv2d_threads) conv2d_largest(const __grid_constant__ Conv2dLargestLaunch launch) {
  wait_for_previous();
  __shared__ uint32_t found[n_warps][32];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const Images images(launch.rows);
  const int64_t n_places = images.count * launch.n_places, across = (launch.n_channels + 31) / 32,
                n_pieces = across * ((n_places + launch.places_per_piece - 1) / launch.places_per_piece);
  for (int64_t piece = blockIdx.x; piece < n_pieces; piece += gridDim.x) {
    const int64_t channel = piece % across * 32 + lane, first = piece / across * launch.places_per_piece,
                  end = first + launch.places_per_piece < n_places ? first + launch.places_per_piece : n_places;
    uint32_t most = 0;
    if (channel < launch.n_channels)
      for (int64_t m = first + warp; m < end; m += n_warps) {
        const RowIndex place = row_index(m, launch.n_places);
        const uint32_t magnitude =
            magnitude_bits(launch.images.row(images.at(place.t))[place.b * launch.n_channels + channel]);
        most = magnitude > most ? magnitude : most;
      }
    __syncthreads();  // wait until the previous ones have been read
    found[warp][lane] = most;
    __syncthreads();
    if (warp != 0 || channel >= launch.n_channels) continue;
    for (int w = 1; w < n_warps; ++w) most = found[w][lane] > most ? found[w][lane] : most;
    if (most != 0) atomicMax(launch.largest + channel, most);
  }
}

__device__ __forceinline__ void add_to(int64_t* total, int64_t value) {
  if (value != 0) atomicAdd(reinterpret_cast<unsigned long long*>(total), static_cast<unsigned long long>(value));
}

template <Conv2dInput input>
__device__ __forceinline__ int64_t input_on_grid(const Conv2dWeightSumsLaunch& launch, RowIndex image, int64_t i,
                                                 s32 grid) {
  if constexpr (input == Conv2dInput::bits)
    return operations::bits_at(launch.inputs.bits.row(image), i, 1);
  else if constexpr (input == Conv2dInput::counts)
    return bounded(launch.inputs.counts.row(image)[i], launch.inputs.bound);
  else
    return on_grid(number<float>(launch.inputs.numbers, image, i), grid);
}

template <Conv2dInput input>
__global__ void __launch_bounds__(conv2d_threads)
    conv2d_weight_sums(const __grid_constant__ Conv2dWeightSumsLaunch launch) {
  wait_for_previous();
  const Conv2dShape& shape = launch.shape;
  const Images images(launch.rows);
  const int64_t n_terms = shape.n_terms(), n_places = images.count * shape.places();
  const int64_t output_tiles = (shape.output_channels + 31) / 32, term_tiles = (n_terms + 1 + n_warps - 1) / n_warps,
                tiles = output_tiles * term_tiles,
                n_pieces = tiles * ((n_places + launch.places_per_piece - 1) / launch.places_per_piece);
  for (int64_t piece = blockIdx.x; piece < n_pieces; piece += gridDim.x) {
    const int64_t tile = piece % tiles, o = tile % output_tiles * 32 + threadIdx.x % 32,
                  k = tile / output_tiles * n_warps + threadIdx.x / 32, first = piece / tiles * launch.places_per_piece,
                  end = first + launch.places_per_piece < n_places ? first + launch.places_per_piece : n_places;
    if (o >= shape.output_channels || k > n_terms) continue;
    const s32 grid = grid_of_sum(launch.largest[o], launch.wide ? largest_on_grid_32 : largest_on_grid_24);
    s32 input_grid = 0;
    if (input == Conv2dInput::numbers && k < n_terms)
      input_grid = grid_of_sum(
          launch.largest_inputs[o / shape.group_outputs() * shape.group_inputs() + k % shape.group_inputs()],
          largest_on_grid_24);
    int64_t sum = 0;
    for (int64_t m = first; m < end; ++m) {
      const RowIndex place = row_index(m, shape.places());
      const RowIndex image = images.at(place.t);
      int64_t x = 1;
      if (k < n_terms) {
        const int64_t i = operations::input_of_term(shape, place.b, o, k);
        x = i < 0 ? 0 : input_on_grid<input>(launch, image, i, input_grid);
      }
      if (x != 0) sum += on_grid(launch.gradients.row(image)[place.b * shape.output_channels + o], grid) * x;
    }
    const int64_t at = o * (n_terms + 1) + k;
    if constexpr (input == Conv2dInput::numbers) {
      add_to(launch.total + at, high_part(sum));
      add_to(launch.low + at, low_part(sum));
    } else {
      add_to(launch.total + at, sum);
    }
  }
}

__global__ void __launch_bounds__(threads_per_block) conv2d_finish(const __grid_constant__ Conv2dFinishLaunch launch) {
  wait_for_previous();
  const Conv2dShape& shape = launch.shape;
  const int64_t n_terms = shape.n_terms(), count = shape.output_channels * (n_terms + 1);
  const u32 most = launch.wide ? largest_on_grid_32 : largest_on_grid_24;
  for (int64_t i = first_element(); i < count; i += stride()) {
    const RowIndex at = row_index(i, n_terms + 1);
    const int64_t o = at.t, k = at.b;
    if (k == n_terms && !launch.bias_gradient) continue;
    bool finite = is_finite_magnitude(launch.largest[o]);
    s32 grid = grid_of_sum(launch.largest[o], most);
    if (launch.low && k < n_terms) {
      const u32 of_input =
          launch.largest_inputs[o / shape.group_outputs() * shape.group_inputs() + k % shape.group_inputs()];
      finite = finite && is_finite_magnitude(of_input);
      grid += grid_of_sum(of_input, largest_on_grid_24);
    }
    const double factor = k < n_terms ? launch.factor : 1.0,
                 of_kept = k < n_terms && launch.scale ? static_cast<double>(*launch.scale) : 1.0;
    float gradient = from_bits(0x7FC00000u);
    if (k < n_terms && !operations::is_connected(shape, launch.mask, o, k))
      gradient = 0;
    else if (finite)
      gradient = launch.low ? from_parts(launch.total[i], launch.low[i], grid, of_kept)
                            : from_wide_grid(launch.total[i], grid, of_kept, factor);
    write_gradient(k < n_terms ? launch.weight_gradient[o * n_terms + k] : launch.bias_gradient[o], gradient,
                   launch.add);
  }
}

__global__ void __launch_bounds__(threads_per_block)
    conv2d_ordered_gradient(const __grid_constant__ Conv2dOrderedGradientLaunch launch) {
  wait_for_previous();
  const Conv2dShape& shape = launch.shape;
  const Images images(launch.rows);
  const int64_t n_terms = shape.n_terms(), count = shape.output_channels * (n_terms + 1), n_places = shape.places();
  for (int64_t e = first_element(); e < count; e += stride()) {
    const RowIndex at = row_index(e, shape.output_channels);  // of [K + 1, N]
    const int64_t k = at.t, o = at.b;
    if (k == n_terms && !launch.bias_gradient) continue;
    operations::OrderedSum<double> sum;
    for (int64_t m = 0; m < images.count; ++m) {
      const RowIndex image = images.at(m);
      for (int64_t place = 0; place < n_places; ++place) {
        double x = 1;
        if (k < n_terms) {
          const int64_t i = operations::input_of_term(shape, place, o, k);
          x = i < 0 ? 0.0 : number_of<double>(launch.inputs, image, i);
        }
        sum.add(launch.gradients.row(image)[place * shape.output_channels + o], x);
      }
    }
    if (k < n_terms)
      write_gradient(launch.weight_gradient[o * n_terms + k],
                     operations::is_connected(shape, launch.mask, o, k)
                         ? sum.total() * (launch.scale ? *launch.scale : 1.0) * launch.factor
                         : 0.0,
                     launch.add);
    else
      write_gradient(launch.bias_gradient[o], sum.total(), launch.add);
  }
}

// ---- gradients of inputs --------------------------------------------------------------------------------------------

// The elements of a block's piece of an image, W neighbouring ones of a thread at once: calls f(element, channel).
template <int W, class F>
__device__ __forceinline__ void for_each_of_piece(const Conv2dImageGridLaunch& launch, int64_t piece, F f) {
  const auto n_channels = static_cast<int32_t>(launch.n_channels);
  constexpr int step = conv2d_threads * W;
  const int32_t channel_step = step % n_channels;
  const int64_t first = piece * image_piece + static_cast<int64_t>(threadIdx.x) * W,
                end = (piece + 1) * image_piece < launch.gradients.length ? (piece + 1) * image_piece
                                                                          : launch.gradients.length;
  auto channel = static_cast<int32_t>(core::row_index(first, n_channels).b);
#pragma unroll 4
  for (int64_t i = first; i < end; i += step) {
    f(i, channel);
    channel += channel_step;
    if (channel >= n_channels) channel -= n_channels;
  }
}
template <class E, int W>
struct alignas(sizeof(E) * W) Neighbours {
  E e[W];
};

template <int W>
__global__ void __launch_bounds__(conv2d_threads)
    conv2d_image_maxima(const __grid_constant__ Conv2dImageGridLaunch launch) {
  wait_for_previous();
  __shared__ unsigned long long found[conv2d_threads / 32];
  const Images images(launch.rows);
  const int64_t n_pieces = launch.pieces_of_image();
  for (int64_t k = blockIdx.x; k < images.count * n_pieces; k += gridDim.x) {
    const RowIndex piece = row_index(k, n_pieces), image = images.at(piece.t);
    const float* const gradients = launch.gradients.row(image);
    unsigned long long largest = 0;
    for_each_of_piece<W>(launch, piece.b, [&](int64_t i, int32_t channel) {
      const auto x = *reinterpret_cast<const Neighbours<float, W>*>(gradients + i);
#pragma unroll
      for (int w = 0; w < W; ++w) {
        const unsigned long long key = operations::largest_key(x.e[w], launch.grid[channel + w]);
        largest = key > largest ? key : largest;
      }
    });
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
      const unsigned long long other = __shfl_xor_sync(0xFFFFFFFFu, largest, apart);
      largest = other > largest ? other : largest;
    }
    __syncthreads();  // wait until the previous ones have been read
    if (threadIdx.x % 32 == 0) found[threadIdx.x / 32] = largest;
    __syncthreads();
    if (threadIdx.x != 0) continue;
    for (int warp = 1; warp < conv2d_threads / 32; ++warp) largest = found[warp] > largest ? found[warp] : largest;
    if (largest != 0)
      atomicMax(reinterpret_cast<unsigned long long*>(launch.largest + image.t * launch.rows.batch + image.b), largest);
  }
}

template <int W>
__global__ void __launch_bounds__(conv2d_threads)
    conv2d_image_integers(const __grid_constant__ Conv2dImageGridLaunch launch) {
  wait_for_previous();
  const Images images(launch.rows);
  const int64_t n_pieces = launch.pieces_of_image();
  for (int64_t k = blockIdx.x; k < images.count * n_pieces; k += gridDim.x) {
    const RowIndex piece = row_index(k, n_pieces), image = images.at(piece.t);
    const int64_t m = image.t * launch.rows.batch + image.b;
    const float* const gradients = launch.gradients.row(image);
    int32_t* const on_grid = launch.on_grid + m * launch.gradients.length;
    const s32 of_image = operations::grid_of_key(launch.largest[m], launch.bits);
    if (piece.b == 0 && threadIdx.x == 0) launch.row_grid[m] = of_image;
    if (of_image == operations::conv2d_not_finite) continue;
    for_each_of_piece<W>(launch, piece.b, [&](int64_t i, int32_t channel) {
      const auto x = *reinterpret_cast<const Neighbours<float, W>*>(gradients + i);
      Neighbours<int32_t, W> integers;
#pragma unroll
      for (int w = 0; w < W; ++w) integers.e[w] = GridScale(of_image - launch.grid[channel + w])(x.e[w]);
      *reinterpret_cast<Neighbours<int32_t, W>*>(on_grid + i) = integers;
    });
  }
}

// Writes one element of the gradient: that of an image that is not active, or of a dropped input, is +0.
template <class R, class Launch, class Gradient>
__device__ __forceinline__ void for_each_input(const Launch& launch, Gradient gradient) {
  const Conv2dShape& shape = launch.shape;
  const int64_t active = launch.rows.active(), n_inputs = shape.n_inputs(), count = launch.rows.count() * n_inputs;
  for (int64_t i = first_element(); i < count; i += stride()) {
    const RowIndex at = row_index(i, n_inputs);
    const RowIndex image = row_index(at.t, launch.rows.batch), element = row_index(at.b, shape.channels);
    R& to = launch.grad_input.row(image)[at.b];
    if (image.b < active)
      write_gradient(to,
                     launch.kept.mask && !operations::has_bit(launch.kept.mask + image.b * launch.kept.n_words, at.b)
                         ? R(0)
                         : gradient(image, at.t, element.t, element.b),
                     launch.add);
    else if (!launch.add)
      to = R(0);
  }
}

template <bool wide>
__global__ void __launch_bounds__(threads_per_block)
    conv2d_input_gradient(const __grid_constant__ Conv2dInputGradientLaunch launch) {
  wait_for_previous();
  const double factor = launch.kept.mask ? static_cast<double>(*launch.kept.scale) : 1.0;
  for_each_input<float>(launch, [&](RowIndex, int64_t image, int64_t place, int64_t c) {
    const s32 grid = launch.row_grid[image];
    return grid == operations::conv2d_not_finite
               ? from_bits(0x7FC00000u)
               : operations::input_gradient_of<wide>(launch.shape, launch.on_grid + image * launch.shape.n_outputs(),
                                                     launch.weights, launch.weights_pitch, place, c, grid, factor);
  });
}

__global__ void __launch_bounds__(threads_per_block)
    conv2d_ordered_input_gradient(const __grid_constant__ Conv2dOrderedInputGradientLaunch launch) {
  wait_for_previous();
  for_each_input<double>(launch, [&](RowIndex image, int64_t, int64_t place, int64_t c) {
    return operations::ordered_input_gradient(launch.shape, launch.gradients.row(image), launch.weights,
                                              launch.weights_pitch, place, c) *
           (launch.kept.mask ? *launch.kept.scale : 1.0);
  });
}

}  // namespace

template <class R>
const void* conv2d_product_kernel(Conv2dInput input) {
  if constexpr (sizeof(R) == sizeof(float)) {
    if (input == Conv2dInput::bits) return address(conv2d_product<R, Conv2dInput::bits>);
    if (input == Conv2dInput::counts) return address(conv2d_product<R, Conv2dInput::counts>);
  }
  return address(conv2d_product<R, Conv2dInput::numbers>);
}
template const void* conv2d_product_kernel<float>(Conv2dInput);
template const void* conv2d_product_kernel<double>(Conv2dInput);

const void* conv2d_active_places_kernel() {
  return address(conv2d_active_places);
}
const void* conv2d_patches_kernel() {
  return address(conv2d_patches);
}
const void* conv2d_packed_patches_kernel() {
  return address(conv2d_packed_patches);
}
const void* conv2d_largest_kernel() {
  return address(conv2d_largest);
}
const void* conv2d_weight_sums_kernel(Conv2dInput input) {
  switch (input) {
    case Conv2dInput::bits:
      return address(conv2d_weight_sums<Conv2dInput::bits>);
    case Conv2dInput::counts:
      return address(conv2d_weight_sums<Conv2dInput::counts>);
    default:
      return address(conv2d_weight_sums<Conv2dInput::numbers>);
  }
}
const void* conv2d_finish_kernel() {
  return address(conv2d_finish);
}
const void* conv2d_ordered_gradient_kernel() {
  return address(conv2d_ordered_gradient);
}
const void* conv2d_image_maxima_kernel(int width) {
  return width == 1 ? address(conv2d_image_maxima<1>) : address(conv2d_image_maxima<4>);
}
const void* conv2d_image_integers_kernel(int width) {
  return width == 1 ? address(conv2d_image_integers<1>) : address(conv2d_image_integers<4>);
}
const void* conv2d_input_gradient_kernel(bool wide) {
  return wide ? address(conv2d_input_gradient<true>) : address(conv2d_input_gradient<false>);
}
const void* conv2d_ordered_input_gradient_kernel() {
  return address(conv2d_ordered_input_gradient);
}

}  // namespace synfire::cuda

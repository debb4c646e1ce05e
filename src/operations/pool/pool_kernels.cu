#include "pool_kernels.hpp"
#include "pool_results.hpp"

#include <backends/cuda/cuda_storage.cuh>

namespace synfire::cuda {
namespace {

// Calls f(t, b, i) for a thread's elements of images of `count` elements.
template <class Launch, class F>
__device__ __forceinline__ void for_each_element(const Launch& launch, int64_t count, F f) {
  const int64_t all = launch.n_steps * launch.batch * count;
  for (int64_t e = first_element(); e < all; e += stride()) {
    const core::RowIndex at = core::row_index(e, count), image = core::row_index(at.t, launch.batch);
    f(image.t, image.b, at.b);
  }
}

__global__ void __launch_bounds__(threads_per_block) pool_words(const __grid_constant__ PoolLaunch launch) {
  wait_for_previous();
  for_each_element(launch, launch.destination.length, [&](int64_t t, int64_t b, int64_t word) {
    launch.destination.image<uint32_t>(t, b)[word] =
        operations::word_of_maxima(launch.shape, launch.source.image<const uint32_t>(t, b), word);
  });
}

__global__ void __launch_bounds__(threads_per_block) pool(const __grid_constant__ PoolLaunch launch) {
  wait_for_previous();
  for_each_element(launch, launch.destination.length,
                   [&](int64_t t, int64_t b, int64_t i) { write_pool(launch, t, b, i); });
}

template <class R>
__global__ void __launch_bounds__(threads_per_block)
    pool_backward(const __grid_constant__ PoolBackwardLaunch<R> launch) {
  wait_for_previous();
  for_each_element(launch, launch.grad_source.length,
                   [&](int64_t t, int64_t b, int64_t i) { write_pool_gradient(launch, t, b, i); });
}

// The bits of four neighbouring channels of an image, which are in one word of each place.
class FourBits {
 public:
  __device__ __forceinline__ FourBits(const uint32_t* words, int64_t channels, int64_t channel)
      : words_(words + channel / 32), pitch_(channels / 32), shift_(static_cast<int>(channel % 32)) {}
  __device__ __forceinline__ uint32_t at(int64_t place) const { return words_[place * pitch_] >> shift_ & 0xFu; }

 private:
  const uint32_t* words_;
  int64_t pitch_;
  int shift_;
};

// A window inside the map: rows and columns.
struct Window {
  int32_t top, bottom, left, right;

  __device__ __forceinline__ Window(const PoolShape& shape, int32_t oy, int32_t ox) {
    const int32_t y = oy * shape.y.stride - shape.y.padding, x = ox * shape.x.stride - shape.x.padding;
    top = y < 0 ? 0 : y;
    left = x < 0 ? 0 : x;
    bottom = y + shape.y.kernel < shape.y.n_inputs ? y + shape.y.kernel : shape.y.n_inputs;
    right = x + shape.x.kernel < shape.x.n_inputs ? x + shape.x.kernel : shape.x.n_inputs;
  }
};

// Which of four channels have their maximum at (y, x), one of the window's places: those that spike there first or,
// where none does, at its first place.
__device__ __forceinline__ uint32_t taken_of_window(const FourBits& bits, const Window& window, int32_t width,
                                                    int32_t y, int32_t x) {
  uint32_t before = 0, own = 0, any = 0;
  for (int32_t iy = window.top; iy < window.bottom; ++iy)
    for (int32_t ix = window.left; ix < window.right; ++ix) {
      const uint32_t found = bits.at(static_cast<int64_t>(iy) * width + ix);
      if (iy == y && ix == x) {
        before = any;
        own = found;
      }
      any |= found;
    }
  return (own & ~before) | (y == window.top && x == window.left ? ~any : 0u);
}

__device__ __forceinline__ void load_four(const float* from, float (&to)[4]) {
  const float4 loaded = *reinterpret_cast<const float4*>(from);
  to[0] = loaded.x;
  to[1] = loaded.y;
  to[2] = loaded.z;
  to[3] = loaded.w;
}
__device__ __forceinline__ void write_four(float* to, const float (&sum)[4], bool add) {
  float before[4] = {};
  if (add) load_four(to, before);
  *reinterpret_cast<float4*>(to) =
      add ? make_float4(before[0] + sum[0], before[1] + sum[1], before[2] + sum[2], before[3] + sum[3])
          : make_float4(sum[0], sum[1], sum[2], sum[3]);
}

// Four neighbouring channels of a place at once: their bits are neighbours in a word.
__global__ void __launch_bounds__(threads_per_block)
    pool_backward_of_four(const __grid_constant__ PoolBackwardLaunch<float> launch) {
  wait_for_previous();
  const PoolShape& shape = launch.shape;
  const int64_t channels = shape.channels;
  const int32_t width = shape.x.n_inputs;
  const auto window_length = static_cast<float>(shape.window());
  for_each_element(launch, shape.n_inputs() / 4, [&](int64_t t, int64_t b, int64_t i) {
    const core::RowIndex at = core::row_index(i, channels / 4), place = core::row_index(at.t, width);
    const int64_t c = at.b * 4;
    const auto y = static_cast<int32_t>(place.t), x = static_cast<int32_t>(place.b);
    const float* const gradients = launch.grad_destination.image<const float>(t, b) + c;
    const bool is_max = launch.result == PoolResult::max;
    const FourBits bits(is_max ? launch.source.image<const uint32_t>(t, b) : nullptr, channels, c);
    float sum[4] = {};
    for (int32_t ky = shape.y.kernel - 1; ky >= 0; --ky) {
      const int32_t oy = shape.y.output_of(y, ky);
      if (oy < 0) continue;
      for (int32_t kx = shape.x.kernel - 1; kx >= 0; --kx) {
        const int32_t ox = shape.x.output_of(x, kx);
        if (ox < 0) continue;
        float gradient[4];
        load_four(gradients + (static_cast<int64_t>(oy) * shape.x.n_outputs + ox) * channels, gradient);
        const uint32_t taken = is_max ? taken_of_window(bits, Window(shape, oy, ox), width, y, x) : 0xFu;
#pragma unroll
        for (int w = 0; w < 4; ++w)
          if ((taken >> w & 1u) != 0)
            sum[w] = sum[w] + (launch.result == PoolResult::mean ? gradient[w] / window_length : gradient[w]);
      }
    }
    write_four(launch.grad_source.image<float>(t, b) + at.t * channels + c, sum, launch.accumulate);
  });
}

// The place of the maximum of a window's values in each of four channels, by its number in the window: the first one,
// replaced by those that are above it, or NaN.
__device__ __forceinline__ void find_maxima(const float* values, int64_t row, int64_t channels, const PoolShape& shape,
                                            int32_t (&found)[4]) {
  float most[4];
  int32_t number = 0;
  for (int32_t ky = 0; ky < shape.y.kernel; ++ky)
    for (int32_t kx = 0; kx < shape.x.kernel; ++kx, ++number) {
      float value[4];
      load_four(values + (ky * row + kx) * channels, value);
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        if (number > 0 && !(value[w] > most[w]) && value[w] == value[w]) continue;
        most[w] = value[w];
        found[w] = number;
      }
    }
}

// The same for windows that lie side by side: a thread has four channels of one, all of whose places it writes. Rows
// and columns that no window has belong to the last one, and have +0.
__global__ void __launch_bounds__(threads_per_block)
    pool_backward_side_by_side(const __grid_constant__ PoolBackwardLaunch<float> launch) {
  wait_for_previous();
  const PoolShape& shape = launch.shape;
  const int64_t channels = shape.channels;
  const int32_t width = shape.x.n_inputs;
  const auto window_length = static_cast<float>(shape.window());
  for_each_element(launch, shape.n_outputs() / 4, [&](int64_t t, int64_t b, int64_t i) {
    const core::RowIndex at = core::row_index(i, channels / 4), place = core::row_index(at.t, shape.x.n_outputs);
    const int64_t c = at.b * 4;
    const auto oy = static_cast<int32_t>(place.t), ox = static_cast<int32_t>(place.b);
    const bool of_values = launch.result == PoolResult::max && launch.from == PoolElements::f32,
               of_bits = launch.result == PoolResult::max && !of_values;
    const FourBits bits(of_bits ? launch.source.image<const uint32_t>(t, b) : nullptr, channels, c);
    float gradient[4];
    load_four(launch.grad_destination.image<const float>(t, b) + at.t * channels + c, gradient);
#pragma unroll
    for (int w = 0; w < 4; ++w)
      if (launch.result == PoolResult::mean) gradient[w] = gradient[w] / window_length;
    const int32_t top = oy * shape.y.kernel, left = ox * shape.x.kernel,
                  bottom = oy + 1 == shape.y.n_outputs ? shape.y.n_inputs : top + shape.y.kernel,
                  right = ox + 1 == shape.x.n_outputs ? shape.x.n_inputs : left + shape.x.kernel;
    // Channels that have not found their maximum; where none spikes, it is the first place.
    uint32_t open = 0xFu, none = 0;
    int32_t maxima[4] = {}, number = 0;
    if (of_values)
      find_maxima(launch.source.image<const float>(t, b) + (static_cast<int64_t>(top) * width + left) * channels + c,
                  width, channels, shape, maxima);
    if (of_bits) {
      uint32_t any = 0;
      for (int32_t iy = top; iy < top + shape.y.kernel; ++iy)
        for (int32_t ix = left; ix < left + shape.x.kernel; ++ix) any |= bits.at(static_cast<int64_t>(iy) * width + ix);
      none = ~any & 0xFu;
    }
    float* const to = launch.grad_source.image<float>(t, b) + c;
    for (int32_t iy = top; iy < bottom; ++iy)
      for (int32_t ix = left; ix < right; ++ix) {
        const int64_t in_map = static_cast<int64_t>(iy) * width + ix;
        const bool inside = iy < top + shape.y.kernel && ix < left + shape.x.kernel;
        uint32_t taken = inside ? 0xFu : 0u;
        if (of_bits && inside) {
          taken = (bits.at(in_map) & open) | none;
          open &= ~taken;
          none = 0;
        }
        if (of_values && inside) {
          taken = 0;
#pragma unroll
          for (int w = 0; w < 4; ++w) taken |= maxima[w] == number ? 1u << w : 0u;
          ++number;
        }
        float sum[4];
#pragma unroll
        for (int w = 0; w < 4; ++w) sum[w] = 0.0f + ((taken >> w & 1u) != 0 ? gradient[w] : 0.0f);
        write_four(to + in_map * channels, sum, launch.accumulate);
      }
  });
}

}  // namespace

const void* pool_words_kernel() {
  return address(pool_words);
}
const void* pool_kernel() {
  return address(pool);
}
template <class R>
const void* pool_backward_kernel() {
  return address(pool_backward<R>);
}
const void* pool_backward_of_four_kernel(bool side_by_side) {
  return side_by_side ? address(pool_backward_side_by_side) : address(pool_backward_of_four);
}
template const void* pool_backward_kernel<float>();
template const void* pool_backward_kernel<double>();

}  // namespace synfire::cuda

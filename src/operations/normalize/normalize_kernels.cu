#include "normalize_kernels.hpp"
#include "normalize_results.hpp"

#include <backends/cuda/cuda_storage.cuh>
#include <backends/cuda/grid_scale.cuh>

namespace synfire::cuda {
namespace {

using namespace synfire::model;
using operations::IntegerSums;
using operations::NormalizeGradientWork;
using operations::NormalizeWork;
using operations::OrderedSums;

constexpr int n_warps = normalize_threads / 32;
// Lines of a warp whose loads are in flight together.
constexpr int lines_together = 4;

// Elements of a thread side by side.
template <class R, int W>
struct alignas(sizeof(R) * W) Elements {
  R e[W];
};
template <int W, class R>
__device__ __forceinline__ Elements<R, W> elements_at(const R* at) {
  return *reinterpret_cast<const Elements<R, W>*>(at);
}

// Lines of a share that a thread takes together: where its elements are. Those that are not there are the first ones of
// all, which can be read.
struct SomeLines {
  int64_t t[lines_together] = {}, b[lines_together] = {}, i[lines_together] = {};
  bool exists[lines_together] = {}, counts[lines_together] = {};

  template <int W, class R>
  __device__ __forceinline__ void load(const operations::Images& images, Elements<R, W> (&to)[lines_together]) const {
#pragma unroll
    for (int u = 0; u < lines_together; ++u) to[u] = elements_at<W>(images.image<const R>(t[u], b[u]) + i[u]);
  }
};

// The columns of a thread, W from `column` on, and its share of the lines.
template <int W>
struct LineShare {
  int64_t tile, share, column, channel;  // the first channel
  bool exists;
  int n_columns, n_channels;  // of the tile

  template <class Launch>
  __device__ __forceinline__ LineShare(const Launch& launch, int64_t piece)
      : tile(piece / launch.n_shares), share(piece - tile * launch.n_shares) {
    constexpr int most = 32 * W;
    const int64_t all = launch.shape.channels, left = launch.period - tile * most;
    column = tile * most + threadIdx.x % 32 * W;
    exists = column < launch.period;
    channel = all < most ? static_cast<uint32_t>(column) % static_cast<uint32_t>(all) : column;
    n_columns = static_cast<int>(left < most ? left : most);
    n_channels = all < most ? static_cast<int>(all) : n_columns;
  }

  // Calls f(SomeLines) for all lines of the thread.
  template <class Launch, class F>
  __device__ __forceinline__ void for_each(const Launch& launch, F f) const {
    if (!exists) return;
    const int64_t n_lines = launch.n_lines, batch = launch.shape.batch, length = launch.shape.image();
    const int64_t rows = launch.counting.rows(batch);
    const int64_t first = share * n_warps + threadIdx.x / 32, step = launch.n_shares * n_warps;
    const int64_t first_image = first / n_lines, step_images = step / n_lines;
    const int64_t dl = step - step_images * n_lines, dt = step_images / batch, db = step_images - dt * batch;
    int64_t l = first - first_image * n_lines, t = first_image / batch, b = first_image - t * batch;
    while (t < launch.shape.n_steps) {
      SomeLines lines;
#pragma unroll
      for (int u = 0; u < lines_together; ++u) {
        const int64_t at = l * launch.period + column;
        if (t < launch.shape.n_steps && at < length) {
          lines.t[u] = t;
          lines.b[u] = b;
          lines.i[u] = at;
          lines.exists[u] = true;
          lines.counts[u] = b < rows && launch.counting.counts(t, b);
        }
        l += dl;
        b += db;
        t += dt;
        if (l >= n_lines) {
          l -= n_lines;
          ++b;
        }
        if (b >= batch) {
          b -= batch;
          ++t;
        }
      }
      f(lines);
    }
  }
};

struct Largest {
  __device__ __forceinline__ u32 operator()(u32 a, u32 b) const { return a > b ? a : b; }
  static __device__ __forceinline__ void write(u32* to, u32 found) {
    if (found != 0) atomicMax(to, found);
  }
};
struct Sum {
  __device__ __forceinline__ int64_t operator()(int64_t a, int64_t b) const { return a + b; }
  static __device__ __forceinline__ void write(int64_t* to, int64_t found) {
    if (found != 0) atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(found));
  }
};

// Joins what the threads found for the columns of each channel, and adds it to the channel's number. Sums of integers
// and maxima have no order.
template <int W, class V, class Join>
__device__ __forceinline__ void add_to_channels(const LineShare<W>& share, V* channels, const V (&values)[W],
                                                Join join) {
  constexpr int most = 32 * W;
  __shared__ V found[n_warps][most];
  __syncthreads();  // wait until the previous ones have been read
#pragma unroll
  for (int w = 0; w < W; ++w) found[threadIdx.x / 32][threadIdx.x % 32 * W + w] = values[w];
  __syncthreads();
  if (static_cast<int>(threadIdx.x) >= share.n_channels) return;
  V joined = V(0);
  for (int column = static_cast<int>(threadIdx.x); column < share.n_columns; column += share.n_channels)
#pragma unroll
    for (int warp = 0; warp < n_warps; ++warp) joined = join(joined, found[warp][column]);
  // A tile has all channels, some of them more than once, or is a part of them.
  const int64_t first = share.n_channels == share.n_columns ? share.tile * most : 0;
  Join::write(channels + first + threadIdx.x, joined);
}

using SumsLaunch = LinesLaunch<IntegerSums>;

template <int W>
__device__ __forceinline__ void take_largest(const SomeLines& lines, const operations::Images& images, u32 (&most)[W]) {
  Elements<float, W> values[lines_together];
  lines.load(images, values);
#pragma unroll
  for (int u = 0; u < lines_together; ++u)
#pragma unroll
    for (int w = 0; w < W; ++w) most[w] = Largest()(most[w], lines.counts[u] ? magnitude_bits(values[u].e[w]) : 0u);
}

template <int W>
__global__ void __launch_bounds__(normalize_threads) channel_maxima(const __grid_constant__ SumsLaunch launch) {
  wait_for_previous();
  const IntegerSums& sums = launch.work;
  for (int64_t piece = blockIdx.x; piece < launch.n_tiles * launch.n_shares; piece += gridDim.x) {
    const LineShare<W> share(launch, piece);
    u32 first[W] = {};
    share.for_each(launch, [&](const SomeLines& lines) { take_largest(lines, sums.first, first); });
    add_to_channels(share, sums.largest[0], first, Largest());
    if (!sums.finds_second()) continue;
    u32 second[W] = {};
    share.for_each(launch, [&](const SomeLines& lines) { take_largest(lines, sums.second, second); });
    add_to_channels(share, sums.largest[1], second, Largest());
  }
}

template <int W>
__global__ void __launch_bounds__(normalize_threads) channel_sums(const __grid_constant__ SumsLaunch launch) {
  wait_for_previous();
  const IntegerSums& sums = launch.work;
  const bool has_products = sums.second.data != nullptr, squares = sums.squares;
  for (int64_t piece = blockIdx.x; piece < launch.n_tiles * launch.n_shares; piece += gridDim.x) {
    const LineShare<W> share(launch, piece);
    GridScale first[W], second[W];
#pragma unroll
    for (int w = 0; w < W; ++w) {
      const int64_t channel = share.exists ? share.channel + w : 0;
      first[w] = GridScale(sums.first_grid(sums.largest[0][channel]));
      second[w] = GridScale(sums.second_grid(sums.largest[sums.finds_second() ? 1 : 0][channel], channel));
    }
    int64_t total[W] = {}, high[W] = {}, low[W] = {};
    share.for_each(launch, [&](const SomeLines& lines) {
      Elements<float, W> values[lines_together], others[lines_together];
      lines.load(sums.first, values);
      if (has_products && !squares) lines.load(sums.second, others);
#pragma unroll
      for (int u = 0; u < lines_together; ++u)
#pragma unroll
        for (int w = 0; w < W; ++w) {
          const s32 a = first[w](lines.counts[u] ? values[u].e[w] : 0.0f);
          total[w] += a;
          if (!has_products) continue;
          const s32 b = squares ? a : second[w](lines.counts[u] ? others[u].e[w] : 0.0f);
          const int64_t product = int64_t{a} * b;
          high[w] += operations::high_of_product(product);
          low[w] += operations::low_of_product(product);
        }
    });
    add_to_channels(share, sums.totals, total, Sum());
    if (!has_products) continue;
    add_to_channels(share, sums.high, high, Sum());
    add_to_channels(share, sums.low, low, Sum());
  }
}

__global__ void __launch_bounds__(threads_per_block) ordered_sums(const __grid_constant__ OrderedSums sums) {
  wait_for_previous();
  for (int64_t channel = first_element(); channel < sums.shape.channels; channel += stride())
    operations::add_in_order(sums, channel);
}

template <class R>
__global__ void __launch_bounds__(threads_per_block) finish_channels(const __grid_constant__ NormalizeWork<R> work) {
  wait_for_previous();
  for (int64_t channel = first_element(); channel < work.sums.shape.channels; channel += stride())
    operations::finish_channel(work, channel);
}
template <class R>
__global__ void __launch_bounds__(threads_per_block)
    finish_gradients(const __grid_constant__ NormalizeGradientWork<R> work) {
  wait_for_previous();
  for (int64_t channel = first_element(); channel < work.sums.shape.channels; channel += stride())
    operations::finish_gradient(work, channel);
}

template <int W, class R>
__device__ __forceinline__ void load_channels(const R* channels, int64_t channel, R (&to)[W]) {
#pragma unroll
  for (int w = 0; w < W; ++w) to[w] = channels[channel + w];
}
template <int W, class R>
__device__ __forceinline__ void store(const operations::Images& images, const SomeLines& lines, int u,
                                      const Elements<R, W>& values) {
  *reinterpret_cast<Elements<R, W>*>(images.image<R>(lines.t[u], lines.b[u]) + lines.i[u]) = values;
}

template <class R, int W>
__global__ void __launch_bounds__(normalize_threads)
    normalize(const __grid_constant__ LinesLaunch<NormalizeWork<R>> launch) {
  wait_for_previous();
  const NormalizeWork<R>& work = launch.work;
  for (int64_t piece = blockIdx.x; piece < launch.n_tiles * launch.n_shares; piece += gridDim.x) {
    const LineShare<W> share(launch, piece);
    if (!share.exists) continue;
    R factor[W], addend[W];
    load_channels(work.factor, share.channel, factor);
    load_channels(work.addend, share.channel, addend);
    share.for_each(launch, [&](const SomeLines& lines) {
      Elements<R, W> y[lines_together];
      lines.load(work.sums.first, y);
#pragma unroll
      for (int u = 0; u < lines_together; ++u) {
        if (!lines.exists[u]) continue;
        Elements<R, W> x;
#pragma unroll
        for (int w = 0; w < W; ++w) x.e[w] = operations::normalized(lines.counts[u], y[u].e[w], factor[w], addend[w]);
        store(work.destination, lines, u, x);
      }
    });
  }
}

template <class R, int W>
__global__ void __launch_bounds__(normalize_threads)
    normalize_backward(const __grid_constant__ LinesLaunch<NormalizeGradientWork<R>> launch) {
  wait_for_previous();
  const NormalizeGradientWork<R>& work = launch.work;
  for (int64_t piece = blockIdx.x; piece < launch.n_tiles * launch.n_shares; piece += gridDim.x) {
    const LineShare<W> share(launch, piece);
    if (!share.exists) continue;
    R factor[W], of_source[W] = {}, constant[W] = {};
    load_channels(work.factor, share.channel, factor);
    if (!work.evaluation) {
      load_channels(work.of_source, share.channel, of_source);
      load_channels(work.constant, share.channel, constant);
    }
    share.for_each(launch, [&](const SomeLines& lines) {
      Elements<R, W> gradient[lines_together], y[lines_together] = {}, before[lines_together] = {};
      lines.load(work.sums.first, gradient);
      if (!work.evaluation) lines.load(work.sums.second, y);
      if (work.accumulate) lines.load(work.grad_source, before);
#pragma unroll
      for (int u = 0; u < lines_together; ++u) {
        if (!lines.exists[u] || (work.accumulate && !lines.counts[u])) continue;
        Elements<R, W> found;
#pragma unroll
        for (int w = 0; w < W; ++w)
          found.e[w] = operations::source_gradient(work, lines.counts[u], gradient[u].e[w], y[u].e[w], before[u].e[w],
                                                   factor[w], of_source[w], constant[w]);
        store(work.grad_source, lines, u, found);
      }
    });
  }
}

}  // namespace

const void* channel_maxima_kernel(int width) {
  return width == 1 ? address(channel_maxima<1>) : address(channel_maxima<normalize_width>);
}
const void* channel_sums_kernel(int width) {
  return width == 1 ? address(channel_sums<1>) : address(channel_sums<normalize_width>);
}
const void* ordered_sums_kernel() {
  return address(ordered_sums);
}
template <class R>
const void* finish_channels_kernel() {
  return address(finish_channels<R>);
}
template <class R>
const void* finish_gradients_kernel() {
  return address(finish_gradients<R>);
}
template <class R>
const void* normalize_kernel(int width) {
  if constexpr (sizeof(R) == sizeof(float))
    if (width != 1) return address(normalize<R, normalize_width>);
  return address(normalize<R, 1>);
}
template <class R>
const void* normalize_backward_kernel(int width) {
  if constexpr (sizeof(R) == sizeof(float))
    if (width != 1) return address(normalize_backward<R, normalize_width>);
  return address(normalize_backward<R, 1>);
}
template const void* finish_channels_kernel<float>();
template const void* finish_channels_kernel<double>();
template const void* finish_gradients_kernel<float>();
template const void* finish_gradients_kernel<double>();
template const void* normalize_kernel<float>(int);
template const void* normalize_kernel<double>(int);
template const void* normalize_backward_kernel<float>(int);
template const void* normalize_backward_kernel<double>(int);

}  // namespace synfire::cuda

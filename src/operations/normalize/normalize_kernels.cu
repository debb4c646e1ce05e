#include "normalize_kernels.hpp"
#include "normalize_results.hpp"

#include <backends/cuda/cuda_storage.cuh>

namespace synfire::cuda {
namespace {

using namespace synfire::model;
using operations::IntegerSums;
using operations::NormalizeGradientWork;
using operations::NormalizeWork;
using operations::OrderedSums;

constexpr int n_warps = normalize_threads / 32;

// The elements of a thread: a column of the period, and every so manieth line.
struct LineShare {
  int64_t tile, slot, column, channel;
  bool exists;
  int n_columns, n_channels;  // of the tile

  template <class Launch>
  __device__ __forceinline__ LineShare(const Launch& launch, int64_t piece)
      : tile(piece / launch.n_slots), slot(piece - tile * launch.n_slots) {
    const int64_t all = launch.shape.channels, left = launch.period - tile * 32;
    column = tile * 32 + threadIdx.x % 32;
    exists = column < launch.period;
    channel = all < 32 ? static_cast<uint32_t>(column) % static_cast<uint32_t>(all) : column;
    n_columns = static_cast<int>(left < 32 ? left : 32);
    n_channels = all < 32 ? static_cast<int>(all) : n_columns;
  }

  // Calls f(t, b, element of the image, whether it counts).
  template <class Launch, class F>
  __device__ __forceinline__ void for_each(const Launch& launch, F f) const {
    if (!exists) return;
    const int64_t n_lines = launch.n_lines, batch = launch.shape.batch, length = launch.shape.image();
    const int64_t rows = launch.counting.rows(batch);
    const int64_t first = slot * n_warps + threadIdx.x / 32, step = launch.n_slots * n_warps;
    const int64_t first_image = first / n_lines, step_images = step / n_lines;
    const int64_t dl = step - step_images * n_lines, dt = step_images / batch, db = step_images - dt * batch;
    int64_t l = first - first_image * n_lines, t = first_image / batch, b = first_image - t * batch;
    while (t < launch.shape.n_steps) {
      const int64_t at = l * launch.period + column;
      if (at < length) f(t, b, at, b < rows && launch.counting.counts(t, b));
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
  }
};

struct Largest {
  __device__ __forceinline__ u32 operator()(u32 a, u32 b) const { return a > b ? a : b; }
};
struct Sum {
  __device__ __forceinline__ int64_t operator()(int64_t a, int64_t b) const { return a + b; }
};

// Joins what the threads found for the columns of a channel; for the first threads, one for each channel of the tile.
template <class V, class Join>
__device__ __forceinline__ V join_channel(const LineShare& share, V value, Join join) {
  __shared__ V found[n_warps][32];
  __syncthreads();  // wait until the previous ones have been read
  found[threadIdx.x / 32][threadIdx.x % 32] = value;
  __syncthreads();
  V joined = V(0);
  if (static_cast<int>(threadIdx.x) < share.n_channels)
    for (int column = static_cast<int>(threadIdx.x); column < share.n_columns; column += share.n_channels)
#pragma unroll
      for (int warp = 0; warp < n_warps; ++warp) joined = join(joined, found[warp][column]);
  return joined;
}
__device__ __forceinline__ bool writes(const LineShare& share) {
  return static_cast<int>(threadIdx.x) < share.n_channels;
}

// The largest of a thread's channel over all slots.
__device__ __forceinline__ u32 largest_of_channel(const LineShare& share, const IntegerSums& sums, int which) {
  __shared__ u32 found[n_warps][32];
  u32 most = 0;
  if (share.exists)
    for (int64_t slot = threadIdx.x / 32; slot < sums.n_slots; slot += n_warps)
      most = Largest()(most, sums.largest[which][slot * sums.shape.channels + share.channel]);
  __syncthreads();  // wait until the previous ones have been read
  found[threadIdx.x / 32][threadIdx.x % 32] = most;
  __syncthreads();
#pragma unroll
  for (int warp = 0; warp < n_warps; ++warp) most = Largest()(most, found[warp][threadIdx.x % 32]);
  return most;
}

using SumsLaunch = LinesLaunch<IntegerSums>;

__global__ void __launch_bounds__(normalize_threads) channel_maxima(const __grid_constant__ SumsLaunch launch) {
  wait_for_previous();
  const IntegerSums& sums = launch.work;
  const bool has_second = sums.finds_second();
  for (int64_t piece = blockIdx.x; piece < launch.n_tiles * launch.n_slots; piece += gridDim.x) {
    const LineShare share(launch, piece);
    u32 first = 0, second = 0;
    share.for_each(launch, [&](int64_t t, int64_t b, int64_t i, bool counts) {
      if (!counts) return;
      first = Largest()(first, magnitude_bits(sums.first.image<const float>(t, b)[i]));
      if (has_second) second = Largest()(second, magnitude_bits(sums.second.image<const float>(t, b)[i]));
    });
    first = join_channel(share, first, Largest());
    second = join_channel(share, second, Largest());
    if (!writes(share)) continue;
    const int64_t at = share.slot * sums.shape.channels + share.channel;
    sums.largest[0][at] = first;
    sums.largest[1][at] = second;
  }
}

__global__ void __launch_bounds__(normalize_threads) channel_sums(const __grid_constant__ SumsLaunch launch) {
  wait_for_previous();
  const IntegerSums& sums = launch.work;
  const bool has_products = sums.second.data != nullptr;
  for (int64_t piece = blockIdx.x; piece < launch.n_tiles * launch.n_slots; piece += gridDim.x) {
    const LineShare share(launch, piece);
    const u32 most = largest_of_channel(share, sums, 0);
    const u32 most_second = sums.finds_second() ? largest_of_channel(share, sums, 1) : most;
    const s32 first_grid = sums.first_grid(most);
    const s32 second_grid = share.exists ? sums.second_grid(most_second, share.channel) : 0;
    int64_t total = 0, high = 0, low = 0;
    share.for_each(launch, [&](int64_t t, int64_t b, int64_t i, bool counts) {
      if (!counts) return;
      const int64_t a = on_grid(sums.first.image<const float>(t, b)[i], first_grid);
      total += a;
      if (!has_products) return;
      const int64_t product = a * on_grid(sums.second.image<const float>(t, b)[i], second_grid);
      high += operations::high_of_product(product);
      low += operations::low_of_product(product);
    });
    total = join_channel(share, total, Sum());
    high = join_channel(share, high, Sum());
    low = join_channel(share, low, Sum());
    if (!writes(share)) continue;
    const int64_t at = share.slot * sums.shape.channels + share.channel;
    sums.totals[at] = total;
    sums.high[at] = high;
    sums.low[at] = low;
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

template <class R>
__global__ void __launch_bounds__(normalize_threads)
    normalize(const __grid_constant__ LinesLaunch<NormalizeWork<R>> launch) {
  wait_for_previous();
  for (int64_t piece = blockIdx.x; piece < launch.n_tiles * launch.n_slots; piece += gridDim.x) {
    const LineShare share(launch, piece);
    if (!share.exists) continue;
    const R factor = launch.work.factor[share.channel], addend = launch.work.addend[share.channel];
    share.for_each(launch, [&](int64_t t, int64_t b, int64_t i, bool counts) {
      operations::write_normalized(launch.work, t, b, i, counts, factor, addend);
    });
  }
}

template <class R>
__global__ void __launch_bounds__(normalize_threads)
    normalize_backward(const __grid_constant__ LinesLaunch<NormalizeGradientWork<R>> launch) {
  wait_for_previous();
  const NormalizeGradientWork<R>& work = launch.work;
  for (int64_t piece = blockIdx.x; piece < launch.n_tiles * launch.n_slots; piece += gridDim.x) {
    const LineShare share(launch, piece);
    if (!share.exists) continue;
    const R factor = work.factor[share.channel];
    const R of_source = work.evaluation ? R(0) : work.of_source[share.channel];
    const R constant = work.evaluation ? R(0) : work.constant[share.channel];
    share.for_each(launch, [&](int64_t t, int64_t b, int64_t i, bool counts) {
      operations::write_source_gradient(work, t, b, i, counts, factor, of_source, constant);
    });
  }
}

}  // namespace

const void* channel_maxima_kernel() {
  return address(channel_maxima);
}
const void* channel_sums_kernel() {
  return address(channel_sums);
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
const void* normalize_kernel() {
  return address(normalize<R>);
}
template <class R>
const void* normalize_backward_kernel() {
  return address(normalize_backward<R>);
}
template const void* finish_channels_kernel<float>();
template const void* finish_channels_kernel<double>();
template const void* finish_gradients_kernel<float>();
template const void* finish_gradients_kernel<double>();
template const void* normalize_kernel<float>();
template const void* normalize_kernel<double>();
template const void* normalize_backward_kernel<float>();
template const void* normalize_backward_kernel<double>();

}  // namespace synfire::cuda

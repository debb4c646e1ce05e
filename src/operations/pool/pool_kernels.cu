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
    const int64_t image = e / count;
    f(image / launch.batch, image % launch.batch, e % count);
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
template const void* pool_backward_kernel<float>();
template const void* pool_backward_kernel<double>();

}  // namespace synfire::cuda

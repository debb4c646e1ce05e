#include "resize_kernels.hpp"
#include "resize_results.hpp"

#include <backends/cuda/cuda_storage.cuh>

namespace synfire::cuda {
namespace {

// Calls f(t, b, i) for a thread's elements of the destination.
template <class F>
__device__ __forceinline__ void for_each_resized(const ResizeLaunch& launch, F f) {
  const int64_t count = launch.destination.length, all = launch.n_steps * launch.batch * count;
  for (int64_t e = first_element(); e < all; e += stride()) {
    const int64_t image = e / count;
    f(image / launch.batch, image % launch.batch, e - image * count);
  }
}

__global__ void __launch_bounds__(threads_per_block) resize_words(const __grid_constant__ ResizeLaunch launch) {
  wait_for_previous();
  for_each_resized(launch, [&](int64_t t, int64_t b, int64_t word) {
    launch.destination.image<uint32_t>(t, b)[word] =
        operations::word_of_copies(launch.shape, launch.source.image<const uint32_t>(t, b), word);
  });
}

template <class E>
__global__ void __launch_bounds__(threads_per_block) resize(const __grid_constant__ ResizeLaunch launch) {
  wait_for_previous();
  for_each_resized(launch, [&](int64_t t, int64_t b, int64_t i) { write_copy<E>(launch, t, b, i); });
}

template <class R>
__global__ void __launch_bounds__(threads_per_block) resize_backward(const __grid_constant__ ResizeLaunch launch) {
  wait_for_previous();
  for_each_resized(launch, [&](int64_t t, int64_t b, int64_t i) { write_sum_of_copies<R>(launch, t, b, i); });
}

}  // namespace

const void* resize_words_kernel() {
  return address(resize_words);
}
template <class E>
const void* resize_kernel() {
  return address(resize<E>);
}
template const void* resize_kernel<uint8_t>();
template const void* resize_kernel<float>();
template const void* resize_kernel<double>();
template <class R>
const void* resize_backward_kernel() {
  return address(resize_backward<R>);
}
template const void* resize_backward_kernel<float>();
template const void* resize_backward_kernel<double>();

}  // namespace synfire::cuda

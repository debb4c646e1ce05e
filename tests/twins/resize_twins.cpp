// One result at a time; what a result is made of is the same code as in the kernels
// (operations/resize/resize_results.hpp).
#include "twin.hpp"

#include <operations/resize/resize_kernels.hpp>
#include <operations/resize/resize_results.hpp>

namespace synfire::cuda {
namespace {

template <class F>
void for_each_element(const ResizeLaunch& launch, int64_t count, F f) {
  for (int64_t t = 0; t < launch.n_steps; ++t)
    for (int64_t b = 0; b < launch.batch; ++b)
      for (int64_t i = 0; i < count; ++i) f(t, b, i);
}

}  // namespace

// Bit by bit.
const void* resize_words_kernel() {
  return twin<ResizeLaunch>({0}, [](const ResizeLaunch& launch) {
    const int64_t channels = launch.shape.channels;
    for_each_element(launch, launch.destination.length,
                     [&](int64_t t, int64_t b, int64_t word) { launch.destination.image<uint32_t>(t, b)[word] = 0; });
    for_each_element(launch, launch.shape.n_outputs(), [&](int64_t t, int64_t b, int64_t i) {
      const int64_t from = launch.shape.source_of(i / channels);
      if (from < 0) return;
      const uint32_t bit =
          operations::bits_at(launch.source.image<const uint32_t>(t, b), from * channels + i % channels, 1);
      launch.destination.image<uint32_t>(t, b)[i / 32] |= bit << i % 32;
    });
  });
}

template <class E>
const void* resize_kernel() {
  return twin<ResizeLaunch>({1, static_cast<int64_t>(sizeof(E))}, [](const ResizeLaunch& launch) {
    for_each_element(launch, launch.destination.length,
                     [&](int64_t t, int64_t b, int64_t i) { write_copy<E>(launch, t, b, i); });
  });
}
template const void* resize_kernel<uint8_t>();
template const void* resize_kernel<float>();
template const void* resize_kernel<double>();

template <class R>
const void* resize_backward_kernel() {
  return twin<ResizeLaunch>({2, static_cast<int64_t>(sizeof(R))}, [](const ResizeLaunch& launch) {
    for_each_element(launch, launch.destination.length,
                     [&](int64_t t, int64_t b, int64_t i) { write_sum_of_copies<R>(launch, t, b, i); });
  });
}
template const void* resize_backward_kernel<float>();
template const void* resize_backward_kernel<double>();

}  // namespace synfire::cuda

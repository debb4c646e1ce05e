// One result at a time; what a result is made of is the same code as in the kernels (operations/pool/pool_results.hpp).
#include "twin.hpp"

#include <operations/pool/pool_kernels.hpp>
#include <operations/pool/pool_results.hpp>

namespace synfire::cuda {
namespace {

template <class Launch, class F>
void for_each_element(const Launch& launch, int64_t count, F f) {
  for (int64_t t = 0; t < launch.n_steps; ++t)
    for (int64_t b = 0; b < launch.batch; ++b)
      for (int64_t i = 0; i < count; ++i) f(t, b, i);
}

}  // namespace

// Bit by bit.
const void* pool_words_kernel() {
  return twin<PoolLaunch>({0}, [](const PoolLaunch& launch) {
    const PoolShape& shape = launch.shape;
    for_each_element(launch, launch.destination.length,
                     [&](int64_t t, int64_t b, int64_t word) { launch.destination.image<uint32_t>(t, b)[word] = 0; });
    for_each_element(launch, shape.n_outputs(), [&](int64_t t, int64_t b, int64_t i) {
      bool any = false;
      operations::for_each_candidate(shape, i / shape.channels, [&](int64_t at) {
        any = any || count_at(launch.source, launch.from, 1, t, b, at * shape.channels + i % shape.channels) != 0;
      });
      launch.destination.image<uint32_t>(t, b)[i / 32] |= static_cast<uint32_t>(any) << i % 32;
    });
  });
}

const void* pool_kernel() {
  return twin<PoolLaunch>({1}, [](const PoolLaunch& launch) {
    for_each_element(launch, launch.destination.length,
                     [&](int64_t t, int64_t b, int64_t i) { write_pool(launch, t, b, i); });
  });
}

template <class R>
const void* pool_backward_kernel() {
  return twin<PoolBackwardLaunch<R>>({}, [](const PoolBackwardLaunch<R>& launch) {
    for_each_element(launch, launch.grad_source.length,
                     [&](int64_t t, int64_t b, int64_t i) { write_pool_gradient(launch, t, b, i); });
  });
}
const void* pool_backward_of_four_kernel(bool) {
  return pool_backward_kernel<float>();
}
template const void* pool_backward_kernel<float>();
template const void* pool_backward_kernel<double>();

}  // namespace synfire::cuda

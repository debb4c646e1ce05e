// Single results of upsampling, borders and their gradients, as kernels compute them and their twins do too.
#ifndef SYNFIRE_OPERATIONS_RESIZE_RESIZE_RESULTS_HPP
#define SYNFIRE_OPERATIONS_RESIZE_RESIZE_RESULTS_HPP

#include "resize_kernels.hpp"

namespace synfire::cuda {

template <class E>
SYNFIRE_MODEL_FN void write_copy(const ResizeLaunch& launch, int64_t t, int64_t b, int64_t i) {
  const int64_t channels = launch.shape.channels, from = launch.shape.source_of(i / channels);
  launch.destination.image<E>(t, b)[i] =
      from < 0 ? E(0) : launch.source.image<const E>(t, b)[from * channels + i % channels];
}

template <class R>
SYNFIRE_MODEL_FN void write_sum_of_copies(const ResizeLaunch& launch, int64_t t, int64_t b, int64_t i) {
  const int64_t channels = launch.shape.channels, c = i % channels;
  const R* const gradients = launch.source.image<const R>(t, b);
  R sum = 0;
  operations::for_each_copy(launch.shape, i / channels,
                            [&](int64_t copy) { sum = sum + gradients[copy * channels + c]; });
  R& to = launch.destination.image<R>(t, b)[i];
  to = launch.accumulate ? to + sum : sum;
}

}  // namespace synfire::cuda

#endif

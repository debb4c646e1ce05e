// Single results of a pool, as kernels compute them and their twins do too.
#ifndef SYNFIRE_OPERATIONS_POOL_POOL_RESULTS_HPP
#define SYNFIRE_OPERATIONS_POOL_POOL_RESULTS_HPP

#include "pool_kernels.hpp"

namespace synfire::cuda {

// Spikes and counts of an image.
SYNFIRE_MODEL_FN int32_t count_at(const Images& images, PoolElements elements, int32_t bound, int64_t t, int64_t b,
                                  int64_t i) {
  if (elements == PoolElements::bits)
    return static_cast<int32_t>(operations::bits_at(images.image<const uint32_t>(t, b), i, 1));
  return operations::bounded(images.image<const uint8_t>(t, b)[i], bound);
}

template <class R>
SYNFIRE_MODEL_FN void write_pool_of_values(const PoolLaunch& launch, int64_t t, int64_t b, int64_t i) {
  const PoolShape& shape = launch.shape;
  const core::RowIndex at_channel = core::row_index(i, shape.channels);
  const int64_t place = at_channel.t, c = at_channel.b;
  const R* const values = launch.source.image<const R>(t, b);
  const auto read = [&](int64_t at) { return values[at * shape.channels + c]; };
  R result;
  if (launch.result == PoolResult::max) {
    result = read(operations::place_of_maximum(shape, place, read));
  } else {
    result = operations::sum_of_window(shape, place, read);
    if (launch.result == PoolResult::mean) result = result / static_cast<R>(shape.window());
  }
  launch.destination.image<R>(t, b)[i] = result;
}

SYNFIRE_MODEL_FN void write_pool_of_counts(const PoolLaunch& launch, int64_t t, int64_t b, int64_t i) {
  const PoolShape& shape = launch.shape;
  const core::RowIndex at_channel = core::row_index(i, shape.channels);
  const int64_t place = at_channel.t, c = at_channel.b;
  const auto read = [&](int64_t at) {
    return count_at(launch.source, launch.from, launch.bound, t, b, at * shape.channels + c);
  };
  const int32_t count = launch.result == PoolResult::max ? read(operations::place_of_maximum(shape, place, read))
                                                         : operations::sum_of_window(shape, place, read);
  if (launch.to == PoolElements::counts) {
    launch.destination.image<uint8_t>(t, b)[i] = static_cast<uint8_t>(count);
    return;
  }
  const auto sum = static_cast<float>(count);
  launch.destination.image<float>(t, b)[i] =
      launch.result == PoolResult::mean ? sum / static_cast<float>(shape.window()) : sum;
}

SYNFIRE_MODEL_FN void write_pool(const PoolLaunch& launch, int64_t t, int64_t b, int64_t i) {
  if (launch.from == PoolElements::f32)
    write_pool_of_values<float>(launch, t, b, i);
  else if (launch.from == PoolElements::f64)
    write_pool_of_values<double>(launch, t, b, i);
  else
    write_pool_of_counts(launch, t, b, i);
}

// The place of the maximum of an output's window.
template <class R>
SYNFIRE_MODEL_FN int64_t place_of_maximum(const PoolBackwardLaunch<R>& launch, int64_t t, int64_t b, int64_t place,
                                          int64_t c) {
  const PoolShape& shape = launch.shape;
  switch (launch.from) {
    case PoolElements::f32: {
      const float* const values = launch.source.template image<const float>(t, b);
      return operations::place_of_maximum(shape, place, [&](int64_t at) { return values[at * shape.channels + c]; });
    }
    case PoolElements::f64: {
      const double* const values = launch.source.template image<const double>(t, b);
      return operations::place_of_maximum(shape, place, [&](int64_t at) { return values[at * shape.channels + c]; });
    }
    default:
      return operations::place_of_maximum(shape, place, [&](int64_t at) {
        return count_at(launch.source, launch.from, launch.bound, t, b, at * shape.channels + c);
      });
  }
}

template <class R>
SYNFIRE_MODEL_FN void write_pool_gradient(const PoolBackwardLaunch<R>& launch, int64_t t, int64_t b, int64_t i) {
  const PoolShape& shape = launch.shape;
  const core::RowIndex at_channel = core::row_index(i, shape.channels);
  const int64_t place = at_channel.t, c = at_channel.b;
  const R* const gradients = launch.grad_destination.template image<const R>(t, b);
  R sum = 0;
  operations::for_each_window(shape, place, [&](int64_t window) {
    const R gradient = gradients[window * shape.channels + c];
    if (launch.result == PoolResult::max) {
      if (place_of_maximum(launch, t, b, window, c) == place) sum = sum + gradient;
    } else {
      sum = sum + (launch.result == PoolResult::mean ? gradient / static_cast<R>(shape.window()) : gradient);
    }
  });
  R& to = launch.grad_source.template image<R>(t, b)[i];
  to = launch.accumulate ? to + sum : sum;
}

}  // namespace synfire::cuda

#endif

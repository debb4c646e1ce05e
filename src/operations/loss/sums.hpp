// Sums over the samples of a loss on the host, in the order of model/reduction.hpp; also for the kernels' twins.
#ifndef SYNFIRE_OPERATIONS_LOSS_SUMS_HPP
#define SYNFIRE_OPERATIONS_LOSS_SUMS_HPP

#include "arithmetic.hpp"

#include <synfire/model/lane_sum.hpp>

#include <algorithm>

namespace synfire::operations {
inline namespace SYNFIRE_MODEL_LEVEL {

// The divisor's shares of a chunk of samples, and how many of them count.
inline void weigh_chunk(const LossArguments& a, int64_t chunk, double& weight, double& count) {
  double shares[model::reduction_chunk], ones[model::reduction_chunk];
  const int64_t first = chunk * model::reduction_chunk;
  const int64_t length = std::min<int64_t>(a.n_samples - first, model::reduction_chunk);
  for (int64_t i = 0; i < length; ++i) {
    const LossSample s = sample_at(a, first + i);
    shares[i] = divisor_share(a, s);
    ones[i] = s.counts ? 1 : 0;
  }
  weight = model::lane_sum(shares, length);
  count = model::lane_sum(ones, length);
}

template <class R>
double sum_chunk(const LossArguments& a, const R* losses, int64_t chunk) {
  double values[model::reduction_chunk];
  const int64_t first = chunk * model::reduction_chunk;
  const int64_t length = std::min<int64_t>(a.n_samples - first, model::reduction_chunk);
  for (int64_t i = 0; i < length; ++i) values[i] = static_cast<double>(losses[first + i]);
  return model::lane_sum(values, length);
}

// The weights of all classes, for the mean of squared errors.
inline double all_class_weights(const LossArguments& a) {
  if (!a.squared || !a.class_weights) return static_cast<double>(a.n_classes);
  double chunks[model::reduction_lanes] = {}, values[model::reduction_chunk];
  for (uint64_t first = 0, chunk = 0; first < a.n_classes; first += model::reduction_chunk, ++chunk) {
    const auto length = std::min<uint64_t>(a.n_classes - first, model::reduction_chunk);
    for (uint64_t i = 0; i < length; ++i) values[i] = static_cast<double>(a.class_weights[first + i]);
    chunks[chunk % model::reduction_lanes] += model::lane_sum(values, static_cast<int64_t>(length));
  }
  return model::lane_sum(chunks, model::reduction_lanes);
}

}  // namespace SYNFIRE_MODEL_LEVEL
}  // namespace synfire::operations

#endif

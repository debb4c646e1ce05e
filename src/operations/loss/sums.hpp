// Sums over the samples of a loss on the host and in twins, in the order of model/reduction.hpp.
#ifndef SYNFIRE_OPERATIONS_LOSS_SUMS_HPP
#define SYNFIRE_OPERATIONS_LOSS_SUMS_HPP

#include "loss_arithmetic.hpp"

#include <synfire/model/lane_sum.hpp>

#include <algorithm>

namespace synfire::operations {
inline namespace SYNFIRE_MODEL_LEVEL {

// Sums the divisor's shares of a chunk of samples and counts them.
inline void weigh_chunk(const LossArguments& a, int64_t chunk, double& weight, double& count) {
  model::LaneSum shares, ones;
  const int64_t first = chunk * model::reduction_chunk;
  const int64_t length = std::min<int64_t>(a.n_samples - first, model::reduction_chunk);
  for (int64_t i = 0; i < length; ++i) {
    const LossSample s = sample_at(a, first + i);
    shares.add(divisor_share(a, s));
    ones.add(s.counts ? 1 : 0);
  }
  weight = shares.total();
  count = ones.total();
}

template <class R>
double sum_chunk(const LossArguments& a, const R* losses, int64_t chunk) {
  model::LaneSum sum;
  const int64_t first = chunk * model::reduction_chunk;
  const int64_t length = std::min<int64_t>(a.n_samples - first, model::reduction_chunk);
  for (int64_t i = 0; i < length; ++i) sum.add(static_cast<double>(losses[first + i]));
  return sum.total();
}

// The weights of all classes, for the mean of squared errors.
inline double all_class_weights(const LossArguments& a) {
  if (!a.squared || !a.class_weights) return static_cast<double>(a.n_classes);
  model::LaneSum chunks;
  for (uint64_t first = 0; first < a.n_classes; first += model::reduction_chunk) {
    const auto length = std::min<uint64_t>(a.n_classes - first, model::reduction_chunk);
    model::LaneSum chunk;
    for (uint64_t i = 0; i < length; ++i) chunk.add(static_cast<double>(a.class_weights[first + i]));
    chunks.add(chunk.total());
  }
  return chunks.total();
}

}  // namespace SYNFIRE_MODEL_LEVEL
}  // namespace synfire::operations

#endif

// Sums over the samples of a loss on the host and in twins: of integers in f32, in the order of model/reduction.hpp in
// f64.
#ifndef SYNFIRE_OPERATIONS_LOSS_SUMS_HPP
#define SYNFIRE_OPERATIONS_LOSS_SUMS_HPP

#include "loss_arithmetic.hpp"

#include <synfire/model/lane_sum.hpp>

#include <algorithm>

namespace synfire::operations {
inline namespace SYNFIRE_MODEL_LEVEL {

// ---- f32: the samples from `first` on, before `end` -----------------------------------------------------------------

inline uint32_t largest_share(const LossArguments& a, int64_t first, int64_t end) {
  uint32_t largest = 0;
  for (int64_t i = first; i < end; ++i)
    largest = std::max<uint32_t>(largest, model::magnitude_bits(share_of_sample(a, sample_at(a, i))));
  return largest;
}
inline LossShares sum_shares(const LossArguments& a, uint32_t largest, int64_t first, int64_t end) {
  LossShares shares = {largest, 0, 0};
  for (int64_t i = first; i < end; ++i) {
    const LossSample s = sample_at(a, i);
    if (is_weighted(a)) shares.sum += share_term(share_of_sample(a, s), largest);
    shares.count += s.counts ? 1 : 0;
  }
  return shares;
}
// One slot is enough without blocks; the others are 0.
inline void write_largest_share(const LossSums& sums, uint32_t largest) {
  std::fill_n(sums.largest_share, sums.n_slots, 0u);
  *sums.largest_share = largest;
}
inline void write_shares(const LossSums& sums, int64_t sum, int64_t count) {
  std::fill_n(sums.shares, 2 * sums.n_slots, 0);
  sums.shares[0] = sum;
  sums.shares[sums.n_slots] = count;
}
inline uint32_t largest_of_slots(const LossArguments& a, const LossSums& sums) {
  return is_weighted(a) ? *std::max_element(sums.largest_share, sums.largest_share + sums.n_slots) : 0;
}
inline LossShares shares_of_slots(const LossArguments& a, const LossSums& sums) {
  LossShares shares = {largest_of_slots(a, sums), 0, 0};
  for (int64_t slot = 0; slot < sums.n_slots; ++slot) {
    shares.sum += sums.shares[slot];
    shares.count += sums.shares[sums.n_slots + slot];
  }
  return shares;
}
inline uint32_t largest_loss(const float* losses, int64_t first, int64_t end) {
  uint32_t largest = 0;
  for (int64_t i = first; i < end; ++i) largest = std::max<uint32_t>(largest, model::magnitude_bits(losses[i]));
  return largest;
}
inline int64_t sum_losses(const float* losses, uint32_t largest, int64_t first, int64_t end) {
  int64_t sum = 0;
  for (int64_t i = first; i < end; ++i) sum += loss_term(losses[i], largest);
  return sum;
}

// ---- f64 ------------------------------------------------------------------------------------------------------------

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

inline double sum_chunk(const LossArguments& a, const double* losses, int64_t chunk) {
  model::LaneSum sum;
  const int64_t first = chunk * model::reduction_chunk;
  const int64_t length = std::min<int64_t>(a.n_samples - first, model::reduction_chunk);
  for (int64_t i = 0; i < length; ++i) sum.add(losses[first + i]);
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

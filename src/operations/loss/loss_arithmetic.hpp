// The arithmetic of a loss, the same on every backend: which samples count and their weights, the share of a class in
// the loss of its sample, and the results. Sums over the classes of a sample are in the order of model/reduction.hpp,
// in the type of the arithmetic. Sums over samples are integers on 32 bits in f32, and in that order in f64.
#ifndef SYNFIRE_OPERATIONS_LOSS_LOSS_ARITHMETIC_HPP
#define SYNFIRE_OPERATIONS_LOSS_LOSS_ARITHMETIC_HPP

#include "loss_arguments.hpp"

#include <synfire/model/elementary.hpp>
#include <synfire/model/grid.hpp>

namespace synfire::operations {
inline namespace SYNFIRE_MODEL_LEVEL {

// ---- samples --------------------------------------------------------------------------------------------------------

struct LossSample {
  int64_t step, row;
  uint32_t label;  // 0 with targets
  bool active;     // within the row's length and the rows of the batch
  bool invalid;    // active, with a label that is neither a class nor the one to ignore
  bool counts;
};

SYNFIRE_MODEL_FN LossSample sample_at(const LossArguments& a, int64_t index) {
  const auto i = static_cast<uint32_t>(index), batch = static_cast<uint32_t>(a.batch);
  LossSample s = {i / batch, i % batch, 0, true, false, true};
  if (a.lengths) s.active = s.step < a.lengths[s.row];
  if (a.n_active) s.active = s.active && s.row < *a.n_active;
  s.counts = s.active;
  if (!a.labels) return s;
  s.label = a.labels[s.step * a.target_pitch + s.row];
  const bool ignored = a.ignores_label && s.label == a.ignored_label;
  s.counts = s.active && !ignored && s.label < a.n_classes;
  s.invalid = s.active && !ignored && s.label >= a.n_classes;
  return s;
}

SYNFIRE_MODEL_FN float sample_weight(const LossArguments& a, const LossSample& s) {
  return a.sample_weights ? a.sample_weights[s.row] : 1.0f;
}
SYNFIRE_MODEL_FN float class_weight(const LossArguments& a, uint32_t c) {
  return a.class_weights ? a.class_weights[c] : 1.0f;
}

// True if samples weigh differently in the mean.
SYNFIRE_MODEL_FN bool is_weighted(const LossArguments& a) {
  return a.sample_weights || (a.class_weights && a.labels && !a.squared);
}

// The share of a sample in the divisor of the mean: in f32 one f32, in f64 an f64.
SYNFIRE_MODEL_FN float share_of_sample(const LossArguments& a, const LossSample& s) {
  if (!s.counts) return 0;
  const float weight = sample_weight(a, s);
  return a.labels && !a.squared ? weight * class_weight(a, s.label) : weight;
}
SYNFIRE_MODEL_FN double divisor_share(const LossArguments& a, const LossSample& s) {
  if (!s.counts) return 0;
  const double weight = sample_weight(a, s);
  return a.labels && !a.squared ? weight * static_cast<double>(class_weight(a, s.label)) : weight;
}

// ---- one sample -----------------------------------------------------------------------------------------------------

template <class R>
struct LossConstants {
  bool smooths;
  R keep, spread;  // a target y becomes keep * y + spread
  double factor;   // of gradients, before the sample's weight
};

template <class R>
SYNFIRE_MODEL_FN LossConstants<R> constants_of(const LossArguments& a, double factor) {
  const double smoothing = a.squared ? 0.0 : (a.label_smoothing_value ? *a.label_smoothing_value : a.label_smoothing);
  return {smoothing != 0, static_cast<R>(1 - smoothing), static_cast<R>(smoothing / static_cast<double>(a.n_classes)),
          factor};
}

// The target of class c: 1 for the label, or the given number.
template <class R>
SYNFIRE_MODEL_FN R target_of(const LossArguments& a, const LossSample& s, uint32_t c) {
  if (a.labels) return c == s.label ? R(1) : R(0);
  return static_cast<const R*>(a.targets)[s.step * a.target_pitch + s.row * static_cast<int64_t>(a.n_classes) + c];
}

// The factor of class c in a cross-entropy: its smoothed target times its weight. A target of 0 takes no part.
template <class R>
SYNFIRE_MODEL_FN R share_of(const LossArguments& a, const LossConstants<R>& k, const LossSample& s, uint32_t c) {
  const R smoothed = model::fma(target_of<R>(a, s, c), k.keep, k.spread);
  return smoothed == R(0) ? R(0) : smoothed * static_cast<R>(class_weight(a, c));
}

// The sum of all shares: 1, the weight of the label, or a real sum.
enum class LossMass { one, label, summed };
template <class R>
SYNFIRE_MODEL_FN LossMass mass_of(const LossArguments& a, const LossConstants<R>& k) {
  if (!a.labels) return LossMass::summed;
  if (!a.class_weights) return LossMass::one;
  return k.smooths ? LossMass::summed : LossMass::label;
}

// The log of a softmax's divisor: 1 or more, or NaN.
template <class R>
SYNFIRE_MODEL_FN R log_of_sum(R sum) {
  return sum >= R(1) ? model::logarithm(sum) : sum;
}
template <class R>
SYNFIRE_MODEL_FN R reciprocal_of_sum(R sum) {
  return sum >= R(1) ? model::reciprocal(sum) : sum;
}

// -log of the probability of a class, times its share; `above` is its prediction minus the largest one.
template <class R>
SYNFIRE_MODEL_FN R entropy_term(R share, R log_sum, R above) {
  return share == R(0) ? R(0) : share * (log_sum - above);
}
template <class R>
SYNFIRE_MODEL_FN R squared_term(R weight, R difference) {
  return weight * (difference * difference);
}

// The loss of a sample that does not count: NaN if its label is no class.
template <class R>
SYNFIRE_MODEL_FN R uncounted_loss(const LossSample& s) {
  return s.invalid ? R(__builtin_nan("")) : R(0);
}
// A sample of weight 0 contributes nothing, whatever its predictions are.
template <class R>
SYNFIRE_MODEL_FN R weighted_loss(float weight, R loss) {
  return weight == 0.0f ? R(0) : static_cast<R>(weight) * loss;
}
template <class R>
SYNFIRE_MODEL_FN R gradient_factor(const LossArguments& a, const LossConstants<R>& k, float weight) {
  const double factor = k.factor * static_cast<double>(weight);
  return static_cast<R>(a.squared ? 2 * factor : factor);
}
template <class R>
SYNFIRE_MODEL_FN R entropy_gradient(R factor, R mass, R probability, R share) {
  return factor * model::fma(mass, probability, -share);
}
template <class R>
SYNFIRE_MODEL_FN R squared_gradient(R factor, R weight, R difference) {
  return factor * (weight * difference);
}

// ---- the largest prediction -----------------------------------------------------------------------------------------

template <class R>
struct Largest {
  R value;
  uint32_t at;  // ~0: nothing yet
};
template <class R>
SYNFIRE_MODEL_FN Largest<R> largest_of_none() {
  return {-R(__builtin_huge_val()), 0xFFFFFFFFu};
}
// A NaN is above every number; of equals, the lowest index is taken.
template <class R>
SYNFIRE_MODEL_FN Largest<R> larger(const Largest<R>& a, const Largest<R>& b) {
  const bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
  const bool equal = (a_is_nan && b_is_nan) || a.value == b.value;
  const bool b_above = (b_is_nan && !a_is_nan) || b.value > a.value;
  return b_above || (equal && b.at < a.at) ? b : a;
}

// ---- sums over samples, in f32 --------------------------------------------------------------------------------------

// A loss in the sum of all. Infinite losses are counted if no loss is NaN: positive ones in the low 32 bits, negative
// ones above.
SYNFIRE_MODEL_FN int64_t loss_term(float loss, uint32_t largest) {
  if (model::is_finite_magnitude(largest))
    return model::on_grid(loss, model::grid_of_sum(largest, model::largest_on_grid_32));
  if (model::magnitude_bits(loss) != 0x7F800000u) return 0;
  return loss > 0 ? 1 : int64_t{1} << 32;
}
SYNFIRE_MODEL_FN double loss_of_terms(int64_t sum, uint32_t largest) {
  if (largest != 0x7F800000u) return model::from_sum(sum, largest);
  const double infinity = __builtin_huge_val();
  if ((sum & 0xFFFFFFFF) == 0) return -infinity;
  return sum >> 32 == 0 ? infinity : __builtin_nan("");
}

// A share in the sum of all.
SYNFIRE_MODEL_FN int64_t share_term(float share, uint32_t largest) {
  return model::on_grid(share, model::grid_of_sum(largest, model::largest_on_grid_32));
}

// ---- the results ----------------------------------------------------------------------------------------------------

// The divisor of the sum of the losses. `count` samples count, with shares that add up to `weight`; `all_classes`, the
// sum of the classes' weights, matters to squared errors only.
SYNFIRE_MODEL_FN double divisor_of(const LossArguments& a, double weight, double count, double all_classes) {
  const double samples = is_weighted(a) ? weight : count;
  return a.squared ? samples * all_classes : samples;
}

// The samples give these to the divisor in f32.
struct LossShares {
  uint32_t largest;
  int64_t sum, count;
};
SYNFIRE_MODEL_FN double divisor_of(const LossArguments& a, const LossShares& shares, double all_classes) {
  const double weight = is_weighted(a) ? model::from_sum(shares.sum, shares.largest) : 0;
  return divisor_of(a, weight, static_cast<double>(shares.count), all_classes);
}

SYNFIRE_MODEL_FN double factor_of(const LossArguments& a, double divisor) {
  const double scale = a.gradient_scale_value ? *a.gradient_scale_value : a.gradient_scale;
  if (a.sum) return scale;
  return divisor == 0 ? 0 : scale / divisor;
}

// A network takes it of the sums over several batches.
SYNFIRE_MODEL_FN double mean_of(double sum, double divisor) {
  if (sum != sum) return sum;
  return divisor == 0 ? 0 : sum / divisor;
}

SYNFIRE_MODEL_FN void write_number(void* to, bool is_f64, double number, bool accumulate) {
  if (!to) return;
  if (is_f64) {
    auto* const wide = static_cast<double*>(to);
    *wide = accumulate ? *wide + number : number;
  } else {
    auto* const narrow = static_cast<float*>(to);
    *narrow = static_cast<float>(accumulate ? static_cast<double>(*narrow) + number : number);
  }
}

SYNFIRE_MODEL_FN void write_count(uint32_t* to, uint64_t count, bool accumulate) {
  if (!to) return;
  const uint64_t value = accumulate ? *to + count : count;
  *to = value > 0xFFFFFFFFu ? 0xFFFFFFFFu : static_cast<uint32_t>(value);
}

SYNFIRE_MODEL_FN void write_results(const LossArguments& a, double sum, double divisor, uint64_t n_correct,
                                    uint64_t n_counted) {
  write_number(a.loss, a.loss_is_f64, a.sum ? sum : mean_of(sum, divisor), a.accumulate);
  write_number(a.divisor, a.divisor_is_f64, divisor, a.accumulate);
  write_count(a.n_correct, n_correct, a.accumulate);
  write_count(a.n_counted, n_counted, a.accumulate);
}

}  // namespace SYNFIRE_MODEL_LEVEL
}  // namespace synfire::operations

#endif

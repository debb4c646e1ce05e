// From the sums of a channel to its statistics, coefficients and gradients; one source for host code, kernels and their
// twins.
#ifndef SYNFIRE_OPERATIONS_NORMALIZE_NORMALIZE_ARITHMETIC_HPP
#define SYNFIRE_OPERATIONS_NORMALIZE_NORMALIZE_ARITHMETIC_HPP

#include "channel_sums.hpp"

namespace synfire::operations {

SYNFIRE_MODEL_FN double root_of(double x) {
#if defined(__CUDA_ARCH__)
  return __dsqrt_rn(x);
#else
  return __builtin_sqrt(x);
#endif
}
SYNFIRE_MODEL_FN double not_a_number() {
  return model::from_bits(0x7FF8000000000000ull);
}
SYNFIRE_MODEL_FN bool is_finite_number(double x) {
  return (model::bits_of(x) >> 52 & 0x7FFu) != 0x7FFu;
}

struct ChannelStatistics {
  double mean = 0, variance = 0;
  int64_t n = 0, total = 0;  // elements that count, and the sum of their integers
  s32 grid = 0;
};

// The sum of a channel's products.
SYNFIRE_MODEL_FN WideInteger products_of(const IntegerSums& sums, int64_t channel) {
  return wide_of_parts(sums.high[channel], static_cast<u64>(sums.low[channel]));
}

// `variance` is Q / n^2 and `mean` total / n, Q = n * sum of squares - total^2, on the channel's grid.
SYNFIRE_MODEL_FN ChannelStatistics statistics_of(const IntegerSums& sums, int64_t channel) {
  ChannelStatistics found;
  found.n = sums.n();
  const u32 most = sums.largest[0][channel];
  found.grid = sums.first_grid(most);
  if (found.n == 0) return found;
  if (!model::is_finite_magnitude(most)) {
    found.mean = found.variance = not_a_number();
    return found;
  }
  found.total = sums.totals[channel];
  const WideInteger spread = product_of(products_of(sums, channel), static_cast<u32>(found.n)) -
                             product_of(s64{found.total}, s64{found.total});
  const auto n = static_cast<double>(found.n);
  found.mean = static_cast<double>(found.total) / n * model::wide_power_of_two(found.grid);
  found.variance = double_of(spread) / (n * n) * model::wide_power_of_two(2 * found.grid);
  return found;
}
SYNFIRE_MODEL_FN ChannelStatistics statistics_of(const OrderedSums& sums, int64_t channel) {
  ChannelStatistics found;
  found.n = sums.n();
  if (found.n == 0) return found;
  found.mean = sums.totals[channel] / static_cast<double>(found.n);
  found.variance = sums.products[channel] / static_cast<double>(found.n);
  return found;
}

template <class R>
struct SumsIn;
template <>
struct SumsIn<float> {
  using Type = IntegerSums;
};
template <>
struct SumsIn<double> {
  using Type = OrderedSums;
};

// ---- forward --------------------------------------------------------------------------------------------------------

template <class R>
struct NormalizeWork {
  typename SumsIn<R>::Type sums;
  bool evaluation;
  double epsilon, momentum;
  const R *gamma, *beta;               // [C], may be null
  R *running_mean, *running_variance;  // [C], may be null in a training
  u64* saved;                          // [4, C], may be null
  R *factor, *addend;                  // [C]
  Images destination;
};

template <class R>
SYNFIRE_MODEL_FN void move_statistics(const NormalizeWork<R>& work, int64_t channel, const ChannelStatistics& found) {
  if (!work.running_mean || found.n == 0) return;
  const auto n = static_cast<double>(found.n);
  const double unbiased = found.n == 1 ? found.variance : found.variance * n / (n - 1.0);
  const auto mean = static_cast<double>(work.running_mean[channel]),
             variance = static_cast<double>(work.running_variance[channel]);
  const auto new_mean = static_cast<R>(model::fma(work.momentum, found.mean - mean, mean)),
             new_variance = static_cast<R>(model::fma(work.momentum, unbiased - variance, variance));
  if (!is_finite_number(static_cast<double>(new_mean)) || !is_finite_number(static_cast<double>(new_variance))) return;
  work.running_mean[channel] = new_mean;
  work.running_variance[channel] = new_variance;
}

template <class R>
SYNFIRE_MODEL_FN void finish_channel(const NormalizeWork<R>& work, int64_t channel) {
  ChannelStatistics found;
  if (work.evaluation) {
    found.n = work.sums.n();
    found.mean = static_cast<double>(work.running_mean[channel]);
    found.variance = static_cast<double>(work.running_variance[channel]);
  } else {
    found = statistics_of(work.sums, channel);
    move_statistics(work, channel, found);
  }
  const double r = 1.0 / root_of(found.variance + work.epsilon);
  const auto a = static_cast<R>((work.gamma ? static_cast<double>(work.gamma[channel]) : 1.0) * r);
  work.factor[channel] = a;
  work.addend[channel] = static_cast<R>(
      model::fma(-found.mean, static_cast<double>(a), work.beta ? static_cast<double>(work.beta[channel]) : 0.0));
  if (!work.saved) return;
  const int64_t channels = work.sums.shape.channels;
  work.saved[channel] = model::bits_of(found.mean);
  work.saved[channels + channel] = model::bits_of(r);
  work.saved[2 * channels + channel] = static_cast<u64>(found.total);
  work.saved[3 * channels + channel] = static_cast<u64>(found.n) << 32 | static_cast<u32>(found.grid);
}

// ---- backward -------------------------------------------------------------------------------------------------------

template <class R>
struct NormalizeGradientWork {
  typename SumsIn<R>::Type sums;  // of dL/dX and y
  bool evaluation, has_sums;      // without sums, only dL/dy of an evaluation
  const u64* saved;               // [4, C]
  const R* gamma;                 // [C], may be null
  bool add_gradients;
  R *grad_gamma, *grad_beta;         // [C], may be null
  R *factor, *of_source, *constant;  // [C]: dL/dy = factor * dL/dX + of_source * y + constant
  bool accumulate;
  Images grad_source;  // may be absent
};

// The gradients of a channel's gamma and beta.
struct ChannelGradients {
  double gamma = 0, beta = 0;
};

SYNFIRE_MODEL_FN ChannelGradients gradients_of(const IntegerSums& sums, bool evaluation, int64_t channel, int64_t n,
                                               double mean, double r) {
  ChannelGradients found;
  const u32 most = sums.largest[0][channel];
  const u32 most_second = sums.finds_second() ? sums.largest[1][channel] : 0;
  const int64_t total = sums.totals[channel];
  const s32 grid = sums.first_grid(most), second_grid = sums.second_grid(most_second, channel);
  found.beta =
      model::is_finite_magnitude(most) ? static_cast<double>(total) * model::wide_power_of_two(grid) : not_a_number();
  const bool finite = model::is_finite_magnitude(most) && model::is_finite_magnitude(most_second);
  const WideInteger products = products_of(sums, channel);
  if (!finite) {
    found.gamma = not_a_number();
  } else if (evaluation) {
    found.gamma =
        model::fma(-mean, static_cast<double>(total), double_of(products) * model::wide_power_of_two(second_grid)) * r *
        model::wide_power_of_two(grid);
  } else {
    const auto first = static_cast<int64_t>(sums.saved[2 * sums.shape.channels + channel]);
    const WideInteger spread = product_of(products, static_cast<u32>(n)) - product_of(s64{first}, s64{total});
    found.gamma = double_of(spread) / static_cast<double>(n) * r * model::wide_power_of_two(grid + second_grid);
  }
  return found;
}
SYNFIRE_MODEL_FN ChannelGradients gradients_of(const OrderedSums& sums, bool, int64_t channel, int64_t, double,
                                               double r) {
  return {sums.products[channel] * r, sums.totals[channel]};
}

template <class R>
SYNFIRE_MODEL_FN void write_gradient(R* gradients, int64_t channel, double gradient, bool add) {
  if (!gradients) return;
  const auto found = static_cast<R>(gradient);
  gradients[channel] = add ? gradients[channel] + found : found;
}

template <class R>
SYNFIRE_MODEL_FN void finish_gradient(const NormalizeGradientWork<R>& work, int64_t channel) {
  const int64_t channels = work.sums.shape.channels;
  const double mean = model::from_bits(work.saved[channel]), r = model::from_bits(work.saved[channels + channel]);
  const auto n = static_cast<int64_t>(work.saved[3 * channels + channel] >> 32);
  const auto a = static_cast<R>((work.gamma ? static_cast<double>(work.gamma[channel]) : 1.0) * r);
  work.factor[channel] = a;
  ChannelGradients found;
  if (work.has_sums && n > 0) found = gradients_of(work.sums, work.evaluation, channel, n, mean, r);
  if (!work.evaluation) {
    // One that is not finite makes all of the channel's gradients so.
    if (!is_finite_number(found.gamma) || !is_finite_number(found.beta) || !is_finite_number(mean))
      found.gamma = found.beta = not_a_number();
    const auto wide = static_cast<double>(a), count = static_cast<double>(n);
    const auto of_source = static_cast<R>(-wide * r * found.gamma / count);
    work.of_source[channel] = of_source;
    work.constant[channel] =
        static_cast<R>(model::fma(-static_cast<double>(of_source), mean, -wide * found.beta / count));
  }
  write_gradient(work.grad_gamma, channel, found.gamma, work.add_gradients);
  write_gradient(work.grad_beta, channel, found.beta, work.add_gradients);
}

}  // namespace synfire::operations

#endif

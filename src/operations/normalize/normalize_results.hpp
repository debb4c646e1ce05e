// Single results of a normalisation, as kernels compute them and their twins do too.
#ifndef SYNFIRE_OPERATIONS_NORMALIZE_NORMALIZE_RESULTS_HPP
#define SYNFIRE_OPERATIONS_NORMALIZE_NORMALIZE_RESULTS_HPP

#include "normalize_arithmetic.hpp"

namespace synfire::operations {

// The sums in f64 of a channel.
SYNFIRE_MODEL_FN void add_in_order(const OrderedSums& sums, int64_t channel) {
  const ChannelShape& shape = sums.shape;
  const int64_t rows = sums.counting.rows(shape.batch);
  double total = 0, products = 0;
  for (int64_t t = 0; t < shape.n_steps; ++t)
    for (int64_t b = 0; b < rows; ++b)
      for (int64_t place = 0; sums.counting.counts(t, b) && place < shape.places; ++place)
        total = total + sums.first.image<const double>(t, b)[place * shape.channels + channel];
  const double mean =
      sums.saved ? model::from_bits(sums.saved[channel]) : total / static_cast<double>(n_counted(shape, sums.counting));
  for (int64_t t = 0; (sums.second.data || !sums.saved) && t < shape.n_steps; ++t)
    for (int64_t b = 0; b < rows; ++b)
      for (int64_t place = 0; sums.counting.counts(t, b) && place < shape.places; ++place) {
        const int64_t at = place * shape.channels + channel;
        const double first = sums.first.image<const double>(t, b)[at];
        const double apart = (sums.second.data ? sums.second.image<const double>(t, b)[at] : first) - mean;
        products = model::fma(sums.second.data ? first : apart, apart, products);
      }
  sums.totals[channel] = total;
  sums.products[channel] = products;
}

// X of an element, given the channel's coefficients.
template <class R>
SYNFIRE_MODEL_FN R normalized(bool counts, R y, R factor, R addend) {
  return counts ? model::fma(y, factor, addend) : R(0);
}

// dL/dy of an element, added to the one before if it is to be: not of elements that do not count.
template <class R>
SYNFIRE_MODEL_FN R source_gradient(const NormalizeGradientWork<R>& work, bool counts, R gradient, R y, R before,
                                   R factor, R of_source, R constant) {
  if (!counts) return R(0);
  const R found =
      work.evaluation ? factor * gradient : model::fma(factor, gradient, model::fma(of_source, y, constant));
  return work.accumulate ? before + found : found;
}

}  // namespace synfire::operations

#endif

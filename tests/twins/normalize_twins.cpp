// One element after the other; what is made of a channel's sums is the same code as in the kernels
// (operations/normalize/normalize_arithmetic.hpp).
#include "twin.hpp"

#include <operations/normalize/normalize_kernels.hpp>
#include <operations/normalize/normalize_results.hpp>

#include <algorithm>

namespace synfire::cuda {
namespace {

using operations::ChannelShape;
using operations::IntegerSums;
using operations::NormalizeGradientWork;
using operations::NormalizeWork;
using operations::OrderedSums;

// Calls f(t, b, element, channel, whether it counts).
template <class F>
void for_each_element(const ChannelShape& shape, const operations::Counting& counting, F f) {
  for (int64_t t = 0; t < shape.n_steps; ++t)
    for (int64_t b = 0; b < shape.batch; ++b)
      for (int64_t i = 0; i < shape.image(); ++i)
        f(t, b, i, i % shape.channels, b < counting.rows(shape.batch) && counting.counts(t, b));
}

void find_maxima(const IntegerSums& sums) {
  for_each_element(sums.shape, sums.counting, [&](int64_t t, int64_t b, int64_t i, int64_t channel, bool counts) {
    if (!counts) return;
    const auto take = [&](const operations::Images& images, uint32_t& largest) {
      largest = std::max<uint32_t>(largest, model::magnitude_bits(images.image<const float>(t, b)[i]));
    };
    take(sums.first, sums.largest[0][channel]);
    if (sums.finds_second()) take(sums.second, sums.largest[1][channel]);
  });
}

void add_integers(const IntegerSums& sums) {
  for_each_element(sums.shape, sums.counting, [&](int64_t t, int64_t b, int64_t i, int64_t channel, bool counts) {
    if (!counts) return;
    const auto read = [&](const operations::Images& images, int32_t grid) -> int64_t {
      return model::on_grid(images.image<const float>(t, b)[i], grid);
    };
    const int64_t first = read(sums.first, sums.first_grid(sums.largest[0][channel]));
    sums.totals[channel] += first;
    if (!sums.second.data) return;
    const int64_t product =
        first * read(sums.second, sums.second_grid(sums.largest[sums.squares ? 0 : 1][channel], channel));
    sums.high[channel] += operations::high_of_product(product);
    sums.low[channel] += operations::low_of_product(product);
  });
}

}  // namespace

const void* channel_maxima_kernel(int) {
  return twin<LinesLaunch<IntegerSums>>({0}, [](const auto& launch) { find_maxima(launch.work); });
}
const void* channel_sums_kernel(int) {
  return twin<LinesLaunch<IntegerSums>>({1}, [](const auto& launch) { add_integers(launch.work); });
}
const void* ordered_sums_kernel() {
  return twin<OrderedSums>({2}, [](const OrderedSums& sums) {
    for (int64_t channel = 0; channel < sums.shape.channels; ++channel) operations::add_in_order(sums, channel);
  });
}

template <class R>
const void* finish_channels_kernel() {
  return twin<NormalizeWork<R>>({3, sizeof(R)}, [](const NormalizeWork<R>& work) {
    for (int64_t channel = 0; channel < work.sums.shape.channels; ++channel) operations::finish_channel(work, channel);
  });
}
template <class R>
const void* finish_gradients_kernel() {
  return twin<NormalizeGradientWork<R>>({4, sizeof(R)}, [](const NormalizeGradientWork<R>& work) {
    for (int64_t channel = 0; channel < work.sums.shape.channels; ++channel) operations::finish_gradient(work, channel);
  });
}

template <class R>
const void* normalize_kernel(int) {
  return twin<LinesLaunch<NormalizeWork<R>>>({5, sizeof(R)}, [](const auto& launch) {
    const NormalizeWork<R>& work = launch.work;
    for_each_element(
        work.sums.shape, work.sums.counting, [&](int64_t t, int64_t b, int64_t i, int64_t channel, bool counts) {
          work.destination.template image<R>(t, b)[i] = operations::normalized(
              counts, work.sums.first.template image<const R>(t, b)[i], work.factor[channel], work.addend[channel]);
        });
  });
}
template <class R>
const void* normalize_backward_kernel(int) {
  return twin<LinesLaunch<NormalizeGradientWork<R>>>({6, sizeof(R)}, [](const auto& launch) {
    const NormalizeGradientWork<R>& work = launch.work;
    for_each_element(
        work.sums.shape, work.sums.counting, [&](int64_t t, int64_t b, int64_t i, int64_t channel, bool counts) {
          R& to = work.grad_source.template image<R>(t, b)[i];
          if (work.accumulate && !counts) return;
          to = operations::source_gradient(work, counts, work.sums.first.template image<const R>(t, b)[i],
                                           work.evaluation ? R(0) : work.sums.second.template image<const R>(t, b)[i],
                                           to, work.factor[channel], work.of_source[channel], work.constant[channel]);
        });
  });
}
template const void* finish_channels_kernel<float>();
template const void* finish_channels_kernel<double>();
template const void* finish_gradients_kernel<float>();
template const void* finish_gradients_kernel<double>();
template const void* normalize_kernel<float>(int);
template const void* normalize_kernel<double>(int);
template const void* normalize_backward_kernel<float>(int);
template const void* normalize_backward_kernel<double>(int);

}  // namespace synfire::cuda

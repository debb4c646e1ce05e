// One spike, and one neuron, after the other.
#include "twin.hpp"

#include <operations/rate_loss/rate_loss_kernels.hpp>
#include <operations/spikes/one_spike.hpp>

#include <backends/host/host_storage.hpp>

#include <synfire/synfire.h>

#include <algorithm>

namespace synfire::cuda {
namespace {

namespace generic = synfire::host::SYNFIRE_MODEL_LEVEL;
using operations::LaneSquares;
using operations::Rates;
using operations::RateWork;

bool counts(const operations::Counting& counting, const core::Extents& e, int64_t t, int64_t b) {
  return b < counting.rows(e.batch) && counting.counts(t, b);
}

uint64_t counted_steps(const RateLaunch& launch) {
  uint64_t steps = 0;
  for (int64_t t = 0; t < launch.extents.n_steps; ++t)
    for (int64_t b = 0; b < launch.extents.batch; ++b) steps += counts(launch.counting, launch.extents, t, b) ? 1 : 0;
  return steps;
}

Rates rates_of(const RateLaunch& launch, uint64_t counted) {
  return {launch.target_value ? *launch.target_value : launch.target,
          launch.strength_value ? *launch.strength_value : launch.strength, launch.extents.n_neurons, counted,
          launch.whole_layer};
}

void finish(const RateLaunch& launch, double squares, uint64_t total) {
  const RateWork work(launch.work, launch.extents.n_neurons);
  const uint64_t counted = counted_steps(launch);
  work.summary[0] = counted;
  work.summary[1] = total;
  if (!launch.loss) return;
  const double loss = rates_of(launch, counted).loss(squares, total);
  if (launch.wide_loss) {
    double& to = *static_cast<double*>(launch.loss);
    to = launch.add_loss ? to + loss : loss;
  } else {
    float& to = *static_cast<float*>(launch.loss);
    to = static_cast<float>(launch.add_loss ? static_cast<double>(to) + loss : loss);
  }
}

template <class To>
void spread(const RateLaunch& launch) {
  using R = generic::Arithmetic<To>;
  const core::Extents& e = launch.extents;
  const RateWork work(launch.work, e.n_neurons);
  const Rates rates = rates_of(launch, work.summary[0]);
  for_each_spike(e, [&](int64_t t, int64_t b, int64_t n) {
    To& to = static_cast<To*>(launch.grad)[t * launch.pitch + b * e.n_neurons + n];
    const bool receives = counts(launch.counting, e, t, b);
    const R value = receives ? static_cast<R>(rates.gradient(launch.counts[n], work.summary[1])) : R(0);
    if (!launch.add_grad)
      to = generic::encode<To>(value);
    else if (receives)
      to = generic::encode<To>(generic::decode(to) + value);
  });
}

}  // namespace

const void* rate_count_kernel(operations::SpikeStorage storage) {
  return twin<RateCountLaunch>({static_cast<int64_t>(storage)}, [=](const RateCountLaunch& launch) {
    const OneSpike spikes = {launch.spikes, storage, launch.extents};
    for_each_spike(launch.extents, [&](int64_t t, int64_t b, int64_t n) {
      if (counts(launch.counting, launch.extents, t, b) && spikes.get(t, b, n)) ++launch.counts[n];
    });
  });
}

const void* rate_sums_kernel() {
  return twin<RateLaunch>({0}, [](const RateLaunch& launch) {
    const int64_t n_neurons = launch.extents.n_neurons, n_chunks = RateWork::n_chunks(n_neurons);
    const RateWork work(launch.work, n_neurons);
    const Rates rates = rates_of(launch, counted_steps(launch));
    for (int64_t chunk = 0; chunk < n_chunks; ++chunk) {
      LaneSquares squares;
      work.totals[chunk] = 0;
      const int64_t first = chunk * model::reduction_chunk;
      for (int64_t n = first; n < std::min<int64_t>(first + model::reduction_chunk, n_neurons); ++n) {
        work.totals[chunk] += launch.counts[n];
        if (!launch.whole_layer && rates.counted > 0) squares.add(n, rates.deviation(launch.counts[n], 0));
      }
      work.squares[chunk] = squares.sum();
    }
    if (n_chunks == 1) finish(launch, work.squares[0], work.totals[0]);
  });
}

const void* rate_total_kernel() {
  return twin<RateLaunch>({1}, [](const RateLaunch& launch) {
    const int64_t n_neurons = launch.extents.n_neurons, n_chunks = RateWork::n_chunks(n_neurons);
    const RateWork work(launch.work, n_neurons);
    uint64_t total = 0;
    for (int64_t chunk = 0; chunk < n_chunks; ++chunk) total += work.totals[chunk];
    finish(launch, model::lane_sum(work.squares, n_chunks), total);
  });
}

const void* rate_spread_kernel(int32_t dtype) {
  return twin<RateLaunch>({2, dtype}, [=](const RateLaunch& launch) {
    core::with_element_type(generic::NumberTypes{}, dtype,
                            [&](auto type) { spread<typename decltype(type)::Type>(launch); });
  });
}

}  // namespace synfire::cuda

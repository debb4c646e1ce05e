// One column after the other.
#include "twin.hpp"

#include <base/dtype.hpp>
#include <operations/reduce/reduce_kernels.hpp>

#include <backends/host/host_storage.hpp>

#include <synfire/synfire.h>
#include <synfire/model/reduction.hpp>

#include <algorithm>
#include <vector>

namespace synfire::cuda {
namespace {

namespace generic = synfire::host::SYNFIRE_MODEL_LEVEL;
using core::Extents;
using operations::Counting;

struct Column {
  int64_t index, group, neuron;
};
template <class Body>
void for_each_column(const Extents& e, int64_t n_columns, Body body) {
  for (int64_t c = 0; c < n_columns; ++c) body(Column{c, c / e.n_neurons, c % e.n_neurons});
}

// The entries of a group that count, in ascending order.
std::vector<int64_t> counted(const Counting& counting, bool steps, const Extents& e, int64_t group) {
  std::vector<int64_t> entries;
  for (int64_t r = 0; r < (steps ? e.n_steps : e.batch); ++r) {
    const int64_t step = steps ? r : group, row = steps ? group : r;
    if (row < counting.rows(e.batch) && counting.counts(step, row)) entries.push_back(r);
  }
  return entries;
}

struct Entry {
  double number;
  uint64_t order;
};
Entry entry_at(const ReduceLaunch& launch, int32_t dtype, const Column& at, int64_t r) {
  const Extents& e = launch.extents;
  const int64_t t = launch.steps ? r : at.group, b = launch.steps ? at.group : r, n = at.neuron;
  const int64_t dense = t * launch.pitch + b * e.n_neurons + n;
  const auto* const words = static_cast<const uint32_t*>(launch.source);
  const auto whole = [](uint32_t value) { return Entry{static_cast<double>(value), value}; };
  switch (dtype) {
    case SYNFIRE_DTYPE_U32:
      return whole(words[dense]);
    case SYNFIRE_DTYPE_U8:
      return whole(static_cast<const uint8_t*>(launch.source)[dense] != 0 ? 1 : 0);
    case SYNFIRE_DTYPE_BITS:
      return whole(words[t * launch.pitch + b * e.words_per_row() + n / 32] >> (n % 32) & 1);
    case SYNFIRE_DTYPE_TIME_BITS:
      return whole(words[t / 32 * launch.pitch + b * e.n_neurons + n] >> (t % 32) & 1);
    default:
      return core::with_element_type(generic::NumberTypes{}, dtype, [&](auto type) {
        const auto value = generic::decode(static_cast<const typename decltype(type)::Type*>(launch.source)[dense]);
        return Entry{static_cast<double>(value), operations::order_of(value)};
      });
  }
}

// ---- sums and maxima ------------------------------------------------------------------------------------------------

struct Lanes {
  double values[model::reduction_lanes] = {};
  double sum() {
    for (int half = model::reduction_lanes / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) values[i] += values[i + half];
    return values[0];
  }
};

void store(const ReduceLaunch& launch, const Column& at, double value) {
  const int64_t to = at.group * launch.group_pitch + at.neuron;
  if (launch.wide)
    static_cast<double*>(launch.destination)[to] = value;
  else
    static_cast<float*>(launch.destination)[to] = static_cast<float>(value);
}
void store_order(const ReduceLaunch& launch, const Column& at, uint64_t order) {
  if (launch.whole)
    store(launch, at, static_cast<double>(order));
  else if (launch.wide)
    store(launch, at, operations::number_of(model::u64{order}));
  else
    store(launch, at, static_cast<double>(operations::number_of(static_cast<model::u32>(order))));
}
// Integer sums become an f32 in one rounding.
template <class Sum>
void store_sum(const ReduceLaunch& launch, const Column& at, Sum sum) {
  if (launch.reduction == SYNFIRE_REDUCE_MEAN) {
    const auto count = counted(launch.counting, launch.steps, launch.extents, at.group).size();
    return store(launch, at, operations::mean_of<double>(sum, static_cast<int64_t>(count)));
  }
  store(launch, at, launch.wide ? static_cast<double>(sum) : static_cast<double>(static_cast<float>(sum)));
}

template <class Value>
Value& partial(const ReduceLaunch& launch, int64_t chunk, const Column& at) {
  return reinterpret_cast<Value*>(launch.partials)[chunk * launch.n_columns + at.index];
}

void reduce_column(const ReduceLaunch& launch, int32_t dtype, bool largest, const Column& at) {
  std::vector<int64_t> entries = counted(launch.counting, launch.steps, launch.extents, at.group);
  if (launch.reduction == SYNFIRE_REDUCE_LAST && !entries.empty()) entries = {entries.back()};
  for (int64_t chunk = 0; chunk < launch.n_chunks; ++chunk) {
    uint64_t sum = 0, order = 0;
    Lanes lanes;
    for (const int64_t r : entries) {
      if (launch.n_chunks > 1 && r / model::reduction_chunk != chunk) continue;
      const Entry entry = entry_at(launch, dtype, at, r);
      lanes.values[r % model::reduction_lanes] += entry.number;
      sum += entry.order;
      order = std::max(order, entry.order);
    }
    if (largest) {
      if (launch.partials)
        partial<uint64_t>(launch, chunk, at) = order;
      else
        store_order(launch, at, order);
    } else if (launch.whole) {
      if (launch.partials)
        partial<uint64_t>(launch, chunk, at) = sum;
      else
        store_sum(launch, at, sum);
    } else {
      if (launch.partials)
        partial<double>(launch, chunk, at) = lanes.sum();
      else
        store_sum(launch, at, lanes.sum());
    }
  }
}

void join_column(const ReduceLaunch& launch, bool whole, bool largest, const Column& at) {
  uint64_t sum = 0, order = 0;
  Lanes lanes;
  for (int64_t chunk = 0; chunk < launch.n_chunks; ++chunk) {
    sum += partial<uint64_t>(launch, chunk, at);
    order = std::max(order, partial<uint64_t>(launch, chunk, at));
    lanes.values[chunk % model::reduction_lanes] += partial<double>(launch, chunk, at);
  }
  if (largest)
    store_order(launch, at, order);
  else if (whole)
    store_sum(launch, at, sum);
  else
    store_sum(launch, at, lanes.sum());
}

// ---- gradients ------------------------------------------------------------------------------------------------------

int64_t winner_of(const ReduceLaunch& launch, int32_t dtype, const Column& at) {
  int64_t winner = -1;
  uint64_t best = 0;
  for (const int64_t r : counted(launch.counting, launch.steps, launch.extents, at.group)) {
    const uint64_t order = entry_at(launch, dtype, at, r).order;
    if (winner >= 0 && order <= best) continue;
    best = order;
    winner = r;
  }
  return winner;
}

template <class To, class R>
void spread_column(const SpreadLaunch& launch, const Column& at) {
  const Extents& e = launch.extents;
  std::vector<int64_t> entries = counted(launch.counting, launch.steps, e, at.group);
  R value = static_cast<const R*>(launch.from)[at.group * launch.group_pitch + at.neuron];
  if (launch.reduction == SYNFIRE_REDUCE_MEAN) value = value / static_cast<R>(entries.size());
  if (launch.winners) {
    const int64_t winner = launch.winners[at.index];
    entries = winner < 0 ? std::vector<int64_t>{} : std::vector<int64_t>{winner};
  } else if (launch.reduction == SYNFIRE_REDUCE_LAST && !entries.empty()) {
    entries = {entries.back()};
  }
  for (int64_t r = 0; r < (launch.steps ? e.n_steps : e.batch); ++r) {
    const int64_t t = launch.steps ? r : at.group, b = launch.steps ? at.group : r;
    To& to = static_cast<To*>(launch.to)[t * launch.pitch + b * e.n_neurons + at.neuron];
    const bool receives = std::find(entries.begin(), entries.end(), r) != entries.end();
    if (!launch.add)
      to = generic::encode<To>(receives ? value : R(0));
    else if (receives)
      to = generic::encode<To>(generic::decode(to) + value);
  }
}

template <class To, class R>
void spread(const SpreadLaunch& launch) {
  for_each_column(launch.extents, launch.n_columns, [&](const Column& at) { spread_column<To, R>(launch, at); });
}

}  // namespace

const void* reduce_kernel(int32_t dtype, bool largest) {
  return twin<ReduceLaunch>({dtype, largest ? 1 : 0}, [=](const ReduceLaunch& launch) {
    for_each_column(launch.extents, launch.n_columns,
                    [&](const Column& at) { reduce_column(launch, dtype, largest, at); });
  });
}

const void* join_kernel(bool whole, bool largest) {
  return twin<ReduceLaunch>({whole ? 1 : 0, largest ? 1 : 0}, [=](const ReduceLaunch& launch) {
    for_each_column(launch.extents, launch.n_columns,
                    [&](const Column& at) { join_column(launch, whole, largest, at); });
  });
}

const void* winners_kernel(int32_t dtype) {
  return twin<WinnersLaunch>({dtype}, [=](const WinnersLaunch& launch) {
    for_each_column(launch.of.extents, launch.of.n_columns,
                    [&](const Column& at) { launch.winners[at.index] = winner_of(launch.of, dtype, at); });
  });
}

const void* spread_kernel(int32_t dtype) {
  return twin<SpreadLaunch>({dtype}, [=](const SpreadLaunch& launch) {
    core::with_element_type(generic::NumberTypes{}, dtype, [&](auto type) {
      using To = typename decltype(type)::Type;
      spread<To, generic::Arithmetic<To>>(launch);
    });
  });
}

}  // namespace synfire::cuda

// Events on processors. A thread has whole batch rows: it counts the events of a row in a place of its own, then writes
// all steps of the row.
#include "events.hpp"

#include <backends/host/host_launcher.hpp>
#include <base/error.hpp>
#include <operations/encode/offset.hpp>
#include <operations/host_places.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// With less work the calling thread works alone.
constexpr int64_t events_parallel_work = 1 << 16;

struct Faults {
  uint32_t count[n_event_faults] = {};
};

// The events that a row holds, in the order in which they are counted.
class HeldEvents {
 public:
  HeldEvents(const BinEvents& op, const EventsRow& row, int64_t b)
      : rules_(op.rules), row_(row), events_(static_cast<const uint64_t*>(op.events.data) + b * op.events.pitch) {}

  uint64_t operator[](uint32_t i) const { return events_[index_of_event(rules_, row_, i)]; }

  // Calls f(i, event) for all of them: from the oldest to the end of the array, and on from its beginning.
  template <class F>
  void for_each(F f) const {
    const uint32_t before_end = std::min(row_.n_held, rules_.capacity - row_.first);
    const uint64_t* const oldest = events_ + row_.first;
    for (uint32_t i = 0; i < before_end; ++i) f(i, oldest[i]);
    for (uint32_t i = before_end; i < row_.n_held; ++i) f(i, events_[i - before_end]);
  }

 private:
  const EventsRules& rules_;
  const EventsRow& row_;
  const uint64_t* const events_;
};

EventsRow row_of(const BinEvents& op, uint64_t seed, uint64_t offset, int64_t b) {
  return events_row(op.rules, static_cast<const uint32_t*>(op.event_counts.data),
                    static_cast<const uint32_t*>(op.window.data), seed, offset, b);
}

// The step of an event by its time. Most events are in the step of the one before, which needs no division.
class StepOfTime {
 public:
  StepOfTime(const EventsRules& rules, const EventsRow& row) : rules_(rules), row_(row) {}

  int64_t operator()(uint32_t after_start) {
    // The last step of 2^32 ticks may be shorter: its end must not wrap to the first one's beginning.
    if (after_start < begin_ || after_start - begin_ >= row_.ticks || step_ < 0) {
      step_ = step_by_time(rules_, row_, after_start);
      begin_ = after_start - (row_.ticks == 0 ? 0 : after_start % row_.ticks);
    }
    return step_;
  }

 private:
  const EventsRules& rules_;
  const EventsRow& row_;
  int64_t step_ = -1;
  uint32_t begin_ = 0;
};

// The step of each event in turn, by their number.
class StepOfCount {
 public:
  StepOfCount(const EventsRules& rules, const EventsRow& row) : rules_(rules), row_(row) {}

  int64_t operator()(uint32_t i) {
    if (i >= end_) {
      step_ = step_by_count(rules_, row_, i);
      const int64_t next = rules_.events_per_step != 0
                               ? (step_ + 1) * rules_.events_per_step
                               : ((step_ + 1) * row_.n_held + rules_.n_steps - 1) / rules_.n_steps;
      end_ = next;
    }
    return step_;
  }

 private:
  const EventsRules& rules_;
  const EventsRow& row_;
  int64_t step_ = 0, end_ = 0;
};

// Adds an event to the sums of a row [T, N].
template <bool bilinear>
void add(const EventsRules& rules, const EventsRow& row, uint64_t event, int64_t step, uint32_t* sums, Faults& faults) {
  if (step >= rules.n_steps) {
    ++faults.count[SYNFIRE_EVENTS_FAULT_WINDOW];
    return;
  }
  const int64_t element = element_of(rules, row, event);
  if (element < 0) return;
  const int64_t length = rules.n_elements();
  uint32_t& sum = sums[step * length + element];
  if constexpr (!bilinear) {
    ++sum;
    return;
  }
  const uint32_t next = weight_of_next(row, time_of(event) - row.start);
  sum += bilinear_unit - next;
  if (step + 1 < rules.n_steps) sums[(step + 1) * length + element] += next;
}

template <bool bilinear>
void count_by_time(const EventsRules& rules, const EventsRow& row, const HeldEvents& held, uint32_t* sums,
                   Faults& faults) {
  StepOfTime step(rules, row);
  held.for_each([&](uint32_t, uint64_t event) {
    if (!is_of_sensor(rules, event)) [[unlikely]]
      ++faults.count[SYNFIRE_EVENTS_FAULT_SENSOR];
    else
      add<bilinear>(rules, row, event, step(time_of(event) - row.start), sums, faults);
  });
}

void count_one(const EventsRules& rules, const EventsRow& row, uint64_t event, int64_t step, uint32_t* sums,
               Faults& faults) {
  if (is_of_sensor(rules, event))
    add<false>(rules, row, event, step, sums, faults);
  else
    ++faults.count[SYNFIRE_EVENTS_FAULT_SENSOR];
}

void count_in_order(const EventsRules& rules, const EventsRow& row, const HeldEvents& held, uint32_t* sums,
                    Faults& faults) {
  StepOfCount step(rules, row);
  uint64_t previous = row.n_held == 0 ? 0 : held[0];
  held.for_each([&](uint32_t i, uint64_t event) {
    if (is_older(event, previous)) ++faults.count[SYNFIRE_EVENTS_FAULT_ORDER];
    previous = event;
    count_one(rules, row, event, step(i), sums, faults);
  });
}

// A key is the time after the start and the number of the event, so that no two are the same.
void count_sorted(const EventsRules& rules, const EventsRow& row, const HeldEvents& held, uint64_t* keys,
                  uint32_t* sums, Faults& faults) {
  held.for_each(
      [&](uint32_t i, uint64_t event) { keys[i] = static_cast<uint64_t>(time_of(event) - row.start) << 32 | i; });
  std::sort(keys, keys + row.n_held);
  StepOfCount step(rules, row);
  for (uint32_t i = 0; i < row.n_held; ++i)
    count_one(rules, row, held[static_cast<uint32_t>(keys[i])], step(i), sums, faults);
}

// The sums of a row, from all zero.
Faults count_row(const BinEvents& op, const EventsRow& row, int64_t b, uint32_t* sums, uint64_t* keys) {
  const EventsRules& rules = op.rules;
  const HeldEvents held(op, row, b);
  Faults faults;
  faults.count[SYNFIRE_EVENTS_FAULT_CAPACITY] = row.n_given - row.n_held;
  if (rules.sort)
    count_sorted(rules, row, held, keys, sums, faults);
  else if (rules.by_count)
    count_in_order(rules, row, held, sums, faults);
  else if (rules.bilinear)
    count_by_time<true>(rules, row, held, sums, faults);
  else
    count_by_time<false>(rules, row, held, sums, faults);
  return faults;
}

// ---- results --------------------------------------------------------------------------------------------------------

template <class E>
E* step_of(const BinEvents& op, int64_t t, int64_t b, int64_t length) {
  return static_cast<E*>(op.destination.data) + t * op.destination.pitch + b * length;
}

void write_bits(const uint32_t* sums, int64_t length, uint32_t* words) {
  for (int64_t i = 0; i < length; i += 32) {
    const auto count = static_cast<int>(std::min<int64_t>(32, length - i));
    uint32_t word = 0;
    for (int j = 0; j < count; ++j) word |= static_cast<uint32_t>(sums[i + j] != 0) << j;
    words[i / 32] = word;
  }
}

void write_step(const BinEvents& op, const uint32_t* sums, int64_t t, int64_t b) {
  const EventsRules& rules = op.rules;
  const int64_t length = op.extents.n_neurons;
  if (op.destination.dtype == SYNFIRE_DTYPE_BITS) {
    write_bits(sums, length, step_of<uint32_t>(op, t, b, op.extents.words_per_row()));
  } else if (op.destination.dtype == SYNFIRE_DTYPE_U8) {
    auto* const counts = step_of<uint8_t>(op, t, b, length);
    for (int64_t i = 0; i < length; ++i) counts[i] = static_cast<uint8_t>(bounded_sum(rules, sums[i]));
  } else {
    auto* const values = step_of<float>(op, t, b, length);
    for (int64_t i = 0; i < length; ++i) values[i] = value_of_sum(rules, sums[i]);
  }
}

uint32_t sums_above_bound(const EventsRules& rules, const uint32_t* sums, int64_t count) {
  uint32_t above = 0;
  if (rules.counts_bounded)
    for (int64_t i = 0; i < count; ++i) above += sums[i] > rules.bound ? 1u : 0u;
  return above;
}

// ---- refusals -------------------------------------------------------------------------------------------------------

void refuse_row(const BinEvents& op, const EventsRow& row, int64_t b) {
  const EventsRules& rules = op.rules;
  if (row.n_given > rules.capacity)
    fail_argument("SYN-BIN-FULL", "desc.event_counts[%lld] is %u; a row of desc.events holds %u",
                  static_cast<long long>(b), row.n_given, rules.capacity);
  const HeldEvents held(op, row, b);
  uint64_t previous = row.n_held == 0 ? 0 : held[0];
  held.for_each([&](uint32_t i, uint64_t event) {
    if (!is_of_sensor(rules, event))
      fail_argument(
          "SYN-BIN-OUTSIDE",
          "event %u of row %lld of desc.events has x %u, y %u and polarity %u; the sensor has %u columns and %u "
          "rows, and a polarity is 0 or 1",
          i, static_cast<long long>(b), column_of(event), line_of(event), polarity_of(event), rules.x.sensor,
          rules.y.sensor);
    if (rules.by_count && !rules.sort && is_older(event, previous))
      fail_argument(
          "SYN-BIN-ORDER",
          "event %u of row %lld of desc.events has time %u, after one with %u; without desc.sort, times must not "
          "go backwards",
          i, static_cast<long long>(b), time_of(event), time_of(previous));
    previous = event;
  });
}

void refuse_counts(const BinEvents& op, const EventsRow& row, int64_t b, std::vector<uint32_t>& sums,
                   std::vector<uint64_t>& keys) {
  std::fill(sums.begin(), sums.end(), 0u);
  count_row(op, row, b, sums.data(), keys.data());
  const auto above = std::find_if(sums.begin(), sums.end(), [&](uint32_t sum) { return sum > op.rules.bound; });
  if (above == sums.end()) return;
  const int64_t at = above - sums.begin(), length = op.extents.n_neurons, unit = op.rules.bilinear ? bilinear_unit : 1;
  fail_argument("SYN-BIN-COUNT", "element %lld of step %lld of row %lld counts %g events; desc.count_bound is %lld",
                static_cast<long long>(at % length), static_cast<long long>(at / length), static_cast<long long>(b),
                static_cast<double>(*above) / static_cast<double>(unit), static_cast<long long>(op.rules.bound / unit));
}

}  // namespace

void refuse_faults(const BinEvents& op) {
  const bool counts = op.rules.counts_bounded;
  std::vector<uint32_t> sums(counts ? bytes_of_host_sums(op) / sizeof(uint32_t) : 0);
  std::vector<uint64_t> keys(counts && op.rules.sort ? op.rules.capacity : 0);
  for (int64_t b = 0; b < op.extents.batch; ++b) {
    const EventsRow row = row_of(op, op.seed, op.offset, b);
    refuse_row(op, row, b);
    if (counts) refuse_counts(op, row, b, sums, keys);
  }
}

uint64_t bytes_of_host_sums(const BinEvents& op) {
  return sizeof(uint32_t) * static_cast<uint64_t>(op.extents.n_steps * op.extents.n_neurons);
}
uint64_t bytes_of_host_order(const BinEvents& op) {
  return sizeof(uint64_t) * static_cast<uint64_t>(op.rules.capacity);
}

bool wants_threads(const BinEvents& op) {
  return op.extents.batch > 1 &&
         op.extents.batch * (op.extents.n_steps * op.extents.n_neurons + op.rules.capacity) >= events_parallel_work;
}

void run(const BinEvents& op, host::Launcher& launcher) {
  const uint64_t seed = op.seed_value ? *op.seed_value : op.seed;
  const uint64_t offset = op.offset_value ? current_offset(op.offset_value.set, op.offset_value.state) : op.offset;
  const int64_t length = op.extents.n_neurons, n_sums = op.extents.n_steps * length;
  auto* const all_faults = static_cast<uint32_t*>(op.faults.data);
  launcher.for_each_placed_range(op.extents.batch, wants_threads(op), [&](int64_t begin, int64_t end, int64_t place) {
    auto* const sums = place_of<uint32_t>(op.sums, place, bytes_of_host_sums(op));
    auto* const keys = op.rules.sort ? place_of<uint64_t>(op.order, place, bytes_of_host_order(op)) : nullptr;
    for (int64_t b = begin; b < end; ++b) {
      std::memset(sums, 0, bytes_of_host_sums(op));
      Faults faults = count_row(op, row_of(op, seed, offset, b), b, sums, keys);
      faults.count[SYNFIRE_EVENTS_FAULT_BOUND] = sums_above_bound(op.rules, sums, n_sums);
      for (int64_t t = 0; t < op.extents.n_steps; ++t) write_step(op, sums + t * length, t, b);
      std::memcpy(all_faults + b * n_event_faults, faults.count, sizeof faults.count);
    }
  });
  if (op.offset_value) advance_offset(op.offset_value.set, op.offset_value.state, 1);
}

}  // namespace synfire::operations

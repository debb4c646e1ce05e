// Events on processors. A thread has whole batch rows: it counts the events of a row in a place of its own, then writes
// all steps of the row. Spikes in bits need no place.
#include "events.hpp"

#include <backends/host/host_launcher.hpp>
#include <base/error.hpp>
#include <operations/encode/offset.hpp>
#include <operations/host_places.hpp>

#include <algorithm>
#include <cstring>
#include <utility>
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

// The step of an event by its time. Most events are in the step of the one before.
class StepOfTime {
 public:
  StepOfTime(const EventsRules& rules, const EventsRow& row)
      : rules_(rules), ticks_(row.ticks), reciprocal_(row.ticks > 1 ? ~uint64_t{0} / row.ticks + 1 : 0) {}

  int64_t operator()(uint32_t after_start) {
    // The last step of 2^32 ticks may be shorter: its end must not wrap to the first one's beginning.
    if (after_start < begin_ || after_start - begin_ >= ticks_ || step_ < 0) {
      const uint32_t quotient = divided(after_start);
      step_ = ticks_ == 0 ? rules_.n_steps : static_cast<int64_t>(quotient);
      begin_ = quotient * ticks_;
    }
    return step_;
  }

 private:
  // The upper half of a product is the exact quotient of 32-bit numbers: D. Lemire, O. Kaser and N. Kurz, "Faster
  // remainder by direct computation", Software: Practice and Experience 49, 2019.
  uint32_t divided(uint32_t dividend) const {
    __extension__ using Wide = unsigned __int128;
    if (ticks_ <= 1) return dividend;
    return static_cast<uint32_t>(static_cast<Wide>(reciprocal_) * dividend >> 64);
  }

  const EventsRules& rules_;
  const uint32_t ticks_;
  const uint64_t reciprocal_;
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

// Where events of a row are counted: in sums [T, N], from all zero, or, as spikes in bits, in the result itself.
struct Sums {
  uint32_t* sums;
  int64_t length;
  void add(int64_t step, int64_t element, uint32_t n) const { sums[step * length + element] += n; }
};
struct Bits {
  uint32_t* words;  // of the row in the first step
  int64_t pitch;
  void add(int64_t step, int64_t element, uint32_t) const {
    words[step * pitch + element / 32] |= uint32_t{1} << element % 32;
  }
};

template <bool bilinear, class Counts>
void add(const EventsRules& rules, const EventsRow& row, uint64_t event, int64_t step, const Counts& counts,
         Faults& faults) {
  if (step >= rules.n_steps) {
    ++faults.count[SYNFIRE_EVENTS_FAULT_WINDOW];
    return;
  }
  const int64_t element = element_of(rules, row, event);
  if (element < 0) return;
  if constexpr (!bilinear) {
    counts.add(step, element, 1);
    return;
  }
  const uint32_t next = weight_of_next(row, time_of(event) - row.start);
  counts.add(step, element, bilinear_unit - next);
  if (step + 1 < rules.n_steps) counts.add(step + 1, element, next);
}

template <bool bilinear, class Counts>
void count_one(const EventsRules& rules, const EventsRow& row, uint64_t event, int64_t step, const Counts& counts,
               Faults& faults) {
  if (is_of_sensor(rules, event)) [[likely]]
    add<bilinear>(rules, row, event, step, counts, faults);
  else
    ++faults.count[SYNFIRE_EVENTS_FAULT_SENSOR];
}

template <bool bilinear, class Counts>
void count_by_time(const EventsRules& rules, const EventsRow& row, const HeldEvents& held, const Counts& counts,
                   Faults& faults) {
  StepOfTime step(rules, row);
  held.for_each([&](uint32_t, uint64_t event) {
    count_one<bilinear>(rules, row, event, step(time_of(event) - row.start), counts, faults);
  });
}

template <class Counts>
void count_in_order(const EventsRules& rules, const EventsRow& row, const HeldEvents& held, const Counts& counts,
                    Faults& faults) {
  StepOfCount step(rules, row);
  uint64_t previous = row.n_held == 0 ? 0 : held[0];
  held.for_each([&](uint32_t i, uint64_t event) {
    if (is_older(event, previous)) ++faults.count[SYNFIRE_EVENTS_FAULT_ORDER];
    previous = event;
    count_one<false>(rules, row, event, step(i), counts, faults);
  });
}

// Sorts events by their times, and keeps the order of those that have the same: byte by byte, from the lowest. The
// result is in one of the arrays of n events, which is returned.
uint64_t* sort_by_time(uint64_t* events, uint64_t* other, uint32_t n) {
  constexpr int n_bytes = 4;
  const auto byte_of = [](uint64_t event, int byte) { return static_cast<uint8_t>(event >> 8 * byte); };
  if (std::is_sorted(events, events + n, [](uint64_t a, uint64_t b) { return time_of(a) < time_of(b); })) return events;
  uint32_t places[n_bytes][256] = {};
  for (uint32_t i = 0; i < n; ++i)
    for (int byte = 0; byte < n_bytes; ++byte) ++places[byte][byte_of(events[i], byte)];
  for (int byte = 0; byte < n_bytes; ++byte) {
    uint32_t* const place = places[byte];
    if (place[byte_of(events[0], byte)] == n) continue;  // all have the same
    for (uint32_t value = 0, sum = 0; value < 256; ++value) sum += std::exchange(place[value], sum);
    for (uint32_t i = 0; i < n; ++i) other[place[byte_of(events[i], byte)]++] = events[i];
    std::swap(events, other);
  }
  return events;
}

// `order` has room for twice the capacity.
template <class Counts>
void count_sorted(const EventsRules& rules, const EventsRow& row, const HeldEvents& held, uint64_t* order,
                  const Counts& counts, Faults& faults) {
  constexpr uint64_t time = 0xFFFFFFFFu;
  held.for_each([&](uint32_t i, uint64_t event) { order[i] = (event & ~time) | (time_of(event) - row.start); });
  const uint64_t* const sorted = sort_by_time(order, order + rules.capacity, row.n_held);
  StepOfCount step(rules, row);
  for (uint32_t i = 0; i < row.n_held; ++i) count_one<false>(rules, row, sorted[i], step(i), counts, faults);
}

template <class Counts>
Faults count_row(const BinEvents& op, const EventsRow& row, int64_t b, const Counts& counts, uint64_t* order) {
  const EventsRules& rules = op.rules;
  const HeldEvents held(op, row, b);
  Faults faults;
  faults.count[SYNFIRE_EVENTS_FAULT_CAPACITY] = row.n_given - row.n_held;
  if (rules.sort)
    count_sorted(rules, row, held, order, counts, faults);
  else if (rules.by_count)
    count_in_order(rules, row, held, counts, faults);
  else if (rules.bilinear)
    count_by_time<true>(rules, row, held, counts, faults);
  else
    count_by_time<false>(rules, row, held, counts, faults);
  return faults;
}

// ---- results --------------------------------------------------------------------------------------------------------

template <class E>
E* step_of(const BinEvents& op, int64_t t, int64_t b, int64_t length) {
  return static_cast<E*>(op.destination.data) + t * op.destination.pitch + b * length;
}

void write_step(const BinEvents& op, const uint32_t* sums, int64_t t, int64_t b) {
  const EventsRules& rules = op.rules;
  const int64_t length = op.extents.n_neurons;
  if (op.destination.dtype == SYNFIRE_DTYPE_U8) {
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

Faults bin_bits(const BinEvents& op, const EventsRow& row, int64_t b, uint64_t* order) {
  const int64_t words = op.extents.words_per_row();
  for (int64_t t = 0; t < op.extents.n_steps; ++t) std::fill_n(step_of<uint32_t>(op, t, b, words), words, 0u);
  return count_row(op, row, b, Bits{step_of<uint32_t>(op, 0, b, words), op.destination.pitch}, order);
}

Faults bin_counts(const BinEvents& op, const EventsRow& row, int64_t b, uint32_t* sums, uint64_t* order) {
  const int64_t length = op.extents.n_neurons;
  std::memset(sums, 0, bytes_of_host_sums(op));
  Faults faults = count_row(op, row, b, Sums{sums, length}, order);
  faults.count[SYNFIRE_EVENTS_FAULT_BOUND] = sums_above_bound(op.rules, sums, op.extents.n_steps * length);
  for (int64_t t = 0; t < op.extents.n_steps; ++t) write_step(op, sums + t * length, t, b);
  return faults;
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
                   std::vector<uint64_t>& order) {
  std::fill(sums.begin(), sums.end(), 0u);
  count_row(op, row, b, Sums{sums.data(), op.extents.n_neurons}, order.data());
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
  std::vector<uint64_t> order(counts && op.rules.sort ? bytes_of_host_order(op) / sizeof(uint64_t) : 0);
  for (int64_t b = 0; b < op.extents.batch; ++b) {
    const EventsRow row = row_of(op, op.seed, op.offset, b);
    refuse_row(op, row, b);
    if (counts) refuse_counts(op, row, b, sums, order);
  }
}

uint64_t bytes_of_host_sums(const BinEvents& op) {
  if (op.destination.dtype == SYNFIRE_DTYPE_BITS) return 0;
  return sizeof(uint32_t) * static_cast<uint64_t>(op.extents.n_steps * op.extents.n_neurons);
}
uint64_t bytes_of_host_order(const BinEvents& op) {
  return 2 * sizeof(uint64_t) * static_cast<uint64_t>(op.rules.capacity);
}

bool wants_threads(const BinEvents& op) {
  return op.extents.batch > 1 &&
         op.extents.batch * (op.extents.n_steps * op.extents.n_neurons + op.rules.capacity) >= events_parallel_work;
}

void run(const BinEvents& op, host::Launcher& launcher) {
  const uint64_t seed = op.seed_value ? *op.seed_value : op.seed;
  const uint64_t offset = op.offset_value ? current_offset(op.offset_value.set, op.offset_value.state) : op.offset;
  const bool is_bits = op.destination.dtype == SYNFIRE_DTYPE_BITS;
  auto* const faults = static_cast<uint32_t*>(op.faults.data);
  launcher.for_each_placed_range(op.extents.batch, wants_threads(op), [&](int64_t begin, int64_t end, int64_t place) {
    auto* const sums = is_bits ? nullptr : place_of<uint32_t>(op.sums, place, bytes_of_host_sums(op));
    auto* const order = op.rules.sort ? place_of<uint64_t>(op.order, place, bytes_of_host_order(op)) : nullptr;
    for (int64_t b = begin; b < end; ++b) {
      const EventsRow row = row_of(op, seed, offset, b);
      const Faults found = is_bits ? bin_bits(op, row, b, order) : bin_counts(op, row, b, sums, order);
      std::memcpy(faults + b * n_event_faults, found.count, sizeof found.count);
    }
  });
  if (op.offset_value) advance_offset(op.offset_value.set, op.offset_value.state, 1);
}

}  // namespace synfire::operations

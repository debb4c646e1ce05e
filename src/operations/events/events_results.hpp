// Single events and results, as kernels compute them and their twins do too.
#ifndef SYNFIRE_OPERATIONS_EVENTS_EVENTS_RESULTS_HPP
#define SYNFIRE_OPERATIONS_EVENTS_EVENTS_RESULTS_HPP

#include "events_kernels.hpp"

#include <synfire/synfire.h>
#include <operations/encode/offset.hpp>

namespace synfire::cuda {

SYNFIRE_MODEL_FN operations::EventsRow row_of(const EventsLaunch& launch, int64_t b) {
  const uint64_t seed = launch.seed_value ? *launch.seed_value : launch.seed;
  const uint64_t offset =
      launch.offset_set ? operations::current_offset(launch.offset_set, launch.offset_state) : launch.offset;
  return operations::events_row(launch.rules, launch.event_counts, launch.window, seed, offset, b);
}

// Event i of those that a row holds, in the order of its array.
SYNFIRE_MODEL_FN uint64_t held_event(const EventsLaunch& launch, const operations::EventsRow& row, int64_t b,
                                     uint32_t i) {
  return launch.events[b * launch.events_pitch + operations::index_of_event(launch.rules, row, i)];
}

// Key and event at place i of a row of the sort, which the row may not hold.
SYNFIRE_MODEL_FN void write_event_key(const EventsLaunch& launch, const operations::EventsRow& row, int64_t b,
                                      uint32_t i) {
  const int64_t at = b * launch.rules.capacity + i;
  const bool is_held = i < row.n_held;
  const uint64_t event = is_held ? held_event(launch, row, b, i) : 0;
  launch.sorted[at] = event;
  launch.keys[at] = static_cast<uint64_t>(b) << event_key_row |
                    (is_held ? operations::time_of(event) - row.start : uint64_t{1} << (event_key_row - 1));
}

// Counts event i of those that a row holds. add(element, n) adds n to a sum, and fault(kind) counts a fault.
template <class Add, class Fault>
SYNFIRE_MODEL_FN void count_event(const EventsLaunch& launch, const operations::EventsRow& row, int64_t b, uint32_t i,
                                  Add add, Fault fault) {
  const operations::EventsRules& rules = launch.rules;
  const uint64_t event = rules.sort ? launch.sorted[b * rules.capacity + i] : held_event(launch, row, b, i);
  if (rules.by_count && !rules.sort && i > 0 && operations::is_older(event, held_event(launch, row, b, i - 1)))
    fault(SYNFIRE_EVENTS_FAULT_ORDER);
  if (!operations::is_of_sensor(rules, event)) return fault(SYNFIRE_EVENTS_FAULT_SENSOR);
  const uint32_t after_start = operations::time_of(event) - row.start;
  const int64_t step =
      rules.by_count ? operations::step_by_count(rules, row, i) : operations::step_by_time(rules, row, after_start);
  if (step >= rules.n_steps) return fault(SYNFIRE_EVENTS_FAULT_WINDOW);
  const int64_t element = operations::element_of(rules, row, event);
  if (element < 0) return;
  const int64_t at = (step * launch.extents.batch + b) * launch.extents.n_neurons + element;
  if (!rules.bilinear) return add(at, 1u);
  const uint32_t next = operations::weight_of_next(row, after_start);
  add(at, operations::bilinear_unit - next);
  if (step + 1 < rules.n_steps) add(at + launch.extents.row(), next);
}

// Writes element i of a step of a row, unless it is a bit.
SYNFIRE_MODEL_FN void write_result(const EventsLaunch& launch, int64_t t, int64_t b, int64_t i, uint32_t sum) {
  const int64_t at = t * launch.pitch + b * launch.extents.n_neurons + i;
  if (launch.result == EventsResult::counts)
    static_cast<uint8_t*>(launch.destination)[at] = static_cast<uint8_t>(operations::bounded_sum(launch.rules, sum));
  else
    static_cast<float*>(launch.destination)[at] = operations::value_of_sum(launch.rules, sum);
}

SYNFIRE_MODEL_FN bool is_above_bound(const EventsLaunch& launch, uint32_t sum) {
  return launch.rules.counts_bounded && sum > launch.rules.bound;
}

}  // namespace synfire::cuda

#endif

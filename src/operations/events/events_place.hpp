// The element of the result that an event counts in: its step, its cell and its polarity. The same on every backend.
#ifndef SYNFIRE_OPERATIONS_EVENTS_EVENTS_PLACE_HPP
#define SYNFIRE_OPERATIONS_EVENTS_EVENTS_PLACE_HPP

#include <operations/encode/philox.hpp>

#include <synfire/model/platform.hpp>

#include <cstdint>

namespace synfire::operations {

inline constexpr int n_event_faults = 5;       // columns of `faults`: SYNFIRE_EVENTS_FAULT_*
inline constexpr uint32_t bilinear_unit = 64;  // the weights of an event add up to it

// Rows or columns of the sensor.
struct EventsAxis {
  uint32_t sensor;        // at most 2^14
  uint32_t first, range;  // of the cropped rectangle: it begins at `first`, or up to `range` later
  uint32_t length;        // of the rectangle
  uint32_t n_cells;
  uint32_t multiplier;    // a length, times this, shifted right by cell_shift, is its cell
  uint64_t mirror_below;  // mirrored if a random word is less
};
inline constexpr int cell_shift = 28;

struct EventsRules {
  EventsAxis y, x;
  int64_t n_steps;          // less than 2^31
  uint32_t capacity;        // less than 2^31
  uint32_t ticks_per_step;  // by time without a window
  int64_t events_per_step;  // by count; 0: an equal share of the events
  uint32_t bound;           // of a sum, in units of an event or, if it is bilinear, of 1/64; no_bound: none
  bool by_count, keep_newest, sort, bilinear;
  bool counts_bounded;  // sums above the bound are faults

  SYNFIRE_MODEL_FN int64_t n_elements() const { return int64_t{2} * y.n_cells * x.n_cells; }  // of one step
  SYNFIRE_MODEL_FN bool is_augmented() const {
    return y.mirror_below != 0 || x.mirror_below != 0 || y.range != 0 || x.range != 0;
  }
};
inline constexpr uint32_t no_bound = 0xFFFFFFFF;

// A batch row in one replay.
struct EventsRow {
  uint32_t n_given;  // events, also those that the buffer does not hold
  uint32_t n_held;
  uint32_t first;  // index of the oldest one
  uint32_t start, ticks;
  uint32_t top, left;
  bool mirror_y, mirror_x;
};

inline namespace SYNFIRE_MODEL_LEVEL {

// ---- an event -------------------------------------------------------------------------------------------------------

SYNFIRE_MODEL_FN uint32_t time_of(uint64_t event) {
  return static_cast<uint32_t>(event);
}
SYNFIRE_MODEL_FN uint32_t column_of(uint64_t event) {
  return static_cast<uint32_t>(event >> 32) & 0x3FFFu;
}
SYNFIRE_MODEL_FN uint32_t line_of(uint64_t event) {
  return static_cast<uint32_t>(event >> 46) & 0x3FFFu;
}
SYNFIRE_MODEL_FN uint32_t polarity_of(uint64_t event) {
  return static_cast<uint32_t>(event >> 60);
}

// ---- a batch row ----------------------------------------------------------------------------------------------------

// The second word of the counter is the row; the first, "evnt", separates the numbers from those of an encoding with
// the same seed for all but one group of four neurons.
SYNFIRE_MODEL_FN Words4 augmentation(uint64_t seed, uint64_t offset, uint32_t row) {
  return philox({{0x746E7665u, row, static_cast<uint32_t>(offset), static_cast<uint32_t>(offset >> 32)}}, seed);
}

SYNFIRE_MODEL_FN uint32_t first_of(const EventsAxis& axis, uint32_t word) {
  return axis.first + static_cast<uint32_t>((static_cast<uint64_t>(word) * (axis.range + 1u)) >> 32);
}

// `window` is null, or has the start and the ticks of each row.
SYNFIRE_MODEL_FN EventsRow events_row(const EventsRules& rules, const uint32_t* event_counts, const uint32_t* window,
                                      uint64_t seed, uint64_t offset, int64_t row) {
  EventsRow result;
  result.n_given = event_counts[row];
  const bool is_full = result.n_given > rules.capacity;
  result.n_held = is_full ? rules.capacity : result.n_given;
  result.first = is_full && rules.keep_newest ? result.n_given % rules.capacity : 0;
  result.start = window ? window[2 * row] : 0;
  result.ticks = window ? window[2 * row + 1] : rules.ticks_per_step;
  Words4 drawn = {{0, 0, 0, 0}};
  const bool is_augmented = rules.is_augmented();
  if (is_augmented) drawn = augmentation(seed, offset, static_cast<uint32_t>(row));
  result.mirror_x = is_augmented && drawn.word[0] < rules.x.mirror_below;
  result.mirror_y = is_augmented && drawn.word[1] < rules.y.mirror_below;
  result.top = first_of(rules.y, drawn.word[2]);
  result.left = first_of(rules.x, drawn.word[3]);
  return result;
}

// The index in the array of event i of those that a row holds.
SYNFIRE_MODEL_FN uint32_t index_of_event(const EventsRules& rules, const EventsRow& row, uint32_t i) {
  const uint32_t index = row.first + i;  // less than 2^32
  return index >= rules.capacity ? index - rules.capacity : index;
}

// ---- the place of an event ------------------------------------------------------------------------------------------

SYNFIRE_MODEL_FN bool is_of_sensor(const EventsRules& rules, uint64_t event) {
  return column_of(event) < rules.x.sensor && line_of(event) < rules.y.sensor && polarity_of(event) <= 1;
}

// True if the clock went backwards; modulo 2^32, a difference of 2^31 or more is negative.
SYNFIRE_MODEL_FN bool is_older(uint64_t event, uint64_t previous) {
  return static_cast<int32_t>(time_of(event) - time_of(previous)) < 0;
}

// A step that the result may lack: n_steps or more.
SYNFIRE_MODEL_FN int64_t step_by_time(const EventsRules& rules, const EventsRow& row, uint32_t after_start) {
  return row.ticks == 0 ? rules.n_steps : static_cast<int64_t>(after_start / row.ticks);
}
SYNFIRE_MODEL_FN int64_t step_by_count(const EventsRules& rules, const EventsRow& row, uint32_t i) {
  return rules.events_per_step != 0 ? i / rules.events_per_step : i * rules.n_steps / row.n_held;
}

// How much of an event, in 64ths, counts in the next step.
SYNFIRE_MODEL_FN uint32_t weight_of_next(const EventsRow& row, uint32_t after_start) {
  const uint64_t ticks = row.ticks;
  return static_cast<uint32_t>((uint64_t{2} * bilinear_unit * (after_start % ticks) + ticks) / (2 * ticks));
}

// The element in a step, or -1 outside the cropped rectangle.
SYNFIRE_MODEL_FN int64_t element_of(const EventsRules& rules, const EventsRow& row, uint64_t event) {
  const uint32_t y = line_of(event) - row.top, x = column_of(event) - row.left;  // huge if it is before them
  if (y >= rules.y.length || x >= rules.x.length) return -1;
  auto cell_y = static_cast<uint32_t>((static_cast<uint64_t>(y) * rules.y.multiplier) >> cell_shift);
  auto cell_x = static_cast<uint32_t>((static_cast<uint64_t>(x) * rules.x.multiplier) >> cell_shift);
  if (row.mirror_y) cell_y = rules.y.n_cells - 1 - cell_y;
  if (row.mirror_x) cell_x = rules.x.n_cells - 1 - cell_x;
  return int64_t{2} * (static_cast<int64_t>(cell_y) * rules.x.n_cells + cell_x) + polarity_of(event);
}

// ---- a sum ----------------------------------------------------------------------------------------------------------

SYNFIRE_MODEL_FN uint32_t bounded_sum(const EventsRules& rules, uint32_t sum) {
  return sum > rules.bound ? rules.bound : sum;
}
// A multiple of 1/64 times a power of two: one rounding, that of the integer.
SYNFIRE_MODEL_FN float value_of_sum(const EventsRules& rules, uint32_t sum) {
  const auto value = static_cast<float>(bounded_sum(rules, sum));
  return rules.bilinear ? value * 0.015625f : value;
}

}  // namespace SYNFIRE_MODEL_LEVEL
}  // namespace synfire::operations

#endif

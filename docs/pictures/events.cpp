// events.cpp - see events.hpp. The library bins the events.
//
// SPDX-License-Identifier: MIT
#include "events.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "canvas.hpp"

namespace synfire_pictures {
namespace {

constexpr std::uint32_t n_columns = 32, duration = 32000, n_steps = 8;  // ticks are microseconds
constexpr double bar = 6;                                               // columns

struct Event {
  std::uint32_t t, x, polarity;
};

// The bar reaches a column at a time that grows with the square root of the way: it gets faster. A pixel sends a few
// events when an edge passes.
std::vector<Event> make_events() {
  std::uint32_t state = 1;
  const auto draw = [&state](std::uint32_t below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 16) % below;
  };
  std::vector<Event> events;
  const auto pass = [&](std::uint32_t x, double way, std::uint32_t polarity) {
    const auto t = static_cast<std::uint32_t>(duration * std::sqrt(way / (n_columns + bar)));
    for (std::uint32_t i = 0, n = 3 + draw(3); i < n; ++i) events.push_back({t + draw(700), x, polarity});
  };
  for (std::uint32_t x = 0; x < n_columns; ++x) {
    pass(x, x + 0.3, 1);
    pass(x, x + 0.3 + bar, 0);
  }
  for (int i = 0; i < 14; ++i) events.push_back({draw(duration), draw(n_columns), draw(2)});  // noise
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.t != b.t ? a.t < b.t : a.x != b.x ? a.x < b.x : a.polarity < b.polarity;
  });
  events.erase(std::remove_if(events.begin(), events.end(), [](const Event& e) { return e.t >= duration; }),
               events.end());
  return events;
}

// Counts [T, columns, 2].
std::vector<float> bin(const synfire::Context& context, const std::vector<Event>& events, std::int32_t split) {
  std::vector<std::uint64_t> packed;
  packed.reserve(events.size());
  for (const Event& e : events) packed.push_back(e.t | std::uint64_t{e.x} << 32 | std::uint64_t{e.polarity} << 60);
  synfire_buffer_desc u64 = synfire::buffer_desc<float>(packed.size()), u32 = synfire::buffer_desc<float>(8);
  u64.dtype = SYNFIRE_DTYPE_U64;
  u32.dtype = SYNFIRE_DTYPE_U32;
  synfire::Buffer all(context, u64), count(context, u32), faults(context, u32);
  synfire::Buffer counts(context, synfire::buffer_desc<float>(std::size_t{n_steps} * n_columns * 2));
  const auto n_events = static_cast<std::uint32_t>(packed.size());
  synfire::check(synfire_buffer_upload(all, 0, packed.data(), packed.size() * sizeof packed[0]));
  synfire::check(synfire_buffer_upload(count, 0, &n_events, sizeof n_events));
  synfire_bin_events_desc desc = SYNFIRE_BIN_EVENTS_DESC_INIT;
  desc.split = split;
  desc.n_steps = n_steps;
  desc.capacity = static_cast<std::int64_t>(packed.size());
  desc.sensor_height = 1;
  desc.sensor_width = n_columns;
  desc.ticks_per_step = split == SYNFIRE_EVENTS_BY_TIME ? duration / n_steps : 0;
  desc.events = all;
  desc.event_counts = count;
  desc.destination = counts;
  desc.faults = faults;
  synfire::check(synfire_bin_events(context, &desc, nullptr));
  return counts.download<float>();
}

const char* color_of(std::uint32_t polarity) {
  return color(polarity == 1 ? 1 : 0);
}

// A column of cells for each step, brighter events in the right half of a cell, darker ones in the left.
Panel draw_counts(Point corner, double width, double height, const std::string& title,
                  const std::vector<float>& counts) {
  Panel panel(corner, width, height, {0, 0}, {n_steps, n_columns});
  std::vector<double> labels;
  for (std::uint32_t t = 0; t <= n_steps; ++t) labels.push_back(t);
  panel.x_labels(labels, "step t");
  for (std::uint32_t t = 0; t < n_steps; ++t)
    for (std::uint32_t x = 0; x < n_columns; ++x)
      for (std::uint32_t p = 0; p < 2; ++p) {
        const double count = static_cast<double>(counts[(t * n_columns + x) * 2 + p]);
        if (count > 0)
          panel.cell({t + 0.5 * p, x + 0.0}, {t + 0.5 * p + 0.5, x + 1.0}, color_of(p), std::min(count / 5, 1.0));
      }
  panel.frame(title);
  return panel;
}

}  // namespace

std::string draw_events(const synfire::Context& context) {
  constexpr double left = 40, top = 94, width = 200, height = 224, gap = 36;
  const std::vector<Event> events = make_events();
  Picture picture = {left + 3 * width + 2 * gap + 24,
                     top + height + 44,
                     "Events, and the same events in bins",
                     "a bright bar passes 32 pixels, faster and faster",
                     {{color_of(0), "darker, polarity 0"}, {color_of(1), "brighter, polarity 1"}},
                     {}};
  Panel raster({left, top}, width, height, {0, 0}, {duration / 1000.0, n_columns});
  raster.x_labels({0, 8, 16, 24, 32}, "time in ms");
  raster.y_labels({0, 8, 16, 24, 32});
  for (const Event& e : events)
    raster.cell({e.t / 1000.0 - 0.16, e.x + 0.2}, {e.t / 1000.0 + 0.16, e.x + 0.8}, color_of(e.polarity), 1);
  raster.frame("events: time and column");
  picture.panels = {raster,
                    draw_counts({left + width + gap, top}, width, height, "by time: 4 ms a step",
                                bin(context, events, SYNFIRE_EVENTS_BY_TIME)),
                    draw_counts({left + 2 * (width + gap), top}, width, height, "by count: an eighth of them a step",
                                bin(context, events, SYNFIRE_EVENTS_BY_COUNT))};
  return picture.svg();
}

}  // namespace synfire_pictures

// events_command.cpp - `synfire-bench events`: how many events of a camera are binned in a second.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "commands.hpp"
#include "machine.hpp"
#include "record.hpp"
#include "timing.hpp"

namespace synfire_bench {
namespace {

constexpr Column columns[] = {{"bins", "bins", 0, 24},
                              {"sensor", "sensor", 0, 11},
                              {"steps", "steps", 0, 6},
                              {"result", "result", 0, 7},
                              {"events", "events", 0, 9},
                              {"ms", "ms", 3, 9},
                              {"million_per_s", "million/s", 1, 10}};

struct Bins {
  const char* name;
  std::int64_t height, width, downsample, n_steps;
  std::int32_t split, sort, bilinear, dtype;
  bool ordered;  // the events come in the order of their times
  bool live;     // a millisecond's events
};
constexpr std::int32_t by_time = SYNFIRE_EVENTS_BY_TIME, by_count = SYNFIRE_EVENTS_BY_COUNT;
constexpr Bins all_bins[] = {
    {"time", 128, 128, 1, 16, by_time, 0, 0, SYNFIRE_DTYPE_BITS, true, false},
    {"time, any order", 128, 128, 1, 16, by_time, 0, 0, SYNFIRE_DTYPE_BITS, false, false},
    {"time, bilinear", 128, 128, 1, 16, by_time, 0, 1, SYNFIRE_DTYPE_F32, true, false},
    {"count", 128, 128, 1, 16, by_count, 0, 0, SYNFIRE_DTYPE_U8, true, false},
    {"count, sorted", 128, 128, 1, 16, by_count, 1, 0, SYNFIRE_DTYPE_U8, false, false},
    {"time", 260, 346, 1, 16, by_time, 0, 0, SYNFIRE_DTYPE_BITS, true, false},
    {"time, downsampled", 720, 1280, 8, 16, by_time, 0, 0, SYNFIRE_DTYPE_BITS, true, false},
    {"time, a millisecond", 128, 128, 1, 1, by_time, 0, 0, SYNFIRE_DTYPE_BITS, true, true},
};
constexpr std::int64_t live_events = 10000;
constexpr std::uint64_t ticks = 1u << 20;  // of a step

const char* name_of(std::int32_t dtype) {
  return dtype == SYNFIRE_DTYPE_BITS ? "bits" : dtype == SYNFIRE_DTYPE_U8 ? "u8" : "f32";
}

// Events at any places of the sensor, whose times fill all steps.
std::vector<std::uint64_t> make_events(const Bins& bins, std::int64_t count) {
  std::uint64_t state = 1;
  const auto draw = [&state](std::uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  const std::uint64_t span = ticks * static_cast<std::uint64_t>(bins.n_steps);
  std::vector<std::uint64_t> events(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::uint64_t t = bins.ordered ? i * span / events.size() : draw(span);
    const std::uint64_t x = draw(static_cast<std::uint64_t>(bins.width)),
                        y = draw(static_cast<std::uint64_t>(bins.height));
    events[i] = t | x << 32 | y << 46 | draw(2) << 60;
  }
  return events;
}

Owned<synfire_buffer> make_buffer(const Machine& machine, std::int32_t memory, std::int32_t dtype,
                                  std::uint64_t n_elements) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = memory;
  desc.dtype = dtype;
  desc.n_elements = n_elements;
  synfire_buffer buffer = nullptr;
  check(synfire_buffer_create(machine.context(), &desc, &buffer), "synfire_buffer_create");
  return Owned<synfire_buffer>(buffer);
}

// Seconds from a launch until its wait returns.
double replay_seconds(synfire_graph graph, std::uint32_t rounds) {
  std::vector<double> seconds;
  for (std::uint32_t i = 0; i <= rounds; ++i) {
    std::uint64_t ticket = 0;
    const double start = now();
    check(synfire_graph_launch(graph, nullptr, &ticket), "synfire_graph_launch");
    check(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_SPIN, -1), "synfire_graph_wait");
    if (i > 0) seconds.push_back(now() - start);  // the first one warms up
  }
  std::sort(seconds.begin(), seconds.end());
  return quantile(seconds, 0.5);
}

void measure(const Machine& machine, const Bins& bins, std::int64_t count, std::uint32_t rounds, Writer& writer) {
  const std::int32_t memory = bins.live ? SYNFIRE_MEMORY_PINNED : SYNFIRE_MEMORY_DEVICE;
  synfire_bin_events_desc desc = SYNFIRE_BIN_EVENTS_DESC_INIT;
  desc.split = bins.split;
  desc.sort = bins.sort;
  desc.bilinear = bins.bilinear;
  desc.n_steps = bins.n_steps;
  desc.capacity = count;
  desc.sensor_height = bins.height;
  desc.sensor_width = bins.width;
  desc.downsample_y = desc.downsample_x = bins.downsample;
  if (bins.split == by_time) desc.ticks_per_step = static_cast<std::int64_t>(ticks);
  if (bins.dtype == SYNFIRE_DTYPE_U8) desc.count_bound = 255;
  const std::int64_t n = bins.height / bins.downsample * (bins.width / bins.downsample) * 2;
  const std::int64_t elements = bins.n_steps * (bins.dtype == SYNFIRE_DTYPE_BITS ? (n + 31) / 32 : n);
  const auto events = make_buffer(machine, memory, SYNFIRE_DTYPE_U64, static_cast<std::uint64_t>(count));
  const auto counts = make_buffer(machine, memory, SYNFIRE_DTYPE_U32, 1);
  const auto result = make_buffer(machine, memory, bins.dtype, static_cast<std::uint64_t>(elements));
  const auto faults = make_buffer(machine, memory, SYNFIRE_DTYPE_U32, 5);
  const std::vector<std::uint64_t> data = make_events(bins, count);
  const auto n_events = static_cast<std::uint32_t>(count);
  check(synfire_buffer_upload(events.get(), 0, data.data(), data.size() * sizeof data[0]), "synfire_buffer_upload");
  check(synfire_buffer_upload(counts.get(), 0, &n_events, sizeof n_events), "synfire_buffer_upload");
  desc.events = events.get();
  desc.event_counts = counts.get();
  desc.destination = result.get();
  desc.faults = faults.get();
  const Owned<synfire_graph> graph = make_graph(machine);
  check(synfire_graph_record_bin_events(graph.get(), &desc), "synfire_graph_record_bin_events");
  check(synfire_graph_instantiate(graph.get()), "synfire_graph_instantiate");
  const double seconds = replay_seconds(graph.get(), rounds);
  writer.row({std::string(bins.name), std::to_string(bins.width) + "x" + std::to_string(bins.height),
              static_cast<std::uint64_t>(bins.n_steps), std::string(name_of(bins.dtype)),
              static_cast<std::uint64_t>(count), seconds * 1e3, static_cast<double>(count) / seconds * 1e-6});
}

}  // namespace

void run_events(const Options& options) {
  const Machine machine(options.backend->id, options.threads);
  const std::int64_t count = options.events != 0 ? static_cast<std::int64_t>(options.events)
                             : machine.is_host() ? std::int64_t{1} << 22
                                                 : std::int64_t{1} << 24;
  machine.require_memory(80.0 * static_cast<double>(count));
  Writer writer(stdout, options.format, columns);
  for (const Bins& bins : all_bins) {
    measure(machine, bins, bins.live ? std::min(count, live_events) : count, options.rounds, writer);
    machine.reclaim();
  }
  writer.finish();
  if (options.format != Format::text) return;
  std::printf(
      "\n%s\nfrom the launch of a replay until its wait returns (median of %u); one batch row, events at random "
      "places\n",
      machine.description().c_str(), options.rounds);
}

}  // namespace synfire_bench

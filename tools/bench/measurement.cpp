// measurement.cpp - the columns of a measurement.
//
// SPDX-License-Identifier: MIT
#include "measurement.hpp"

namespace synfire_bench {
namespace {

// Columns are in the same order as their cells in measurement_row().
constexpr Column columns[] = {
    {"library", nullptr},
    {"device", nullptr},
    {"driver", nullptr},
    {"backend", nullptr},
    {"threads", nullptr},
    {"model", "model", 0, 10},
    {"surrogate", nullptr},
    {"dtype", nullptr},
    {"spikes", nullptr},
    {"tape", nullptr},
    {"threads_per_block", nullptr},
    {"direction", "direction"},
    {"cache", "cache", 0, 5},
    {"steps", "T", 0, 5},
    {"batch", "B", 0, 3},
    {"neurons", "N"},
    {"spike_percent", "spikes %", 1},
    {"samples", nullptr},
    {"passes_per_sample", nullptr},
    {"median_us", "median us", 2},
    {"min_us", "min", 2, 9},
    {"p10_us", nullptr},
    {"p90_us", nullptr},
    {"max_us", "max", 2, 9},
    {"done_p50_us", "done p50", 2, 9},
    {"done_p99_us", "done p99", 2, 9},
    {"done_samples", nullptr},
    {"bytes_with_state", nullptr},
    {"bytes", "bytes", 0, 11},
    {"bytes_per_element", "B/element", 3},
    {"gb_per_s", "GB/s", 1},
    {"copy_gb_per_s", nullptr},
    {"percent_of_copy", "% of copy", 1},
};

}  // namespace

std::span<const Column> measurement_columns() {
  return columns;
}

std::string cache_label(const Machine& machine, const Job& job, Direction direction, Cache cache) {
  if (traffic(job, direction).sequences >= machine.cold_bytes()) return "any";
  return std::string(caches[static_cast<int>(cache)].name);
}

Row measurement_row(const Machine& machine, const Copy& copy, const Job& job, std::string_view direction,
                    std::string_view cache, const Measurement& m) {
  const synfire_context_properties& properties = machine.properties();
  const auto bytes = static_cast<double>(m.traffic.sequences);
  const double rate = bytes / m.pass.median;
  const auto us = [](double seconds) { return seconds * 1e6; };
  const auto count = [](auto number) { return static_cast<std::uint64_t>(number); };
  return {
      synfire_version_string(),
      properties.name,
      count(properties.driver_version),
      machine.is_host() ? "host" : "cuda",
      count(properties.n_threads),
      std::string(job.model->name),
      std::string(job.surrogate->name),
      std::string(job.dtype->name),
      std::string(job.spikes->name),
      std::string(job.tape->name),
      count(job.threads_per_block),
      std::string(direction),
      std::string(cache),
      job.shape.steps,
      job.shape.batch,
      job.shape.neurons,
      m.spike_rate * 100,
      count(m.pass.samples),
      m.pass.passes,
      us(m.pass.median),
      us(m.pass.min),
      us(m.pass.p10),
      us(m.pass.p90),
      us(m.pass.max),
      us(m.done.p50),
      us(m.done.p99),
      count(m.done.samples),
      m.traffic.all,
      m.traffic.sequences,
      bytes / static_cast<double>(job.shape.elements()),
      rate * 1e-9,
      copy.bytes_per_second * 1e-9,
      rate / copy.bytes_per_second * 100,
  };
}

}  // namespace synfire_bench

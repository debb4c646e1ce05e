// shape_report.cpp - verdicts and rows of `synfire-bench shapes`.
//
// SPDX-License-Identifier: MIT
#include "shape_report.hpp"

#include <algorithm>
#include <limits>

#include "shape_bounds.hpp"
#include "shape_work.hpp"

namespace synfire_bench {
namespace {

// Columns are in the same order as their cells in shape_row().
constexpr Column columns[] = {
    {"library", nullptr},
    {"device", nullptr},
    {"driver", nullptr},
    {"backend", nullptr},
    {"threads", nullptr},
    {"part", nullptr},
    {"source", nullptr},
    {"layer", nullptr},
    {"model", "model", 0, 10},
    {"surrogate", "surrogate", 0, 9},
    {"dtype", "dtype", 0, 5},
    {"spikes", "spikes", 0, 9},
    {"tape", "tape", 0, 9},
    {"direction", "direction", 0, 8},
    {"batch", "B", 0, 4},
    {"neurons", "N", 0, 8},
    {"steps", "T", 0, 4},
    {"padding", "padding", 0, 3},
    {"offsets", nullptr},
    {"samples", nullptr},
    {"passes_per_sample", nullptr},
    {"attempts", nullptr},
    {"us", "us", 2, 9},
    {"median_us", nullptr},
    {"min_us", nullptr},
    {"max_us", nullptr},
    {"bytes_with_state", nullptr},
    {"bytes", nullptr},
    {"percent_of_copy", "% of copy", 1},
    {"percent_with_state", "w. state", 1},
    {"copy_gb_per_s", nullptr},
    {"reference_us", nullptr},
    {"reference_bytes_with_state", nullptr},
    {"scaled_reference_us", "scaled", 2, 8},
    {"ratio", "ratio", 3, 6},
    {"bytes_bound_us", nullptr},
    {"smallest_reference_us", "smallest", 2, 8},
    {"bound_us", "bound", 2, 8},
    {"bound_by", "by", 0, 7},
    {"one_step_less_us", "T - 1", 2, 8},
    {"one_step_less_bound_us", "bound", 2, 8},
    {"peer_us", "peer", 1, 6},
    {"peer_bound_us", "bound", 1, 6},
    {"passed_bounds", "verdict", 0, 8},
};

}  // namespace

double ShapeResult::scaled_seconds() const {
  return scaled_reference(reference_seconds, traffic.all, reference_traffic.all);
}

double ShapeResult::bytes_bound() const {
  return bound_by_bytes(scaled_seconds(), passes_of(direction), host);
}

double ShapeResult::latency_bound() const {
  return bound_by_latency(std::min(smallest_reference_seconds, reference_seconds), host);
}

double ShapeResult::bound() const {
  return std::max(bytes_bound(), latency_bound());
}

bool ShapeResult::is_bound_by_latency() const {
  return latency_bound() > bytes_bound();
}

double ShapeResult::one_step_less_bound() const {
  return bound_of_one_step_less(seconds);
}

double ShapeResult::peer_bound() const {
  return bound_by_peer(peer_seconds, placed->shape, direction);
}

std::string ShapeResult::passed_bounds() const {
  std::string names;
  const auto add = [&](bool passed, const char* name) {
    if (!passed) return;
    if (!names.empty()) names += ',';
    names += name;
  };
  add(seconds > bound(), "reference");
  add(one_step_less_seconds > one_step_less_bound(), "T-1");
  add(peer_counts && peer_seconds > 0 && seconds > peer_bound(), "peer");
  return names;
}

std::span<const Column> shape_columns() {
  return columns;
}

Row shape_row(const Machine& machine, const Copy& copy, const ShapeResult& r) {
  const synfire_context_properties& properties = machine.properties();
  const auto us = [](double seconds) { return seconds > 0 ? seconds * 1e6 : std::numeric_limits<double>::quiet_NaN(); };
  const auto count = [](auto number) { return static_cast<std::uint64_t>(number); };
  const auto percent = [&](std::uint64_t bytes) {
    return static_cast<double>(bytes) / r.seconds / copy.bytes_per_second * 100;
  };
  const PlacedShape& placed = *r.placed;
  std::string offsets;
  for (const std::uint64_t offset : placed.offsets) {
    if (!offsets.empty()) offsets += ' ';
    offsets += std::to_string(offset);
  }
  const std::string passed = r.passed_bounds();
  return {
      synfire_version_string(),
      properties.name,
      count(properties.driver_version),
      machine.is_host() ? "host" : "cuda",
      count(properties.n_threads),
      r.part,
      std::string(placed.source),
      std::string(placed.layer),
      std::string(r.job.model->name),
      std::string(r.job.surrogate->name),
      std::string(r.job.dtype->name),
      is_spikeless(*r.job.model) ? "none" : std::string(r.job.spikes->name),
      std::string(r.job.tape->name),
      std::string(directions[static_cast<int>(r.direction)].name),
      placed.shape.batch,
      placed.shape.neurons,
      placed.shape.steps,
      placed.padding,
      offsets,
      count(r.pass.samples),
      r.pass.passes,
      count(r.attempts),
      us(r.seconds),
      us(r.pass.median),
      us(r.pass.min),
      us(r.pass.max),
      r.traffic.all,
      r.traffic.sequences,
      percent(r.traffic.sequences),
      percent(r.traffic.all),
      copy.bytes_per_second * 1e-9,
      us(r.reference_seconds),
      r.reference_traffic.all,
      us(r.scaled_seconds()),
      r.ratio(),
      us(r.bytes_bound()),
      us(r.smallest_reference_seconds),
      us(r.bound()),
      std::string(r.is_bound_by_latency() ? "latency" : "bytes"),
      us(r.one_step_less_seconds),
      r.one_step_less_seconds > 0 ? us(r.one_step_less_bound()) : std::numeric_limits<double>::quiet_NaN(),
      us(r.peer_seconds),
      us(r.peer_bound()),
      passed.empty() ? "ok" : passed,
  };
}

}  // namespace synfire_bench

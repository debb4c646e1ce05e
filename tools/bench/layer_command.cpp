// layer_command.cpp - `synfire-bench layer`: one shape, one direction.
//
// SPDX-License-Identifier: MIT
#include <cstdio>

#include "commands.hpp"
#include "measurement.hpp"

namespace synfire_bench {
namespace {

void print_details(const Machine& machine, const Copy& copy, const Job& job, const Measurement& m) {
  const auto all = static_cast<double>(m.traffic.all);
  const double rate = all / m.pass.median;
  std::printf(
      "\n%u samples of %llu passes: p10 %.2f, p90 %.2f us; one pass per replay, launch to done, %u times: p50 %.2f, "
      "p99 "
      "%.2f us\n",
      m.pass.samples, static_cast<unsigned long long>(m.pass.passes), m.pass.p10 * 1e6, m.pass.p90 * 1e6,
      m.done.samples, m.done.p50 * 1e6, m.done.p99 * 1e6);
  std::printf("with state and tape: %.3f B/element, %.1f GB/s, %.1f %% of copy\n",
              all / static_cast<double>(job.shape.elements()), rate * 1e-9, rate / copy.bytes_per_second * 100);
  if (m.traffic.sequences < machine.cold_bytes()) {
    std::printf("the arrays take less than %.0f MB and may stay in a cache: percent of copy can exceed 100 when hot\n",
                static_cast<double>(machine.cold_bytes()) * 1e-6);
  }
}

}  // namespace

void run_layer(const Options& options) {
  const Machine machine(options.backend->id, options.threads);
  const bool as_text = options.format == Format::text;
  const Job job{options.shape,  options.model, options.surrogate,        options.dtype,
                options.spikes, options.tape,  options.threads_per_block};
  const Direction direction = options.direction->direction;
  const Cache cache = options.cache->cache;
  const std::uint64_t sets = cache == Cache::hot ? 1 : cold_sets(machine, job, direction);
  machine.require_memory(static_cast<double>(device_bytes(job)) * static_cast<double>(sets));
  if (as_text) std::printf("%s\n", machine.description().c_str());
  const Copy copy = measure_copy(machine, options.copy_mib, options.rounds);
  if (as_text) {
    print_copy(copy);
    std::printf("surrogate %s, %s, spikes as %s, tape %s\n\n", job.surrogate->name.data(), job.dtype->name.data(),
                job.spikes->name.data(), job.tape->name.data());
    std::fflush(stdout);
  }

  Arena arena(machine, *job.dtype);
  Workload workload(machine, arena, job, {direction}, sets);
  const Rotation rotation = workload.rotation(direction, cache);
  Measurement m;
  m.pass = measure_passes(rotation, options.rounds);
  m.done = measure_latency(rotation, 0.5, 10000);
  m.traffic = traffic(job, direction);
  m.spike_rate = workload.spike_rate();

  Writer writer(stdout, options.format, measurement_columns());
  writer.row(
      measurement_row(machine, copy, job, options.direction->name, cache_label(machine, job, direction, cache), m));
  writer.finish();
  if (as_text) print_details(machine, copy, job, m);
}

}  // namespace synfire_bench

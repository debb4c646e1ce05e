// sweep_command.cpp - `synfire-bench sweep`: many shapes, all models.
//
// Chooses the points, within limits of time and memory.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <vector>

#include "commands.hpp"
#include "measurement.hpp"

namespace synfire_bench {
namespace {

struct Point {
  std::uint64_t steps, neurons;
};

constexpr std::uint64_t all_steps[] = {1, 2, 4, 8, 16, 32, 64, 128, 1024};
constexpr std::uint64_t all_neurons[] = {256, 1024, 4096, 16384, 65536, 262144, 1048576, 2097152};
// Few neurons, many, and few with many steps: bound by launches, by latency and by memory.
constexpr Point model_points[] = {{8, 1024}, {8, 16384}, {1024, 1024}, {64, 262144}, {4, 2097152}, {32, 2097152}};

// The host's default is smaller, so that it finishes within two minutes on two threads.
constexpr std::uint64_t host_steps[] = {1, 8, 32, 128};
constexpr std::uint64_t host_neurons[] = {256, 4096, 65536, 262144};
constexpr Point host_model_points[] = {{8, 4096}, {8, 262144}};
constexpr std::uint64_t host_most_elements = std::uint64_t{1} << 22;

struct Plan {
  std::vector<Job> jobs;
  std::string reduced;  ///< what the default leaves out, as text
};

Plan make_plan(const Machine& machine, const Options& options) {
  Plan plan;
  const auto add = [&](const Model& model, Point point) {
    plan.jobs.push_back(
        {{point.steps, 1, point.neurons}, &model, options.surrogate, options.dtype, options.spikes, &tapes[0]});
  };
  const auto add_grid = [&](const Model& model, std::span<const std::uint64_t> steps,
                            std::span<const std::uint64_t> neurons, std::uint64_t most_elements) {
    for (const std::uint64_t t : steps) {
      for (const std::uint64_t n : neurons) {
        if (t * n <= most_elements) add(model, {t, n});
      }
    }
  };
  const bool small = machine.is_host() && !options.full;
  for (const Model& model : models) {
    if (options.full || (!small && &model == &models.front())) {
      add_grid(model, all_steps, all_neurons, std::numeric_limits<std::uint64_t>::max());
    } else if (&model == &models.front()) {
      add_grid(model, host_steps, host_neurons, host_most_elements);
    } else if (small) {
      for (const Point point : host_model_points) add(model, point);
    } else {
      for (const Point point : model_points) add(model, point);
    }
  }
  if (small) {
    plan.reduced =
        "reduced set for the host: lif at T 1, 8, 32, 128 and N 256 to 262144 up to 2^22 elements, the other "
        "models at two points; --full measures all\n";
  }
  return plan;
}

}  // namespace

void run_sweep(const Options& options) {
  const double begin = now();
  const Machine machine(options.backend->id, options.threads);
  ResultFiles files(options.csv_file, options.json_file, measurement_columns());
  double limit = options.limit_seconds;
  if (limit == 0 && !options.full) limit = machine.is_host() ? 110 : 280;

  std::printf("%s\n", machine.description().c_str());
  const Copy copy = measure_copy(machine, options.copy_mib, options.rounds);
  print_copy(copy);
  std::printf(
      "surrogate %s, %s, spikes as %s, tape %s; cache \"any\": arrays so large that hot and cold are the same\n",
      options.surrogate->name.data(), options.dtype->name.data(), options.spikes->name.data(), tapes[0].name.data());
  const Plan plan = make_plan(machine, options);
  std::printf("%s\n", plan.reduced.c_str());

  Writer table(stdout, Format::text, measurement_columns());
  Arena arena(machine, *options.dtype);
  std::uint64_t measured = 0, late = 0;
  std::string skipped;
  for (const Job& job : plan.jobs) {
    if (device_bytes(job) > machine.memory_limit()) {
      char line[160];
      std::snprintf(
          line, sizeof line, "skipped: %s T %llu N %llu: its arrays take %.1f GiB, more than the %.1f GiB allowed\n",
          job.model->name.data(), static_cast<unsigned long long>(job.shape.steps),
          static_cast<unsigned long long>(job.shape.neurons), static_cast<double>(device_bytes(job)) / 1073741824.0,
          static_cast<double>(machine.memory_limit()) / 1073741824.0);
      skipped += line;
      continue;
    }
    if (limit > 0 && measured > 0 && now() - begin > limit) {
      ++late;
      continue;
    }
    const std::vector<Direction> wanted = {Direction::forward, Direction::backward, Direction::both};
    Workload workload(machine, arena, job, wanted, cold_sets(machine, job, Direction::forward));
    for (const DirectionName& direction : directions) {
      for (const CacheName& cache : caches) {
        const std::string label = cache_label(machine, job, direction.direction, cache.cache);
        if (label == "any" && cache.cache == Cache::cold) continue;
        const Rotation rotation = workload.rotation(direction.direction, cache.cache);
        Measurement m;
        m.pass = measure_passes(rotation, options.rounds);
        m.done = measure_latency(rotation, 0.03, 1000);
        m.traffic = traffic(job, direction.direction);
        m.spike_rate = workload.spike_rate();
        const Row row = measurement_row(machine, copy, job, direction.name, label, m);
        table.row(row);
        files.row(row);
      }
    }
    ++measured;
  }
  table.finish();
  files.finish();
  print_copy_at_end(copy, measure_copy(machine, options.copy_mib, options.rounds));
  std::printf("%s", skipped.c_str());
  if (late > 0) {
    std::printf("not measured: the last %llu points, because %.0f s had passed (--limit)\n",
                static_cast<unsigned long long>(late), limit);
  }
  std::printf("%llu of %zu points measured in %.0f s\n", static_cast<unsigned long long>(measured), plan.jobs.size(),
              now() - begin);
}

}  // namespace synfire_bench

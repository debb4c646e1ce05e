// shapes_command.cpp - `synfire-bench shapes`: whether a shape costs what its bytes cost.
//
// Chooses shapes and kinds of layers, measures each in turns with its reference, and applies the bounds.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "commands.hpp"
#include "shape_bounds.hpp"
#include "shape_report.hpp"
#include "shape_work.hpp"
#include "svg.hpp"

namespace synfire_bench {
namespace {

constexpr std::size_t random_count = 60, kinds_count = 10;
constexpr std::uint64_t random_elements = std::uint64_t{1} << 26, kinds_elements = std::uint64_t{1} << 22;
constexpr std::uint64_t host_elements = std::uint64_t{1} << 22, host_kinds_elements = std::uint64_t{1} << 18;
// The host's default, so that the large shapes of the list, whose time is that of the memory, do not take most of it.
constexpr std::uint64_t host_largest = std::uint64_t{1} << 24;
constexpr double sample_seconds = 1e-3;
constexpr std::uint32_t most_attempts = 3;

// LI, which the other commands leave out, because it has no spikes.
constexpr Model spikeless_model = {"li", SYNFIRE_MODEL_LI, -0.3F, 2.2F};
constexpr Surrogate no_surrogate = {"none", 0};

struct Task {
  std::string part;
  PlacedShape placed;
  Job job;
};

// The parts that the options ask for, each kind with the dtypes that it has.
class Plan {
 public:
  Plan(const Machine& machine, const Options& options) : options_(options), host_(machine.is_host()) {
    const std::string_view part = options.shapes.part->name;
    if (part == "list" || part == "all") add_shapes("list", listed_shapes());
    if (part == "random" || part == "all") {
      add_shapes("random", random_shapes(options.shapes.seed, random_count, host_ ? host_elements : random_elements));
    }
    if (part == "kinds" || part == "all") add_kinds();
    // One type after the other: they share one pool of arrays.
    std::stable_sort(tasks_.begin(), tasks_.end(),
                     [](const Task& a, const Task& b) { return a.job.dtype < b.job.dtype; });
  }

  const std::vector<Task>& tasks() const { return tasks_; }
  std::size_t left_out() const { return left_out_; }
  std::uint64_t largest() const {
    if (options_.shapes.largest != 0) return options_.shapes.largest;
    return host_ ? host_largest : std::uint64_t{1} << 40;
  }

 private:
  bool wanted(const Dtype& dtype) const {
    return options_.shapes.dtype == nullptr || options_.shapes.dtype->id == dtype.id;
  }

  void add(const char* part, const PlacedShape& placed, const Dtype& dtype, const Model& model,
           const Surrogate& surrogate, const SpikeFormat& spikes, const Tape& tape) {
    if (placed.shape.elements() > largest()) {
      ++left_out_;
      return;
    }
    tasks_.push_back({part, placed, {placed.shape, &model, &surrogate, &dtype, &spikes, &tape}});
  }

  void add_shapes(const char* part, const std::vector<PlacedShape>& shapes) {
    for (const Dtype& dtype : dtypes) {
      if (!wanted(dtype)) continue;
      for (const PlacedShape& placed : shapes)
        add(part, placed, dtype, models.front(), surrogates.front(), spike_formats[0], tapes[0]);
    }
  }

  // Everything else than the kind that the list measures, each on the same shapes, whose types take turns.
  void add_kinds() {
    const std::vector<PlacedShape> shapes =
        random_shapes(options_.shapes.seed + 1, kinds_count, host_ ? host_kinds_elements : kinds_elements);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const Dtype& every = options_.shapes.dtype != nullptr ? *options_.shapes.dtype : dtypes[i % std::size(dtypes)];
      const auto kind = [&](const Model& model, const Surrogate& surrogate, const SpikeFormat& spikes, const Tape& tape,
                            const Dtype& dtype) { add("kinds", shapes[i], dtype, model, surrogate, spikes, tape); };
      for (const Model& model : models) kind(model, surrogates.front(), spike_formats[0], tapes[0], every);
      kind(spikeless_model, no_surrogate, spike_formats[0], tapes[0], every);
      for (const Surrogate& surrogate : surrogates) kind(models.front(), surrogate, spike_formats[0], tapes[0], every);
      for (const SpikeFormat& spikes : spike_formats) kind(models.front(), surrogates.front(), spikes, tapes[0], every);
      for (const Tape& tape : tapes) {
        const bool narrow = tape.id == SYNFIRE_TAPE_STORE_NARROW;
        const Dtype& dtype = narrow && every.bytes != 2 ? dtypes[2 + i % 2] : every;
        if (wanted(dtype)) kind(models.front(), surrogates.front(), spike_formats[0], tape, dtype);
      }
    }
  }

  const Options& options_;
  const bool host_;
  std::vector<Task> tasks_;
  std::size_t left_out_ = 0;
};

PlacedShape with_shape(const PlacedShape& placed, const Shape& shape) {
  PlacedShape other = placed;
  other.shape = shape;
  return other;
}

Job with_shape(const Job& job, const Shape& shape) {
  Job other = job;
  other.shape = shape;
  return other;
}

class ShapesRun {
 public:
  ShapesRun(const Machine& machine, const Options& options)
      : machine_(machine), options_(options), peer_counts_(is_device_of_peer(machine.properties().name)) {}

  // The directions of one task, each measured again while it passes a bound.
  std::vector<ShapeResult> measure(const Task& task, const ShapePool& pool) const {
    const Shape& shape = task.placed.shape;
    const Shape reference = reference_of(shape);
    const bool list = task.part == "list";
    std::vector<Direction> wanted;
    for (const DirectionName& name : directions) {
      const bool chosen = options_.shapes.direction == nullptr
                              ? name.direction != Direction::both ||
                                    (list && peer_seconds(shape, task.job.dtype->name, Direction::both) > 0)
                              : options_.shapes.direction->direction == name.direction;
      if (chosen && (name.direction == Direction::forward || task.job.tape->allows_backward))
        wanted.push_back(name.direction);
    }
    std::vector<ShapeResult> results;
    if (wanted.empty()) return results;

    // The reference is contiguous and begins at an address of 256 bytes.
    const ShapeWork work(machine_, pool, task.job, task.placed, wanted);
    const ShapeWork bounding(machine_, pool, with_shape(task.job, reference), {reference, {}, {}}, wanted);
    // On a GPU it may be the reference itself.
    const Shape smallest = smallest_reference_of(shape, *task.job.dtype, machine_.is_host());
    std::optional<ShapeWork> chain, less;
    if (smallest.neurons != reference.neurons)
      chain.emplace(machine_, pool, with_shape(task.job, smallest), PlacedShape{smallest, {}, {}}, wanted);
    if (shape.steps > 1 && !machine_.is_host()) {
      const Shape one_less = {shape.steps - 1, shape.batch, shape.neurons};
      less.emplace(machine_, pool, with_shape(task.job, one_less), with_shape(task.placed, one_less), wanted);
    }
    for (const Direction direction : wanted) {
      ShapeResult result;
      result.part = task.part;
      result.placed = &task.placed;
      result.job = task.job;
      result.direction = direction;
      result.host = machine_.is_host();
      result.traffic = shape_traffic(task.job, direction);
      result.reference_traffic = shape_traffic(with_shape(task.job, reference), direction);
      result.peer_counts = peer_counts_;
      if (list && !machine_.is_host()) result.peer_seconds = peer_seconds(shape, task.job.dtype->name, direction);
      std::vector<Rotation> rotations = {work.rotation(direction), bounding.rotation(direction)};
      if (chain) rotations.push_back(chain->rotation(direction));
      if (less) rotations.push_back(less->rotation(direction));
      for (std::uint32_t attempt = 1; attempt <= most_attempts; ++attempt) {
        const std::vector<Summary> summaries =
            measure_in_turns(rotations, options_.rounds << (attempt - 1), sample_seconds);
        result.attempts = attempt;
        result.pass = summaries[0];
        result.seconds = seconds_of(summaries[0]);
        result.reference_seconds = seconds_of(summaries[1]);
        result.smallest_reference_seconds = seconds_of(summaries[chain ? 2 : 1]);
        result.one_step_less_seconds = less ? seconds_of(summaries.back()) : 0;
        if (result.passed_bounds().empty()) break;
      }
      results.push_back(std::move(result));
    }
    return results;
  }

 private:
  // Other programs of the host can only add to a time. A GPU is the program's own, and its clock varies both ways.
  double seconds_of(const Summary& summary) const { return machine_.is_host() ? summary.min : summary.median; }

  const Machine& machine_;
  const Options& options_;
  const bool peer_counts_;
};

std::uint64_t pool_elements(const std::vector<Task>& tasks, const Dtype& dtype) {
  std::uint64_t most = 0;
  for (const Task& task : tasks) {
    if (task.job.dtype != &dtype) continue;
    most = std::max(
        {most, ShapePool::elements(task.placed), ShapePool::elements({reference_of(task.placed.shape), {}, {}})});
  }
  return most;
}

void print_sources() {
  for (const ShapeSource& source : shape_sources())
    std::printf("%s: %s, %s\n", source.key.data(), source.title.data(), source.where.data());
  std::printf("\n%-12s %5s %8s %5s  %s\n", "source", "B", "N", "T", "layer");
  for (const PlacedShape& placed : listed_shapes()) {
    std::printf("%-12s %5llu %8llu %5llu  %s\n", placed.source.data(),
                static_cast<unsigned long long>(placed.shape.batch),
                static_cast<unsigned long long>(placed.shape.neurons),
                static_cast<unsigned long long>(placed.shape.steps), placed.layer.data());
  }
}

}  // namespace

void run_shapes(const Options& options) {
  if (options.shapes.sources) return print_sources();
  const double begin = now();
  const Machine machine(options.backend->id, options.threads);
  ResultFiles files(options.csv_file, options.json_file, shape_columns());
  std::printf("%s\n", machine.description().c_str());
  const Copy copy = measure_copy(machine, options.copy_mib, options.rounds);
  print_copy(copy);
  const Plan plan(machine, options);
  std::printf("times are %s of %u samples or more; a reference is one row of B N neurons, scaled by bytes\n\n",
              machine.is_host() ? "the smallest" : "medians", options.rounds);

  Writer table(stdout, Format::text, shape_columns());
  const ShapesRun run(machine, options);
  std::vector<ShapeResult> results;
  for (const Dtype& dtype : dtypes) {
    ShapePool pool(machine, dtype);
    const std::uint64_t elements = pool_elements(plan.tasks(), dtype);
    if (elements == 0) continue;
    // Four arrays, and the layers with their tapes, which take less than one.
    machine.require_memory(5.0 * static_cast<double>(elements) * std::max(4.0, static_cast<double>(dtype.bytes)));
    for (const Task& task : plan.tasks()) {
      if (task.job.dtype != &dtype) continue;
      pool.prepare(*task.job.model, elements);
      for (ShapeResult& result : run.measure(task, pool)) {
        const Row row = shape_row(machine, copy, result);
        table.row(row);
        files.row(row);
        results.push_back(std::move(result));
      }
      machine.reclaim();
    }
  }
  table.finish();
  files.finish();
  print_copy_at_end(copy, measure_copy(machine, options.copy_mib, options.rounds));
  if (plan.left_out() > 0) {
    std::printf("left out: %zu layers of more than %llu elements (--largest)\n", plan.left_out(),
                static_cast<unsigned long long>(plan.largest()));
  }
  if (!options.svg_file.empty()) {
    char subtitle[160];
    std::snprintf(subtitle, sizeof subtitle, "%s, copy %.4g GB/s", machine.properties().name,
                  copy.bytes_per_second * 1e-9);
    svg::write_file(options.svg_file, draw_shapes("Every shape", subtitle, results));
  }
  const auto count = [&](auto counts) { return std::count_if(results.begin(), results.end(), counts); };
  std::printf("beyond the bound by bytes: %td rows, of which %td are bound by latency and within that\n",
              count([](const ShapeResult& result) { return result.seconds > result.bytes_bound(); }),
              count([](const ShapeResult& result) {
                return result.seconds > result.bytes_bound() && result.seconds <= result.bound();
              }));
  const auto passed = count([](const ShapeResult& result) { return !result.passed_bounds().empty(); });
  std::printf("%zu rows in %.0f s, %td of them pass a bound\n", results.size(), now() - begin, passed);
  if (passed > 0) throw std::runtime_error(std::to_string(passed) + " rows pass a bound");
}

}  // namespace synfire_bench

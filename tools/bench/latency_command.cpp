// latency_command.cpp - `synfire-bench latency`: how long a step takes from its launch until the host knows that it is
// done.
//
// What lives here: which steps there are, the replays of each, what a launch and a change cost the host, the rows.
// What does not: the steps (step.hpp), CUDA's own graphs and the load (bare.hpp), percentiles (distribution.hpp).
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>

#include "bare.hpp"
#include "commands.hpp"
#include "distribution.hpp"
#include "histogram.hpp"
#include "record.hpp"
#include "step.hpp"
#include "svg.hpp"
#include "timing.hpp"

namespace synfire_bench {
namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

// ---- Which steps
// -------------------------------------------------------------------------------------------------------

// What is measured together: one step, by several policies, beside one bare graph.
struct Group {
  StepShape shape;
  bool busy = false, high = false;
  std::vector<const Policy*> policies;
};

constexpr std::uint64_t all_layers[] = {1, 2, 4, 8, 16};
constexpr std::uint64_t all_steps[] = {1, 8};
constexpr std::uint64_t all_neurons[] = {256, 1024, 16384, 131072};
constexpr bool all_directions[] = {false, true};
constexpr std::pair<bool, bool> idle[] = {{false, false}};
constexpr std::pair<bool, bool> idle_and_busy[] = {{false, false}, {true, false}, {true, true}};

const std::vector<const Policy*> spin_only = {&policies[0]};
const std::vector<const Policy*> every_policy = {&policies[0], &policies[1], &policies[2]};

// The chosen value, or all of them, or the one that stands for them.
std::vector<std::uint64_t> values(std::uint64_t chosen, std::span<const std::uint64_t> all, bool full,
                                  std::uint64_t one) {
  if (chosen != 0) return {chosen};
  if (full) return {all.begin(), all.end()};
  return {one};
}

std::vector<Group> chosen_groups(const LatencyChoice& choice, bool full, bool host) {
  std::vector<Group> groups;
  const std::vector<const Policy*> waits = choice.policy != nullptr ? std::vector<const Policy*>{choice.policy}
                                           : full                   ? every_policy
                                                                    : spin_only;
  for (const std::uint64_t layers : values(choice.layers, all_layers, full, 1)) {
    for (const std::uint64_t steps : values(choice.steps, all_steps, full, 8)) {
      for (const std::uint64_t neurons : values(choice.neurons, all_neurons, full, 1024)) {
        for (const bool backward : all_directions) {
          if (choice.direction != nullptr ? backward != (choice.direction->direction == Direction::both)
                                          : !full && !backward)
            continue;
          for (const bool busy : {false, true}) {
            for (const bool high : {false, true}) {
              if (host && (busy || high)) continue;
              if (choice.load != nullptr ? busy != (choice.load->id == 1) : busy && !full) continue;
              if (choice.priority != nullptr ? high != (choice.priority->id == 1) : high && !(full && busy)) continue;
              groups.push_back({{layers, steps, neurons, backward}, busy, high, waits});
            }
          }
        }
      }
    }
  }
  return groups;
}

// Without a choice: the smallest step and a usual one in every way, then more layers, then other sizes.
std::vector<Group> default_groups(bool host) {
  std::vector<Group> groups;
  const auto add = [&](const StepShape& shape, std::span<const std::pair<bool, bool>> ways) {
    for (const auto& way : ways) {
      const bool busy = way.first, high = way.second;
      if (host && busy) continue;
      const auto same = [&](const Group& g) { return g.shape == shape && g.busy == busy && g.high == high; };
      if (std::none_of(groups.begin(), groups.end(), same))
        groups.push_back({shape, busy, high, ways.size() > 1 && !busy ? every_policy : spin_only});
    }
  };
  add({1, 8, 1024, true}, idle_and_busy);
  add({1, 1, 1024, false}, idle_and_busy);
  for (const std::uint64_t layers : all_layers) {
    for (const bool backward : all_directions) add({layers, 8, 1024, backward}, idle);
  }
  for (const std::uint64_t neurons : all_neurons) {
    for (const std::uint64_t steps : all_steps) {
      for (const bool backward : all_directions) add({1, steps, neurons, backward}, idle);
    }
  }
  return groups;
}

// ---- Replays
// -----------------------------------------------------------------------------------------------------------

constexpr std::uint64_t usual_replays = 100000;
constexpr std::uint64_t blocks = 10;             // each subject's replays, in turns with the others'
constexpr std::uint64_t warm_up_replays = 2000;  // before the first block; a twentieth before each later one
constexpr double host_seconds = 1;               // of one subject, where the number of replays was not chosen

struct Times {
  std::vector<double> done;    // microseconds from before the launch to after the wait
  std::vector<double> launch;  // nanoseconds in the call that launches
};

// Something that is launched and waited for, over and over.
struct Subject {
  std::function<void(Times* times, std::uint64_t count, double most_seconds)> block;
  Times times;
};

template <typename Launch, typename Wait>
Subject make_subject(Launch launch, Wait wait) {
  return {[launch, wait](Times* times, std::uint64_t count, double most_seconds) mutable {
            const double limit = now() + most_seconds;
            for (std::uint64_t i = 0; i < count; ++i) {
              const double begin = now();
              if (i > 0 && begin > limit) break;
              launch();
              const double launched = now();
              wait();
              const double done = now();
              if (times == nullptr) continue;
              times->done.push_back((done - begin) * 1e6);
              times->launch.push_back((launched - begin) * 1e9);
            }
          },
          {}};
}

void measure(std::vector<Subject>& subjects, std::uint64_t replays, double most_seconds) {
  const std::uint64_t n_blocks = std::min(blocks, replays);
  for (Subject& subject : subjects) {
    subject.times.done.reserve(replays);
    subject.times.launch.reserve(replays);
    subject.block(nullptr, std::min(warm_up_replays, replays), most_seconds / 10);
  }
  for (std::uint64_t block = 0; block < n_blocks; ++block) {
    const std::uint64_t count = replays * (block + 1) / n_blocks - replays * block / n_blocks;
    const double seconds = most_seconds / static_cast<double>(n_blocks);
    for (Subject& subject : subjects) {
      if (subjects.size() > 1) subject.block(nullptr, count / 20 + 1, seconds / 10);  // the other's traces are gone
      subject.block(&subject.times, count, seconds);
    }
  }
}

void wait_for(synfire_graph graph, std::uint64_t ticket, std::int32_t policy) {
  check(synfire_graph_wait(graph, ticket, policy, -1), "synfire_graph_wait");
}

Subject replays_of(synfire_graph graph, std::int32_t policy) {
  auto ticket = std::make_shared<std::uint64_t>(0);
  return make_subject([=] { check(synfire_graph_launch(graph, nullptr, ticket.get()), "synfire_graph_launch"); },
                      [=] { wait_for(graph, *ticket, policy); });
}

// ---- What a change costs
// -----------------------------------------------------------------------------------------------

// Medians, nanoseconds of host time: the call that changes, and the launch that brings the change along.
struct Cost {
  double call = nothing, launch = nothing;
};

template <typename Change>
Cost cost_of(synfire_graph graph, std::uint64_t count, Change change) {
  std::vector<double> calls, launches;
  const double limit = now() + 0.2;
  for (std::uint64_t i = 0; i < count + count / 10; ++i) {
    std::uint64_t ticket = 0;
    const double begin = now();
    if (i > 0 && begin > limit) break;
    change(i);
    const double changed = now();
    check(synfire_graph_launch(graph, nullptr, &ticket), "synfire_graph_launch");
    const double launched = now();
    wait_for(graph, ticket, SYNFIRE_WAIT_SPIN);
    if (i < count / 10) continue;
    calls.push_back((changed - begin) * 1e9);
    launches.push_back((launched - changed) * 1e9);
  }
  return {Distribution(std::move(calls)).percentile(0.5), Distribution(std::move(launches)).percentile(0.5)};
}

struct Costs {
  Cost parameter, value, enabled;
};

// The graph whose value is set: one fill of one number.
struct Filling {
  Owned<synfire_buffer> buffer;
  Owned<synfire_graph> graph;
  std::int32_t operation = -1;

  explicit Filling(const Machine& machine) {
    synfire_buffer_desc memory = SYNFIRE_BUFFER_DESC_INIT;
    memory.n_elements = 1;
    synfire_buffer made = nullptr;
    check(synfire_buffer_create(machine.context(), &memory, &made), "synfire_buffer_create");
    buffer.reset(made);
    synfire_graph recorded = nullptr;
    check(synfire_graph_create(machine.context(), nullptr, &recorded), "synfire_graph_create");
    graph.reset(recorded);
    synfire_fill_desc fill = SYNFIRE_FILL_DESC_INIT;
    fill.buffer = made;
    check(synfire_graph_record_fill(recorded, &fill), "synfire_graph_record_fill");
    check(synfire_graph_get_last_operation(recorded, &operation), "synfire_graph_get_last_operation");
    check(synfire_graph_instantiate(recorded), "synfire_graph_instantiate");
  }
};

Costs measure_costs(const Machine& machine, const Step& step, std::uint64_t replays) {
  const std::uint64_t count = std::clamp<std::uint64_t>(replays / 50, 1, 2000);
  Costs costs;
  const double taus[] = {2.0, 3.0};
  costs.parameter = cost_of(step.graph(), count, [&](std::uint64_t i) {
    check(synfire_layer_set_parameter(step.first_layer(), "tau", &taus[(i + 1) % 2], 1), "synfire_layer_set_parameter");
  });
  check(synfire_layer_set_parameter(step.first_layer(), "tau", &taus[0], 1), "synfire_layer_set_parameter");
  // Two calls, off and on again; what is reported is one.
  costs.enabled = cost_of(step.graph(), count, [&](std::uint64_t) {
    check(synfire_graph_set_enabled(step.graph(), step.last_operation(), 0), "synfire_graph_set_enabled");
    check(synfire_graph_set_enabled(step.graph(), step.last_operation(), 1), "synfire_graph_set_enabled");
  });
  costs.enabled.call /= 2;
  const Filling filling(machine);
  costs.value = cost_of(filling.graph.get(), count, [&](std::uint64_t i) {
    check(synfire_graph_set_value(filling.graph.get(), filling.operation, "value", static_cast<double>(i % 7)),
          "synfire_graph_set_value");
  });
  return costs;
}

// ---- Rows
// --------------------------------------------------------------------------------------------------------------

// Columns and cells stand in the same order, here and in make_row().
constexpr Column columns[] = {
    {"library", nullptr},
    {"device", nullptr},
    {"driver", nullptr},
    {"backend", nullptr},
    {"threads", nullptr},
    {"layers", "layers", 0, 6},
    {"direction", "direction", 0, 9},
    {"steps", "T", 0, 3},
    {"neurons", "N", 0, 7},
    {"load", "load", 0, 4},
    {"priority", "priority"},
    {"node_priority", nullptr},
    {"policy", "policy", 0, 6},
    {"replays", nullptr},
    {"p50_us", "p50 us", 2},
    {"p99_us", "p99", 2},
    {"p999_us", "p99.9", 2},
    {"p9999_us", "p99.99", 2},
    {"max_us", "max", 2, 9},
    {"p99_by_p50", "p99/p50", 2},
    {"bare_p50_us", "bare p50", 2},
    {"bare_p99_us", "p99", 2},
    {"bare_p999_us", nullptr, 2},
    {"bare_p9999_us", "p99.99", 2},
    {"bare_max_us", nullptr, 2},
    {"bare_replays", nullptr},
    {"bare_seen_by", nullptr},
    {"bare_query_p50_us", nullptr},
    {"bare_counter_p50_us", nullptr},
    {"ratio_p50", "ratio", 3, 6},
    {"launch_ns", "launch ns"},
    {"bare_launch_ns", nullptr},
    {"launch_added_ns", "added ns"},
    {"set_parameter_ns", nullptr},
    {"set_parameter_launch_ns", nullptr},
    {"set_value_ns", nullptr},
    {"set_value_launch_ns", nullptr},
    {"set_enabled_ns", nullptr},
    {"set_enabled_launch_ns", nullptr},
};

struct Bare {
  const Distribution* best = nullptr;
  std::string seen_by;
  double query_p50 = nothing, counter_p50 = nothing;
  double launch_ns = nothing;  // of the graph with the counter: as many nodes as Synfire's
};

std::string number_with_unit(double ns) {
  char text[48];
  if (!std::isfinite(ns)) return "-";
  std::snprintf(text, sizeof text, "%.2f us", ns * 1e-3);
  return text;
}

// One measured row, kept for the picture.
struct Result {
  HistogramPanel panel;
  std::unique_ptr<Distribution> measured, beside;
};

class Report {
 public:
  explicit Report(const Options& options) : options_(options), writer_(stdout, options.format, columns) {}

  void add(const Machine& machine, const Group& group, std::optional<int> node_priority, const Policy& policy,
           Distribution measured, double launch_ns, const Bare& bare, const Costs& costs) {
    const synfire_context_properties& properties = machine.properties();
    const auto text = [](std::string_view view) { return std::string(view); };
    const double shown_priority = node_priority ? *node_priority : nothing;
    writer_.row({
        synfire_version_string(),
        properties.name,
        static_cast<std::uint64_t>(properties.driver_version),
        machine.is_host() ? "host" : "cuda",
        static_cast<std::uint64_t>(properties.n_threads),
        group.shape.layers,
        group.shape.backward ? "both" : "forward",
        group.shape.steps,
        group.shape.neurons,
        text(loads[group.busy ? 1 : 0].name),
        text(priorities[group.high ? 1 : 0].name),
        shown_priority,
        text(policy.name),
        measured.count(),
        measured.percentile(0.5),
        measured.percentile(0.99),
        measured.percentile(0.999),
        measured.percentile(0.9999),
        measured.largest(),
        measured.percentile(0.99) / measured.percentile(0.5),
        bare.best->percentile(0.5),
        bare.best->percentile(0.99),
        bare.best->percentile(0.999),
        bare.best->percentile(0.9999),
        bare.best->largest(),
        bare.best->count(),
        bare.seen_by,
        bare.query_p50,
        bare.counter_p50,
        measured.percentile(0.5) / bare.best->percentile(0.5),
        launch_ns,
        bare.launch_ns,
        launch_ns - bare.launch_ns,
        costs.parameter.call,
        costs.parameter.launch,
        costs.value.call,
        costs.value.launch,
        costs.enabled.call,
        costs.enabled.launch,
    });
    ++rows_;
    if (rows_ == 1) {
      first_costs_ = costs;
      first_launch_ns_ = launch_ns;
    }
    device_ = properties.name;
    if (options_.svg_file.empty()) return;
    char title[120];
    std::snprintf(
        title, sizeof title, "%llu layer%s, %s, T %llu, N %llu", static_cast<unsigned long long>(group.shape.layers),
        group.shape.layers == 1 ? "" : "s", group.shape.backward ? "forward + backward" : "forward",
        static_cast<unsigned long long>(group.shape.steps), static_cast<unsigned long long>(group.shape.neurons));
    char subtitle[120];
    std::snprintf(subtitle, sizeof subtitle, "%s%s%s; p50 %.2f, p99.99 %.2f us", policy.name.data(),
                  group.busy ? ", busy GPU" : "", group.high ? ", high priority" : "", measured.percentile(0.5),
                  measured.percentile(0.9999));
    Result result;
    result.measured = std::make_unique<Distribution>(std::move(measured));
    result.beside = std::make_unique<Distribution>(*bare.best);
    result.panel = {title, subtitle, result.measured.get(), result.beside.get()};
    results_.push_back(std::move(result));
  }

  std::uint64_t rows() const { return rows_; }

  void finish() {
    writer_.finish();
    if (!options_.svg_file.empty()) {
      std::vector<HistogramPanel> panels;
      for (const Result& result : results_) panels.push_back(result.panel);
      svg::write_file(options_.svg_file,
                      draw_histograms("Launch to done", device_ + " · LIF, f32, spikes dense", panels));
    }
  }

  // Medians in the first row's step: what changes cost hardly depends on the shape. The files have every row's.
  void print_costs() const {
    const Costs& c = first_costs_;
    std::printf(
        "\nhost time in the first row's step, medians: a launch %s; synfire_layer_set_parameter() %s and the launch "
        "after it %s;\n"
        "synfire_graph_set_enabled() %s, then %s; synfire_graph_set_value() %s, then %s (a graph of one fill)\n",
        number_with_unit(first_launch_ns_).c_str(), number_with_unit(c.parameter.call).c_str(),
        number_with_unit(c.parameter.launch).c_str(), number_with_unit(c.enabled.call).c_str(),
        number_with_unit(c.enabled.launch).c_str(), number_with_unit(c.value.call).c_str(),
        number_with_unit(c.value.launch).c_str());
  }

 private:
  const Options& options_;
  Writer writer_;
  std::vector<Result> results_;
  std::string device_;
  Costs first_costs_;
  double first_launch_ns_ = nothing;
  std::uint64_t rows_ = 0;
};

void measure_group(const Machine& machine, const Group& group, const Options& options, Report& report) {
  const Step step(machine, group.shape);
  const bool host = machine.is_host();
  const std::uint64_t replays = options.latency.replays != 0 ? options.latency.replays : usual_replays;
  const double most_seconds = host && options.latency.replays == 0 && !options.full ? host_seconds : 1e9;
  const int priority = host ? 0 : group.high ? highest_priority(machine) : 0;
  std::optional<int> node_priority;
  if (!host) node_priority = priority_of_nodes(machine, step);

  std::vector<Subject> subjects;
  for (const Policy* policy : group.policies) subjects.push_back(replays_of(step.graph(), policy->id));
  const std::size_t first_bare = subjects.size();
  std::vector<std::unique_ptr<BareGraph>> graphs;
  if (host) {
    subjects.push_back(make_subject([&step] { step.run_eagerly(nullptr); }, [] {}));
  } else {
    for (const Seen seen : {Seen::counter, Seen::query}) {
      if (seen == Seen::query && group.busy) continue;
      BareGraph* const graph = graphs.emplace_back(std::make_unique<BareGraph>(machine, step, seen, priority)).get();
      subjects.push_back(make_subject([graph] { graph->launch(); }, [graph] { graph->wait(); }));
    }
  }
  const Costs costs = measure_costs(machine, step, replays);
  {
    std::optional<Load> load;
    if (group.busy) load.emplace(machine);
    measure(subjects, replays, most_seconds);
    if (load) {
      // A load that had ended would have been none.
      const std::uint64_t before = load->kernels();
      for (int i = 0; i < 1000 && load->kernels() == before; ++i)
        replays_of(step.graph(), SYNFIRE_WAIT_SPIN).block(nullptr, 100, 1);
      if (load->kernels() == before) throw std::runtime_error("the kernels beside the replays have ended");
    }
  }

  std::vector<Distribution> all;
  std::vector<double> launches;
  for (Subject& subject : subjects) {
    all.emplace_back(std::move(subject.times.done));
    launches.push_back(Distribution(std::move(subject.times.launch)).percentile(0.5));
  }
  Bare bare;
  bare.best = &all[first_bare];
  bare.seen_by = host ? "return" : "counter";
  if (!host) {
    bare.counter_p50 = all[first_bare].percentile(0.5);
    bare.launch_ns = launches[first_bare];
    if (first_bare + 1 < all.size()) {
      bare.query_p50 = all[first_bare + 1].percentile(0.5);
      if (bare.query_p50 < bare.counter_p50) {
        bare.best = &all[first_bare + 1];
        bare.seen_by = "query";
      }
    }
  }
  for (std::size_t i = 0; i < first_bare; ++i)
    report.add(machine, group, node_priority, *group.policies[i], all[i], launches[i], bare, costs);
}

}  // namespace

void run_latency(const Options& options) {
  const double begin = now();
  const Machine usual(options.backend->id, options.threads);
  const bool host = usual.is_host();
  if (host && ((options.latency.load != nullptr && options.latency.load->id != 0) ||
               (options.latency.priority != nullptr && options.latency.priority->id != 0)))
    throw NoBackend("--load busy and --priority high need a GPU");
  std::unique_ptr<const Machine> high;
  double limit = options.limit_seconds;
  if (limit == 0 && !options.full) limit = host ? 110 : 230;
  const bool as_text = options.format == Format::text;
  if (as_text)
    std::printf("%s\nLIF, f32, spikes dense; launch to done, \"ratio\" by a bare %s\n\n", usual.description().c_str(),
                host ? "run of the same eager calls" : "graph of the same kernels");

  const std::vector<Group> groups = options.latency.narrowed() || options.full
                                        ? chosen_groups(options.latency, options.full, host)
                                        : default_groups(host);
  Report report(options);
  std::size_t measured = 0;
  for (const Group& group : groups) {
    if (limit > 0 && measured > 0 && now() - begin > limit) break;
    if (group.high && !high)
      high = std::make_unique<const Machine>(options.backend->id, options.threads, highest_priority(usual));
    const Machine& machine = group.high ? *high : usual;
    measure_group(machine, group, options, report);
    machine.reclaim();
    ++measured;
  }
  report.finish();
  if (!as_text) return;
  report.print_costs();
  if (measured < groups.size())
    std::printf("not measured: the last %zu of %zu steps, since %.0f s were over (--limit)\n", groups.size() - measured,
                groups.size(), limit);
  std::printf("%llu rows in %.0f s\n", static_cast<unsigned long long>(report.rows()), now() - begin);
}

}  // namespace synfire_bench

// latency_command.cpp - `synfire-bench latency`: the time from the launch of a replay until the host knows that it is
// done.
//
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>

#include "bare.hpp"
#include "commands.hpp"
#include "latency_report.hpp"
#include "replays.hpp"
#include "timing.hpp"

namespace synfire_bench {
namespace {

constexpr std::uint64_t usual_replays = 100000;
constexpr double host_seconds = 1;  // per subject, if the number of replays was not chosen

void measure_group(const Machine& machine, const Group& group, const Options& options, LatencyReport& report) {
  const Chain chain(machine, group.shape);
  const bool host = machine.is_host();
  const std::uint64_t replays = options.latency.replays != 0 ? options.latency.replays : usual_replays;
  const double most_seconds = host && options.latency.replays == 0 && !options.full ? host_seconds : 1e9;
  const int priority = host ? 0 : group.high ? highest_priority(machine) : 0;
  std::optional<int> node_priority;
  if (!host) node_priority = priority_of_nodes(machine, chain);

  std::vector<Subject> subjects;
  for (const Policy* policy : group.policies) subjects.push_back(replays_of(chain.graph(), policy->id));
  const std::size_t first_bare = subjects.size();
  std::vector<std::unique_ptr<BareGraph>> graphs;
  if (host) {
    subjects.push_back(make_subject([&chain] { chain.run_eagerly(nullptr); }, [] {}));
  } else {
    for (const Seen seen : {Seen::counter, Seen::query}) {
      if (seen == Seen::query && group.busy) continue;
      BareGraph* const graph = graphs.emplace_back(std::make_unique<BareGraph>(machine, chain, seen, priority)).get();
      subjects.push_back(make_subject([graph] { graph->launch(); }, [graph] { graph->wait(); }));
    }
  }
  const Costs costs = measure_costs(machine, chain, replays);
  {
    std::optional<Load> load;
    if (group.busy) load.emplace(machine);
    measure(subjects, replays, most_seconds);
    if (load) {
      // Makes sure that the load is still running.
      const std::uint64_t before = load->kernels();
      for (int i = 0; i < 1000 && load->kernels() == before; ++i)
        replays_of(chain.graph(), SYNFIRE_WAIT_SPIN).block(nullptr, 100, 1);
      if (load->kernels() == before) throw std::runtime_error("the load's kernels have stopped");
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
  if (!options.network.sizes.empty()) return run_network_latency(options);
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
    std::printf("%s\nLIF, f32, spikes dense; launch to done; \"ratio\" is relative to a bare %s\n\n",
                usual.description().c_str(), host ? "run of the same eager calls" : "graph of the same kernels");

  const std::vector<Group> groups = options.latency.narrowed() || options.full
                                        ? chosen_groups(options.latency, options.full, host)
                                        : default_groups(host);
  LatencyReport report(options);
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
    std::printf("not measured: the last %zu of %zu chains, because %.0f s had passed (--limit)\n",
                groups.size() - measured, groups.size(), limit);
  std::printf("%llu rows in %.0f s\n", static_cast<unsigned long long>(report.rows()), now() - begin);
}

}  // namespace synfire_bench

// latency_network.cpp - `synfire-bench latency --network`: launch to done of the inference of dense layers.
//
// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdio>
#include <memory>

#include "bare.hpp"
#include "commands.hpp"
#include "distribution.hpp"
#include "network.hpp"
#include "record.hpp"
#include "replays.hpp"

namespace synfire_bench {
namespace {

constexpr std::uint64_t usual_replays = 100000;
constexpr double host_seconds = 1;  // per subject, if the number of replays was not chosen

// Columns and cells are in the same order, here and in run_network_latency().
constexpr Column columns[] = {
    {"library", nullptr},           {"device", nullptr},        {"backend", nullptr},
    {"threads", nullptr},           {"sizes", "sizes", 0, 15},  {"steps", "T", 0, 3},
    {"batch", "B", 0, 3},           {"policy", "policy", 0, 6}, {"replays", nullptr},
    {"p50_us", "p50 us", 2},        {"p99_us", "p99", 2},       {"p999_us", "p99.9", 2},
    {"p9999_us", "p99.99", 2},      {"max_us", "max", 2, 9},    {"p99_by_p50", "p99/p50", 2},
    {"bare_p50_us", "bare p50", 2}, {"bare_p99_us", "p99", 2},  {"bare_seen_by", nullptr},
    {"ratio_p50", "ratio", 3, 6},   {"launch_ns", "launch ns"}, {"spikes_percent", "spikes %", 1},
};

// One layer of the network's last size, without the library's graph: its kernel in a graph of CUDA's, or its call.
class BareLayer {
 public:
  BareLayer(const Machine& machine, const NetworkShape& shape)
      : host_(machine.is_host()), chain_(machine, {1, shape.steps, shape.sizes.back(), false}) {
    if (host_) return;
    for (const Seen seen : {Seen::counter, Seen::query})
      graphs_.push_back(std::make_unique<BareGraph>(machine, chain_, seen, 0));
  }
  void add_to(std::vector<Subject>& subjects) const {
    if (host_) subjects.push_back(make_subject([this] { chain_.run_eagerly(nullptr); }, [] {}));
    for (const auto& owned : graphs_) {
      BareGraph* const graph = owned.get();
      subjects.push_back(make_subject([graph] { graph->launch(); }, [graph] { graph->wait(); }));
    }
  }
  const char* seen_by(std::size_t index) const { return host_ ? "return" : index == 0 ? "counter" : "query"; }

 private:
  const bool host_;
  const Chain chain_;
  std::vector<std::unique_ptr<BareGraph>> graphs_;
};

}  // namespace

void run_network_latency(const Options& options) {
  const NetworkChoice& choice = options.network;
  const Machine machine(options.backend->id, options.threads);
  const NetworkShape shape = {choice.sizes, options.latency.steps != 0 ? options.latency.steps : 1,
                              choice.batch != 0 ? choice.batch : 1};
  const double percent = std::isnan(choice.input_percent) ? 5 : choice.input_percent;
  const Network network(machine, shape, false, {percent / 100}, false);
  const Owned<synfire_graph> graph = network.whole(1);
  const BareLayer bare(machine, shape);
  if (options.format == Format::text)
    std::printf("%s\n%g %% of the inputs spike; launch to done; \"ratio\" is relative to %s of one layer\n\n",
                machine.description().c_str(), percent, machine.is_host() ? "the eager call" : "a bare graph");

  const Policy& policy = options.latency.policy != nullptr ? *options.latency.policy : policies[0];
  std::vector<Subject> subjects = {replays_of(graph.get(), policy.id)};
  bare.add_to(subjects);
  const bool limited = machine.is_host() && options.latency.replays == 0;
  measure(subjects, options.latency.replays != 0 ? options.latency.replays : usual_replays,
          limited ? host_seconds : 1e9);
  const double launch_ns = Distribution(std::move(subjects[0].times.launch)).percentile(0.5);
  std::vector<Distribution> done;
  done.reserve(subjects.size());
  for (Subject& subject : subjects) done.emplace_back(std::move(subject.times.done));
  std::size_t best = 1;
  for (std::size_t i = 2; i < done.size(); ++i)
    if (done[i].percentile(0.5) < done[best].percentile(0.5)) best = i;

  const synfire_context_properties& properties = machine.properties();
  const double p50 = done[0].percentile(0.5);
  Writer writer(stdout, options.format, columns);
  writer.row({synfire_version_string(),
              properties.name,
              machine.is_host() ? "host" : "cuda",
              static_cast<std::uint64_t>(properties.n_threads),
              shape.text(),
              shape.steps,
              shape.batch,
              std::string(policy.name),
              done[0].count(),
              p50,
              done[0].percentile(0.99),
              done[0].percentile(0.999),
              done[0].percentile(0.9999),
              done[0].largest(),
              done[0].percentile(0.99) / p50,
              done[best].percentile(0.5),
              done[best].percentile(0.99),
              bare.seen_by(best - 1),
              p50 / done[best].percentile(0.5),
              launch_ns,
              network.spike_rate() * 100});
  writer.finish();
}

}  // namespace synfire_bench

// latency_report.cpp - the results of `synfire-bench latency`: table, files and picture.
//
// SPDX-License-Identifier: MIT
#include "latency_report.hpp"

#include <cmath>
#include <cstdio>
#include <utility>

#include "svg.hpp"

namespace synfire_bench {
namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

// Columns and cells are in the same order, here and in LatencyReport::add().
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
    {"set_neurons_ns", nullptr},
    {"set_neurons_launch_ns", nullptr},
};

std::string number_with_unit(double ns) {
  char text[48];
  if (!std::isfinite(ns)) return "-";
  std::snprintf(text, sizeof text, "%.2f us", ns * 1e-3);
  return text;
}

}  // namespace

LatencyReport::LatencyReport(const Options& options) : options_(options), writer_(stdout, options.format, columns) {}

void LatencyReport::add(const Machine& machine, const Group& group, std::optional<int> node_priority,
                        const Policy& policy, Distribution measured, double launch_ns, const Bare& bare,
                        const Costs& costs) {
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
      costs.neurons.call,
      costs.neurons.launch,
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

void LatencyReport::finish() {
  writer_.finish();
  if (!options_.svg_file.empty()) {
    std::vector<HistogramPanel> panels;
    for (const Result& result : results_) panels.push_back(result.panel);
    svg::write_file(options_.svg_file,
                    draw_histograms("Launch to done", device_ + " · LIF, f32, spikes dense", panels));
  }
}

void LatencyReport::print_costs() const {
  const Costs& c = first_costs_;
  std::printf(
      "\nhost time in the first row's chain, medians: a launch %s; synfire_layer_set_parameter() %s and the launch "
      "after it %s,\n"
      "with one number per neuron %s, then %s;\n"
      "synfire_graph_set_enabled() %s, then %s; synfire_graph_set_value() %s, then %s (a graph of one fill)\n",
      number_with_unit(first_launch_ns_).c_str(), number_with_unit(c.parameter.call).c_str(),
      number_with_unit(c.parameter.launch).c_str(), number_with_unit(c.neurons.call).c_str(),
      number_with_unit(c.neurons.launch).c_str(), number_with_unit(c.enabled.call).c_str(),
      number_with_unit(c.enabled.launch).c_str(), number_with_unit(c.value.call).c_str(),
      number_with_unit(c.value.launch).c_str());
}

}  // namespace synfire_bench

// network_command.cpp - `synfire-bench network`: inference and training of networks of dense layers, of published
// networks, and of files.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>
#include <sstream>

#include "commands.hpp"
#include "cublas.hpp"
#include "network.hpp"
#include "published.hpp"
#include "record.hpp"
#include "svg.hpp"
#include "timing.hpp"

namespace synfire_bench {
namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint64_t passes_alone = 20;  // of one operation in its graph
constexpr double most_latency_seconds = 1, latency_seconds_of_round = 0.1;
constexpr std::uint32_t latency_samples = 20000;

struct NamedNetwork {
  std::string_view name;
  NetworkShape shape;
};

const std::vector<NamedNetwork>& named_networks() {
  static const std::vector<NamedNetwork> list = {
      {"deep", {{128, 512, 512, 20}, 100, 128}}, {"speech", {{700, 512, 20}, 100, 256}},
      {"odd", {{300, 700, 90, 11}, 37, 50}},     {"control", {{64, 128, 128, 8}, 16, 1}},
      {"control1", {{64, 128, 128, 8}, 1, 1}},   {"control64", {{64, 128, 128, 8}, 16, 64}},
  };
  return list;
}

// The first columns of a network's rows.
struct RowLabel {
  std::string network, sizes;
  std::uint64_t steps, batch;

  std::string title(bool training) const {
    return network + " (" + sizes + "), T = " + std::to_string(steps) + ", B = " + std::to_string(batch) + ", " +
           (training ? "training" : "inference");
  }
};

RowLabel label_of(const NamedNetwork& named) {
  return {std::string(named.name), named.shape.text(), named.shape.steps, named.shape.batch};
}

// Networks of dense layers, or null and one that has stages.
struct ChosenNetworks {
  std::vector<NamedNetwork> dense;
  const Published* published = nullptr;
  bool is_file = false;
};

ChosenNetworks chosen_networks(const NetworkChoice& choice) {
  if (choice.name.empty()) return {named_networks()};
  if (!choice.sizes.empty()) {
    const std::uint64_t steps = choice.steps != 0 ? choice.steps : 16, batch = choice.batch != 0 ? choice.batch : 1;
    return {{{"given", {choice.sizes, steps, batch}}}};
  }
  if (is_network_file(choice.name)) return {{}, nullptr, true};
  std::string known;
  for (const NamedNetwork& network : named_networks()) {
    if (network.name == choice.name) return {{network}};
    known.append(known.empty() ? "" : ", ").append(network.name);
  }
  for (const Published& network : published_networks()) {
    if (network.name == choice.name) return {{}, &network};
    known.append(", ").append(network.name);
  }
  throw UsageError{"--network " + choice.name + " is unknown; allowed are " + known +
                   ", sizes such as 300-700-90-11, and files NAME.safetensors"};
}

constexpr Column columns[] = {
    {"library", nullptr},
    {"device", nullptr},
    {"network", "network", 0, 9},
    {"sizes", "sizes", 0, 15},
    {"steps", "T"},
    {"batch", "B"},
    {"mode", "mode", 0, 9},
    {"operation", "operation", 0, 26},
    {"median_us", "median us", 2, 10},
    {"min_us", "min", 2, 9},
    {"max_us", "max", 2, 9},
    {"done_p50_us", "done p50", 2, 9},
    {"done_p99_us", "done p99", 2, 9},
    {"share_percent", "share %", 1},
    {"giga_multiply_adds_per_s", "G madd/s", 0, 9},
    {"cublas_f32_us", "cuBLAS f32", 2, 10},
    {"cublas_tf32_us", "TF32", 2, 9},
    {"spikes_percent", "spikes %", 1},
    {"device_mib", "MiB", 1, 9},
    {"copy_gb_per_s", nullptr},
};

// One bar of the picture.
struct Bar {
  std::string title;
  std::vector<std::pair<std::string, double>> parts;  // microseconds
};

constexpr std::size_t legend_columns = 4;

double legend_height(const Bar& bar, double row) {
  const std::size_t lines = (bar.parts.size() + legend_columns - 1) / legend_columns;
  return row * static_cast<double>(lines);
}

std::string draw(const std::string& title, const std::vector<Bar>& bars) {
  constexpr double left = 24, width = 1000, height = 26, row = 16;
  double total_height = 72;
  for (const Bar& bar : bars) total_height += 40 + height + row + legend_height(bar, row);
  std::ostringstream out;
  svg::begin(out, width + 2 * left, total_height);
  out << "<text x=\"" << svg::fixed(left) << "\" y=\"30\" class=\"title\">Time of each operation of a replay</text>\n"
      << "<text x=\"" << svg::fixed(left) << "\" y=\"50\" class=\"sub\">" << svg::escaped(title) << "</text>\n";
  double y = 72;
  for (const Bar& bar : bars) {
    double sum = 0;
    for (const auto& part : bar.parts) sum += part.second;
    out << "<text x=\"" << svg::fixed(left) << "\" y=\"" << svg::fixed(y + 12) << "\" class=\"panel\">"
        << svg::escaped(bar.title) << ": " << svg::fixed(sum) << " us in all</text>\n";
    y += 20;
    // Each bar has the whole width; its scale is its sum.
    double x = left;
    for (std::size_t i = 0; i < bar.parts.size(); ++i) {
      const double part_width = bar.parts[i].second / sum * width;
      out << "<rect x=\"" << svg::fixed(x) << "\" y=\"" << svg::fixed(y) << "\" width=\"" << svg::fixed(part_width)
          << "\" height=\"" << svg::fixed(height) << "\" fill=\"" << svg::color_of(i, bar.parts.size())
          << "\" stroke=\"#ffffff\"/>\n";
      x += part_width;
    }
    y += height + row;
    for (std::size_t i = 0; i < bar.parts.size(); ++i) {
      const double legend_x = left + static_cast<double>(i % legend_columns) * width / legend_columns;
      const std::size_t line = i / legend_columns;
      const double legend_y = y + static_cast<double>(line) * row;
      out << "<rect x=\"" << svg::fixed(legend_x) << "\" y=\"" << svg::fixed(legend_y - 9)
          << "\" width=\"10\" height=\"10\" fill=\"" << svg::color_of(i, bar.parts.size()) << "\"/>\n<text x=\""
          << svg::fixed(legend_x + 15) << "\" y=\"" << svg::fixed(legend_y) << "\">" << svg::escaped(bar.parts[i].first)
          << ": " << svg::fixed(bar.parts[i].second) << " us</text>\n";
    }
    y += legend_height(bar, row) + 20;
  }
  svg::end(out);
  return out.str();
}

class NetworkReport {
 public:
  NetworkReport(const Machine& machine, const Options& options)
      : machine_(machine),
        options_(options),
        cublas_(machine),
        copy_(measure_copy(machine, options.copy_mib, options.rounds)),
        writer_(stdout, options.format, columns) {
    if (options.format != Format::text) return;
    std::printf("%s\ncopy: %.0f GB/s, read and written%s\n\n", machine.description().c_str(),
                copy_.bytes_per_second / 1e9, machine.is_host() || cublas_.available() ? "" : "; cuBLAS was not found");
  }

  void measure(const NamedNetwork& named, bool training) {
    const NetworkChoice& choice = options_.network;
    const double percent = std::isnan(choice.input_percent) ? 5 : choice.input_percent;
    const Network network(machine_, named.shape, training, {percent / 100, choice.values}, choice.taus);
    {
      const Owned<synfire_graph> graph = network.whole(1);
      const Rotation rotation = {{graph.get()}, graph.get(), 1, nullptr};
      const Summary summary = measure_passes(rotation, options_.rounds);
      const Latency latency = measure_latency(rotation, latency_seconds(), latency_samples);
      std::vector<Product> products;
      for (const auto& operation : network.operations())
        products.insert(products.end(), operation.products.begin(), operation.products.end());
      row(label_of(named), training, "all", summary, latency, no_number, products, network.spike_rate(), no_number);
    }
    if (options_.network.profile) profile(label_of(named), network, training);
    machine_.reclaim();
  }

  void measure(const PublishedNetwork& network, const std::string& name, bool training) {
    const RowLabel label = {name, network.input(), network.steps(), network.batch()};
    {
      const Rotation rotation = {{network.graph()}, network.graph(), 1, nullptr};
      const Summary summary = measure_passes(rotation, options_.rounds);
      const Latency latency = measure_latency(rotation, latency_seconds(), latency_samples);
      row(label, training, "all", summary, latency, no_number, {}, training ? network.spike_rate() : no_number,
          network.device_mib());
    }
    if (options_.network.profile) profile(label, network, training);
    machine_.reclaim();
  }

  void finish() {
    writer_.finish();
    if (!options_.svg_file.empty()) svg::write_file(options_.svg_file, draw(machine_.description(), bars_));
  }

 private:
  double latency_seconds() const { return std::min(most_latency_seconds, latency_seconds_of_round * options_.rounds); }

  // Every operation alone, repeatedly. Backward passes read the tapes of a forward that runs before.
  void profile(const RowLabel& label, const Network& network, bool training) {
    std::vector<const Network::Operation*> before;
    for (const auto& operation : network.operations())
      if (!operation.backward) before.push_back(&operation);
    const Owned<synfire_graph> forward = network.graph(before, 1);
    measure_passes({{forward.get()}, forward.get(), 1, nullptr}, 1);
    std::vector<Summary> summaries;
    double sum = 0;
    for (const auto& operation : network.operations()) {
      const Owned<synfire_graph> graph = network.graph({&operation}, passes_alone);
      summaries.push_back(measure_passes({{graph.get()}, graph.get(), passes_alone, nullptr}, options_.rounds));
      sum += summaries.back().median;
    }
    Bar& bar = bars_.emplace_back();
    bar.title = label.title(training);
    for (std::size_t i = 0; i < summaries.size(); ++i) {
      const auto& operation = network.operations()[i];
      row(label, training, operation.name, summaries[i], {no_number, no_number, 0}, summaries[i].median / sum * 100,
          operation.products, no_number, no_number);
      bar.parts.emplace_back(operation.name, summaries[i].median * 1e6);
    }
  }

  // Every operation of the network's graph alone, all others being disabled but those that it needs. What a replay
  // takes without it is subtracted.
  void profile(const RowLabel& label, const PublishedNetwork& network, bool training) {
    const Rotation rotation = {{network.graph()}, network.graph(), 1, nullptr};
    const std::vector<std::string> names = network.operations();
    for (std::size_t i = 0; i < names.size(); ++i) network.enable(i, false);
    std::vector<Summary> summaries;
    double sum = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::vector<std::size_t> needs = network.enable_with_needs(i);
      Summary summary = measure_passes(rotation, options_.rounds);
      network.enable(i, false);
      const double without = measure_passes(rotation, options_.rounds).median;
      for (const std::size_t need : needs) network.enable(need, false);
      for (double* const seconds : {&summary.median, &summary.min, &summary.max})
        *seconds = std::max(*seconds - without, 0.0);
      summaries.push_back(summary);
      sum += summary.median;
    }
    for (std::size_t i = 0; i < names.size(); ++i) network.enable(i, true);
    Bar& bar = bars_.emplace_back();
    bar.title = label.title(training);
    for (std::size_t i = 0; i < summaries.size(); ++i) {
      row(label, training, names[i], summaries[i], {no_number, no_number, 0}, summaries[i].median / sum * 100, {},
          no_number, no_number);
      bar.parts.emplace_back(names[i], summaries[i].median * 1e6);
    }
  }

  void row(const RowLabel& label, bool training, const std::string& operation, const Summary& summary,
           const Latency& latency, double share, const std::vector<Product>& products, double spike_rate,
           double device_mib) {
    double multiply_adds = 0;
    for (const Product& product : products) multiply_adds += product.multiply_adds();
    const double f32 = cublas_.measure(products, false, options_.rounds),
                 tf32 = cublas_.measure(products, true, options_.rounds);
    writer_.row({synfire_version_string(),
                 machine_.properties().name,
                 label.network,
                 label.sizes,
                 label.steps,
                 label.batch,
                 std::string(training ? "training" : "inference"),
                 operation,
                 summary.median * 1e6,
                 summary.min * 1e6,
                 summary.max * 1e6,
                 latency.p50 * 1e6,
                 latency.p99 * 1e6,
                 share,
                 products.empty() ? no_number : multiply_adds / summary.median / 1e9,
                 f32 * 1e6,
                 tf32 * 1e6,
                 spike_rate * 100,
                 device_mib,
                 copy_.bytes_per_second / 1e9});
  }

  const Machine& machine_;
  const Options& options_;
  Cublas cublas_;
  Copy copy_;
  Writer writer_;
  std::vector<Bar> bars_;
};

}  // namespace

void run_network(const Options& options) {
  const NetworkChoice& choice = options.network;
  const ChosenNetworks networks = chosen_networks(choice);
  const Machine machine(options.backend->id, options.threads);
  NetworkReport report(machine, options);
  for (const bool training : {false, true}) {
    if (networks.dense.empty() && (training ? choice.mode->training : choice.mode->inference)) {
      if (networks.is_file)
        report.measure(PublishedNetwork(machine, choice.name, choice, training), "file", training);
      else
        report.measure(PublishedNetwork(machine, *networks.published, choice, training), choice.name, training);
    }
  }
  for (const NamedNetwork& network : networks.dense) {
    if (choice.mode->inference) report.measure(network, false);
    if (choice.mode->training) report.measure(network, true);
  }
  report.finish();
}

}  // namespace synfire_bench

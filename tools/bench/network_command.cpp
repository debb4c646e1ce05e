// network_command.cpp - `synfire-bench network`: inference and training of networks of synapses and LIF layers.
//
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <iterator>
#include <limits>
#include <sstream>

#include "commands.hpp"
#include "cublas.hpp"
#include "network.hpp"
#include "record.hpp"
#include "svg.hpp"
#include "timing.hpp"

namespace synfire_bench {
namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint64_t passes_alone = 20;  // of one operation in its graph
constexpr double latency_seconds = 1;
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

std::vector<NamedNetwork> chosen_networks(const NetworkChoice& choice) {
  if (choice.name.empty()) return named_networks();
  if (!choice.sizes.empty()) return {{"given", {choice.sizes, choice.steps, choice.batch}}};
  std::string known;
  for (const NamedNetwork& network : named_networks()) {
    if (network.name == choice.name) return {network};
    known.append(known.empty() ? "" : ", ").append(network.name);
  }
  throw UsageError{"--network " + choice.name + " is unknown; allowed are " + known +
                   " and sizes such as 300-700-90-11"};
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
    const Network network(machine_, named.shape, training, {choice.input_percent / 100, choice.values}, choice.taus);
    {
      const Owned<synfire_graph> graph = network.whole(1);
      const Rotation rotation = {{graph.get()}, graph.get(), 1, nullptr};
      const Summary summary = measure_passes(rotation, options_.rounds);
      const Latency latency = measure_latency(rotation, latency_seconds, latency_samples);
      std::vector<Product> products;
      for (const auto& operation : network.operations())
        products.insert(products.end(), operation.products.begin(), operation.products.end());
      row(named, training, "all", summary, latency, no_number, products, network.spike_rate());
    }
    if (options_.network.profile) profile(named, network, training);
    machine_.reclaim();
  }

  void finish() {
    writer_.finish();
    if (!options_.svg_file.empty()) svg::write_file(options_.svg_file, draw(machine_.description(), bars_));
  }

 private:
  // Every operation alone, repeatedly. Backward passes read the tapes of a forward that runs before.
  void profile(const NamedNetwork& named, const Network& network, bool training) {
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
    bar.title = std::string(named.name) + " (" + named.shape.text() + "), T = " + std::to_string(named.shape.steps) +
                ", B = " + std::to_string(named.shape.batch) + ", " + (training ? "training" : "inference");
    for (std::size_t i = 0; i < summaries.size(); ++i) {
      const auto& operation = network.operations()[i];
      row(named, training, operation.name, summaries[i], {no_number, no_number, 0}, summaries[i].median / sum * 100,
          operation.products, no_number);
      bar.parts.emplace_back(operation.name, summaries[i].median * 1e6);
    }
  }

  void row(const NamedNetwork& named, bool training, const std::string& operation, const Summary& summary,
           const Latency& latency, double share, const std::vector<Product>& products, double spike_rate) {
    double multiply_adds = 0;
    for (const Product& product : products) multiply_adds += product.multiply_adds();
    const double f32 = cublas_.measure(products, false, options_.rounds),
                 tf32 = cublas_.measure(products, true, options_.rounds);
    writer_.row({synfire_version_string(), machine_.properties().name, std::string(named.name), named.shape.text(),
                 named.shape.steps, named.shape.batch, std::string(training ? "training" : "inference"), operation,
                 summary.median * 1e6, summary.min * 1e6, summary.max * 1e6, latency.p50 * 1e6, latency.p99 * 1e6,
                 share, products.empty() ? no_number : multiply_adds / summary.median / 1e9, f32 * 1e6, tf32 * 1e6,
                 spike_rate * 100, copy_.bytes_per_second / 1e9});
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
  const std::vector<NamedNetwork> networks = chosen_networks(options.network);
  const Machine machine(options.backend->id, options.threads);
  NetworkReport report(machine, options);
  for (const NamedNetwork& network : networks) {
    if (options.network.mode->inference) report.measure(network, false);
    if (options.network.mode->training) report.measure(network, true);
  }
  report.finish();
}

}  // namespace synfire_bench

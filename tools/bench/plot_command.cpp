// plot_command.cpp - `synfire-bench plot`: a sweep as a picture, percent of the copy bandwidth against N.
//
// Selects rows of a CSV file and writes SVG: a panel for each direction, a line for each T.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>
#include <sstream>
#include <stdexcept>

#include "commands.hpp"
#include "record.hpp"
#include "svg.hpp"

namespace synfire_bench {
namespace {

using svg::color_of;
using svg::escaped;
using svg::fixed;

using Series = std::map<double, double>;        // N -> percent
using Panel = std::map<std::uint64_t, Series>;  // T -> series

struct Chosen {
  std::vector<std::pair<std::string, Panel>> panels;  // by direction
  std::string device, surrogate, spikes;
  double copy_gb_per_s = 0;
};

class Fields {
 public:
  explicit Fields(const CsvFile& csv) {
    for (std::size_t i = 0; i < csv.names.size(); ++i) index_[csv.names[i]] = i;
  }
  const std::string& text(const std::vector<std::string>& row, const char* name) const {
    const auto found = index_.find(name);
    if (found == index_.end()) throw std::runtime_error(std::string("the file has no column \"") + name + "\"");
    return row[found->second];
  }
  double number(const std::vector<std::string>& row, const char* name) const {
    const std::string& value = text(row, name);
    double result = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (error != std::errc() || end != value.data() + value.size() || !(std::isfinite(result) && result > 0)) {
      throw std::runtime_error("\"" + value + "\" in column \"" + name + "\" is not a positive number");
    }
    return result;
  }

 private:
  std::map<std::string, std::size_t> index_;
};

Chosen choose_rows(const CsvFile& csv, const Options& options) {
  const Fields fields(csv);
  Chosen chosen;
  std::map<std::string, Panel> panels;
  for (const std::vector<std::string>& row : csv.rows) {
    const std::string& cache = fields.text(row, "cache");
    if (fields.text(row, "model") != options.model->name || fields.text(row, "dtype") != options.dtype->name) continue;
    if (cache != "any" && cache != options.cache->name) continue;
    const auto steps = static_cast<std::uint64_t>(fields.number(row, "steps"));
    panels[fields.text(row, "direction")][steps][fields.number(row, "neurons")] = fields.number(row, "percent_of_copy");
    chosen.device = fields.text(row, "device");
    chosen.surrogate = fields.text(row, "surrogate");
    chosen.spikes = fields.text(row, "spikes");
    chosen.copy_gb_per_s = fields.number(row, "copy_gb_per_s");
  }
  for (const DirectionName& direction : directions) {
    const auto found = panels.find(std::string(direction.name));
    if (found != panels.end()) chosen.panels.emplace_back(*found);
  }
  if (chosen.panels.empty()) {
    throw std::runtime_error("no row of " + options.input + " has model " + std::string(options.model->name) +
                             ", dtype " + std::string(options.dtype->name) + " and cache " +
                             std::string(options.cache->name));
  }
  return chosen;
}

// 256, 4 Ki, 2 Mi.
std::string short_count(double n) {
  char text[32];
  if (n >= 1048576)
    std::snprintf(text, sizeof text, "%g Mi", n / 1048576);
  else if (n >= 1024)
    std::snprintf(text, sizeof text, "%g Ki", n / 1024);
  else
    std::snprintf(text, sizeof text, "%g", n);
  return text;
}

struct Axes {
  double least_n, most_n, most_percent, percent_step;
  double left, top, width, height;
  double x(double n) const {
    const double range = std::log2(most_n / least_n);
    return left + (range > 0 ? std::log2(n / least_n) / range : 0.5) * width;
  }
  double y(double percent) const { return top + height * (1 - percent / most_percent); }
};

void draw_axes(std::ostream& out, const Axes& a, const std::string& title, bool with_y_labels) {
  out << "<text x=\"" << fixed(a.left) << "\" y=\"" << fixed(a.top - 10) << "\" class=\"panel\">" << escaped(title)
      << "</text>\n";
  for (double percent = 0; percent <= a.most_percent + 1e-9; percent += a.percent_step) {
    const std::string y = fixed(a.y(percent));
    out << "<line x1=\"" << fixed(a.left) << "\" x2=\"" << fixed(a.left + a.width) << "\" y1=\"" << y << "\" y2=\"" << y
        << "\" class=\"" << (percent == 0 ? "axis" : "grid") << "\"/>\n";
    if (with_y_labels) {
      out << "<text x=\"" << fixed(a.left - 8) << "\" y=\"" << fixed(a.y(percent) + 4) << "\" class=\"end\">" << percent
          << "</text>\n";
    }
  }
  const std::string copy_y = fixed(a.y(100));
  out << "<line x1=\"" << fixed(a.left) << "\" x2=\"" << fixed(a.left + a.width) << "\" y1=\"" << copy_y << "\" y2=\""
      << copy_y << "\" class=\"copy\"/>\n";
  // A label for every factor of 2, 4 or 8, depending on the space; a mark for every factor of 2.
  const double octaves = std::log2(a.most_n / a.least_n);
  const int every = octaves > 8 ? 3 : octaves > 4 ? 2 : 1;
  int octave = 0;
  for (double n = a.least_n; n <= a.most_n * 1.001; n *= 2, ++octave) {
    const std::string x = fixed(a.x(n));
    const bool labelled = octave % every == 0;
    out << "<line x1=\"" << x << "\" x2=\"" << x << "\" y1=\"" << fixed(a.top + a.height) << "\" y2=\""
        << fixed(a.top + a.height + (labelled ? 6 : 3)) << "\" class=\"axis\"/>\n";
    if (labelled) {
      out << "<text x=\"" << x << "\" y=\"" << fixed(a.top + a.height + 20) << "\" class=\"middle\">" << short_count(n)
          << "</text>\n";
    }
  }
  out << "<text x=\"" << fixed(a.left + a.width / 2) << "\" y=\"" << fixed(a.top + a.height + 42)
      << "\" class=\"middle\">neurons N</text>\n";
}

void draw_series(std::ostream& out, const Axes& a, const Series& series, const std::string& color) {
  out << "<polyline fill=\"none\" stroke=\"" << color << "\" stroke-width=\"2\" stroke-linejoin=\"round\" points=\"";
  for (const auto& [n, percent] : series) out << fixed(a.x(n)) << "," << fixed(a.y(percent)) << " ";
  out << "\"/>\n";
  for (const auto& [n, percent] : series) {
    out << "<circle cx=\"" << fixed(a.x(n)) << "\" cy=\"" << fixed(a.y(percent)) << "\" r=\"2.8\" fill=\"" << color
        << "\"/>\n";
  }
}

std::string draw(const Chosen& chosen, const Options& options) {
  std::vector<std::uint64_t> all_t;
  double least_n = 1e300, most_n = 0, most_percent = 100;
  for (const auto& [direction, panel] : chosen.panels) {
    for (const auto& [steps, series] : panel) {
      if (std::find(all_t.begin(), all_t.end(), steps) == all_t.end()) all_t.push_back(steps);
      least_n = std::min(least_n, series.begin()->first);
      most_n = std::max(most_n, series.rbegin()->first);
      for (const auto& [n, percent] : series) most_percent = std::max(most_percent, percent);
    }
  }
  std::sort(all_t.begin(), all_t.end());
  const double step = most_percent <= 130   ? 20
                      : most_percent <= 260 ? 50
                      : most_percent <= 600 ? 100
                                            : std::ceil(most_percent / 600) * 100;
  most_percent = std::ceil((most_percent + step * 0.1) / step) * step;

  constexpr double left = 62, top = 84, panel_width = 300, panel_height = 300, between = 26, legend_width = 110,
                   bottom = 58;
  const auto panels = static_cast<double>(chosen.panels.size());
  const double width = left + panels * panel_width + (panels - 1) * between + legend_width;
  const double height = top + panel_height + bottom;
  std::ostringstream out;
  svg::begin(out, width, height);
  char copy[64];
  std::snprintf(copy, sizeof copy, "copy %.4g GB/s", chosen.copy_gb_per_s);
  out << "<text x=\"16\" y=\"26\" class=\"title\">" << options.model->name << ": percent of the copy bandwidth</text>\n"
      << "<text x=\"16\" y=\"46\" class=\"sub\">"
      << escaped(chosen.device + " · " + copy + " (dashed) · " + std::string(options.dtype->name) + ", spikes as " +
                 chosen.spikes + ", " + chosen.surrogate + ", " + std::string(options.cache->name) + " cache")
      << "</text>\n";
  out << "<text transform=\"translate(18 " << fixed(top + panel_height / 2) << ") rotate(-90)\" class=\"middle\">"
      << "percent of the copy bandwidth</text>\n";
  double at = left;
  for (const auto& [direction, panel] : chosen.panels) {
    const Axes axes{least_n, most_n, most_percent, step, at, top, panel_width, panel_height};
    draw_axes(out, axes, direction == "both" ? "forward + backward" : direction, at == left);
    for (std::size_t i = 0; i < all_t.size(); ++i) {
      const auto found = panel.find(all_t[i]);
      if (found != panel.end()) draw_series(out, axes, found->second, color_of(i, all_t.size()));
    }
    at += panel_width + between;
  }
  const double legend_x = at - between + 24;
  out << "<text x=\"" << fixed(legend_x) << "\" y=\"" << fixed(top + 8) << "\" class=\"panel\">steps T</text>\n";
  for (std::size_t i = 0; i < all_t.size(); ++i) {
    // The longest first, because the lines usually lie in that order.
    const std::size_t t = all_t.size() - 1 - i;
    const double y = top + 30 + 20 * static_cast<double>(i);
    out << "<line x1=\"" << fixed(legend_x) << "\" x2=\"" << fixed(legend_x + 24) << "\" y1=\"" << fixed(y - 4)
        << "\" y2=\"" << fixed(y - 4) << "\" stroke=\"" << color_of(t, all_t.size()) << "\" stroke-width=\"3\"/>\n"
        << "<text x=\"" << fixed(legend_x + 32) << "\" y=\"" << fixed(y) << "\">" << all_t[t] << "</text>\n";
  }
  svg::end(out);
  return out.str();
}

}  // namespace

void run_plot(const Options& options) {
  const Chosen chosen = choose_rows(read_csv(options.input), options);
  svg::write_file(options.output, draw(chosen, options));
  std::size_t lines = 0;
  for (const auto& panel : chosen.panels) lines += panel.second.size();
  std::printf("%s: %zu panels, %zu lines\n", options.output.c_str(), chosen.panels.size(), lines);
}

}  // namespace synfire_bench

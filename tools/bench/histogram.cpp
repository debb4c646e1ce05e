// histogram.cpp - panels in rows of three, with a common time scale.
//
// SPDX-License-Identifier: MIT
#include "histogram.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "svg.hpp"

namespace synfire_bench {
namespace {

using svg::escaped;
using svg::fixed;

constexpr int bins_per_decade = 25;
constexpr std::size_t columns = 3;
constexpr double panel_width = 300, panel_height = 150, left = 62, top = 116, gap_x = 48, gap_y = 92;

struct Scale {
  double first_decade, last_decade;  // of microseconds
  double lowest;                     // log10 of the smallest share
  double x(double value) const {
    return (std::log10(value) - first_decade) / (last_decade - first_decade) * panel_width;
  }
  double y(double share) const { return panel_height * std::log10(share) / lowest; }
};

std::string power_of_ten(int exponent) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", std::pow(10.0, exponent));
  return text;
}

// The outline of the bins, down to the axis where a bin is empty.
std::string outline(const Scale& scale, const Distribution& distribution) {
  std::string path;
  const auto add = [&](char command, double x, double y) {
    path += command;
    path.append(fixed(x)).append(" ").append(fixed(y));
  };
  bool first = true;
  for (const Distribution::Bin& bin : distribution.bins(bins_per_decade)) {
    const double y = bin.share > 0 ? std::min(scale.y(bin.share), panel_height) : panel_height;
    if (first) add('M', scale.x(bin.low), panel_height);
    first = false;
    add('L', scale.x(bin.low), y);
    add('L', scale.x(bin.high), y);
  }
  return path;
}

void draw_panel(std::ostream& out, const Scale& scale, const HistogramPanel& panel, double at_x, double at_y) {
  out << "<g transform=\"translate(" << fixed(at_x) << " " << fixed(at_y) << ")\">\n"
      << "<text x=\"0\" y=\"-26\" class=\"panel\">" << escaped(panel.title) << "</text>\n"
      << "<text x=\"0\" y=\"-10\" class=\"sub\">" << escaped(panel.subtitle) << "</text>\n";
  for (int exponent = 0; exponent >= static_cast<int>(scale.lowest); --exponent) {
    const std::string y = fixed(scale.y(std::pow(10.0, exponent)));
    out << "<line x1=\"0\" x2=\"" << fixed(panel_width) << "\" y1=\"" << y << "\" y2=\"" << y
        << "\" class=\"grid\"/>\n";
    if (exponent % 2 == 0)
      out << "<text x=\"-6\" y=\"" << fixed(scale.y(std::pow(10.0, exponent)) + 4) << "\" class=\"end\">"
          << power_of_ten(exponent + 2) << "</text>\n";
  }
  for (int decade = static_cast<int>(scale.first_decade); decade <= static_cast<int>(scale.last_decade); ++decade) {
    const std::string x = fixed(scale.x(std::pow(10.0, decade)));
    out << "<line x1=\"" << x << "\" x2=\"" << x << "\" y1=\"0\" y2=\"" << fixed(panel_height + 5)
        << "\" class=\"grid\"/>\n"
        << "<text x=\"" << x << "\" y=\"" << fixed(panel_height + 19) << "\" class=\"middle\">" << power_of_ten(decade)
        << "</text>\n";
  }
  const auto close = [&](const Distribution& distribution) {
    const std::vector<Distribution::Bin> bins = distribution.bins(bins_per_decade);
    return std::string("L").append(fixed(scale.x(bins.back().high))).append(" ").append(fixed(panel_height));
  };
  const std::string colour = svg::color_of(2, 4);
  out << "<path class=\"measured\" d=\"" << outline(scale, *panel.measured) << close(*panel.measured) << "Z\" fill=\""
      << colour << "\" fill-opacity=\"0.55\"/>\n";
  if (panel.beside->count() > 0)
    out << "<path class=\"beside\" d=\"" << outline(scale, *panel.beside) << close(*panel.beside)
        << "\" fill=\"none\" stroke=\"#333333\" stroke-width=\"1.2\"/>\n";
  for (const double share : {0.5, 0.99, 0.9999}) {
    const std::string x = fixed(scale.x(panel.measured->percentile(share)));
    out << "<line x1=\"" << x << "\" x2=\"" << x << "\" y1=\"0\" y2=\"" << fixed(panel_height)
        << "\" class=\"copy\"/>\n";
  }
  out << "<line x1=\"0\" x2=\"" << fixed(panel_width) << "\" y1=\"" << fixed(panel_height) << "\" y2=\""
      << fixed(panel_height) << "\" class=\"axis\"/>\n</g>\n";
}

}  // namespace

std::string draw_histograms(const std::string& title, const std::string& subtitle,
                            std::span<const HistogramPanel> panels) {
  double least = 1e300, most = 0, count = 10;
  for (const HistogramPanel& panel : panels) {
    for (const Distribution* each : {panel.measured, panel.beside}) {
      if (each->count() == 0) continue;
      const std::vector<Distribution::Bin> bins = each->bins(bins_per_decade);
      least = std::min(least, bins.front().low);
      most = std::max(most, bins.back().high);
      count = std::max(count, static_cast<double>(each->count()));
    }
  }
  Scale scale{std::floor(std::log10(least) + 1e-9), std::ceil(std::log10(most) - 1e-9),
              -std::ceil(std::log10(count) - 1e-9)};
  scale.last_decade = std::max(scale.last_decade, scale.first_decade + 1);

  const std::size_t across = std::min(columns, std::max<std::size_t>(panels.size(), 1));
  const std::size_t down = (panels.size() + across - 1) / across;
  const double width = left + static_cast<double>(across) * (panel_width + gap_x);
  const double height = top + static_cast<double>(down) * (panel_height + gap_y) - gap_y + 60;
  std::ostringstream out;
  svg::begin(out, width, height);
  out << "<text x=\"16\" y=\"26\" class=\"title\">" << escaped(title) << "</text>\n"
      << "<text x=\"16\" y=\"46\" class=\"sub\">" << escaped(subtitle) << "</text>\n"
      << "<text x=\"16\" y=\"64\" class=\"sub\">percent of all replays against microseconds, both logarithmic; dashed: "
         "p50, p99, "
      << "p99.99; line: bare</text>\n";
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const std::size_t row = i / across, column = i % across;
    draw_panel(out, scale, panels[i], left + static_cast<double>(column) * (panel_width + gap_x),
               top + static_cast<double>(row) * (panel_height + gap_y));
  }
  out << "<text x=\"" << fixed(left + (width - left) / 2) << "\" y=\"" << fixed(height - 16)
      << "\" class=\"middle\">launch to done, us</text>\n";
  svg::end(out);
  return out.str();
}

}  // namespace synfire_bench

// shape_picture.cpp - what draw_shapes() of shape_report.hpp draws.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "shape_bounds.hpp"
#include "shape_report.hpp"
#include "svg.hpp"

namespace synfire_bench {
namespace {

using svg::escaped;
using svg::fixed;

constexpr double panel_width = 360, panel_height = 280, left = 62, top = 100, between = 66, bottom = 96;

// A logarithmic horizontal axis and a linear vertical one.
struct Axes {
  double at_x, least, most;  // powers of ten
  double highest;
  double x(double value) const {
    return at_x + (std::log10(std::max(value, 1e-12)) - least) / (most - least) * panel_width;
  }
  double y(double value) const { return top + panel_height * (1 - std::min(value, highest) / highest); }
};

std::string power_of_ten(int exponent) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", std::pow(10.0, exponent));
  return text;
}

void draw_axes(std::ostream& out, const Axes& axes, const std::string& title, const std::string& across) {
  out << "<text x=\"" << fixed(axes.at_x) << "\" y=\"" << fixed(top - 12) << "\" class=\"panel\">" << escaped(title)
      << "</text>\n";
  const double step = axes.highest <= 4 ? 0.5 : axes.highest <= 8 ? 1 : std::ceil(axes.highest / 8);
  for (double value = 0; value <= axes.highest + 1e-9; value += step) {
    const std::string y = fixed(axes.y(value));
    out << "<line x1=\"" << fixed(axes.at_x) << "\" x2=\"" << fixed(axes.at_x + panel_width) << "\" y1=\"" << y
        << "\" y2=\"" << y << "\" class=\"" << (value == 0 ? "axis" : "grid") << "\"/>\n"
        << "<text x=\"" << fixed(axes.at_x - 8) << "\" y=\"" << fixed(axes.y(value) + 4) << "\" class=\"end\">" << value
        << "</text>\n";
  }
  for (int exponent = static_cast<int>(axes.least); exponent <= static_cast<int>(axes.most); ++exponent) {
    const std::string x = fixed(axes.x(std::pow(10.0, exponent)));
    out << "<line x1=\"" << x << "\" x2=\"" << x << "\" y1=\"" << fixed(top) << "\" y2=\""
        << fixed(top + panel_height + 5) << "\" class=\"grid\"/>\n"
        << "<text x=\"" << x << "\" y=\"" << fixed(top + panel_height + 20) << "\" class=\"middle\">"
        << power_of_ten(exponent) << "</text>\n";
  }
  out << "<text x=\"" << fixed(axes.at_x + panel_width / 2) << "\" y=\"" << fixed(top + panel_height + 40)
      << "\" class=\"middle\">" << escaped(across) << "</text>\n";
}

std::string color_of_dtype(const Dtype* dtype) {
  return svg::color_of(static_cast<std::size_t>(dtype - dtypes), std::size(dtypes));
}

enum class Mark { plain, pale, passed };

void draw_point(std::ostream& out, const Axes& axes, double x, double y, const ShapeResult& result, Mark mark) {
  char title[160];
  std::snprintf(title, sizeof title, "%s B %llu N %llu T %llu: %.2f us", result.job.dtype->name.data(),
                static_cast<unsigned long long>(result.placed->shape.batch),
                static_cast<unsigned long long>(result.placed->shape.neurons),
                static_cast<unsigned long long>(result.placed->shape.steps), result.seconds * 1e6);
  out << "<circle cx=\"" << fixed(axes.x(x)) << "\" cy=\"" << fixed(axes.y(y)) << "\" r=\""
      << (mark == Mark::passed ? "4.5" : "3") << "\" fill=\"" << color_of_dtype(result.job.dtype)
      << "\" fill-opacity=\"" << (mark == Mark::pale ? "0.25" : "0.75") << "\""
      << (mark == Mark::passed ? " stroke=\"#c00000\" stroke-width=\"1.8\"" : "") << "><title>" << escaped(title)
      << "</title></circle>\n";
}

// Least and most power of ten that include all values.
void include(Axes& axes, double value) {
  axes.least = std::min(axes.least, std::floor(std::log10(value)));
  axes.most = std::max(axes.most, std::ceil(std::log10(value) + 1e-9));
}

void draw_direction(std::ostream& out, double at_x, std::span<const ShapeResult> results, Direction direction) {
  Axes axes{at_x, 0, 1, 1.5};
  for (const ShapeResult& result : results) {
    if (result.direction != direction) continue;
    include(axes, result.scaled_seconds() * 1e6);
    axes.highest = std::max(axes.highest, result.ratio());
  }
  axes.least = std::max(axes.least, -2.0);
  axes.highest = std::min(std::ceil(axes.highest * 2) / 2, 8.0);
  const char* const name =
      direction == Direction::both ? "forward + backward" : directions[static_cast<int>(direction)].name.data();
  draw_axes(out, axes, std::string(name) + ": time by the reference's, scaled",
            "the reference's time, scaled by bytes, us");
  const bool host = !results.empty() && results.front().host;
  out << "<path class=\"copy\" fill=\"none\" d=\"";
  for (int i = 0; i <= 100; ++i) {
    const double us = std::pow(10.0, axes.least + (axes.most - axes.least) * i / 100);
    const double bound = bound_by_bytes(us * 1e-6, passes_of(direction), host) / (us * 1e-6);
    out << (i == 0 ? "M" : "L") << fixed(axes.x(us)) << " " << fixed(axes.y(bound));
  }
  out << "\"/>\n";
  for (const ShapeResult& result : results) {
    if (result.direction != direction) continue;
    const double us = std::max(result.scaled_seconds() * 1e6, std::pow(10.0, axes.least));
    const Mark mark = result.seconds > result.bound()         ? Mark::passed
                      : result.seconds > result.bytes_bound() ? Mark::pale
                                                              : Mark::plain;
    draw_point(out, axes, us, result.ratio(), result, mark);
  }
}

void draw_peers(std::ostream& out, double at_x, std::span<const ShapeResult> results) {
  Axes axes{at_x, 3, 4, 2};
  for (const ShapeResult& result : results) {
    if (result.peer_seconds == 0) continue;
    include(axes, static_cast<double>(result.placed->shape.elements()));
    axes.highest = std::max(axes.highest, result.peer_seconds / result.seconds);
  }
  axes.highest = std::ceil(axes.highest * 2) / 2;
  draw_axes(out, axes, "SpikingJelly's time by this (forward; both with a ring)", "elements T B N");
  for (const double line : {1.0, 1.5}) {
    out << "<line x1=\"" << fixed(at_x) << "\" x2=\"" << fixed(at_x + panel_width) << "\" y1=\"" << fixed(axes.y(line))
        << "\" y2=\"" << fixed(axes.y(line)) << "\" class=\"copy\"/>\n";
  }
  for (const ShapeResult& result : results) {
    if (result.peer_seconds == 0) continue;
    const auto elements = static_cast<double>(result.placed->shape.elements());
    const double times = result.peer_seconds / result.seconds;
    const bool passed = result.peer_counts && result.seconds > result.peer_bound();
    draw_point(out, axes, elements, times, result, passed ? Mark::passed : Mark::plain);
    if (result.direction == Direction::both)
      out << "<circle cx=\"" << fixed(axes.x(elements)) << "\" cy=\"" << fixed(axes.y(times))
          << "\" r=\"6\" fill=\"none\" stroke=\"#333333\"/>\n";
  }
}

}  // namespace

std::string draw_shapes(const std::string& title, const std::string& subtitle, std::span<const ShapeResult> results) {
  std::vector<Direction> drawn;
  for (const DirectionName& name : directions) {
    if (std::any_of(results.begin(), results.end(),
                    [&](const ShapeResult& result) { return result.direction == name.direction; }))
      drawn.push_back(name.direction);
  }
  const bool peers =
      std::any_of(results.begin(), results.end(), [](const ShapeResult& result) { return result.peer_seconds > 0; });
  const double panels = static_cast<double>(drawn.size()) + (peers ? 1 : 0);
  std::ostringstream out;
  svg::begin(out, left + panels * (panel_width + between), top + panel_height + bottom);
  out << "<text x=\"16\" y=\"26\" class=\"title\">" << escaped(title) << "</text>\n"
      << "<text x=\"16\" y=\"46\" class=\"sub\">" << escaped(subtitle) << "</text>\n"
      << "<text x=\"16\" y=\"64\" class=\"sub\">dashed: the most that is allowed by bytes; red: more than is allowed; "
         "pale: bound by latency, and within that</text>\n";
  double at_x = left;
  for (const Direction direction : drawn) {
    draw_direction(out, at_x, results, direction);
    at_x += panel_width + between;
  }
  if (peers) draw_peers(out, at_x, results);
  double legend_x = left;
  for (const Dtype& dtype : dtypes) {
    const std::string y = fixed(top + panel_height + 68);
    out << "<circle cx=\"" << fixed(legend_x) << "\" cy=\"" << y << "\" r=\"4\" fill=\"" << color_of_dtype(&dtype)
        << "\"/>\n<text x=\"" << fixed(legend_x + 10) << "\" y=\"" << fixed(top + panel_height + 72) << "\">"
        << dtype.name << "</text>\n";
    legend_x += 70;
  }
  svg::end(out);
  return out.str();
}

}  // namespace synfire_bench

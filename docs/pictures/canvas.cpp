// canvas.cpp - pixels, labels and the text of the SVG.
//
// SPDX-License-Identifier: MIT
#include "canvas.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace synfire_pictures {
namespace {

std::string pixels(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value + 0.0);
  return std::string(text) == "-0.0" ? "0.0" : text;
}

std::string escaped(const std::string& words) {
  std::string result;
  for (const char c : words) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else
      result += c;
  }
  return result;
}

// Leaves out points that lie within a tenth of a pixel of the straight line between their neighbours.
std::vector<Point> simplified(const std::vector<Point>& points) {
  if (points.size() < 3) return points;
  std::vector<Point> kept = {points.front()};
  std::size_t from = 0;
  for (std::size_t to = 2; to < points.size(); ++to) {
    const Point a = points[from], b = points[to];
    const double length = std::hypot(b.x - a.x, b.y - a.y);
    for (std::size_t i = from + 1; i < to; ++i) {
      const double off = (b.x - a.x) * (points[i].y - a.y) - (b.y - a.y) * (points[i].x - a.x);
      if (std::fabs(off) <= 0.1 * length) continue;
      from = to - 1;
      kept.push_back(points[from]);
      break;
    }
  }
  kept.push_back(points.back());
  return kept;
}

}  // namespace

const char* color(std::size_t line) {
  constexpr const char* colors[] = {"#1f4e9c", "#d9731a", "#3c9a4a"};
  return colors[line % 3];
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", std::fabs(value) < 1e-12 ? 0 : value);
  return text;
}

Scale scale_of(const std::vector<std::vector<Point>>& lines) {
  double low = 0, high = 0;
  for (const auto& line : lines)
    for (const Point& point : line) {
      low = std::min(low, point.y);
      high = std::max(high, point.y);
    }
  if (low == high) high = low + 1;
  const double rough = (high - low) / 4, unit = std::pow(10, std::floor(std::log10(rough)));
  const double step = (rough / unit < 1.5 ? 1 : rough / unit < 3.5 ? 2 : 5) * unit;
  Scale scale = {low - 0.06 * (high - low), high + 0.1 * (high - low), {}};
  for (double k = std::ceil(scale.low / step); k * step <= scale.high; ++k) scale.labels.push_back(k * step);
  return scale;
}

void Panel::text(double at_x, double at_y, const char* style, const std::string& words) {
  svg_ += "<text x=\"" + pixels(at_x) + "\" y=\"" + pixels(at_y) + "\" class=\"" + style + "\">" + escaped(words) +
          "</text>\n";
}

void Panel::frame(const std::string& title) {
  svg_ += "<rect x=\"" + pixels(corner_.x) + "\" y=\"" + pixels(corner_.y) + "\" width=\"" + pixels(width_) +
          "\" height=\"" + pixels(height_) + "\" class=\"frame\"/>\n";
  text(corner_.x, corner_.y - 6, "panel", title);
}

void Panel::x_labels(const std::vector<double>& values, const std::string& name) {
  for (const double value : values) {
    svg_ +=
        "<path d=\"M" + pixels(x(value)) + " " + pixels(corner_.y) + "v" + pixels(height_) + "\" class=\"grid\"/>\n";
    text(x(value), corner_.y + height_ + 16, "middle", short_number(value));
  }
  text(corner_.x + width_ / 2, corner_.y + height_ + 34, "middle", name);
}

void Panel::y_labels(const std::vector<double>& values) {
  for (const double value : values) {
    svg_ += "<path d=\"M" + pixels(corner_.x) + " " + pixels(y(value)) + "h" + pixels(width_) + "\" class=\"grid\"/>\n";
    text(corner_.x - 6, y(value) + 4, "end", short_number(value));
  }
}

void Panel::level(double value, const std::string& name) {
  svg_ += "<path d=\"M" + pixels(corner_.x) + " " + pixels(y(value)) + "h" + pixels(width_) + "\" class=\"level\"/>\n";
  text(corner_.x + width_ + 6, y(value) + 4, "", name);
}

void Panel::line(const std::vector<Point>& points, const char* stroke, bool thin) {
  std::vector<Point> in_pixels;
  in_pixels.reserve(points.size());
  for (const Point& point : points) in_pixels.push_back({x(point.x), y(point.y)});
  svg_ += std::string("<polyline fill=\"none\" stroke-linejoin=\"round\" stroke=\"") + stroke + "\" stroke-width=\"" +
          (thin ? "1.1" : "2") + "\" points=\"";
  for (const Point& point : simplified(in_pixels)) svg_ += pixels(point.x) + "," + pixels(point.y) + " ";
  svg_.back() = '"';
  svg_ += "/>\n";
}

void Panel::cell(Point low, Point high, const char* fill, double opacity) {
  svg_ += "<rect x=\"" + pixels(x(low.x)) + "\" y=\"" + pixels(y(high.y)) + "\" width=\"" +
          pixels(x(high.x) - x(low.x)) + "\" height=\"" + pixels(y(low.y) - y(high.y)) + "\" fill=\"" + fill + "\"" +
          (opacity < 1 ? " opacity=\"" + short_number(opacity) + "\"" : "") + "/>\n";
}

void Panel::mark(double at, const char* stroke) {
  svg_ += "<path d=\"M" + pixels(x(at)) + " " + pixels(y(1)) + "V" + pixels(y(0)) + "\" stroke=\"" + stroke +
          "\" stroke-width=\"1.6\"/>\n";
}

std::string Picture::svg() const {
  std::string all =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + pixels(width) + "\" height=\"" + pixels(height) +
      "\" viewBox=\"0 0 " + pixels(width) + " " + pixels(height) +
      "\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#333333\">\n<title>" + escaped(title) +
      "</title>\n<style>.title{font-size:16px;font-weight:bold}.sub{fill:#666666}"
      ".panel{font-weight:bold}.middle{text-anchor:middle}.end{text-anchor:end}"
      ".grid{stroke:#e4e4e4}.frame{fill:none;stroke:#999999}"
      ".level{stroke:#999999;stroke-dasharray:5 4}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
      "<text x=\"16\" y=\"26\" class=\"title\">" +
      escaped(title) + "</text>\n<text x=\"16\" y=\"46\" class=\"sub\">" + escaped(subtitle) + "</text>\n";
  double at = 16;
  for (const LegendEntry& entry : legend) {
    all += "<path d=\"M" + pixels(at) + " 62h22\" stroke=\"" + entry.color + "\" stroke-width=\"3\"/>\n<text x=\"" +
           pixels(at + 28) + "\" y=\"66\">" + escaped(entry.text) + "</text>\n";
    at += 52 + 6.6 * static_cast<double>(entry.text.size());
  }
  for (const Panel& panel : panels) all += panel.svg();
  return all + "</svg>\n";
}

}  // namespace synfire_pictures

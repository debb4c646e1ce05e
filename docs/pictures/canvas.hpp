// canvas.hpp - one picture as SVG, made of panels with axes, lines and marks.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_PICTURES_CANVAS_HPP
#define SYNFIRE_TOOLS_PICTURES_CANVAS_HPP

#include <string>
#include <vector>

namespace synfire_pictures {

struct Point {
  double x, y;
};

/// Colours of lines 0, 1, 2 of a panel. They also differ in lightness.
const char* color(std::size_t line);

/// A rectangle of the picture, in pixels, and the range of x and y that it shows.
class Panel {
 public:
  Panel(Point corner, double width, double height, Point low, Point high)
      : corner_(corner), width_(width), height_(height), low_(low), high_(high) {}

  void frame(const std::string& title);
  /// Labels along the bottom, each with a grid line.
  void x_labels(const std::vector<double>& values, const std::string& name);
  void y_labels(const std::vector<double>& values);
  /// A dashed line from left to right, labelled at its right end.
  void level(double value, const std::string& name);
  void line(const std::vector<Point>& points, const char* stroke, bool thin = false);
  /// A filled rectangle between two corners.
  void cell(Point low, Point high, const char* fill, double opacity);
  /// A vertical stroke from y = 0 to y = 1.
  void mark(double at, const char* stroke);

  const std::string& svg() const { return svg_; }

 private:
  double x(double value) const { return corner_.x + (value - low_.x) / (high_.x - low_.x) * width_; }
  double y(double value) const { return corner_.y + (high_.y - value) / (high_.y - low_.y) * height_; }
  void text(double at_x, double at_y, const char* style, const std::string& words);

  Point corner_;
  double width_, height_;
  Point low_, high_;
  std::string svg_;
};

struct LegendEntry {
  const char* color;
  std::string text;
};

struct Picture {
  double width, height;
  std::string title, subtitle;
  std::vector<LegendEntry> legend;  ///< in one row under the subtitle
  std::vector<Panel> panels;

  std::string svg() const;
};

/// A range of y that contains all values with a margin, and three to six round labels for it.
struct Scale {
  double low, high;
  std::vector<double> labels;
};
Scale scale_of(const std::vector<std::vector<Point>>& lines);

/// "0.25", "10": the shortest form.
std::string short_number(double value);

}  // namespace synfire_pictures

#endif

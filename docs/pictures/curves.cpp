// curves.cpp - one scene for each surrogate: the range of x, a second value of one parameter, and the value at which
// the primitive starts.
//
// SPDX-License-Identifier: MIT
#include "curves.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "canvas.hpp"

namespace synfire_pictures {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

struct Scene {
  std::string_view surrogate;
  double x_end;        // x runs from −x_end to x_end
  const char* varied;  // drawn with its default and with `other`
  double other;
  double at_zero;  // g(0); `none` if no primitive is defined
};

constexpr Scene scenes[] = {
    {"sigmoid", 3, "alpha", 8, 0.5},
    {"atan", 3, "alpha", 4, 0.5},
    {"piecewise_quadratic", 3, "alpha", 2, 0.5},
    {"piecewise_exp", 3, "alpha", 3, 0.5},
    {"soft_sign", 3, "alpha", 4, 0.5},
    {"super_spike", 3, "alpha", 2, none},
    {"erf", 3, "alpha", 4, 0.5},
    {"piecewise_leaky_relu", 3, "w", 0.5, 0.5},
    {"s2nn", 3, "alpha", 8, 0.5},
    {"q_pseudo_spike", 3, "alpha", 8, 0.5},
    {"leaky_k_relu", 3, "leak", 0.25, 0},
    {"fake_numerical_gradient", 8, "alpha", 1, none},
    {"log_tailed_relu", 6, "alpha", 0.25, 0},
    {"nonzero_sign_log_abs", 6, "alpha", 3, 0},
    {"squarewave_fourier_series", 8, "n", 4, 0.5},
    {"rect", 3, "alpha", 2, 0.5},
    {"multi_gaussian", 4, "sigma", 1, 0.425},
};

// Fine enough to integrate over a jump; odd, so that one point is x = 0. Only every n_per_drawn-th point is drawn.
constexpr std::size_t n_points = 9601, n_per_drawn = 20;

std::vector<Point> drawn(const std::vector<Point>& points) {
  std::vector<Point> some;
  for (std::size_t i = 0; i < points.size(); i += n_per_drawn) some.push_back(points[i]);
  return some;
}

// A backward through one step of an IF neuron with threshold 0: H = X, so dL/dX = g'(X) for dL/dS = 1.
std::vector<Point> derivative(const synfire::Context& context, std::int32_t id, double x_end, const char* name,
                              double value) {
  synfire_layer_desc desc = synfire::layer_desc(SYNFIRE_MODEL_IF, synfire::steps{1}, synfire::neurons{n_points});
  desc.dtype = SYNFIRE_DTYPE_F64;
  desc.surrogate = id;
  desc.detach_reset = 1;
  synfire::Layer layer(context, desc);
  layer.set_parameter("v_threshold", 0.0);
  if (name != nullptr) layer.set_parameter(name, value);
  std::vector<double> x(n_points);
  for (std::size_t i = 0; i < n_points; ++i)
    x[i] = x_end * (2.0 * static_cast<double>(i) / static_cast<double>(n_points - 1) - 1.0);
  synfire::Buffer input(context, synfire::buffer_desc<double>(n_points));
  synfire::Buffer ones(context, synfire::buffer_desc<double>(n_points));
  synfire::Buffer output(context, synfire::buffer_desc<double>(n_points));
  input.upload(x);
  ones.fill(1);
  layer.forward(synfire::forward_desc(input));
  layer.backward(synfire::backward_desc(ones, output));
  const std::vector<double> slopes = output.download<double>();
  std::vector<Point> points;
  for (std::size_t i = 0; i < n_points; ++i) points.push_back({x[i], slopes[i]});
  return points;
}

// The integral of the derivative, by the trapezoidal rule, through g(0).
std::vector<Point> primitive(const std::vector<Point>& slopes, double at_zero) {
  std::vector<Point> points = {{slopes[0].x, 0}};
  for (std::size_t i = 1; i < slopes.size(); ++i)
    points.push_back(
        {slopes[i].x, points.back().y + 0.5 * (slopes[i].x - slopes[i - 1].x) * (slopes[i].y + slopes[i - 1].y)});
  const double offset = at_zero - points[points.size() / 2].y;
  for (Point& point : points) point.y += offset;
  return points;
}

void add_panel(Picture& picture, double left, const char* title, double x_end,
               const std::vector<std::vector<Point>>& lines) {
  const Scale scale = scale_of(lines);
  Panel panel({left, 104}, 300, 190, {-x_end, scale.low}, {x_end, scale.high});
  panel.x_labels({-x_end, -x_end / 2, 0, x_end / 2, x_end}, "x = H - v_threshold");
  panel.y_labels(scale.labels);
  panel.frame(title);
  for (std::size_t i = lines.size(); i-- > 0;) panel.line(drawn(lines[i]), color(i), i != 0);
  picture.panels.push_back(panel);
}

}  // namespace

std::string draw_curves(const synfire::Context& context, std::string_view surrogate, std::int32_t id) {
  const auto* const scene =
      std::find_if(std::begin(scenes), std::end(scenes), [&](const Scene& s) { return s.surrogate == surrogate; });
  if (scene == std::end(scenes)) return {};
  synfire_layer_desc desc = synfire::layer_desc(SYNFIRE_MODEL_IF, synfire::steps{1}, synfire::neurons{1});
  desc.surrogate = id;
  const double by_default = synfire::Layer(context, desc).get_parameter(scene->varied);

  const std::vector<std::vector<Point>> slopes = {derivative(context, id, scene->x_end, nullptr, 0),
                                                  derivative(context, id, scene->x_end, scene->varied, scene->other)};
  const bool has_primitive = !std::isnan(scene->at_zero);
  Picture picture = {has_primitive ? 760.0 : 400.0,
                     340,
                     std::string(surrogate),
                     has_primitive ? "derivative and primitive, with two values of " + std::string(scene->varied)
                                   : "derivative, with two values of " + std::string(scene->varied),
                     {},
                     {}};
  picture.legend = {{color(0), std::string(scene->varied) + " = " + short_number(by_default) + ", the default"},
                    {color(1), std::string(scene->varied) + " = " + short_number(scene->other)}};
  add_panel(picture, 56, "g'(x)", scene->x_end, slopes);
  if (has_primitive)
    add_panel(picture, 424, "g(x)", scene->x_end,
              {primitive(slopes[0], scene->at_zero), primitive(slopes[1], scene->at_zero)});
  return picture.svg();
}

}  // namespace synfire_pictures

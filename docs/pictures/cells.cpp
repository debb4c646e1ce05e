// cells.cpp - see cells.hpp. The library computes activities and spikes.
//
// SPDX-License-Identifier: MIT
#include "cells.hpp"

#include <cmath>
#include <vector>

#include "canvas.hpp"

namespace synfire_pictures {
namespace {

constexpr std::size_t n_cells = 7, n_points = 241, n_steps = 120;
constexpr double end = 4;

synfire_population_desc described() {
  synfire_population_desc desc = SYNFIRE_POPULATION_DESC_INIT;
  desc.dtype = SYNFIRE_DTYPE_F64;
  desc.channels = 1;
  desc.n_cells = n_cells;
  desc.sigma = 0.6;
  return desc;
}

// `count` numbers of x from -end to end.
std::vector<double> rising(std::size_t count) {
  std::vector<double> x(count);
  for (std::size_t i = 0; i < count; ++i)
    x[i] = end * (2 * static_cast<double>(i) / static_cast<double>(count - 1) - 1);
  return x;
}

// [count, n_cells]: the activities of all cells, a step for each x.
synfire::Buffer activities(const synfire::Context& context, const std::vector<double>& x) {
  const synfire_population_desc desc = described();
  synfire_synapse cells = nullptr;
  synfire::check(synfire_synapse_create_population(context, &desc, &cells));
  synfire::Buffer input(context, synfire::buffer_desc<double>(x.size()));
  synfire::Buffer output(context, synfire::buffer_desc<double>(x.size() * n_cells));
  input.upload(x);
  synfire_synapse_forward_desc forward = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
  forward.n_steps = static_cast<std::int64_t>(x.size());
  forward.input = input;
  forward.output = output;
  const synfire_status status = synfire_synapse_forward(cells, &forward, nullptr);
  synfire_synapse_destroy(cells);
  synfire::check(status);
  return output;
}

Panel draw_activities(const synfire::Context& context, Point corner, double width, double height) {
  const std::vector<double> x = rising(n_points), y = activities(context, x).download<double>();
  Panel panel(corner, width, height, {-end, 0}, {end, 1.05});
  panel.x_labels({-4, -2, 0, 2, 4}, "x");
  panel.y_labels({0, 0.5, 1});
  panel.frame("y of each cell");
  for (std::size_t p = 0; p < n_cells; ++p) {
    std::vector<Point> points;
    for (std::size_t i = 0; i < n_points; ++i) points.push_back({x[i], y[i * n_cells + p]});
    panel.line(points, color(p % 2));
  }
  return panel;
}

// IF neurons with a soft reset read the activities while x rises by a little in each step.
Panel draw_spikes(const synfire::Context& context, Point corner, double width, double height) {
  synfire_layer_desc desc = synfire::layer_desc(SYNFIRE_MODEL_IF, synfire::steps{n_steps}, synfire::neurons{n_cells});
  desc.dtype = SYNFIRE_DTYPE_F64;
  desc.reset = SYNFIRE_RESET_SOFT;
  synfire::Layer layer(context, desc);
  const synfire::Buffer x = activities(context, rising(n_steps));
  synfire::Buffer spikes(context, synfire::buffer_desc<double>(n_steps * n_cells));
  synfire_forward_desc forward = synfire::forward_desc(x);
  forward.spikes = spikes;
  layer.forward(forward);
  const std::vector<double> fired = spikes.download<double>();
  Panel panel(corner, width, height, {0, 0}, {n_steps, n_cells});
  panel.x_labels({0, 30, 60, 90, 120}, "step, while x rises from -4 to 4");
  panel.frame("spikes of each cell");
  for (std::size_t t = 0; t < n_steps; ++t)
    for (std::size_t p = 0; p < n_cells; ++p) {
      if (fired[t * n_cells + p] == 0) continue;
      const auto step = static_cast<double>(t), cell = static_cast<double>(p);
      panel.cell({step + 0.15, cell + 0.15}, {step + 0.85, cell + 0.85}, color(p % 2), 1);
    }
  return panel;
}

}  // namespace

std::string draw_cells(const synfire::Context& context) {
  constexpr double left = 56, top = 80, width = 300, height = 190, gap = 52;
  Picture picture = {left + 2 * width + gap + 24,
                     top + height + 44,
                     "A population code",
                     "seven cells of one input, sigma = 0.6, and IF neurons with a soft reset that read them",
                     {},
                     {}};
  picture.panels = {draw_activities(context, {left, top}, width, height),
                    draw_spikes(context, {left + width + gap, top}, width, height)};
  return picture.svg();
}

}  // namespace synfire_pictures

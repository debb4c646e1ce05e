// membrane.cpp - one scene for each model: parameters, height of the input step, number of steps. The library
// computes.
//
// SPDX-License-Identifier: MIT
#include "membrane.hpp"

#include <algorithm>
#include <vector>

#include "canvas.hpp"

namespace synfire_pictures {
namespace {

struct Setting {
  const char* name;
  std::vector<double> values;  // one, or one per neuron
};

// There are several neurons only if a setting has several values.
struct Scene {
  std::string_view model;
  const char* title;
  std::vector<Setting> settings;
  double step;  // X during the input step
  std::size_t n_steps, n_neurons;
};

const std::vector<Scene>& scenes() {
  static const std::vector<Scene> all = {
      {"if", "IF: sums its input, without a leak", {}, 0.12, 100, 1},
      {"lif", "LIF: leaks towards v_rest", {{"tau", {10}}}, 1.5, 100, 1},
      {"plif", "PLIF: LIF with a learnable leak, here three", {{"reciprocal_tau", {0.25, 0.1, 0.05}}}, 1.5, 100, 3},
      {"qif", "QIF: slow below v_c, accelerates above", {{"tau", {10}}}, 0.5, 100, 1},
      {"eif", "EIF: a leak and an exponential upstroke", {{"tau", {10}}, {"delta_T", {0.1}}}, 1.2, 100, 1},
      {"izhikevich",
       "Izhikevich: QIF with adaptation",
       {{"tau", {10}}, {"tau_w", {40}}, {"a", {0.2}}, {"b", {0.15}}},
       1.0,
       200,
       1},
      {"alif", "ALIF: LIF whose spikes raise its threshold", {{"tau", {10}}, {"rho", {0.97}}}, 2.0, 200, 1},
      {"li", "LI: leaks towards v_rest and never fires", {{"tau", {5, 10, 20}}}, 1.0, 100, 3},
      {"lif_exact", "Exact LIF: the solution of the leak's equation", {{"tau", {10}}, {"gain", {1.5}}}, 1.0, 100, 1},
      {"cuba_lif", "Current-based LIF: X drives I, and I drives V", {{"gain", {2}}}, 1.0, 120, 1},
      {"cuba_li", "Current-based LI: the same without spikes", {{"tau_syn", {2, 5, 15}}}, 1.0, 120, 3},
  };
  return all;
}

// [T, N], time-major.
struct Run {
  std::vector<double> x, h, v, s, w;
};

Run run(const synfire::Context& context, std::int32_t id, const Scene& scene, bool has_w, bool fires) {
  const std::size_t size = scene.n_steps * scene.n_neurons;
  synfire_layer_desc desc = synfire::layer_desc(id, synfire::steps{scene.n_steps}, synfire::neurons{scene.n_neurons});
  desc.dtype = SYNFIRE_DTYPE_F64;
  synfire::Layer layer(context, desc);
  for (const Setting& setting : scene.settings) layer.set_parameter(setting.name, setting.values);
  Run result;
  result.x.assign(size, 0.0);
  std::fill(result.x.begin() + static_cast<std::ptrdiff_t>(size / 10),
            result.x.end() - static_cast<std::ptrdiff_t>(size / 5), scene.step);
  const auto array = [&] { return synfire::Buffer(context, synfire::buffer_desc<double>(size)); };
  synfire::Buffer x = array(), s = array(), h = array(), v = array(), w;
  if (has_w) w = array();
  x.upload(result.x);
  synfire_forward_desc forward = synfire::forward_desc(x, s);
  if (!fires) forward.spikes = nullptr;
  forward.h_seq = h;
  forward.v_seq = v;
  if (has_w) forward.w_seq = w;
  layer.forward(forward);
  result.h = h.download<double>();
  result.v = v.download<double>();
  result.s = s.download<double>();
  if (has_w) result.w = w.download<double>();
  return result;
}

std::vector<Point> series(const std::vector<double>& values, std::size_t neuron, std::size_t n_neurons) {
  std::vector<Point> points;
  for (std::size_t i = neuron; i < values.size(); i += n_neurons) {
    const std::size_t step = i / n_neurons;
    points.push_back({static_cast<double>(step), values[i]});
  }
  return points;
}

// The curve that a probe in the membrane would record: H[t], then V[t] at the same step, so that a spike shows as a
// drop.
std::vector<Point> membrane(const Run& run, std::size_t neuron, std::size_t n_neurons) {
  std::vector<Point> points;
  for (std::size_t i = neuron; i < run.h.size(); i += n_neurons) {
    const std::size_t index = i / n_neurons;
    const auto step = static_cast<double>(index);
    points.push_back({step, run.h[i]});
    if (run.s[i] != 0) points.push_back({step, run.v[i]});
  }
  return points;
}

// X, drawn as steps.
std::vector<Point> staircase(const std::vector<double>& values, std::size_t n_neurons) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < values.size(); i += n_neurons) {
    const std::size_t index = i / n_neurons;
    const auto step = static_cast<double>(index);
    points.push_back({std::max(step - 0.5, 0.0), values[i]});
    points.push_back({step + 0.5, values[i]});
  }
  return points;
}

std::string settings_text(const Scene& scene) {
  std::string text;
  for (const Setting& setting : scene.settings) {
    text += std::string(text.empty() ? "" : ", ") + setting.name + " = ";
    for (std::size_t i = 0; i < setting.values.size(); ++i)
      text += (i == 0 ? "" : " / ") + short_number(setting.values[i]);
  }
  return text.empty() ? "every parameter at its default" : text + ", the others at their defaults";
}

}  // namespace

std::string draw_membrane(const synfire::Context& context, std::string_view model, std::int32_t id) {
  const auto scene = std::find_if(scenes().begin(), scenes().end(), [&](const Scene& s) { return s.model == model; });
  if (scene == scenes().end()) return {};
  const bool has_current = model == "cuba_lif" || model == "cuba_li", has_w = model == "izhikevich" || has_current,
             fires = model != "li" && model != "cuba_li";
  const Run result = run(context, id, *scene, has_w, fires);

  constexpr double left = 56, width = 620, input_height = 44, membrane_height = 200, raster_height = 18, w_height = 80;
  const auto n_steps = static_cast<double>(scene->n_steps);
  const std::size_t n = scene->n_neurons;
  Picture picture = {left + width + 96,
                     0,
                     scene->title,
                     (fires ? "a step of X, hard reset, " : "a step of X, ") + settings_text(*scene),
                     {},
                     {}};
  double top = 78;
  if (n > 1) {
    for (std::size_t i = 0; i < n; ++i)
      picture.legend.push_back(
          {color(i), std::string(scene->settings[0].name) + " = " + short_number(scene->settings[0].values[i])});
    top += 16;
  }

  const std::vector<Point> input = staircase(result.x, n);
  const Scale input_scale = scale_of({input});
  Panel x_panel({left, top}, width, input_height, {0, input_scale.low}, {n_steps, input_scale.high});
  x_panel.y_labels({0, scene->step});
  x_panel.frame("X, input");
  x_panel.line(input, "#666666");
  picture.panels.push_back(x_panel);
  top += input_height + 28;

  std::vector<std::vector<Point>> traces;
  for (std::size_t i = 0; i < n; ++i) traces.push_back(membrane(result, i, n));
  if (fires) traces.push_back({{0, 1}});  // the threshold is always visible
  const Scale v_scale = scale_of(traces);
  Panel v_panel({left, top}, width, membrane_height, {0, v_scale.low}, {n_steps, v_scale.high});
  v_panel.y_labels(v_scale.labels);
  if (fires) v_panel.level(1, "v_threshold");
  std::vector<double> steps_axis;
  for (double t = 0; t <= n_steps; t += n_steps / 5) steps_axis.push_back(t);
  if (!fires && !has_w) v_panel.x_labels(steps_axis, "step t");
  v_panel.frame(fires ? "H, and V after a spike" : "V");
  for (std::size_t i = 0; i < n; ++i) v_panel.line(traces[i], color(i));
  picture.panels.push_back(v_panel);
  top += membrane_height + 28;

  if (has_w) {
    std::vector<std::vector<Point>> w;
    for (std::size_t i = 0; i < n; ++i) w.push_back(series(result.w, i, n));
    const Scale w_scale = scale_of(w);
    Panel w_panel({left, top}, width, w_height, {0, w_scale.low}, {n_steps, w_scale.high});
    w_panel.y_labels(w_scale.labels);
    if (!fires) w_panel.x_labels(steps_axis, "step t");
    w_panel.frame(has_current ? "I, current" : "W, adaptation");
    for (std::size_t i = 0; i < n; ++i) w_panel.line(w[i], color(n > 1 ? i : 1));
    picture.panels.push_back(w_panel);
    top += w_height + 28;
  }

  for (std::size_t neuron = 0; fires && neuron < n; ++neuron) {
    Panel s_panel({left, top}, width, raster_height, {0, 0}, {n_steps, 1});
    if (neuron + 1 == n) s_panel.x_labels(steps_axis, "step t");
    s_panel.frame(neuron == 0 ? "S, spikes" : "");
    for (const Point& spike : series(result.s, neuron, n))
      if (spike.y != 0) s_panel.mark(spike.x, color(neuron));
    picture.panels.push_back(s_panel);
    top += raster_height + 4;
  }
  picture.height = top + 42;
  return picture.svg();
}

}  // namespace synfire_pictures

// picture.cpp - see picture.hpp.
//
// SPDX-License-Identifier: MIT
#include "picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "svg.h"

namespace balance {
namespace {

constexpr const char *blue = "#1d62d6", *red = "#cd2828", *green = "#09867e", *amber = "#c47604";

class Page {
 public:
  Page(const std::string& path, int width, int height, const char* title)
      : path_(path), out_(svg_open(path.c_str(), width, height, title)) {
    if (out_ == nullptr) fail();
    std::fprintf(out_, "<text x=\"14\" y=\"32\" font-size=\"21\" font-weight=\"600\">%s</text>\n", title);
  }

  std::FILE* out() const { return out_; }

  void close() {
    if (!svg_close(out_, path_.c_str())) fail();
  }

 private:
  [[noreturn]] void fail() const { throw std::runtime_error(path_ + ": the picture cannot be written"); }

  std::string path_;
  std::FILE* out_;
};

// ---- The plot
// --------------------------------------------------------------------------------------------------------

struct Panel {
  const char *name, *colour;
  double most;  // the panel goes as far to both sides
  double (*value)(const Moment&);
};

constexpr std::array<Panel, 3> panels = {
    {{"angle, degrees", blue, 30, [](const Moment& m) { return m.state[1] * 57.29577951308232; }},
     {"place, cm", green, 150, [](const Moment& m) { return m.state[0] * 100; }},
     {"force, N", amber, 20, [](const Moment& m) { return m.force; }}}};

constexpr double left = 64, right = 930, panel_top = 66, panel_height = 110, panel_gap = 22;

void draw_panel(std::FILE* out, const Panel& panel, double top, const Run& run, std::size_t shown) {
  const double middle = top + panel_height / 2, scale = panel_height / 2 / panel.most;
  const double across = (right - left) / static_cast<double>(shown);
  const auto x = [&](std::size_t t) { return left + across * static_cast<double>(t); };
  std::fprintf(out, "<text x=\"%.0f\" y=\"%.0f\" fill=\"" SVG_FAINT "\">%s</text>\n", left, top - 5, panel.name);
  for (const double at : {-1.0, 0.0, 1.0})
    std::fprintf(out,
                 "<path stroke=\"" SVG_GRID
                 "\" d=\"M%.0f %.1fH%.0f\"/><text x=\"%.0f\" y=\"%.1f\" "
                 "text-anchor=\"end\" fill=\"" SVG_FAINT "\">%.0f</text>\n",
                 left, middle - at * panel_height / 2, right, left - 6, middle - at * panel_height / 2 + 5,
                 at * panel.most);
  std::fprintf(out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.4\" d=\"", panel.colour);
  constexpr std::size_t apart = 10;
  for (std::size_t t = 0; t < shown; t += apart)
    std::fprintf(out, "%c%.1f %.1f", t == 0 ? 'M' : 'L', x(t),
                 middle - scale * std::clamp(panel.value(run.moments[t]), -panel.most, panel.most));
  std::fputs("\"/>\n", out);
}

// A bar through all panels for each push, and how strong it was.
void draw_pushes(std::FILE* out, const Run& run, std::size_t shown, double bottom) {
  const double across = (right - left) / static_cast<double>(shown);
  for (std::size_t t = 0; t < shown;) {
    std::size_t end = t + 1;
    while (end < shown && run.moments[end].push == run.moments[t].push) ++end;
    if (run.moments[t].push != 0)
      std::fprintf(out,
                   "<rect x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%.0f\" fill=\"%s\" fill-opacity=\"0.22\"/>"
                   "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\" font-size=\"11\" fill=\"%s\">%+.1f N</text>\n",
                   left + across * static_cast<double>(t), panel_top, across * static_cast<double>(end - t),
                   bottom - panel_top, red, left + across * static_cast<double>(t), bottom + 14, red,
                   run.moments[t].push);
    t = end;
  }
}

// ---- The film
// --------------------------------------------------------------------------------------------------------

constexpr double pixels = 185, rail = 300, ground = 240;  // per metre; the middle of the rail; its height
constexpr std::size_t film_apart = 20, film_longest = 10000;

void draw_motion(std::FILE* out, const char* kind, const Run& run, double (*value)(const Moment&), const char* more) {
  const std::size_t shown = std::min(run.moments.size(), film_longest);
  std::fprintf(
      out,
      "<animateTransform attributeName=\"transform\" type=\"%s\" dur=\"%.2fs\" repeatCount=\"indefinite\" values=\"",
      kind, static_cast<double>(shown) / steps_per_second);
  for (std::size_t t = 0; t < shown; t += film_apart)
    std::fprintf(out, "%s%.1f%s", t == 0 ? "" : ";", value(run.moments[t]), more);
  std::fputs("\"/>\n", out);
}

}  // namespace

void draw_plot(const std::string& path, const Run& run) {
  const std::size_t shown = std::min(run.moments.size(), film_longest);
  constexpr double bottom = panel_top + 3 * panel_height + 2 * panel_gap;
  Page page(path, 960, static_cast<int>(bottom) + 44, "A spiking network keeps the pole up; red: pushes it never saw");
  svg_time_axis(page.out(), static_cast<double>(shown) / steps_per_second, left, right, panel_top, bottom, bottom + 34);
  draw_pushes(page.out(), run, shown, bottom);
  double top = panel_top;
  for (const Panel& panel : panels) {
    draw_panel(page.out(), panel, top, run, shown);
    top += panel_height + panel_gap;
  }
  page.close();
}

void draw_film(const std::string& path, const Run& run) {
  Page page(path, 600, 290, "A spiking network keeps the pole up");
  std::FILE* const out = page.out();
  std::fprintf(
      out, "<path stroke=\"" SVG_FAINT "\" stroke-width=\"3\" d=\"M22 %.0fH578\"/>\n<g transform=\"translate(%.0f)\">",
      ground,
      rail);  // where nothing moves, the cart is in the middle
  draw_motion(
      out, "translate", run, [](const Moment& m) { return rail + pixels * m.state[0]; }, " 0");
  std::fprintf(out, "<rect x=\"-31\" y=\"%.0f\" width=\"62\" height=\"26\" rx=\"4\" fill=\"" SVG_INK "\"/>\n<g>",
               ground - 13);
  std::array<char, 16> pivot{};
  std::snprintf(pivot.data(), pivot.size(), " 0 %.0f", ground);
  draw_motion(
      out, "rotate", run, [](const Moment& m) { return m.state[1] * 57.29577951308232; }, pivot.data());
  const double tip = ground - 0.8 * pixels;
  std::fprintf(out, "<path stroke=\"%s\" stroke-width=\"10\" stroke-linecap=\"round\" d=\"M0 %.0fV%.0f\"/>\n", blue,
               ground, tip);
  // A line that pushes, as long as the push lasts.
  std::fprintf(out, "<path stroke=\"%s\" stroke-width=\"4\" d=\"M0 0\">", red);
  const std::size_t shown = std::min(run.moments.size(), film_longest);
  std::fprintf(out,
               "<animate attributeName=\"d\" calcMode=\"discrete\" dur=\"%.2fs\" repeatCount=\"indefinite\" values=\"",
               static_cast<double>(shown) / steps_per_second);
  for (std::size_t t = 0; t < shown; t += film_apart) {
    const double push = run.moments[t].push;
    if (push == 0)
      std::fprintf(out, "%sM0 0", t == 0 ? "" : ";");
    else
      std::fprintf(out, "%sM%.0f %.0fH%.0f", t == 0 ? "" : ";", push > 0 ? -10.0 : 10.0, tip,
                   (push > 0 ? -20 : 20) - 80 * push);
  }
  std::fputs("\"/></path>\n</g></g>\n", out);
  page.close();
}

void draw_latency(const std::string& path, const Pace& pace) {
  // Columns of 1/8 of a power of two from 4 us to 16 ms; the height is the logarithm of the number.
  constexpr std::size_t columns = 96;
  std::array<double, columns> counts{};
  for (const std::int64_t time : pace.times) {
    const double at = 8 * std::log2(std::max(static_cast<double>(time) * 1e-3, 4.0) / 4);
    counts.at(std::min(columns - 1, static_cast<std::size_t>(at))) += 1;
  }
  Page page(path, 960, 320, "From when a step is due until its force is there");
  std::FILE* const out = page.out();
  constexpr double top = 60, bottom = 270, width = (right - left) / columns;
  for (int power = 0; power <= 5; ++power) {
    const double y = bottom - (bottom - top) * power / 5.0;
    std::fprintf(out,
                 "<path stroke=\"" SVG_GRID
                 "\" d=\"M%.0f %.1fH%.0f\"/><text x=\"%.0f\" y=\"%.1f\" "
                 "text-anchor=\"end\" fill=\"" SVG_FAINT "\">%.0f</text>\n",
                 left, y, right, left - 6, y + 5, std::pow(10, power));
  }
  for (std::size_t i = 0; i < columns; ++i) {
    if (counts.at(i) == 0) continue;
    const double height = (bottom - top) * (std::log10(counts.at(i)) + 0.1) / 5;
    std::fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n",
                 left + width * static_cast<double>(i), bottom - height, width - 1, height, blue);
  }
  for (int octave = 0; octave <= 12; octave += 2) {
    const double us = 4 * std::exp2(octave);
    std::fprintf(out,
                 us < 1000 ? "<text x=\"%.1f\" y=\"290\" text-anchor=\"middle\" fill=\"" SVG_FAINT "\">%.0f us</text>\n"
                           : "<text x=\"%.1f\" y=\"290\" text-anchor=\"middle\" fill=\"" SVG_FAINT
                             "\">%.0f ms</text>\n",
                 left + width * 8 * octave, us < 1000 ? us : us / 1024);
  }
  const double end = left + width * 8 * std::log2(static_cast<double>(period) * 1e-3 / 4);
  std::fprintf(out,
               "<path stroke=\"%s\" stroke-width=\"1.5\" stroke-dasharray=\"5 4\" d=\"M%.1f %.0fV%.0f\"/>"
               "<text x=\"%.1f\" y=\"%.0f\" fill=\"%s\">%zu of %zu late</text>\n",
               red, end, top, bottom, end + 6, top + 12, red, pace.late, pace.steps);
  page.close();
}

}  // namespace balance

// picture.cpp - see picture.hpp.
//
// SPDX-License-Identifier: MIT
#include "picture.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "plots.h"
#include "svg.h"

namespace gestures {
namespace {

constexpr const char* wrong_ink = "#cd2828";

std::FILE* open(const std::string& path, int width, int height, const char* title) {
  std::FILE* const out = svg_open(path.c_str(), width, height, title);
  if (out == nullptr) throw std::runtime_error(path + ": the picture cannot be written");
  return out;
}

void close(std::FILE* out, const std::string& path) {
  if (!svg_close(out, path.c_str())) throw std::runtime_error(path + ": the picture cannot be written");
}

// A pixel in the window around the middle of the motion.
struct Pixel {
  std::size_t last = 0;  // the step of its last event
  std::size_t n_events = 0;
};

std::vector<Pixel> pixels_of(const Film& film) {
  std::vector<Pixel> pixels(side * side);
  const std::uint32_t begin = film.middle - row_microseconds / 2;
  for (const std::uint64_t event : film.events) {
    const std::uint32_t after = static_cast<std::uint32_t>(event) - begin;
    if (after >= row_microseconds) continue;
    Pixel& pixel = pixels.at((event >> 46 & 0x3FFFU) * side + (event >> 32 & 0x3FFFU));
    pixel.last = std::max<std::size_t>(pixel.last, after / step_microseconds);
    ++pixel.n_events;
  }
  return pixels;
}

// One path for each step, of squares, which are small where there was one event only. Units: pixels of the sensor.
void write_film(std::FILE* out, const Film& film) {
  const std::vector<Pixel> pixels = pixels_of(film);
  for (std::size_t step = 0; step < steps; ++step)
    for (const bool alone : {true, false}) {
      bool begun = false;
      for (std::size_t i = 0; i < pixels.size(); ++i) {
        if (pixels[i].n_events == 0 || pixels[i].last != step || (pixels[i].n_events == 1) != alone) continue;
        if (!begun) {
          std::fprintf(out, "<path stroke-width=\"%s\" stroke=\"", alone ? ".4" : "1");
          svg_colour(out, static_cast<double>(step) / (steps - 1));
          std::fputs("\" d=\"", out);
          begun = true;
        }
        if (alone)
          std::fprintf(out, "M%zu.3 %zu.5h.4", i % side, i / side);
        else
          std::fprintf(out, "M%zu %zu.5h1", i % side, i / side);
      }
      if (begun) std::fputs("\"/>\n", out);
    }
}

// A map of numbers, darker where there are more of them, `most` being the darkest. Units: one place.
void write_map(std::FILE* out, const std::uint32_t* map, std::size_t map_side, std::uint32_t most, double x, double y,
               double size) {
  std::fprintf(
      out,
      "<g transform=\"translate(%.1f %.1f) scale(%.4f)\">\n<rect width=\"%zu\" height=\"%zu\" fill=\"#f4f6f9\"/>\n", x,
      y, size / static_cast<double>(map_side), map_side, map_side);
  constexpr std::uint32_t shades = 4;
  for (std::uint32_t shade = 1; shade <= shades; ++shade) {
    bool begun = false;
    for (std::size_t i = 0; i < map_side * map_side; ++i) {
      const std::uint32_t own = std::min(shades, (map[i] * shades + most - 1) / most);
      if (own != shade) continue;
      if (!begun) std::fprintf(out, "<path stroke=\"#1d62d6\" stroke-opacity=\"%.2f\" d=\"", 0.25 * shade);
      begun = true;
      std::fprintf(out, "M%zu %zu.5h1", i % map_side, i / map_side);
    }
    if (begun) std::fputs("\"/>\n", out);
  }
  std::fputs("</g>\n", out);
}

// A layer's maps, one for each step.
void write_layer(std::FILE* out, const std::vector<std::uint32_t>& maps, std::size_t map_side, const char* name,
                 double left, double top, double size, double pitch) {
  const std::uint32_t most = std::max(1U, *std::max_element(maps.begin(), maps.end()));
  std::fprintf(out, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%s</text>\n", left - 12, top + size / 2 + 5, name);
  for (std::size_t t = 0; t < steps; ++t)
    write_map(out, &maps[t * map_side * map_side], map_side, most, left + pitch * static_cast<double>(t), top, size);
}

}  // namespace

Confusion confuse(const std::vector<Film>& films, const std::vector<std::uint32_t>& named) {
  Confusion counts{};
  for (std::size_t i = 0; i < films.size(); ++i) ++counts.at(films[i].scene.motion).at(named.at(i));
  return counts;
}

void draw_events(const std::string& path, const std::vector<Film>& films, const std::vector<std::uint32_t>& named) {
  constexpr int width = 1200, height = 600, left = 40, top = 74, panel = 200, pitch_x = 230, pitch_y = 252;
  std::FILE* const out = open(path, width, height, "Gestures before an event camera, and what the network names");
  plots_heading(out, left, "Named by spiking neurons, from events alone");
  // The colours of the time.
  for (std::size_t step = 0; step < steps; ++step) {
    std::fprintf(out, "<rect x=\"%zu\" y=\"22\" width=\"9\" height=\"14\" fill=\"", 938 + 9 * step);
    svg_colour(out, static_cast<double>(step) / (steps - 1));
    std::fputs("\"/>\n", out);
  }
  std::fprintf(out, "<text x=\"930\" y=\"35\" text-anchor=\"end\" fill=\"" SVG_FAINT
                    "\">last event of a pixel, from 0</text>\n<text x=\"1090\" y=\"35\" fill=\"" SVG_FAINT
                    "\">to 0.32 s</text>\n");
  for (std::size_t motion = 0; motion < names.size(); ++motion) {
    // Films of all motions take turns; these are from the middle.
    const std::size_t number = films.size() / names.size() / 2 * names.size() + motion;
    const Film& film = films.at(number);
    const int x = left + pitch_x * static_cast<int>(motion / 2), y = top + pitch_y * static_cast<int>(motion % 2);
    std::fprintf(
        out, "<g transform=\"translate(%d %d) scale(%.4f)\">\n<rect width=\"%zu\" height=\"%zu\" fill=\"#f4f6f9\"/>\n",
        x, y, static_cast<double>(panel) / static_cast<double>(side), side, side);
    write_film(out, film);
    std::fprintf(
        out, "</g>\n<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" font-size=\"18\" font-weight=\"600\" fill=\"%s\">",
        x + panel / 2, y + panel + 24, named.at(number) == film.scene.motion ? SVG_INK : wrong_ink);
    svg_text(out, names.at(named[number]));
    std::fputs("</text>\n", out);
  }
  close(out, path);
}

void draw_spikes(const std::string& path, const Film& film, const Inside& inside) {
  constexpr int width = 1200, height = 560, left = 110, right = 1190;
  constexpr double pitch = static_cast<double>(right - left) / steps, size = pitch - 6;
  std::FILE* const out = open(path, width, height, "The spikes of the network, step by step");
  plots_heading(out, left, "What the network does while it sees a gesture");
  std::fprintf(out,
               "<text x=\"%d\" y=\"36\" text-anchor=\"end\" fill=\"" SVG_FAINT
               "\">%s; a column is a step of 20 ms</text>\n",
               right, names.at(film.scene.motion));
  write_layer(out, inside.events, view, "events", left, 60, size, pitch);
  write_layer(out, inside.edges, edges_side, "edges", left, 60 + pitch, size, pitch);
  write_layer(out, inside.motions, motions_side, "motions", left, 60 + 2 * pitch, size, pitch);
  // The potentials.
  constexpr double top = 60 + 3 * pitch + 10, bottom = height - 30;
  const auto [low, high] = std::minmax_element(inside.potentials.begin(), inside.potentials.end());
  const double range = std::max(1e-9, static_cast<double>(*high) - static_cast<double>(*low));
  std::fprintf(out, "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">potentials</text>\n", left - 12, (top + bottom) / 2);
  const float* const last = &inside.potentials[(steps - 1) * names.size()];
  const std::size_t best = static_cast<std::size_t>(std::max_element(last, last + names.size()) - last);
  for (std::size_t c = 0; c < names.size(); ++c) {
    std::fprintf(out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%d\" d=\"", c == best ? "#1d62d6" : "#b8c0cc",
                 c == best ? 3 : 1);
    for (std::size_t t = 0; t < steps; ++t)
      std::fprintf(
          out, "%c%.1f %.1f", t == 0 ? 'M' : 'L', left + pitch * (static_cast<double>(t) + 0.5),
          bottom - (bottom - top) *
                       (static_cast<double>(inside.potentials[t * names.size() + c]) - static_cast<double>(*low)) /
                       range);
    std::fputs("\"/>\n", out);
  }
  std::fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\" font-weight=\"600\" fill=\"#1d62d6\">%s</text>\n",
               right, height - 8, names.at(best));
  close(out, path);
}

void draw_confusion(const std::string& path, const Confusion& counts) {
  std::vector<std::size_t> all;
  for (const auto& row : counts) all.insert(all.end(), row.begin(), row.end());
  if (!plots_confusion(path.c_str(), "Which gestures are taken for which", "rows: what the hand did; columns: the name",
                       names.data(), names.size(), all.data()))
    throw std::runtime_error(path + ": the picture cannot be written");
}

}  // namespace gestures

// picture.cpp - see picture.hpp.
//
// SPDX-License-Identifier: MIT
#include "picture.hpp"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "body.hpp"
#include "svg.h"

namespace robot {
namespace {

// The page, in pixels: columns of drives, each with a line of text above it.
constexpr int columns = 5, side = 224, gap = 14, text = 26, top = 52;
constexpr const char *blue = "#1d62d6", *red = "#cd2828", *green = "#09867e";

// From metres to pixels, y upwards.
struct Frame {
  double left, low, scale, x, y;

  double across(Vector place) const { return x + scale * (place.x - left); }
  double down(Vector place) const { return y + side - scale * (place.y - low); }
};

Frame frame_of(const Rooms& rooms, double x, double y) {
  Vector least = rooms.start, most = rooms.start;
  const auto reach = [&](Vector place) {
    least = {std::min(least.x, place.x), std::min(least.y, place.y)};
    most = {std::max(most.x, place.x), std::max(most.y, place.y)};
  };
  for (const Wall& wall : rooms.walls) {
    reach(wall.from);
    reach(wall.to);
  }
  reach(rooms.doors.back().middle + rooms.doors.back().out);  // where it arrives
  const double scale = side / std::max(most.x - least.x, most.y - least.y);
  const Vector spare = {0.5 * (side / scale - (most.x - least.x)), 0.5 * (side / scale - (most.y - least.y))};
  return {least.x - spare.x, least.y - spare.y, scale, x, y};
}

void draw_drive(std::FILE* out, const Drive& drive, const Frame& frame) {
  std::fputs("<path fill=\"none\" stroke=\"" SVG_INK "\" stroke-width=\"2.5\" stroke-linecap=\"square\" d=\"", out);
  for (const Wall& wall : drive.rooms.walls)
    std::fprintf(out, "M%.1f %.1fL%.1f %.1f", frame.across(wall.from), frame.down(wall.from), frame.across(wall.to),
                 frame.down(wall.to));
  // As wide as the robot, and the way of its middle in it.
  for (const bool wide : {true, false}) {
    std::fprintf(out,
                 "\"/>\n<path fill=\"none\" stroke=\"%s\" stroke-width=\"%.1f\" stroke-opacity=\"%s\" "
                 "stroke-linejoin=\"round\" stroke-linecap=\"round\" d=\"",
                 blue, wide ? 2 * radius * frame.scale : 1.5, wide ? "0.18" : "1");
    char letter = 'M';
    for (const Vector& place : drive.path) {
      std::fprintf(out, "%c%.1f %.1f", letter, frame.across(place), frame.down(place));
      letter = 'L';
    }
  }
  std::fputs("\"/>\n", out);
  for (const bool first : {true, false}) {
    const Vector place = first ? drive.path.front() : drive.path.back();
    std::fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\"/>\n", frame.across(place),
                 frame.down(place), radius * frame.scale, first ? SVG_FAINT : (drive.arrived ? green : red));
  }
}

}  // namespace

void draw_paths(const std::string& path, const std::vector<Drive>& drives, std::uint64_t first_seed) {
  const int rows = static_cast<int>((drives.size() + columns - 1) / columns);
  std::FILE* const out = svg_open(path.c_str(), columns * (side + gap) + gap, top + rows * (side + text + gap),
                                  "Drives of a spiking network through rooms that it has never seen");
  if (out == nullptr) throw std::runtime_error(path + ": the picture cannot be written");
  std::fprintf(
      out,
      "<text x=\"%d\" y=\"32\" font-size=\"21\" font-weight=\"600\">A spiking network drives through rooms that "
      "it has never seen</text>\n",
      gap);
  for (std::size_t i = 0; i < drives.size(); ++i) {
    const int x = gap + static_cast<int>(i % columns) * (side + gap),
              y = top + static_cast<int>(i / columns) * (side + text + gap);
    const Drive& drive = drives[i];
    std::fprintf(out, "<text x=\"%d\" y=\"%d\" fill=\"" SVG_FAINT "\">%" PRIu64 ": %s %.1f s</text>\n", x, y + 16,
                 first_seed + i,
                 drive.arrived ? "arrived after" : (drive.touched ? "touched a wall after" : "gone for"),
                 drive.seconds);
    draw_drive(out, drive, frame_of(drive.rooms, x, y + text));
  }
  if (!svg_close(out, path.c_str())) throw std::runtime_error(path + ": the picture cannot be written");
}

}  // namespace robot

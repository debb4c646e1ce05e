// svg.cpp - what the pictures share.
//
// SPDX-License-Identifier: MIT
#include "svg.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace synfire_bench::svg {

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
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

std::string fixed(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string color_of(std::size_t index, std::size_t count) {
  constexpr std::array<std::array<double, 3>, 5> stops = {
      {{178, 190, 40}, {76, 175, 90}, {32, 140, 141}, {52, 94, 150}, {60, 20, 90}}};
  const double at = count < 2 ? 4.0 : 4.0 * static_cast<double>(index) / static_cast<double>(count - 1);
  const auto below = std::min<std::size_t>(static_cast<std::size_t>(at), 3);
  const double part = at - static_cast<double>(below);
  char text[16];
  int rgb[3];
  for (std::size_t c = 0; c < 3; ++c)
    rgb[c] = static_cast<int>(stops[below][c] + (stops[below + 1][c] - stops[below][c]) * part);
  std::snprintf(text, sizeof text, "#%02x%02x%02x", static_cast<unsigned>(rgb[0]), static_cast<unsigned>(rgb[1]),
                static_cast<unsigned>(rgb[2]));
  return text;
}

void begin(std::ostream& out, double width, double height) {
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << fixed(width) << " " << fixed(height)
      << "\" width=\"" << fixed(width) << "\" height=\"" << fixed(height)
      << "\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" "
      << "fill=\"#333333\">\n"
      << "<style>.title{font-size:16px;font-weight:bold}.sub{fill:#666666}.panel{font-weight:bold;font-size:13px}"
      << ".middle{text-anchor:middle}.end{text-anchor:end}.grid{stroke:#e4e4e4}.axis{stroke:#666666}"
      << ".copy{stroke:#666666;stroke-dasharray:5 4}</style>\n"
      << "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
}

void end(std::ostream& out) {
  out << "</svg>\n";
}

void write_file(const std::string& path, const std::string& picture) {
  std::ofstream file(path, std::ios::binary);
  file << picture;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

}  // namespace synfire_bench::svg

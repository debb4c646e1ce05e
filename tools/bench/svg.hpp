// svg.hpp - what the pictures of synfire-bench share: texts and numbers in SVG, the frame, the colours.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_SVG_HPP
#define SYNFIRE_TOOLS_BENCH_SVG_HPP

#include <cstddef>
#include <ostream>
#include <string>

namespace synfire_bench::svg {

/// Text with XML's reserved characters escaped.
std::string escaped(const std::string& text);

/// A coordinate with one digit after the point.
std::string fixed(double value);

/// The `index`th of `count` colours from yellow-green to dark blue. They form an order and also differ in lightness.
std::string color_of(std::size_t index, std::size_t count);

/// Opens a picture: its size, the classes title, sub, panel, middle, end, grid, axis and copy, a white background.
void begin(std::ostream& out, double width, double height);
void end(std::ostream& out);

/// Writes a whole picture. Throws std::runtime_error if that fails.
void write_file(const std::string& path, const std::string& picture);

}  // namespace synfire_bench::svg

#endif

// svg.hpp - what the pictures of synfire-bench share: how texts and numbers are written into SVG, its frame, its
// colours.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_SVG_HPP
#define SYNFIRE_TOOLS_BENCH_SVG_HPP

#include <cstddef>
#include <ostream>
#include <string>

namespace synfire_bench::svg {

/// Text as XML wants it.
std::string escaped(const std::string& text);

/// A coordinate, one digit after the point.
std::string fixed(double value);

/// The `index`th of `count` colours from yellow-green to dark blue: they are an order, and differ in lightness too.
std::string color_of(std::size_t index, std::size_t count);

/// Opens a picture: its size, the classes title, sub, panel, middle, end, grid, axis and copy, a white ground.
void begin(std::ostream& out, double width, double height);
void end(std::ostream& out);

/// Writes a whole picture; throws std::runtime_error when that fails.
void write_file(const std::string& path, const std::string& picture);

}  // namespace synfire_bench::svg

#endif

// binner.hpp - events as spikes, as the network reads them: [T, B, H, W, 2], by synfire_bin_events() in a graph.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <synfire/synfire.hpp>
#include <vector>

#include "film.hpp"

namespace gestures {

/// Rows and columns that the network sees of the sensor's.
inline constexpr std::size_t view = 20, row_elements = view * view * 2, row_words = row_elements / 32;

/// A window of a film: where its first step begins, which may be negative, and how long a step is.
struct Row {
  const Film* film;
  std::int32_t start;
  std::uint32_t ticks;
};

/// The window around the middle of the motion.
Row middle_of(const Film& film);

class Binner {
 public:
  /// For rows of at most `capacity` events. With `moves`, what is seen of the sensor is drawn anew for each row.
  Binner(const synfire::Context& context, std::size_t batch, std::size_t capacity, bool moves, std::uint64_t seed);

  /// Writes the spikes [R, T, row_words] of the rows.
  void bin(const std::vector<Row>& rows, std::uint32_t* spikes);

 private:
  std::size_t batch_, capacity_;
  synfire::Buffer events_, event_counts_, window_, spikes_, faults_;
  synfire::Graph graph_;
};

}  // namespace gestures

// namer.hpp - names what a camera has seen in the last 320 ms, whenever it is asked: events in, a name out.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <synfire/synfire.hpp>

#include "binner.hpp"
#include "film.hpp"

namespace gestures {

class Namer {
 public:
  /// With the network of a file.
  Namer(const synfire::Context& context, const std::string& file);

  /// An event. Of more than `capacity` events in 320 ms, the newest are seen.
  void see(std::uint64_t event);

  /// The name of what was seen in the 320 ms until now, in microseconds. Asked each millisecond, it is that of the
  /// largest score, where a score is a mean of what the network said in the last milliseconds.
  Motion name(std::uint32_t now);

  const std::array<float, names.size()>& scores() const { return scores_; }

 private:
  // The network sees the row that ends now.
  void replay(std::uint32_t now);

  static constexpr std::uint32_t capacity = 4096;
  synfire::Network network_;
  synfire::Buffer input_, output_, events_, event_counts_, window_, faults_;
  synfire::Graph binning_, inference_;
  std::uint32_t seen_ = 0;
  std::array<float, names.size()> scores_{};
};

/// Saves the network of a file for one row, without what only training needs, as a namer reads it.
void save_namer(const synfire::Context& context, const std::string& file, const std::string& smaller);

}  // namespace gestures

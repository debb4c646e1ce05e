// progress.hpp - how far the program is: a bar on a terminal, a line every five seconds elsewhere.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace learning {

class Progress {
 public:
  Progress(std::string what, std::size_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// One more part is done; `note` is shown after the bar.
  void advance(const std::string& note);

  /// Clears the bar's line for other output; the next part draws it again.
  void clear();

 private:
  std::string what_;
  std::size_t total_, done_ = 0;
  bool watched_;
  std::int64_t next_;
};

}  // namespace learning

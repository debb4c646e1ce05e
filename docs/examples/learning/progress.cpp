// progress.cpp - see progress.hpp.
//
// SPDX-License-Identifier: MIT
#include "progress.hpp"

#include <cstdio>
#include <utility>

#include "clock.h"
#include "message.h"
#include "terminal.h"

namespace learning {
namespace {

constexpr std::int64_t terminal_period = 100'000'000, log_period = 5'000'000'000;  // nanoseconds
constexpr std::size_t bar_width = 32;

}  // namespace

Progress::Progress(std::string what, std::size_t total)
    : what_(std::move(what)),
      total_(total),
      watched_(terminal_is_watched()),
      next_(clock_now() + (watched_ ? 0 : log_period)) {}

Progress::~Progress() {
  clear();
}

void Progress::clear() {
  if (!watched_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  next_ = 0;
}

void Progress::advance(const std::string& note) {
  ++done_;
  const std::int64_t now = clock_now();
  if (now < next_) return;
  next_ = now + (watched_ ? terminal_period : log_period);
  if (!watched_) {
    complain("%s, %zu of %zu  %s", what_.c_str(), done_, total_, note.c_str());
    return;
  }
  std::fprintf(stderr, "\r\033[K%s  |", what_.c_str());
  for (std::size_t i = 0; i < bar_width; ++i) std::fputc(i * total_ < done_ * bar_width ? '#' : ' ', stderr);
  std::fprintf(stderr, "|  %zu of %zu  %s", done_, total_, note.c_str());
  std::fflush(stderr);
}

}  // namespace learning

#include "read_ahead.hpp"

#include <platform/float_environment.hpp>
#include <platform/fork.hpp>
#include <platform/word_wait.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

namespace synfire::network {

using namespace synfire::core;

ReadAhead::ReadAhead(BlockSource& source, uint32_t n_windows, uint32_t window_blocks, uint32_t n_threads)
    : source_(source),
      n_windows_(n_windows),
      window_blocks_(window_blocks),
      process_(fork_generation()),
      charge_(Charge::current()),
      places_(new Place[size_t{n_windows} * window_blocks]),
      threads_(new WorkerThread[n_threads]) {
  while (n_started_ < n_threads && threads_[n_started_].start(work, this, static_cast<int>(n_started_))) ++n_started_;
}

ReadAhead::~ReadAhead() {
  if (is_from_before_fork()) {
    for (uint32_t i = 0; i < n_started_; ++i) threads_[i].forget();
    return;
  }
  {
    const EnteredScope lock(mutex_);
    ending_ = true;
  }
  work_.fetch_add(1, std::memory_order_release);
  wake_all(work_);
  for (uint32_t i = 0; i < n_started_; ++i) threads_[i].join();
}

bool ReadAhead::is_from_before_fork() const noexcept {
  return process_ != fork_generation();
}

void ReadAhead::change_end(uint64_t end) {
  end_ = end;
  {
    const std::lock_guard lock(mutex_);
    claimed_end_ = end;
  }
  work_.fetch_add(1, std::memory_order_release);
  wake_all(work_);
}

void ReadAhead::stop() {
  for (;;) {
    const uint32_t seen = progress_.load(std::memory_order_acquire);
    {
      const std::lock_guard lock(mutex_);
      claimed_end_ = next_.window;  // no thread begins with another block
      if (n_reading_ == 0) return;
    }
    wait_while(progress_, seen);
  }
}

void ReadAhead::begin(uint64_t window) {
  stop();
  for (size_t i = 0; i < size_t{n_windows_} * window_blocks_; ++i) {
    places_[i].holds.store(0, std::memory_order_relaxed);
    places_[i].failure = nullptr;
  }
  {
    const std::lock_guard lock(mutex_);
    next_ = {window, 0};
  }
  change_end(window + n_windows_);
}

void ReadAhead::release_before(uint64_t window) {
  if (window + n_windows_ > end_) change_end(window + n_windows_);
}

bool ReadAhead::claim(BlockNumber& number) noexcept {
  if (next_.window == claimed_end_) return false;
  number = next_;
  if (++next_.block == source_.blocks_of(next_.window)) next_ = {next_.window + 1, 0};
  ++n_reading_;
  return true;
}

void ReadAhead::read(const BlockNumber& number) noexcept {
  Place& place = places_[place_of(number)];
  place.failure = nullptr;  // of an earlier block that nobody needed
  try {
    source_.read(number);
  } catch (...) {
    place.failure = std::current_exception();
  }
  place.holds.store(number.window + 1, std::memory_order_release);
  {
    const EnteredScope lock(mutex_);
    --n_reading_;
  }
  progress_.fetch_add(1, std::memory_order_release);
  wake_all(progress_);
}

void ReadAhead::work(void* self) {
  auto& ahead = *static_cast<ReadAhead*>(self);
  const Charging charging(ahead.charge_);
  const FloatEnvironment ieee;
  for (;;) {
    const uint32_t seen = ahead.work_.load(std::memory_order_acquire);
    BlockNumber number = {};
    bool has_block = false;
    {
      const EnteredScope lock(ahead.mutex_);
      if (ahead.ending_) return;
      has_block = ahead.claim(number);
    }
    if (has_block)
      ahead.read(number);
    else
      wait_while(ahead.work_, seen);
  }
}

void ReadAhead::finish(const BlockNumber& number) {
  const Place& place = places_[place_of(number)];
  for (;;) {
    const uint32_t seen = progress_.load(std::memory_order_acquire);
    if (place.holds.load(std::memory_order_acquire) == number.window + 1) break;
    BlockNumber next = {};
    bool has_block = false;
    if (n_started_ == 0) {
      const std::lock_guard lock(mutex_);
      has_block = claim(next);
    }
    if (has_block)
      read(next);
    else
      wait_while(progress_, seen);
  }
}

void ReadAhead::wait(const BlockNumber& number) {
  finish(number);
  const Place& place = places_[place_of(number)];
  if (place.failure) std::rethrow_exception(place.failure);
}

}  // namespace synfire::network

#include "replayed.hpp"

#include "error.hpp"

#include <mutex>

namespace synfire::core {

void Replayed::fail_entered() const {
  fail(SYNFIRE_ERROR_WRONG_ORDER, name_.rule,
       "another thread runs a replay of another graph that uses a %s of this one, so that their order is not defined; "
       "launch both on one thread, or wait until the other launch has returned",
       name_.noun);
}

void Replayed::add_replayer(Replayer& replayer) {
  const std::lock_guard lock(replayers_mutex_);
  replayers_.push_back(&replayer);
}

void Replayed::remove_replayer(Replayer& replayer) noexcept {
  // If the lock is abandoned after a fork, nobody reads the list again.
  if (const EnteredScope scope(replayers_mutex_); scope) std::erase(replayers_, &replayer);
}

void Replayed::move_to(const Replayer* replayer, StreamId stream) {
  static constexpr int nowhere = 0;  // a launch that starts meanwhile takes the lock
  const std::lock_guard lock(replayers_mutex_);
  const StreamId before = stream_.load(std::memory_order_relaxed);
  if (before == stream) return;
  stream_.store(&nowhere, std::memory_order_seq_cst);
  for (const Replayer* const other : replayers_) {
    const StreamId launching = other == replayer ? nullptr : other->launching_on();
    if ((!launching || launching == stream) && other->finished() >= other->launched()) continue;
    stream_.store(before, std::memory_order_seq_cst);
    fail(SYNFIRE_ERROR_WRONG_ORDER, name_.rule,
         "another graph that uses a %s of this one has a replay in flight on another stream, so that their order is "
         "not defined; launch both on one stream, or wait for the other one first",
         name_.noun);
  }
  stream_.store(stream, std::memory_order_seq_cst);
}

void Replayed::wait_for_replays() {
  const std::lock_guard lock(replayers_mutex_);
  for (Replayer* const replayer : replayers_) replayer->finish();
}

}  // namespace synfire::core

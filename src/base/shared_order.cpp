#include "shared_order.hpp"

#include "error.hpp"
#include "wait_until.hpp"

namespace synfire::core {

void Replayer::finish() {
  const uint64_t last = launched();
  wait_until([&] { return finished() >= last; }, [&] { check_alive(); });
}

void SharedOrder::add(Replayer& replayer, bool writes) {
  const std::lock_guard lock(mutex_);
  entries_.push_back({&replayer, writes});
}

void SharedOrder::remove(Replayer& replayer) noexcept {
  // If the lock is abandoned after a fork, nobody reads the list again.
  if (const EnteredScope scope(mutex_); scope)
    std::erase_if(entries_, [&](const Entry& entry) { return entry.replayer == &replayer; });
}

void SharedOrder::move(const Replayer* replayer, StreamId stream, bool writes) {
  const std::lock_guard lock(mutex_);
  const StreamId readers = readers_.load(std::memory_order_relaxed), writer = writer_.load(std::memory_order_relaxed);
  readers_.store(&nowhere_, std::memory_order_seq_cst);  // a launch that starts meanwhile takes the lock
  writer_.store(&nowhere_, std::memory_order_seq_cst);
  bool written = writes;
  for (const Entry& other : entries_) {
    if (other.replayer == replayer) continue;
    const bool in_flight = other.replayer->finished() < other.replayer->launched();
    const StreamId launching = other.replayer->launching_on();
    const bool elsewhere = (launching && launching != stream) || (in_flight && other.replayer->last_stream() != stream);
    if (elsewhere && (writes || other.writes)) {
      readers_.store(readers, std::memory_order_seq_cst);
      writer_.store(writer, std::memory_order_seq_cst);
      fail(
          SYNFIRE_ERROR_WRONG_ORDER, name_.rule,
          "a graph on another stream has a replay in flight that uses %s of this one, and one of the two writes it, so "
          "that their order is not defined; launch both on one stream, or wait for the other one first",
          name_.noun);
    }
    if (other.writes && (in_flight || launching)) written = true;
  }
  const bool shared = !writes && readers != stream && readers != &none_;
  writer_.store(written ? stream : &none_, std::memory_order_seq_cst);
  readers_.store(shared ? &many_ : stream, std::memory_order_seq_cst);
}

void SharedOrder::fail_entered() const {
  fail(SYNFIRE_ERROR_WRONG_ORDER, name_.rule,
       "another thread runs a replay of another graph that uses %s of this one, and one of the two writes it, so that "
       "their order is not defined; launch both on one thread, or wait until the other launch has returned",
       name_.noun);
}

bool SharedOrder::enter(bool writes) noexcept {
  const void* const here = this_thread();
  if (owner_.load(std::memory_order_relaxed) == here) {
    ++depth_;
    return true;
  }
  int64_t inside = 0;
  if (writes) {
    if (!inside_.compare_exchange_strong(inside, -1, std::memory_order_acquire, std::memory_order_relaxed))
      return false;
    owner_.store(here, std::memory_order_relaxed);
    depth_ = 1;
    return true;
  }
  while (inside >= 0)
    if (inside_.compare_exchange_weak(inside, inside + 1, std::memory_order_acquire, std::memory_order_relaxed))
      return true;
  return false;
}

void SharedOrder::leave() noexcept {
  if (owner_.load(std::memory_order_relaxed) != this_thread()) {
    inside_.fetch_sub(1, std::memory_order_release);
    return;
  }
  if (--depth_ > 0) return;
  owner_.store(nullptr, std::memory_order_relaxed);
  inside_.store(0, std::memory_order_release);
}

void SharedOrder::wait() {
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) entry.replayer->finish();
}

bool SharedOrder::is_used(bool writes) const {
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_)
    if (!writes || entry.writes) return true;
  return false;
}

}  // namespace synfire::core

// Launching and waiting, which allocate nothing and lock only to refuse a call, and slot memory for the host. Functions
// on the path of a launch, here and in other files, are marked hot, so that the linker places them together.
#include "graph.hpp"

#include <base/error.hpp>

#include <algorithm>
#include <chrono>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace synfire::core {

// ---- launching ------------------------------------------------------------------------------------------------------

inline void Graph::count_writes() const noexcept {
  for (const CountedWrite& counted : counted_) counted.add();
}

void Graph::before(uint32_t operation) {
  for (TapeKeeper& keeper : keepers_) keeper.before(operation);
}

// Brings changes since the last launch to the device, in stream order.
void Graph::refresh(synfire_stream stream) {
  for (const Ref<Replayed>& object : replayed_) object->refresh(stream);
  values_.refresh(stream);
}

// Called before work that the caller captures. The capture must not contain this update, because every replay of it
// would write the current values. It goes to the context's own stream, which is not ordered with replays in flight on
// other streams.
void Graph::refresh_for_capture() {
  for (const Ref<Replayed>& object : replayed_) object->settle();
  if (values_.has_changed()) finish();
  refresh(nullptr);
  device().synchronize();
}

namespace {

// Enters the objects of a replay that runs on the launching thread, so that no other thread runs or writes one of them.
class Entered {
 public:
  Entered(std::span<const Ref<Replayed>> replayed, std::span<const UsedObject> shared)
      : replayed_(replayed), shared_(shared) {
    for (; n_entered_ < replayed_.size(); ++n_entered_)
      if (const Ref<Replayed>& object = replayed_[n_entered_]; !object->enter())
        give_up([&] { object->fail_entered(); });
    for (; n_shared_ < shared_.size(); ++n_shared_)
      if (const UsedObject& used = shared_[n_shared_]; !used.object->order().enter(used.written))
        give_up([&] { used.object->order().fail_entered(); });
  }
  ~Entered() { leave(); }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  void give_up(FunctionRef<void()> report) {
    leave();
    report();
  }
  void leave() noexcept {
    for (; n_shared_ > 0; --n_shared_) shared_[n_shared_ - 1].object->order().leave();
    for (; n_entered_ > 0; --n_entered_) replayed_[n_entered_ - 1]->leave();
  }

  std::span<const Ref<Replayed>> replayed_;
  std::span<const UsedObject> shared_;
  size_t n_entered_ = 0, n_shared_ = 0;
};

}  // namespace

void Graph::check_idle() const {
  if (replay_->finished() < launched_.load(std::memory_order_relaxed))
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-GRAPH-STREAM",
         "a replay of this graph is in flight on another stream, so that the order of the two is not defined; launch "
         "both on one stream, or wait for ticket %llu first",
         static_cast<unsigned long long>(launched_.load(std::memory_order_relaxed)));
}

void Graph::check_produced() const {
  const PassedOn::Missing* const missing = passed_on_.missing();
  if (!missing) return;
  const std::string producer = missing->writer ? std::string("operation ") + std::to_string(*missing->writer) +
                                                     ", which writes it, is disabled; enable both or neither"
                                               : "no operation before it writes it";
  fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-TRANSIENT-DISABLED", "operation %u reads a transient buffer, and %s",
       missing->reader, producer.c_str());
}

void Graph::check_slot(uint64_t ticket) const {
  if (ticket <= most_in_flight_ || replay_->finished() + most_in_flight_ >= ticket) return;
  replay_->check();  // nobody needs to wait for a lost device
  fail(SYNFIRE_ERROR_BUSY, "SYN-GRAPH-SLOTS",
       "every slot of the pinned buffers (desc.n_slots: %u) is in flight; wait for ticket %llu first", most_in_flight_,
       static_cast<unsigned long long>(ticket - most_in_flight_));
}

[[gnu::hot]] Launched Graph::launch(synfire_stream stream, StreamId where) {
  check_instantiated();
  return on_host_ ? launch_entered(stream, where) : launch_checked(stream, where);
}

Launched Graph::launch_entered(synfire_stream stream, StreamId where) {
  const Entered entered(replayed_, shared_);
  return launch_checked(stream, where);
}

// Rare work is in functions of its own, so that a launch runs through few cache lines of code.
[[gnu::hot]] Launched Graph::launch_checked(synfire_stream stream, StreamId where) {
  const bool captured = stream && replay_->is_capturing(stream);
  const bool moved = where != last_stream();
  // Asked once per stream. If a stream of another device later has the same address, a replay still runs on its own
  // device, in the order of that stream.
  if (moved || captured || looks_closer_) [[unlikely]] {
    device().check_stream(stream);
    check_produced();
  }
  for (const TapeKeeper& keeper : keepers_)
    if (keeper.checks()) keeper.check();
  if (captured) [[unlikely]] {
    launch_captured(stream);
    return {0, true};
  }
  const uint64_t ticket = launched_.load(std::memory_order_relaxed) + 1;
  if (most_in_flight_ > 0) check_slot(ticket);
  const int64_t stamp = statistics_.stamp();
  if (moved) [[unlikely]]
    check_idle();
  bool changed = values_.has_changed();
  for (const Ref<Replayed>& object : replayed_) {
    object->order_on(this, where);
    changed |= object->has_changed();
  }
  for (const UsedObject& used : shared_) used.object->order().use_on(this, where, used.written);
  last_stream_.store(where, std::memory_order_relaxed);
  if (changed) [[unlikely]]
    refresh(stream);
  Launching(*this, keepers_.first(), stream, slot_of(ticket), false).run();
  statistics_.launched(ticket, stamp);
  launched_.store(ticket, std::memory_order_release);
  return {ticket, false};
}

void Graph::launch_captured(synfire_stream stream) {
  refresh_for_capture();
  Launching(*this, keepers_.first(), stream, 0, true).run();
}

// Counts its writes. If it fails, it may have run in part and written its outputs.
inline void Graph::replay(synfire_stream stream, uint32_t slot, bool captured) {
  if (captured) [[unlikely]] {
    replay_->launch_captured(stream, slot);
    return count_writes();
  }
  try {
    replay_->launch(stream, slot);
  } catch (...) {
    count_writes();
    throw;
  }
  count_writes();
}

[[gnu::hot]] void Launching::run() {
  if (TapeKeeper* const keeper = next_) {
    next_ = keeper->next_.get();
    return keeper->launch(*this);
  }
  graph_.replay(stream_, slot_, captured_);
}

// ---- waiting --------------------------------------------------------------------------------------------------------

namespace {

void pause_processor() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

constexpr int64_t first_check_ns = 1'000'000;       // while spinning, and for those who only poll
constexpr int64_t first_sleepy_check_ns = 700'000;  // other policies wake up late
constexpr int64_t check_interval_ns = 500'000;      // so that a fault after the first look is found within 1 ms too

}  // namespace

synfire_status Graph::wait(uint64_t ticket, WaitPolicy policy, int64_t timeout_ns) {
  check_instantiated();
  const uint64_t launched = launched_.load(std::memory_order_acquire);
  if (ticket == 0 || ticket > launched)
    fail_argument("SYN-GRAPH-TICKET", "ticket is %llu; this graph handed out 1 to %llu",
                  static_cast<unsigned long long>(ticket), static_cast<unsigned long long>(launched));
  const auto done = [&] {
    if (replay_->finished() < ticket) return false;
    statistics_.seen_done(ticket, launched_.load(std::memory_order_relaxed));
    return true;
  };
  if (done()) return SYNFIRE_OK;
  const int64_t start = now_ns();
  if (timeout_ns == 0) {
    // A program that only polls must learn of a lost device too.
    int64_t last = last_check_ns_.load(std::memory_order_relaxed);
    if (std::min(start - last, statistics_.ns_since_launch(ticket)) >= first_check_ns &&
        last_check_ns_.compare_exchange_strong(last, start, std::memory_order_relaxed))
      replay_->check();
    return SYNFIRE_PENDING;
  }
  int64_t next_check = start + (policy == WaitPolicy::spin ? first_check_ns : first_sleepy_check_ns);
  const int64_t deadline = timeout_ns < 0 || timeout_ns > INT64_MAX - start ? INT64_MAX : start + timeout_ns;
  for (;;) {
    for (int i = 0; i < 32; ++i) {
      if (done()) return SYNFIRE_OK;
      if (policy == WaitPolicy::spin) pause_processor();
    }
    const int64_t now = now_ns();
    if (now >= deadline) {
      if (done()) return SYNFIRE_OK;
      replay_->check();  // a failed replay is reported as such, never as late
      statistics_.late();
      return SYNFIRE_PENDING;
    }
    if (now >= next_check) {
      replay_->check();
      next_check = now + check_interval_ns;
    }
    if (policy == WaitPolicy::yield) std::this_thread::yield();
    // Sleeping no longer than the replay has taken so far at most doubles the latency.
    if (policy == WaitPolicy::block) {
      const int64_t nap = std::clamp<int64_t>((now - start) / 4, 20'000, 500'000);
      std::this_thread::sleep_for(std::chrono::nanoseconds(std::min({nap, next_check - now, deadline - now})));
    }
  }
}

// ---- slots ----------------------------------------------------------------------------------------------------------

SlotMemory Graph::slot_memory(uint64_t ticket, const Buffer& buffer) {
  check_instantiated();
  const uint64_t launched = launched_.load(std::memory_order_acquire), n = slot_count();
  if (ticket > launched)
    fail_argument("SYN-GRAPH-TICKET", "ticket is %llu; this graph handed out 1 to %llu, and 0 is the next launch",
                  static_cast<unsigned long long>(ticket), static_cast<unsigned long long>(launched));
  if (ticket > 0 && launched - ticket >= n)
    fail_argument("SYN-GRAPH-SLOT-TAKEN", "ticket is %llu; the replay of ticket %llu has its slot now",
                  static_cast<unsigned long long>(ticket),
                  static_cast<unsigned long long>(ticket + (launched - ticket) / n * n));
  const View& array = buffer.view();
  if (array.memory != SYNFIRE_MEMORY_PINNED)
    fail_argument("SYN-GRAPH-SLOT-BUFFER", "buffer is one of %s memory; only pinned buffers have slots",
                  name_of_memory(buffer.memory()));
  // The slot is free when the last replay that used it is done.
  const uint64_t holder = ticket > 0 ? ticket : launched < n ? 0 : launched + 1 - n;
  if (replay_->finished() < holder) return {nullptr, array.bytes};
  const std::lock_guard lock(slots_mutex_);
  if (std::none_of(buffers_.begin(), buffers_.end(), [&](const Ref<Buffer>& b) { return b.get() == &buffer; }))
    fail_argument("SYN-GRAPH-SLOT-BUFFER", "buffer is used by no operation of this graph");
  return {slots_->address(array.data, slot_of(ticket > 0 ? ticket : launched + 1)), array.bytes};
}

}  // namespace synfire::core

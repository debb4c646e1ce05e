// The order of replays that share an object: readers may run at once; a writer must be ordered with all other uses.
#ifndef SYNFIRE_BASE_SHARED_ORDER_HPP
#define SYNFIRE_BASE_SHARED_ORDER_HPP

#include "context.hpp"
#include "mutex.hpp"
#include "replayer.hpp"

#include <atomic>
#include <vector>

namespace synfire::core {

// The names in errors of an object that replays share.
struct SharedName {
  const char* rule;
  const char* noun;
};

class SharedOrder {
 public:
  explicit SharedOrder(const SharedName& name) noexcept : name_(name) {}
  [[noreturn]] void fail_entered() const;

  // Allocates: called when a graph is instantiated.
  void add(Replayer& replayer, bool writes);
  void remove(Replayer& replayer) noexcept;

  // As Replayed::order_on(), but replays that only read may be on different streams. Takes no lock while the streams
  // stay the same. A launch publishes its stream before it reads these two, and move() writes them before it reads the
  // launches, so at least one of two threads sees the other.
  void use_on(const Replayer* replayer, StreamId stream, bool writes) {
    const StreamId readers = readers_.load(std::memory_order_seq_cst), writer = writer_.load(std::memory_order_seq_cst);
    const bool known = writes ? readers == stream && writer == stream
                              : (readers == stream || readers == &many_) && (writer == stream || writer == &none_);
    if (!known) [[unlikely]]
      move(replayer, stream, writes);
  }

  // Used if a launch is the computation itself: one thread writes, or any number read. A callback of the writer's
  // replay may launch others. Returns false if another thread is in the way.
  bool enter(bool writes) noexcept;
  void leave() noexcept;

  void wait();
  // True if a live graph uses the object, or writes it.
  bool is_used(bool writes) const;

 private:
  struct Entry {
    Replayer* replayer;
    bool writes;
  };
  void move(const Replayer* replayer, StreamId stream, bool writes);
  static const void* this_thread() noexcept {
    static thread_local const char here = 0;
    return &here;
  }

  const SharedName name_;
  static constexpr int none_ = 0, many_ = 0, nowhere_ = 0;  // addresses that are not those of a stream

  std::atomic<StreamId> readers_{&none_};    // the stream of all replays in flight that use the object
  std::atomic<StreamId> writer_{&none_};     // of those that write it
  std::atomic<const void*> owner_{nullptr};  // the thread that writes
  std::atomic<int64_t> inside_{0};           // threads that read; -1: one writes
  int depth_ = 0;                            // of the owner
  mutable Mutex mutex_;                      // the list, and changes of the streams
  std::vector<Entry> entries_;
};

class SharedObject : public Child {
 public:
  SharedObject* shared() noexcept final { return this; }
  SharedOrder& order() noexcept { return order_; }

 protected:
  SharedObject(ObjectType type, Context& context, const SharedName& name) noexcept
      : Child(type, context), order_(name) {}

 private:
  SharedOrder order_;
};

}  // namespace synfire::core

#endif

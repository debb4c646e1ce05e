// Who uses a graph: one thread at a time.
#ifndef SYNFIRE_GRAPH_GRAPH_USE_HPP
#define SYNFIRE_GRAPH_GRAPH_USE_HPP

#include <atomic>

namespace synfire::core {

// The use of a graph: a launch on a stream, which objects compare to check the order of launches, or something else;
// null if there is none.
using GraphUse = const void*;
inline constexpr int any_other_use = 0;

// Held by one thread at a time; a second one gets BUSY and does not wait.
class Exclusive {
 public:
  explicit Exclusive(std::atomic<GraphUse>& use, GraphUse what = &any_other_use) : use_(use) {
    GraphUse none = nullptr;
    // Sequentially consistent with the streams of objects: Replayed::order_on().
    if (!use_.compare_exchange_strong(none, what, std::memory_order_seq_cst, std::memory_order_relaxed)) [[unlikely]]
      fail_busy();
  }
  ~Exclusive() { use_.store(nullptr, std::memory_order_release); }
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;

 private:
  [[noreturn]] static void fail_busy();

  std::atomic<GraphUse>& use_;
};

}  // namespace synfire::core

#endif

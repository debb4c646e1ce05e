// Waits for the device in a call that may block: yields to other threads, and checks now and then that the device is
// alive. Waits for a ticket are in graph_replay.cpp.
#ifndef SYNFIRE_BASE_WAIT_UNTIL_HPP
#define SYNFIRE_BASE_WAIT_UNTIL_HPP

#include <chrono>
#include <thread>

namespace synfire::core {

// Returns when done() is true. check() is called every millisecond, and throws when the device is lost.
template <class Done, class Check>
void wait_until(Done done, Check check) {
  using clock = std::chrono::steady_clock;
  constexpr auto interval = std::chrono::milliseconds(1);
  auto next_check = clock::now() + interval;
  while (!done()) {
    std::this_thread::yield();
    if (clock::now() < next_check) continue;
    check();
    next_check = clock::now() + interval;
  }
}

}  // namespace synfire::core

#endif

// Waiting for the device in a call that may block: gives way to other threads, and looks now and then whether there is
// anything left to wait for. What does not live here: waits for a ticket, with their policies (graph_replay.cpp).
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

// Which functions of synfire.h a test calls, and in which places it gives them a certain handle: a test that means the
// whole interface asks at its end what is missing. What there is comes from the header (tests/abi/generate.py).
#ifndef SYNFIRE_TESTS_CALL_WATCH_HPP
#define SYNFIRE_TESTS_CALL_WATCH_HPP

#include <cstdint>
#include <string>
#include <vector>

namespace synfire_test {

// Sees the calls of its thread for as long as it exists. One at a time. What it notes takes no memory.
class CallWatch {
 public:
  CallWatch();
  ~CallWatch();
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;

  // True in a program that is linked with watched_calls.cpp. In another one a watch sees nothing.
  static bool is_possible;
  static CallWatch* current();

  // Calls are noted from the beginning; while it does not listen they are not.
  void listen(bool listens) { listens_ = listens; }
  // From now on, places with this handle are noted.
  void look_for(uint64_t handle) { handle_ = handle; }

  std::vector<std::string> functions_not_called() const;
  // Only those that record an operation or create an object.
  std::vector<std::string> makers_not_called() const;
  // "function: place"
  std::vector<std::string> places_not_seen() const;

  // watched_calls.cpp calls these, with the numbers of functions and of places in synfire_abi.def.
  void called(uint32_t function) {
    if (listens_) functions_[function] = 1;
  }
  void saw(uint32_t place, uint64_t handle) {
    if (listens_ && handle_ != 0 && handle == handle_) places_[place] = 1;
  }

 private:
  bool listens_ = true;
  uint64_t handle_ = 0;
  std::vector<char> functions_, places_;
};

}  // namespace synfire_test

#endif

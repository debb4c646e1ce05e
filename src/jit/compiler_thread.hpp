// A thread for a compiler that is a library (NVRTC), with a stack of its own: that of the calling thread may be small.
// See compiler_thread_posix.cpp and compiler_thread_windows.cpp.
#ifndef SYNFIRE_JIT_COMPILER_THREAD_HPP
#define SYNFIRE_JIT_COMPILER_THREAD_HPP

#include <chrono>
#include <functional>
#include <memory>

namespace synfire::jit {

class CompilerThread {
 public:
  // `main` must not throw. Throws std::bad_alloc if the system has no thread.
  explicit CompilerThread(std::function<void()> main);
  // Requires join() or detach() before.
  ~CompilerThread();
  CompilerThread(const CompilerThread&) = delete;
  CompilerThread& operator=(const CompilerThread&) = delete;

  void join() noexcept;
  void detach() noexcept;
  // The thread's processor time and idle time as seen by look(); all of its time if the system does not tell.
  struct Used {
    std::chrono::nanoseconds processor{0}, idle{0};
    bool is_idle = true;  // now
    std::chrono::nanoseconds total() const noexcept { return processor + idle; }
  };
  // Called a few times a second, while the thread runs.
  Used look() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace synfire::jit

#endif

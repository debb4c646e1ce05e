// A thread for a compiler that is a library (NVRTC), with a stack of its own: the calling thread may have a small one.
// compiler_thread_posix.cpp has it for POSIX, compiler_thread_windows.cpp for Windows.
#ifndef SYNFIRE_JIT_COMPILER_THREAD_HPP
#define SYNFIRE_JIT_COMPILER_THREAD_HPP

#include <chrono>
#include <functional>
#include <memory>

namespace synfire::jit {

class CompilerThread {
 public:
  // `main` must not throw. Throws std::bad_alloc if the system has no thread to give.
  explicit CompilerThread(std::function<void()> main);
  // After join() or detach().
  ~CompilerThread();
  CompilerThread(const CompilerThread&) = delete;
  CompilerThread& operator=(const CompilerThread&) = delete;

  void join() noexcept;
  void detach() noexcept;
  // Its processor time so far, and the time in which it had nothing to do, as far as look() has seen. All its time
  // where the system does not say.
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

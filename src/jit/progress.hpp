// How loading a text goes on: tells the caller, and knows when it must end.
#ifndef SYNFIRE_JIT_PROGRESS_HPP
#define SYNFIRE_JIT_PROGRESS_HPP

#include <synfire/synfire.h>

#include <chrono>

namespace synfire::jit {

class Progress {
 public:
  Progress(synfire_load_progress callback, void* user, uint64_t time_out) noexcept;

  // Throws CALLBACK if the caller ends the load.
  void enter(int32_t stage);
  // While a compiler is at work: whether the caller ends it.
  bool is_cancelled() noexcept;
  // The rest of the time-out. It counts the processor time of compilers, so that a text does not fail because the
  // machine is busy.
  std::chrono::nanoseconds left() const noexcept { return time_out_ - used_; }
  void use(std::chrono::nanoseconds time) noexcept { used_ += time; }
  // Since the load began.
  uint64_t nanoseconds() const noexcept;
  enum class Late { at_work, idle };
  [[noreturn]] void fail_late(Late why) const;
  [[noreturn]] static void fail_cancelled();

 private:
  using Clock = std::chrono::steady_clock;
  synfire_load_progress callback_;
  void* user_;
  std::chrono::nanoseconds time_out_, used_{0};
  Clock::time_point begin_;
  int32_t stage_ = SYNFIRE_LOAD_CHECK;
};

}  // namespace synfire::jit

#endif

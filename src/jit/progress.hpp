// Reports the progress of a load to the caller, and decides when it must end.
#ifndef SYNFIRE_JIT_PROGRESS_HPP
#define SYNFIRE_JIT_PROGRESS_HPP

#include <synfire/synfire.h>

#include <chrono>

namespace synfire::jit {

class Progress {
 public:
  Progress(synfire_load_progress callback, void* user, uint64_t time_out) noexcept;

  void enter(int32_t stage);
  // Returns true if the caller ends a load during a compilation.
  bool is_cancelled() noexcept;
  // The rest of the time-out, which counts the compilers' processor time: a busy machine fails no text.
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

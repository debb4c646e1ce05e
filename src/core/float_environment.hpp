// IEEE arithmetic for the duration of a task: round to nearest, subnormals kept. Game engines set flush-to-zero on
// their threads, and worker threads do not inherit the caller's setting; both would change bits. Used around host
// kernels and wherever a parameter is rounded to a layer's type. Restored afterwards, on AArch64 but for the sticky
// exception flags, which are in a register of their own there.
#ifndef SYNFIRE_CORE_FLOAT_ENVIRONMENT_HPP
#define SYNFIRE_CORE_FLOAT_ENVIRONMENT_HPP

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace synfire::core {

class FloatEnvironment {
 public:
#if defined(__x86_64__)
  FloatEnvironment() noexcept : saved_(_mm_getcsr()) {
    constexpr unsigned ieee_all_masked = 0x1F80;
    if (saved_ != ieee_all_masked) _mm_setcsr(ieee_all_masked);
    keep_order();
  }
  ~FloatEnvironment() {
    keep_order();
    _mm_setcsr(saved_);
  }
#elif defined(__aarch64__)
  FloatEnvironment() noexcept {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    // All zeros: to nearest, no flush to zero of any width, NaNs kept as they are, no traps.
    if (saved_ != 0) asm volatile("msr fpcr, %0" : : "r"(uint64_t{0}));
    keep_order();
  }
  ~FloatEnvironment() {
    keep_order();
    if (saved_ != 0) asm volatile("msr fpcr, %0" : : "r"(saved_));
  }
#else
#error "the floating-point control register of this architecture is not known here"
#endif
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  // Compilers do not know that arithmetic depends on the control register; what is loaded or stored stays inside.
  static void keep_order() noexcept {
    asm volatile("" : : : "memory");
  }

#if defined(__x86_64__)
  unsigned saved_;
#else
  uint64_t saved_ = 0;
#endif
};

}  // namespace synfire::core

#endif

// IEEE arithmetic for the duration of a call or a task: round to nearest, subnormals kept, no traps. Game engines flush
// subnormals to zero, numeric programs set rounding modes and traps, and worker threads may differ from the caller.
// Guards every function of the C ABI and the tasks of other threads. The caller's environment, with its sticky
// exception flags, is restored afterwards and during callbacks.
#ifndef SYNFIRE_PLATFORM_FLOAT_ENVIRONMENT_HPP
#define SYNFIRE_PLATFORM_FLOAT_ENVIRONMENT_HPP

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace synfire::core {

// The processor's control registers with their sticky flags. Reading is cheap, writing is not.
#if defined(__x86_64__)
struct FloatControl {
  uint32_t sse;  // with the flags
  uint16_t x87;  // nothing here computes in x87 registers, but the C library reads the rounding mode from them
#if defined(__MINGW32__)
  uint16_t x87_status;  // with the flags: mingw-w64's C library does compute there
#endif

  static FloatControl read() noexcept {
    FloatControl now;
    now.sse = _mm_getcsr();
    asm volatile("fnstcw %0" : "=m"(now.x87));
#if defined(__MINGW32__)
    asm volatile("fnstsw %0" : "=m"(now.x87_status));
#endif
    return now;
  }
  // Ignores the precision, which matters to x87 arithmetic alone: Mono sets 53 bits, and each change is slow.
  bool x87_is_ieee() const noexcept {
    return x87_difference() == 0;
  }
  bool is_ieee() const noexcept {  // one branch
    constexpr uint32_t flags = 0x3F;
    return (((sse & ~flags) ^ 0x1F80) | x87_difference()) == 0;
  }
  // The sticky flags, given that the rest of the control word is IEEE.
  void restore_flags() const noexcept {
    if (_mm_getcsr() != sse) [[unlikely]]
      _mm_setcsr(sse);
    restore_x87_flags();
  }
#if defined(__MINGW32__)
  void restore_x87_flags() const noexcept;
#else
  void restore_x87_flags() const noexcept {}
#endif

 private:
  uint32_t x87_difference() const noexcept {
    constexpr uint32_t masks_and_rounding = 0x0C3F;
    return (x87 & masks_and_rounding) ^ 0x003F;
  }
};
#elif defined(__aarch64__)
struct FloatControl {
  uint64_t control;
  uint64_t flags;

  static FloatControl read() noexcept {
    FloatControl now;
    asm volatile("mrs %0, fpcr" : "=r"(now.control));
    asm volatile("mrs %0, fpsr" : "=r"(now.flags));
    return now;
  }
  // All zeros: to nearest, no flush to zero of any width, NaNs kept as they are, no traps.
  bool is_ieee() const noexcept { return control == 0; }
  void restore_flags() const noexcept {
    if (read().flags != flags) asm volatile("msr fpsr, %0" : : "r"(flags));
  }
};
#else
#error "the floating-point control register of this architecture is not known here"
#endif

class FloatEnvironment {
 public:
  FloatEnvironment() noexcept : before_(FloatControl::read()) {
    if (!before_.is_ieee()) [[unlikely]]
      enter();
    keep_order();
  }
  ~FloatEnvironment() {
    keep_order();
    if (entered_) [[unlikely]]
      leave();
    else
      before_.restore_flags();
  }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

  // Compilers do not know that arithmetic depends on the control register: this barrier keeps loads and stores inside.
  static void keep_order() noexcept { asm volatile("" : : : "memory"); }

 private:
  friend class CallersFloatEnvironment;

  void enter() noexcept;
  void leave() noexcept;
  void put_back() const noexcept;

  FloatControl before_;
  bool entered_ = false;
  FloatEnvironment* outer_;
#if defined(__x86_64__)
  char x87_[28];
#endif
};

// Restores the caller's environment for a call of the caller's function, whose own changes do not outlive it.
class CallersFloatEnvironment {
 public:
  CallersFloatEnvironment() noexcept;
  ~CallersFloatEnvironment();
  CallersFloatEnvironment(const CallersFloatEnvironment&) = delete;
  CallersFloatEnvironment& operator=(const CallersFloatEnvironment&) = delete;

 private:
  FloatEnvironment* const guard_;
};

}  // namespace synfire::core

#endif

// IEEE arithmetic for the duration of a call or of a task: round to nearest, subnormals kept, nothing traps. Game
// engines set flush-to-zero on their threads, numeric programs other rounding modes and traps, and worker threads need
// not have the caller's setting; each would change bits or end the program. Around every function of the C ABI, and
// around the tasks of other threads. Left as found, sticky exception flags included; the caller's own functions get the
// caller's environment.
#ifndef SYNFIRE_BASE_FLOAT_ENVIRONMENT_HPP
#define SYNFIRE_BASE_FLOAT_ENVIRONMENT_HPP

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace synfire::core {

// The processor's control registers, and the sticky flags that are beside them. Looking is cheap, setting is not.
#if defined(__x86_64__)
struct FloatControl {
  uint32_t sse;  // with the flags
  uint16_t x87;  // nothing here computes in x87 registers, but the C library asks them for the rounding mode

  static FloatControl read() noexcept {
    FloatControl now;
    now.sse = _mm_getcsr();
    asm volatile("fnstcw %0" : "=m"(now.x87));
    return now;
  }
  // In any precision: that one matters to arithmetic in x87 registers alone. Mono sets 53 bits on each of its threads,
  // and setting it anew cost 300 ns a call.
  bool x87_is_ieee() const noexcept {
    constexpr uint16_t masks_and_rounding = 0x0C3F;
    return (x87 & masks_and_rounding) == 0x003F;
  }
  bool is_ieee() const noexcept {
    constexpr uint32_t flags = 0x3F;
    return (sse & ~flags) == 0x1F80 && x87_is_ieee();
  }
  // Of a control word that is IEEE all the time, the flags.
  void restore_flags() const noexcept {
    if (_mm_getcsr() != sse) _mm_setcsr(sse);
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

  // Compilers do not know that arithmetic depends on the control register; what is loaded or stored stays inside.
  static void keep_order() noexcept { asm volatile("" : : : "memory"); }

 private:
  friend class CallersFloatEnvironment;

  // Only where the caller's environment is another one.
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

// Around a call of the caller's function inside a FloatEnvironment: it sees the caller's environment. What it changes
// there ends with it.
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

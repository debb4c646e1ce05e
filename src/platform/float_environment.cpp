#include "float_environment.hpp"

#include <utility>

namespace synfire::core {
namespace {

// This thread's innermost guard that found a non-IEEE environment.
thread_local constinit FloatEnvironment* current = nullptr;

void set_ieee([[maybe_unused]] const FloatControl& now) noexcept {
#if defined(__x86_64__)
  _mm_setcsr(0x1F80);
  if (now.x87_is_ieee()) return;
  // Storing the x87 environment masks its exceptions; loading a control word first could trap on a flag of the caller.
  char ignored[28];
  constexpr uint16_t x87 = 0x037F;
  asm volatile("fnstenv %0" : "=m"(ignored));
  asm volatile("fldcw %0" : : "m"(x87));
#else
  asm volatile("msr fpcr, %0" : : "r"(uint64_t{0}));
#endif
}

}  // namespace

#if defined(__MINGW32__)
void FloatControl::restore_x87_flags() const noexcept {
  constexpr uint16_t flags = 0xFF;
  uint16_t now = 0;
  asm volatile("fnstsw %0" : "=m"(now));
  if (((now ^ x87_status) & flags) == 0) return;
  struct {
    uint16_t control, unused, status;
    char rest[22];
  } environment;
  static_assert(sizeof environment == 28);
  asm volatile("fnstenv %0" : "=m"(environment));
  environment.status = static_cast<uint16_t>((environment.status & ~flags) | (x87_status & flags));
  asm volatile("fldenv %0" : : "m"(environment));
}
#endif

void FloatEnvironment::enter() noexcept {
#if defined(__x86_64__)
  if (!before_.x87_is_ieee()) asm volatile("fnstenv %0" : "=m"(x87_));
#endif
  set_ieee(before_);
  outer_ = std::exchange(current, this);
  entered_ = true;
}

void FloatEnvironment::leave() noexcept {
  current = outer_;
  put_back();
}

void FloatEnvironment::put_back() const noexcept {
#if defined(__x86_64__)
  if (!before_.x87_is_ieee())
    asm volatile("fldenv %0" : : "m"(x87_));
  else
    before_.restore_x87_flags();
  _mm_setcsr(before_.sse);
#else
  asm volatile("msr fpcr, %0" : : "r"(before_.control));
  before_.restore_flags();
#endif
}

CallersFloatEnvironment::CallersFloatEnvironment() noexcept : guard_(std::exchange(current, nullptr)) {
  FloatEnvironment::keep_order();
  if (guard_) guard_->put_back();
}

CallersFloatEnvironment::~CallersFloatEnvironment() {
  if (const FloatControl now = FloatControl::read(); !now.is_ieee()) set_ieee(now);
  current = guard_;
  FloatEnvironment::keep_order();
}

}  // namespace synfire::core

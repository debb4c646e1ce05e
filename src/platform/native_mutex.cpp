#include "native_mutex.hpp"

#if defined(_WIN32)

#include <windows.h>

namespace synfire::core {

static_assert(sizeof(SRWLOCK) == sizeof(void*) && alignof(SRWLOCK) == alignof(void*));

void NativeMutex::lock() noexcept {
  AcquireSRWLockExclusive(reinterpret_cast<SRWLOCK*>(&lock_));
}

void NativeMutex::unlock() noexcept {
  ReleaseSRWLockExclusive(reinterpret_cast<SRWLOCK*>(&lock_));
}

}  // namespace synfire::core

#endif

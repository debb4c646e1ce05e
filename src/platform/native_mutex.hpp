// The system's lock, constant-initialised and without a destructor, so that static storage can hold it without code
// before main() or at exit. std::mutex is that with pthreads but not in mingw-w64, where Windows' own lock replaces it.
#ifndef SYNFIRE_PLATFORM_NATIVE_MUTEX_HPP
#define SYNFIRE_PLATFORM_NATIVE_MUTEX_HPP

#if !defined(_WIN32)
#include <mutex>
#endif

namespace synfire::core {

#if defined(_WIN32)

class NativeMutex {
 public:
  constexpr NativeMutex() = default;
  NativeMutex(const NativeMutex&) = delete;
  NativeMutex& operator=(const NativeMutex&) = delete;

  void lock() noexcept;
  void unlock() noexcept;

 private:
  void* lock_ = nullptr;  // an SRWLOCK, whose initial value is null; <windows.h> stays out of the headers
};

#else

using NativeMutex = std::mutex;

#endif

}  // namespace synfire::core

#endif

#include "word_wait.hpp"

#if defined(_WIN32)

#if !defined(_WIN32_WINNT) || _WIN32_WINNT < 0x0602
#undef _WIN32_WINNT
#define _WIN32_WINNT 0x0602  // Windows 8
#endif
#include <windows.h>

namespace synfire::core {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);

void wait_while(std::atomic<uint32_t>& word, uint32_t value) noexcept {
  WaitOnAddress(&word, &value, sizeof value, INFINITE);
}

void wake_all(std::atomic<uint32_t>& word) noexcept {
  WakeByAddressAll(&word);
}

}  // namespace synfire::core

#endif

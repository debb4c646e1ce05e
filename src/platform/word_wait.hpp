// Sleeping until a word changes: std::atomic's wait and notify_all, and on Windows the system's own calls, because the
// emulation in GCC's library there can lose a wake-up (seen with g++ 12 and winpthread).
#ifndef SYNFIRE_PLATFORM_WORD_WAIT_HPP
#define SYNFIRE_PLATFORM_WORD_WAIT_HPP

#include <atomic>
#include <cstdint>

namespace synfire::core {

#if defined(_WIN32)

// Returns once the word differs from `value`, or earlier: the caller looks again.
void wait_while(std::atomic<uint32_t>& word, uint32_t value) noexcept;
void wake_all(std::atomic<uint32_t>& word) noexcept;

#else

inline void wait_while(std::atomic<uint32_t>& word, uint32_t value) noexcept {
  word.wait(value, std::memory_order_relaxed);
}
inline void wake_all(std::atomic<uint32_t>& word) noexcept {
  word.notify_all();
}

#endif

}  // namespace synfire::core

#endif

// A stream as layers and graphs remember it, to tell whether work is ordered after other work.
#ifndef SYNFIRE_BASE_STREAM_ID_HPP
#define SYNFIRE_BASE_STREAM_ID_HPP

#include <synfire/synfire.h>

#include <atomic>
#include <cstdint>

namespace synfire::core {

// Null: none. For a caller's stream, its handle; otherwise one of those below. Never dereferenced.
using StreamId = const void*;

inline constexpr int contexts_own_stream = 0;

// CUDA's handle for the calling thread's default stream, which stands for one stream per thread.
inline bool is_of_each_thread(synfire_stream stream) noexcept {
  return reinterpret_cast<uintptr_t>(stream) == 2;
}
inline StreamId stream_of_this_thread() noexcept {
  // Threads are numbered, because the address of a thread-local object may be used again.
  static constinit std::atomic<uintptr_t> n_threads{0};
  static constinit thread_local uintptr_t number = 0;
  if (number == 0) number = n_threads.fetch_add(1, std::memory_order_relaxed) + 1;
  return reinterpret_cast<StreamId>(2 * number + 1);  // odd: no address
}

inline StreamId stream_id(synfire_stream stream) noexcept {
  if (!stream) return &contexts_own_stream;
  return is_of_each_thread(stream) ? stream_of_this_thread() : static_cast<StreamId>(stream);
}

}  // namespace synfire::core

#endif

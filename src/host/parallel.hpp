// for_each_block: the one place where the host backend uses several threads. Built over Thrust's OpenMP system, over
// plain OpenMP, or for one thread, as configured (SYNFIRE_HOST_PARALLEL); results do not depend on which.
#ifndef SYNFIRE_HOST_PARALLEL_HPP
#define SYNFIRE_HOST_PARALLEL_HPP

#include <cstdint>

namespace synfire::host {

// "thrust-openmp", "openmp" or "serial".
const char* threading_name() noexcept;

// Threads that "automatic" means: what the threading system would use for this process.
int automatic_threads() noexcept;

// Calls body(state, block) for every block in [0, n_blocks), on at most n_threads threads. With one thread, in a child
// after fork(), and inside someone else's parallel region: in order, on the calling thread, without creating a pool.
void for_each_block(int64_t n_blocks, int n_threads, void (*body)(void* state, int64_t block), void* state);

template <class F>
void for_each_block(int64_t n_blocks, int n_threads, F& f) {
  for_each_block(
      n_blocks, n_threads, [](void* state, int64_t block) { (*static_cast<F*>(state))(block); }, &f);
}

}  // namespace synfire::host

#endif

#include "parallel.hpp"

#if SYNFIRE_HOST_OPENMP
#include <omp.h>
#include <pthread.h>

#include <atomic>
#include <mutex>
#endif

#if SYNFIRE_HOST_THRUST
#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/system/omp/execution_policy.h>
#endif

namespace synfire::host {

const char* threading_name() noexcept {
  return SYNFIRE_HOST_THREADING;
}

#if SYNFIRE_HOST_OPENMP

namespace {

// The OpenMP runtime's threads do not survive fork(): a child that waited for them would hang.
constinit std::atomic<bool> forked{false};
constinit std::once_flag fork_handler;

void watch_forks() {
  std::call_once(fork_handler,
                 [] { pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); }); });
}

// Sets the calling thread's OpenMP thread count and restores the host program's.
class ThreadCount {
 public:
  explicit ThreadCount(int n) : saved_(omp_get_max_threads()) { omp_set_num_threads(n); }
  ~ThreadCount() { omp_set_num_threads(saved_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int saved_;
};

void run_parallel(int64_t n_blocks, int n_threads, void (*body)(void*, int64_t), void* state) {
#if SYNFIRE_HOST_THRUST
  const ThreadCount count(n_threads);
  thrust::for_each_n(thrust::omp::par, thrust::counting_iterator<int64_t>(0), n_blocks,
                     [=](int64_t block) { body(state, block); });
#else
#pragma omp parallel for schedule(static) num_threads(n_threads)
  for (int64_t block = 0; block < n_blocks; ++block) body(state, block);
#endif
}

}  // namespace

int automatic_threads() noexcept {
  return omp_get_max_threads();
}

void for_each_block(int64_t n_blocks, int n_threads, void (*body)(void*, int64_t), void* state) {
  if (n_threads > 1 && n_blocks > 1) {
    watch_forks();
    if (!forked.load(std::memory_order_relaxed) && !omp_in_parallel()) {
      run_parallel(n_blocks, n_threads, body, state);
      return;
    }
  }
  for (int64_t block = 0; block < n_blocks; ++block) body(state, block);
}

#else

int automatic_threads() noexcept {
  return 1;
}

void for_each_block(int64_t n_blocks, int /*n_threads*/, void (*body)(void*, int64_t), void* state) {
  for (int64_t block = 0; block < n_blocks; ++block) body(state, block);
}

#endif

}  // namespace synfire::host

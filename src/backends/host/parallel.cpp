#include "parallel.hpp"

#include "host_device.hpp"
#include "processors.hpp"

#include <algorithm>

#if SYNFIRE_HOST_OPENMP
#include <platform/fork.hpp>

#include <omp.h>
#endif

namespace synfire::host {
namespace {

int automatic_threads() noexcept {
#if SYNFIRE_HOST_OPENMP
  return omp_get_max_threads();
#elif SYNFIRE_HOST_POOL
  return wanted_threads();
#else
  return 1;
#endif
}

int count_threads(int wanted, bool has_job_system) noexcept {
  if (has_job_system) return wanted > 0 ? wanted : usable_processors();
#if SYNFIRE_HOST_OPENMP || SYNFIRE_HOST_POOL
  return wanted > 0 ? wanted : automatic_threads();
#else
  return automatic_threads();
#endif
}

}  // namespace

const char* threading_name() noexcept {
  return SYNFIRE_HOST_THREADING;
}

Parallel::Parallel(int n_threads, const JobCallbacks& callbacks)
    : n_threads_(std::min(count_threads(n_threads, callbacks.enqueue != nullptr), max_threads)) {
  if (n_threads_ == 1) return;
  if (callbacks.enqueue) {
    job_system_.emplace(callbacks);
    return;
  }
#if SYNFIRE_HOST_POOL
  pool_.emplace(n_threads_ - 1);
#endif
}

void Parallel::start() const noexcept {
#if SYNFIRE_HOST_POOL
  if (pool_) pool_->start();
#endif
}

void Parallel::run(int64_t n_blocks, BlockBody body, void* state) const {
  if (n_blocks > 1 && n_threads_ > 1) {
    if (job_system_) return job_system_->run(n_blocks, body, state);
#if SYNFIRE_HOST_POOL
    return pool_->run(n_blocks, body, state);
#elif SYNFIRE_HOST_OPENMP
    // The runtime's threads do not survive fork(): a child that waited for them would hang.
    if (core::fork_generation() == 0 && !omp_in_parallel()) {
      const int n_threads = n_threads_;
#pragma omp parallel for schedule(static) num_threads(n_threads)
      for (int64_t block = 0; block < n_blocks; ++block) body(state, block);
      return;
    }
#endif
  }
  for (int64_t block = 0; block < n_blocks; ++block) body(state, block);
}

}  // namespace synfire::host

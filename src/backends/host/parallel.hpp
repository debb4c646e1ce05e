// The only place where the host backend uses several threads: those of the context's own pool, those of OpenMP, or only
// one, as configured (SYNFIRE_HOST_PARALLEL); or those of the caller's job system. The results are the same.
#ifndef SYNFIRE_BACKENDS_HOST_PARALLEL_HPP
#define SYNFIRE_BACKENDS_HOST_PARALLEL_HPP

#include "job_system.hpp"
#include "thread_pool.hpp"

#include <optional>

namespace synfire::host {

const char* threading_name() noexcept;

class Parallel {
 public:
  // n_threads of 0: as many as there are usable processors.
  Parallel(int n_threads, const JobCallbacks& callbacks);

  int n_threads() const noexcept { return n_threads_; }
  // The most blocks of one call that run at once: a job system may have more threads than stated.
  int most_at_once() const noexcept { return job_system_ ? 4 * n_threads_ : n_threads_; }

  // Creates missing threads. Allocates and blocks, so a replay never calls it.
  void start() const noexcept;

  // Calls f(block) for every block in [0, n_blocks), on at most n_threads threads; n_blocks is 4 n_threads at most.
  template <class F>
  void for_each_block(int64_t n_blocks, F& f) const {
    run(
        n_blocks, [](void* state, int64_t block) { (*static_cast<F*>(state))(block); }, &f);
  }

 private:
  void run(int64_t n_blocks, BlockBody body, void* state) const;

  const int n_threads_;
  mutable std::optional<JobSystem> job_system_;
#if SYNFIRE_HOST_POOL
  mutable std::optional<ThreadPool> pool_;
#endif
};

}  // namespace synfire::host

#endif

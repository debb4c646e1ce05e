// The threads of one context. A job is a number of blocks. The submitting thread works on it with the workers that are
// free at that moment, and never waits for a thread that has not begun.
#ifndef SYNFIRE_BACKENDS_HOST_THREAD_POOL_HPP
#define SYNFIRE_BACKENDS_HOST_THREAD_POOL_HPP

#include <base/mutex.hpp>

#include <atomic>
#include <cstdint>
#include <memory>

namespace synfire::host {

using BlockBody = void (*)(void* state, int64_t block);

class ThreadPool {
 public:
  // Reserves room for this many workers, and creates none.
  explicit ThreadPool(int n_workers);
  // Ends the workers. No job may be running.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Creates missing workers, or fewer if the system refuses one. Allocates and blocks, so a replay never calls it.
  void start() noexcept;

  // Calls body(state, block) once for each block in [0, n_blocks), and returns when all calls have. Any number of
  // threads may call this at once, but body must not. Neither allocates nor locks. In a child after fork(), or if no
  // worker is free, all blocks run on this thread, in order.
  void run(int64_t n_blocks, BlockBody body, void* state) noexcept;

 private:
  struct Worker;
  struct Job;

  static void work(void* worker);
  void claim(Job& job, int64_t most) noexcept;
  void let_go(Worker& worker) const noexcept;
  bool is_from_before_fork() const noexcept;
  Worker& worker_at(int i) const noexcept;

  const int n_workers_;
  const uint32_t process_;  // core::fork_generation() at its creation
  std::unique_ptr<Worker[]> workers_;
  std::atomic<int> n_started_{0};
  std::atomic<int64_t> spin_ns_{0};  // how long waiting threads spin
  core::Mutex starting_;
};

}  // namespace synfire::host

#endif

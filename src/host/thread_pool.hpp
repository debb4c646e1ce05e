// The threads of one context. A job is a number of blocks; the thread that brings it works on it too, with those
// workers that are free at that moment, so that nobody waits for a thread that has not begun.
#ifndef SYNFIRE_HOST_THREAD_POOL_HPP
#define SYNFIRE_HOST_THREAD_POOL_HPP

#include <base/mutex.hpp>

#include <atomic>
#include <cstdint>
#include <memory>

namespace synfire::host {

using BlockBody = void (*)(void* state, int64_t block);

class ThreadPool {
 public:
  // Room for as many workers; there is none yet.
  explicit ThreadPool(int n_workers);
  // Ends the workers. No job may be running.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Creates the workers that are missing; where the system refuses one there are fewer. Allocates and blocks: never
  // called by a replay.
  void start() noexcept;

  // Calls body(state, block) once for each block in [0, n_blocks), and returns when all calls have. Any number of
  // threads may do so at once, and body must not. Neither allocates nor locks. In a child after fork(), and where no
  // worker is free, all blocks run here, in order.
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
  const uint32_t process_;  // core::fork_generation() where it was made
  std::unique_ptr<Worker[]> workers_;
  std::atomic<int> n_started_{0};
  std::atomic<int64_t> spin_ns_{0};  // how long those who wait do so awake
  core::Mutex starting_;
};

}  // namespace synfire::host

#endif

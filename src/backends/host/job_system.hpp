// Uses the caller's job system in place of a pool: blocks are the items of a task that it runs. Each item must run
// exactly once; parts that run too late do nothing.
#ifndef SYNFIRE_BACKENDS_HOST_JOB_SYSTEM_HPP
#define SYNFIRE_BACKENDS_HOST_JOB_SYSTEM_HPP

#include "thread_pool.hpp"

#include <synfire/synfire.h>

#include <memory>

namespace synfire::host {

struct JobCallbacks {
  synfire_enqueue_task enqueue = nullptr;
  synfire_finish_task finish = nullptr;
  void* user = nullptr;
};

class JobSystem {
 public:
  explicit JobSystem(const JobCallbacks& callbacks);
  ~JobSystem();
  JobSystem(const JobSystem&) = delete;
  JobSystem& operator=(const JobSystem&) = delete;

  // As ThreadPool::run(), for at most 4096 blocks. Throws CALLBACK if a block was not run, or was run twice.
  void run(int64_t n_blocks, BlockBody body, void* state);

 private:
  class Task;

  const JobCallbacks callbacks_;
  const std::unique_ptr<Task[]> tasks_;
};

}  // namespace synfire::host

#endif

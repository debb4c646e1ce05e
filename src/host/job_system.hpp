// The caller's job system in the place of a pool: blocks become the items of a task that it runs. What it does is
// checked: a task whose items were not each run once is an error, and parts that come too late do nothing.
#ifndef SYNFIRE_HOST_JOB_SYSTEM_HPP
#define SYNFIRE_HOST_JOB_SYSTEM_HPP

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

  // As ThreadPool::run(), for at most 4096 blocks. Throws CALLBACK when a block was not run, or was to be run again.
  void run(int64_t n_blocks, BlockBody body, void* state);

 private:
  class Task;

  const JobCallbacks callbacks_;
  const std::unique_ptr<Task[]> tasks_;
};

}  // namespace synfire::host

#endif

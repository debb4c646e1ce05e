#include "job_system.hpp"

#include "host_device.hpp"

#include <base/error.hpp>
#include <platform/float_environment.hpp>

#include <atomic>
#include <bit>
#include <thread>

namespace synfire::host {
namespace {

constexpr int64_t most_items = int64_t{4} * max_threads;
// Launches of one context that may use the job system at once; further ones run on their own thread.
constexpr size_t n_tasks = 16;

}  // namespace

// The task that a job system receives. It lives as long as the context, so that late parts find a closed task.
class JobSystem::Task {
 public:
  bool take() noexcept { return !taken_.exchange(true, std::memory_order_acquire); }
  void give_back() noexcept { taken_.store(false, std::memory_order_release); }

  void open(int64_t n_items, BlockBody body, void* state) noexcept {
    n_items_ = n_items;
    body_ = body;
    state_ = state;
    twice_.store(false, std::memory_order_relaxed);
    outside_.store(false, std::memory_order_relaxed);
    for (std::atomic<uint64_t>& word : begun_) word.store(0, std::memory_order_relaxed);
    // Sequentially consistent with the count of running parts: see close().
    open_.store(true, std::memory_order_seq_cst);
  }
  void close() noexcept {
    open_.store(false, std::memory_order_seq_cst);
    while (n_inside_.load(std::memory_order_seq_cst) > 0) std::this_thread::yield();
  }
  // Throws if a part of the closed task was not run exactly once.
  void check() const {
    const auto n_items = static_cast<long long>(n_items_);
    if (outside_.load(std::memory_order_relaxed))
      core::fail(
          SYNFIRE_ERROR_CALLBACK, "SYN-TASK-RANGE",
          "the context's job system asked for items outside of a task of %lld; allowed are 0 <= first <= end <= %lld",
          n_items, n_items);
    if (twice_.load(std::memory_order_relaxed))
      core::fail(SYNFIRE_ERROR_CALLBACK, "SYN-TASK-TWICE",
                 "the context's job system ran items of a task of %lld more than once", n_items);
    int n_done = 0;
    for (const std::atomic<uint64_t>& word : begun_) n_done += std::popcount(word.load(std::memory_order_relaxed));
    if (n_done < n_items_)
      core::fail(
          SYNFIRE_ERROR_CALLBACK, "SYN-TASK-MISSING",
          "the context's job system ran %d items of a task of %lld before finish_task returned; all of them must "
          "have run by then",
          n_done, n_items);
  }

  static void SYNFIRE_CALL run_part(void* task, int32_t first, int32_t end) {
    static_cast<Task*>(task)->run_part(first, end);
  }

 private:
  void run_part(int64_t first, int64_t end) noexcept {
    n_inside_.fetch_add(1, std::memory_order_seq_cst);
    if (open_.load(std::memory_order_seq_cst)) {
      if (first < 0 || first > end || end > n_items_)
        outside_.store(true, std::memory_order_relaxed);
      else
        for (int64_t item = first; item < end; ++item) run_item(item);
    }
    n_inside_.fetch_sub(1, std::memory_order_seq_cst);
  }
  void run_item(int64_t item) noexcept {
    const uint64_t bit = uint64_t{1} << item % 64;
    if (begun_[item / 64].fetch_or(bit, std::memory_order_relaxed) & bit)
      twice_.store(true, std::memory_order_relaxed);
    else
      body_(state_, item);
  }
  std::atomic<bool> taken_{false}, open_{false}, twice_{false}, outside_{false};
  std::atomic<int> n_inside_{0};
  int64_t n_items_ = 0;
  BlockBody body_ = nullptr;
  void* state_ = nullptr;
  std::atomic<uint64_t> begun_[most_items / 64] = {};
};

JobSystem::JobSystem(const JobCallbacks& callbacks) : callbacks_(callbacks), tasks_(new Task[n_tasks]) {}

JobSystem::~JobSystem() = default;

void JobSystem::run(int64_t n_blocks, BlockBody body, void* state) {
  Task* task = nullptr;
  if (n_blocks > 1)
    for (size_t i = 0; i < n_tasks && !task; ++i)
      if (tasks_[i].take()) task = &tasks_[i];
  if (!task) {
    for (int64_t block = 0; block < n_blocks; ++block) body(state, block);
    return;
  }
  struct Closed {  // even if a callback throws, which it must not
    Task& task;
    ~Closed() {
      task.close();
      task.give_back();
    }
  } closed{*task};
  task->open(n_blocks, body, state);
  {
    const core::CallersFloatEnvironment theirs;
    if (void* const handle =
            callbacks_.enqueue(callbacks_.user, Task::run_part, task, static_cast<int32_t>(n_blocks), 1))
      callbacks_.finish(callbacks_.user, handle);
  }
  task->close();
  task->check();
}

}  // namespace synfire::host

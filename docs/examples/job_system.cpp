// job_system.cpp - a game engine's worker threads compute the layers of a host context; the library has no threads of
// its own.
//
// The listing of the page on control loops for job systems, as a program that compares the spikes with those of one
// thread. Its job system is a minimal stand-in for an engine's.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <synfire/synfire.hpp>
#include <thread>
#include <vector>

namespace {

// Threads that take jobs from a list.
class Workers {
 public:
  explicit Workers(int n_threads) {
    for (int i = 0; i < n_threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Workers() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  void add(std::function<void()> job) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    changed_.notify_one();
  }
  // Runs one job, if there is one.
  bool help() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (jobs_.empty()) return false;
    do_first(lock);
    return true;
  }

 private:
  void do_first(std::unique_lock<std::mutex>& lock) {
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
  }
  void work() {
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      do_first(lock);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

/* [callbacks] */
class Jobs {
 public:
  explicit Jobs(Workers& workers) : workers_(workers) {}

  // One job for each range of items. The handle counts the items that are not done.
  void* enqueue(synfire_task task, void* argument, std::int32_t n_items, std::int32_t min_range) {
    auto* const left = new std::atomic<std::int32_t>(n_items);
    for (std::int32_t first = 0; first < n_items; first += min_range) {
      const std::int32_t end = std::min(first + min_range, n_items);
      workers_.add([=] {
        task(argument, first, end);
        left->fetch_sub(end - first);
      });
    }
    return left;
  }
  // Runs any jobs until these items are done.
  void finish(void* handle) {
    auto* const left = static_cast<std::atomic<std::int32_t>*>(handle);
    while (left->load() > 0)
      if (!workers_.help()) std::this_thread::yield();
    delete left;
  }

 private:
  Workers& workers_;
};

synfire::Context context_on(Jobs& jobs) {
  return synfire::Context(synfire::context_desc_with_jobs(jobs, 4, SYNFIRE_BACKEND_HOST));
}
/* [callbacks] */

long count_spikes(const synfire::Context& context) {
  constexpr int steps = 16, neurons = 200'000;
  synfire::Layer layer(context,
                       synfire::layer_desc(SYNFIRE_MODEL_LIF, synfire::steps{steps}, synfire::neurons{neurons}));
  synfire::Buffer x = layer.make_sequence<float>(SYNFIRE_MEMORY_PINNED);
  const synfire::Buffer spikes = layer.make_spikes<float>(SYNFIRE_MEMORY_PINNED);
  float value = 0;
  for (float& element : x.data<float>()) element = value = value > 2 ? 0 : value + 0.01F;
  synfire::Graph graph(context);
  graph.record_forward(layer, synfire::forward_desc(x, spikes));
  graph.instantiate();
  graph.wait(graph.launch());
  long sum = 0;
  for (const float spike : spikes.data<float>()) sum += spike != 0.0F;
  return sum;
}

}  // namespace

int main() {
  try {
    Workers workers(3);
    Jobs jobs(workers);
    const long by_jobs = count_spikes(context_on(jobs));
    const long by_one = count_spikes(synfire::Context(synfire::context_desc(SYNFIRE_BACKEND_HOST, 1)));
    synfire::reclaim();
    std::printf("%ld spikes by the job system, %ld by one thread\n", by_jobs, by_one);
    return by_jobs == by_one && by_one > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const synfire::error& error) {
    std::fprintf(stderr, "%s\n%s\n", error.status_name(), error.what());
    return EXIT_FAILURE;
  }
}

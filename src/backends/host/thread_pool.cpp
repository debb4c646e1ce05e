// The protocol between jobs and workers. Each worker has a word with its state, and whether it sleeps. The submitting
// thread claims idle workers and offers the job to each; at the end it withdraws the offer from workers that have not
// begun, waits for the others, and releases all. A worker belongs to one job from claim to release, so a job can be on
// the stack of the submitting thread. A child after fork() lacks the parent's threads and never touches the pool.
#include "thread_pool.hpp"

#include "host_device.hpp"
#include "processors.hpp"

#include <base/log.hpp>
#include <platform/fork.hpp>
#include <platform/stamp_clock.hpp>
#include <platform/word_wait.hpp>
#include <platform/worker_thread.hpp>

#include <algorithm>
#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace synfire::host {
namespace {

// The state of a worker: the lowest three bits of its word.
constexpr uint32_t idle = 0;      // nothing; anyone may claim it
constexpr uint32_t claimed = 1;   // nothing yet; its job is being written
constexpr uint32_t offered = 2;   // nothing yet; it may begin
constexpr uint32_t working = 3;   // its part of a job
constexpr uint32_t finished = 4;  // done, but its job is not over
constexpr uint32_t ending = 5;    // it returns
constexpr uint32_t doing = 7;     // mask of these
constexpr uint32_t asleep = 8;    // it sleeps on its word, or is about to
constexpr uint32_t awaited = 16;  // the submitting thread sleeps on the word until the worker has finished

// Waking a thread is slow (docs/pages/tuning.md), so waiting threads spin between the operations of a replay. Spinning
// longer would take a processor from other programs between two replays.
constexpr int64_t most_spin_ns = 50'000;

// The parts of a job: threads begin far apart, and get the same blocks in the next job.
constexpr int most_parts = 32;

void pause_processor() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Calls done() until it returns true or the time is up. Reading the clock costs more than reading a word.
template <class Done>
bool spin(int64_t ns, Done done) noexcept {
  if (done()) return true;
  if (ns == 0) return false;
  const int64_t end = core::now_ns() + ns;
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      pause_processor();
    }
  } while (core::now_ns() < end);
  return false;
}

}  // namespace

struct alignas(64) ThreadPool::Worker {
  std::atomic<uint32_t> word{idle};
  Job* job = nullptr;  // owned by the thread that has claimed the worker
  int place = 0;       // in that job: 1 and up
  ThreadPool* pool = nullptr;
  core::WorkerThread thread;
};

struct ThreadPool::Job {
  struct alignas(64) Part {
    std::atomic<int64_t> next;
    int64_t end;
  };

  static constexpr int n_words = max_threads / 64;

  const BlockBody body;
  void* const state;
  ThreadPool& pool;
  int n_parts = 0, n_workers = 0;
  Part parts[most_parts];
  uint64_t team[n_words] = {};                   // claimed for this job
  std::atomic<uint64_t> sleeping[n_words] = {};  // those that have to be woken

  Job(BlockBody b, void* s, ThreadPool& p) noexcept : body(b), state(s), pool(p) {}

  void cut(int64_t n_blocks) noexcept {
    n_parts = std::min(n_workers + 1, most_parts);
    for (int i = 0; i < n_parts; ++i) {
      parts[i].next.store(n_blocks * i / n_parts, std::memory_order_relaxed);
      parts[i].end = n_blocks * (i + 1) / n_parts;
    }
  }

  // Wakes two workers, each of which does the same, so that no thread wakes many.
  void wake_two() noexcept {
    int n_woken = 0;
    for (int i = 0; i < n_words && n_woken < 2; ++i) {
      uint64_t left = sleeping[i].load(std::memory_order_relaxed);
      while (left != 0 && n_woken < 2) {
        const uint64_t lowest = left & -left;
        if (!sleeping[i].compare_exchange_weak(left, left & ~lowest, std::memory_order_relaxed)) continue;
        std::atomic<uint32_t>& word = pool.worker_at(64 * i + std::countr_zero(lowest)).word;
        if (word.fetch_and(~asleep, std::memory_order_relaxed) & asleep) core::wake_all(word);
        left &= ~lowest;
        ++n_woken;
      }
    }
  }

  template <class F>
  void for_each_worker(F f) const {
    for (int i = 0; i < n_words; ++i)
      for (uint64_t left = team[i]; left != 0; left &= left - 1) f(pool.worker_at(64 * i + std::countr_zero(left)));
  }

  // Works on its own part, then on the rest of the others' parts.
  void take_part(int place) noexcept {
    wake_two();
    for (int i = 0; i < n_parts; ++i) {
      Part& part = parts[(place + i) % n_parts];
      while (part.next.load(std::memory_order_relaxed) < part.end) {
        const int64_t block = part.next.fetch_add(1, std::memory_order_relaxed);
        if (block >= part.end) break;
        body(state, block);
      }
    }
  }
};

ThreadPool::Worker& ThreadPool::worker_at(int i) const noexcept {
  return workers_[static_cast<size_t>(i)];
}

ThreadPool::ThreadPool(int n_workers)
    : n_workers_(n_workers), process_(core::fork_generation()), workers_(new Worker[static_cast<size_t>(n_workers)]) {
  for (int i = 0; i < n_workers; ++i) worker_at(i).pool = this;
}

ThreadPool::~ThreadPool() {
  const int n = n_started_.load(std::memory_order_relaxed);
  if (is_from_before_fork()) {
    for (int i = 0; i < n; ++i) worker_at(i).thread.forget();
    return;
  }
  for (int i = 0; i < n; ++i) {
    worker_at(i).word.store(ending, std::memory_order_release);
    core::wake_all(worker_at(i).word);
  }
  for (int i = 0; i < n; ++i) worker_at(i).thread.join();
}

bool ThreadPool::is_from_before_fork() const noexcept {
  return process_ != core::fork_generation();
}

void ThreadPool::start() noexcept {
  if (n_started_.load(std::memory_order_acquire) == n_workers_ || is_from_before_fork() || !starting_.enter()) return;
  int n = n_started_.load(std::memory_order_relaxed);
  // If threads outnumber processors, a spinning thread delays those that it waits for.
  spin_ns_.store(n_workers_ < usable_processors() ? most_spin_ns : 0, std::memory_order_relaxed);
  while (n < n_workers_ && worker_at(n).thread.start(work, &worker_at(n), n + 1)) ++n;
  n_started_.store(n, std::memory_order_release);
  starting_.unlock();
  if (n < n_workers_)
    core::log_message(SYNFIRE_LOG_WARNING, "context: the system refused a thread; %d of %d compute", n + 1,
                      n_workers_ + 1);
}

void ThreadPool::work(void* worker) {
  Worker& self = *static_cast<Worker*>(worker);
  const auto has_news = [&] {
    const uint32_t now = self.word.load(std::memory_order_relaxed) & doing;
    return now == offered || now == ending;
  };
  for (;;) {
    while (!spin(self.pool->spin_ns_.load(std::memory_order_relaxed), has_news)) {
      uint32_t word = self.word.load(std::memory_order_relaxed);
      if ((word & doing) != idle && (word & doing) != finished) continue;  // an offer follows a claim at once
      // Set before the worker sleeps, so that a claiming thread knows; cleared by the waking thread or when it begins.
      if (!(word & asleep) && !self.word.compare_exchange_strong(word, word | asleep, std::memory_order_relaxed))
        continue;
      core::wait_while(self.word, word | asleep);
    }
    uint32_t word = self.word.load(std::memory_order_relaxed);
    if ((word & doing) == ending) return;
    // Unless the offer was withdrawn, or the waking thread interferes.
    if ((word & doing) != offered ||
        !self.word.compare_exchange_strong(word, working, std::memory_order_acquire, std::memory_order_relaxed))
      continue;
    self.job->take_part(self.place);
    if (self.word.exchange(finished, std::memory_order_release) & awaited) core::wake_all(self.word);
  }
}

void ThreadPool::claim(Job& job, int64_t most) noexcept {
  const int n = n_started_.load(std::memory_order_acquire);
  for (int i = 0; i < n && job.n_workers < most; ++i) {
    std::atomic<uint32_t>& word = worker_at(i).word;
    uint32_t before = word.load(std::memory_order_relaxed);
    while ((before & doing) == idle && !word.compare_exchange_weak(before, before | claimed, std::memory_order_acquire,
                                                                   std::memory_order_relaxed)) {
    }
    if ((before & doing) != idle) continue;
    const uint64_t bit = uint64_t{1} << i % 64;
    if (before & asleep)
      job.sleeping[i / 64].store(job.sleeping[i / 64].load(std::memory_order_relaxed) | bit, std::memory_order_relaxed);
    job.team[i / 64] |= bit;
    ++job.n_workers;
    worker_at(i).job = &job;
    worker_at(i).place = job.n_workers;
  }
}

void ThreadPool::let_go(Worker& worker) const noexcept {
  std::atomic<uint32_t>& word = worker.word;
  uint32_t now = word.load(std::memory_order_relaxed);
  while ((now & doing) == offered) {
    const uint32_t taken_back = idle | (now & asleep);
    if (word.compare_exchange_weak(now, taken_back, std::memory_order_release, std::memory_order_relaxed)) return;
  }
  const auto is_finished = [&] { return (word.load(std::memory_order_acquire) & doing) == finished; };
  while (!spin(spin_ns_.load(std::memory_order_relaxed), is_finished)) {
    now = word.load(std::memory_order_relaxed);
    if ((now & doing) != working) continue;
    if (!(now & awaited) && !word.compare_exchange_strong(now, now | awaited, std::memory_order_relaxed)) continue;
    core::wait_while(word, now | awaited);
  }
  word.fetch_and(asleep, std::memory_order_release);
}

void ThreadPool::run(int64_t n_blocks, BlockBody body, void* state) noexcept {
  Job job(body, state, *this);
  if (n_blocks > 1 && !is_from_before_fork()) claim(job, n_blocks - 1);
  if (job.n_workers == 0) {
    for (int64_t block = 0; block < n_blocks; ++block) body(state, block);
    return;
  }
  job.cut(n_blocks);
  job.for_each_worker([](Worker& worker) { worker.word.fetch_add(offered - claimed, std::memory_order_release); });
  job.take_part(0);
  job.for_each_worker([&](Worker& worker) { let_go(worker); });
}

}  // namespace synfire::host

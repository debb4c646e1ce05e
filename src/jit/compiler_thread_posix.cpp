#include "compiler_thread.hpp"

#include "process_stat.hpp"

#include <pthread.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include <atomic>
#include <csignal>
#include <ctime>
#include <new>
#include <utility>

namespace synfire::jit {
namespace {

// The usual size of a main thread. Only touched pages take memory.
constexpr size_t stack_bytes = size_t{16} << 20;

using Clock = std::chrono::steady_clock;

// The arguments of the thread, which may outlive the object.
struct Start {
  std::function<void()> main;
  std::shared_ptr<std::atomic<long>> number;
};

void* run(void* argument) {
  const std::unique_ptr<Start> start(static_cast<Start*>(argument));
#if defined(__linux__)
  start->number->store(::syscall(SYS_gettid));
#endif
  start->main();
  return nullptr;
}

}  // namespace

struct CompilerThread::State {
  pthread_t thread = {};
  std::shared_ptr<std::atomic<long>> number;  // the system's, 0 if it is not known
  Clock::time_point last;
  Used used;
};

CompilerThread::CompilerThread(std::function<void()> main)
    : state_(new State{{}, std::make_shared<std::atomic<long>>(0), Clock::now(), {}}) {
  auto argument = std::make_unique<Start>(Start{std::move(main), state_->number});
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) throw std::bad_alloc();
  pthread_attr_setstacksize(&attributes, stack_bytes);
  // The program's signal handlers do not run on it.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&state_->thread, &attributes, run, argument.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (error != 0) throw std::bad_alloc();
  argument.release();  // NOLINT(bugprone-unused-return-value): the thread has it
}

CompilerThread::~CompilerThread() = default;

void CompilerThread::join() noexcept {
  pthread_join(state_->thread, nullptr);
}

void CompilerThread::detach() noexcept {
  pthread_detach(state_->thread);
}

CompilerThread::Used CompilerThread::look() noexcept {
  State& s = *state_;
  const Clock::time_point now = Clock::now();
  const long number = s.number->load();
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%ld/stat", number);
  const std::optional<ProcessStat> stat = number != 0 ? stat_at(path) : std::nullopt;
  clockid_t clock = {};
  timespec time = {};
  if (stat && pthread_getcpuclockid(s.thread, &clock) == 0 && clock_gettime(clock, &time) == 0)
    s.used.processor = std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  s.used.is_idle = !stat || !stat->is_busy();
  if (s.used.is_idle) s.used.idle += now - s.last;
  s.last = now;
  return s.used;
}

}  // namespace synfire::jit

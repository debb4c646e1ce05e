#include "compiler_thread.hpp"

#include <pthread.h>

#include <csignal>
#include <ctime>
#include <new>
#include <utility>

namespace synfire::jit {
namespace {

// Of address space: pages are used as they are touched. As much as the main thread of a program usually has.
constexpr size_t stack_bytes = size_t{16} << 20;

void* run(void* argument) {
  const std::unique_ptr<std::function<void()>> main(static_cast<std::function<void()>*>(argument));
  (*main)();
  return nullptr;
}

}  // namespace

struct CompilerThread::State {
  pthread_t thread;
  std::chrono::steady_clock::time_point begin;
};

CompilerThread::CompilerThread(std::function<void()> main) : state_(new State{{}, std::chrono::steady_clock::now()}) {
  auto argument = std::make_unique<std::function<void()>>(std::move(main));
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

std::chrono::nanoseconds CompilerThread::processor_time() const noexcept {
  clockid_t clock = {};
  timespec time = {};
  if (pthread_getcpuclockid(state_->thread, &clock) != 0 || clock_gettime(clock, &time) != 0)
    return std::chrono::steady_clock::now() - state_->begin;
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace synfire::jit

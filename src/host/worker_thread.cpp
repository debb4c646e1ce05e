#include "worker_thread.hpp"

#if defined(__linux__)
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <initializer_list>
#else
#include <new>
#include <system_error>
#endif

namespace synfire::host {

#if defined(__linux__)

namespace {

// A backward of f64 keeps 110 KiB on its stack; libraries' thread-local data lie there too.
constexpr size_t stack_bytes = 512 * 1024;

// What a program handles is for its own threads; what a fault raises is for the thread that made it.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&blocked, fault);
    pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

void* WorkerThread::begin(void* self) {
  const auto* const thread = static_cast<WorkerThread*>(self);
  char name[16];  // the most that the system takes
  std::snprintf(name, sizeof name, "synfire-%d", thread->number_);
  pthread_setname_np(pthread_self(), name);
  thread->main_(thread->argument_);
  return nullptr;
}

bool WorkerThread::start(Main main, void* argument, int number) noexcept {
  main_ = main;
  argument_ = argument;
  number_ = number;
  const SignalsBlocked blocked;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, stack_bytes);
  int error = pthread_create(&thread_, &attributes, begin, this);
  pthread_attr_destroy(&attributes);
  // Where the program's thread-local data do not fit into such a stack, one of the usual size must do.
  if (error == EINVAL) error = pthread_create(&thread_, nullptr, begin, this);
  return error == 0;
}

void WorkerThread::join() noexcept {
  pthread_join(thread_, nullptr);
}

void WorkerThread::forget() noexcept {}

#else

bool WorkerThread::start(Main main, void* argument, int) noexcept {
  try {
    thread_ = std::thread(main, argument);
    return true;
  } catch (const std::system_error&) {
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void WorkerThread::join() noexcept {
  thread_.join();
}

void WorkerThread::forget() noexcept {
  thread_.detach();
}

#endif

}  // namespace synfire::host

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
#if defined(_WIN32)
#include <windows.h>
#endif

namespace synfire::core {

#if defined(__linux__)

namespace {

// A backward in f64 uses 110 KiB of stack, and thread-local data of libraries are on the stack too.
constexpr size_t stack_bytes = size_t{512} * 1024;

// Signals that the program handles go to its own threads; a fault's signal goes to the thread that caused it.
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
  char name[16];  // the longest name that the system accepts
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
  // Uses the default size if the program's thread-local data do not fit into this stack.
  if (error == EINVAL) error = pthread_create(&thread_, nullptr, begin, this);
  return error == 0;
}

void WorkerThread::join() noexcept {
  pthread_join(thread_, nullptr);
}

void WorkerThread::forget() noexcept {}

#else

namespace {

// Threads of a context that was not destroyed must not lose the code that they run: on Windows, the library stays
// loaded once it has started a thread. (Elsewhere the linker's "nodelete" sees to that.)
void stay_loaded() noexcept {
#if defined(_WIN32)
  static const char here = 0;
  HMODULE module = nullptr;
  GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                     reinterpret_cast<const wchar_t*>(&here), &module);
#endif
}

}  // namespace

bool WorkerThread::start(Main main, void* argument, int) noexcept {
  stay_loaded();
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

}  // namespace synfire::core

// A thread of the library, with a small stack, the name "synfire-N" and blocked signals.
#ifndef SYNFIRE_PLATFORM_WORKER_THREAD_HPP
#define SYNFIRE_PLATFORM_WORKER_THREAD_HPP

#if defined(__linux__)
#include <pthread.h>
#else
#include <thread>
#endif

namespace synfire::core {

class WorkerThread {
 public:
  using Main = void (*)(void* argument);

  // Returns false if the system refuses. `number` is for the thread's name.
  bool start(Main main, void* argument, int number) noexcept;
  void join() noexcept;
  // For a child after fork(), in which the thread does not exist.
  void forget() noexcept;

 private:
#if defined(__linux__)
  static void* begin(void* self);

  Main main_ = nullptr;
  void* argument_ = nullptr;
  int number_ = 0;
  pthread_t thread_{};
#else
  std::thread thread_;
#endif
};

}  // namespace synfire::core

#endif

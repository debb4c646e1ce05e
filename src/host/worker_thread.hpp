// One thread of a pool: created with a small stack, named "synfire-N", deaf to signals. The one place that knows how
// threads of this platform are made.
#ifndef SYNFIRE_HOST_WORKER_THREAD_HPP
#define SYNFIRE_HOST_WORKER_THREAD_HPP

#if defined(__linux__)
#include <pthread.h>
#else
#include <thread>
#endif

namespace synfire::host {

class WorkerThread {
 public:
  using Main = void (*)(void* argument);

  // False when the system refuses. `number` is for its name.
  bool start(Main main, void* argument, int number) noexcept;
  // Waits until it has ended.
  void join() noexcept;
  // In a child after fork(), where it does not exist.
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

}  // namespace synfire::host

#endif

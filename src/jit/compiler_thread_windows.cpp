#include "compiler_thread.hpp"

#include <new>
#include <system_error>
#include <thread>
#include <utility>

namespace synfire::jit {

struct CompilerThread::State {
  std::chrono::steady_clock::time_point begin;
  std::thread thread;
};

CompilerThread::CompilerThread(std::function<void()> main) : state_(new State{std::chrono::steady_clock::now(), {}}) {
  try {
    state_->thread = std::thread(std::move(main));
  } catch (const std::system_error&) {
    throw std::bad_alloc();
  }
}

CompilerThread::~CompilerThread() = default;

void CompilerThread::join() noexcept {
  state_->thread.join();
}

void CompilerThread::detach() noexcept {
  state_->thread.detach();
}

CompilerThread::Used CompilerThread::look() noexcept {
  return {std::chrono::steady_clock::now() - state_->begin, {}, false};
}

}  // namespace synfire::jit

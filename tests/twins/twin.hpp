// Host twins of kernels: code that computes what a kernel does, from the same argument. In a
// library without device code, a fake CUDA runtime runs them, so that the CUDA backend is tested without a GPU.
#ifndef SYNFIRE_TESTS_TWINS_TWIN_HPP
#define SYNFIRE_TESTS_TWINS_TWIN_HPP

#include <platform/float_environment.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace synfire::cuda {

// The object at the address of a twin.
struct Twin {
  size_t argument_bytes = 0;
  std::function<void(const void*)> run;
  std::function<bool(const void*)> lets_next_begin = {};  // for kernels that can: whether this launch does
};

// The address of a twin; the same for the same key. Each place that makes twins has its own keys.
template <class Launch, class Body>
const void* twin(std::vector<int64_t> key, Body body) {
  static std::mutex mutex;
  static std::map<std::vector<int64_t>, Twin> made;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = made.try_emplace(std::move(key));
  if (is_new) {
    found->second.argument_bytes = sizeof(Launch);
    found->second.run = [body](const void* argument) {
      const core::FloatEnvironment ieee;  // a GPU does not use the caller's environment
      body(*static_cast<const Launch*>(argument));
    };
    if constexpr (requires(const Launch& launch) { launch.next_begins_early; })
      found->second.lets_next_begin = [](const void* argument) {
        return static_cast<const Launch*>(argument)->next_begins_early;
      };
  }
  return &found->second;
}

}  // namespace synfire::cuda

#endif

#include "processors.hpp"

#include "host_device.hpp"

#include <algorithm>
#include <cstdlib>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

namespace synfire::host {
namespace {

#if defined(__linux__)
int processors_in_mask() noexcept {
  for (int most = 1024; most <= 1 << 20; most *= 4) {
    cpu_set_t* const set = CPU_ALLOC(static_cast<size_t>(most));
    if (!set) return 0;
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(most));
    const int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
  return 0;
}
#else
int processors_in_mask() noexcept {
  return 0;
}
#endif

}  // namespace

int usable_processors() noexcept {
  const int count = processors_in_mask();
  return std::max(1, count > 0 ? count : static_cast<int>(std::thread::hardware_concurrency()));
}

int wanted_threads() noexcept {
  // The variable may be a list with one number per level of nesting.
  const char* const text = std::getenv("OMP_NUM_THREADS");
  const long wanted = text ? std::strtol(text, nullptr, 10) : 0;
  return wanted > 0 ? static_cast<int>(std::min<long>(wanted, max_threads)) : usable_processors();
}

}  // namespace synfire::host

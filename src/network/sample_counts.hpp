// Counts of samples over many batches. The device counts in 32 bits, so it must be read in time.
#ifndef SYNFIRE_NETWORK_SAMPLE_COUNTS_HPP
#define SYNFIRE_NETWORK_SAMPLE_COUNTS_HPP

#include <base/function_ref.hpp>

#include <algorithm>
#include <cstdint>

namespace synfire::network {

// Launches n_batches of at most samples_of_batch samples, 2^32 - 1 or fewer; reads and clears the counts in time.
inline void run_counted(int64_t n_batches, int64_t samples_of_batch, core::FunctionRef<void(int64_t)> launch,
                        core::FunctionRef<void()> read_and_clear) {
  const int64_t most = std::max<int64_t>(1, int64_t{UINT32_MAX} / samples_of_batch);
  for (int64_t left = n_batches; left > 0;) {
    const int64_t now = std::min(left, most);
    launch(now);
    read_and_clear();
    left -= now;
  }
}

}  // namespace synfire::network

#endif

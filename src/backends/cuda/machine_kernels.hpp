// The kernels that belong to no operation: one writes a few bytes, one counts replays, one does nothing.
#ifndef SYNFIRE_BACKENDS_CUDA_MACHINE_KERNELS_HPP
#define SYNFIRE_BACKENDS_CUDA_MACHINE_KERNELS_HPP

#include <cstdint>

namespace synfire::cuda {

inline constexpr int small_bytes = 1024;
struct WriteSmallLaunch {
  unsigned char* destination;
  int32_t bytes;
  alignas(8) unsigned char source[small_bytes];
};

// Increments *count and publishes it to host memory after everything before it in the stream.
struct SignalLaunch {
  uint64_t* count;
  uint64_t* published;
};

const void* write_small_kernel();
const void* signal_kernel();
const void* idle_kernel();  // no arguments, no work

}  // namespace synfire::cuda

#endif

// The kernels that fill, copy and add, as the host code sees them.
#ifndef SYNFIRE_OPERATIONS_ELEMENTWISE_ELEMENTWISE_KERNELS_HPP
#define SYNFIRE_OPERATIONS_ELEMENTWISE_ELEMENTWISE_KERNELS_HPP

#include <backends/cuda/device_types.hpp>

namespace synfire::cuda {

// Each thread copies one unit of 16, 4 or 1 bytes, to which both sides are aligned.
inline constexpr int copy_threads = 256;
struct CopyLaunch {
  void* destination;
  const void* source;
  int64_t count;
};

// E is an unsigned integer of the element's size.
template <class E>
struct FillLaunch {
  E* data;
  int64_t count;
  E value;
};

// With a value from device memory.
template <class E>
struct FillValueLaunch {
  E* data;
  int64_t count;
  const uint64_t* bits;
};

struct ScaleAddLaunch {
  const void* source;
  void* destination;
  int64_t count;
  double scale, keep;
  const double* scale_value;
  const double* keep_value;
};

const void* copy_kernel(int unit_bytes);
template <class E>
const void* fill_kernel();
template <class E>
const void* fill_value_kernel();
// Types of numbers whose arithmetic is f32 in any combination, or f64 with f64.
const void* scale_add_kernel(int32_t source, int32_t destination);

}  // namespace synfire::cuda

#endif

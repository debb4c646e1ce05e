// The inner loops of pools, compiled once for each instruction level. R is float or double.
#ifndef SYNFIRE_OPERATIONS_POOL_POOL_HOST_KERNELS_HPP
#define SYNFIRE_OPERATIONS_POOL_POOL_HOST_KERNELS_HPP

#include <backends/host/level.hpp>

#include <cstdint>

namespace synfire::host {

template <class R>
struct PoolLoops {
  // Replaces what is not NaN or above the value, and where it does, writes the place.
  void (*take_larger)(R* most, int64_t* places, const R* values, int64_t place, int count);
  void (*add)(R* sums, const R* values, int64_t count);
  void (*divide)(R* values, R divisor, int count);
};

struct PoolKernels {
  PoolLoops<float> f32;
  PoolLoops<double> f64;
  // sums[i] += min(counts[i], bound).
  void (*add_counts)(int32_t* sums, const uint8_t* counts, int32_t bound, int count);
};

SYNFIRE_LEVEL_TABLES(PoolKernels, pool_kernels)

}  // namespace synfire::host

#endif

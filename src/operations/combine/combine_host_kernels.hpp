// The host kernels of combinations: up to combine_tile neighbouring elements at a time.
#ifndef SYNFIRE_OPERATIONS_COMBINE_COMBINE_HOST_KERNELS_HPP
#define SYNFIRE_OPERATIONS_COMBINE_COMBINE_HOST_KERNELS_HPP

#include "combine_arrays.hpp"

#include <backends/host/level.hpp>

namespace synfire::host {

inline constexpr int combine_tile = 512;

struct CombineTile {
  int64_t step;   // of a time-packed destination: the number of 32 steps
  int64_t row;    // of the batch
  int64_t first;  // element, a multiple of combine_tile
  int count;
};

struct CombineKernels {
  void (*combine)(const operations::CombineArrays& arrays, const CombineTile& at);
  // to[i] = a[i] + b[i]; `to` may be a or b.
  void (*add)(float* to, const float* a, const float* b, int64_t count);
  void (*gradient)(const operations::CombineGradientArrays& arrays, const CombineTile& at);
};
SYNFIRE_LEVEL_TABLES(CombineKernels, combine_kernels)

}  // namespace synfire::host

#endif

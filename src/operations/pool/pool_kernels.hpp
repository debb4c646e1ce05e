// The kernels of pools, as the host code sees them.
#ifndef SYNFIRE_OPERATIONS_POOL_POOL_KERNELS_HPP
#define SYNFIRE_OPERATIONS_POOL_POOL_KERNELS_HPP

#include "pool_shape.hpp"

#include <operations/images.hpp>

namespace synfire::cuda {

using operations::Images;
using operations::PoolShape;

// The elements of a map.
enum class PoolElements : int32_t { bits, counts, f32, f64 };
enum class PoolResult : int32_t { max, sum, mean };

// A thread for each element of the destination; maxima of bits: for each word of it.
struct PoolLaunch {
  PoolShape shape;
  PoolResult result;
  int64_t n_steps, batch;
  PoolElements from, to;
  int32_t bound;
  Images source, destination;
};
const void* pool_words_kernel();
const void* pool_kernel();

// A thread for each element of the source. Maxima have their source.
template <class R>
struct PoolBackwardLaunch {
  PoolShape shape;
  PoolResult result;
  int64_t n_steps, batch;
  PoolElements from;
  int32_t bound;
  Images source, grad_destination, grad_source;
  bool accumulate;
};
template <class R>
const void* pool_backward_kernel();
// A thread for four neighbouring channels of the source, or of the destination if windows lie side by side: their
// strides are their lengths, and nothing is padded. The number of channels is a multiple of four, and where maxima are
// of bits, of 32; arrays of numbers are aligned to four. Maxima of values take windows side by side alone.
inline constexpr int pool_width = 4;
const void* pool_backward_of_four_kernel(bool side_by_side);

}  // namespace synfire::cuda

#endif

// The kernels of upsampling and borders, as the host code sees them.
#ifndef SYNFIRE_OPERATIONS_RESIZE_RESIZE_KERNELS_HPP
#define SYNFIRE_OPERATIONS_RESIZE_RESIZE_KERNELS_HPP

#include "resize_shape.hpp"

#include <operations/images.hpp>

namespace synfire::cuda {

struct ResizeLaunch {
  operations::ResizeShape shape;
  int64_t n_steps, batch;
  operations::Images source, destination;  // of a gradient: what is added, and the sums
  bool accumulate;                         // sums only
};
// A thread for each word of the destination.
const void* resize_words_kernel();
// A thread for each element of the destination. E is uint8_t, float or double.
template <class E>
const void* resize_kernel();
// A thread for each sum.
template <class R>
const void* resize_backward_kernel();

}  // namespace synfire::cuda

#endif

// The kernels that sum gradients in f64, as the host code sees them.
#ifndef SYNFIRE_NEURONS_SUM_GRADIENT_SUM_GRADIENT_KERNELS_HPP
#define SYNFIRE_NEURONS_SUM_GRADIENT_SUM_GRADIENT_KERNELS_HPP

#include <backends/cuda/device_types.hpp>

namespace synfire::cuda {

// A block of threads_per_block lanes per chunk (chunks, total), or a thread per neuron (batch); see
// model/reduction.hpp.
struct ReduceLaunch {
  const double* input;
  double* output;
  int64_t batch;
  int64_t count;
  const int64_t* active;  // how many inputs, from the first on, are summed at most; null: all
  bool add;               // to what the output holds
};

const void* reduce_batch_kernel();
const void* reduce_chunks_kernel();
const void* reduce_total_kernel();

}  // namespace synfire::cuda

#endif

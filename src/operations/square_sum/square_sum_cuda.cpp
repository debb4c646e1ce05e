#include "square_sum_arrays_of.hpp"
#include "square_sum_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

Hints hints(const SquareSum&, const GpuShape&) {
  return {};
}

void enqueue(const SquareSum& op, Launcher& launcher) {
  const SquareSumLaunch launch = {arrays_of(op)};
  const int64_t n_chunks = launch.arrays.n_chunks();
  launcher.launch(op.source.dtype == SYNFIRE_DTYPE_F64 ? square_sum_kernel<double>() : square_sum_kernel<float>(),
                  launcher.over_pieces(n_chunks, model::reduction_lanes), launch);
  if (n_chunks > 1) launcher.launch(square_total_kernel(), {1, model::reduction_lanes}, launch);
}

}  // namespace synfire::operations

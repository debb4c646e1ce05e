#include "twin.hpp"

#include <operations/rate_loss/rates.hpp>
#include <operations/square_sum/square_sum_kernels.hpp>

namespace synfire::cuda {

template <class E>
const void* square_sum_kernel() {
  return twin<SquareSumLaunch>({sizeof(E)}, [](const SquareSumLaunch& launch) {
    const operations::SquareSumArrays& arrays = launch.arrays;
    for (int64_t chunk = 0; chunk < arrays.n_chunks(); ++chunk) {
      operations::LaneSquares squares;
      for (int64_t i = chunk * model::reduction_chunk; i < arrays.end_of(chunk); ++i)
        squares.add(i, static_cast<double>(static_cast<const E*>(arrays.source)[i]));
      arrays.partials[chunk] = squares.sum();
    }
    if (arrays.n_chunks() == 1) arrays.finish(arrays.partials[0]);
  });
}
template const void* square_sum_kernel<float>();
template const void* square_sum_kernel<double>();

const void* square_total_kernel() {
  return twin<SquareSumLaunch>({}, [](const SquareSumLaunch& launch) {
    launch.arrays.finish(model::lane_sum(launch.arrays.partials, launch.arrays.n_chunks()));
  });
}

}  // namespace synfire::cuda

// One byte at a time.
#include "twin.hpp"

#include <operations/gather_rows/gather_rows_kernels.hpp>

namespace synfire::cuda {

const void* gather_rows_kernel(int unit_bytes) {
  return twin<GatherRowsLaunch>({unit_bytes}, [](const GatherRowsLaunch& launch) {
    const operations::GatherArrays& arrays = launch.arrays;
    for (int64_t step = 0; step < arrays.n_steps; ++step)
      for (int64_t row = 0; row < arrays.batch; ++row) {
        const char* const from = arrays.from(step, row);
        char* const to = arrays.to(step, row);
        const uint32_t mask = arrays.mask(step, row);
        for (int64_t i = 0; i < arrays.piece; ++i)
          to[i] = static_cast<char>(from ? static_cast<uint32_t>(from[i]) & (mask >> (8 * (i % 4))) : 0);
      }
  });
}

}  // namespace synfire::cuda

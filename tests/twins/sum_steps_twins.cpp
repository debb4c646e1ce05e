#include "twin.hpp"

#include <operations/sum_steps/sum_steps_kernels.hpp>

namespace synfire::cuda {

template <class R>
const void* sum_steps_kernel() {
  return twin<SumStepsLaunch>({sizeof(R)}, [](const SumStepsLaunch& launch) {
    for (int64_t column = 0; column < launch.arrays.n_columns; ++column)
      operations::sum_column<R>(launch.arrays, column);
  });
}
template const void* sum_steps_kernel<float>();
template const void* sum_steps_kernel<double>();

}  // namespace synfire::cuda

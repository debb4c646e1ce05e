#include "twin.hpp"

#include <operations/running_reduce/running_reduce_kernels.hpp>

namespace synfire::cuda {

template <class E>
const void* running_reduce_kernel() {
  return twin<RunningReduceLaunch>({sizeof(E)}, [](const RunningReduceLaunch& launch) {
    for (int64_t column = 0; column < launch.arrays.n_columns(); ++column)
      operations::continue_column<E>(launch.arrays, column);
  });
}
template const void* running_reduce_kernel<operations::PackedBits>();
template const void* running_reduce_kernel<float>();
template const void* running_reduce_kernel<double>();

}  // namespace synfire::cuda

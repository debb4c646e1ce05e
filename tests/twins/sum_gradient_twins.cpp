#include "twin.hpp"

#include <neurons/sum_gradient/sum_gradient_kernels.hpp>

#include <synfire/model/lane_sum.hpp>

#include <algorithm>

namespace synfire::cuda {

const void* reduce_batch_kernel() {
  return twin<ReduceLaunch>({0}, [](const ReduceLaunch& launch) {
    const int64_t batch = launch.active ? std::min(*launch.active / launch.count, launch.batch) : launch.batch;
    for (int64_t n = 0; n < launch.count; ++n) {
      double sum = 0;
      for (int64_t b = 0; b < batch; ++b) sum += launch.input[b * launch.count + n];
      launch.output[n] = launch.add ? launch.output[n] + sum : sum;
    }
  });
}

const void* reduce_chunks_kernel() {
  return twin<ReduceLaunch>({1}, [](const ReduceLaunch& launch) {
    const int64_t active = launch.active ? std::min(*launch.active, launch.count) : launch.count;
    for (int64_t first = 0, chunk = 0; first < launch.count; first += model::reduction_chunk, ++chunk)
      launch.output[chunk] =
          model::lane_sum(launch.input + first, std::clamp<int64_t>(active - first, 0, model::reduction_chunk));
  });
}

const void* reduce_total_kernel() {
  return twin<ReduceLaunch>({2}, [](const ReduceLaunch& launch) {
    const double sum = model::lane_sum(launch.input, launch.count);
    *launch.output = launch.add ? *launch.output + sum : sum;
  });
}

}  // namespace synfire::cuda

#include <synfire/model/lane_sum.hpp>
#include "twin.hpp"

#include <neurons/sum_gradient/sum_gradient_kernels.hpp>

#include <algorithm>

namespace synfire::cuda {

template <class R>
const void* reduce_batch_kernel() {
  return twin<ReduceLaunch<R>>({}, [](const ReduceLaunch<R>& launch) {
    for (int64_t n = 0; n < launch.count; ++n) {
      double sum = 0;
      for (int64_t b = 0; b < (launch.active ? *launch.active / launch.count : launch.batch); ++b)
        sum += launch.input[b * launch.count + n];
      launch.output[n] = static_cast<R>(launch.add ? static_cast<double>(launch.output[n]) + sum : sum);
    }
  });
}

const void* reduce_chunks_kernel() {
  return twin<ReduceLaunch<double>>({}, [](const ReduceLaunch<double>& launch) {
    const int64_t active = launch.active ? *launch.active : launch.count;
    for (int64_t first = 0, chunk = 0; first < launch.count; first += model::reduction_chunk, ++chunk)
      launch.output[chunk] =
          model::lane_sum(launch.input + first, std::clamp<int64_t>(active - first, 0, model::reduction_chunk));
  });
}

template <class R>
const void* reduce_total_kernel() {
  return twin<ReduceLaunch<R>>({}, [](const ReduceLaunch<R>& launch) {
    const double sum = model::lane_sum(launch.input, launch.count);
    *launch.output = static_cast<R>(launch.add ? static_cast<double>(*launch.output) + sum : sum);
  });
}

template const void* reduce_batch_kernel<float>();
template const void* reduce_batch_kernel<double>();
template const void* reduce_total_kernel<float>();
template const void* reduce_total_kernel<double>();

}  // namespace synfire::cuda

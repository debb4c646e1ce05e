#include "group_mean_kernels.hpp"

#include <backends/cuda/cuda_storage.cuh>

#include <synfire/synfire.h>

namespace synfire::cuda {
namespace {

using operations::GroupMeanArrays;

// Adds the elements of a group in ascending order. Several are loaded before the first is added.
template <class R, class First, class... Rest>
__device__ __forceinline__ R sum_of(core::ElementTypes<First, Rest...>, const GroupMeanArrays& arrays, int64_t first) {
  if constexpr (sizeof...(Rest) > 0)
    if (arrays.from_dtype != core::dtype_of<First>) return sum_of<R>(core::ElementTypes<Rest...>{}, arrays, first);
  const First* const from = static_cast<const First*>(arrays.from) + first;
  R sum = R(0);
#pragma unroll 8
  for (int64_t i = 0; i < arrays.size; ++i) sum = sum + static_cast<R>(decode(from[i]));
  return sum;
}

template <class To>
__global__ void __launch_bounds__(threads_per_block) group_mean(const __grid_constant__ GroupMeanLaunch launch) {
  wait_for_previous();
  using R = Arithmetic<To>;
  const GroupMeanArrays& arrays = launch.arrays;
  for (int64_t index = first_element(); index < arrays.n_steps * arrays.n_groups; index += stride()) {
    const int64_t step = index / arrays.n_groups, group = index - step * arrays.n_groups;
    const R sum = sum_of<R>(NumberTypesBeside<R>{}, arrays, step * arrays.from_pitch + group * arrays.size);
    static_cast<To*>(arrays.to)[step * arrays.to_pitch + group] = encode<To, R>(sum / static_cast<R>(arrays.size));
  }
}

template <class To>
__global__ void __launch_bounds__(threads_per_block)
    group_mean_gradient(const __grid_constant__ GroupMeanLaunch launch) {
  wait_for_previous();
  using R = Arithmetic<To>;
  const GroupMeanArrays& arrays = launch.arrays;
  const int64_t per_step = arrays.n_elements();
  for (int64_t index = first_element(); index < arrays.n_steps * per_step; index += stride()) {
    const int64_t step = index / per_step, element = index - step * per_step;
    const R gradient = number_at<R>(NumberTypesBeside<R>{}, arrays.from_dtype, arrays.from,
                                    step * arrays.from_pitch + element / arrays.size) /
                       static_cast<R>(arrays.size);
    To& to = static_cast<To*>(arrays.to)[step * arrays.to_pitch + element];
    to = encode<To, R>(arrays.add ? static_cast<R>(decode(to)) + gradient : gradient);
  }
}

}  // namespace

const void* group_mean_kernel(int32_t dtype) {
  return core::with_element_type(NumberTypes{}, dtype,
                                 [](auto type) { return address(group_mean<typename decltype(type)::Type>); });
}
const void* group_mean_gradient_kernel(int32_t dtype) {
  return core::with_element_type(NumberTypes{}, dtype,
                                 [](auto type) { return address(group_mean_gradient<typename decltype(type)::Type>); });
}

}  // namespace synfire::cuda

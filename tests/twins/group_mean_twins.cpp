#include "twin.hpp"

#include <base/dtype.hpp>
#include <operations/group_mean/group_mean_kernels.hpp>

#include <cstring>

namespace synfire::cuda {
namespace {

using operations::GroupMeanArrays;

template <class R>
R number_of(int32_t dtype, const void* data, int64_t at) {
  const uint64_t size = core::bytes_of_dtype(dtype);
  uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const char*>(data) + static_cast<uint64_t>(at) * size, size);
  return static_cast<R>(core::element_value(dtype, bits));
}
template <class R>
void set_number(int32_t dtype, void* data, int64_t at, R value) {
  const uint64_t size = core::bytes_of_dtype(dtype), bits = core::element_bits(dtype, static_cast<double>(value));
  std::memcpy(static_cast<char*>(data) + static_cast<uint64_t>(at) * size, &bits, size);
}

template <class R>
void means(const GroupMeanArrays& arrays) {
  for (int64_t t = 0; t < arrays.n_steps; ++t)
    for (int64_t group = 0; group < arrays.n_groups; ++group) {
      R sum = 0;
      for (int64_t i = 0; i < arrays.size; ++i)
        sum = sum + number_of<R>(arrays.from_dtype, arrays.from, t * arrays.from_pitch + group * arrays.size + i);
      set_number(arrays.to_dtype, arrays.to, t * arrays.to_pitch + group, sum / static_cast<R>(arrays.size));
    }
}

template <class R>
void gradients(const GroupMeanArrays& arrays) {
  for (int64_t t = 0; t < arrays.n_steps; ++t)
    for (int64_t i = 0; i < arrays.n_elements(); ++i) {
      const int64_t at = t * arrays.to_pitch + i;
      const R share = number_of<R>(arrays.from_dtype, arrays.from, t * arrays.from_pitch + i / arrays.size) /
                      static_cast<R>(arrays.size);
      const R held = arrays.add ? number_of<R>(arrays.to_dtype, arrays.to, at) : R(0);
      set_number(arrays.to_dtype, arrays.to, at, arrays.add ? held + share : share);
    }
}

}  // namespace

const void* group_mean_kernel(int32_t dtype) {
  return twin<GroupMeanLaunch>({0, dtype}, [](const GroupMeanLaunch& launch) {
    if (launch.arrays.to_dtype == SYNFIRE_DTYPE_F64) return means<double>(launch.arrays);
    means<float>(launch.arrays);
  });
}
const void* group_mean_gradient_kernel(int32_t dtype) {
  return twin<GroupMeanLaunch>({1, dtype}, [](const GroupMeanLaunch& launch) {
    if (launch.arrays.to_dtype == SYNFIRE_DTYPE_F64) return gradients<double>(launch.arrays);
    gradients<float>(launch.arrays);
  });
}

}  // namespace synfire::cuda

// The bytes of integers in planes, four at a time.
#ifndef SYNFIRE_SYNAPSES_DENSE_PLANES_CUH
#define SYNFIRE_SYNAPSES_DENSE_PLANES_CUH

#include <backends/cuda/grid_scale.cuh>

#include <cstdint>

namespace synfire::cuda {
namespace {

// Word `plane` has byte `plane` of each integer, the first lowest. Three planes, or four.
template <int n_planes>
__device__ __forceinline__ void bytes_of_planes(const int32_t (&values)[4], uint32_t (&planes)[n_planes]) {
  const auto a = static_cast<uint32_t>(values[0]), b = static_cast<uint32_t>(values[1]),
             c = static_cast<uint32_t>(values[2]), d = static_cast<uint32_t>(values[3]);
  const uint32_t low_ab = __byte_perm(a, b, 0x5140), low_cd = __byte_perm(c, d, 0x5140);
  planes[0] = __byte_perm(low_ab, low_cd, 0x5410);
  planes[1] = __byte_perm(low_ab, low_cd, 0x7632);
  const uint32_t high_ab = __byte_perm(a, b, 0x7362), high_cd = __byte_perm(c, d, 0x7362);
  planes[2] = __byte_perm(high_ab, high_cd, 0x5410);
  if constexpr (n_planes == 4) planes[3] = __byte_perm(high_ab, high_cd, 0x7632);
}

}  // namespace
}  // namespace synfire::cuda

#endif

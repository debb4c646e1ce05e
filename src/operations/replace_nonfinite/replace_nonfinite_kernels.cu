// Each thread copies elements one by one and counts the replaced ones; each block adds its count once.
#include "replace_nonfinite_kernels.hpp"

#include <backends/cuda/cuda_storage.cuh>

namespace synfire::cuda {
namespace {

using operations::ReplaceNonfiniteArguments;

constexpr int warp = 32, n_warps = threads_per_block / warp;

__device__ __forceinline__ unsigned long long block_sum(unsigned long long value) {
  __shared__ unsigned long long sums[n_warps];
  const int lane = static_cast<int>(threadIdx.x) % warp, index = static_cast<int>(threadIdx.x) / warp;
  for (int distance = warp / 2; distance > 0; distance /= 2) value += __shfl_down_sync(~0u, value, distance);
  if (lane == 0) sums[index] = value;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int i = 1; i < n_warps; ++i) value += sums[i];
  return value;
}

template <class Word>
__global__ void __launch_bounds__(threads_per_block)
    replace_nonfinite(const __grid_constant__ ReplaceNonfiniteLaunch launch) {
  wait_for_previous();
  const ReplaceNonfiniteArguments& a = launch.arguments;
  const auto* const source = static_cast<const Word*>(a.source);
  auto* const destination = static_cast<Word*>(a.destination);
  const bool padded = a.source_pitch != a.row || a.destination_pitch != a.row;
  unsigned long long count = 0;
  for (int64_t i = first_element(); i < a.n_elements; i += stride()) {
    const int64_t step = padded ? i / a.row : 0, column = i - step * a.row;
    const Word bits = source[step * a.source_pitch + column];
    const bool keep = operations::is_finite(bits, static_cast<Word>(a.exponent));
    destination[step * a.destination_pitch + column] = keep ? bits : Word{0};
    count += keep ? 0 : 1;
  }
  count = block_sum(count);
  if (threadIdx.x != 0) return;
  if (!launch.adds)
    *a.count = count;
  else if (count > 0)
    atomicAdd(reinterpret_cast<unsigned long long*>(a.count), count);
}

}  // namespace

const void* replace_nonfinite_kernel(int element_bytes) {
  switch (element_bytes) {
    case 2:
      return address(replace_nonfinite<uint16_t>);
    case 4:
      return address(replace_nonfinite<uint32_t>);
    default:
      return address(replace_nonfinite<uint64_t>);
  }
}

}  // namespace synfire::cuda

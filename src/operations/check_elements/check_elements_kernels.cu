// CUB's minimum over the indices of refused elements. An item of the reduction is a chunk of 16 bytes, whose value is
// its first such index: one instance serves elements of any size, and the count fits the 32 bits of every CUB.
#define CCCL_DISABLE_NVTX  // the operation has a range of its own

#include "check_elements_kernels.hpp"
#include "chunks.hpp"

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_reduce.cuh>

namespace synfire::cuda {
namespace {

using operations::CheckElementsArguments;
using Index = unsigned long long;

// Not inlined, because CUB unrolls its loops over items.
__device__ __noinline__ Index first_of(const CheckElementsArguments& arguments, int64_t chunk) {
  return operations::first_in_chunk(arguments, chunk);
}

struct Smaller {
  __host__ __device__ Index operator()(Index a, Index b) const { return a < b ? a : b; }
};

struct FirstOfChunk {
  CheckElementsLaunch launch;

  __device__ Index operator()(int32_t item) const {
    const Index here = first_of(launch.arguments, launch.first_chunk + item);
    // CUB writes its result when all items have been read.
    return item == 0 && !launch.is_first ? Smaller{}(here, *launch.found) : here;
  }
};

}  // namespace

cudaError_t find_refused(const CheckElementsLaunch& launch, void* workspace, size_t workspace_bytes,
                         cudaStream_t stream) {
  const auto items = thrust::make_transform_iterator(thrust::counting_iterator<int32_t>(0), FirstOfChunk{launch});
  return cub::DeviceReduce::Reduce(workspace, workspace_bytes, items, reinterpret_cast<Index*>(launch.found),
                                   launch.n_chunks, Smaller{}, Index{operations::nothing_refused}, stream);
}

}  // namespace synfire::cuda

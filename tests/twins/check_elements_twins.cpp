#include "twin.hpp"

#include <backends/cuda/api.hpp>
#include <operations/check_elements/check_elements_kernels.hpp>
#include <operations/check_elements/chunks.hpp>

#include <algorithm>

namespace synfire::cuda {

cudaError_t find_refused(const CheckElementsLaunch& launch, void* workspace, size_t workspace_bytes,
                         cudaStream_t stream) {
  if (!workspace || workspace_bytes == 0) return cudaErrorInvalidValue;
  const void* const search = twin<CheckElementsLaunch>({}, [](const CheckElementsLaunch& part) {
    uint64_t here = operations::nothing_refused;
    for (int64_t i = 0; i < part.n_chunks && here == operations::nothing_refused; ++i)
      here = operations::first_in_chunk(part.arguments, part.first_chunk + i);
    *part.found = part.is_first ? here : std::min(here, *part.found);
  });
  CheckElementsLaunch argument = launch;
  void* parameters[] = {&argument};
  const cudaError_t error = api().launch_kernel(search, dim3(1), dim3(1), parameters, 0, stream);
  // As CUB, which returns an error that was pending as its own.
  const cudaError_t pending = api().get_last_error();
  return error != cudaSuccess ? error : pending;
}

}  // namespace synfire::cuda

// The search of a GPU, as the host code sees it: an algorithm of CUB.
#ifndef SYNFIRE_OPERATIONS_CHECK_ELEMENTS_CHECK_ELEMENTS_KERNELS_HPP
#define SYNFIRE_OPERATIONS_CHECK_ELEMENTS_CHECK_ELEMENTS_KERNELS_HPP

#include "check_elements_arguments.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>

namespace synfire::cuda {

struct CheckElementsLaunch {
  operations::CheckElementsArguments arguments;
  int64_t first_chunk;  // chunks.hpp
  int32_t n_chunks;
  bool is_first;    // else the smaller of what is found and of what was
  uint64_t* found;  // the smallest index of a refused element in the chunks, or nothing_refused
};

// Enqueues the search. A workspace in device memory that is too small is cudaErrorInvalidValue. Calls functions of the
// CUDA runtime that are not in the table (backends/cuda/api.hpp): see Launcher::call_library().
cudaError_t find_refused(const CheckElementsLaunch& launch, void* workspace, size_t workspace_bytes,
                         cudaStream_t stream);

}  // namespace synfire::cuda

#endif

// Functions of the driver API, found through the runtime: the tests do not link the driver.
#ifndef SYNFIRE_TESTS_GPU_DRIVER_FUNCTION_HPP
#define SYNFIRE_TESTS_GPU_DRIVER_FUNCTION_HPP

#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#if CUDART_VERSION >= 12050

// As it was in CUDA 12.0, which is what cuda.h declares under a plain name. Newer ones may take more arguments:
// cuStreamGetCtx of 12.5 writes through a third one.
template <class F>
F driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
  EXPECT_EQ(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &status), cudaSuccess);
  EXPECT_EQ(status, cudaDriverEntryPointSuccess) << name;
  return reinterpret_cast<F>(found);
}

#endif

#endif

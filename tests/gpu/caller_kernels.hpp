// Kernels of a program that uses Synfire, for tests.
#ifndef SYNFIRE_TESTS_GPU_CALLER_KERNELS_HPP
#define SYNFIRE_TESTS_GPU_CALLER_KERNELS_HPP

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace caller {

cudaError_t load_kernels();
// data[i] = data[i] * factor + summand
cudaError_t multiply_add(float* data, size_t n, float factor, float summand, cudaStream_t stream);
// Runs for about this long, on one multiprocessor.
cudaError_t busy(int64_t nanoseconds, cudaStream_t stream);
// One block that does nothing.
cudaError_t nothing(cudaStream_t stream);
// Writes to an invalid address: the context is lost afterwards.
cudaError_t illegal_write(cudaStream_t stream);

}  // namespace caller

#endif

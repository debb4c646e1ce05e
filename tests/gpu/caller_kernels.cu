#include "caller_kernels.hpp"

namespace caller {
namespace {

__global__ void multiply_add_kernel(float* data, size_t n, float factor, float summand) {
  const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i < n) data[i] = data[i] * factor + summand;
}

__global__ void busy_kernel(int64_t nanoseconds) {
  for (int64_t waited = 0; waited < nanoseconds; waited += 1000) __nanosleep(1000);
}

__global__ void nothing_kernel() {}

__global__ void illegal_write_kernel(volatile int* address) {
  *address = 1;
}

}  // namespace

cudaError_t load_kernels() {
  cudaFuncAttributes attributes;
  for (const void* kernel :
       {reinterpret_cast<const void*>(multiply_add_kernel), reinterpret_cast<const void*>(busy_kernel),
        reinterpret_cast<const void*>(nothing_kernel), reinterpret_cast<const void*>(illegal_write_kernel)})
    if (const cudaError_t error = cudaFuncGetAttributes(&attributes, kernel); error != cudaSuccess) return error;
  return cudaSuccess;
}

cudaError_t multiply_add(float* data, size_t n, float factor, float summand, cudaStream_t stream) {
  multiply_add_kernel<<<static_cast<unsigned>((n + 127) / 128), 128, 0, stream>>>(data, n, factor, summand);
  return cudaGetLastError();
}
cudaError_t busy(int64_t nanoseconds, cudaStream_t stream) {
  busy_kernel<<<1, 1, 0, stream>>>(nanoseconds);
  return cudaGetLastError();
}
cudaError_t nothing(cudaStream_t stream) {
  nothing_kernel<<<1, 32, 0, stream>>>();
  return cudaGetLastError();
}
cudaError_t illegal_write(cudaStream_t stream) {
  illegal_write_kernel<<<1, 1, 0, stream>>>(reinterpret_cast<volatile int*>(uintptr_t{16}));
  return cudaGetLastError();
}

}  // namespace caller

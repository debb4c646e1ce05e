// The first line of every kernel.
#ifndef SYNFIRE_CUDA_WAIT_CUH
#define SYNFIRE_CUDA_WAIT_CUH

namespace synfire::cuda {
namespace {

// A replay may launch a kernel while the one in front of it still runs (DeviceState::programmatic_launches): nothing
// that one wrote may be read, nor anything that it reads be written, before this returns. Without such a launch it does
// nothing.
__device__ __forceinline__ void wait_for_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

}  // namespace
}  // namespace synfire::cuda

#endif

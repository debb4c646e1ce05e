// How kernels that overlap stay in order: what each does first, and how one lets the next come early.
#ifndef SYNFIRE_CUDA_WAIT_CUH
#define SYNFIRE_CUDA_WAIT_CUH

namespace synfire::cuda {
namespace {

// The first line of every kernel. A replay may launch a kernel while the one in front of it still runs
// (DeviceState::programmatic_launches): nothing that one wrote may be read, nor anything that it reads be written,
// before this returns. Without such a launch it does nothing.
__device__ __forceinline__ void wait_for_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

// The next kernel, launched programmatically, comes onto the GPU as soon as every block of this one has begun and there
// is room, and waits there; otherwise it comes when this one has ended. Only behind wait_for_previous(), so that there
// are never more than two.
__device__ __forceinline__ void let_next_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

}  // namespace
}  // namespace synfire::cuda

#endif

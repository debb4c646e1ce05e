// Keeps overlapping kernels in order.
#ifndef SYNFIRE_BACKENDS_CUDA_WAIT_CUH
#define SYNFIRE_BACKENDS_CUDA_WAIT_CUH

namespace synfire::cuda {
namespace {

// The first line of every kernel, which a replay may launch while the previous one runs
// (DeviceState::programmatic_launches): until this returns, it must not read what that one writes, nor write what it
// reads.
__device__ __forceinline__ void wait_for_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#if defined(__CUDACC_RTC__)
  asm volatile("griddepcontrol.wait;" ::: "memory");  // which this function is; run-time compilers do not know it
#else
  cudaGridDependencySynchronize();
#endif
#endif
}

// Lets the next kernel, if launched programmatically, start once every block of this one has begun and there is room;
// it then waits on the GPU. Called only after wait_for_previous(), so that at most two kernels overlap.
__device__ __forceinline__ void let_next_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#if defined(__CUDACC_RTC__)
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#else
  cudaTriggerProgrammaticLaunchCompletion();
#endif
#endif
}

}  // namespace
}  // namespace synfire::cuda

#endif

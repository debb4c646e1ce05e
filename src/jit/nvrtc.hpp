// NVIDIA's run-time compiler, libnvrtc, loaded at its first use. It needs no CUDA toolkit: texts bring their headers.
#ifndef SYNFIRE_JIT_NVRTC_HPP
#define SYNFIRE_JIT_NVRTC_HPP

#include "progress.hpp"

#include <string>
#include <vector>

namespace synfire::jit {

struct DeviceCode {
  std::string code;                // a cubin for the GPU, or PTX if the compiler is older than the GPU
  std::vector<std::string> names;  // of the kernels in it, in the order of the expressions
};

void require_nvrtc();
// The compiler's version and the architecture for a GPU, as part of a cache key.
std::string nvrtc_target(int compute_major, int compute_minor);
// Compiles kernels, each named by a C++ expression. Throws SYN-MODEL-COMPILE, -COMPILER, -TIME or -CANCELLED.
DeviceCode compile_for_gpu(const std::string& source, const std::vector<std::string>& expressions, int compute_major,
                           int compute_minor, const std::string& known_as, Progress& progress);

}  // namespace synfire::jit

#endif

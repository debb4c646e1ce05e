// NVIDIA's run-time compiler, loaded at its first use: libnvrtc and, by it, its builtins. Nothing else of a CUDA
// toolkit is needed: the texts include no header that they do not bring along.
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

// Throws SYN-MODEL-COMPILER unless the compiler can be loaded.
void require_nvrtc();
// Its version and the architecture that a GPU's code is made for, as part of a cache's key.
std::string nvrtc_target(int compute_major, int compute_minor);
// Compiles kernels, each named by an expression of C++. Throws a Failure: SYN-MODEL-COMPILE, -COMPILER, -TIME,
// -CANCELLED.
DeviceCode compile_for_gpu(const std::string& source, const std::vector<std::string>& expressions, int compute_major,
                           int compute_minor, const std::string& known_as, Progress& progress);

}  // namespace synfire::jit

#endif

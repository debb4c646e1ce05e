// cublas_cuda.cpp - opens cuBLAS and measures its products.
//
// SPDX-License-Identifier: MIT
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>

#include "cublas.hpp"
#include "inputs.hpp"
#include "timing.hpp"

namespace synfire_bench {
namespace {

// The part of cublas_api.h that is needed here.
using Handle = void*;
constexpr int no_transpose = 0, transpose = 1;
constexpr int default_math = 0, tf32_math = 3;

void check_cuda(cudaError_t error, const char* call) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(error));
}

void check_cublas(int status, const char* call) {
  if (status != 0) throw std::runtime_error(std::string(call) + " returned " + std::to_string(status));
}

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;
constexpr int passes_of_a_graph = 10;

}  // namespace

struct Cublas::Parts {
  void* library = nullptr;
  Handle handle = nullptr;
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
  int (*destroy)(Handle) = nullptr;
  int (*set_math_mode)(Handle, int) = nullptr;
  int (*sgemm)(Handle, int, int, int, int, int, const float*, const float*, int, const float*, int, const float*,
               float*, int) = nullptr;

  template <class Function>
  bool find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
  }
  bool open() {
    for (const char* const name : {"libcublas.so.13", "libcublas.so", "/usr/local/cuda/lib64/libcublas.so.13"})
      if ((library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) != nullptr) break;
    if (!library) return false;
    int (*create)(Handle*) = nullptr;
    int (*set_stream)(Handle, cudaStream_t) = nullptr;
    int (*set_workspace)(Handle, void*, std::size_t) = nullptr;
    if (!find(create, "cublasCreate_v2") || !find(destroy, "cublasDestroy_v2") ||
        !find(set_stream, "cublasSetStream_v2") || !find(set_workspace, "cublasSetWorkspace_v2") ||
        !find(set_math_mode, "cublasSetMathMode") || !find(sgemm, "cublasSgemm_v2"))
      return false;
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    check_cuda(cudaMalloc(&workspace, workspace_bytes), "cudaMalloc");
    check_cublas(create(&handle), "cublasCreate");
    check_cublas(set_stream(handle, stream), "cublasSetStream");
    check_cublas(set_workspace(handle, workspace, workspace_bytes), "cublasSetWorkspace");
    return true;
  }
  ~Parts() {
    if (handle) destroy(handle);
    cudaFree(workspace);
    if (stream) cudaStreamDestroy(stream);
    if (library) dlclose(library);
  }

  // Row-major arrays are column-major ones with rows and columns exchanged.
  void enqueue(const Product& product, const float* from, float* to) const {
    const float one = 1, zero = 0;
    const auto m = static_cast<int>(product.m), n = static_cast<int>(product.n), k = static_cast<int>(product.k);
    int status = 0;
    switch (product.operands) {
      case Product::Operands::forward:  // y [m, n] = x [m, k] times w [n, k], transposed
        status = sgemm(handle, transpose, no_transpose, n, m, k, &one, from, k, from, k, &zero, to, n);
        break;
      case Product::Operands::weights:  // dw [m, n] = dy [k, m], transposed, times x [k, n]
        status = sgemm(handle, no_transpose, transpose, n, m, k, &one, from, n, from, m, &zero, to, n);
        break;
      case Product::Operands::input:  // dx [m, n] = dy [m, k] times w [k, n]
        status = sgemm(handle, no_transpose, no_transpose, n, m, k, &one, from, n, from, k, &zero, to, n);
        break;
    }
    check_cublas(status, "cublasSgemm");
  }
};

Cublas::Cublas(const Machine& machine) {
  if (machine.is_host()) return;
  check_cuda(cudaSetDevice(machine.properties().device), "cudaSetDevice");
  auto parts = std::make_unique<Parts>();
  if (parts->open()) parts_ = std::move(parts);
}

Cublas::~Cublas() = default;

double Cublas::measure(const std::vector<Product>& products, bool tf32, std::uint32_t samples) {
  if (!parts_ || products.empty()) return std::numeric_limits<double>::quiet_NaN();
  Parts& p = *parts_;
  std::uint64_t operand = 0, result = 0;
  for (const Product& product : products) {
    operand = std::max({operand, product.m * product.k, product.n * product.k});
    result = std::max(result, product.m * product.n);
  }
  float *from = nullptr, *to = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  std::vector<double> seconds;
  check_cuda(cudaMalloc(&from, operand * sizeof *from), "cudaMalloc");
  check_cuda(cudaMalloc(&to, result * sizeof *to), "cudaMalloc");
  const std::vector<float> numbers = random_numbers(operand, -1, 1, seed_of_x);
  check_cuda(cudaMemcpy(from, numbers.data(), operand * sizeof *from, cudaMemcpyHostToDevice), "cudaMemcpy");
  check_cublas(p.set_math_mode(p.handle, tf32 ? tf32_math : default_math), "cublasSetMathMode");
  for (const Product& product : products) p.enqueue(product, from, to);  // loads the kernels
  check_cuda(cudaStreamSynchronize(p.stream), "cudaStreamSynchronize");
  check_cuda(cudaStreamBeginCapture(p.stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  for (int pass = 0; pass < passes_of_a_graph; ++pass)
    for (const Product& product : products) p.enqueue(product, from, to);
  check_cuda(cudaStreamEndCapture(p.stream, &graph), "cudaStreamEndCapture");
  check_cuda(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  std::uint64_t launches = 1;
  const auto sample = [&] {
    const double begin = now();
    for (std::uint64_t i = 0; i < launches; ++i) check_cuda(cudaGraphLaunch(executable, p.stream), "cudaGraphLaunch");
    check_cuda(cudaStreamSynchronize(p.stream), "cudaStreamSynchronize");
    return now() - begin;
  };
  for (int i = 0; i < 3; ++i)
    launches = 1 + static_cast<std::uint64_t>(static_cast<double>(launches) * 3e-3 / sample());
  for (std::uint32_t i = 0; i < samples; ++i)
    seconds.push_back(sample() / static_cast<double>(launches * passes_of_a_graph));
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaFree(from);
  cudaFree(to);
  std::sort(seconds.begin(), seconds.end());
  return quantile(seconds, 0.5);
}

}  // namespace synfire_bench

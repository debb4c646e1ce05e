#include "cuda_launcher.hpp"

#include "machine_kernels.hpp"
#include "scope.hpp"

#include <base/error.hpp>

#include <algorithm>
#include <cstring>
#include <system_error>
#include <thread>

namespace synfire::cuda {

namespace {

// Calls f on a thread without a pending error, in the current context, and waits for it.
template <class F>
void on_other_thread(F& f) {
  DriverContext* context = nullptr;
  api().context_get_current(&context);
  const auto main = [&] {
    const CurrentContext current(context);
    f();
  };
  try {
    std::thread(main).join();
  } catch (const std::system_error&) {
    core::fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-MEMORY-HOST", "the system has no thread for this call");
  }
}

}  // namespace

uint32_t Launcher::blocks(int64_t wanted) const noexcept {
  return static_cast<uint32_t>(std::clamp<int64_t>(wanted, 1, int64_t{16} * gpu_.n_multiprocessors));
}

void Launcher::launch_kernel(const void* kernel, const Grid& grid, const void* arguments) {
  // Above this, a kernel must opt in; only f64 layers with two variables or gradients of parameters need it.
  constexpr uint32_t shared_bytes_unasked = 48 * 1024;
  if (grid.shared_bytes > shared_bytes_unasked)
    check(api().func_set_attribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(grid.shared_bytes)),
          "cudaFuncSetAttribute");
  if (purpose_ == Purpose::load) {
    cudaFuncAttributes attributes;
    return check(api().func_get_attributes(&attributes, kernel), "cudaFuncGetAttributes");
  }
  if (n_nodes_) ++*n_nodes_;
  void* parameters[] = {const_cast<void*>(arguments)};
  if (!place_.programmatic && grid.shared_percent == 0) {
    check(api().launch_kernel(kernel, dim3(grid.n_blocks, 1, 1), dim3(grid.n_threads, 1, 1), parameters,
                              grid.shared_bytes, place_.stream),
          "cudaLaunchKernel");
    return;
  }
  cudaLaunchAttribute attributes[2] = {};
  unsigned int n_attributes = 0;
  if (place_.programmatic) {
    cudaLaunchAttribute& attribute = attributes[n_attributes++];
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
  }
#if CUDART_VERSION >= 12050
  if (grid.shared_percent > 0) {
    cudaLaunchAttribute& attribute = attributes[n_attributes++];
    attribute.id = cudaLaunchAttributePreferredSharedMemoryCarveout;
    attribute.val.sharedMemCarveout = static_cast<unsigned int>(grid.shared_percent);
  }
#endif
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(grid.n_blocks, 1, 1);
  config.blockDim = dim3(grid.n_threads, 1, 1);
  config.dynamicSmemBytes = grid.shared_bytes;
  config.stream = place_.stream;
  config.attrs = attributes;
  config.numAttrs = n_attributes;
  check(api().launch_kernel_with_attributes(&config, kernel, parameters), "cudaLaunchKernelExC");
}

void Launcher::copy(void* destination, const void* source, uint64_t bytes) {
  if (purpose_ == Purpose::load) return;  // a copy node has no code to load
  if (n_nodes_) ++*n_nodes_;
  check(api().memcpy_async(destination, source, bytes, cudaMemcpyDefault, place_.stream), "cudaMemcpyAsync");
}

void Launcher::write_small(void* destination, const void* source, uint64_t bytes) {
  WriteSmallLaunch arguments = {static_cast<unsigned char*>(destination), static_cast<int32_t>(bytes), {}};
  std::memcpy(arguments.source, source, bytes);
  launch(write_small_kernel(), {1}, arguments);
}

void Launcher::call(core::FunctionRef<void(synfire_stream, uint32_t)> body) {
  if (purpose_ == Purpose::load) return;
  n_nodes_.reset();
  DriverContext* ours = nullptr;
  api().context_get_current(&ours);
  {
    const RelaxedCapture relaxed;
    body(place_.stream, place_.slot);
  }
  api().context_set_current(ours);
}

void Launcher::call_library(const char* name, core::FunctionRef<cudaError_t(cudaStream_t)> body) {
  if (purpose_ == Purpose::load) return;
  n_nodes_.reset();
  cudaError_t error = cudaSuccess;
  const auto call = [&] {
    const RelaxedCapture relaxed;  // it may load kernels
    error = body(place_.stream);
  };
  if (api().peek_at_last_error() == cudaSuccess)
    call();
  else
    on_other_thread(call);
  check(error, name);
}

void enqueue_write_small(void* destination, const void* source, uint64_t bytes, cudaStream_t stream) {
  const GpuShape any = {};
  Launcher(any, Launcher::Purpose::run, {stream}).write_small(destination, source, bytes);
}

void enqueue_signal(uint64_t* count, uint64_t* published, const Launcher::Place& place) {
  const GpuShape any = {};
  Launcher(any, Launcher::Purpose::run, place).launch(signal_kernel(), {1, 1}, SignalLaunch{count, published});
}

void load_signal() {
  const GpuShape any = {};
  Launcher(any, Launcher::Purpose::load, {}).launch(signal_kernel(), {1, 1}, SignalLaunch{});
}

int code_version() {
  cudaFuncAttributes attributes = {};
  check(api().func_get_attributes(&attributes, signal_kernel()), "cudaFuncGetAttributes");
  return std::min(attributes.ptxVersion, attributes.binaryVersion);
}

bool has_warpgroups(int compute_major, int compute_minor) {
#if SYNFIRE_HAVE_WARPGROUPS
  return compute_major == 9 && compute_minor == 0;
#else
  static_cast<void>(compute_major);
  static_cast<void>(compute_minor);
  return false;
#endif
}

// Captures keep programmatic launches since CUDA 12.3.
bool kernels_wait(const GpuShape& gpu, int driver_version) {
  return gpu.compute_major >= 9 && gpu.code_version >= 90 && driver_version >= 12030 && CUDART_VERSION >= 12030;
}

// The attribute exists since CUDA 12.5; older drivers refuse it.
bool takes_shared_percent(int driver_version) {
  return driver_version >= 12050 && CUDART_VERSION >= 12050;
}

cudaKernelNodeParams idle_node() {
  static void* no_arguments[1] = {nullptr};
  cudaKernelNodeParams params = {};
  params.func = const_cast<void*>(idle_kernel());
  params.gridDim = dim3(1, 1, 1);
  params.blockDim = dim3(1, 1, 1);
  params.kernelParams = no_arguments;
  return params;
}

}  // namespace synfire::cuda

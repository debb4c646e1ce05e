#include "api.hpp"

#include <base/error.hpp>

#include <vector>

namespace synfire::cuda {

constinit Api table;

namespace {

template <class Function>
bool resolve(const char* name, Function& function) noexcept {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &entry, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &entry, cudaEnableDefault, &found);
#endif
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) return false;
  function = reinterpret_cast<Function>(entry);
  return true;
}

}  // namespace

cudaError_t stream_get_capture_info(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                    cudaGraph_t* graph, const cudaGraphNode_t** dependencies, size_t* n_dependencies) {
#if CUDART_VERSION >= 13000
  return cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, nullptr, n_dependencies);
#else
  return cudaStreamGetCaptureInfo_v2(stream, status, id, graph, dependencies, n_dependencies);
#endif
}

cudaError_t stream_set_capture_dependencies(cudaStream_t stream, cudaGraphNode_t* dependencies, size_t n_dependencies) {
#if CUDART_VERSION >= 13000
  return cudaStreamUpdateCaptureDependencies(stream, dependencies, nullptr, n_dependencies,
                                             cudaStreamSetCaptureDependencies);
#else
  return cudaStreamUpdateCaptureDependencies(stream, dependencies, n_dependencies, cudaStreamSetCaptureDependencies);
#endif
}

cudaError_t graph_node_get_dependencies(cudaGraphNode_t node, cudaGraphNode_t* dependencies, size_t* n_dependencies) {
#if CUDART_VERSION >= 13000
  std::vector<cudaGraphEdgeData> edges(*n_dependencies);
  return cudaGraphNodeGetDependencies(node, dependencies, edges.data(), n_dependencies);
#elif CUDART_VERSION >= 12030
  std::vector<cudaGraphEdgeData> edges(*n_dependencies);
  return cudaGraphNodeGetDependencies_v2(node, dependencies, edges.data(), n_dependencies);
#else
  return cudaGraphNodeGetDependencies(node, dependencies, n_dependencies);
#endif
}

bool resolve_driver_calls() noexcept {
  if (table.stream_is_capturing) return true;  // the last one
  return resolve("cuCtxGetCurrent", table.context_get_current) &&
         resolve("cuCtxSetCurrent", table.context_set_current) && resolve("cuCtxGetDevice", table.context_get_device) &&
         resolve("cuStreamGetCtx", table.stream_get_context) && resolve("cuGraphLaunch", table.graph_launch) &&
         resolve("cuStreamIsCapturing", table.stream_is_capturing);
}

bool resolve_library_calls() noexcept {
  if (table.library_get_kernel) return true;  // the last one
  return resolve("cuLibraryLoadData", table.library_load_data) && resolve("cuLibraryUnload", table.library_unload) &&
         resolve("cuLibraryGetKernel", table.library_get_kernel);
}

bool is_sticky(cudaError_t error) noexcept {
  switch (static_cast<int>(error)) {
    case 214:  // uncorrectable ECC error
    case 226:  // contained memory error
    case 700:  // illegal address
    case 702:  // launch time-out
    case 710:  // device-side assert
    case 714:  // hardware stack error
    case 715:  // illegal instruction
    case 716:  // misaligned address
    case 717:  // invalid address space
    case 718:  // invalid program counter
    case 719:  // launch failure
    case 721:  // tensor memory leak
    case 810:  // MPS client terminated
    case 911:  // external device
    case 999:  // unknown
      return true;
    default:
      return false;
  }
}

void fail_call(cudaError_t error, const char* call) {
  api().get_last_error();  // the runtime linked into this library has its own last error; leave it clear
  synfire_status status = SYNFIRE_ERROR_CUDA;
  const char* rule = "SYN-CUDA";
  if (error == cudaErrorMemoryAllocation) {
    status = SYNFIRE_ERROR_OUT_OF_MEMORY;
    rule = "SYN-MEMORY-DEVICE";
  } else if (is_sticky(error)) {
    status = SYNFIRE_ERROR_DEVICE_LOST;
    rule = "SYN-DEVICE-LOST";
  }
  throw core::Failure{status, static_cast<int32_t>(error), rule,
                      std::string(call) + " failed: " + cudaGetErrorName(error) + " (" +
                          std::to_string(static_cast<int>(error)) + "), " + cudaGetErrorString(error)};
}

}  // namespace synfire::cuda

// The CUDA runtime calls that Synfire makes, in one table. Production fills it from the runtime; a test may replace
// entries to count calls or make one fail. Only compiled-in libraries call the runtime directly
// (Launcher::call_library()).
#ifndef SYNFIRE_BACKENDS_CUDA_API_HPP
#define SYNFIRE_BACKENDS_CUDA_API_HPP

#include <cuda_runtime_api.h>

#include <cstdint>

namespace synfire::cuda {

struct DriverContext;
struct DriverLibrary;

// Three calls whose signatures differ between CUDA 12 and 13, in one form. They refuse captures and graphs whose edges
// carry data (programmatic launches): cudaErrorLossyQuery.
cudaError_t stream_get_capture_info(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                    cudaGraph_t* graph, const cudaGraphNode_t** dependencies, size_t* n_dependencies);
cudaError_t stream_set_capture_dependencies(cudaStream_t stream, cudaGraphNode_t* dependencies, size_t n_dependencies);
// Stores as many as there is room for and returns their number. CUDA requires room for the data of edges.
cudaError_t graph_node_get_dependencies(cudaGraphNode_t node, cudaGraphNode_t* dependencies, size_t* n_dependencies);

struct Api {
  decltype(&cudaGetDeviceCount) get_device_count = &cudaGetDeviceCount;
  decltype(&cudaGetDeviceProperties) get_device_properties = &cudaGetDeviceProperties;
  decltype(&cudaDriverGetVersion) driver_get_version = &cudaDriverGetVersion;
  decltype(&cudaSetDevice) set_device = &cudaSetDevice;
  decltype(&cudaGetLastError) get_last_error = &cudaGetLastError;
  decltype(&cudaPeekAtLastError) peek_at_last_error = &cudaPeekAtLastError;
  decltype(&cudaMalloc) malloc = &cudaMalloc;
  decltype(&cudaFree) free = &cudaFree;
  decltype(&cudaHostAlloc) host_alloc = &cudaHostAlloc;
  decltype(&cudaFreeHost) free_host = &cudaFreeHost;
  decltype(&cudaDeviceSynchronize) device_synchronize = &cudaDeviceSynchronize;
  decltype(&cudaPointerGetAttributes) pointer_get_attributes = &cudaPointerGetAttributes;
  decltype(&cudaMemcpyAsync) memcpy_async = &cudaMemcpyAsync;
  decltype(&cudaMemsetAsync) memset_async = &cudaMemsetAsync;
  decltype(&cudaStreamCreateWithPriority) stream_create_with_priority = &cudaStreamCreateWithPriority;
  decltype(&cudaStreamGetPriority) stream_get_priority = &cudaStreamGetPriority;
  decltype(&cudaStreamDestroy) stream_destroy = &cudaStreamDestroy;
  decltype(&cudaStreamSynchronize) stream_synchronize = &cudaStreamSynchronize;
  decltype(&cudaStreamQuery) stream_query = &cudaStreamQuery;
  decltype(&cudaEventCreateWithFlags) event_create_with_flags = &cudaEventCreateWithFlags;
  decltype(&cudaEventRecord) event_record = &cudaEventRecord;
  decltype(&cudaStreamWaitEvent) stream_wait_event = &cudaStreamWaitEvent;
  decltype(&cudaEventDestroy) event_destroy = &cudaEventDestroy;
  decltype(&cudaStreamBeginCapture) stream_begin_capture = &cudaStreamBeginCapture;
  decltype(&cudaStreamEndCapture) stream_end_capture = &cudaStreamEndCapture;
  decltype(&cuda::stream_get_capture_info) stream_get_capture_info = &cuda::stream_get_capture_info;
  decltype(&cuda::stream_set_capture_dependencies) stream_set_capture_dependencies =
      &cuda::stream_set_capture_dependencies;
  decltype(&cudaThreadExchangeStreamCaptureMode) exchange_capture_mode = &cudaThreadExchangeStreamCaptureMode;
  decltype(&cudaGraphGetNodes) graph_get_nodes = &cudaGraphGetNodes;
  decltype(&cudaGraphNodeGetType) graph_node_get_type = &cudaGraphNodeGetType;
  decltype(&cuda::graph_node_get_dependencies) graph_node_get_dependencies = &cuda::graph_node_get_dependencies;
  decltype(&cudaGraphNodeSetEnabled) graph_node_set_enabled = &cudaGraphNodeSetEnabled;
  decltype(&cudaGraphKernelNodeGetParams) graph_kernel_node_get_params = &cudaGraphKernelNodeGetParams;
  decltype(&cudaGraphExecKernelNodeSetParams) graph_exec_kernel_node_set_params = &cudaGraphExecKernelNodeSetParams;
  decltype(&cudaGraphClone) graph_clone = &cudaGraphClone;
  decltype(&cudaGraphNodeFindInClone) graph_node_find_in_clone = &cudaGraphNodeFindInClone;
  decltype(&cudaGraphDestroyNode) graph_destroy_node = &cudaGraphDestroyNode;
  decltype(&cudaGraphAddChildGraphNode) graph_add_child_graph_node = &cudaGraphAddChildGraphNode;
  decltype(&cudaGraphInstantiateWithParams) graph_instantiate = &cudaGraphInstantiateWithParams;
  decltype(&cudaGraphDestroy) graph_destroy = &cudaGraphDestroy;
  decltype(&cudaGraphExecDestroy) graph_exec_destroy = &cudaGraphExecDestroy;
  decltype(&cudaFuncGetAttributes) func_get_attributes = &cudaFuncGetAttributes;
  decltype(&cudaFuncSetAttribute) func_set_attribute = &cudaFuncSetAttribute;
  decltype(&cudaLaunchKernel) launch_kernel = &cudaLaunchKernel;
  decltype(&cudaLaunchKernelExC) launch_kernel_with_attributes = &cudaLaunchKernelExC;
  decltype(&cudaDeviceGetStreamPriorityRange) get_stream_priority_range = &cudaDeviceGetStreamPriorityRange;

  // Driver calls, resolved when the first device is made: cudaSetDevice cannot restore a context that the caller made
  // through the driver API, and cudaStreamGetDevice breaks a capture.
  int (*context_get_current)(DriverContext**) = nullptr;
  int (*context_set_current)(DriverContext*) = nullptr;
  int (*context_get_device)(int* ordinal) = nullptr;  // of the current one
  int (*stream_get_context)(cudaStream_t, DriverContext**) = nullptr;
  // For the path of a launch, where the runtime's functions take longer (docs/pages/tuning.md, "The path of a launch")
  // and set the thread's last error. Errors have the numbers of cudaError_t, statuses those of cudaStreamCaptureStatus.
  int (*graph_launch)(cudaGraphExec_t, cudaStream_t) = nullptr;
  int (*stream_is_capturing)(cudaStream_t, int* status) = nullptr;

  // For code that is compiled at run time, resolved at its first use. A CUkernel is a cudaKernel_t, which the runtime's
  // calls take in place of a function.
  int (*library_load_data)(DriverLibrary**, const void* code, void*, void*, unsigned, void*, void*, unsigned) = nullptr;
  int (*library_unload)(DriverLibrary*) = nullptr;
  int (*library_get_kernel)(cudaKernel_t*, DriverLibrary*, const char* name) = nullptr;
};

extern constinit Api table;
inline Api& api() noexcept {
  return table;
}

// Resolves the driver calls. Returns false if the driver lacks one.
bool resolve_driver_calls() noexcept;

// Resolves those for code that is compiled at run time.
bool resolve_library_calls() noexcept;

// True for errors that make the process's context on the device unusable, according to CUDA.
bool is_sticky(cudaError_t error) noexcept;

[[noreturn]] void fail_call(cudaError_t error, const char* call);
inline void check(cudaError_t error, const char* call) {
  if (error != cudaSuccess) fail_call(error, call);
}

}  // namespace synfire::cuda

#endif

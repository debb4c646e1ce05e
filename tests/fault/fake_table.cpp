// The table of CUDA calls of the fake: each call counts, may fail if a test asked for it, and enforces CUDA's rules.
#include "fake_device.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace synfire_test::fake {

using synfire::cuda::Api;
using synfire::cuda::DriverContext;

#define FAKE_CALL(name)  \
  const Call call(name); \
  if (!call) return call.error()

namespace {

bool is_default(cudaStream_t stream) {
  return stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}
// Handles of default streams refer to the current context. Drivers before CUDA 13 need a current context for any
// stream.
bool lacks_context(cudaStream_t stream) {
  return device_of_thread < 0 && (is_default(stream) || state().driver_version < 13000);
}

}  // namespace

Api table() {
  Api t;
  t.get_device_count = [](int* n) -> cudaError_t {
    FAKE_CALL("cudaGetDeviceCount");
    *n = state().n_devices;
    return cudaSuccess;
  };
  t.get_device_properties = [](cudaDeviceProp* p, int) -> cudaError_t {
    FAKE_CALL("cudaGetDeviceProperties");
    *p = {};
    std::strcpy(p->name, "fake");
    p->major = state().compute_major;
    p->multiProcessorCount = 4;
    p->totalGlobalMem = size_t{1} << 30;
    return cudaSuccess;
  };
  t.driver_get_version = [](int* version) -> cudaError_t {
    FAKE_CALL("cudaDriverGetVersion");
    *version = state().driver_version;
    return cudaSuccess;
  };
  t.set_device = [](int device) -> cudaError_t {
    FAKE_CALL("cudaSetDevice");
    if (device < 0 || device >= state().n_devices) return cudaErrorInvalidDevice;
    device_of_thread = device;
    return cudaSuccess;
  };
  t.get_last_error = []() -> cudaError_t {
    const Call call("cudaGetLastError");
    return std::exchange(last_error_of_thread, cudaSuccess);
  };
  t.peek_at_last_error = []() -> cudaError_t {
    const Call call("cudaPeekAtLastError");
    return last_error_of_thread;
  };
  t.malloc = [](void** data, size_t bytes) -> cudaError_t {
    FAKE_CALL("cudaMalloc");
    return allocate(data, bytes, cudaMemoryTypeDevice);
  };
  t.free = [](void* data) -> cudaError_t {
    const Call call("cudaFree");  // a lost device has freed its memory, and so does the fake
    const cudaError_t error = deallocate(data);
    return call ? error : call.error();
  };
  t.host_alloc = [](void** data, size_t bytes, unsigned int) -> cudaError_t {
    FAKE_CALL("cudaHostAlloc");
    return allocate(data, bytes, cudaMemoryTypeHost);
  };
  t.free_host = [](void* data) -> cudaError_t {
    const Call call("cudaFreeHost");
    const cudaError_t error = deallocate(data);
    return call ? error : call.error();
  };
  t.device_synchronize = []() -> cudaError_t {
    FAKE_CALL("cudaDeviceSynchronize");
    for (const auto& capture : state().captures) capture->valid = false;
    if (!state().captures.empty()) return cudaErrorStreamCaptureUnsupported;
    for (const auto& stream : state().streams) run_stream(*stream);
    run_stream(state().legacy_stream);
    for (auto& [thread, stream] : state().streams_of_threads) run_stream(stream);
    return cudaSuccess;
  };
  t.pointer_get_attributes = [](cudaPointerAttributes* attributes, const void* data) -> cudaError_t {
    FAKE_CALL("cudaPointerGetAttributes");
    *attributes = {};
    attributes->type = cudaMemoryTypeUnregistered;
    for (const auto& [begin, allocation] : state().allocations) {
      const char* const first = static_cast<const char*>(begin);
      if (data < first || data >= first + allocation.bytes) continue;
      attributes->type = allocation.type;
      attributes->device = allocation.device;
      attributes->devicePointer = const_cast<void*>(data);
    }
    return cudaSuccess;
  };
  t.memcpy_async = [](void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) -> cudaError_t {
    FAKE_CALL("cudaMemcpyAsync");
    return enqueue(stream, cudaGraphNodeTypeMemcpy, [=] { std::memcpy(to, from, bytes); });
  };
  t.memset_async = [](void* to, int value, size_t bytes, cudaStream_t stream) -> cudaError_t {
    FAKE_CALL("cudaMemsetAsync");
    return enqueue(stream, cudaGraphNodeTypeMemset, [=] { std::memset(to, value, bytes); });
  };
  t.stream_create_with_priority = [](cudaStream_t* stream, unsigned int, int priority) -> cudaError_t {
    FAKE_CALL("cudaStreamCreateWithPriority");
    if (const cudaError_t error = unsafe(); error != cudaSuccess) return error;
    *stream = new_stream(priority);
    return cudaSuccess;
  };
  t.stream_get_priority = [](cudaStream_t stream, int* priority) -> cudaError_t {
    FAKE_CALL("cudaStreamGetPriority");
    *priority = of(stream)->priority;
    return cudaSuccess;
  };
  t.stream_destroy = [](cudaStream_t stream) -> cudaError_t {
    const Call call("cudaStreamDestroy");
    return delete_stream(stream);
  };
  t.stream_synchronize = [](cudaStream_t stream) -> cudaError_t {
    FAKE_CALL("cudaStreamSynchronize");
    return wait_for(stream);
  };
  t.stream_query = [](cudaStream_t stream) -> cudaError_t {
    FAKE_CALL("cudaStreamQuery");
    return of(stream)->waiting.empty() ? cudaSuccess : cudaErrorNotReady;
  };
  t.event_create_with_flags = [](cudaEvent_t* event, unsigned int) -> cudaError_t {
    FAKE_CALL("cudaEventCreateWithFlags");
    *event = reinterpret_cast<cudaEvent_t>(new Event);
    ++state().live.events;
    return cudaSuccess;
  };
  t.event_record = [](cudaEvent_t event, cudaStream_t stream) -> cudaError_t {
    FAKE_CALL("cudaEventRecord");
    return record_event(*reinterpret_cast<Event*>(event), stream);
  };
  t.stream_wait_event = [](cudaStream_t stream, cudaEvent_t event, unsigned int) -> cudaError_t {
    FAKE_CALL("cudaStreamWaitEvent");
    return wait_for_event(stream, *reinterpret_cast<Event*>(event));
  };
  t.event_destroy = [](cudaEvent_t event) -> cudaError_t {
    const Call call("cudaEventDestroy");
    delete reinterpret_cast<Event*>(event);
    --state().live.events;
    return cudaSuccess;
  };
  t.stream_is_capturing = [](cudaStream_t stream, int* status) -> int {
    FAKE_CALL("cuStreamIsCapturing");
    if (lacks_context(stream)) return cudaErrorDeviceUninitialized;
    const auto& capture = of(stream)->capture;
    *status = !capture         ? cudaStreamCaptureStatusNone
              : capture->valid ? cudaStreamCaptureStatusActive
                               : cudaStreamCaptureStatusInvalidated;
    return 0;
  };
  t.stream_begin_capture = [](cudaStream_t stream, cudaStreamCaptureMode mode) -> cudaError_t {
    FAKE_CALL("cudaStreamBeginCapture");
    return start_capture(stream, mode);
  };
  t.stream_end_capture = [](cudaStream_t stream, cudaGraph_t* graph) -> cudaError_t {
    const Call call("cudaStreamEndCapture");
    const cudaError_t error = finish_capture(stream, graph);
    return call ? error : call.error();
  };
  t.stream_get_capture_info = [](cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                 cudaGraph_t* graph, const cudaGraphNode_t** dependencies, size_t* n) -> cudaError_t {
    FAKE_CALL("cudaStreamGetCaptureInfo");
    const auto& capture = of(stream)->capture;
    *status = !capture         ? cudaStreamCaptureStatusNone
              : capture->valid ? cudaStreamCaptureStatusActive
                               : cudaStreamCaptureStatusInvalidated;
    if (*status != cudaStreamCaptureStatusActive) return cudaSuccess;
    if (id) *id = capture->id;
    if (graph) *graph = reinterpret_cast<cudaGraph_t>(capture->graph.get());
    if (dependencies) *dependencies = reinterpret_cast<const cudaGraphNode_t*>(of(stream)->dependencies.data());
    if (n) *n = of(stream)->dependencies.size();
    return cudaSuccess;
  };
  t.stream_set_capture_dependencies = [](cudaStream_t stream, cudaGraphNode_t* dependencies, size_t n) -> cudaError_t {
    FAKE_CALL("cudaStreamUpdateCaptureDependencies");
    of(stream)->dependencies.assign(reinterpret_cast<Node**>(dependencies), reinterpret_cast<Node**>(dependencies) + n);
    return cudaSuccess;
  };
  t.exchange_capture_mode = [](cudaStreamCaptureMode* mode) -> cudaError_t {
    const Call call("cudaThreadExchangeStreamCaptureMode");
    std::swap(*mode, thread_mode);
    return cudaSuccess;
  };
  t.graph_get_nodes = [](cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* n) -> cudaError_t {
    FAKE_CALL("cudaGraphGetNodes");
    *n = of(graph)->nodes.size();
    if (!nodes) return cudaSuccess;
    for (const auto& node : of(graph)->nodes) *nodes++ = handle(node.get());
    state().nodes_returned += *n;
    return cudaSuccess;
  };
  t.graph_node_get_type = [](cudaGraphNode_t node, cudaGraphNodeType* type) -> cudaError_t {
    FAKE_CALL("cudaGraphNodeGetType");
    *type = of(node)->type;
    return cudaSuccess;
  };
  t.graph_node_get_dependencies = [](cudaGraphNode_t node, cudaGraphNode_t* dependencies, size_t* n) -> cudaError_t {
    FAKE_CALL("cudaGraphNodeGetDependencies");
    if (!dependencies) return static_cast<cudaError_t>(402);  // a lossy query
    *n = std::min(*n, of(node)->dependencies.size());
    for (size_t i = 0; i < *n; ++i) *dependencies++ = handle(of(node)->dependencies[i]);
    state().nodes_returned += *n;
    return cudaSuccess;
  };
  t.graph_node_set_enabled = [](cudaGraphExec_t executable, cudaGraphNode_t node, unsigned int enabled) -> cudaError_t {
    FAKE_CALL("cudaGraphNodeSetEnabled");
    for (Executable::Entry& entry : of(executable)->entries)
      if (entry.node == of(node)) {
        entry.enabled = enabled != 0;
        return cudaSuccess;
      }
    return cudaErrorInvalidValue;
  };
  t.graph_kernel_node_get_params = [](cudaGraphNode_t node, cudaKernelNodeParams* params) -> cudaError_t {
    FAKE_CALL("cudaGraphKernelNodeGetParams");
    if (of(node)->type != cudaGraphNodeTypeKernel || !of(node)->function) return cudaErrorInvalidValue;
    *params = {};
    params->func = const_cast<void*>(of(node)->function);
    params->gridDim = params->blockDim = dim3(1, 1, 1);
    params->kernelParams = &of(node)->parameters;
    return cudaSuccess;
  };
  t.graph_exec_kernel_node_set_params = [](cudaGraphExec_t executable, cudaGraphNode_t node,
                                           const cudaKernelNodeParams* params) -> cudaError_t {
    FAKE_CALL("cudaGraphExecKernelNodeSetParams");
    if (of(node)->type != cudaGraphNodeTypeKernel || params->gridDim.x == 0 || params->blockDim.x == 0)
      return cudaErrorInvalidValue;
    for (Executable::Entry& entry : of(executable)->entries)
      if (entry.node == of(node)) {
        entry.work = call_of(params->func, params->kernelParams).work;
        return cudaSuccess;
      }
    return cudaErrorInvalidValue;
  };
  t.graph_clone = [](cudaGraph_t* copy, cudaGraph_t graph) -> cudaError_t {
    FAKE_CALL("cudaGraphClone");
    *copy = live_graph(clone(*of(graph)));
    return cudaSuccess;
  };
  t.graph_node_find_in_clone = [](cudaGraphNode_t* found, cudaGraphNode_t original, cudaGraph_t graph) -> cudaError_t {
    FAKE_CALL("cudaGraphNodeFindInClone");
    for (const auto& node : of(graph)->nodes)
      if (node->original == of(original)) {
        *found = handle(node.get());
        return cudaSuccess;
      }
    return cudaErrorInvalidValue;
  };
  t.graph_destroy_node = [](cudaGraphNode_t node) -> cudaError_t {
    FAKE_CALL("cudaGraphDestroyNode");
    of(node)->work = nullptr;  // an empty node remains
    of(node)->type = cudaGraphNodeTypeEmpty;
    return cudaSuccess;
  };
  t.graph_add_child_graph_node = [](cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                    size_t n, cudaGraph_t child) -> cudaError_t {
    FAKE_CALL("cudaGraphAddChildGraphNode");
    auto made = std::make_unique<Node>(Node{cudaGraphNodeTypeGraph, {}, nullptr, clone(*of(child))});
    for (size_t i = 0; i < n; ++i) made->dependencies.push_back(of(dependencies[i]));
    *node = handle(made.get());
    of(graph)->nodes.push_back(std::move(made));
    return cudaSuccess;
  };
  t.graph_instantiate = [](cudaGraphExec_t* executable, cudaGraph_t graph, cudaGraphInstantiateParams*) -> cudaError_t {
    FAKE_CALL("cudaGraphInstantiateWithParams");
    if (const cudaError_t error = unsafe(); error != cudaSuccess) return error;
    *executable = reinterpret_cast<cudaGraphExec_t>(make_executable(*of(graph)).release());
    ++state().live.executables;
    return cudaSuccess;
  };
  t.graph_launch = [](cudaGraphExec_t executable, cudaStream_t stream) -> int {
    FAKE_CALL("cuGraphLaunch");
    if (lacks_context(stream)) return cudaErrorDeviceUninitialized;
    if (of(stream)->capture) return cudaErrorStreamCaptureUnsupported;
    return launch_executable(*of(executable), stream);
  };
  t.graph_destroy = [](cudaGraph_t graph) -> cudaError_t {
    const Call call("cudaGraphDestroy");
    delete of(graph);
    --state().live.graphs;
    return cudaSuccess;
  };
  t.graph_exec_destroy = [](cudaGraphExec_t executable) -> cudaError_t {
    const Call call("cudaGraphExecDestroy");
    const cudaError_t error = unsafe();
    delete of(executable);
    --state().live.executables;
    return error;
  };
  t.func_get_attributes = [](cudaFuncAttributes* attributes, const void*) -> cudaError_t {
    FAKE_CALL("cudaFuncGetAttributes");
    *attributes = {};
    attributes->ptxVersion = attributes->binaryVersion = 90;
    return unsafe();  // the call may load the kernel
  };
  t.func_set_attribute = [](const void*, cudaFuncAttribute, int) -> cudaError_t {
    FAKE_CALL("cudaFuncSetAttribute");
    return cudaSuccess;
  };
  t.launch_kernel = [](const void* function, dim3, dim3, void** parameters, size_t,
                       cudaStream_t stream) -> cudaError_t {
    FAKE_CALL("cudaLaunchKernel");
    return launch_kernel(stream, call_of(function, parameters), false);
  };
  t.launch_kernel_with_attributes = [](const cudaLaunchConfig_t* config, const void* function,
                                       void** parameters) -> cudaError_t {
    FAKE_CALL("cudaLaunchKernelExC");
    bool programmatic = false;
    for (unsigned int i = 0; i < config->numAttrs; ++i)
      programmatic |= config->attrs[i].id == cudaLaunchAttributeProgrammaticStreamSerialization &&
                      config->attrs[i].val.programmaticStreamSerializationAllowed != 0;
    return launch_kernel(config->stream, call_of(function, parameters), programmatic);
  };
  t.get_stream_priority_range = [](int* least, int* greatest) -> cudaError_t {
    FAKE_CALL("cudaDeviceGetStreamPriorityRange");
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
  };
  t.context_get_current = [](DriverContext** context) -> int {
    *context = device_of_thread < 0 ? nullptr : reinterpret_cast<DriverContext*>(contexts + device_of_thread);
    return 0;
  };
  t.context_set_current = [](DriverContext* context) -> int {
    device_of_thread = context ? static_cast<int>(reinterpret_cast<char*>(context) - contexts) : -1;
    return 0;
  };
  t.context_get_device = [](int* ordinal) -> int {
    *ordinal = device_of_thread;
    return device_of_thread < 0 ? 201 : 0;  // no context
  };
  t.stream_get_context = [](cudaStream_t stream, DriverContext** context) -> int {
    FAKE_CALL("cuStreamGetCtx");
    if (is_default(stream)) return synfire::cuda::api().context_get_current(context);
    *context = reinterpret_cast<DriverContext*>(contexts + of(stream)->device);
    return 0;
  };
  return t;
}

}  // namespace synfire_test::fake

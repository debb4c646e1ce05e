#include "fake_cuda.hpp"

#include <cuda/api.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace synfire_test::fake {
namespace {

using synfire::cuda::Api;
using synfire::cuda::DriverContext;

struct Node;
using Work = std::function<void()>;

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
};
struct Node {
  cudaGraphNodeType type;
  std::vector<Node*> dependencies;
  Work work;  // kernels, copies, fills
  std::shared_ptr<Graph> child;
  const Node* original = nullptr;  // of a clone
  const void* function = nullptr;  // of a kernel of the library
  void* parameters = nullptr;
};

// A kernel and its arguments, which the work keeps alive.
struct KernelCall {
  const void* function;
  void* arguments;
  Work work;
};

struct Executable {
  struct Entry {
    const Node* node;
    Work work;
    bool enabled;
  };
  std::vector<Entry> entries;
};

struct Capture {
  unsigned long long id;
  cudaStreamCaptureMode mode;
  size_t thread;
  bool valid = true;
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  cudaStream_t origin;
};

struct Stream {
  int priority = 0;
  int device = 0;
  std::deque<Work> waiting;
  std::shared_ptr<Capture> capture;
  std::vector<Node*> dependencies;  // what the next node of the capture depends on
};

struct Allocation {
  size_t bytes;
  cudaMemoryType type;
  int device;
};

struct State {
  std::recursive_mutex mutex;
  int n_devices = 1;
  int compute_major = 9;
  std::vector<bool> captured_kernels, passes;
  std::map<void*, Allocation> allocations;
  std::map<std::string, uint64_t> counts;
  uint64_t total = 0;
  std::map<std::string, std::pair<int, cudaError_t>> failures;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::shared_ptr<Capture>> captures;
  Live live = {};
  bool held = false;
  cudaError_t lost = cudaSuccess;
  unsigned long long next_capture = 1;
  std::deque<Stream*> order;  // streams of waiting work, oldest first
};

State& state() {
  static State* const made = new State;  // never destroyed: the library may be used until the process ends
  return *made;
}

thread_local int depth = 0;
thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;
thread_local int device_of_thread = -1;  // -1: none is current
char contexts[16];

size_t this_thread() {
  static std::atomic<size_t> next{1};
  thread_local const size_t number = next.fetch_add(1);
  return number;
}

// One call of the table: counted, and perhaps failing.
class Call {
 public:
  explicit Call(const char* name) : lock_(enter()) {
    State& s = state();
    ++s.counts[name];
    ++s.total;
    const auto found = s.failures.find(name);
    if (found != s.failures.end() && --found->second.first == 0) {
      error_ = found->second.second;
      s.failures.erase(found);
    } else if (s.lost != cudaSuccess) {
      error_ = s.lost;
    }
  }
  ~Call() { --depth; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  explicit operator bool() const { return error_ == cudaSuccess; }
  cudaError_t error() const { return error_; }

 private:
  static std::recursive_mutex& enter() {
    ++depth;
    return state().mutex;
  }
  std::lock_guard<std::recursive_mutex> lock_;
  cudaError_t error_ = cudaSuccess;
};

Stream* of(cudaStream_t stream) {
  return reinterpret_cast<Stream*>(stream);
}
Graph* of(cudaGraph_t graph) {
  return reinterpret_cast<Graph*>(graph);
}
Node* of(cudaGraphNode_t node) {
  return reinterpret_cast<Node*>(node);
}
Executable* of(cudaGraphExec_t executable) {
  return reinterpret_cast<Executable*>(executable);
}
cudaGraphNode_t handle(const Node* node) {
  return reinterpret_cast<cudaGraphNode_t>(const_cast<Node*>(node));
}

// A call that CUDA forbids while certain captures are open: it breaks them.
cudaError_t unsafe() {
  if (thread_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  cudaError_t error = cudaSuccess;
  for (const auto& capture : state().captures) {
    const bool own = capture->thread == this_thread() && capture->mode != cudaStreamCaptureModeRelaxed;
    const bool anyones = thread_mode == cudaStreamCaptureModeGlobal && capture->mode == cudaStreamCaptureModeGlobal;
    if (!own && !anyones) continue;
    capture->valid = false;
    error = cudaErrorStreamCaptureUnsupported;
  }
  return error;
}

void run_stream(Stream& stream) {
  while (!stream.waiting.empty()) {
    const Work work = std::move(stream.waiting.front());
    stream.waiting.pop_front();
    const auto at = std::find(state().order.begin(), state().order.end(), &stream);
    if (at != state().order.end()) state().order.erase(at);
    work();
  }
}

cudaError_t add(Stream& stream, cudaGraphNodeType type, Work work, std::shared_ptr<Graph> child = nullptr) {
  Capture& capture = *stream.capture;
  if (!capture.valid) return cudaErrorStreamCaptureInvalidated;
  auto node = std::make_unique<Node>(Node{type, stream.dependencies, std::move(work), std::move(child)});
  stream.dependencies = {node.get()};
  capture.graph->nodes.push_back(std::move(node));
  return cudaSuccess;
}

cudaError_t enqueue(cudaStream_t handle, cudaGraphNodeType type, Work work) {
  Stream& stream = *of(handle);
  if (stream.capture) return add(stream, type, std::move(work));
  stream.waiting.push_back(std::move(work));
  state().order.push_back(&stream);
  if (!state().held) run_stream(stream);
  return cudaSuccess;
}

KernelCall call_of(const void* function, void** parameters) {
  const auto& kernel = *static_cast<const Kernel*>(function);
  const std::shared_ptr<void> arguments(std::aligned_alloc(64, (kernel.argument_bytes + 63) / 64 * 64), std::free);
  if (kernel.argument_bytes > 0) std::memcpy(arguments.get(), parameters[0], kernel.argument_bytes);
  return {function, arguments.get(), [&kernel, arguments] { kernel.run(arguments.get()); }};
}

cudaError_t launch_kernel(cudaStream_t stream, KernelCall call, bool programmatic) {
  const cudaError_t error = enqueue(stream, cudaGraphNodeTypeKernel, std::move(call.work));
  if (error != cudaSuccess || !of(stream)->capture) return error;
  Node& node = *of(stream)->dependencies.front();
  node.function = call.function;
  node.parameters = call.arguments;
  state().captured_kernels.push_back(programmatic);
  return cudaSuccess;
}

void run_graph(const Graph& graph) {
  for (const auto& node : graph.nodes) {
    if (node->child)
      run_graph(*node->child);
    else if (node->work)
      node->work();
  }
}

std::unique_ptr<Graph> clone(const Graph& graph) {
  auto copy = std::make_unique<Graph>();
  std::map<const Node*, Node*> twins;
  for (const auto& node : graph.nodes) {
    copy->nodes.push_back(std::make_unique<Node>(*node));
    Node& twin = *copy->nodes.back();
    twin.original = node.get();
    twins[node.get()] = &twin;
    for (Node*& dependency : twin.dependencies) dependency = twins.at(dependency);
  }
  return copy;
}

cudaGraph_t live_graph(std::unique_ptr<Graph> graph) {
  ++state().live.graphs;
  return reinterpret_cast<cudaGraph_t>(graph.release());
}

cudaError_t allocate(void** data, size_t bytes, cudaMemoryType type) {
  if (const cudaError_t error = unsafe(); error != cudaSuccess) return error;
  constexpr size_t most = size_t{1} << 36;
  *data = bytes < most ? std::aligned_alloc(256, (bytes + 255) / 256 * 256) : nullptr;
  if (!*data) return cudaErrorMemoryAllocation;
  std::memset(*data, 0xCD, bytes);
  state().allocations[*data] = {bytes, type, device_of_thread};
  ++state().live.allocations;
  return cudaSuccess;
}

cudaError_t deallocate(void* data) {
  if (const cudaError_t error = unsafe(); error != cudaSuccess) return error;
  // Freeing waits for the device.
  for (const auto& stream : state().streams) run_stream(*stream);
  if (state().allocations.erase(data) == 0) return cudaErrorInvalidValue;
  std::free(data);
  --state().live.allocations;
  return cudaSuccess;
}

cudaError_t finish_capture(cudaStream_t handle, cudaGraph_t* graph) {
  Stream& stream = *of(handle);
  *graph = nullptr;
  if (!stream.capture) return cudaErrorIllegalState;
  const std::shared_ptr<Capture> capture = stream.capture;
  if (capture->origin != handle) return cudaErrorStreamCaptureUnmatched;
  // Every node must come before what the origin goes on with.
  std::vector<Node*> reached = stream.dependencies;
  for (size_t i = 0; i < reached.size(); ++i)
    for (Node* before : reached[i]->dependencies)
      if (std::find(reached.begin(), reached.end(), before) == reached.end()) reached.push_back(before);
  const bool joined = reached.size() == capture->graph->nodes.size();
  for (const auto& other : state().streams)
    if (other->capture == capture) {
      other->capture = nullptr;
      other->dependencies.clear();
    }
  std::erase(state().captures, capture);
  if (!capture->valid) return cudaErrorStreamCaptureInvalidated;
  if (!joined) return cudaErrorStreamCaptureUnjoined;
  *graph = live_graph(std::move(capture->graph));
  return cudaSuccess;
}

cudaError_t start_capture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  Stream& stream = *of(handle);
  if (stream.capture) return cudaErrorIllegalState;
  stream.capture = std::make_shared<Capture>();
  stream.capture->id = state().next_capture++;
  stream.capture->mode = mode;
  stream.capture->thread = this_thread();
  stream.capture->origin = handle;
  stream.dependencies.clear();
  state().captures.push_back(stream.capture);
  return cudaSuccess;
}

cudaError_t wait_for(cudaStream_t handle) {
  Stream& stream = *of(handle);
  if (stream.capture) {
    stream.capture->valid = false;
    return cudaErrorStreamCaptureUnsupported;
  }
  run_stream(stream);
  return cudaSuccess;
}

cudaStream_t new_stream(int priority) {
  state().streams.push_back(std::make_unique<Stream>());
  state().streams.back()->priority = priority;
  state().streams.back()->device = std::max(device_of_thread, 0);
  ++state().live.streams;
  return reinterpret_cast<cudaStream_t>(state().streams.back().get());
}

cudaError_t delete_stream(cudaStream_t stream) {
  run_stream(*of(stream));
  --state().live.streams;
  std::erase_if(state().streams, [&](const auto& s) { return s.get() == of(stream); });
  return cudaSuccess;
}

cudaError_t launch_executable(const Executable& executable, cudaStream_t stream) {
  std::vector<Work> list;
  for (const Executable::Entry& entry : executable.entries)
    if (entry.enabled && entry.work) list.push_back(entry.work);
  return enqueue(stream, cudaGraphNodeTypeKernel, [list = std::move(list)] {
    for (const Work& work : list) work();
  });
}

std::unique_ptr<Executable> make_executable(const Graph& graph) {
  auto executable = std::make_unique<Executable>();
  for (const auto& node : graph.nodes) {
    Work work = node->work;
    if (node->child) work = [child = node->child] { run_graph(*child); };
    executable->entries.push_back({node.get(), std::move(work), true});
  }
  return executable;
}

// ---- the table
// --------------------------------------------------------------------------------------------------------

#define FAKE_CALL(name)  \
  const Call call(name); \
  if (!call) return call.error()

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
    p->multiProcessorCount = 2;
    p->totalGlobalMem = size_t{1} << 30;
    return cudaSuccess;
  };
  t.driver_get_version = [](int* version) -> cudaError_t {
    FAKE_CALL("cudaDriverGetVersion");
    *version = 13000;
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
    return cudaSuccess;
  };
  t.malloc = [](void** data, size_t bytes) -> cudaError_t {
    FAKE_CALL("cudaMalloc");
    return allocate(data, bytes, cudaMemoryTypeDevice);
  };
  t.free = [](void* data) -> cudaError_t {
    const Call call("cudaFree");  // a lost device has freed it: so does the fake
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
  t.stream_is_capturing = [](cudaStream_t stream, cudaStreamCaptureStatus* status) -> cudaError_t {
    FAKE_CALL("cudaStreamIsCapturing");
    const auto& capture = of(stream)->capture;
    *status = !capture         ? cudaStreamCaptureStatusNone
              : capture->valid ? cudaStreamCaptureStatusActive
                               : cudaStreamCaptureStatusInvalidated;
    return cudaSuccess;
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
    if (nodes)
      for (const auto& node : of(graph)->nodes) *nodes++ = handle(node.get());
    return cudaSuccess;
  };
  t.graph_node_get_type = [](cudaGraphNode_t node, cudaGraphNodeType* type) -> cudaError_t {
    FAKE_CALL("cudaGraphNodeGetType");
    *type = of(node)->type;
    return cudaSuccess;
  };
  t.graph_node_get_dependencies = [](cudaGraphNode_t node, cudaGraphNode_t* dependencies, size_t* n) -> cudaError_t {
    FAKE_CALL("cudaGraphNodeGetDependencies");
    *n = of(node)->dependencies.size();
    if (dependencies)
      for (const Node* dependency : of(node)->dependencies) *dependencies++ = handle(dependency);
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
    of(node)->work = nullptr;  // its place stays, empty
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
  t.graph_launch = [](cudaGraphExec_t executable, cudaStream_t stream) -> cudaError_t {
    FAKE_CALL("cudaGraphLaunch");
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
    return unsafe();  // it may load the kernel
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
    *context = reinterpret_cast<DriverContext*>(contexts + of(stream)->device);
    return 0;
  };
  return t;
}

// The fake's own doors are inside it too.
class Inside {
 public:
  Inside() : lock_((++depth, state().mutex)) {}
  ~Inside() { --depth; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  std::lock_guard<std::recursive_mutex> lock_;
};

}  // namespace

void install(int n_devices, int compute_major) {
  const Inside inside;
  State& s = state();
  s.n_devices = n_devices;
  s.compute_major = compute_major;
  s.captured_kernels.clear();
  s.passes.clear();
  s.counts.clear();
  s.total = 0;
  s.failures.clear();
  s.held = false;
  s.lost = cudaSuccess;
  synfire::cuda::api() = table();
}

uint64_t calls() {
  const Inside inside;
  return state().total;
}
uint64_t calls(const std::string& name) {
  const Inside inside;
  const auto found = state().counts.find(name);
  return found == state().counts.end() ? 0 : found->second;
}
void reset_calls() {
  const Inside inside;
  for (auto& count : state().counts) count.second = 0;
  state().total = 0;
  state().captured_kernels.clear();
  state().passes.clear();
}
Live live() {
  const Inside inside;
  return state().live;
}
uint64_t device_bytes() {
  const Inside inside;
  uint64_t bytes = 0;
  for (const auto& [begin, allocation] : state().allocations)
    if (allocation.type == cudaMemoryTypeDevice) bytes += allocation.bytes;
  return bytes;
}
std::vector<bool> captured_kernels() {
  const Inside inside;
  return state().captured_kernels;
}
std::vector<bool> passes() {
  const Inside inside;
  return state().passes;
}
void note_pass(bool next_begins_early) {
  const Inside inside;
  state().passes.push_back(next_begins_early);
}
bool inside() noexcept {
  return depth > 0;
}

void hold() {
  const Inside inside;
  state().held = true;
}
void release() {
  const Inside inside;
  state().held = false;
  while (!state().order.empty()) run_stream(*state().order.front());
}
void run_one() {
  const Inside inside;
  if (state().order.empty()) return;
  Stream& stream = *state().order.front();
  state().order.pop_front();
  const Work work = std::move(stream.waiting.front());
  stream.waiting.pop_front();
  work();
}
void lose(cudaError_t error) {
  const Inside inside;
  state().lost = error;
  state().order.clear();
  for (const auto& stream : state().streams) stream->waiting.clear();
}
void fail(const std::string& name, cudaError_t error, int nth) {
  const Inside inside;
  state().failures[name] = {nth, error};
}

cudaStream_t make_stream() {
  const Inside inside;
  return new_stream(0);
}
void destroy_stream(cudaStream_t stream) {
  const Inside inside;
  delete_stream(stream);
}
cudaError_t launch(cudaStream_t stream, std::function<void()> work) {
  const Inside inside;
  return enqueue(stream, cudaGraphNodeTypeKernel, std::move(work));
}
cudaError_t add_node(cudaStream_t stream, cudaGraphNodeType type) {
  const Inside inside;
  return add(*of(stream), type, [] {});
}
cudaError_t begin_capture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  const Inside inside;
  return start_capture(stream, mode);
}
cudaError_t end_capture(cudaStream_t stream, cudaGraph_t* graph) {
  const Inside inside;
  return finish_capture(stream, graph);
}
bool capture_is_valid(cudaStream_t stream) {
  const Inside inside;
  return of(stream)->capture && of(stream)->capture->valid;
}
void fork(cudaStream_t from, cudaStream_t to) {
  const Inside inside;
  of(to)->capture = of(from)->capture;
  of(to)->dependencies = of(from)->dependencies;
}
void join(cudaStream_t to, cudaStream_t from) {
  const Inside inside;
  auto& dependencies = of(to)->dependencies;
  dependencies.insert(dependencies.end(), of(from)->dependencies.begin(), of(from)->dependencies.end());
}
cudaError_t synchronize(cudaStream_t stream) {
  const Inside inside;
  return wait_for(stream);
}
cudaError_t launch_graph(cudaGraph_t graph, cudaStream_t stream) {
  const Inside inside;
  return launch_executable(*make_executable(*of(graph)), stream);
}
size_t count_nodes(cudaGraph_t graph) {
  const Inside inside;
  return of(graph)->nodes.size();
}
void destroy_graph(cudaGraph_t graph) {
  const Inside inside;
  delete of(graph);
  --state().live.graphs;
}
int current_device() {
  return device_of_thread;
}
void set_device(int device) {
  device_of_thread = device;
}

}  // namespace synfire_test::fake

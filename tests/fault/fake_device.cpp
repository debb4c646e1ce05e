#include "fake_device.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace synfire_test::fake {

State& state() {
  static State* const made = new State;  // never destroyed, because the library may be used until the process ends
  return *made;
}

constinit thread_local int depth = 0;
constinit thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;
constinit thread_local int device_of_thread = -1;
constinit thread_local cudaError_t last_error_of_thread = cudaSuccess;
char contexts[16];

size_t this_thread() {
  static std::atomic<size_t> next{1};
  thread_local const size_t number = next.fetch_add(1);
  return number;
}

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

cudaError_t add(Stream& stream, cudaGraphNodeType type, Work work, std::shared_ptr<Graph> child) {
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
  const auto& kernel = *static_cast<const synfire::cuda::Twin*>(function);
  const std::shared_ptr<void> arguments(std::aligned_alloc(64, (kernel.argument_bytes + 63) / 64 * 64), std::free);
  if (kernel.argument_bytes > 0) std::memcpy(arguments.get(), parameters[0], kernel.argument_bytes);
  return {function, arguments.get(), [&kernel, arguments] {
            if (kernel.lets_next_begin) state().passes.push_back(kernel.lets_next_begin(arguments.get()));
            kernel.run(arguments.get());
          }};
}

cudaError_t launch_kernel(cudaStream_t stream, KernelCall call, bool programmatic) {
  if (of(stream)->capture && state().distorted) {
    const std::vector<cudaGraphNodeType> types = *std::exchange(state().distorted, std::nullopt);
    for (const cudaGraphNodeType type : types)
      if (const cudaError_t error = enqueue(stream, type, [] {}); error != cudaSuccess) return error;
    return cudaSuccess;
  }
  const cudaError_t error = enqueue(stream, cudaGraphNodeTypeKernel, std::move(call.work));
  if (error != cudaSuccess || !of(stream)->capture) return error;
  Node& node = *of(stream)->dependencies.front();
  node.function = call.function;
  node.parameters = call.arguments;
  state().captured_kernels.push_back(programmatic);
  return cudaSuccess;
}

namespace {

Edges edges_of(const Graph& graph) {
  std::map<const Node*, size_t> places;
  for (size_t i = 0; i < graph.nodes.size(); ++i) places[graph.nodes[i].get()] = i;
  Edges edges;
  for (const auto& node : graph.nodes) {
    std::vector<size_t>& before = edges.emplace_back();
    for (const Node* const dependency : node->dependencies) before.push_back(places.at(dependency));
    std::sort(before.begin(), before.end());
  }
  return edges;
}

// Nodes in any order that their edges allow.
std::vector<size_t> any_order(const Edges& after) {
  std::vector<size_t> n_left, ready, order;
  Edges later(after.size());
  for (size_t node = 0; node < after.size(); ++node) {
    n_left.push_back(after[node].size());
    for (const size_t earlier : after[node]) later[earlier].push_back(node);
    if (n_left[node] == 0) ready.push_back(node);
  }
  while (!ready.empty()) {
    std::swap(ready[state().random_numbers() % ready.size()], ready.back());
    const size_t node = ready.back();
    ready.pop_back();
    if (node != order.size()) ++state().nodes_reordered;
    order.push_back(node);
    for (const size_t next : later[node])
      if (--n_left[next] == 0) ready.push_back(next);
  }
  return order;
}

}  // namespace

void run_graph(const Graph& graph) {
  for (const size_t place : any_order(edges_of(graph))) {
    const Node& node = *graph.nodes[place];
    if (node.child)
      run_graph(*node.child);
    else if (node.work)
      node.work();
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
  // Freeing waits for the whole device, its default streams included.
  for (const auto& stream : state().streams) run_stream(*stream);
  run_stream(state().legacy_stream);
  for (auto& [thread, stream] : state().streams_of_threads) run_stream(stream);
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
  // Every node must precede what follows on the origin stream.
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

cudaError_t record_event(Event& event, cudaStream_t stream) {
  const auto reached = std::make_shared<bool>(false);
  event = {of(stream), reached};
  return enqueue(stream, cudaGraphNodeTypeEventRecord, [reached] { *reached = true; });
}

cudaError_t wait_for_event(cudaStream_t stream, const Event& event) {
  return enqueue(stream, cudaGraphNodeTypeWaitEvent, [event] {  // a stream that was destroyed has run all its work
    if (!*event.reached) run_stream(*event.stream);
  });
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
  for (const size_t place : any_order(executable.after)) {
    const Executable::Entry& entry = executable.entries[place];
    if (entry.enabled && entry.work) list.push_back(entry.work);
  }
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
  executable->after = state().edges = edges_of(graph);
  return executable;
}

}  // namespace synfire_test::fake

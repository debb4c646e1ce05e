#include "capture.hpp"

#include "ranges.hpp"

#include <core/error.hpp>
#include <core/native_operation.hpp>

#include <algorithm>
#include <mutex>

namespace synfire::cuda {

using namespace synfire::core;

namespace {

// One capture at a time in this library, and none inside another: a native node's callback runs inside one. Trivially
// destructible on this platform: nothing runs at exit.
constinit std::mutex capture_mutex;
thread_local constinit bool capturing_here = false;

class CaptureLock {
 public:
  CaptureLock() {
    if (capturing_here)
      fail(SYNFIRE_ERROR_CAPTURING, "SYN-GRAPH-NESTED",
           "a native node's callback is running on this thread; graphs are instantiated and re-bound outside of it");
    capture_mutex.lock();
    capturing_here = true;
  }
  ~CaptureLock() {
    capturing_here = false;
    capture_mutex.unlock();
  }
  CaptureLock(const CaptureLock&) = delete;
  CaptureLock& operator=(const CaptureLock&) = delete;
};

// Our own operations never fork.
[[noreturn]] void blame_unjoined(const OperationList& operations) {
  api().get_last_error();
  std::string blamed;
  for (const Operation& operation : operations)
    if (const auto* native = std::get_if<NativeOperation>(&operation))
      blamed.append(blamed.empty() ? "" : ", or ").append(describe_native(*native));
  fail(SYNFIRE_ERROR_CALLBACK, "SYN-GRAPH-NATIVE-JOIN", "%s forked to another stream and did not join it again",
       blamed.c_str());
}

// One capture that is open on a stream.
class Capturer {
 public:
  Capturer(DeviceState& device, const OperationList& operations, const LayerNumbers& numbers, uint32_t slot,
           const SignalLaunch& signal, cudaStream_t stream)
      : device_(device), operations_(operations), numbers_(numbers), slot_(slot), signal_(signal), stream_(stream) {}

  // Enqueues the list and the signal, and notes which nodes each entry became. Returns how many there are.
  size_t capture_operations(CapturedGraph& captured) {
    id_ = capture_id();
    // A kernel right behind another one of this library may be launched before that one has ended: both ends of such an
    // edge know that they must wait. 0.7 us less for a forward and a backward (H200, docs/performance.md, "Small
    // graphs").
    Enqueue how = Enqueue::run;
    for (size_t entry = 0; entry < operations_.size(); ++entry) {
      const Operation& operation = operations_[entry];
      if (const auto* native = std::get_if<NativeOperation>(&operation)) {
        captured.nodes.push_back(capture_native(*native));
        how = Enqueue::run;
        continue;
      }
      {
        const Range range(operation, &numbers_);
        enqueue(operation, device_.shape, how, stream_, next_begins_early(entry));
      }
      captured.nodes.push_back(added_nodes());
      check_nodes(entry, captured.nodes.back(), static_cast<size_t>(nodes_of(operation)));
      const bool kernel = type_of(device_, captured.nodes.back().back()) == cudaGraphNodeTypeKernel;
      how = kernel && device_.programmatic_launches ? Enqueue::run_programmatic : Enqueue::run;
    }
    enqueue_signal(signal_.count, signal_.published, how, stream_);
    const Nodes signal = added_nodes();
    check_nodes(operations_.size(), signal, 1);
    captured.signal = signal.front();
    return known_.size();
  }

 private:
  unsigned long long capture_id() {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
    device_.check(api().stream_get_capture_info(stream_, &status, &id, nullptr, nullptr, nullptr),
                  "cudaStreamGetCaptureInfo");
    return id;
  }

  bool next_begins_early(size_t entry) const {
    return device_.programmatic_launches && entry + 1 < operations_.size() &&
           begins_early(operations_[entry + 1], operations_[entry], device_.shape);
  }

  // The nodes that the capture has gained since the last call; `known_`, sorted, is brought up to date.
  Nodes added_nodes() {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaGraph_t graph = nullptr;
    device_.check(api().stream_get_capture_info(stream_, &status, nullptr, &graph, nullptr, nullptr),
                  "cudaStreamGetCaptureInfo");
    size_t count = 0;
    if (graph) device_.check(api().graph_get_nodes(graph, nullptr, &count), "cudaGraphGetNodes");
    Nodes all(count), added;
    if (count > 0) device_.check(api().graph_get_nodes(graph, all.data(), &count), "cudaGraphGetNodes");
    std::sort(all.begin(), all.end());
    std::set_difference(all.begin(), all.end(), known_.begin(), known_.end(), std::back_inserter(added));
    known_ = std::move(all);
    return added;
  }

  // Every operation is as many kernels or copies as nodes_of() says: fewer mean that work went elsewhere, other types
  // that something allocates or calls back in the replay.
  void check_nodes(size_t entry, const Nodes& nodes, size_t expected) {
    if (nodes.size() != expected)
      fail(SYNFIRE_ERROR_INTERNAL, "SYN-GRAPH-NODES", "entry %zu of the list became %zu nodes instead of %zu", entry,
           nodes.size(), expected);
    for (const cudaGraphNode_t node : nodes) {
      const cudaGraphNodeType type = type_of(device_, node);
      if (type != cudaGraphNodeTypeKernel && type != cudaGraphNodeTypeMemcpy)
        fail(SYNFIRE_ERROR_INTERNAL, "SYN-GRAPH-NODE-TYPE", "entry %zu of the list became a node of type %d", entry,
             static_cast<int>(type));
    }
  }

  Nodes capture_native(const NativeOperation& op) {
    {
      // Libraries load kernels and allocate workspace when they are first used; that is no concern of this capture.
      const RelaxedCapture relaxed;
      const Range range("native node");
      call_native(op, stream_, slot_);
    }
    api().context_set_current(device_.context);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long now = 0;
    const cudaGraphNode_t* dependencies = nullptr;
    size_t n_dependencies = 0;
    const cudaError_t error =
        api().stream_get_capture_info(stream_, &status, &now, nullptr, &dependencies, &n_dependencies);
    if (error != cudaSuccess) api().get_last_error();
    if (error != cudaSuccess || status != cudaStreamCaptureStatusActive || now != id_)
      fail_native(op, "SYN-GRAPH-NATIVE-CAPTURE",
                  "broke the capture: its callback ended it, synchronised, or made a call that CUDA forbids in one");
    Nodes reached(dependencies, dependencies + n_dependencies);
    Nodes added = added_nodes();
    if (added.empty())
      fail_native(op, "SYN-GRAPH-NATIVE-EMPTY", "enqueued nothing on the stream that its callback was given");
    for (const cudaGraphNode_t node : added) {
      const cudaGraphNodeType type = type_of(device_, node);
      if (type != cudaGraphNodeTypeKernel && type != cudaGraphNodeTypeMemcpy && type != cudaGraphNodeTypeMemset) {
        const std::string text = std::string("enqueued a node of CUDA's type ")
                                     .append(std::to_string(static_cast<int>(type)))
                                     .append("; kernels, copies and fills are allowed");
        fail_native(op, "SYN-GRAPH-NATIVE-NODE", text.c_str());
      }
    }
    // Whatever it added must come before what follows in the stream.
    for (size_t i = 0; i < reached.size(); ++i) {
      if (!std::binary_search(added.begin(), added.end(), reached[i])) continue;
      size_t count = 0;
      device_.check(api().graph_node_get_dependencies(reached[i], nullptr, &count), "cudaGraphNodeGetDependencies");
      Nodes before(count);
      if (count > 0)
        device_.check(api().graph_node_get_dependencies(reached[i], before.data(), &count),
                      "cudaGraphNodeGetDependencies");
      for (const cudaGraphNode_t node : before)
        if (std::find(reached.begin(), reached.end(), node) == reached.end()) reached.push_back(node);
    }
    for (const cudaGraphNode_t node : added)
      if (std::find(reached.begin(), reached.end(), node) == reached.end())
        fail_native(op, "SYN-GRAPH-NATIVE-JOIN", "forked work to another stream and did not join it again");
    return added;
  }

  DeviceState& device_;
  const OperationList& operations_;
  const LayerNumbers& numbers_;
  const uint32_t slot_;
  const SignalLaunch signal_;
  const cudaStream_t stream_;
  unsigned long long id_ = 0;  // CUDA's number of the capture
  Nodes known_;
};

}  // namespace

cudaGraphNodeType type_of(DeviceState& device, cudaGraphNode_t node) {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  device.check(api().graph_node_get_type(node, &type), "cudaGraphNodeGetType");
  return type;
}

CapturedGraph capture(DeviceState& device, const OperationList& operations, const LayerNumbers& numbers, uint32_t slot,
                      const SignalLaunch& signal) {
  const CaptureLock lock;
  CapturedGraph captured;
  // A stream of its own, of the same priority: the device's stream stays free for other threads' eager calls.
  cudaStream_t stream = nullptr;
  {
    const RelaxedCapture relaxed;
    int priority = 0;
    device.check(api().stream_get_priority(device.stream, &priority), "cudaStreamGetPriority");
    device.check(api().stream_create_with_priority(&stream, cudaStreamNonBlocking, priority),
                 "cudaStreamCreateWithPriority");
  }
  try {
    device.check(api().stream_begin_capture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    size_t n_nodes = 0;
    try {
      n_nodes = Capturer(device, operations, numbers, slot, signal, stream).capture_operations(captured);
    } catch (...) {
      // A capture must be ended even when it failed.
      cudaGraph_t graph = nullptr;
      if (api().stream_end_capture(stream, &graph) != cudaSuccess) api().get_last_error();
      if (graph) api().graph_destroy(graph);
      throw;
    }
    const cudaError_t ended = api().stream_end_capture(stream, &captured.graph);
    if (ended == cudaErrorStreamCaptureUnjoined) blame_unjoined(operations);
    device.check(ended, "cudaStreamEndCapture");
    size_t count = 0;
    device.check(api().graph_get_nodes(captured.graph, nullptr, &count), "cudaGraphGetNodes");
    if (count != n_nodes)
      fail(SYNFIRE_ERROR_INTERNAL, "SYN-GRAPH-NODES", "the captured graph has %zu nodes instead of %zu", count,
           n_nodes);
  } catch (...) {
    if (captured.graph) api().graph_destroy(captured.graph);
    api().stream_destroy(stream);
    throw;
  }
  api().stream_destroy(stream);
  return captured;
}

}  // namespace synfire::cuda

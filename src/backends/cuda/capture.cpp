#include "capture.hpp"

#include "ranges.hpp"

#include <base/error.hpp>
#include <platform/native_mutex.hpp>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <unordered_set>

namespace synfire::cuda {

using namespace synfire::core;

namespace {

// Only one capture at a time in this library, and none inside another: a native node's callback runs inside one.
// Trivially destructible, so nothing runs at exit.
constinit NativeMutex capture_mutex;
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

[[noreturn]] void fail_capture(const Operation& operation, CaptureFault fault, const char* detail = "") {
  operation.kind().fail_capture(operation.data(), fault, detail);
  std::abort();  // it throws
}

// The capture cannot end because work was not joined, which the check of the stream did not detect.
[[noreturn]] void blame_unjoined(const OperationList& operations) {
  api().get_last_error();
  const Operation* blamed = &operations.front();
  for (const Operation& operation : operations)
    if (operation.kind().calls_back) blamed = &operation;
  fail_capture(*blamed, CaptureFault::not_joined);
}

class Capturer {
 public:
  Capturer(DeviceState& device, const OperationList& operations, const ReplayedNumbers& numbers, uint32_t slot,
           const SignalLaunch& signal, cudaStream_t stream)
      : device_(device), operations_(operations), numbers_(numbers), slot_(slot), signal_(signal), stream_(stream) {}

  // Enqueues the list and the signal, and records the nodes of each entry. Returns the number of nodes.
  size_t capture_operations(CapturedGraph& captured) {
    id_ = capture_id();
    // A kernel that directly follows another one of this library may be launched before that one has ended, because it
    // waits for it (docs/pages/tuning.md, "Programmatic edges").
    Launcher::Place place = {stream_, slot_};
    for (size_t entry = 0; entry < operations_.size(); ++entry) {
      const Operation& operation = operations_[entry];
      place.programmatic = place.programmatic && !operation.kind().calls_back;
      place.next_begins_early = next_begins_early(entry);
      std::optional<size_t> n_expected;
      {
        const Range range(operation, &numbers_);
        n_expected = enqueue(device_, operation, place);
      }
      captured.nodes.push_back(capture_nodes(operation, n_expected));
      place.programmatic = device_.programmatic_launches && !operation.kind().calls_back && last_ &&
                           type_of(device_, last_) == cudaGraphNodeTypeKernel;
    }
    place.next_begins_early = false;
    enqueue_signal(signal_.count, signal_.published, place);
    const Nodes signal = joined_nodes(end_of_capture(nullptr));
    if (signal.size() != 1)
      fail(SYNFIRE_ERROR_INTERNAL, "SYN-GRAPH-NODES", "the count of replays became %zu nodes instead of 1",
           signal.size());
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
    if (!device_.programmatic_launches || entry + 1 == operations_.size()) return false;
    const auto hints = [&](const Operation& operation) {
      return operation.kind().hints(operation.data(), device_.shape);
    };
    return hints(operations_[entry]).lets_next_begin && hints(operations_[entry + 1]).begins_early;
  }

  // The end of a capture: the nodes on which the next work in the stream depends, and the number of all nodes.
  struct End {
    Nodes dependencies;
    size_t n_nodes = 0;
  };
  // Throws if the capture was ended or broken, and blames the operation if there is one.
  End end_of_capture(const Operation* operation) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long now = 0;
    cudaGraph_t graph = nullptr;
    const cudaGraphNode_t* dependencies = nullptr;
    size_t n_dependencies = 0;
    const cudaError_t error =
        api().stream_get_capture_info(stream_, &status, &now, &graph, &dependencies, &n_dependencies);
    const bool calls_back = operation && operation->kind().calls_back;
    if (error != cudaSuccess && !calls_back) device_.check(error, "cudaStreamGetCaptureInfo");
    if (error != cudaSuccess) api().get_last_error();
    if (operation && (error != cudaSuccess || status != cudaStreamCaptureStatusActive || now != id_))
      fail_capture(*operation, CaptureFault::broken);
    End end = {Nodes(dependencies, dependencies + n_dependencies), 0};
    if (graph) device_.check(api().graph_get_nodes(graph, nullptr, &end.n_nodes), "cudaGraphGetNodes");
    graph_ = graph;
    return end;
  }

  // The nodes added to the capture since the last call that precede the next work in the stream. Walks back to known
  // nodes only, so that a capture takes time in proportion to its nodes. Updates `known_`.
  Nodes joined_nodes(const End& end) {
    const size_t n_added = end.n_nodes - std::min(known_.size(), end.n_nodes);
    Nodes added;
    const auto visit = [&](cudaGraphNode_t node) {
      if (known_.insert(node).second) added.push_back(node);
    };
    for (const cudaGraphNode_t node : end.dependencies) visit(node);
    Nodes before(n_added + end.dependencies.size() + 16);
    for (size_t next = 0; next < added.size();) {
      const cudaGraphNode_t node = added[next++];
      size_t count = 0;
      for (;;) {
        count = before.size();
        device_.check(api().graph_node_get_dependencies(node, before.data(), &count), "cudaGraphNodeGetDependencies");
        if (count < before.size()) break;
        before.resize(2 * count);  // there may have been more than had room
      }
      for (size_t k = 0; k < count; ++k) visit(before[k]);
    }
    std::sort(added.begin(), added.end());
    return added;
  }

  void check_types(const Operation& operation, const Nodes& nodes) {
    for (const cudaGraphNode_t node : nodes) {
      const cudaGraphNodeType type = type_of(device_, node);
      if (type != cudaGraphNodeTypeKernel && type != cudaGraphNodeTypeMemcpy && type != cudaGraphNodeTypeMemset)
        fail_capture(operation, CaptureFault::node_type, std::to_string(static_cast<int>(type)).c_str());
    }
  }

  // Nodes of the capture do not precede the next work in the stream, or a callback has removed nodes.
  [[noreturn]] void fail_unjoined(const Operation& operation, size_t n_nodes) {
    Nodes all(n_nodes), unjoined;
    if (n_nodes > 0) device_.check(api().graph_get_nodes(graph_, all.data(), &n_nodes), "cudaGraphGetNodes");
    std::copy_if(all.begin(), all.end(), std::back_inserter(unjoined),
                 [this](cudaGraphNode_t node) { return !known_.contains(node); });
    check_types(operation, unjoined);
    fail_capture(operation, CaptureFault::not_joined);
  }

  // Checks the nodes of an operation: a replay must allow their types, and all must precede the next work in the
  // stream. An operation may fork to other streams if it joins them.
  Nodes capture_nodes(const Operation& operation, std::optional<size_t> n_expected) {
    const End end = end_of_capture(&operation);
    last_ = end.dependencies.size() == 1 ? end.dependencies.front() : nullptr;
    const size_t n_before = known_.size();
    if (end.n_nodes == n_before) fail_capture(operation, CaptureFault::empty);
    if (n_expected && end.n_nodes != n_before + *n_expected)
      fail_capture(operation, CaptureFault::count, std::to_string(end.n_nodes - n_before).c_str());
    Nodes added = joined_nodes(end);
    check_types(operation, added);
    if (known_.size() != end.n_nodes) fail_unjoined(operation, end.n_nodes);
    return added;
  }

  DeviceState& device_;
  const OperationList& operations_;
  const ReplayedNumbers& numbers_;
  const uint32_t slot_;
  const SignalLaunch signal_;
  const cudaStream_t stream_;
  unsigned long long id_ = 0;       // CUDA's number of the capture
  cudaGraphNode_t last_ = nullptr;  // the only node that the next work in the stream depends on; null if several
  cudaGraph_t graph_ = nullptr;     // the graph that the capture makes
  std::unordered_set<cudaGraphNode_t> known_;
};

}  // namespace

cudaGraphNodeType type_of(DeviceState& device, cudaGraphNode_t node) {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  device.check(api().graph_node_get_type(node, &type), "cudaGraphNodeGetType");
  return type;
}

CapturedGraph capture(DeviceState& device, const OperationList& operations, const ReplayedNumbers& numbers,
                      uint32_t slot, const SignalLaunch& signal) {
  const CaptureLock lock;
  CapturedGraph captured;
  // A separate stream of the same priority leaves the device's stream free for other threads' eager calls.
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

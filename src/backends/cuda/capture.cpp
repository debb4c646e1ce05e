#include "capture.hpp"

#include "ranges.hpp"

#include <base/error.hpp>
#include <platform/native_mutex.hpp>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <numeric>
#include <queue>
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

// The order in which entries are captured: that of the list, but along a branch as far as it goes, because only a
// kernel that is captured after the one for which it waits can be launched programmatically.
std::vector<uint32_t> order_of_captures(size_t n_entries, const EarlierEntries& after) {
  std::vector<uint32_t> order;
  if (after.empty()) {
    order.resize(n_entries);
    std::iota(order.begin(), order.end(), 0);
    return order;
  }
  std::vector<std::vector<uint32_t>> later(n_entries);
  std::vector<size_t> n_left(n_entries);
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t entry = 0; entry < n_entries; ++entry) {
    n_left[entry] = after[entry].size();
    for (const uint32_t earlier : after[entry]) later[earlier].push_back(entry);
    if (n_left[entry] == 0) ready.push(entry);
  }
  while (!ready.empty()) {
    uint32_t entry = ready.top();
    ready.pop();
    for (bool goes_on = true; goes_on;) {
      order.push_back(entry);
      goes_on = false;
      for (const uint32_t next : later[entry]) {
        if (--n_left[next] > 0) continue;
        if (after[next].size() > 1 || goes_on) {
          ready.push(next);
          continue;
        }
        goes_on = true;
        entry = next;
      }
    }
  }
  return order;
}

class Capturer {
 public:
  Capturer(DeviceState& device, const OperationList& operations, const EarlierEntries& after,
           const ReplayedNumbers& numbers, uint32_t slot, const SignalLaunch& signal, cudaStream_t stream)
      : device_(device),
        operations_(operations),
        after_(after),
        order_(order_of_captures(operations.size(), after)),
        numbers_(numbers),
        slot_(slot),
        signal_(signal),
        stream_(stream),
        ends_(after.size()) {}

  // Enqueues the list and the signal, and records the nodes of each entry. Returns the number of nodes.
  size_t capture_operations(CapturedGraph& captured) {
    id_ = capture_id();
    captured.nodes.resize(operations_.size());
    // A kernel that directly follows another one of this library may be launched before that one has ended, because it
    // waits for it (docs/pages/tuning.md, "Programmatic edges").
    Launcher::Place place = {stream_, slot_};
    for (size_t i = 0; i < order_.size(); ++i) {
      const uint32_t entry = order_[i];
      const Operation& operation = operations_[entry];
      if (!after_.empty()) wait_for(after_[entry], i);
      place.programmatic = programmatic_ && !operation.kind().calls_back;
      place.next_begins_early = next_begins_early(i);
      std::optional<size_t> n_expected;
      {
        const Range range(operation, &numbers_);
        n_expected = enqueue(device_, operation, place);
      }
      captured.nodes[entry] = capture_nodes(operation, n_expected);
      if (!after_.empty()) ends_[entry] = last_;
      programmatic_ = device_.programmatic_launches && !operation.kind().calls_back && last_.size() == 1 &&
                      type_of(device_, last_.front()) == cudaGraphNodeTypeKernel;
    }
    if (!after_.empty()) wait_for(last_entries(), order_.size());
    place.programmatic = programmatic_;
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

  // The next work in the stream, the i-th, waits for these entries alone.
  void wait_for(const std::vector<uint32_t>& entries, size_t i) {
    if (i == 0 || (entries.size() == 1 && entries.front() == order_[i - 1])) return;
    Nodes nodes;
    for (const uint32_t entry : entries) nodes.insert(nodes.end(), ends_[entry].begin(), ends_[entry].end());
    device_.check(api().stream_set_capture_dependencies(stream_, nodes.data(), nodes.size()),
                  "cudaStreamUpdateCaptureDependencies");
    programmatic_ = false;
  }
  // Those for which no other one waits.
  std::vector<uint32_t> last_entries() const {
    std::vector<uint8_t> is_last(operations_.size(), 1);
    for (const std::vector<uint32_t>& entries : after_)
      for (const uint32_t entry : entries) is_last[entry] = 0;
    std::vector<uint32_t> entries;
    for (uint32_t entry = 0; entry < is_last.size(); ++entry)
      if (is_last[entry]) entries.push_back(entry);
    return entries;
  }

  // For the i-th entry that is captured.
  bool next_begins_early(size_t i) const {
    if (!device_.programmatic_launches || i + 1 == order_.size()) return false;
    const uint32_t entry = order_[i], next = order_[i + 1];
    if (!after_.empty() && after_[next] != std::vector<uint32_t>{entry}) return false;
    const auto hints = [&](const Operation& operation) {
      return operation.kind().hints(operation.data(), device_.shape);
    };
    return hints(operations_[entry]).lets_next_begin && hints(operations_[next]).begins_early;
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
    last_ = end.dependencies;
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
  const EarlierEntries& after_;
  const std::vector<uint32_t> order_;
  const ReplayedNumbers& numbers_;
  const uint32_t slot_;
  const SignalLaunch signal_;
  const cudaStream_t stream_;
  unsigned long long id_ = 0;    // CUDA's number of the capture
  Nodes last_;                   // on which the next work in the stream depends
  std::vector<Nodes> ends_;      // of each entry; only if there are branches
  bool programmatic_ = false;    // the next work in the stream follows one kernel of this library
  cudaGraph_t graph_ = nullptr;  // the graph that the capture makes
  std::unordered_set<cudaGraphNode_t> known_;
};

}  // namespace

cudaGraphNodeType type_of(DeviceState& device, cudaGraphNode_t node) {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  device.check(api().graph_node_get_type(node, &type), "cudaGraphNodeGetType");
  return type;
}

CapturedGraph capture(DeviceState& device, const OperationList& operations, const EarlierEntries& after,
                      const ReplayedNumbers& numbers, uint32_t slot, const SignalLaunch& signal) {
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
      n_nodes = Capturer(device, operations, after, numbers, slot, signal, stream).capture_operations(captured);
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

// The internals of the fake CUDA runtime: streams, captures, graphs and allocations. The table of calls is in
// fake_table.cpp, the functions for tests are in fake_cuda.cpp, and the kernels' results come from their twins
// (tests/twins/twin.hpp).
#ifndef SYNFIRE_TESTS_FAULT_FAKE_DEVICE_HPP
#define SYNFIRE_TESTS_FAULT_FAKE_DEVICE_HPP

#include "../twins/twin.hpp"
#include "fake_cuda.hpp"

#include <backends/cuda/api.hpp>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace synfire_test::fake {

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
  Edges after;  // of each entry
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

// A place in a stream. Before it is recorded, it counts as reached.
struct Event {
  Stream* stream = nullptr;
  std::shared_ptr<bool> reached = std::make_shared<bool>(true);
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
  int driver_version = 13000;
  std::vector<bool> captured_kernels, passes;
  std::optional<std::vector<cudaGraphNodeType>> distorted;  // replaces the next captured kernel
  std::map<void*, Allocation> allocations;
  std::map<std::string, uint64_t> counts;
  uint64_t total = 0;
  uint64_t nodes_returned = 0, nodes_reordered = 0;
  Edges edges;
  std::mt19937 random_numbers;  // of a fixed seed: a failure shows again
  std::map<std::string, std::pair<int, cudaError_t>> failures;
  std::vector<std::unique_ptr<Stream>> streams;
  Stream legacy_stream;
  std::map<size_t, Stream> streams_of_threads;
  std::vector<std::shared_ptr<Capture>> captures;
  Live live = {};
  bool held = false;
  cudaError_t lost = cudaSuccess;
  unsigned long long next_capture = 1;
  std::deque<Stream*> order;  // streams with held work, oldest first
};

State& state();

extern thread_local int depth;  // how many calls of the fake this thread is inside
extern thread_local cudaStreamCaptureMode thread_mode;
extern thread_local int device_of_thread;  // -1: no device is current
extern thread_local cudaError_t last_error_of_thread;
extern char contexts[16];  // the address of each represents a device's context

// Every thread has its own number.
size_t this_thread();

// One call through the table: counted, and possibly failing.
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

// The default streams of the device and of the calling thread have special handles.
inline Stream* of(cudaStream_t stream) {
  if (stream == cudaStreamLegacy) return &state().legacy_stream;
  if (stream == cudaStreamPerThread) return &state().streams_of_threads[this_thread()];
  return reinterpret_cast<Stream*>(stream);
}
inline Graph* of(cudaGraph_t graph) {
  return reinterpret_cast<Graph*>(graph);
}
inline Node* of(cudaGraphNode_t node) {
  return reinterpret_cast<Node*>(node);
}
inline Executable* of(cudaGraphExec_t executable) {
  return reinterpret_cast<Executable*>(executable);
}
inline cudaGraphNode_t handle(const Node* node) {
  return reinterpret_cast<cudaGraphNode_t>(const_cast<Node*>(node));
}

// A call that CUDA forbids during certain captures: it invalidates them.
cudaError_t unsafe();
void run_stream(Stream& stream);
// Adds a node to the stream's capture, or work to the stream.
cudaError_t add(Stream& stream, cudaGraphNodeType type, Work work, std::shared_ptr<Graph> child = nullptr);
cudaError_t enqueue(cudaStream_t handle, cudaGraphNodeType type, Work work);
KernelCall call_of(const void* function, void** parameters);
cudaError_t launch_kernel(cudaStream_t stream, KernelCall call, bool programmatic);
void run_graph(const Graph& graph);
std::unique_ptr<Graph> clone(const Graph& graph);
cudaGraph_t live_graph(std::unique_ptr<Graph> graph);
cudaError_t allocate(void** data, size_t bytes, cudaMemoryType type);
cudaError_t deallocate(void* data);
cudaError_t finish_capture(cudaStream_t handle, cudaGraph_t* graph);
cudaError_t start_capture(cudaStream_t handle, cudaStreamCaptureMode mode);
cudaError_t wait_for(cudaStream_t handle);
cudaError_t record_event(Event& event, cudaStream_t stream);
cudaError_t wait_for_event(cudaStream_t stream, const Event& event);
cudaStream_t new_stream(int priority);
cudaError_t delete_stream(cudaStream_t stream);
cudaError_t launch_executable(const Executable& executable, cudaStream_t stream);
std::unique_ptr<Executable> make_executable(const Graph& graph);

// The CUDA calls, as the library makes them.
synfire::cuda::Api table();

}  // namespace synfire_test::fake

#endif

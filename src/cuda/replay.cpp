// An instantiated graph on CUDA: capture of the operation list on a private stream, checks of what was captured, replay.
#include "device_state.hpp"
#include "staging.hpp"

#include <core/error.hpp>

#include <mutex>

namespace synfire::cuda {

using namespace synfire::core;

namespace {

// One capture at a time in this library. Trivially destructible on this platform: nothing runs at exit.
constinit std::mutex capture_mutex;

bool allowed(cudaGraphNodeType type) {
  return type == cudaGraphNodeTypeKernel || type == cudaGraphNodeTypeMemcpy;
}

class CudaReplay final : public Replay {
 public:
  CudaReplay(DeviceState& device, const OperationList& operations) : device_(device) {
    device_.require_alive();
    const CurrentContext current(device_.context);
    try {
      build(operations);
    } catch (...) {
      release_all();
      throw;
    }
  }

  ~CudaReplay() override {
    const CurrentContext current(device_.context);
    release_all();
  }

  void launch(synfire_stream stream) override {
    device_.require_alive();
    const CurrentContext current(device_.context);
    device_.check(api().graph_launch(executable_, device_.choose(stream)), "cudaGraphLaunch");
  }

  uint64_t finished() const noexcept override {
    const uint64_t count = *static_cast<volatile uint64_t*>(published_);
    std::atomic_thread_fence(std::memory_order_acquire);
    return count;
  }

  void check() override {
    device_.require_alive();
    const CurrentContext current(device_.context);
    const RelaxedCapture relaxed;
    const cudaError_t error = api().stream_query(device_.stream);
    if (error != cudaErrorNotReady) device_.check(error, "cudaStreamQuery");
  }

 private:
  void build(const OperationList& recorded) {
    const Staging staging(recorded);
    if (staging.arena_bytes() > 0) arena_ = allocate(device_, SYNFIRE_MEMORY_DEVICE, staging.arena_bytes());
    count_ = static_cast<uint64_t*>(allocate(device_, SYNFIRE_MEMORY_DEVICE, sizeof(uint64_t)));
    published_ = static_cast<uint64_t*>(allocate(device_, SYNFIRE_MEMORY_PINNED, sizeof(uint64_t)));
    const OperationList operations = staging.place(arena_);
    warm_up(operations);
    const cudaGraph_t graph = capture(operations);
    try {
      size_t expected = 1;  // the signal
      for (const Operation& operation : operations) expected += static_cast<size_t>(nodes_of(operation));
      check_nodes(graph, expected);
      instantiate(graph);
    } catch (...) {
      api().graph_destroy(graph);
      throw;
    }
    api().graph_destroy(graph);
  }

  // Loading a kernel during a capture is an error, and during the first replay a delay: load them all now.
  void warm_up(const OperationList& operations) {
    const RelaxedCapture relaxed;
    for (const Operation& operation : operations) {
      cudaFuncAttributes attributes;
      if (const void* kernel = kernel_of(operation, device_.shape))
        device_.check(api().func_get_attributes(&attributes, kernel), "cudaFuncGetAttributes");
      enqueue(operation, device_.shape, Enqueue::warm_up, device_.stream);
    }
    enqueue_signal(nullptr, nullptr, device_.stream);
    device_.check(api().stream_synchronize(device_.stream), "cudaStreamSynchronize");
  }

  cudaGraph_t capture(const OperationList& operations) {
    const std::lock_guard lock(capture_mutex);
    // A stream of its own, of the same priority: the device's stream stays free for other threads' eager calls.
    cudaStream_t stream = nullptr;
    {
      const RelaxedCapture relaxed;
      int priority = 0;
      device_.check(api().stream_get_priority(device_.stream, &priority), "cudaStreamGetPriority");
      device_.check(api().stream_create_with_priority(&stream, cudaStreamNonBlocking, priority),
                    "cudaStreamCreateWithPriority");
    }
    cudaGraph_t graph = nullptr;
    cudaError_t ended = cudaSuccess;
    try {
      device_.check(api().stream_begin_capture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
      try {
        for (const Operation& operation : operations) enqueue(operation, device_.shape, Enqueue::run, stream);
        enqueue_signal(count_, published_, stream);
      } catch (...) {
        // A capture must be ended even when it failed.
        if (api().stream_end_capture(stream, &graph) != cudaSuccess) api().get_last_error();
        if (graph) api().graph_destroy(graph);
        throw;
      }
      ended = api().stream_end_capture(stream, &graph);
      device_.check(ended, "cudaStreamEndCapture");
    } catch (...) {
      api().stream_destroy(stream);
      throw;
    }
    api().stream_destroy(stream);
    return graph;
  }

  // Every operation is as many kernels or copies as nodes_of() says: fewer nodes mean that work went elsewhere, other types that something
  // allocates or calls back in the replay.
  void check_nodes(cudaGraph_t graph, size_t expected) {
    size_t count = 0;
    device_.check(api().graph_get_nodes(graph, nullptr, &count), "cudaGraphGetNodes");
    if (count != expected)
      fail(SYNFIRE_ERROR_INTERNAL, "SYN-GRAPH-NODES", "the captured graph has %zu nodes instead of %zu", count, expected);
    std::vector<cudaGraphNode_t> nodes(count);
    device_.check(api().graph_get_nodes(graph, nodes.data(), &count), "cudaGraphGetNodes");
    for (const cudaGraphNode_t node : nodes) {
      cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
      device_.check(api().graph_node_get_type(node, &type), "cudaGraphNodeGetType");
      if (!allowed(type))
        fail(SYNFIRE_ERROR_INTERNAL, "SYN-GRAPH-NODE-TYPE", "the captured graph has a node of type %d",
             static_cast<int>(type));
    }
  }

  void instantiate(cudaGraph_t graph) {
    const RelaxedCapture relaxed;
    cudaGraphInstantiateParams params = {};
    params.flags = cudaGraphInstantiateFlagUpload | cudaGraphInstantiateFlagUseNodePriority;
    params.uploadStream = device_.stream;
    device_.check(api().graph_instantiate(&executable_, graph, &params), "cudaGraphInstantiateWithParams");
    device_.check(api().stream_synchronize(device_.stream), "cudaStreamSynchronize");
  }

  void release_all() noexcept {
    const RelaxedCapture relaxed;
    if (executable_ && api().graph_exec_destroy(executable_) != cudaSuccess) api().get_last_error();
    // Freeing waits for replays in flight.
    if (arena_) release(device_, SYNFIRE_MEMORY_DEVICE, arena_);
    if (count_) release(device_, SYNFIRE_MEMORY_DEVICE, count_);
    if (published_) release(device_, SYNFIRE_MEMORY_PINNED, published_);
  }

  DeviceState& device_;
  cudaGraphExec_t executable_ = nullptr;
  void* arena_ = nullptr;
  uint64_t* count_ = nullptr;      // device memory: replays finished
  uint64_t* published_ = nullptr;  // the same, in mapped host memory
};

}  // namespace

std::unique_ptr<Replay> make_replay(DeviceState& device, const OperationList& operations) {
  return std::make_unique<CudaReplay>(device, operations);
}

}  // namespace synfire::cuda

// bare_cuda.cu - the bare graph and the load, implemented with the CUDA runtime.
//
// SPDX-License-Identifier: MIT
#include "bare.hpp"

#include <cuda_runtime.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace synfire_bench {
namespace {

void check_cuda(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string(call) + " returned " + cudaGetErrorName(error) + ": " +
                           cudaGetErrorString(error));
}

// The same work as Synfire's own signal: count, and notify the host.
__global__ void publish(unsigned long long* count, volatile unsigned long long* published) {
  const unsigned long long finished = *count + 1;
  *count = finished;
  __threadfence_system();
  *published = finished;
}

constexpr unsigned load_threads = 256;
constexpr unsigned vectors_per_thread = 4;
constexpr std::size_t load_bytes = std::size_t{128} << 20;  // per array; both together exceed any L2

// 16 KiB per block: short blocks, so that work of a higher priority soon gets a multiprocessor.
__global__ void __launch_bounds__(load_threads) copy_chunk(const float4* from, float4* to) {
  const std::size_t begin = std::size_t{blockIdx.x} * load_threads * vectors_per_thread + threadIdx.x;
#pragma unroll
  for (unsigned i = 0; i < vectors_per_thread; ++i) to[begin + i * load_threads] = from[begin + i * load_threads];
}

void select(const Machine& machine) {
  check_cuda(cudaSetDevice(machine.properties().device), "cudaSetDevice");
}

cudaStream_t new_stream(int priority) {
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority), "cudaStreamCreateWithPriority");
  return stream;
}

std::vector<cudaGraphNode_t> nodes_of(cudaGraph_t graph) {
  std::size_t count = 0;
  check_cuda(cudaGraphGetNodes(graph, nullptr, &count), "cudaGraphGetNodes");
  std::vector<cudaGraphNode_t> nodes(count);
  check_cuda(cudaGraphGetNodes(graph, nodes.data(), &count), "cudaGraphGetNodes");
  return nodes;
}

}  // namespace

// ---- The bare graph

struct BareGraph::Parts {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  unsigned long long* count = nullptr;      // device memory
  unsigned long long* published = nullptr;  // mapped host memory
  unsigned long long launched = 0;

  ~Parts() {
    if (stream) cudaStreamSynchronize(stream);
    if (executable) cudaGraphExecDestroy(executable);
    if (graph) cudaGraphDestroy(graph);
    if (stream) cudaStreamDestroy(stream);
    cudaFree(count);
    cudaFreeHost(published);
  }
};

BareGraph::BareGraph(const Machine& machine, const Chain& chain, Seen seen, int priority)
    : parts_(std::make_unique<Parts>()) {
  Parts& p = *parts_;
  select(machine);
  p.stream = new_stream(priority);
  if (seen == Seen::counter) {
    check_cuda(cudaMalloc(&p.count, sizeof *p.count), "cudaMalloc");
    check_cuda(cudaMemset(p.count, 0, sizeof *p.count), "cudaMemset");
    check_cuda(cudaHostAlloc(&p.published, sizeof *p.published, cudaHostAllocMapped), "cudaHostAlloc");
    *p.published = 0;
    cudaFuncAttributes attributes;  // loads the kernel, which a capture must not do
    check_cuda(cudaFuncGetAttributes(&attributes, publish), "cudaFuncGetAttributes");
  }
  check_cuda(cudaStreamBeginCapture(p.stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  try {
    chain.run_eagerly(p.stream);
    if (seen == Seen::counter) {
      publish<<<1, 1, 0, p.stream>>>(p.count, p.published);
      check_cuda(cudaGetLastError(), "publish");
    }
  } catch (...) {
    cudaStreamEndCapture(p.stream, &p.graph);
    throw;
  }
  check_cuda(cudaStreamEndCapture(p.stream, &p.graph), "cudaStreamEndCapture");
  const std::size_t expected = chain.shape().operations() + (seen == Seen::counter ? 1 : 0);
  const std::size_t nodes = nodes_of(p.graph).size();
  if (nodes != expected)
    throw std::runtime_error("the bare graph has " + std::to_string(nodes) + " nodes; " + std::to_string(expected) +
                             " were expected for the same kernels");
  check_cuda(cudaGraphInstantiateWithFlags(&p.executable, p.graph, cudaGraphInstantiateFlagUseNodePriority),
             "cudaGraphInstantiateWithFlags");
  check_cuda(cudaGraphUpload(p.executable, p.stream), "cudaGraphUpload");
  check_cuda(cudaStreamSynchronize(p.stream), "cudaStreamSynchronize");
}

BareGraph::~BareGraph() = default;

void BareGraph::launch() {
  check_cuda(cudaGraphLaunch(parts_->executable, parts_->stream), "cudaGraphLaunch");
  ++parts_->launched;
}

void BareGraph::wait() {
  const Parts& p = *parts_;
  if (!p.published) {
    cudaError_t error = cudaErrorNotReady;
    while (error == cudaErrorNotReady) error = cudaStreamQuery(p.stream);
    return check_cuda(error, "cudaStreamQuery");
  }
  for (std::uint64_t spins = 1; *static_cast<volatile unsigned long long*>(p.published) < p.launched; ++spins) {
    if (spins % (std::uint64_t{1} << 24) != 0) continue;
    const cudaError_t error = cudaStreamQuery(p.stream);
    if (error != cudaErrorNotReady) check_cuda(error, "cudaStreamQuery");
  }
  std::atomic_thread_fence(std::memory_order_acquire);
}

// ---- Priorities

int highest_priority(const Machine& machine) {
  select(machine);
  int least = 0, greatest = 0;
  check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  return greatest;
}

int priority_of_nodes(const Machine& machine, const Chain& chain) {
  select(machine);
  struct Owner {
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    ~Owner() {
      if (graph) cudaGraphDestroy(graph);
      if (stream) cudaStreamDestroy(stream);
    }
  } owner;
  // Capturing the launch shows the graph's nodes. The stream has a different priority on purpose.
  owner.stream = new_stream(0);
  check_cuda(cudaStreamBeginCapture(owner.stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  const synfire_status status = synfire_graph_launch(chain.graph(), owner.stream, nullptr);
  check_cuda(cudaStreamEndCapture(owner.stream, &owner.graph), "cudaStreamEndCapture");
  check(status, "synfire_graph_launch");
  std::vector<cudaGraphNode_t> nodes = nodes_of(owner.graph);
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  if (nodes.size() == 1) check_cuda(cudaGraphNodeGetType(nodes[0], &type), "cudaGraphNodeGetType");
  if (type == cudaGraphNodeTypeGraph) {
    cudaGraph_t child = nullptr;
    check_cuda(cudaGraphChildGraphNodeGetGraph(nodes[0], &child), "cudaGraphChildGraphNodeGetGraph");
    nodes = nodes_of(child);
  }
  bool first = true;
  int priority = 0;
  for (const cudaGraphNode_t node : nodes) {
    check_cuda(cudaGraphNodeGetType(node, &type), "cudaGraphNodeGetType");
    if (type != cudaGraphNodeTypeKernel) continue;
    cudaLaunchAttributeValue value = {};
    check_cuda(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributePriority, &value),
               "cudaGraphKernelNodeGetAttribute");
    if (!first && value.priority != priority)
      throw std::runtime_error("kernels of one graph have different priorities");
    priority = value.priority;
    first = false;
  }
  if (first) throw std::runtime_error("the graph has no kernel");
  return priority;
}

// ---- The load

struct Load::Parts {
  static constexpr std::size_t in_flight = 8;  // enough that the GPU never runs out of work while the thread sleeps

  int device = 0;
  cudaStream_t stream = nullptr;
  float4 *from = nullptr, *to = nullptr;
  cudaEvent_t events[in_flight] = {};
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> kernels{0};
  std::atomic<int> error{cudaSuccess};
  std::thread thread;

  void run() {
    cudaError_t result = cudaSetDevice(device);
    for (std::uint64_t i = 0; result == cudaSuccess && !stop.load(std::memory_order_relaxed); ++i) {
      const cudaEvent_t event = events[i % in_flight];
      if (i >= in_flight) {
        result = cudaEventSynchronize(event);
        kernels.store(i - in_flight + 1, std::memory_order_relaxed);
        if (result != cudaSuccess) break;
      }
      copy_chunk<<<load_bytes / sizeof(float4) / load_threads / vectors_per_thread, load_threads, 0, stream>>>(from,
                                                                                                               to);
      result = cudaGetLastError();
      if (result == cudaSuccess) result = cudaEventRecord(event, stream);
    }
    error.store(result);
  }

  ~Parts() {
    stop = true;
    if (thread.joinable()) thread.join();
    if (stream) cudaStreamSynchronize(stream);
    for (const cudaEvent_t event : events)
      if (event) cudaEventDestroy(event);
    if (stream) cudaStreamDestroy(stream);
    cudaFree(from);
    cudaFree(to);
  }
};

Load::Load(const Machine& machine) : parts_(std::make_unique<Parts>()) {
  Parts& p = *parts_;
  select(machine);
  p.device = machine.properties().device;
  p.stream = new_stream(0);
  check_cuda(cudaMalloc(&p.from, load_bytes), "cudaMalloc");
  check_cuda(cudaMalloc(&p.to, load_bytes), "cudaMalloc");
  check_cuda(cudaMemset(p.from, 0, load_bytes), "cudaMemset");
  for (cudaEvent_t& event : p.events)
    check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync),
               "cudaEventCreateWithFlags");
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  p.thread = std::thread([&p] { p.run(); });
  while (kernels() < 2 * Parts::in_flight) std::this_thread::yield();
}

Load::~Load() = default;

std::uint64_t Load::kernels() const {
  check_cuda(static_cast<cudaError_t>(parts_->error.load()), "a kernel of the load");
  return parts_->kernels.load(std::memory_order_relaxed);
}

}  // namespace synfire_bench

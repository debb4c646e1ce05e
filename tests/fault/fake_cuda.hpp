// A CUDA runtime in this process: memory is host memory, a stream is a queue, a kernel is a function, a graph is a
// list of them. It replaces the library's table of CUDA calls (src/backends/cuda/api.hpp), counts each call, enforces
// CUDA's rules for captures, and fails where a test asks for it. Kernels are the host twins defined with the GPU's
// (tests/twins/twin.hpp), so that every test of the C ABI runs through the CUDA backend on a machine without a GPU. A
// launch of a graph runs its nodes one after the other, in any order that its edges allow, a new one each time: a
// missing edge shows in the results. It does not model timing, nor kernels that overlap.
#ifndef SYNFIRE_TESTS_FAULT_FAKE_CUDA_HPP
#define SYNFIRE_TESTS_FAULT_FAKE_CUDA_HPP

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace synfire_test::fake {

// Installs the fake as the table of calls, with this many devices. Everything is as at the start of a process.
void install(int n_devices = 1, int compute_major = 9, int driver_version = 13000);

// ---- Observing
uint64_t calls();                         // since the last reset_calls()
uint64_t calls(const std::string& name);  // "cudaMalloc"
void reset_calls();
// How many nodes of graphs were returned since reset_calls(): by cudaGraphGetNodes and cudaGraphNodeGetDependencies.
uint64_t nodes_returned();
// For each node of the graph that was instantiated last, in the order in which they were added, the nodes before it.
using Edges = std::vector<std::vector<size_t>>;
Edges edges();
// How many nodes have run elsewhere than in the order in which they were added, since reset_calls().
uint64_t nodes_reordered();
struct Live {
  int64_t allocations, streams, graphs, executables, events;
  bool operator==(const Live&) const = default;
};
Live live();
// The total size of all live allocations of device memory, as requested.
uint64_t device_bytes();
// For every kernel of the library that was captured since reset_calls(): whether its launch was programmatic, so that
// it may begin before its predecessor has ended.
std::vector<bool> captured_kernels();
// For every forward and backward that has run since reset_calls(): whether it let the next kernel begin early.
std::vector<bool> passes();
// True on a thread that is inside the fake, whose allocations and locks are not the library's.
bool inside() noexcept;

// ---- The device
// Enqueued work is held until it is released, or until something synchronises with it.
void hold();
void release();  // runs the held work, and all later work at once
void run_one();  // runs the oldest piece of held work: a kernel, a copy, or a whole graph
// From now on every call returns this error, such as an illegal address, and held work never runs.
void lose(cudaError_t error);
// The n-th call of this name from now on returns this error, once.
void fail(const std::string& name, cudaError_t error, int nth = 1);
// The next captured kernel is replaced by nodes of these types, which do nothing.
void distort(std::vector<cudaGraphNodeType> types);

// ---- The caller's own CUDA work
cudaStream_t make_stream();
void destroy_stream(cudaStream_t stream);
// As if the stream had been destroyed, and a new stream of this device had its address.
void recycle(cudaStream_t stream, int device);
cudaError_t launch(cudaStream_t stream, std::function<void()> work);  // a kernel
cudaError_t add_node(cudaStream_t stream, cudaGraphNodeType type);    // captures a node of any type
cudaError_t begin_capture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t end_capture(cudaStream_t stream, cudaGraph_t* graph);
bool capture_is_valid(cudaStream_t stream);
void fork(cudaStream_t from, cudaStream_t to);  // an event recorded on one and waited for on the other
void join(cudaStream_t to, cudaStream_t from);
cudaError_t synchronize(cudaStream_t stream);
cudaError_t launch_graph(cudaGraph_t graph, cudaStream_t stream);  // instantiates, launches, destroys the executable
size_t count_nodes(cudaGraph_t graph);
void destroy_graph(cudaGraph_t graph);
// An error that is pending on this thread in the runtime, which the caller shares with the library.
void set_last_error(cudaError_t error);
cudaError_t last_error();
int current_device();
void set_device(int device);

}  // namespace synfire_test::fake

#endif

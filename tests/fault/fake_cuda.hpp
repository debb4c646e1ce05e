// A CUDA runtime in this process: memory is host memory, a stream is a queue, a kernel is a function, a graph is a list
// of them. It replaces the library's table of CUDA calls (src/cuda/api.hpp), counts each call, keeps CUDA's rules for
// captures, and fails where a test asks for it. Kernels are the host twins that stand beside the GPU's
// (src/cuda/twin.hpp), so that every test of the C ABI runs through the CUDA backend on a machine without a GPU. What
// does not live here: timing, concurrency within the device, anything that only a GPU can show.
#ifndef SYNFIRE_TESTS_FAULT_FAKE_CUDA_HPP
#define SYNFIRE_TESTS_FAULT_FAKE_CUDA_HPP

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace synfire_test::fake {

// Puts the fake behind the table of calls, with this many devices; everything is as at the start of a process.
void install(int n_devices = 1, int compute_major = 9, int driver_version = 13000);

// ---- looking
uint64_t calls();                         // since the last reset_calls()
uint64_t calls(const std::string& name);  // "cudaMalloc"
void reset_calls();
struct Live {
  int64_t allocations, streams, graphs, executables;
  bool operator==(const Live&) const = default;
};
Live live();
// What all allocations of device memory that are live hold together, as they were asked for.
uint64_t device_bytes();
// Of every kernel of the library that went into a capture since reset_calls(): whether its launch was programmatic, so
// that it may begin before the node in front of it has ended.
std::vector<bool> captured_kernels();
// Of every forward and backward that has run since reset_calls(): whether it let the kernel behind it begin early.
std::vector<bool> passes();
// True on a thread that is inside the fake: what it allocates and locks is not the library's.
bool inside() noexcept;

// ---- the device
// Enqueued work waits until it is let run, or until something synchronises with it.
void hold();
void release();  // runs what waits, and from now on everything at once
void run_one();  // runs the oldest piece of waiting work: a kernel, a copy, or a whole graph
// From now on every call answers this error, and waiting work never runs: an illegal address, say.
void lose(cudaError_t error);
// The n-th call of this name from now on answers this error, once.
void fail(const std::string& name, cudaError_t error, int nth = 1);
// The next kernel that goes into a capture becomes nodes of these types instead, which do nothing.
void distort(std::vector<cudaGraphNodeType> types);

// ---- the caller's own CUDA work
cudaStream_t make_stream();
void destroy_stream(cudaStream_t stream);
// As if the stream were destroyed, and a new one of this device had its address.
void recycle(cudaStream_t stream, int device);
cudaError_t launch(cudaStream_t stream, std::function<void()> work);  // a kernel
cudaError_t add_node(cudaStream_t stream, cudaGraphNodeType type);    // a node of any type into its capture
cudaError_t begin_capture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t end_capture(cudaStream_t stream, cudaGraph_t* graph);
bool capture_is_valid(cudaStream_t stream);
void fork(cudaStream_t from, cudaStream_t to);  // an event recorded on one, waited for on the other
void join(cudaStream_t to, cudaStream_t from);
cudaError_t synchronize(cudaStream_t stream);
cudaError_t launch_graph(cudaGraph_t graph, cudaStream_t stream);  // instantiates, launches, destroys the executable
size_t count_nodes(cudaGraph_t graph);
void destroy_graph(cudaGraph_t graph);
int current_device();
void set_device(int device);

}  // namespace synfire_test::fake

#endif

#include "fake_device.hpp"

#include <algorithm>

namespace synfire_test::fake {
namespace {

// The functions for tests also count as inside the fake.
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

void install(int n_devices, int compute_major, int driver_version) {
  const Inside inside;
  State& s = state();
  s.n_devices = n_devices;
  s.compute_major = compute_major;
  s.driver_version = driver_version;
  s.captured_kernels.clear();
  s.passes.clear();
  s.counts.clear();
  s.total = 0;
  s.failures.clear();
  s.distorted.reset();
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
  state().nodes_returned = 0;
  state().nodes_reordered = 0;
  state().captured_kernels.clear();
  state().passes.clear();
}
uint64_t nodes_returned() {
  const Inside inside;
  return state().nodes_returned;
}
Edges edges() {
  const Inside inside;
  return state().edges;
}
uint64_t nodes_reordered() {
  const Inside inside;
  return state().nodes_reordered;
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

void distort(std::vector<cudaGraphNodeType> types) {
  const Inside inside;
  state().distorted = std::move(types);
}

cudaStream_t make_stream() {
  const Inside inside;
  return new_stream(0);
}
void destroy_stream(cudaStream_t stream) {
  const Inside inside;
  delete_stream(stream);
}
void recycle(cudaStream_t stream, int device) {
  const Inside inside;
  of(stream)->device = device;
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
void set_last_error(cudaError_t error) {
  last_error_of_thread = error;
}
cudaError_t last_error() {
  return last_error_of_thread;
}
int current_device() {
  return device_of_thread;
}
void set_device(int device) {
  device_of_thread = device;
}

}  // namespace synfire_test::fake

#include "cuda_device.hpp"

#include "device_state.hpp"
#include "ranges.hpp"

#include <base/error.hpp>
#include <base/host_memory.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>

namespace synfire::cuda {

using namespace synfire::core;

namespace {

// True if launches and queries of the capture status take the context from the stream, so that none need be current.
// CUDA does not document this; tests/gpu/callers_streams_test.cpp shows it for drivers of CUDA 13.0.
bool streams_have_contexts(int driver_version) {
  return driver_version >= 13000;
}

// CUDA's own text names neither the GPU nor the architectures of the code.
int code_version_for(const cudaDeviceProp& gpu, int ordinal) {
  try {
    return code_version();
  } catch (const Failure& failure) {
    if (failure.cuda_error != cudaErrorNoKernelImageForDevice && failure.cuda_error != cudaErrorInvalidDeviceFunction)
      throw;
    throw Failure{SYNFIRE_ERROR_CUDA, failure.cuda_error, "SYN-CUDA-ARCHITECTURE",
                  "device " + std::to_string(ordinal) + ", " + gpu.name + ", has compute capability " +
                      std::to_string(gpu.major) + "." + std::to_string(gpu.minor) +
                      ", for which this build of Synfire has no code: it was built for " SYNFIRE_BUILT_ARCHITECTURES
                      " (SYNFIRE_CUDA_ARCHITECTURES)"};
  }
}

}  // namespace

// ---- what the device and its replays share --------------------------------------------------------------------------

void DeviceState::fail_lost() const {
  fail(SYNFIRE_ERROR_DEVICE_LOST, "SYN-DEVICE-LOST",
       "an earlier CUDA error destroyed the process's context on device %d; this context can only be destroyed",
       ordinal);
}

void DeviceState::fail_capture_invalid() {
  fail(SYNFIRE_ERROR_CAPTURING, "SYN-STREAM-CAPTURING",
       "stream is being captured, and the capture is invalid: end it first");
}

void DeviceState::fail_cuda(cudaError_t error, const char* call) {
  if (is_sticky(error)) lost.store(true, std::memory_order_relaxed);
  fail_call(error, call);
}

void DeviceState::fail_driver_call(int error, const char* call) {
  const CurrentContext current(context);
  fail_cuda(static_cast<cudaError_t>(error), call);
}

void DeviceState::look() {
  require_alive();
  const CurrentContext current(context);
  const RelaxedCapture relaxed;
  const cudaError_t error = api().stream_query(stream);
  if (error != cudaErrorNotReady) check(error, "cudaStreamQuery");
}

void* allocate(DeviceState& device, int32_t memory, uint64_t bytes) {
  device.require_alive();
  void* data = nullptr;
  if (memory == SYNFIRE_MEMORY_HOST) return allocate_host(bytes);
  if (memory == SYNFIRE_MEMORY_PINNED) require_host_memory(bytes, Paging::pinned);
  const CurrentContext current(device.context);
  const RelaxedCapture relaxed;
  if (memory == SYNFIRE_MEMORY_PINNED) {
    device.check(api().host_alloc(&data, bytes, cudaHostAllocPortable | cudaHostAllocMapped), "cudaHostAlloc");
    try {
      device.blocks.add(data, MemoryKind::pinned, bytes);
    } catch (...) {
      api().free_host(data);
      throw;
    }
    std::memset(data, 0, bytes);
    return data;
  }
  device.check(api().malloc(&data, bytes), "cudaMalloc");
  cudaError_t error = api().memset_async(data, 0, bytes, device.stream);
  if (error == cudaSuccess) error = api().stream_synchronize(device.stream);
  if (error != cudaSuccess) {
    api().free(data);
    device.check(error, "cudaMemsetAsync");
  }
  try {
    device.blocks.add(data, MemoryKind::device, bytes);
  } catch (...) {
    api().free(data);
    throw;
  }
  return data;
}

void release(DeviceState& device, int32_t memory, void* data) noexcept {
  if (memory == SYNFIRE_MEMORY_HOST) {
    release_host(data);
    return;
  }
  device.blocks.remove(data);
  const CurrentContext current(device.context);
  const RelaxedCapture relaxed;
  const cudaError_t error = memory == SYNFIRE_MEMORY_PINNED ? api().free_host(data) : api().free(data);
  if (error != cudaSuccess) api().get_last_error();  // the memory of a lost device is already freed
}

namespace {

// ---- the device -----------------------------------------------------------------------------------------------------

class CudaDevice final : public Device {
 public:
  CudaDevice(int ordinal, int stream_priority, const MachineOperations& operations) : state_(operations) {
    start_ranges();
    if (!resolve_driver_calls())
      fail(SYNFIRE_ERROR_CUDA, "SYN-CUDA-DRIVER", "the driver lacks cuCtxGetCurrent or cuCtxSetCurrent");
    DriverContext* previous = nullptr;
    api().context_get_current(&previous);
    const RelaxedCapture relaxed;
    try {
      state_.ordinal = ordinal;
      state_.check(api().set_device(ordinal), "cudaSetDevice");
      api().context_get_current(&state_.context);
      state_.check(api().get_device_properties(&properties_, ordinal), "cudaGetDeviceProperties");
      int driver = 0;
      state_.check(api().driver_get_version(&driver), "cudaDriverGetVersion");
      state_.shape = {properties_.multiProcessorCount, properties_.major, takes_shared_percent(driver),
                      code_version_for(properties_, ordinal), has_warpgroups(properties_.major, properties_.minor)};
      state_.programmatic_launches = kernels_wait(state_.shape, driver);
      state_.streams_have_contexts = streams_have_contexts(driver);
      int least = 0, greatest = 0;
      state_.check(api().get_stream_priority_range(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
      const int priority = std::clamp(stream_priority, greatest, least);
      state_.check(api().stream_create_with_priority(&state_.stream, cudaStreamNonBlocking, priority),
                   "cudaStreamCreateWithPriority");
    } catch (...) {
      api().context_set_current(previous);
      throw;
    }
    api().context_set_current(previous);
  }

  ~CudaDevice() override {
    const CurrentContext current(state_.context);
    const RelaxedCapture relaxed;
    if (api().stream_destroy(state_.stream) != cudaSuccess) api().get_last_error();
  }

  bool is_host() const noexcept override { return false; }

  void describe(synfire_context_properties& properties) const override {
    properties.backend = SYNFIRE_BACKEND_CUDA;
    properties.device = state_.ordinal;
    properties.compute_major = properties_.major;
    properties.compute_minor = properties_.minor;
    properties.n_multiprocessors = properties_.multiProcessorCount;
    int driver = 0;
    api().driver_get_version(&driver);
    properties.driver_version = driver;
    properties.runtime_version = CUDART_VERSION;
    properties.memory_bytes = properties_.totalGlobalMem;
    std::snprintf(properties.name, sizeof properties.name, "%.*s", static_cast<int>(sizeof properties.name - 1),
                  properties_.name);
  }

  void* allocate(int32_t memory, uint64_t bytes) override { return cuda::allocate(state_, memory, bytes); }
  void release(int32_t memory, void* data) noexcept override { cuda::release(state_, memory, data); }
  void require(int32_t memory, uint64_t bytes) override {
    if (memory != SYNFIRE_MEMORY_DEVICE)
      require_host_memory(bytes, memory == SYNFIRE_MEMORY_PINNED ? Paging::pinned : Paging::pageable);
  }

  // Freeing memory waits for the whole device and does not disturb captures. cudaDeviceSynchronize() would break
  // captures of other threads, so it is used only if not even a few bytes can be allocated.
  void finish() noexcept override {
    const CurrentContext current(state_.context);
    const RelaxedCapture relaxed;
    void* some = nullptr;
    if (api().malloc(&some, 1) == cudaSuccess) {
      if (api().free(some) == cudaSuccess) return;
    } else if (api().host_alloc(&some, 1, cudaHostAllocDefault) == cudaSuccess) {
      if (api().free_host(some) == cudaSuccess) return;
    } else {
      api().device_synchronize();
    }
    api().get_last_error();  // a lost device does not read any more
  }

  void check_borrowed(int32_t memory, const void* data) override {
    if (memory == SYNFIRE_MEMORY_HOST) return;
    state_.require_alive();
    const CurrentContext current(state_.context);
    cudaPointerAttributes attributes = {};
    state_.check(api().pointer_get_attributes(&attributes, data), "cudaPointerGetAttributes");
    const bool managed = attributes.type == cudaMemoryTypeManaged;
    if (memory == SYNFIRE_MEMORY_PINNED) {
      if (attributes.type != cudaMemoryTypeHost && !managed)
        fail_argument(
            "SYN-BUFFER-BORROWED",
            "desc.data is %p, which is not page-locked host memory, although desc.memory is SYNFIRE_MEMORY_PINNED",
            data);
      if (attributes.devicePointer != data)
        fail_argument("SYN-BUFFER-BORROWED",
                      "desc.data is %p, page-locked host memory that has another address on device %d; allocate it by "
                      "synfire_buffer_create() or cudaHostAlloc()",
                      data, state_.ordinal);
    } else if ((attributes.type != cudaMemoryTypeDevice || attributes.device != state_.ordinal) && !managed) {
      fail_argument("SYN-BUFFER-BORROWED",
                    "desc.data is %p, which is not memory of device %d, although desc.memory is SYNFIRE_MEMORY_DEVICE",
                    data, state_.ordinal);
    }
  }

  void upload(void* destination, const void* source, uint64_t bytes) override { copy(destination, source, bytes); }
  void download(void* destination, const void* source, uint64_t bytes) override { copy(destination, source, bytes); }

  void write_small(void* destination, const void* source, uint64_t bytes, synfire_stream stream) override {
    state_.require_alive();
    const CurrentContext current(state_.context);
    state_.remember_loss([&] { enqueue_write_small(destination, source, bytes, state_.choose(stream)); });
  }

  bool is_capturing(synfire_stream stream) override { return state_.is_capturing(stream); }

  void check_stream(synfire_stream stream) override {
    if (!stream) return;
    state_.require_alive();
    const CurrentContext current(state_.context);
    DriverContext* of_stream = nullptr;
    if (api().stream_get_context(stream, &of_stream) != 0 || of_stream == state_.context) return;
    int ordinal = -1;
    const CurrentContext there(of_stream);
    if (api().context_get_device(&ordinal) == 0 && ordinal != state_.ordinal)
      fail_argument("SYN-STREAM-DEVICE", "stream belongs to device %d; the context is on device %d", ordinal,
                    state_.ordinal);
  }

  void put_in_order(synfire_stream before, synfire_stream after) override {
    if (is_capturing(before) || is_capturing(after) || state_.choose(before) == state_.choose(after)) return;
    const CurrentContext current(state_.context);
    const RelaxedCapture relaxed;
    cudaEvent_t reached = nullptr;
    state_.check(api().event_create_with_flags(&reached, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    const char* call = "cudaEventRecord";
    cudaError_t error = api().event_record(reached, state_.choose(before));
    if (error == cudaSuccess) {
      call = "cudaStreamWaitEvent";
      error = api().stream_wait_event(state_.choose(after), reached, 0);
    }
    api().event_destroy(reached);  // when it is reached; what waits goes on then
    state_.check(error, call);
  }

  void execute(std::span<const Operation> operations, synfire_stream stream) override {
    state_.require_alive();
    const CurrentContext current(state_.context);
    for (const Operation& operation : operations) {
      const Range range(operation);
      enqueue(state_, operation, {state_.choose(stream)});
    }
  }

  void load(std::span<const Operation> operations) override {
    state_.require_alive();
    const CurrentContext current(state_.context);
    cuda::load(state_, operations);
  }

  void execute_captured(std::span<const Operation> operations, synfire_stream stream) override {
    load(operations);
    execute(operations, stream);
  }

  void synchronize() override {
    state_.require_alive();
    const CurrentContext current(state_.context);
    const RelaxedCapture relaxed;
    state_.check(api().stream_synchronize(state_.stream), "cudaStreamSynchronize");
  }
  void check() override { state_.look(); }

  std::unique_ptr<Replay> instantiate(ReplayPlan plan) override { return make_replay(state_, std::move(plan)); }
  ReplayBytes replay_bytes(const ReplayPlan& plan) const override { return cuda::replay_bytes(state_, plan); }

 private:
  void copy(void* destination, const void* source, uint64_t bytes) {
    state_.require_alive();
    const CurrentContext current(state_.context);
    const RelaxedCapture relaxed;
    state_.check(api().memcpy_async(destination, source, bytes, cudaMemcpyDefault, state_.stream), "cudaMemcpyAsync");
    state_.check(api().stream_synchronize(state_.stream), "cudaStreamSynchronize");
  }

  DeviceState state_;
  cudaDeviceProp properties_ = {};
};

}  // namespace

Probe probe() noexcept {
  int n_devices = 0;
  const cudaError_t error = api().get_device_count(&n_devices);
  if (error == cudaSuccess && n_devices > 0) return {n_devices, SYNFIRE_FALLBACK_NONE, 0, ""};
  api().get_last_error();
  const auto number = static_cast<int32_t>(error);
  if (error == cudaSuccess || error == cudaErrorNoDevice)
    return {0, SYNFIRE_FALLBACK_NO_DEVICE, number, "the driver reports no GPU"};
  int driver = 0;
  const bool answers = api().driver_get_version(&driver) == cudaSuccess && driver > 0;
  if (!answers) return {0, SYNFIRE_FALLBACK_NO_DRIVER, number, "no NVIDIA driver is available"};
  if (error == cudaErrorInsufficientDriver)
    return {0, SYNFIRE_FALLBACK_DRIVER_TOO_OLD, number,
            "the NVIDIA driver is older than this library's CUDA runtime needs"};
  return {0, SYNFIRE_FALLBACK_DEVICE_FAILED, number, "the driver reports an error"};
}

std::unique_ptr<core::Device> make_device(int32_t ordinal, int32_t stream_priority,
                                          const core::MachineOperations& operations) {
  return std::make_unique<CudaDevice>(ordinal, stream_priority, operations);
}

}  // namespace synfire::cuda

// Shared by a CUDA device and its replays.
#ifndef SYNFIRE_BACKENDS_CUDA_DEVICE_STATE_HPP
#define SYNFIRE_BACKENDS_CUDA_DEVICE_STATE_HPP

#include "cuda_launcher.hpp"
#include "scope.hpp"

#include <base/charged_blocks.hpp>
#include <base/error.hpp>
#include <graph/machine_operations.hpp>
#include <graph/replay.hpp>

#include <atomic>

namespace synfire::cuda {

struct DeviceState {
  explicit DeviceState(const core::MachineOperations& given) noexcept : operations(given) {}

  const core::MachineOperations& operations;
  std::atomic<bool> lost{false};
  int ordinal = 0;
  DriverContext* context = nullptr;
  cudaStream_t stream = nullptr;  // the device's own: private, non-blocking
  core::ChargedBlocks blocks;     // what allocate() returned, but pageable memory
  GpuShape shape = {};
  bool programmatic_launches = false;  // a kernel of a replay may be launched before the previous one has ended

  bool streams_have_contexts = false;  // see streams_have_contexts()

  cudaStream_t choose(synfire_stream given) const noexcept { return given ? given : stream; }
  // True if the driver calls of a launch need the device's context to be current. Both handles stand for a stream of
  // the current context.
  bool needs_context(cudaStream_t on) const noexcept {
    return !streams_have_contexts || on == cudaStreamLegacy || on == cudaStreamPerThread;
  }

  // Throws DEVICE_LOST if an earlier call found the device lost.
  void require_alive() const {
    if (lost.load(std::memory_order_relaxed)) fail_lost();
  }
  [[noreturn]] void fail_lost() const;
  // As check(), but remembers a lost device.
  void check(cudaError_t error, const char* call) {
    if (error != cudaSuccess) fail_cuda(error, call);
  }
  [[noreturn]] void fail_cuda(cudaError_t error, const char* call);
  // True if the caller is capturing a stream (null: the device's own). Throws CAPTURING if that capture is invalid.
  bool is_capturing(synfire_stream given) {
    require_alive();
    if (!given) return false;
    int status = cudaStreamCaptureStatusNone;
    int error = 0;
    {
      const CurrentContext current(context, needs_context(given));
      error = api().stream_is_capturing(given, &status);
    }
    if (error != 0) fail_driver_call(error, "cuStreamIsCapturing");
    if (status == cudaStreamCaptureStatusInvalidated) fail_capture_invalid();
    return status == cudaStreamCaptureStatusActive;
  }
  [[noreturn]] static void fail_capture_invalid();
  [[noreturn]] void fail_driver_call(int error, const char* call);
  // Queries CUDA; throws DEVICE_LOST if the device has failed for good.
  void look();
  template <class Body>
  void remember_loss(Body body) {
    try {
      body();
    } catch (const core::Failure& failure) {
      if (failure.status == SYNFIRE_ERROR_DEVICE_LOST) lost.store(true, std::memory_order_relaxed);
      throw;
    }
  }
};

void* allocate(DeviceState& device, int32_t memory, uint64_t bytes);
void release(DeviceState& device, int32_t memory, void* data) noexcept;

// Enqueues one entry, eagerly or in a capture. Returns Launcher::n_nodes().
std::optional<size_t> enqueue(DeviceState& device, const core::Operation& operation, const Launcher::Place& place);

// Loads the kernels of operations: during a capture it is an error, during the first replay a delay.
void load(DeviceState& device, std::span<const core::Operation> operations);

std::unique_ptr<core::Replay> make_replay(DeviceState& device, core::ReplayPlan plan);
// Device::replay_bytes().
core::ReplayBytes replay_bytes(const DeviceState& device, const core::ReplayPlan& plan);

}  // namespace synfire::cuda

#endif

// What a CUDA device and its replays share.
#ifndef SYNFIRE_CUDA_DEVICE_STATE_HPP
#define SYNFIRE_CUDA_DEVICE_STATE_HPP

#include "launch.hpp"
#include "scope.hpp"

#include <core/device.hpp>

#include <atomic>

namespace synfire::cuda {

struct DeviceState {
  int ordinal = 0;
  DriverContext* context = nullptr;
  cudaStream_t stream = nullptr;  // the device's own: private, non-blocking
  GpuShape shape = {};
  std::atomic<bool> lost{false};

  cudaStream_t choose(synfire_stream given) const noexcept { return given ? given : stream; }

  // Throws DEVICE_LOST when an earlier call found the device gone.
  void require_alive() const;
  // check(), which also remembers a lost device.
  void check(cudaError_t error, const char* call);
};

void* allocate(DeviceState& device, int32_t memory, uint64_t bytes);
void release(DeviceState& device, int32_t memory, void* data) noexcept;

std::unique_ptr<core::Replay> make_replay(DeviceState& device, const core::OperationList& operations);

}  // namespace synfire::cuda

#endif

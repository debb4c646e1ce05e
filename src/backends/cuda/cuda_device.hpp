// The CUDA backend: one GPU. No CUDA type leaves src/backends/cuda.
#ifndef SYNFIRE_BACKENDS_CUDA_CUDA_DEVICE_HPP
#define SYNFIRE_BACKENDS_CUDA_CUDA_DEVICE_HPP

#include <base/device.hpp>
#include <graph/machine_operations.hpp>

#include <memory>

namespace synfire::cuda {

// The driver's report; nothing is created.
struct Probe {
  int32_t n_devices;
  int32_t fallback_reason;  // SYNFIRE_FALLBACK_*, if there are none
  int32_t cuda_error;
  const char* explanation;
};

Probe probe() noexcept;

std::unique_ptr<core::Device> make_device(int32_t ordinal, int32_t stream_priority,
                                          const core::MachineOperations& operations);

}  // namespace synfire::cuda

#endif

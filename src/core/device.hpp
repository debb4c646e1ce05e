// What a backend is to core: memory, eager execution of an operation list, and replays of one.
#ifndef SYNFIRE_CORE_DEVICE_HPP
#define SYNFIRE_CORE_DEVICE_HPP

#include "operation.hpp"

#include <memory>
#include <span>

namespace synfire::core {

// An instantiated operation list. One thread launches at a time; wait may run beside it.
class Replay {
 public:
  virtual ~Replay() = default;
  // Replays once. Neither allocates nor blocks on CUDA; runs the list on the host.
  virtual void launch(synfire_stream stream) = 0;
  // Replays finished so far, in order; cheap enough to poll.
  virtual uint64_t finished() const noexcept = 0;
  // Throws DEVICE_LOST when the device failed for good; called now and then by a wait that takes long.
  virtual void check() = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual void describe(synfire_context_properties& properties) const = 0;
  virtual bool is_host() const noexcept = 0;

  // Zero-filled, aligned to 256 bytes; throws OUT_OF_MEMORY.
  virtual void* allocate(int32_t memory, uint64_t bytes) = 0;
  virtual void release(int32_t memory, void* data) noexcept = 0;
  // Throws unless the caller's memory is of the stated kind on this device.
  virtual void check_borrowed(int32_t memory, const void* data) = 0;

  // Blocking copies between host memory and memory of any kind, after everything on the device's own stream.
  virtual void upload(void* destination, const void* source, uint64_t bytes) = 0;
  virtual void download(void* destination, const void* source, uint64_t bytes) = 0;
  // Rewrites up to 1024 bytes of device memory (a parameter block), in stream order, without blocking.
  virtual void write_small(void* destination, const void* source, uint64_t bytes, synfire_stream stream) = 0;

  // Throws CAPTURING while the stream captures, INVALID_ARGUMENT when the device has no streams.
  virtual void check_stream(synfire_stream stream) = 0;
  virtual void execute(std::span<const Operation> operations, synfire_stream stream) = 0;
  virtual void synchronize() = 0;
  virtual std::unique_ptr<Replay> instantiate(const OperationList& operations) = 0;
};

}  // namespace synfire::core

#endif

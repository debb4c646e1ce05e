// The interface of a backend: memory, eager execution of an operation list, and replays of one (graph/).
#ifndef SYNFIRE_BASE_DEVICE_HPP
#define SYNFIRE_BASE_DEVICE_HPP

#include <synfire/synfire.h>

#include <cstdint>
#include <memory>
#include <span>

namespace synfire::core {

class Operation;  // graph/
class Replay;
struct ReplayPlan;

struct ReplayBytes {
  uint64_t arena = 0;  // of transient arrays
  uint64_t own = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual void describe(synfire_context_properties& properties) const = 0;
  virtual bool is_host() const noexcept = 0;
  // The most parts of one operation that processors compute at the same time; each needs memory of its own.
  virtual int most_at_once() const noexcept { return 1; }

  // Zero-filled, aligned to 256 bytes; throws OUT_OF_MEMORY.
  virtual void* allocate(int32_t memory, uint64_t bytes) = 0;
  // Device memory with any contents, for data that is written before it is read.
  virtual void* allocate_scratch(uint64_t bytes) { return allocate(SYNFIRE_MEMORY_DEVICE, bytes); }
  virtual void release(int32_t memory, void* data) noexcept = 0;
  // Throws OUT_OF_MEMORY if several allocations of this total size will certainly fail.
  virtual void require(int32_t memory, uint64_t bytes) = 0;
  // Waits for all work on the device, on any stream, without disturbing captures. release() does so itself.
  virtual void finish() noexcept = 0;
  // Throws unless the caller's memory is of the stated kind on this device.
  virtual void check_borrowed(int32_t memory, const void* data) = 0;

  // Blocking copies between host memory and memory of any kind, after everything on the device's own stream.
  virtual void upload(void* destination, const void* source, uint64_t bytes) = 0;
  virtual void download(void* destination, const void* source, uint64_t bytes) = 0;
  // Rewrites up to 1024 bytes of device memory (a parameter block), in stream order, without blocking.
  virtual void write_small(void* destination, const void* source, uint64_t bytes, synfire_stream stream) = 0;

  // Throws INVALID_ARGUMENT if the stream belongs to another device, whose work cannot access this device's memory.
  virtual void check_stream(synfire_stream stream) = 0;
  virtual bool is_capturing(synfire_stream stream) = 0;
  // Work enqueued on `after` from now on waits for the work on `before` now, unless one of the two is being captured.
  // Null is the device's own stream. Does not block. Nothing to do where there are no streams.
  virtual void put_in_order(synfire_stream /*before*/, synfire_stream /*after*/) {}
  // Loads everything that the operations need, so that no capture or launch has to. Waits for the device's own stream.
  virtual void load(std::span<const Operation> operations) = 0;
  virtual void execute(std::span<const Operation> operations, synfire_stream stream) = 0;
  // Adds the operations to the capture that is open on the stream. First loads what they need, outside the capture.
  virtual void execute_captured(std::span<const Operation> operations, synfire_stream stream) = 0;
  virtual void synchronize() = 0;
  // Called by long waits. Throws DEVICE_LOST if the device has failed for good.
  virtual void check() = 0;
  virtual std::unique_ptr<Replay> instantiate(ReplayPlan plan) = 0;
  // Returns how much device memory instantiate() allocates for such a plan. Allocates none.
  virtual ReplayBytes replay_bytes(const ReplayPlan& plan) const = 0;
};

}  // namespace synfire::core

#endif

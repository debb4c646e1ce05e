// What a backend is to core: memory, eager execution of an operation list, and replays of one.
#ifndef SYNFIRE_CORE_DEVICE_HPP
#define SYNFIRE_CORE_DEVICE_HPP

#include "operation.hpp"

#include <memory>
#include <span>

namespace synfire::core {

// Whoever must know what runs when, where a replay runs its list on the launching thread.
class ReplayObserver {
 public:
  // Ahead of each entry of this recorded operation. What it throws ends the launch.
  virtual void before(uint32_t operation) = 0;

 protected:
  ~ReplayObserver() = default;
};

// What a replay is made of: the recorded list, once per slot with the arrays of that slot.
struct ReplayPlan {
  std::vector<OperationList> slots;
  std::vector<uint32_t> owners;   // for each entry of a list, the number of the recorded operation that it is part of
  std::vector<uint8_t> enabled;   // for each recorded operation, 0 or 1
  bool eager = false;             // run the list at each launch instead of making a graph of the backend's own
  ReplayObserver* observer = nullptr;  // outlives the replay
};

// An instantiated operation list. One thread launches, re-enables or rebuilds at a time; wait may run beside it.
class Replay {
 public:
  virtual ~Replay() = default;
  // As Device::is_capturing(), asked by a launch: 10 ns less, because what it looks at is looked at again.
  virtual bool is_capturing(synfire_stream stream) = 0;
  // Replays a slot's list once. Neither allocates nor blocks on CUDA; runs the list on the host.
  virtual void launch(synfire_stream stream, uint32_t slot) = 0;
  // Adds the list to the capture that is open on the stream, without counting it as a replay.
  virtual void launch_captured(synfire_stream stream, uint32_t slot) = 0;
  // From the next launch on the operation runs, or not. Replays in flight are not changed.
  virtual void set_enabled(uint32_t operation, bool enabled) = 0;
  // Makes it anew from another plan of the same operations; blocks until the replays in flight are done. On failure it
  // stays what it was.
  virtual void rebuild(ReplayPlan plan) = 0;
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
  // Throws OUT_OF_MEMORY when several allocations of so much in all are certainly not to be had.
  virtual void require(int32_t memory, uint64_t bytes) = 0;
  // Waits for everything that was enqueued on the device, on any stream, and leaves captures alone: what release() does
  // for memory that it frees, for memory that is the caller's.
  virtual void finish() noexcept = 0;
  // Throws unless the caller's memory is of the stated kind on this device.
  virtual void check_borrowed(int32_t memory, const void* data) = 0;

  // Blocking copies between host memory and memory of any kind, after everything on the device's own stream.
  virtual void upload(void* destination, const void* source, uint64_t bytes) = 0;
  virtual void download(void* destination, const void* source, uint64_t bytes) = 0;
  // Rewrites up to 1024 bytes of device memory (a parameter block), in stream order, without blocking.
  virtual void write_small(void* destination, const void* source, uint64_t bytes, synfire_stream stream) = 0;

  // Throws INVALID_ARGUMENT when it is not a stream of this device. Everything but a replay would run on the stream's
  // device, where this one's memory is out of reach.
  virtual void check_stream(synfire_stream stream) = 0;
  // Whether the caller captures the stream.
  virtual bool is_capturing(synfire_stream stream) = 0;
  // Loads what the operations need, so that none of it is loaded during a capture or at the first launch. Waits for the
  // device's own stream.
  virtual void load(std::span<const Operation> operations) = 0;
  virtual void execute(std::span<const Operation> operations, synfire_stream stream) = 0;
  // Makes the operations part of the capture that is open on the stream. What they need is loaded first, beside it.
  virtual void execute_captured(std::span<const Operation> operations, synfire_stream stream) = 0;
  virtual void synchronize() = 0;
  // Throws DEVICE_LOST when the device failed for good; for waits that take long.
  virtual void check() = 0;
  virtual std::unique_ptr<Replay> instantiate(ReplayPlan plan) = 0;
};

}  // namespace synfire::core

#endif

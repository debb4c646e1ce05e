// Replays of an operation list, as a machine makes them.
#ifndef SYNFIRE_GRAPH_REPLAY_HPP
#define SYNFIRE_GRAPH_REPLAY_HPP

#include "operation.hpp"

#include <base/device.hpp>

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
  std::vector<uint32_t> owners;  // for each entry of a list, the number of the recorded operation that it is part of
  std::vector<uint8_t> enabled;  // for each recorded operation, 0 or 1
  bool eager = false;            // run the list at each launch instead of making a graph of the backend's own
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

}  // namespace synfire::core

#endif

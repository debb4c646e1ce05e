#ifndef SYNFIRE_GRAPH_REPLAY_HPP
#define SYNFIRE_GRAPH_REPLAY_HPP

#include "arena.hpp"
#include "transients.hpp"

#include <base/device.hpp>

namespace synfire::core {

class ReplayObserver {
 public:
  // Called before each entry of this recorded operation. An exception ends the launch.
  virtual void before(uint32_t operation) = 0;

 protected:
  ~ReplayObserver() = default;
};

// The plan of a replay: the recorded list, once per slot with that slot's arrays.
struct ReplayPlan {
  std::vector<OperationList> slots;
  std::vector<uint32_t> owners;  // for each entry of a list, the number of the recorded operation that it is part of
  std::vector<uint8_t> enabled;  // for each recorded operation, 0 or 1
  std::vector<TransientArray> transients;  // of the lists: the backend places them
  std::shared_ptr<Arena> arena;            // where
  bool eager = false;                      // run the list at each launch instead of making a graph of the backend's own
  ReplayObserver* observer = nullptr;      // outlives the replay
};

// An instantiated operation list. Only one thread may launch, enable or rebuild at a time; waits may run concurrently.
class Replay {
 public:
  virtual ~Replay() = default;
  // As Device::is_capturing(), but faster, because it reads data that the launch reads anyway.
  virtual bool is_capturing(synfire_stream stream) = 0;
  // Replays a slot's list once. Neither allocates nor blocks on CUDA; runs the list on the host.
  virtual void launch(synfire_stream stream, uint32_t slot) = 0;
  // Adds the list to the capture that is open on the stream, without counting it as a replay.
  virtual void launch_captured(synfire_stream stream, uint32_t slot) = 0;
  // Takes effect from the next launch on.
  virtual void set_enabled(uint32_t operation, bool enabled) = 0;
  // Rebuilds the replay from another plan of the same operations; blocks until the replays in flight are done. On
  // failure nothing changes.
  virtual void rebuild(ReplayPlan plan) = 0;
  virtual uint64_t finished() const noexcept = 0;
  // Throws DEVICE_LOST if the device has failed for good; long waits call it now and then.
  virtual void check() = 0;
};

}  // namespace synfire::core

#endif

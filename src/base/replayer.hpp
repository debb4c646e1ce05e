// The interface through which objects know the graphs that replay operations on them.
#ifndef SYNFIRE_BASE_REPLAYER_HPP
#define SYNFIRE_BASE_REPLAYER_HPP

#include "stream_id.hpp"

#include <cstdint>

namespace synfire::core {

class Replayer {
 public:
  // The stream of a launch that is in progress, or null.
  virtual StreamId launching_on() const noexcept = 0;
  // The stream of the last launch: all replays in flight are on it.
  virtual StreamId last_stream() const noexcept = 0;
  virtual uint64_t launched() const noexcept = 0;
  virtual uint64_t finished() const noexcept = 0;
  // Throws if the device is lost.
  virtual void check_alive() = 0;

  // Waits until every replay launched before this call is done; throws when the device is lost.
  void finish();

 protected:
  ~Replayer() = default;
};

}  // namespace synfire::core

#endif

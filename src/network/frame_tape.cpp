#include "frame_tape.hpp"

#include <base/error.hpp>

namespace synfire::network {

void FrameTape::check() const {
  const State state = state_.load(std::memory_order_relaxed);
  if (state == State::left) return;
  const char* const reason = state == State::none   ? "the forward graph of the network has not run yet"
                             : state == State::used ? "a backward has used the latest forward of the network"
                                                    : "another graph or a file has changed what the latest forward of "
                                                      "the network left, or that forward has failed";
  core::fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-FRAME", "%s; launch the forward graph first", reason);
}

}  // namespace synfire::network

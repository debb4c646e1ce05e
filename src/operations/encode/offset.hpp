// The first step of a replay and of the next one; the same on every backend.
#ifndef SYNFIRE_OPERATIONS_ENCODE_OFFSET_HPP
#define SYNFIRE_OPERATIONS_ENCODE_OFFSET_HPP

#include <synfire/model/platform.hpp>

#include <cstdint>

namespace synfire::operations {
inline namespace SYNFIRE_MODEL_LEVEL {

// `set` holds the host's value and how often it was set; `state` holds the steps that replays have taken since, and for
// which setting, as in core::CountedValue.
SYNFIRE_MODEL_FN uint64_t current_offset(const uint64_t* set, const uint64_t* state) {
  return set[0] + (state[0] == set[1] ? state[1] : 0);
}
// Called once, when nobody will read the offset again.
SYNFIRE_MODEL_FN void advance_offset(const uint64_t* set, uint64_t* state, uint64_t n_steps) {
  state[1] = (state[0] == set[1] ? state[1] : 0) + n_steps;
  state[0] = set[1];
}

}  // namespace SYNFIRE_MODEL_LEVEL
}  // namespace synfire::operations

#endif

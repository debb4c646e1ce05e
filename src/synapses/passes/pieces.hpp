// How many pieces of at most a length something has.
#ifndef SYNFIRE_SYNAPSES_PASSES_PIECES_HPP
#define SYNFIRE_SYNAPSES_PASSES_PIECES_HPP

#include <cstdint>

namespace synfire::operations {

inline int64_t pieces(int64_t count, int64_t length) {
  return (count + length - 1) / length;
}

}  // namespace synfire::operations

#endif

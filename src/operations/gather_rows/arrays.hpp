// The arrays of a gather in bytes, as host code, kernel and twin read them.
#ifndef SYNFIRE_OPERATIONS_GATHER_ROWS_ARRAYS_HPP
#define SYNFIRE_OPERATIONS_GATHER_ROWS_ARRAYS_HPP

#include <synfire/model/platform.hpp>

#include <cstdint>

namespace synfire::operations {
inline namespace SYNFIRE_MODEL_LEVEL {

// A piece is what one step of one row holds: contiguous in the source and in the destination.
struct GatherArrays {
  const char* source;
  char* destination;
  const uint32_t* indices;
  const uint32_t* n_active;  // null: all
  int64_t n_rows, n_steps, batch;
  int64_t piece;              // bytes
  int64_t source_pitch;       // bytes from one row to the next
  int64_t destination_pitch;  // bytes from one step to the next

  SYNFIRE_MODEL_FN int64_t n_pieces() const { return n_steps * batch; }
  // Where the piece comes from; null: it is zero.
  SYNFIRE_MODEL_FN const char* from(int64_t step, int64_t row) const {
    const auto index = static_cast<int64_t>(indices[row]);  // before the test of n_active, so that the loads overlap
    if (n_active && row >= static_cast<int64_t>(*n_active)) return nullptr;
    return index < n_rows ? source + index * source_pitch + step * piece : nullptr;
  }
  SYNFIRE_MODEL_FN char* to(int64_t step, int64_t row) const {
    return destination + step * destination_pitch + row * piece;
  }
};

}  // namespace SYNFIRE_MODEL_LEVEL
}  // namespace synfire::operations

#endif

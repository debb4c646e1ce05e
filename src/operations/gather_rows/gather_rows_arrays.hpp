// The arrays of a gather in bytes, as host code, kernel and twin read them.
#ifndef SYNFIRE_OPERATIONS_GATHER_ROWS_GATHER_ROWS_ARRAYS_HPP
#define SYNFIRE_OPERATIONS_GATHER_ROWS_GATHER_ROWS_ARRAYS_HPP

#include <synfire/model/platform.hpp>

#include <cstdint>

namespace synfire::operations {
inline namespace SYNFIRE_MODEL_LEVEL {

// A piece is one step of one row, contiguous in the source and in the destination.
struct GatherArrays {
  const char* source;
  char* destination;
  const uint32_t* indices;
  const uint32_t* n_active;  // null: all
  const uint32_t* lengths;   // steps of each row of the batch; null: all
  int64_t n_rows, n_steps, batch;
  int64_t piece;              // bytes
  int64_t source_pitch;       // bytes from one row to the next
  int64_t destination_pitch;  // bytes from one step to the next
  int64_t steps_in_piece;     // 32 of time-packed spikes, whose pieces are words, else 1

  SYNFIRE_MODEL_FN int64_t n_pieces() const { return n_steps * batch; }
  // The source of the piece; null: it is zero.
  SYNFIRE_MODEL_FN const char* from(int64_t step, int64_t row) const {
    const auto index = static_cast<int64_t>(indices[row]);  // before the test of n_active, so that the loads overlap
    if (n_active && row >= static_cast<int64_t>(*n_active)) return nullptr;
    if (lengths && step * steps_in_piece >= static_cast<int64_t>(lengths[row])) return nullptr;
    return index < n_rows ? source + index * source_pitch + step * piece : nullptr;
  }
  // The bits of each word of a piece that belong to steps of the row, given that it has a source.
  SYNFIRE_MODEL_FN uint32_t mask(int64_t step, int64_t row) const {
    if (!lengths || steps_in_piece == 1) return ~uint32_t{0};
    const int64_t n_steps_here = static_cast<int64_t>(lengths[row]) - step * steps_in_piece;
    return n_steps_here <= 0 || n_steps_here >= steps_in_piece ? ~uint32_t{0} : (uint32_t{1} << n_steps_here) - 1;
  }
  SYNFIRE_MODEL_FN char* to(int64_t step, int64_t row) const {
    return destination + step * destination_pitch + row * piece;
  }
};

}  // namespace SYNFIRE_MODEL_LEVEL
}  // namespace synfire::operations

#endif

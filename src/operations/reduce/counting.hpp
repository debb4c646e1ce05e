// The steps and batch rows of [T, B, N] that count, and the arithmetic of reductions; the same on every backend.
#ifndef SYNFIRE_OPERATIONS_REDUCE_COUNTING_HPP
#define SYNFIRE_OPERATIONS_REDUCE_COUNTING_HPP

#include <base/extents.hpp>

#include <synfire/model/platform.hpp>

#include <cstdint>

namespace synfire::operations {
inline namespace SYNFIRE_MODEL_LEVEL {

using model::u32;
using model::u64;

struct Counting {
  const uint32_t* lengths;   // of each batch row: how many steps count, from the first on
  const uint32_t* n_active;  // how many batch rows count, from the first on

  SYNFIRE_MODEL_FN int64_t rows(int64_t batch) const { return n_active && *n_active < batch ? *n_active : batch; }
  // The steps of a row that counts.
  SYNFIRE_MODEL_FN int64_t steps(int64_t n_steps, int64_t row) const {
    return lengths && lengths[row] < n_steps ? lengths[row] : n_steps;
  }
  SYNFIRE_MODEL_FN bool counts(int64_t step, int64_t row) const { return !lengths || step < lengths[row]; }
};

// ---- the order of numbers -------------------------------------------------------------------------------------------

// Integers in the order of the numbers: -0 is below +0, and a NaN is above everything else. 0 is none of them.
SYNFIRE_MODEL_FN u32 order_of(float value) {
  const u32 bits = model::bits_of(value), magnitude = bits & 0x7FFFFFFFu;
  const u32 order = bits ^ ((bits >> 31) != 0 ? 0xFFFFFFFFu : 0x80000000u);
  return magnitude > 0x7F800000u ? 0xFFFFFFFFu : order;
}
SYNFIRE_MODEL_FN u64 order_of(double value) {
  const u64 bits = model::bits_of(value), magnitude = bits & 0x7FFFFFFFFFFFFFFFu;
  const u64 order = bits ^ ((bits >> 63) != 0 ? 0xFFFFFFFFFFFFFFFFu : 0x8000000000000000u);
  return magnitude > 0x7FF0000000000000u ? 0xFFFFFFFFFFFFFFFFu : order;
}
SYNFIRE_MODEL_FN u32 order_of(u32 value) {
  return value;
}

// The number with this order, or +0 for 0.
SYNFIRE_MODEL_FN float number_of(u32 order) {
  return order == 0 ? 0.0f : model::from_bits(order ^ ((order >> 31) != 0 ? 0x80000000u : 0xFFFFFFFFu));
}
SYNFIRE_MODEL_FN double number_of(u64 order) {
  return order == 0 ? 0.0 : model::from_bits(order ^ ((order >> 63) != 0 ? 0x8000000000000000u : 0xFFFFFFFFFFFFFFFFu));
}

// ---- results --------------------------------------------------------------------------------------------------------

// Divides a sum, of numbers in f64 or of integers, by their count; nothing gives +0. Rounded to R last.
template <class R, class Sum>
SYNFIRE_MODEL_FN R mean_of(Sum sum, int64_t count) {
  return count == 0 ? R(0) : static_cast<R>(static_cast<double>(sum) / static_cast<double>(count));
}

}  // namespace SYNFIRE_MODEL_LEVEL
}  // namespace synfire::operations

#endif

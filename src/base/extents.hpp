// Sizes and sequences as kernels receive them, on either backend. All extents are 64-bit.
#ifndef SYNFIRE_BASE_EXTENTS_HPP
#define SYNFIRE_BASE_EXTENTS_HPP

#include <synfire/model/platform.hpp>

#include <cstdint>

namespace synfire::core {

struct Extents {
  int64_t n_steps;
  int64_t batch;
  int64_t n_neurons;  // of one batch row

  SYNFIRE_MODEL_FN int64_t row() const { return batch * n_neurons; }                // elements of one step
  SYNFIRE_MODEL_FN int64_t words_per_row() const { return (n_neurons + 31) / 32; }  // packed words of one batch row
};

// Rows [B, N], one per step, `pitch` elements apart. Null data: not given.
struct Sequence {
  void* data;
  int64_t pitch;
  int32_t dtype;  // SYNFIRE_DTYPE_F64 beside f64 arithmetic; any other of numbers (spikes also U8) beside f32

  SYNFIRE_MODEL_FN explicit operator bool() const { return data != nullptr; }
};

// Packed words, `pitch` words apart: of one step (neuron-packed), or of 32 steps (time-packed).
struct Words {
  uint32_t* data;
  int64_t pitch;

  SYNFIRE_MODEL_FN explicit operator bool() const { return data != nullptr; }
};

}  // namespace synfire::core

#endif

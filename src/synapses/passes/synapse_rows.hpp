// Rows of sequences as the kernels of synapses of all kinds see them.
#ifndef SYNFIRE_SYNAPSES_PASSES_SYNAPSE_ROWS_HPP
#define SYNFIRE_SYNAPSES_PASSES_SYNAPSE_ROWS_HPP

#include <base/row_index.hpp>

namespace synfire::cuda {

using core::row_index;
using core::RowIndex;

// The rows m = t * batch + b of sequences [T, B, n].
struct SequenceRows {
  int64_t n_steps, batch;
  const uint32_t* n_active;  // in device memory: how many batch rows count, from the first on; null: all
  // The same for a layer with n_neurons: elements of its rows [B, N]. Null: all
  const int64_t* layer_active = nullptr;
  int64_t n_neurons = 1;

  SYNFIRE_MODEL_FN int64_t count() const { return n_steps * batch; }
  SYNFIRE_MODEL_FN int64_t active() const {
    const int64_t active = n_active && *n_active < batch ? *n_active : batch;
    // Products are compared, because most layers compute all rows, and a division takes longer.
    if (!layer_active || *layer_active >= active * n_neurons) return active;
    return *layer_active / n_neurons;
  }
};

// A sequence [T, B, length], `pitch` elements from one step to the next.
template <class E>
struct RowArray {
  E* data;
  int64_t pitch, length;

  SYNFIRE_MODEL_FN E* row(RowIndex at) const { return data + at.t * pitch + at.b * length; }
};

}  // namespace synfire::cuda

#endif

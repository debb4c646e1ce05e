// The arrays of a synapse as the code of either backend takes them.
#ifndef SYNFIRE_OPERATIONS_SYNAPSE_ARGUMENTS_HPP
#define SYNFIRE_OPERATIONS_SYNAPSE_ARGUMENTS_HPP

#include <cstdint>

namespace synfire::operations {

// The weights [N, K] and the bias [N], and what is derived from them. R is the type of both.
template <class R>
struct SynapseWeights {
  int64_t n_inputs, n_outputs;
  const R* weights;      // [N, K]
  const R* bias;         // or null
  const uint32_t* mask;  // bits [N, ceil(K/32)], or null
  void* rows;            // on the grid [N, K]: int32_t, of f64 synapses double; rows_pitch apart, padded with zeros
  int64_t rows_pitch;
  void* table;  // on the grid [K, N]: int32_t of an exact synapse, else R; table_pitch apart, padded likewise
  int64_t table_pitch;
  int32_t* grid;          // of each output; null in f64
  int32_t* bias_on_grid;  // of an exact synapse
};

// Sequences [T, B, n] of a product. Only the first `active` batch rows count: all, or the number in device memory.
struct ProductExtents {
  int64_t n_steps, batch;
  const uint32_t* n_active;  // null: all
};

}  // namespace synfire::operations

#endif

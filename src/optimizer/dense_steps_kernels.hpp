// The kernels of an optimiser's step on dense synapses, as the host code sees them.
#ifndef SYNFIRE_OPTIMIZER_DENSE_STEPS_KERNELS_HPP
#define SYNFIRE_OPTIMIZER_DENSE_STEPS_KERNELS_HPP

#include "optimizer_arguments.hpp"

#include <synapses/dense/dense_kernels.hpp>

namespace synfire::operations {

// A synapse with weights or a bias that are members, and the arrays derived from them.
struct DenseMembers {
  int64_t n_inputs, n_outputs;
  int64_t first_row, first_tile, first_unit;  // among those of all synapses
  MemberArray weights, bias;
  float* any_bias;       // of an exact synapse, even if it is not a member; null: none
  const uint32_t* mask;  // null: all are connected
  void* rows;
  int64_t rows_pitch;
  int32_t *grid, *bias_on_grid;
  void* table;
  int64_t table_pitch;
  uint8_t *table_planes, *rows_planes;
  int64_t table_words, table_groups, rows_words, rows_groups;  // of the planes
  int32_t is_f64, is_exact, dropped_bits;
};

inline namespace SYNFIRE_MODEL_LEVEL {

// Products of values in f32 take the weights as they are, if none of their bits are dropped.
SYNFIRE_MODEL_FN synfire::cuda::PrepareTableLaunch table_of(const DenseMembers& s) {
  const bool as_they_are = !s.is_f64 && !s.is_exact && s.dropped_bits == 0;
  return {s.n_inputs,
          s.n_outputs,
          as_they_are ? s.weights.values : s.rows,
          as_they_are ? s.n_inputs : s.rows_pitch,
          s.table,
          s.table_pitch,
          s.grid};
}
SYNFIRE_MODEL_FN synfire::cuda::PreparePlanesLaunch planes_of(const DenseMembers& s) {
  return {s.n_inputs,     s.n_outputs,    static_cast<const int32_t*>(s.rows),
          s.rows_pitch,   s.table_planes, s.table_words,
          s.table_groups, s.rows_planes,  s.rows_words,
          s.rows_groups};
}
SYNFIRE_MODEL_FN synfire::cuda::TableKind table_kind_of(const DenseMembers& s) {
  return s.is_f64              ? synfire::cuda::TableKind::f64
         : s.is_exact          ? synfire::cuda::TableKind::integers
         : s.dropped_bits != 0 ? synfire::cuda::TableKind::rounded
                               : synfire::cuda::TableKind::f32;
}

}  // namespace SYNFIRE_MODEL_LEVEL
}  // namespace synfire::operations

namespace synfire::cuda {

struct DenseStepLaunch {
  const operations::DenseMembers* synapses;
  int32_t n_synapses;
  int64_t n_rows, n_tiles, n_units;
  const operations::OptimizerState* state;
  operations::OptimizerRates rates;
};
// Updates weights and biases, finds the grid and writes the row on it: a block of prepare_threads for each output.
const void* step_rows_kernel(operations::OptimizerRule rule);
// Tables and byte planes: a block of prepare_threads for each tile, then for each prepare_threads units of the planes.
const void* derive_kernel();

}  // namespace synfire::cuda

#endif

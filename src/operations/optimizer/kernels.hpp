// The kernels of a step, as the host code sees them.
#ifndef SYNFIRE_OPERATIONS_OPTIMIZER_KERNELS_HPP
#define SYNFIRE_OPERATIONS_OPTIMIZER_KERNELS_HPP

#include "parameter_step.hpp"

#include <operations/synapse/kernels.hpp>

namespace synfire::cuda {

// ---- the norm -------------------------------------------------------------------------------------------------------

// A warp for each chunk of gradients; the last block of the last launch begins the step. Gradients of parameters are
// arguments, because a graph may replace them; a launch has those from `first_parameter` on.
inline constexpr int norm_threads = 256;
inline constexpr int norm_parameters = 64;
struct NormLaunch {
  const operations::MemberGradient* members;
  int32_t n_members;
  int32_t first_parameter;
  const void* parameters[norm_parameters];
  int64_t n_chunks;
  double* sums;
  operations::OptimizerState* state;
  operations::OptimizerRates rates;
  operations::StepValues values;
  bool begins_step;
};
const void* norm_kernel();

// ---- synapses -------------------------------------------------------------------------------------------------------

struct SynapsesLaunch {
  const operations::SynapseMembers* synapses;
  int32_t n_synapses;
  int64_t n_rows, n_tiles, n_units;
  const operations::OptimizerState* state;
  operations::OptimizerRates rates;
};
// Updates weights and biases, finds the grid and writes the row on it: a block of prepare_threads for each output.
const void* step_rows_kernel(operations::OptimizerRule rule);
// Tables and byte planes: a block of prepare_threads for each tile, then for each prepare_threads units of the planes.
const void* derive_kernel();

// ---- parameters of layers -------------------------------------------------------------------------------------------

template <class R>
const void* parameter_step_kernel();

}  // namespace synfire::cuda

namespace synfire::operations {
inline namespace SYNFIRE_MODEL_LEVEL {

SYNFIRE_MODEL_FN synfire::cuda::PrepareTableLaunch table_of(const SynapseMembers& s) {
  return {s.n_inputs, s.n_outputs, s.rows, s.rows_pitch, s.table, s.table_pitch, s.grid};
}
SYNFIRE_MODEL_FN synfire::cuda::PreparePlanesLaunch planes_of(const SynapseMembers& s) {
  return {s.n_inputs,     s.n_outputs,    static_cast<const int32_t*>(s.rows),
          s.rows_pitch,   s.table_planes, s.table_words,
          s.table_groups, s.rows_planes,  s.rows_words,
          s.rows_groups};
}
SYNFIRE_MODEL_FN synfire::cuda::TableKind table_kind_of(const SynapseMembers& s) {
  return s.is_f64     ? synfire::cuda::TableKind::f64
         : s.is_exact ? synfire::cuda::TableKind::integers
                      : synfire::cuda::TableKind::f32;
}

}  // namespace SYNFIRE_MODEL_LEVEL
}  // namespace synfire::operations

#endif

// An optimiser's step on dense synapses: a block updates a row of weights and finds its grid in one pass; then come the
// tables and byte planes of all synapses.
#include "dense_steps_kernels.hpp"
#include "step_elements.cuh"

#include <synapses/dense/prepare.cuh>

namespace synfire::cuda {
namespace {

using namespace synfire::operations;

// ---- rows of synapses -----------------------------------------------------------------------------------------------

template <class At>
__device__ __forceinline__ const DenseMembers& synapse_of(const DenseStepLaunch& launch, int64_t index, At at) {
  return entry_of(launch.synapses, launch.n_synapses, index, at);
}

// Calls f(k, weight) with the row's new weights, of which each thread has some; stores them.
template <OptimizerRule rule, class R, class F>
__device__ __forceinline__ void step_row(const DenseStepLaunch& launch, const DenseMembers& s, int64_t n, F f) {
  R* const weights = static_cast<R*>(s.weights.values) + n * s.n_inputs;
  const uint32_t* const mask = s.mask ? s.mask + n * ((s.n_inputs + 31) / 32) : nullptr;
  if (!s.weights.is_stepped()) {
    for (int64_t k = threadIdx.x; k < s.n_inputs; k += prepare_threads) f(k, weights[k]);
    return;
  }
  const auto constants = constants_of<R>(*launch.state, launch.rates, *s.weights.factors);
  if (s.n_inputs % 4 == 0) {
    for (int64_t k = int64_t{4} * threadIdx.x; k < s.n_inputs; k += 4 * prepare_threads) {
      Four<R> four = step_four<rule>(constants, s.weights, n * s.n_inputs + k);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (!is_connected(mask, k + i)) four.at[i] = 0;
        f(k + i, four.at[i]);
      }
      *reinterpret_cast<Four<R>*>(weights + k) = four;
    }
    return;
  }
  for (int64_t k = threadIdx.x; k < s.n_inputs; k += prepare_threads) {
    step_element<rule, R>(constants, s.weights, n * s.n_inputs + k);
    if (!is_connected(mask, k)) weights[k] = 0;
    f(k, weights[k]);
  }
}

// Writes the row on its grid: each thread reads the weights that it wrote.
__device__ __forceinline__ void put_row(const DenseMembers& s, int64_t n, s32 grid) {
  const float* const weights = static_cast<const float*>(s.weights.values) + n * s.n_inputs;
  int32_t* const row = static_cast<int32_t*>(s.rows) + n * s.rows_pitch;
  if (s.weights.is_stepped() && s.n_inputs % 4 == 0) {
    for (int64_t k = int64_t{4} * threadIdx.x; k < s.n_inputs; k += 4 * prepare_threads) {
      const Four<float> four = *reinterpret_cast<const Four<float>*>(weights + k);
      Four<int32_t> integers;
#pragma unroll
      for (int i = 0; i < 4; ++i) integers.at[i] = on_grid(four.at[i], grid, s.dropped_bits);
      *reinterpret_cast<Four<int32_t>*>(row + k) = integers;
    }
    return;
  }
  for (int64_t k = threadIdx.x; k < s.n_inputs; k += prepare_threads)
    row[k] = on_grid(weights[k], grid, s.dropped_bits);
}

template <OptimizerRule rule>
__global__ void __launch_bounds__(prepare_threads) step_rows(const __grid_constant__ DenseStepLaunch launch) {
  wait_for_previous();
  if (launch.state->takes_step == 0) return;
  for (int64_t index = blockIdx.x; index < launch.n_rows; index += gridDim.x) {
    const DenseMembers& s = synapse_of(launch, index, [](const DenseMembers& each) { return each.first_row; });
    const int64_t n = index - s.first_row;
    // A thread without weights if there are fewer than 1,021: the others need not wait for it.
    const bool steps_bias = s.bias.is_stepped() && threadIdx.x == prepare_threads - 1;
    if (s.is_f64) {
      if (steps_bias)
        step_element<rule, double>(constants_of<double>(*launch.state, launch.rates, *s.bias.factors), s.bias, n);
      double* const row = static_cast<double*>(s.rows) + n * s.rows_pitch;
      step_row<rule, double>(launch, s, n, [&](int64_t k, double weight) { row[k] = weight; });
      continue;
    }
    if (steps_bias)
      step_element<rule, float>(constants_of<float>(*launch.state, launch.rates, *s.bias.factors), s.bias, n);
    uint32_t largest = 0;
    step_row<rule, float>(launch, s, n, [&](int64_t, float weight) {
      const uint32_t magnitude = bits_of(weight) & 0x7FFFFFFFu;
      largest = magnitude > largest ? magnitude : largest;
    });
    const float most = from_bits(block_max(largest));  // after it, all threads see the bias
    const float bias = s.any_bias ? __ldcg(s.any_bias + n) : 0.0f;
    const s32 grid = grid_of_row(most, bias, s.dropped_bits);
    if (threadIdx.x == 0) {
      s.grid[n] = grid;
      s.bias_on_grid[n] = on_grid(bias, grid);
    }
    put_row(s, n, grid);
  }
}

// ---- what products use ----------------------------------------------------------------------------------------------

__global__ void __launch_bounds__(prepare_threads) derive(const __grid_constant__ DenseStepLaunch launch) {
  wait_for_previous();
  if (launch.state->takes_step == 0) return;
  const int64_t of_units = (launch.n_units + prepare_threads - 1) / prepare_threads;
  for (int64_t index = blockIdx.x; index < launch.n_tiles + of_units; index += gridDim.x) {
    if (index < launch.n_tiles) {
      const DenseMembers& s = synapse_of(launch, index, [](const DenseMembers& each) { return each.first_tile; });
      const PrepareTableLaunch table = table_of(s);
      switch (table_kind_of(s)) {
        case TableKind::integers:
          prepare_tile<TableKind::integers>(table, index - s.first_tile);
          break;
        case TableKind::f32:
          prepare_tile<TableKind::f32>(table, index - s.first_tile);
          break;
        case TableKind::rounded:
          prepare_tile<TableKind::rounded>(table, index - s.first_tile);
          break;
        case TableKind::f64:
          prepare_tile<TableKind::f64>(table, index - s.first_tile);
          break;
      }
      continue;
    }
    const int64_t unit = (index - launch.n_tiles) * prepare_threads + threadIdx.x;
    if (unit >= launch.n_units) continue;
    const DenseMembers& s = synapse_of(launch, unit, [](const DenseMembers& each) { return each.first_unit; });
    prepare_unit(planes_of(s), unit - s.first_unit);
  }
}

}  // namespace

const void* step_rows_kernel(OptimizerRule rule) {
  switch (rule) {
    case OptimizerRule::adam:
      return address(step_rows<OptimizerRule::adam>);
    case OptimizerRule::momentum:
      return address(step_rows<OptimizerRule::momentum>);
    default:
      return address(step_rows<OptimizerRule::descent>);
  }
}
const void* derive_kernel() {
  return address(derive);
}

}  // namespace synfire::cuda

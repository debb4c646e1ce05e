// A step of an optimiser. The gradients' norm comes first, because it decides whether and how far all weights move;
// then a block updates a row of weights and finds its grid in one pass; then the tables and byte planes of all
// synapses.
#include "kernels.hpp"
#include "parameter_step.cuh"

#include <operations/synapse/prepare.cuh>

#include <synfire/model/reduction.hpp>

namespace synfire::cuda {
namespace {

using namespace synfire::operations;
using model::reduction_chunk;
using model::reduction_lanes;

constexpr int warps_of_norm = norm_threads / 32;

// Four numbers of memory that may have fewer, or another alignment.
template <class R>
struct alignas(4 * sizeof(R) > 16 ? 16 : 4 * sizeof(R)) Four {
  R at[4];
};
template <class R>
__device__ __forceinline__ Four<R> load_four(const R* from, int64_t count, bool aligned) {
  if (aligned && count >= 4) return *reinterpret_cast<const Four<R>*>(from);
  Four<R> four;
#pragma unroll
  for (int i = 0; i < 4; ++i) four.at[i] = i < count ? from[i] : R(0);
  return four;
}
template <class R>
bool __device__ __forceinline__ is_aligned(const R* data) {
  return reinterpret_cast<uintptr_t>(data) % 16 == 0;
}

// ---- the norm -------------------------------------------------------------------------------------------------------

// The sum of a chunk's squares, by a warp: each thread has four neighbouring lanes.
template <class R>
__device__ __forceinline__ double squares_of_chunk(const R* values, int64_t count) {
  const int thread = static_cast<int>(threadIdx.x % 32);
  const bool aligned = is_aligned(values);
  double lane[4] = {};
#pragma unroll
  for (int row = 0; row < reduction_chunk / reduction_lanes; ++row) {
    const int64_t first = row * reduction_lanes + thread * 4;
    const Four<R> four = load_four(values + first, count - first, aligned);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const auto value = static_cast<double>(four.at[i]);
      lane[i] += value * value;  // adds +0 beyond the end, which changes no sum of squares
    }
  }
#pragma unroll
  for (int half = 16; half > 0; half /= 2)
#pragma unroll
    for (int i = 0; i < 4; ++i) lane[i] += __shfl_xor_sync(0xFFFFFFFF, lane[i], half);
  return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

__device__ __forceinline__ const MemberGradient& member_of(const NormLaunch& launch, int64_t chunk) {
  int32_t low = 0, high = launch.n_members - 1;
  while (low < high) {
    const int32_t middle = (low + high + 1) / 2;
    if (launch.members[middle].first_chunk <= chunk)
      low = middle;
    else
      high = middle - 1;
  }
  return launch.members[low];
}

__device__ __forceinline__ void sum_chunk(const NormLaunch& launch, int64_t chunk) {
  const MemberGradient& member = member_of(launch, chunk);
  const void* data = member.data;
  if (member.parameter >= 0) {
    const int32_t index = member.parameter - launch.first_parameter;
    if (index < 0 || index >= norm_parameters) return;  // another launch has it
    data = launch.parameters[index];
  } else if (launch.first_parameter > 0) {
    return;
  }
  const int64_t first = (chunk - member.first_chunk) * reduction_chunk;
  const int64_t left = member.count - first, count = left < reduction_chunk ? left : reduction_chunk;
  const double sum = member.is_f64 ? squares_of_chunk(static_cast<const double*>(data) + first, count)
                                   : squares_of_chunk(static_cast<const float*>(data) + first, count);
  if (threadIdx.x % 32 == 0) launch.sums[chunk] = sum;
}

__global__ void __launch_bounds__(norm_threads) norm(const __grid_constant__ NormLaunch launch) {
  wait_for_previous();
  const int64_t first = static_cast<int64_t>(blockIdx.x) * warps_of_norm + threadIdx.x / 32;
  for (int64_t chunk = first; chunk < launch.n_chunks; chunk += static_cast<int64_t>(gridDim.x) * warps_of_norm)
    sum_chunk(launch, chunk);
  if (!launch.begins_step) return;
  // The last block to arrive adds the sums of all chunks.
  __shared__ bool is_last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomicInc(&launch.state->arrived, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!is_last) return;
  __shared__ double lanes[reduction_lanes];
  const auto thread = static_cast<int>(threadIdx.x);
  if (thread < reduction_lanes) {
    double lane = 0;
    for (int64_t chunk = thread; chunk < launch.n_chunks; chunk += reduction_lanes) lane += __ldcg(launch.sums + chunk);
    lanes[thread] = lane;
  }
  for (int half = reduction_lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) lanes[thread] += lanes[thread + half];
  }
  if (thread == 0) begin_step(*launch.state, launch.rates, launch.values, lanes[0]);
}

// ---- rows of synapses -----------------------------------------------------------------------------------------------

template <class At>
__device__ __forceinline__ const SynapseMembers& synapse_of(const SynapsesLaunch& launch, int64_t index, At at) {
  int32_t low = 0, high = launch.n_synapses - 1;
  while (low < high) {
    const int32_t middle = (low + high + 1) / 2;
    if (at(launch.synapses[middle]) <= index)
      low = middle;
    else
      high = middle - 1;
  }
  return launch.synapses[low];
}

template <OptimizerRule rule, class R>
__device__ __forceinline__ void step_element(const StepConstants<R>& k, const MemberArray& array, int64_t at) {
  R moment1 = 0, moment2 = 0;
  if constexpr (rule != OptimizerRule::descent) moment1 = static_cast<const R*>(array.moment1)[at];
  if constexpr (rule == OptimizerRule::adam) moment2 = static_cast<const R*>(array.moment2)[at];
  R* const values = static_cast<R*>(array.values);
  values[at] = stepped_weight<rule>(k, static_cast<const R*>(array.gradient)[at], values[at], moment1, moment2);
  if constexpr (rule != OptimizerRule::descent) static_cast<R*>(array.moment1)[at] = moment1;
  if constexpr (rule == OptimizerRule::adam) static_cast<R*>(array.moment2)[at] = moment2;
}

template <OptimizerRule rule, class R>
__device__ __forceinline__ Four<R> step_four(const StepConstants<R>& k, const MemberArray& array, int64_t at) {
  const auto four = [&](void* data) -> Four<R>& { return *reinterpret_cast<Four<R>*>(static_cast<R*>(data) + at); };
  Four<R> weights = four(array.values), moments1 = {}, moments2 = {};
  const Four<R> gradients = *reinterpret_cast<const Four<R>*>(static_cast<const R*>(array.gradient) + at);
  if constexpr (rule != OptimizerRule::descent) moments1 = four(array.moment1);
  if constexpr (rule == OptimizerRule::adam) moments2 = four(array.moment2);
#pragma unroll
  for (int i = 0; i < 4; ++i)
    weights.at[i] = stepped_weight<rule>(k, gradients.at[i], weights.at[i], moments1.at[i], moments2.at[i]);
  if constexpr (rule != OptimizerRule::descent) four(array.moment1) = moments1;
  if constexpr (rule == OptimizerRule::adam) four(array.moment2) = moments2;
  return weights;
}

// Calls f(k, weight) with the row's new weights, of which each thread has some; stores them.
template <OptimizerRule rule, class R, class F>
__device__ __forceinline__ void step_row(const SynapsesLaunch& launch, const SynapseMembers& s, int64_t n, F f) {
  R* const weights = static_cast<R*>(s.weights.values) + n * s.n_inputs;
  const uint32_t* const mask = s.mask ? s.mask + n * ((s.n_inputs + 31) / 32) : nullptr;
  if (!s.weights.gradient) {
    for (int64_t k = threadIdx.x; k < s.n_inputs; k += prepare_threads) f(k, weights[k]);
    return;
  }
  const auto constants = constants_of<R>(*launch.state, launch.rates, s.weights.factors);
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
__device__ __forceinline__ void put_row(const SynapseMembers& s, int64_t n, s32 grid) {
  const float* const weights = static_cast<const float*>(s.weights.values) + n * s.n_inputs;
  int32_t* const row = static_cast<int32_t*>(s.rows) + n * s.rows_pitch;
  if (s.weights.gradient && s.n_inputs % 4 == 0) {
    for (int64_t k = int64_t{4} * threadIdx.x; k < s.n_inputs; k += 4 * prepare_threads) {
      const Four<float> four = *reinterpret_cast<const Four<float>*>(weights + k);
      Four<int32_t> integers;
#pragma unroll
      for (int i = 0; i < 4; ++i) integers.at[i] = on_grid(four.at[i], grid);
      *reinterpret_cast<Four<int32_t>*>(row + k) = integers;
    }
    return;
  }
  for (int64_t k = threadIdx.x; k < s.n_inputs; k += prepare_threads) row[k] = on_grid(weights[k], grid);
}

template <OptimizerRule rule>
__global__ void __launch_bounds__(prepare_threads) step_rows(const __grid_constant__ SynapsesLaunch launch) {
  wait_for_previous();
  if (launch.state->takes_step == 0) return;
  for (int64_t index = blockIdx.x; index < launch.n_rows; index += gridDim.x) {
    const SynapseMembers& s = synapse_of(launch, index, [](const SynapseMembers& each) { return each.first_row; });
    const int64_t n = index - s.first_row;
    // By a thread that has no weights if there are fewer than 1,021: the others need not wait for it.
    const bool steps_bias = s.bias.gradient && threadIdx.x == prepare_threads - 1;
    if (s.is_f64) {
      if (steps_bias)
        step_element<rule, double>(constants_of<double>(*launch.state, launch.rates, s.bias.factors), s.bias, n);
      double* const row = static_cast<double*>(s.rows) + n * s.rows_pitch;
      step_row<rule, double>(launch, s, n, [&](int64_t k, double weight) { row[k] = weight; });
      continue;
    }
    if (steps_bias)
      step_element<rule, float>(constants_of<float>(*launch.state, launch.rates, s.bias.factors), s.bias, n);
    uint32_t largest = 0;
    step_row<rule, float>(launch, s, n, [&](int64_t, float weight) {
      const uint32_t magnitude = bits_of(weight) & 0x7FFFFFFFu;
      largest = magnitude > largest ? magnitude : largest;
    });
    const float most = from_bits(block_max(largest));  // behind it, all threads see the bias
    const float bias = s.any_bias ? __ldcg(s.any_bias + n) : 0.0f;
    const s32 grid = grid_of_row(most, bias);
    if (threadIdx.x == 0) {
      s.grid[n] = grid;
      s.bias_on_grid[n] = on_grid(bias, grid);
    }
    put_row(s, n, grid);
  }
}

// ---- what products use ----------------------------------------------------------------------------------------------

__global__ void __launch_bounds__(prepare_threads) derive(const __grid_constant__ SynapsesLaunch launch) {
  wait_for_previous();
  if (launch.state->takes_step == 0) return;
  const int64_t of_units = (launch.n_units + prepare_threads - 1) / prepare_threads;
  for (int64_t index = blockIdx.x; index < launch.n_tiles + of_units; index += gridDim.x) {
    if (index < launch.n_tiles) {
      const SynapseMembers& s = synapse_of(launch, index, [](const SynapseMembers& each) { return each.first_tile; });
      const PrepareTableLaunch table = table_of(s);
      switch (table_kind_of(s)) {
        case TableKind::integers:
          prepare_tile<TableKind::integers>(table, index - s.first_tile);
          break;
        case TableKind::f32:
          prepare_tile<TableKind::f32>(table, index - s.first_tile);
          break;
        case TableKind::f64:
          prepare_tile<TableKind::f64>(table, index - s.first_tile);
          break;
      }
      continue;
    }
    const int64_t unit = (index - launch.n_tiles) * prepare_threads + threadIdx.x;
    if (unit >= launch.n_units) continue;
    const SynapseMembers& s = synapse_of(launch, unit, [](const SynapseMembers& each) { return each.first_unit; });
    prepare_unit(planes_of(s), unit - s.first_unit);
  }
}

}  // namespace

const void* norm_kernel() {
  return address(norm);
}
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
template <class R>
const void* parameter_step_kernel() {
  return address(parameter_step<R>);
}
template const void* parameter_step_kernel<float>();
template const void* parameter_step_kernel<double>();

}  // namespace synfire::cuda

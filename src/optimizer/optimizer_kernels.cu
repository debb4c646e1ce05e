// A step of an optimiser. The gradients' norm comes first, because it decides whether and how far everything moves;
// then arrays of synapses and parameters of layers are updated.
#include "optimizer_kernels.hpp"
#include "parameter_step.cuh"
#include "step_elements.cuh"

#include <synfire/model/reduction.hpp>

namespace synfire::cuda {
namespace {

using namespace synfire::operations;
using model::reduction_chunk;
using model::reduction_lanes;

constexpr int warps_of_norm = norm_threads / 32;

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
  return entry_of(launch.members, launch.n_members, chunk, [](const MemberGradient& each) { return each.first_chunk; });
}

// Null if another launch has it.
__device__ __forceinline__ const void* gradient_of(const NormLaunch& launch, const MemberGradient& member) {
  if (member.parameter < 0) return launch.first_parameter > 0 ? nullptr : member.data;
  const int32_t index = member.parameter - launch.first_parameter;
  return index < 0 || index >= norm_parameters ? nullptr : launch.parameters[index];
}
__device__ __forceinline__ int64_t count_of_chunk(const MemberGradient& member, int64_t first) {
  const int64_t left = member.count - first;
  return left < reduction_chunk ? left : reduction_chunk;
}

__device__ __forceinline__ void sum_chunk(const NormLaunch& launch, int64_t chunk) {
  const MemberGradient& member = member_of(launch, chunk);
  const void* const data = member.accumulated ? member.accumulated : gradient_of(launch, member);
  if (!data) return;
  const int64_t first = (chunk - member.first_chunk) * reduction_chunk, count = count_of_chunk(member, first);
  const double sum = member.factors->frozen != 0 ? 0.0
                     : member.is_f64             ? squares_of_chunk(static_cast<const double*>(data) + first, count)
                                                 : squares_of_chunk(static_cast<const float*>(data) + first, count);
  if (threadIdx.x % 32 == 0) launch.sums[chunk] = sum;
}

__global__ void __launch_bounds__(norm_threads) norm(const __grid_constant__ NormLaunch launch) {
  wait_for_previous();
  // The last block changes the state when all have read it.
  const uint64_t n_batches = launch.rates.batches_per_step,
                 batch = n_batches == 1 ? 1 : batch_of_step(*launch.state, launch.rates);
  const bool ends = batch == n_batches;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * warps_of_norm + threadIdx.x / 32;
  for (int64_t chunk = first; ends && chunk < launch.n_chunks; chunk += static_cast<int64_t>(gridDim.x) * warps_of_norm)
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
  if (!ends) {
    if (threadIdx.x == 0) note_batch(*launch.state, batch);
    return;
  }
  __shared__ double lanes[reduction_lanes];
  __shared__ StepCorrections corrections;  // by a warp that has no lanes
  static_assert(norm_threads > reduction_lanes);
  const auto thread = static_cast<int>(threadIdx.x);
  if (thread < reduction_lanes) {
    double lane = 0;
    for (int64_t chunk = thread; chunk < launch.n_chunks; chunk += reduction_lanes) lane += __ldcg(launch.sums + chunk);
    lanes[thread] = lane;
  } else if (thread == reduction_lanes) {
    corrections = next_corrections(*launch.state, launch.rates, launch.values);
  }
  for (int half = reduction_lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) lanes[thread] += lanes[thread + half];
  }
  if (thread == 0) begin_step(*launch.state, corrections, launch.values, lanes[0], launch.largest_norm);
}

// ---- means over batches ---------------------------------------------------------------------------------------------

template <class R>
__device__ __forceinline__ void accumulate_chunk(const R* gradients, R* means, R share, bool is_first, int64_t count) {
  for (int64_t i = threadIdx.x % 32; i < count; i += 32)
    means[i] = accumulated_gradient(gradients[i], share, means[i], is_first);
}

__global__ void __launch_bounds__(norm_threads) accumulate(const __grid_constant__ NormLaunch launch) {
  wait_for_previous();
  const bool is_first = batch_of_step(*launch.state, launch.rates) == 1;
  const double share = divide(1.0, static_cast<double>(launch.rates.batches_per_step));
  const int64_t first_chunk = static_cast<int64_t>(blockIdx.x) * warps_of_norm + threadIdx.x / 32;
  for (int64_t chunk = first_chunk; chunk < launch.n_chunks; chunk += static_cast<int64_t>(gridDim.x) * warps_of_norm) {
    const MemberGradient& member = member_of(launch, chunk);
    const void* const data = gradient_of(launch, member);
    if (!data) continue;
    const int64_t first = (chunk - member.first_chunk) * reduction_chunk, count = count_of_chunk(member, first);
    if (member.is_f64)
      accumulate_chunk(static_cast<const double*>(data) + first, static_cast<double*>(member.accumulated) + first,
                       share, is_first, count);
    else
      accumulate_chunk(static_cast<const float*>(data) + first, static_cast<float*>(member.accumulated) + first,
                       static_cast<float>(share), is_first, count);
  }
}

// ---- arrays of synapses ---------------------------------------------------------------------------------------------

template <OptimizerRule rule, class R>
__device__ __forceinline__ void step_piece_of(const StepArraysLaunch& launch, const SteppedArray& stepped,
                                              int64_t piece) {
  const auto constants = constants_of<R>(*launch.state, launch.rates, *stepped.array.factors);
  const int64_t first = (piece - stepped.first_piece) * step_piece,
                end = first + step_piece < stepped.count ? first + step_piece : stepped.count;
  for (int64_t i = first + threadIdx.x; i < end; i += step_threads) step_element<rule, R>(constants, stepped.array, i);
}

template <OptimizerRule rule>
__global__ void __launch_bounds__(step_threads) step_arrays(const __grid_constant__ StepArraysLaunch launch) {
  wait_for_previous();
  if (launch.state->takes_step == 0) return;
  for (int64_t piece = blockIdx.x; piece < launch.n_pieces; piece += gridDim.x) {
    const SteppedArray& stepped =
        entry_of(launch.arrays, launch.n_arrays, piece, [](const SteppedArray& each) { return each.first_piece; });
    if (!stepped.array.is_stepped()) continue;
    if (stepped.is_f64)
      step_piece_of<rule, double>(launch, stepped, piece);
    else
      step_piece_of<rule, float>(launch, stepped, piece);
  }
}

}  // namespace

const void* norm_kernel() {
  return address(norm);
}
const void* accumulate_kernel() {
  return address(accumulate);
}
const void* step_arrays_kernel(OptimizerRule rule) {
  switch (rule) {
    case OptimizerRule::adam:
      return address(step_arrays<OptimizerRule::adam>);
    case OptimizerRule::momentum:
      return address(step_arrays<OptimizerRule::momentum>);
    default:
      return address(step_arrays<OptimizerRule::descent>);
  }
}
template <class R>
const void* parameter_step_kernel() {
  return address(parameter_step<R>);
}
template const void* parameter_step_kernel<float>();
template const void* parameter_step_kernel<double>();

}  // namespace synfire::cuda

// The kernels that put the weights of a synapse on their grid.
#include "prepare.cuh"

namespace synfire::cuda {
namespace {

__device__ __forceinline__ void prepare_row(const PrepareRowsLaunch<float>& launch, int64_t n, const uint32_t* mask) {
  float* const weights = launch.weights + n * launch.n_inputs;
  uint32_t largest = 0;
  for (int64_t k = threadIdx.x; k < launch.n_inputs; k += prepare_threads) {
    if (!is_connected(mask, k)) weights[k] = 0;
    const uint32_t magnitude = bits_of(weights[k] * launch.factor) & 0x7FFFFFFFu;
    largest = magnitude > largest ? magnitude : largest;
  }
  const float bias = launch.bias ? launch.bias[n] : 0.0f;
  const s32 grid = grid_of_row(from_bits(block_max(largest)), bias, launch.dropped_bits);
  if (threadIdx.x == 0) {
    launch.grid[n] = grid;
    launch.bias_on_grid[n] = on_grid(bias, grid);
  }
  int32_t* const row = static_cast<int32_t*>(launch.rows) + n * launch.rows_pitch;
  for (int64_t k = threadIdx.x; k < launch.n_inputs; k += prepare_threads)
    row[k] = on_grid(weights[k] * launch.factor, grid, launch.dropped_bits);
}
__device__ __forceinline__ void prepare_row(const PrepareRowsLaunch<double>& launch, int64_t n, const uint32_t* mask) {
  double* const weights = launch.weights + n * launch.n_inputs;
  double* const row = static_cast<double*>(launch.rows) + n * launch.rows_pitch;
  for (int64_t k = threadIdx.x; k < launch.n_inputs; k += prepare_threads) {
    if (!is_connected(mask, k)) weights[k] = 0;
    row[k] = weights[k] * launch.factor;
  }
}

template <class R>
__global__ void __launch_bounds__(prepare_threads) prepare_rows(const __grid_constant__ PrepareRowsLaunch<R> launch) {
  wait_for_previous();
  const int64_t mask_words = (launch.n_inputs + 31) / 32;
  for (int64_t n = blockIdx.x; n < launch.n_outputs; n += gridDim.x)
    prepare_row(launch, n, launch.mask ? launch.mask + n * mask_words : nullptr);
}

template <TableKind kind>
__global__ void __launch_bounds__(prepare_threads) prepare_table(const __grid_constant__ PrepareTableLaunch launch) {
  wait_for_previous();
  const int64_t n_tiles = (launch.n_inputs + 31) / 32 * ((launch.n_outputs + 31) / 32);
  for (int64_t index = blockIdx.x; index < n_tiles; index += gridDim.x) prepare_tile<kind>(launch, index);
}

__global__ void __launch_bounds__(prepare_threads) prepare_planes(const __grid_constant__ PreparePlanesLaunch launch) {
  wait_for_previous();
  const int64_t of_table = launch.table_planes ? launch.table_words * launch.table_groups * 32 : 0,
                of_rows = launch.rows_words * launch.rows_groups * 32;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * prepare_threads;
  for (int64_t unit = static_cast<int64_t>(blockIdx.x) * prepare_threads + threadIdx.x; unit < of_table + of_rows;
       unit += stride)
    prepare_unit(launch, unit);
}

}  // namespace

template <class R>
const void* prepare_rows_kernel() {
  return address(prepare_rows<R>);
}
template const void* prepare_rows_kernel<float>();
template const void* prepare_rows_kernel<double>();

const void* prepare_table_kernel(TableKind kind) {
  switch (kind) {
    case TableKind::integers:
      return address(prepare_table<TableKind::integers>);
    case TableKind::f32:
      return address(prepare_table<TableKind::f32>);
    case TableKind::rounded:
      return address(prepare_table<TableKind::rounded>);
    default:
      return address(prepare_table<TableKind::f64>);
  }
}
const void* prepare_planes_kernel() {
  return address(prepare_planes);
}

}  // namespace synfire::cuda

// Sums or means over the steps, their loss, and the gradient of the sums, by one block.
#include "stack_kernels.hpp"

#include <backends/cuda/cuda_storage.cuh>
#include <operations/loss/samples.cuh>

namespace synfire::cuda {
namespace {

__device__ __forceinline__ int64_t steps_of(const Counting& counting, const core::Extents& e, int64_t b,
                                            int64_t n_rows) {
  return b < n_rows ? counting.steps(e.n_steps, b) : 0;
}

__global__ void __launch_bounds__(loss_block_threads) readout(const __grid_constant__ ReadoutLaunch launch) {
  wait_for_previous();
  const core::Extents& e = launch.extents;
  const auto n_columns = static_cast<uint32_t>(e.row()), n_neurons = static_cast<uint32_t>(e.n_neurons);
  const int64_t n_words = e.words_per_row(), n_rows = launch.counting.rows(e.batch);
  for (uint32_t column = threadIdx.x; column < n_columns; column += loss_block_threads) {
    const uint32_t b = column / n_neurons, n = column % n_neurons;
    const int64_t n_steps = steps_of(launch.counting, e, b, n_rows);
    const uint32_t* word = launch.spikes + b * n_words + n / 32;
    uint32_t sum = 0;
#pragma unroll 8
    for (int64_t t = 0; t < n_steps; ++t, word += launch.pitch) sum += *word >> (n % 32) & 1u;
    launch.results[column] =
        launch.mean ? mean_of<float>(static_cast<model::u64>(sum), n_steps) : static_cast<float>(sum);
  }
  __syncthreads();
  whole_loss<float>(launch.loss);
  if (!launch.to) return;
  __syncthreads();
  const int64_t n_counted = launch.spread_counting.rows(e.batch);
  for (uint32_t column = threadIdx.x; column < n_columns; column += loss_block_threads) {
    const int64_t n_steps = steps_of(launch.spread_counting, e, column / n_neurons, n_counted);
    float value = launch.from[column];
    if (launch.spread_mean) value = value / static_cast<float>(n_steps);
    float* to = launch.to + column;
#pragma unroll 4
    for (int64_t t = 0; t < e.n_steps; ++t, to += launch.to_pitch) {
      if (!launch.add)
        *to = t < n_steps ? value : 0.0f;
      else if (t < n_steps)
        *to = *to + value;
    }
  }
}

}  // namespace

const void* readout_kernel() {
  return address(readout);
}

}  // namespace synfire::cuda

// Launches of the exact products with spikes, for rows of any synapse: each chooses the kernel that suits the sizes and
// the GPU.
#ifndef SYNFIRE_SYNAPSES_DENSE_DENSE_LAUNCHES_HPP
#define SYNFIRE_SYNAPSES_DENSE_DENSE_LAUNCHES_HPP

#include "dense_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>
#include <synapses/passes/pieces.hpp>

#include <algorithm>

namespace synfire::operations {

// The instructions of tensor.cuh exist from compute capability 8.0 on, in code that was compiled for it.
inline bool has_tensor_cores(const cuda::GpuShape& gpu) {
  return gpu.compute_major >= 8 && gpu.code_version >= 80;
}

// A block for each piece; kernels loop if there are more.
inline cuda::Grid one_each(int64_t n_pieces, int n_threads) {
  return {static_cast<uint32_t>(std::clamp<int64_t>(n_pieces, 1, int64_t{1} << 30)), static_cast<uint32_t>(n_threads)};
}

// Shared memory of a block on compute capability 9.0, without that of the system and the kernels' own arrays.
inline constexpr int64_t most_shared_bytes = int64_t{224} * 1024;

// Blocks for kernels of warpgroups: one for each multiprocessor, but no more than have 64 rows for each warpgroup.
cuda::Grid grid_of_groups(int64_t n_rows, int64_t n_columns, int n_threads, int64_t shared_bytes,
                          const cuda::Launcher& launcher);

// The lowest zero_planes of the byte planes of the weights are 0.
void launch_spike_product(const cuda::SpikeProductLaunch& launch, int zero_planes, cuda::Launcher& launcher);

// The parts of a gradient of weights: the largest magnitudes, gradients on their grids as byte planes, and the products
// of those with spikes in words of 32 rows, whose words_per_piece is chosen here. `n_words` is even.
int largest_load_width(const cuda::RowArray<const float>& array);
cuda::LargestLaunch largest_of(const cuda::SequenceRows& rows, const cuda::RowArray<const float>& array,
                               uint32_t* largest, const cuda::Launcher& launcher);
void launch_largest(const cuda::SequenceRows& rows, const cuda::RowArray<const float>& array, uint32_t* largest,
                    cuda::Launcher& launcher);
void launch_gradient_planes(const cuda::GradientPlanesLaunch& launch, int n_planes, cuda::Launcher& launcher);
void launch_weight_product(cuda::WeightProductLaunch launch, int n_planes, cuda::Launcher& launcher);
void launch_finish(const cuda::FinishWeightsLaunch& launch, cuda::Launcher& launcher);

// The product of a gradient of the input, of n_outputs outputs or of the outputs of all taps.
void launch_input_product(const cuda::InputProductLaunch& launch, cuda::Launcher& launcher);

}  // namespace synfire::operations

#endif

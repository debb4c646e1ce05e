// Eight threads draw a word.
#include "dropout_kernels.hpp"

#include "mask.hpp"

#include <backends/cuda/cuda_storage.cuh>
#include <operations/encode/offset.hpp>

namespace synfire::cuda {
namespace {

__global__ void __launch_bounds__(threads_per_block) dropout(const __grid_constant__ DropoutLaunch launch) {
  wait_for_previous();
  const double probability = launch.probability_value ? *launch.probability_value : launch.probability;
  const uint64_t seed = launch.seed_value ? *launch.seed_value : launch.seed;
  const uint64_t offset =
      launch.offset_set ? operations::current_offset(launch.offset_set, launch.offset_state) : launch.offset;
  const uint32_t below = operations::dropped_below(probability);
  const int64_t n_words = launch.extents.words_per_row();
  const int lane = static_cast<int>(threadIdx.x % 32), group = lane % dropout_groups;
  const uint32_t lanes = 0xFFu << (lane - group);
  for (int64_t i = first_element(); i < launch.extents.batch * n_words * dropout_groups; i += stride()) {
    const int64_t index = i / dropout_groups, row = index / n_words, word = index - row * n_words;
    const operations::Words4 drawn = operations::draw(seed, offset, launch.first_row + static_cast<uint32_t>(row),
                                                      static_cast<uint32_t>(word * dropout_groups + group));
    uint32_t kept = operations::kept_of_group(drawn, below) << (4 * group);
#pragma unroll
    for (int half = 1; half < dropout_groups; half *= 2) kept |= __shfl_xor_sync(lanes, kept, half);
    if (group == 0) launch.mask[index] = kept & operations::bits_in_use(word, launch.extents.n_neurons);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    const double scale = operations::scale_of_kept(probability);
    if (launch.wide)
      *static_cast<double*>(launch.scale) = scale;
    else
      *static_cast<float*>(launch.scale) = static_cast<float>(scale);
  }
  if (!launch.offset_set) return;
  // The last block to arrive advances the offset, because nobody reads it any more.
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence();
  auto* const arrived = reinterpret_cast<unsigned int*>(launch.offset_state + 2);
  if (atomicInc(arrived, gridDim.x - 1) != gridDim.x - 1) return;
  operations::advance_offset(launch.offset_set, launch.offset_state, 1);
}

}  // namespace

const void* dropout_kernel() {
  return address(dropout);
}

}  // namespace synfire::cuda

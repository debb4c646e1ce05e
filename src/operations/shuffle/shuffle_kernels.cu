// A thread computes an index; a block shares the epoch's keys.
#include "shuffle_kernels.hpp"

#include <backends/cuda/cuda_storage.cuh>
#include <operations/encode/offset.hpp>

namespace synfire::cuda {
namespace {

__global__ void __launch_bounds__(threads_per_block) shuffle(const __grid_constant__ ShuffleLaunch launch) {
  wait_for_previous();
  __shared__ uint32_t keys[operations::shuffle_rounds];
  const uint64_t seed = launch.seed_value ? *launch.seed_value : launch.seed;
  const uint64_t offset =
      launch.offset_set ? operations::current_offset(launch.offset_set, launch.offset_state) : launch.offset;
  const operations::BatchPlace place = operations::batch_place(launch.rules, offset);
  if (threadIdx.x < operations::shuffle_rounds / 4) {
    const operations::Words4 four = operations::shuffle_keys(seed, place.epoch, threadIdx.x);
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) keys[4 * threadIdx.x + k] = four.word[k];
  }
  __syncthreads();
  for (int64_t i = first_element(); i < launch.rules.batch; i += stride())
    launch.indices[i] = operations::batch_index(launch.rules, place, keys, static_cast<uint32_t>(i));
  if (launch.n_active && blockIdx.x == 0 && threadIdx.x == 0) *launch.n_active = place.n_active;
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

const void* shuffle_kernel() {
  return address(shuffle);
}

}  // namespace synfire::cuda

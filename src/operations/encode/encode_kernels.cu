// A warp draws for 32 steps of 32 neurons. Four neighbours share a generator's four words: each of their lanes runs it
// for a different step, and then they exchange the words.
#include "encode_kernels.hpp"

#include "offset.hpp"
#include "philox.hpp"

#include <backends/cuda/cuda_storage.cuh>
#include <operations/spikes/blocks.cuh>

#include <synfire/synfire.h>

namespace synfire::cuda {
namespace {

// Word j of lane k of four goes to lane j, as its word k.
__device__ __forceinline__ void exchange(uint32_t (&w)[4]) {
  const unsigned lane = threadIdx.x;
#pragma unroll
  for (int half = 1; half <= 2; half *= 2) {
    const bool upper = (lane & static_cast<unsigned>(half)) != 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if ((i & half) != 0) continue;
      const uint32_t other = __shfl_xor_sync(0xFFFFFFFFu, upper ? w[i] : w[i + half], half);
      if (upper)
        w[i] = other;
      else
        w[i + half] = other;
    }
  }
}

template <class E, class To>
__global__ void __launch_bounds__(spike_threads)
    encode_bernoulli(const __grid_constant__ EncodeBernoulliLaunch launch) {
  wait_for_previous();
  __shared__ BitsTile tile;
  const Extents& e = launch.extents;
  const int64_t per_row = row_tiles(e);
  const uint64_t seed = launch.seed_value ? *launch.seed_value : launch.seed;
  const uint64_t offset =
      launch.offset_set ? operations::current_offset(launch.offset_set, launch.offset_state) : launch.offset;
  for (int64_t index = blockIdx.x; index < launch.n_tiles; index += gridDim.x) {
    const int64_t row = index / per_row;
    const Place at = place(e, row / e.batch, row % e.batch, index % per_row);
    const E* const rates =
        static_cast<const E*>(launch.rates) + at.step * launch.pitch + at.row * e.n_neurons + at.neuron;
    operations::Threshold limit = {0, false};
    if (at.exists && launch.pitch == 0) limit = operations::threshold(decode(*rates));
    uint32_t word = 0;
    for (int first = 0; first < at.steps; first += 4) {
      const uint64_t step = offset + static_cast<uint64_t>(at.step + first) + (threadIdx.x & 3);
      operations::Words4 drawn = operations::draw(seed, step, launch.first_row + static_cast<uint32_t>(at.row),
                                                  static_cast<uint32_t>(at.neuron / 4));
      exchange(drawn.word);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int t = first + k;
        if (t >= at.steps || !at.exists) continue;
        if (launch.pitch != 0) limit = operations::threshold(decode(rates[t * launch.pitch]));
        word |= static_cast<uint32_t>(operations::spikes(drawn.word[k], limit)) << t;
      }
    }
    Format<To>::write(word, launch.spikes, e, at, tile);
  }
  if (!launch.offset_set) return;
  // The last block to arrive advances the offset, because nobody reads it any more.
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence();
  auto* const arrived = reinterpret_cast<unsigned int*>(launch.offset_state + 2);
  if (atomicInc(arrived, gridDim.x - 1) != gridDim.x - 1) return;
  operations::advance_offset(launch.offset_set, launch.offset_state, static_cast<uint64_t>(e.n_steps));
}

template <class E>
const void* encoder_of(operations::SpikeStorage spikes) {
  switch (spikes) {
    case operations::SpikeStorage::bytes1:
      return address(encode_bernoulli<E, uint8_t>);
    case operations::SpikeStorage::bytes2:
      return address(encode_bernoulli<E, uint16_t>);
    case operations::SpikeStorage::bytes4:
      return address(encode_bernoulli<E, uint32_t>);
    case operations::SpikeStorage::bytes8:
      return address(encode_bernoulli<E, uint64_t>);
    case operations::SpikeStorage::bits:
      return address(encode_bernoulli<E, Bits>);
    default:
      return address(encode_bernoulli<E, TimeBits>);
  }
}

}  // namespace

const void* encode_bernoulli_kernel(int32_t rates, operations::SpikeStorage storage) {
  return core::with_element_type(F32NumberTypes{}, rates,
                                 [=](auto type) { return encoder_of<typename decltype(type)::Type>(storage); });
}

}  // namespace synfire::cuda

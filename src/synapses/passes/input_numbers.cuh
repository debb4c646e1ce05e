// One number of the input of a synapse, in a kernel.
#ifndef SYNFIRE_SYNAPSES_PASSES_INPUT_NUMBERS_CUH
#define SYNFIRE_SYNAPSES_PASSES_INPUT_NUMBERS_CUH

#include "input_numbers.hpp"
#include "synapse_rows.hpp"

#include <backends/cuda/cuda_storage.cuh>

#include <synfire/synfire.h>

namespace synfire::cuda {
namespace {

template <class E>
__device__ __forceinline__ bool is_spike(const operations::SpikeArray& spikes, int64_t at) {
  return (static_cast<const E*>(spikes.data)[at] & static_cast<E>(spikes.magnitude)) != 0;
}

__device__ __forceinline__ bool is_spike(const InputNumbers& input, RowIndex at, int64_t k) {
  const core::Extents& e = input.extents;
  const operations::SpikeArray& array = input.array;
  const auto* const words = static_cast<const uint32_t*>(array.data);
  const int64_t dense = at.t * array.pitch + at.b * e.n_neurons + k;
  switch (input.storage) {
    case operations::SpikeStorage::bytes1:
      return is_spike<uint8_t>(array, dense);
    case operations::SpikeStorage::bytes2:
      return is_spike<uint16_t>(array, dense);
    case operations::SpikeStorage::bytes4:
      return is_spike<uint32_t>(array, dense);
    case operations::SpikeStorage::bytes8:
      return is_spike<uint64_t>(array, dense);
    case operations::SpikeStorage::bits:
      return (words[at.t * array.pitch + at.b * e.words_per_row() + k / 32] >> (k % 32) & 1u) != 0;
    default:
      return (words[at.t / 32 * array.pitch + at.b * e.n_neurons + k] >> (at.t % 32) & 1u) != 0;
  }
}

template <class R>
__device__ __forceinline__ R number(const InputNumbers& input, RowIndex at, int64_t k) {
  if (input.are_spikes) return is_spike(input, at, k) ? R(1) : R(0);
  const int64_t index = at.t * input.array.pitch + at.b * input.extents.n_neurons + k;
  return number_at<R>(NumberTypesBeside<R>{}, input.dtype, input.array.data, index);
}

}  // namespace
}  // namespace synfire::cuda

#endif

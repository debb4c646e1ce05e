// Draws spikes of 32 neurons over up to 32 steps at a time.
#ifndef SYNFIRE_OPERATIONS_ENCODE_ENCODE_HOST_KERNELS_HPP
#define SYNFIRE_OPERATIONS_ENCODE_ENCODE_HOST_KERNELS_HPP

#include <backends/host/level.hpp>

#include <cstdint>

namespace synfire::host {

struct EncodeBlock {
  const void* rates;  // of the first step and neuron
  int64_t pitch;      // elements to the next step; 0: one row for all steps
  int32_t dtype;
  int steps, neurons;  // up to 32
  uint64_t seed;
  uint64_t step;   // the first one's number since the seed
  uint32_t row;    // batch row
  uint32_t group;  // the first neuron's number, by 4
};

struct EncodeKernels {
  // Bit t of word i: neuron i in step t. Bits of steps and neurons that do not exist are zero.
  void (*bernoulli)(const EncodeBlock& block, uint32_t* words);
};
SYNFIRE_LEVEL_TABLES(EncodeKernels, encode_kernels)

}  // namespace synfire::host

#endif

// The host kernel of dropout: words of a mask.
#ifndef SYNFIRE_OPERATIONS_DROPOUT_DROPOUT_HOST_KERNELS_HPP
#define SYNFIRE_OPERATIONS_DROPOUT_DROPOUT_HOST_KERNELS_HPP

#include <backends/host/level.hpp>

#include <cstdint>

namespace synfire::host {

struct DropoutKernels {
  // The bits of neurons 32 * word to 32 * word + 31 of a batch row.
  uint32_t (*kept)(uint64_t seed, uint64_t offset, uint32_t row, int64_t word, uint32_t below);
};
SYNFIRE_LEVEL_TABLES(DropoutKernels, dropout_kernels)

}  // namespace synfire::host

#endif

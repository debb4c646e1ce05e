#include "dropout_host_kernels.hpp"

#include "mask.hpp"

namespace synfire::host::SYNFIRE_MODEL_LEVEL {
namespace {

using namespace synfire::operations;

// Eight generators side by side, which the compiler vectorises.
uint32_t kept(uint64_t seed, uint64_t offset, uint32_t row, int64_t word, uint32_t below) {
  constexpr int groups = 8;
  uint32_t bits[groups];
  for (int g = 0; g < groups; ++g)
    bits[g] = kept_of_group(draw(seed, offset, row, static_cast<uint32_t>(word * groups + g)), below) << (4 * g);
  uint32_t all = 0;
  for (const uint32_t group : bits) all |= group;
  return all;
}

}  // namespace

extern const DropoutKernels dropout_kernels = {kept};

}  // namespace synfire::host::SYNFIRE_MODEL_LEVEL

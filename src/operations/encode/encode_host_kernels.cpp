#include "encode_host_kernels.hpp"

#include "philox.hpp"

#include <backends/host/host_storage.hpp>

namespace synfire::host::SYNFIRE_MODEL_LEVEL {
namespace {

using namespace synfire::operations;

constexpr int width = 32;

// The words of 32 neighbours in one step: eight generators side by side, which the compiler vectorises.
void draw_row(const EncodeBlock& block, int t, uint32_t* words) {
  constexpr int groups = width / 4;
  const uint64_t step = block.step + static_cast<uint64_t>(t);
  for (int g = 0; g < groups; ++g) {
    const Words4 drawn = draw(block.seed, step, block.row, block.group + static_cast<uint32_t>(g));
    for (int k = 0; k < 4; ++k) words[k * groups + g] = drawn.word[k];
  }
}

struct Thresholds {
  uint32_t below[width];
  uint32_t always[width];  // 0 or 1
};

template <class E>
void read_rates(const EncodeBlock& block, int t, Thresholds& at) {
  const E* const row = static_cast<const E*>(block.rates) + t * block.pitch;
  for (int i = 0; i < block.neurons; ++i) {
    const Threshold found = threshold(decode(row[i]));
    at.below[i] = found.below;
    at.always[i] = found.always ? 1 : 0;
  }
}

void read_any(const EncodeBlock& block, int t, Thresholds& at) {
  core::with_element_type(F32NumberTypes{}, block.dtype,
                          [&](auto type) { read_rates<typename decltype(type)::Type>(block, t, at); });
}

void bernoulli(const EncodeBlock& block, uint32_t* words) {
  Thresholds at = {};  // neurons that do not exist never spike
  for (int i = 0; i < width; ++i) words[i] = 0;
  read_any(block, 0, at);
  for (int t = 0; t < block.steps; ++t) {
    if (t > 0 && block.pitch != 0) read_any(block, t, at);
    uint32_t drawn[width];
    draw_row(block, t, drawn);
    for (int k = 0; k < 4; ++k)
      for (int g = 0; g < width / 4; ++g) {
        const int i = 4 * g + k;
        words[i] |= (static_cast<uint32_t>(drawn[k * (width / 4) + g] < at.below[i]) | at.always[i]) << t;
      }
  }
}

}  // namespace

extern const EncodeKernels encode_kernels = {bernoulli};

}  // namespace synfire::host::SYNFIRE_MODEL_LEVEL

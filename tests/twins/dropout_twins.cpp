// One neuron at a time.
#include "twin.hpp"

#include <operations/dropout/dropout_kernels.hpp>
#include <operations/dropout/mask.hpp>
#include <operations/encode/offset.hpp>

#include <algorithm>

namespace synfire::cuda {

const void* dropout_kernel() {
  return twin<DropoutLaunch>({}, [](const DropoutLaunch& launch) {
    const core::Extents& e = launch.extents;
    const double probability = launch.probability_value ? *launch.probability_value : launch.probability;
    const uint64_t seed = launch.seed_value ? *launch.seed_value : launch.seed;
    const uint64_t offset =
        launch.offset_set ? operations::current_offset(launch.offset_set, launch.offset_state) : launch.offset;
    const uint32_t below = operations::dropped_below(probability);
    std::fill_n(launch.mask, e.batch * e.words_per_row(), 0u);
    for (int64_t b = 0; b < e.batch; ++b)
      for (int64_t n = 0; n < e.n_neurons; ++n) {
        const operations::Words4 drawn =
            operations::draw(seed, offset, launch.first_row + static_cast<uint32_t>(b), static_cast<uint32_t>(n / 4));
        if (drawn.word[n % 4] >= below) launch.mask[b * e.words_per_row() + n / 32] |= 1u << (n % 32);
      }
    const double scale = operations::scale_of_kept(probability);
    if (launch.wide)
      *static_cast<double*>(launch.scale) = scale;
    else
      *static_cast<float*>(launch.scale) = static_cast<float>(scale);
    if (launch.offset_set) operations::advance_offset(launch.offset_set, launch.offset_state, 1);
  });
}

}  // namespace synfire::cuda

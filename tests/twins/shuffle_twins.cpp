// One index at a time.
#include "twin.hpp"

#include <operations/encode/offset.hpp>
#include <operations/shuffle/shuffle_kernels.hpp>

namespace synfire::cuda {

const void* shuffle_kernel() {
  return twin<ShuffleLaunch>({}, [](const ShuffleLaunch& launch) {
    const uint64_t seed = launch.seed_value ? *launch.seed_value : launch.seed;
    const uint64_t offset =
        launch.offset_set ? operations::current_offset(launch.offset_set, launch.offset_state) : launch.offset;
    const operations::BatchPlace place = operations::batch_place(launch.rules, offset);
    uint32_t keys[operations::shuffle_rounds];
    for (uint32_t k = 0; k < operations::shuffle_rounds; ++k)
      keys[k] = operations::shuffle_keys(seed, place.epoch, k / 4).word[k % 4];
    for (uint32_t i = 0; i < launch.rules.batch; ++i)
      launch.indices[i] = operations::batch_index(launch.rules, place, keys, i);
    if (launch.n_active) *launch.n_active = place.n_active;
    if (launch.offset_set) operations::advance_offset(launch.offset_set, launch.offset_state, 1);
  });
}

}  // namespace synfire::cuda

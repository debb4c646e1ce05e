// One draw at a time.
#include "twin.hpp"

#include <operations/encode/encode_kernels.hpp>
#include <operations/encode/offset.hpp>
#include <operations/encode/philox.hpp>
#include <operations/spikes/one_spike.hpp>

#include <backends/host/host_storage.hpp>

namespace synfire::cuda {

namespace generic = synfire::host::SYNFIRE_MODEL_LEVEL;

const void* encode_bernoulli_kernel(int32_t rates, operations::SpikeStorage storage) {
  return twin<EncodeBernoulliLaunch>({rates, static_cast<int64_t>(storage)}, [=](const EncodeBernoulliLaunch& launch) {
    const OneSpike spikes = {launch.spikes, storage, launch.extents};
    const uint64_t seed = launch.seed_value ? *launch.seed_value : launch.seed;
    const uint64_t offset =
        launch.offset_set ? operations::current_offset(launch.offset_set, launch.offset_state) : launch.offset;
    for_each_spike(launch.extents, [&](int64_t t, int64_t b, int64_t n) {
      const operations::Words4 drawn =
          operations::draw(seed, offset + static_cast<uint64_t>(t), launch.first_row + static_cast<uint32_t>(b),
                           static_cast<uint32_t>(n / 4));
      const auto rate = generic::number_at<float>(generic::F32NumberTypes{}, rates, launch.rates,
                                                  t * launch.pitch + b * launch.extents.n_neurons + n);
      spikes.set(t, b, n, operations::spikes(drawn.word[n % 4], operations::threshold(rate)));
    });
    if (launch.offset_set)
      operations::advance_offset(launch.offset_set, launch.offset_state, static_cast<uint64_t>(launch.extents.n_steps));
  });
}

}  // namespace synfire::cuda

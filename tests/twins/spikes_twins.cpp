// One spike at a time.
#include "twin.hpp"

#include <operations/spikes/one_spike.hpp>
#include <operations/spikes/spikes_kernels.hpp>

#include <synfire/synfire.h>

namespace synfire::cuda {
const void* convert_spikes_kernel(operations::SpikeStorage from, operations::SpikeStorage to) {
  return twin<ConvertSpikesLaunch>(
      {static_cast<int64_t>(from), static_cast<int64_t>(to)}, [=](const ConvertSpikesLaunch& launch) {
        const OneSpike source = {launch.source, from, launch.extents},
                       destination = {launch.destination, to, launch.extents};
        for_each_spike(launch.extents,
                       [&](int64_t t, int64_t b, int64_t n) { destination.set(t, b, n, source.get(t, b, n)); });
      });
}

template <class C>
const void* count_spikes_kernel(operations::SpikeStorage storage) {
  return twin<CountSpikesLaunch>({static_cast<int64_t>(storage)}, [=](const CountSpikesLaunch& launch) {
    const OneSpike spikes = {launch.spikes, storage, launch.extents};
    auto* const counts = static_cast<C*>(launch.counts);
    for_each_spike(launch.extents, [&](int64_t t, int64_t b, int64_t n) {
      const int64_t at = launch.kind == SYNFIRE_COUNT_PER_NEURON ? b * launch.extents.n_neurons + n
                         : launch.kind == SYNFIRE_COUNT_PER_STEP ? t
                                                                 : 0;
      counts[at] += spikes.get(t, b, n) ? 1 : 0;
    });
  });
}

template const void* count_spikes_kernel<uint32_t>(operations::SpikeStorage);
template const void* count_spikes_kernel<uint64_t>(operations::SpikeStorage);

}  // namespace synfire::cuda

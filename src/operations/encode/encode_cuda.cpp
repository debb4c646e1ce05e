#include "encode_bernoulli.hpp"
#include "encode_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>
#include <operations/spikes/spikes_arrays_of.hpp>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

Hints hints(const EncodeBernoulli&, const GpuShape&) {
  return {};
}

void enqueue(const EncodeBernoulli& op, Launcher& launcher) {
  const Extents& e = op.extents;
  const int64_t n_tiles = step_groups(e) * e.batch * tiles_per_row(e);
  launcher.launch(encode_bernoulli_kernel(op.rates.dtype, storage_of(op.spikes.dtype)),
                  launcher.over_pieces(n_tiles, spike_threads),
                  EncodeBernoulliLaunch{e, n_tiles, op.rates.data, op.rates_per_step ? op.rates.pitch : 0,
                                        spikes_of(op.spikes), op.seed, op.offset, op.seed_value, op.offset_value.set,
                                        op.offset_value.state, op.first_row});
}

}  // namespace synfire::operations

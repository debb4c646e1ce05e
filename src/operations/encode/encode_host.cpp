#include "encode_bernoulli.hpp"
#include "encode_host_kernels.hpp"
#include "offset.hpp"

#include <backends/host/host_launcher.hpp>
#include <base/dtype.hpp>
#include <operations/spikes/blocks.hpp>
#include <operations/spikes/spikes_arrays_of.hpp>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// Below this many draws the calling thread works alone.
constexpr int64_t encode_parallel_threshold = 1 << 18;

}  // namespace

bool wants_threads(const EncodeBernoulli& op) {
  return op.extents.n_steps * op.extents.row() >= encode_parallel_threshold;
}

void run(const EncodeBernoulli& op, host::Launcher& launcher) {
  const Extents& e = op.extents;
  const Blocks blocks(e);
  const SpikeArray spikes = spikes_of(op.spikes);
  const SpikeStorage storage = storage_of(op.spikes.dtype);
  const host::EncodeKernels& kernels = SYNFIRE_SELECT_LEVEL(encode_kernels);
  const uint64_t seed = op.seed_value ? *op.seed_value : op.seed;
  const uint64_t offset = op.offset_value ? current_offset(op.offset_value.set, op.offset_value.state) : op.offset;
  const int64_t pitch = op.rates_per_step ? op.rates.pitch : 0;
  const auto element = static_cast<int64_t>(bytes_of_dtype(op.rates.dtype));
  launcher.for_each_range(blocks.step_groups() * blocks.columns(), wants_threads(op), [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      const Place at = blocks.at(index / blocks.columns(), index % blocks.columns());
      const int64_t first = at.step * pitch + at.row * e.n_neurons + at.neuron;
      const host::EncodeBlock drawn = {static_cast<const char*>(op.rates.data) + first * element,
                                       pitch,
                                       op.rates.dtype,
                                       at.steps,
                                       at.neurons,
                                       seed,
                                       offset + static_cast<uint64_t>(at.step),
                                       op.first_row + static_cast<uint32_t>(at.row),
                                       static_cast<uint32_t>(at.neuron / 4)};
      Block block;
      kernels.bernoulli(drawn, block.words);
      write(block, storage, spikes, e, at);
    }
  });
  if (op.offset_value) advance_offset(op.offset_value.set, op.offset_value.state, static_cast<uint64_t>(e.n_steps));
}

}  // namespace synfire::operations

#include "blocks.hpp"
#include "convert_spikes.hpp"
#include "count_spikes.hpp"
#include "spikes_arrays_of.hpp"

#include <backends/host/host_launcher.hpp>

#include <algorithm>
#include <bit>

namespace synfire::operations {

using namespace synfire::core;
using host::Launcher;

namespace {

// Below this many spikes the calling thread works alone.
constexpr int64_t spikes_parallel_threshold = 1 << 21;

// ---- counts ---------------------------------------------------------------------------------------------------------

// Columns of blocks over all steps: no two threads count the same neuron.
template <class C>
void count_neurons(const CountSpikes& op, const SpikeArray& spikes, SpikeStorage storage, const Launcher& launcher) {
  const Blocks blocks(op.extents);
  launcher.for_each_range(blocks.columns(), wants_threads(op), [&](int64_t begin, int64_t end) {
    for (int64_t column = begin; column < end; ++column) {
      C sums[32] = {};
      for (int64_t group = 0; group < blocks.step_groups(); ++group) {
        const Block block = read(storage, spikes, op.extents, blocks.at(group, column));
        for (int i = 0; i < 32; ++i) sums[i] += static_cast<C>(std::popcount(block.words[i]));
      }
      const Place at = blocks.at(0, column);
      std::copy_n(sums, at.neurons, static_cast<C*>(op.counts.data) + at.row * op.extents.n_neurons + at.neuron);
    }
  });
}

// Ranges of all blocks: several threads may add to the same count.
template <class C>
void count_steps(const CountSpikes& op, const SpikeArray& spikes, SpikeStorage storage, const Launcher& launcher) {
  const Blocks blocks(op.extents);
  C* const counts = static_cast<C*>(op.counts.data);
  const bool total = op.count == CountKind::total;
  std::fill_n(counts, total ? 1 : op.extents.n_steps, C{0});
  launcher.for_each_range(blocks.step_groups() * blocks.columns(), wants_threads(op), [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t group = begin / blocks.columns(), next = std::min(end, (group + 1) * blocks.columns());
      C sums[32] = {};
      for (; begin < next; ++begin) {
        Block block = read(storage, spikes, op.extents, blocks.at(group, begin % blocks.columns()));
        if (!total) transpose(block);
        for (int t = 0; t < 32; ++t) sums[t] += static_cast<C>(std::popcount(block.words[t]));
      }
      const int steps = blocks.at(group, 0).steps;
      for (int i = 0; i < 32; ++i)
        if (sums[i] != 0 && (total || i < steps))
          __atomic_fetch_add(&counts[total ? 0 : group * 32 + i], sums[i], __ATOMIC_RELAXED);
    }
  });
}

template <class C>
void count(const CountSpikes& op, const Launcher& launcher) {
  const SpikeArray spikes = spikes_of(op.spikes);
  const SpikeStorage storage = storage_of(op.spikes.dtype);
  if (op.count == CountKind::per_neuron)
    count_neurons<C>(op, spikes, storage, launcher);
  else
    count_steps<C>(op, spikes, storage, launcher);
}

}  // namespace

bool wants_threads(const ConvertSpikes& op) {
  return op.extents.n_steps * op.extents.row() >= spikes_parallel_threshold;
}
bool wants_threads(const CountSpikes& op) {
  return op.extents.n_steps * op.extents.row() >= spikes_parallel_threshold;
}

void run(const ConvertSpikes& op, Launcher& launcher) {
  const Blocks blocks(op.extents);
  const SpikeArray source = spikes_of(op.source), destination = spikes_of(op.destination);
  const SpikeStorage from = storage_of(op.source.dtype), to = storage_of(op.destination.dtype);
  launcher.for_each_range(blocks.step_groups() * blocks.columns(), wants_threads(op), [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      const Place at = blocks.at(index / blocks.columns(), index % blocks.columns());
      Block block = read(from, source, op.extents, at);
      write(block, to, destination, op.extents, at);
    }
  });
}

void run(const CountSpikes& op, Launcher& launcher) {
  if (op.counts.dtype == SYNFIRE_DTYPE_U64)
    count<uint64_t>(op, launcher);
  else
    count<uint32_t>(op, launcher);
}

}  // namespace synfire::operations

#include "convert_spikes.hpp"
#include "count_spikes.hpp"
#include "spikes_arrays_of.hpp"
#include "spikes_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>
#include <operations/elementwise/fill.hpp>

#include <algorithm>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

Hints hints(const ConvertSpikes&, const GpuShape&) {
  return {};
}
Hints hints(const CountSpikes&, const GpuShape&) {
  return {};
}

void enqueue(const ConvertSpikes& op, Launcher& launcher) {
  const Extents& e = op.extents;
  const int64_t n_tiles = step_groups(e) * e.batch * tiles_per_row(e);
  launcher.launch(convert_spikes_kernel(storage_of(op.source.dtype), storage_of(op.destination.dtype)),
                  launcher.over_pieces(n_tiles, spike_threads),
                  ConvertSpikesLaunch{e, n_tiles, spikes_of(op.source), spikes_of(op.destination)});
}

void enqueue(const CountSpikes& op, Launcher& launcher) {
  enqueue(Fill{op.counts, 0}, launcher);
  const Extents& e = op.extents;
  const bool neurons = op.count == CountKind::per_neuron;
  const int64_t length = neurons ? step_groups(e) : tiles_per_row(e);
  const int64_t lines = e.batch * (neurons ? tiles_per_row(e) : step_groups(e));
  // Long runs add rarely; short ones keep every multiprocessor busy.
  const int64_t run = std::clamp<int64_t>(lines * length / (int64_t{16} * launcher.gpu().n_multiprocessors), 1,
                                          std::min<int64_t>(length, 64));
  const int64_t n_runs = lines * ((length + run - 1) / run);
  const SpikeStorage storage = storage_of(op.spikes.dtype);
  const bool wide = op.counts.dtype == SYNFIRE_DTYPE_U64;
  launcher.launch(
      wide ? count_spikes_kernel<uint64_t>(storage) : count_spikes_kernel<uint32_t>(storage),
      launcher.over_pieces(n_runs, spike_threads),
      CountSpikesLaunch{e, n_runs, run, spikes_of(op.spikes), op.counts.data, static_cast<int32_t>(op.count)});
}

}  // namespace synfire::operations

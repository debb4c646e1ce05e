#include "rate_loss.hpp"
#include "rate_loss_counts.hpp"
#include "rate_loss_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>
#include <operations/elementwise/fill.hpp>
#include <operations/reduce/reduce.hpp>
#include <operations/spikes/spikes_arrays_of.hpp>

#include <algorithm>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

Hints hints(const RateLoss&, const GpuShape&) {
  return {};
}

void enqueue_counts(const Extents& e, const Counting& counting, const View& spikes, uint64_t* counts,
                    Launcher& launcher) {
  const int64_t n_tiles = tiles_per_row(e), n_pairs = step_groups(e) * e.batch;
  // Long runs add rarely; short ones keep every multiprocessor busy.
  const int64_t run = std::clamp<int64_t>(n_pairs * n_tiles / (int64_t{8} * launcher.gpu().n_multiprocessors), 1, 64);
  const int64_t n_runs = (n_pairs + run - 1) / run;
  launcher.launch(rate_count_kernel(storage_of(spikes.dtype)), launcher.over_pieces(n_runs * n_tiles, spike_threads),
                  RateCountLaunch{e, counting, spikes_of(spikes), counts, n_tiles, n_pairs, run, n_runs});
}

void enqueue(const RateLoss& op, Launcher& launcher) {
  const Extents& e = op.extents;
  const Counting counting = counting_of(op.lengths, op.n_active);
  enqueue(Fill{op.counts, 0}, launcher);
  enqueue_counts(e, counting, op.spikes, static_cast<uint64_t*>(op.counts.data), launcher);
  const RateLaunch launch = {e,
                             counting,
                             op.whole_layer,
                             op.target,
                             op.strength,
                             op.target_value,
                             op.strength_value,
                             static_cast<const uint64_t*>(op.counts.data),
                             op.work.data,
                             op.loss.data,
                             op.loss.dtype == SYNFIRE_DTYPE_F64,
                             op.add_loss,
                             op.grad.data,
                             op.grad.pitch,
                             op.add_grad};
  const int64_t n_chunks = RateWork::n_chunks(e.n_neurons);
  launcher.launch(rate_sums_kernel(), launcher.over_pieces(n_chunks, model::reduction_lanes), launch);
  if (n_chunks > 1) launcher.launch(rate_total_kernel(), {1, model::reduction_lanes}, launch);
  if (op.grad.bytes == 0) return;
  const int64_t n_pieces = (e.n_neurons + 31) / 32 * ((e.n_steps * e.batch + rate_rows - 1) / rate_rows);
  launcher.launch(rate_spread_kernel(op.grad.dtype), launcher.over_pieces(n_pieces, rate_spread_threads), launch);
}

}  // namespace synfire::operations

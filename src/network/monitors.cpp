#include "monitors.hpp"

#include "kept_arrays.hpp"
#include "stage_recorder.hpp"

#include <base/context.hpp>
#include <graph/eager_calls.hpp>
#include <operations/square_sum/square_sum.hpp>
#include <operations/tally/tally.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace synfire::network {

using namespace synfire::core;

namespace {

// At least those of any batch.
constexpr int64_t all_rows = UINT32_MAX;

// A call that trains needs no memory.
void clear_array(Buffer& array) {
  static constexpr std::byte zeros[1 << 14] = {};
  const uint64_t bytes = array.view().bytes;
  for (uint64_t first = 0; first < bytes; first += sizeof zeros)
    array.upload(first, zeros, std::min<uint64_t>(sizeof zeros, bytes - first));
}

}  // namespace

// ---- spikes ---------------------------------------------------------------------------------------------------------

SpikeMonitor::SpikeMonitor(const StageMaker& maker) {
  if (!maker.keeps(kept_arrays::monitor)) return;
  counts_ = maker.parts().make(SYNFIRE_DTYPE_U64, {maker.stage()->width()});
  totals_ = maker.parts().make(SYNFIRE_DTYPE_U64, {2});
  n_rows_ = maker.one(SYNFIRE_DTYPE_U32);
  if (!maker.is_planned()) count_rows(all_rows);
}

void SpikeMonitor::record(StageRecorder& recorder, Buffer& spikes) const {
  const int64_t n_neurons = counts_->shape().all().front();
  Buffer* const n_active = recorder.has_batch() ? recorder.n_active() : n_rows_.get();
  recorder.append([&] {
    return operations::tally(
        {recorder.extents(n_neurons), &spikes, recorder.lengths(), n_active, counts_.get(), totals_.get()});
  });
}

void SpikeMonitor::read(synfire_network_monitor& monitor) const {
  std::vector<uint64_t> counts(counts_->view().bytes / sizeof(uint64_t));
  uint64_t totals[2] = {};
  counts_->download(0, counts.data(), counts_->view().bytes);
  totals_->download(0, totals, sizeof totals);
  uint64_t n_spikes = 0;
  for (const uint64_t count : counts) n_spikes += count;
  const double n_neurons = static_cast<double>(counts.size()), n_steps = static_cast<double>(totals[0]);
  const auto n_silent = static_cast<double>(std::ranges::count(counts, uint64_t{0}));
  monitor.n_replays = totals[1];
  monitor.rate = totals[0] == 0 ? 0 : static_cast<double>(n_spikes) / (n_neurons * n_steps);
  monitor.silent = totals[1] == 0 ? 0 : n_silent / n_neurons;
}

void SpikeMonitor::clear() const {
  clear_array(*counts_);
  clear_array(*totals_);
  count_rows(all_rows);
}

void SpikeMonitor::count_rows(int64_t n_rows) const {
  const auto count = static_cast<uint32_t>(n_rows);
  n_rows_->upload(0, &count, sizeof count);
}

// ---- weights --------------------------------------------------------------------------------------------------------

WeightMonitor::WeightMonitor(const StageMaker& maker, Synapse& synapse, bool trains) {
  if (!maker.keeps(kept_arrays::monitor)) return;
  synapse_ = &synapse;
  weight_sums_ = maker.parts().make(SYNFIRE_DTYPE_F64, {2});
  if (trains) gradient_sums_ = maker.parts().make(SYNFIRE_DTYPE_F64, {2});
}

void WeightMonitor::record(StageRecorder& recorder) const {
  if (!gradient_sums_) return;
  recorder.append([&] { return operations::square_sum(synapse_->arrays().front().gradient, *gradient_sums_, true); });
}

void WeightMonitor::read(synfire_network_monitor& monitor) const {
  Context& context = *weight_sums_->context();
  run_now(context, operations::square_sum(synapse_->arrays().front().values, *weight_sums_, false), nullptr);
  context.device().synchronize();
  double weights[2] = {}, gradients[2] = {};
  weight_sums_->download(0, weights, sizeof weights);
  monitor.weight_norm = std::sqrt(weights[0]);
  if (!gradient_sums_) return;
  gradient_sums_->download(0, gradients, sizeof gradients);
  monitor.n_replays = static_cast<uint64_t>(gradients[1]);
  monitor.gradient_norm = gradients[1] == 0 ? 0 : std::sqrt(gradients[0] / gradients[1]);
}

void WeightMonitor::clear() const {
  if (gradient_sums_) clear_array(*gradient_sums_);
}

}  // namespace synfire::network

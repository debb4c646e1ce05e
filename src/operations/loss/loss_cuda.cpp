#include "launch_of.hpp"

#include <backends/cuda/cuda_launcher.hpp>
#include <operations/elementwise/fill.hpp>

#include <algorithm>
#include <bit>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

namespace {

// Long tiles sum rarely; short ones keep every multiprocessor busy.
int64_t samples_of_a_tile(int64_t n_samples, int32_t group, int n_multiprocessors) {
  const int64_t blocks = int64_t{8} * n_multiprocessors;
  const auto share = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>((n_samples + blocks - 1) / blocks)));
  return std::clamp<int64_t>(share, threads_per_block / group, model::reduction_chunk);
}

bool does(const Loss& op, LossEntry entry) {
  return op.entry == LossEntry::all || op.entry == entry;
}

// Up to this many samples, the block that arrives last sums the losses in less time than a launch takes.
constexpr int64_t most_samples_of_a_block = 8192;

void enqueue_f32(const Loss& op, LossLaunch launch, Launcher& launcher) {
  const int64_t n_samples = launch.loss.n_samples;
  const bool alone = op.entry == LossEntry::all;
  const bool weighted =
      op.sample_weights || (op.class_weights && op.labels && op.rules.kind == LossKind::cross_entropy);
  const auto threads = static_cast<uint32_t>(threads_per_block);
  const Grid over_samples = launcher.over_elements((n_samples + 3) / 4);
  if (does(op, LossEntry::share_maxima) && (weighted || !alone))
    launcher.launch(loss_share_maxima_kernel(), {loss_slots, threads}, launch);
  launch.clears = alone;
  if (does(op, LossEntry::share_sums)) launcher.launch(loss_share_sums_kernel(), {loss_slots, threads}, launch);
  if (does(op, LossEntry::samples)) {
    if (!alone) {
      enqueue(Fill{op.parts.largest, 0}, launcher);
      enqueue(Fill{op.parts.losses, 0}, launcher);
    }
    launch.finishes = alone && n_samples <= most_samples_of_a_block;
    launcher.launch(loss_samples_kernel(op.source.dtype),
                    launcher.over_pieces((n_samples + launch.tile - 1) / launch.tile, threads), launch);
    if (launch.finishes) return;
  }
  launch.adds = does(op, LossEntry::sums);
  launch.finishes = does(op, LossEntry::finish);
  if (launch.adds) launcher.launch(loss_sums_kernel(), over_samples, launch);
  if (launch.finishes && !launch.adds) launcher.launch(loss_sums_kernel(), {1}, launch);
}

}  // namespace

Hints hints(const Loss&, const GpuShape&) {
  return {};
}

void enqueue(const Loss& op, Launcher& launcher) {
  LossLaunch launch = loss_launch_of(op);
  if (op.entry == LossEntry::all && op.scratch.bytes == 0) {
    launcher.launch(loss_block_kernel(op.source.dtype), {1, static_cast<uint32_t>(loss_block_threads)}, launch);
    return;
  }
  const int64_t n_samples = launch.loss.n_samples;
  launch.tile = samples_of_a_tile(n_samples, launch.group, launcher.gpu().n_multiprocessors);
  if (!is_f64(op)) return enqueue_f32(op, launch, launcher);
  const auto threads = static_cast<uint32_t>(threads_per_block);
  launcher.launch(loss_divisor_kernel(), launcher.over_pieces(loss_chunks(n_samples), threads), launch);
  launcher.launch(loss_samples_kernel(op.source.dtype),
                  launcher.over_pieces((n_samples + launch.tile - 1) / launch.tile, threads), launch);
}

}  // namespace synfire::operations

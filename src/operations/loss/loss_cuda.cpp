#include "launch_of.hpp"

#include <backends/cuda/cuda_launcher.hpp>

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

}  // namespace

Hints hints(const Loss&, const GpuShape&) {
  return {};
}

void enqueue(const Loss& op, Launcher& launcher) {
  LossLaunch launch = loss_launch_of(op);
  if (op.scratch.bytes == 0) {
    launcher.launch(loss_block_kernel(op.source.dtype), {1, static_cast<uint32_t>(loss_block_threads)}, launch);
    return;
  }
  const int64_t n_samples = launch.loss.n_samples;
  launch.tile = samples_of_a_tile(n_samples, launch.group, launcher.gpu().n_multiprocessors);
  const auto threads = static_cast<uint32_t>(threads_per_block);
  launcher.launch(loss_divisor_kernel(), launcher.over_pieces(loss_chunks(n_samples), threads), launch);
  launcher.launch(loss_samples_kernel(op.source.dtype),
                  launcher.over_pieces((n_samples + launch.tile - 1) / launch.tile, threads), launch);
}

}  // namespace synfire::operations

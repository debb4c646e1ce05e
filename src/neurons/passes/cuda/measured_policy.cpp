#include "measured_policy.hpp"

#include <algorithm>
#include <cmath>

namespace synfire::cuda {

using core::LayerSpec;

namespace {

// The blocks of a backward on a multiprocessor at once: as many as the registers allow, or fewer, limited by shared
// memory. The forwards' kernels have registers for 4 blocks of 128 threads.
struct Residency {
  int by_registers, fewest;
};

// The shared memory in a multiprocessor's first-level cache, and the percentage that makes the driver choose it.
struct Carveout {
  uint32_t bytes;
  int percent;
};

struct Policy {
  // Wide accesses pay off if narrow ones give each multiprocessor this many blocks; fewer keep too few loads in flight.
  int blocks_before_widening;
  // If the last wave would be nearly empty, one or two blocks fewer per multiprocessor are used, if that fills the
  // waves by at least this fraction more. A value above 1 disables it.
  double fuller;
  Residency wide_backward, narrow_backward;
  // Narrow passes fill their waves if they read and write at most this many bytes.
  int64_t filled_bytes;
  // Backwards with one neuron per thread that need at most this many blocks per multiprocessor are spread evenly: early
  // blocks would crowd where the pass before ends first.
  int spread_up_to;
};

// Measured on an H200 with LIF in f32 (docs/pages/tuning.md, "Filled waves"). Shared memory that is left is first-level
// cache, which holds loads in flight.
constexpr Policy on_9 = {.blocks_before_widening = 2,
                         .fuller = 0.09,
                         .wide_backward = {.by_registers = 10, .fewest = 8},
                         .narrow_backward = {.by_registers = 6, .fewest = 4},
                         .filled_bytes = int64_t{25} * 1024 * 1024,
                         .spread_up_to = 4};
// Other GPUs were not measured: their blocks are not limited.
constexpr Policy on_others = {.blocks_before_widening = 2,
                              .fuller = 2.0,
                              .wide_backward = {},
                              .narrow_backward = {},
                              .filled_bytes = 0,
                              .spread_up_to = 0};

const Policy& policy_of(const GpuShape& gpu) {
  return gpu.compute_major == 9 ? on_9 : on_others;
}

// How full the waves are, from 0 to 1.
double fill(uint32_t n_blocks, int blocks_at_once, const GpuShape& gpu) {
  const double waves = n_blocks / (static_cast<double>(blocks_at_once) * gpu.n_multiprocessors);
  return waves / std::ceil(waves);
}

// Limits the blocks per multiprocessor: so much shared memory that one more would not fit.
void limit_blocks(Plan& plan, int at_once) {
  // A block of two takes 44 KiB of the smaller one. Beyond 48, each eager launch would have to ask for it.
  constexpr Carveout of_two = {132 * 1024, 50}, of_more = {164 * 1024, 65};
  const Carveout carveout = at_once <= 2 ? of_two : of_more;
  plan.shared_percent = carveout.percent;
  const uint32_t at_least = carveout.bytes / static_cast<uint32_t>(at_once + 1);
  plan.shared_bytes = std::max(plan.shared_bytes, at_least - at_least % 16);
}

// Short sequences become slower; other storage types do not become faster.
bool gains_by_full_waves(const LayerSpec& spec, const core::Extents& extents, const GpuShape& gpu) {
  return policy_of(gpu).fuller < 1 && gpu.takes_shared_percent && spec.dtype == SYNFIRE_DTYPE_F32 &&
         !spec.model->many_instructions && !spec.model->linear && extents.n_steps >= model::checkpoint_interval &&
         spec.threads_per_block == 0;
}

void fill_waves(Plan& plan, const Residency& kernel, const GpuShape& gpu) {
  if (plan.n_blocks <= static_cast<uint32_t>(kernel.by_registers * gpu.n_multiprocessors)) return;
  int best = kernel.by_registers;
  for (int at_once = kernel.by_registers - 1; at_once >= kernel.fewest; --at_once)
    if (fill(plan.n_blocks, at_once, gpu) > fill(plan.n_blocks, best, gpu)) best = at_once;
  if (fill(plan.n_blocks, best, gpu) < fill(plan.n_blocks, kernel.by_registers, gpu) + policy_of(gpu).fuller) return;
  limit_blocks(plan, best);
}

// f32 was measured. With one block each, multiprocessors have no choice.
bool gains_by_spreading(const LayerSpec& spec, const GpuShape& gpu) {
  return policy_of(gpu).spread_up_to > 0 && gpu.takes_shared_percent && spec.dtype == SYNFIRE_DTYPE_F32 &&
         spec.threads_per_block == 0;
}

void spread(Plan& plan, const GpuShape& gpu) {
  const auto n = static_cast<uint32_t>(gpu.n_multiprocessors);
  const uint32_t share = plan.n_blocks / n + (plan.n_blocks % n != 0 ? 1 : 0);
  if (share < 2 || share > static_cast<uint32_t>(policy_of(gpu).spread_up_to)) return;
  limit_blocks(plan, static_cast<int>(share));
}

}  // namespace

bool worth_widening(int64_t row, int width, const GpuShape& gpu) {
  return row >= int64_t{width} * 32 &&
         row / width >= int64_t{policy_of(gpu).blocks_before_widening} * gpu.n_multiprocessors * threads_per_block;
}

void limit_residency(Plan& plan, const LayerSpec& spec, const core::Extents& extents, BackwardInputs inputs,
                     const GpuShape& gpu) {
  const bool fills = gains_by_full_waves(spec, extents, gpu);
  if (plan.ownership.width > 1) {
    if (fills && (spec.loaded() || has_own_backward(Instances::all, spec.surrogate->id) || spec.surrogate->rational))
      fill_waves(plan, policy_of(gpu).wide_backward, gpu);
    return;
  }
  if (inputs != BackwardInputs::spikes) return;
  if (gains_by_spreading(spec, gpu)) spread(plan, gpu);
  const int64_t touched = extents.n_steps * extents.row() * 3 * static_cast<int64_t>(spec.element_bytes());
  if (fills && touched <= policy_of(gpu).filled_bytes) fill_waves(plan, policy_of(gpu).narrow_backward, gpu);
}

}  // namespace synfire::cuda

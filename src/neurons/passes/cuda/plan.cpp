#include "plan.hpp"

#include "measured_policy.hpp"
#include "pass_instances.hpp"
#include "passes_storage.hpp"

#include <base/dtype.hpp>
#include <base/error.hpp>

#include <algorithm>
#include <bit>

namespace synfire::cuda {

using namespace synfire::core;
using namespace synfire::operations;

namespace {

bool aligned(const void* data, uint64_t bytes) {
  return reinterpret_cast<uintptr_t>(data) % bytes == 0;
}

// Adjacent neurons need every row of every array to begin at a multiple of the access, with its own element size.
bool allows_adjacent(const View& array, int width) {
  const uint64_t access = static_cast<uint64_t>(width) * bytes_of_dtype(array.dtype);
  return !array.data ||
         (aligned(array.data, std::min<uint64_t>(access, 16)) &&
          (array.pitch * static_cast<int64_t>(bytes_of_dtype(array.dtype))) % static_cast<int64_t>(access) == 0);
}
template <size_t n>
bool allows_adjacent(const View (&arrays)[n], int width) {
  return std::all_of(arrays, arrays + n, [&](const View& array) { return allows_adjacent(array, width); });
}
// A thread's neurons belong to one batch row, so that all or none are active.
template <class... Arrays>
bool allows_adjacent(const Extents& extents, int width, const Arrays&... arrays) {
  return extents.n_neurons % width == 0 && (allows_adjacent(arrays, width) && ...);
}

// ---- tiles ----------------------------------------------------------------------------------------------------------

constexpr int64_t word_bits = 32, most_words = 32;  // a lane of a warp writes each word of its tile

Tiles tiles_by_elements(const Extents& e, int width) {
  const int64_t elements = width * word_bits;
  return {e.row(), (e.row() + elements - 1) / elements};
}

// For packed words that end with their batch row. Three quarters of the lanes with a neuron are as fast as all, and
// words that are the votes of 32 lanes take fewer instructions.
Tiles tiles_by_words(const Extents& e, int width) {
  const int64_t per_row = e.words_per_row(), lanes = width * word_bits;
  const int64_t tiles = (per_row + width - 1) / width;
  if (4 * e.n_neurons >= 3 * tiles * lanes) {
    Tiles own = {e.row(), e.batch * tiles, tiles};
    if (own.count >= int64_t{1} << 31) return own;
    const auto divisor = static_cast<uint64_t>(tiles);
    own.shift = static_cast<int32_t>(std::bit_width(divisor - 1));
    own.multiplier = static_cast<uint32_t>(((uint64_t{1} << (31 + own.shift)) + divisor - 1) / divisor);
    return own;
  }
  // As many words as fit wherever a tile begins.
  const int64_t shorter = per_row * word_bits - e.n_neurons;  // bits that the last word of a batch row lacks
  int64_t words = width;
  while (words < most_words && (words + 1) * word_bits - (words + 1) / per_row * shorter <= lanes) ++words;
  return {e.row(), (e.batch * per_row + words - 1) / words, 0, static_cast<int32_t>(words)};
}

// The neurons of a tile by the lanes it has.
double filled_lanes(const Tiles& tiles, int width) {
  return static_cast<double>(tiles.elements) / static_cast<double>(tiles.count * width * word_bits);
}

uint32_t blocks_for(const Tiles& tiles, int block_threads, const Extents& extents) {
  const int64_t warps = block_threads / 32, blocks = (tiles.count + warps - 1) / warps;
  if (blocks > 0x7FFFFFFF)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-LAUNCH-GRID",
         "batch %lld times n_neurons %lld needs %lld blocks; a grid has at most 2^31 - 1",
         static_cast<long long>(extents.batch), static_cast<long long>(extents.n_neurons),
         static_cast<long long>(blocks));
  return static_cast<uint32_t>(std::max<int64_t>(blocks, 1));
}

// One neuron per thread, or as many as keep every multiprocessor busy; adjacent ones if the rows of these arrays allow.
template <class... Arrays>
Ownership ownership_of(const Extents& e, const GpuShape& gpu, const Widths& widths, const Arrays&... arrays) {
  using enum OwnershipKind;
  const bool is_short = e.n_steps <= short_steps;
  const auto allows = [&](int width) { return width > 1 && worth_widening(e.row(), width, gpu); };
  const auto allows_side_by_side = [&](int width) { return allows(width) && allows_adjacent(e, width, arrays...); };
  if (is_short && allows_side_by_side(widths.adjacent_at_once)) return {widths.adjacent_at_once, adjacent_at_once};
  if (allows_side_by_side(widths.adjacent)) return {widths.adjacent, adjacent};
  if (is_short && allows(widths.strided_at_once)) return {widths.strided_at_once, strided_at_once};
  if (allows(widths.strided)) return {widths.strided, strided};
  return {};
}

}  // namespace

// ---- passes ---------------------------------------------------------------------------------------------------------

Plan plan_of(const Forward& op, const GpuShape& gpu) {
  const LayerSpec& spec = op.layer->spec();
  const Extents& e = op.extents;
  const bool bits = op.spike_format == SpikeFormat::bits;
  const bool by_words = bits && e.batch > 1 && e.n_neurons % word_bits != 0;
  const int threads = spec.threads_per_block > 0 ? spec.threads_per_block : threads_per_block;
  Plan plan = {{}, {}, 0, static_cast<uint32_t>(threads), 0};
  const ForwardInstance instance = instance_of(spec, op);
  Widths widths = with_storage(
      instance.storage, [&](auto s) { return forward_widths<decltype(s)>(instances_for(spec, op), instance.outputs); });
  if (spec.is_ruled()) widths = {};
  if (by_words) {
    if (tiles_by_words(e, widths.adjacent).multiplier == 0) widths.adjacent = 1;
    // With very few neurons in a batch row, a wide tile has more lanes than words.
    for (int* const width : {&widths.strided, &widths.strided_at_once})
      if (filled_lanes(tiles_by_words(e, *width), *width) < 0.75 * filled_lanes(tiles_by_words(e, 1), 1)) *width = 1;
  }
  plan.ownership = ownership_of(e, gpu, widths, op.x, bits ? View{} : op.spikes, op.v_in, op.v_out, op.v_final,
                                op.v_seq, op.h_seq, op.tape_h, op.w_in, op.w_out, op.w_final, op.w_seq, op.tape_spikes);
  const int width = plan.ownership.width;
  if (by_words && plan.ownership.kind == OwnershipKind::adjacent) plan.ownership.kind = OwnershipKind::adjacent_of_rows;
  plan.tiles = by_words ? tiles_by_words(e, width) : tiles_by_elements(e, width);
  plan.n_blocks = blocks_for(plan.tiles, threads, e);
  return plan;
}

Plan plan_of(const Backward& op, const GpuShape& gpu) {
  const LayerSpec& spec = op.layer->spec();
  const Extents& e = op.extents;
  const BackwardInstance instance = instance_of(spec, op);
  const int variables =
      spec.model->slope_reads_w || instance.inputs == BackwardInputs::parameters ? spec.kernel_states() : 1;
  const int most_threads = backward_block(variables, static_cast<int64_t>(spec.element_bytes()));
  const int threads = spec.threads_per_block > 0 ? std::min(spec.threads_per_block, most_threads) : most_threads;
  Plan plan = {{}, {}, 0, static_cast<uint32_t>(threads), 0};
  if (spec.model->linear && op.gradients.count == 0) {
    if (instance.inputs == BackwardInputs::potential)
      plan.ownership = ownership_of(
          e, gpu, with_storage(instance.storage, [](auto s) { return linear_backward_widths<decltype(s)>(); }),
          op.grad_v_seq, op.grad_v_final, op.grad_x, op.grad_v_init);
    plan.tiles = tiles_by_elements(e, plan.ownership.width);
    plan.n_blocks = blocks_for(plan.tiles, threads, e);
    return plan;
  }
  if (variables == 1 && instance.inputs == BackwardInputs::spikes) {
    // A loaded surrogate has the instances of the common ones.
    const int32_t surrogate = spec.loaded() ? SYNFIRE_SURROGATE_SIGMOID : spec.surrogate->id;
    Widths widths = with_storage(
        instance.storage, [&](auto s) { return backward_widths<decltype(s)>(instances_for(spec, op), surrogate); });
    if (op.tape_h.data) widths.strided_at_once = widths.adjacent_at_once = 1;  // they recompute H
    plan.ownership =
        ownership_of(e, gpu, widths, op.x, op.tape_h, op.grad_spike, op.grad_v_final, op.grad_x, op.grad_v_init);
  }
  const int width = plan.ownership.width;
  plan.tiles = tiles_by_elements(e, width);
  plan.n_blocks = blocks_for(plan.tiles, threads, e);
  plan.shared_bytes = static_cast<uint32_t>(backward_shared_bytes(e.n_steps, width, variables, op.gradients.count,
                                                                  static_cast<int64_t>(spec.element_bytes())));
  limit_residency(plan, spec, e, instance.inputs, gpu);
  return plan;
}

}  // namespace synfire::cuda

#include "plan.hpp"

#include "passes_storage.hpp"

#include <base/dtype.hpp>
#include <base/error.hpp>

#include <algorithm>
#include <bit>
#include <cmath>

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

// Sequences of one type take the instances for that type.
template <class... Arrays>
bool all_of_type(int32_t dtype, const Arrays&... arrays) {
  return ((!arrays.data || arrays.dtype == dtype) && ...);
}

template <size_t n>
bool any_given(const View (&arrays)[n]) {
  return std::any_of(arrays, arrays + n, [](const View& array) { return array.data != nullptr; });
}

// A forward does not depend on the surrogate.
Instances instances_for(const LayerSpec& spec, const Forward&) {
  return spec.loaded_model ? Instances::all : instances_of(spec.model->id, spec.model->never_fires);
}
Instances instances_for(const LayerSpec& spec, const Backward&) {
  return spec.loaded() ? Instances::all : instances_of(spec.model->id, spec.model->never_fires);
}

ForwardOutputs wanted_of(const LayerSpec& spec, const Forward& op) {
  if (spec.model->never_fires)
    return op.h_seq.data || op.tape_h.data || !all_of_type(spec.dtype, op.x, op.v_seq) ? ForwardOutputs::any
                                                                                       : ForwardOutputs::potential;
  if (op.v_seq.data || op.h_seq.data || any_given(op.w_seq) || op.tape_h.data || !all_of_type(spec.dtype, op.x))
    return ForwardOutputs::any;
  switch (op.spike_format) {
    case SpikeFormat::bits:
      return ForwardOutputs::bits;
    case SpikeFormat::time_bits:
      return ForwardOutputs::time_bits;
    case SpikeFormat::dense:
      if (op.spikes.dtype == SYNFIRE_DTYPE_U8) return ForwardOutputs::bytes;
      return op.spikes.dtype == spec.dtype ? ForwardOutputs::dense : ForwardOutputs::any;
    case SpikeFormat::none:
      break;
  }
  return ForwardOutputs::any;
}

BackwardInputs wanted_of(const LayerSpec& spec, const Backward& op) {
  if (op.gradients.count > 0) return BackwardInputs::parameters;
  if (spec.model->never_fires)
    return all_of_type(spec.dtype, op.grad_v_seq, op.grad_x) ? BackwardInputs::potential : BackwardInputs::any;
  if (op.grad_spike.data && op.grad_x.data && !op.grad_v_seq.data && !any_given(op.grad_w_seq) &&
      all_of_type(spec.dtype, op.x, op.grad_spike, op.grad_x))
    return BackwardInputs::spikes;
  return BackwardInputs::any;
}

Storage storage_of_layer(const LayerSpec& spec) {
  return core::with_element_type(NumberTypes{}, spec.dtype,
                                 [](auto type) { return storage_of<typename decltype(type)::Type>; });
}
ForwardInstance instance_of(const LayerSpec& spec, const Forward& op) {
  return instance_for(instances_for(spec, op), storage_of_layer(spec), wanted_of(spec, op));
}
BackwardInstance instance_of(const LayerSpec& spec, const Backward& op) {
  return instance_for(instances_for(spec, op), storage_of_layer(spec), wanted_of(spec, op));
}

}  // namespace

// ---- what was measured to be best, by compute capability ------------------------------------------------------------

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
constexpr Policy on_9 = {2, 0.09, {10, 8}, {6, 4}, int64_t{25} * 1024 * 1024, 4};
// Other GPUs were not measured.
constexpr Policy on_others = {2, 2.0, {}, {}, 0, 0};

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
bool gains_by_full_waves(const LayerSpec& spec, const GpuShape& gpu) {
  return policy_of(gpu).fuller < 1 && gpu.takes_shared_percent && spec.dtype == SYNFIRE_DTYPE_F32 &&
         !spec.model->many_instructions && !spec.model->never_fires &&
         spec.extents.n_steps >= model::checkpoint_interval && spec.threads_per_block == 0;
}

bool worth_widening(int64_t row, int width, const GpuShape& gpu) {
  return row >= int64_t{width} * 32 &&
         row / width >= int64_t{policy_of(gpu).blocks_before_widening} * gpu.n_multiprocessors * threads_per_block;
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

// ---- tiles ----------------------------------------------------------------------------------------------------------

namespace {

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
  const Extents& e = spec.extents;
  const bool bits = op.spike_format == SpikeFormat::bits;
  const bool by_words = bits && e.batch > 1 && e.n_neurons % word_bits != 0;
  const int threads = spec.threads_per_block > 0 ? spec.threads_per_block : threads_per_block;
  Plan plan = {{}, {}, 0, static_cast<uint32_t>(threads), 0};
  const ForwardInstance instance = instance_of(spec, op);
  Widths widths = with_storage(
      instance.storage, [&](auto s) { return forward_widths<decltype(s)>(instances_for(spec, op), instance.outputs); });
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
  const Extents& e = spec.extents;
  const BackwardInstance instance = instance_of(spec, op);
  const int variables =
      spec.model->slope_reads_w || instance.inputs == BackwardInputs::parameters ? spec.model->n_states : 1;
  const int most_threads = backward_block(variables, static_cast<int64_t>(spec.element_bytes()));
  const int threads = spec.threads_per_block > 0 ? std::min(spec.threads_per_block, most_threads) : most_threads;
  Plan plan = {{}, {}, 0, static_cast<uint32_t>(threads), 0};
  if (spec.model->never_fires && op.gradients.count == 0) {
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
  plan.shared_bytes = static_cast<uint32_t>(backward_shared_bytes(
      spec.extents.n_steps, width, variables, op.gradients.count, static_cast<int64_t>(spec.element_bytes())));
  if (width > 1 && gains_by_full_waves(spec, gpu) &&
      (spec.loaded() || has_own_backward(Instances::all, spec.surrogate->id) || spec.surrogate->rational))
    fill_waves(plan, policy_of(gpu).wide_backward, gpu);
  if (width == 1 && instance.inputs == BackwardInputs::spikes) {
    if (gains_by_spreading(spec, gpu)) spread(plan, gpu);
    const int64_t touched = e.n_steps * e.row() * 3 * static_cast<int64_t>(spec.element_bytes());
    if (gains_by_full_waves(spec, gpu) && touched <= policy_of(gpu).filled_bytes)
      fill_waves(plan, policy_of(gpu).narrow_backward, gpu);
  }
  return plan;
}

// ---- instances ------------------------------------------------------------------------------------------------------

namespace {

// The instance for a loaded model or surrogate.
struct LoadedInstance {
  bool is_forward;
  Storage storage;
  Ownership ownership;
  int array;  // ForwardOutputs or BackwardInputs
};

std::string text_of(const LoadedInstance& instance, bool never_fires) {
  constexpr const char* storage[] = {"float", "double", "synfire::cuda::F16", "synfire::cuda::Bf16",
                                     "synfire::cuda::AnyStorage"};
  constexpr const char* outputs[] = {"bits", "time_bits", "dense", "bytes", "any", "potential"};
  constexpr const char* inputs[] = {"spikes", "any", "parameters", "potential"};
  constexpr const char* kinds[] = {"strided", "adjacent", "strided_at_once", "adjacent_at_once", "adjacent_of_rows"};
  const std::string model = "synfire::model::LoadedModelType";
  const std::string of = std::string(", ")
                             .append(storage[static_cast<int>(instance.storage)])
                             .append(", synfire::cuda::Owns<")
                             .append(std::to_string(instance.ownership.width))
                             .append(", synfire::cuda::OwnershipKind::")
                             .append(kinds[static_cast<int>(instance.ownership.kind)])
                             .append(">");
  if (instance.is_forward)
    return "synfire::cuda::forward<" + model + of + ", synfire::cuda::ForwardOutputs::" + outputs[instance.array] + ">";
  if (never_fires && static_cast<BackwardInputs>(instance.array) != BackwardInputs::parameters)
    return "synfire::cuda::linear_backward<" + model + of + ">";
  return "synfire::cuda::backward<" + model +
         (never_fires ? ", synfire::cuda::NoSurrogate" : ", synfire::model::LoadedSurrogateType") + of +
         ", synfire::cuda::BackwardInputs::" + inputs[instance.array] + ">";
}

const void* loaded_kernel(const LayerSpec& spec, const LoadedInstance& instance) {
  constexpr uint32_t most_storages = 5, most_kinds = 5, most_width = 4, most_arrays = 6;
  uint32_t key = instance.is_forward ? 0 : 1;
  key = key * most_storages + static_cast<uint32_t>(instance.storage);
  key = key * most_kinds + static_cast<uint32_t>(instance.ownership.kind);
  key = key * most_width + static_cast<uint32_t>(instance.ownership.width - 1);
  key = key * most_arrays + static_cast<uint32_t>(instance.array);
  static_assert(2 * most_storages * most_kinds * most_width * most_arrays <= KernelRequest::most_kernels);
  const auto expression = [&] { return text_of(instance, spec.model->never_fires); };
  return spec.loaded()->kernel(
      {key, instance.is_forward ? "neurons/passes/cuda/forward.cuh" : "neurons/passes/cuda/backward.cuh", expression,
       *spec.model, instance.is_forward || spec.model->never_fires ? nullptr : spec.surrogate});
}

void require_kernels(const LayerSpec& spec, const BuiltKernels& built) {
  const char* const dtype = name_of_dtype(spec.dtype);
  const bool has_dtype = built.have_dtype(dtype);
  if (has_dtype && built.have_model(spec.model->id, spec.model->name)) return;
  const char* const absent = has_dtype ? spec.model->name : dtype;
  const auto listed = [](const char* names) {
    std::string text = *names != '\0' ? names : "ALL";
    std::replace(text.begin(), text.end(), ':', ';');
    return text;
  };
  fail(
      SYNFIRE_ERROR_UNSUPPORTED, "SYN-LAUNCH-KERNELS",
      "this build of Synfire has no GPU kernels for %s (SYNFIRE_CUDA_DTYPES=%s, SYNFIRE_CUDA_MODELS=%s): build it with "
      "%s in the list, or create the context on the host",
      absent, listed(built.dtypes).c_str(), listed(built.models).c_str(), absent);
}

}  // namespace

const void* kernel_for(const Forward& op, const Plan& plan, const BuiltKernels& built) {
  const LayerSpec& spec = op.layer->spec();
  const ForwardInstance instance = instance_of(spec, op);
  if (spec.loaded_model)
    return loaded_kernel(spec, {true, instance.storage, plan.ownership, static_cast<int>(instance.outputs)});
  require_kernels(spec, built);
  return with_storage(instance.storage, [&](auto e) {
    return forward_kernel<decltype(e)>(spec.model->id, plan.ownership, instance.outputs);
  });
}

const void* kernel_for(const Backward& op, const Plan& plan, const BuiltKernels& built) {
  const LayerSpec& spec = op.layer->spec();
  const BackwardInstance instance = instance_of(spec, op);
  if (spec.loaded())
    return loaded_kernel(spec, {false, instance.storage, plan.ownership, static_cast<int>(instance.inputs)});
  require_kernels(spec, built);
  return with_storage(instance.storage, [&](auto e) {
    return backward_kernel<decltype(e)>(spec.model->id, spec.surrogate->id, plan.ownership, instance.inputs);
  });
}

}  // namespace synfire::cuda

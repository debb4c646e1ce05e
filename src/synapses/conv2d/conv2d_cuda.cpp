// The launches of convolutions on a GPU.
#include "conv2d.hpp"
#include "conv2d_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>
#include <operations/elementwise/fill.hpp>
#include <operations/spikes/convert_spikes.hpp>
#include <synapses/dense/dense_launches.hpp>
#include <synapses/passes/synapse_arguments_of.hpp>

#include <algorithm>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

namespace {

// ---- inputs ---------------------------------------------------------------------------------------------------------

// Inputs as an exact synapse adds them, or as numbers; spikes of an exact synapse are converted to bits.
template <class Op>
Conv2dInput kind_of(const Op& op) {
  const Conv2dSpec& spec = op.synapse->conv();
  if (!spec.is_exact()) return Conv2dInput::numbers;
  return spec.elements == Elements::counts ? Conv2dInput::counts : Conv2dInput::bits;
}

template <class Op>
Conv2dInputs inputs_of(const Op& op, Launcher& launcher) {
  const Conv2dSpec& spec = op.synapse->conv();
  const Extents& e = op.extents;
  Conv2dInputs inputs = {};
  inputs.bound = spec.count_bound;
  if (spec.elements == Elements::counts) {
    inputs.counts = rows_of<const uint8_t>(op.input, e.n_neurons);
    return inputs;
  }
  if (kind_of(op) == Conv2dInput::numbers) {
    inputs.numbers = numbers_of(op.input, e, spec.elements == Elements::spikes);
    return inputs;
  }
  const int64_t n_words = e.words_per_row();
  View bits = op.input;
  if (op.converted) {
    bits = op.converted;
    bits.dtype = SYNFIRE_DTYPE_BITS;
    bits.pitch = e.batch * n_words;
    enqueue(ConvertSpikes{e, op.input, bits}, launcher);
  }
  inputs.bits = rows_of<const uint32_t>(bits, n_words);
  return inputs;
}

// ---- places as rows -------------------------------------------------------------------------------------------------

// The places of a few steps as rows of a dense synapse.
struct Steps {
  int64_t first, count;
};
template <class Op, class F>
void for_each_steps(const Op& op, F f) {
  for (int64_t first = 0; first < op.extents.n_steps; first += op.steps_at_once)
    f(Steps{first, std::min(op.steps_at_once, op.extents.n_steps - first)});
}

template <class Op>
SequenceRows images_of(const Op& op, const Steps& steps) {
  SequenceRows rows = rows_of(op);
  rows.n_steps = steps.count;
  return rows;
}
template <class Op>
SequenceRows places_of(const Op& op, const Steps& steps) {
  return {steps.count, op.extents.batch * op.synapse->map().places(), data_of<const uint32_t>(op.active_places)};
}
// How many places count, where not all rows do.
template <class Op>
void count_places(const Op& op, Launcher& launcher) {
  if (op.active_places)
    launcher.launch(conv2d_active_places_kernel(), launcher.over_elements(1),
                    Conv2dActivePlacesLaunch{rows_of(op), op.synapse->map().places(),
                                             data_of<uint32_t>(op.active_places), 1, op.extents.batch});
}
template <class E>
RowArray<E> from_step(RowArray<E> array, const Steps& steps, int64_t length) {
  return {array.data + steps.first * array.pitch, array.pitch, length};
}

template <class Op>
Conv2dPatchLaunch patches_of(const Op& op, const Conv2dInputs& inputs, const Steps& steps) {
  return {op.synapse->map(),
          images_of(op, steps),
          from_step(inputs.bits, steps, inputs.bits.length),
          data_of<uint32_t>(op.patches),
          pieces(op.synapse->spec().n_inputs, 32),
          0,
          0};
}

template <class Op>
Conv2dCountPatchLaunch count_patches_of(const Op& op, const Conv2dInputs& inputs, const Steps& steps) {
  return {op.synapse->map(),
          images_of(op, steps),
          from_step(inputs.counts, steps, inputs.counts.length),
          inputs.bound,
          data_of<uint8_t>(op.patches),
          0,
          0,
          1};
}
// A warp takes several of `n_parts` parts together, so that it finds its places once; there are more warps than a GPU
// holds at once.
void launch_count_patches(const void* kernel, Conv2dCountPatchLaunch& patches, int64_t n_items, int64_t n_parts,
                          Launcher& launcher) {
  const int64_t most_warps = int64_t{128} * launcher.gpu().n_multiprocessors;
  patches.together = static_cast<int32_t>(std::clamp<int64_t>(n_items * n_parts / most_warps, 1, n_parts));
  launcher.launch(kernel,
                  one_each(pieces(n_items * pieces(n_parts, patches.together), patch_threads / 32), patch_threads),
                  patches);
}

// ---- products -------------------------------------------------------------------------------------------------------

// A warp for the places of a row that its threads have together, and 32 channels.
Grid over_runs(const SequenceRows& rows, int64_t height, int64_t width, int64_t channels, const Launcher& launcher) {
  const int64_t n_runs = rows.count() * height * pieces(width, depthwise_places) * pieces(channels, 32);
  return launcher.over_pieces(pieces(n_runs, conv2d_threads / 32), conv2d_threads);
}
// Kernels for depthwise convolutions have 32 channels in a warp, and read their bits as a word.
bool takes_depthwise(const Conv2dShape& map) {
  return map.is_depthwise() && map.channels >= 32;
}
template <class Op>
bool takes_depthwise(const Op& op) {
  const Conv2dShape& map = op.synapse->map();
  const Conv2dInput input = kind_of(op);
  return takes_depthwise(map) &&
         (input == Conv2dInput::counts || (input == Conv2dInput::bits && map.channels % 32 == 0));
}

template <class R>
void multiply(const Conv2dProduct& op, Launcher& launcher) {
  const Conv2dShape& map = op.synapse->map();
  const Conv2dInputs inputs = inputs_of(op, launcher);
  const bool depthwise = takes_depthwise(op);
  launcher.launch(depthwise ? depthwise_product_kernel(kind_of(op)) : conv2d_product_kernel<R>(kind_of(op)),
                  depthwise ? over_runs(rows_of(op), map.y.n_outputs, map.x.n_outputs, map.channels, launcher)
                            : launcher.over_elements(op.extents.n_steps * op.extents.batch * map.n_outputs()),
                  Conv2dProductLaunch<R>{map, rows_of(op), inputs, rows_of<R>(op.output, map.n_outputs()),
                                         op.table.data, op.synapse->spec().table_pitch(), data_of<const R>(op.bias),
                                         data_of<const int32_t>(op.grid), data_of<const int32_t>(op.bias_on_grid),
                                         data_of<const R>(op.scale)});
}

void multiply_counts(const Conv2dProduct& op, const Conv2dInputs& inputs, const Steps& steps, const SequenceRows& rows,
                     const RowArray<float>& output, Launcher& launcher) {
  const DenseSpec& matrix = op.synapse->spec();
  Conv2dCountPatchLaunch patches = count_patches_of(op, inputs, steps);
  patches.n_words = pieces(matrix.n_inputs, 32);
  patches.row_groups = DenseSpec::padded_columns(rows.count()) / 16;
  launch_count_patches(conv2d_count_patches_kernel(), patches, pieces(rows.count(), 16), patches.n_words, launcher);
  // With fewer tiles than multiprocessors, the warps of a small one share the terms.
  const int64_t n_tiles = pieces(rows.count(), count_tile) * pieces(matrix.n_outputs, count_tile),
                n_small = pieces(rows.count(), small_count_tile) * pieces(matrix.n_outputs, small_count_tile);
  const CountProduct product = !has_tensor_cores(launcher.gpu())            ? CountProduct::sums
                               : n_tiles < launcher.gpu().n_multiprocessors ? CountProduct::small
                                                                            : CountProduct::tiles;
  const Grid grid = product == CountProduct::sums
                        ? one_each(pieces(rows.count() * matrix.n_outputs, count_threads), count_threads)
                    : product == CountProduct::small ? one_each(n_small, small_count_threads)
                                                     : one_each(n_tiles, count_threads);
  launcher.launch(count_product_kernel(product, matrix.zero_planes()), grid,
                  CountProductLaunch{rows, matrix.n_inputs, matrix.n_outputs, patches.patches, patches.n_words,
                                     patches.row_groups, data_of<const uint8_t>(op.planes),
                                     DenseSpec::even_words(matrix.n_inputs), data_of<const int32_t>(op.grid),
                                     data_of<const int32_t>(op.bias_on_grid), output, matrix.zero_planes()});
}

void multiply_rows(const Conv2dProduct& op, Launcher& launcher) {
  const Conv2dShape& map = op.synapse->map();
  const DenseSpec& matrix = op.synapse->spec();
  const Conv2dInputs inputs = inputs_of(op, launcher);
  const auto output = rows_of<float>(op.output, map.n_outputs());
  count_places(op, launcher);
  for_each_steps(op, [&](const Steps& steps) {
    const SequenceRows rows = places_of(op, steps);
    const auto to = from_step(output, steps, map.output_channels);
    if (inputs.counts.data) return multiply_counts(op, inputs, steps, rows, to, launcher);
    const Conv2dPatchLaunch patches = patches_of(op, inputs, steps);
    launcher.launch(conv2d_patches_kernel(), launcher.over_elements(rows.count() * patches.row_words), patches);
    launch_spike_product({rows,
                          matrix.n_inputs,
                          matrix.n_outputs,
                          {patches.patches, rows.batch * patches.row_words, patches.row_words},
                          data_of<const int32_t>(op.table),
                          matrix.table_pitch(),
                          data_of<const uint8_t>(op.planes),
                          DenseSpec::even_words(matrix.n_inputs),
                          data_of<const int32_t>(op.grid),
                          data_of<const int32_t>(op.bias_on_grid),
                          to,
                          {},
                          nullptr},
                         matrix.zero_planes(), launcher);
  });
}

// ---- gradients of weights -------------------------------------------------------------------------------------------

struct SumArrays {
  uint32_t *largest, *largest_inputs;
  int64_t *total, *low;  // low: of values

  explicit SumArrays(const Conv2dWeightGradient& op) {
    const Conv2dSpec& spec = op.synapse->conv();
    largest = data_of<uint32_t>(op.largest);
    largest_inputs = largest ? largest + spec.shape.output_channels : nullptr;
    total = data_of<int64_t>(op.total);
    low = total && spec.has_values() ? total + spec.shape.output_channels * (spec.shape.n_terms() + 1) : nullptr;
  }
};

void enqueue_largest(const Conv2dWeightGradient& op, const RowArray<const float>& images, int64_t n_places,
                     int64_t n_channels, uint32_t* largest, Launcher& launcher) {
  const SequenceRows rows = rows_of(op);
  const int64_t across = pieces(n_channels, 32), all = rows.count() * n_places;
  const int64_t places_per_piece =
      std::max<int64_t>(64, pieces(all * across, int64_t{8} * launcher.gpu().n_multiprocessors));
  launcher.launch(conv2d_largest_kernel(), launcher.over_pieces(across * pieces(all, places_per_piece), conv2d_threads),
                  Conv2dLargestLaunch{rows, images, n_places, n_channels, places_per_piece, largest});
}

void enqueue_maxima(const Conv2dWeightGradient& op, const SumArrays& sums, Launcher& launcher) {
  const Conv2dSpec& spec = op.synapse->conv();
  const Conv2dShape& map = spec.shape;
  enqueue(Fill{op.largest, 0}, launcher);
  enqueue_largest(op, rows_of<const float>(op.grad_output, map.n_outputs()), map.places(), map.output_channels,
                  sums.largest, launcher);
  if (!spec.has_values()) return;
  RowArray<const float> inputs = rows_of<const float>(op.input, op.extents.n_neurons);
  if (op.input.dtype != SYNFIRE_DTYPE_F32) {
    launcher.launch(to_numbers_kernel<float>(), launcher.over_elements(op.extents.n_steps * op.extents.row()),
                    ToNumbersLaunch{numbers_of(op.input, op.extents, false), op.input_on_grid.data, nullptr});
    inputs = {data_of<const float>(op.input_on_grid), op.extents.row(), op.extents.n_neurons};
  }
  enqueue_largest(op, inputs, map.input_places(), map.channels, sums.largest_inputs, launcher);
}

void enqueue_sums(const Conv2dWeightGradient& op, const SumArrays& sums, Launcher& launcher) {
  const Conv2dSpec& spec = op.synapse->conv();
  const Conv2dShape& map = spec.shape;
  const SequenceRows rows = rows_of(op);
  enqueue(Fill{op.total, 0}, launcher);
  const Conv2dInputs inputs = inputs_of(op, launcher);
  // A few blocks for each multiprocessor. 64 bits hold the sums of products of 512 values.
  constexpr int64_t most_values = 512;
  const int64_t all = rows.count() * map.places(),
                tiles = pieces(map.output_channels, 32) * pieces(map.n_terms() + 1, conv2d_threads / 32);
  int64_t places_per_piece =
      std::max<int64_t>(256, pieces(all * tiles, int64_t{16} * launcher.gpu().n_multiprocessors));
  if (spec.has_values()) places_per_piece = std::min(places_per_piece, most_values);
  const void* kernel = conv2d_weight_sums_kernel(kind_of(op));
  Grid grid = launcher.over_pieces(tiles * pieces(all, places_per_piece), conv2d_threads);
  if (takes_depthwise(op)) {
    // Some warps for each multiprocessor, which have rows of places.
    const int64_t n_rows = rows.count() * map.y.n_outputs,
                  of_piece = pieces(map.channels, 32) * pieces(map.x.kernel, depthwise_taps) * map.y.kernel;
    places_per_piece = std::max<int64_t>(1, pieces(n_rows * of_piece, int64_t{32} * launcher.gpu().n_multiprocessors));
    kernel = depthwise_weight_sums_kernel(kind_of(op));
    grid =
        launcher.over_pieces(pieces(pieces(n_rows, places_per_piece) * of_piece, conv2d_threads / 32), conv2d_threads);
  }
  launcher.launch(kernel, grid,
                  Conv2dWeightSumsLaunch{map, rows, inputs, rows_of<const float>(op.grad_output, map.n_outputs()),
                                         sums.largest, sums.largest_inputs, spec.matrix.gradient_bits == 32,
                                         places_per_piece, sums.total, sums.low});
}

void sum_integers(const Conv2dWeightGradient& op, Launcher& launcher) {
  const Conv2dSpec& spec = op.synapse->conv();
  const SumArrays sums(op);
  if (does(op.entry, SumEntry::maxima)) enqueue_maxima(op, sums, launcher);
  if (does(op.entry, SumEntry::sums)) enqueue_sums(op, sums, launcher);
  if (does(op.entry, SumEntry::finish))
    launcher.launch(conv2d_finish_kernel(),
                    launcher.over_elements(spec.shape.output_channels * (spec.shape.n_terms() + 1)),
                    Conv2dFinishLaunch{spec.shape, sums.total, sums.low, sums.largest, sums.largest_inputs,
                                       spec.matrix.gradient_bits == 32, op.synapse->weight_factor(),
                                       data_of<const float>(op.scale), data_of<const uint32_t>(op.mask),
                                       data_of<float>(op.weight_gradient), data_of<float>(op.bias_gradient), op.add});
}

void add_counts(const Conv2dWeightGradient& op, const Conv2dInputs& inputs, const Steps& steps,
                WeightProductLaunch products, Launcher& launcher) {
  const int n_planes = op.synapse->spec().gradient_bits / 8;
  Conv2dCountPatchLaunch patches = count_patches_of(op, inputs, steps);
  patches.n_words = products.n_words;
  patches.row_groups = products.pitch / 16;
  launch_count_patches(conv2d_packed_count_patches_kernel(), patches, patches.n_words, patches.row_groups, launcher);
  const bool tensor_cores = has_tensor_cores(launcher.gpu());
  // Pieces of this many places cannot overflow the 32 bits of a tensor core: counts and bytes are at most 255.
  constexpr int64_t most_words = (int64_t{1} << 10);
  const int64_t n_tiles =
      tensor_cores ? pieces(products.n_outputs, weight_tile_outputs) * pieces(products.n_inputs, weight_tile_inputs)
                   : pieces(products.n_outputs * products.n_inputs, weight_product_threads);
  const int64_t n_splits = std::max<int64_t>(1, int64_t{2} * launcher.gpu().n_multiprocessors / n_tiles);
  products.words_per_piece = std::clamp<int64_t>(pieces(products.n_words, n_splits), 8, most_words);
  launcher.launch(count_weights_kernel(tensor_cores, n_planes),
                  one_each(n_tiles * pieces(products.n_words, products.words_per_piece), weight_product_threads),
                  products);
}

// As a dense synapse: its totals are [N, pitch], and [N] for the bias.
void sum_rows(const Conv2dWeightGradient& op, Launcher& launcher) {
  const Conv2dShape& map = op.synapse->map();
  const DenseSpec& matrix = op.synapse->spec();
  const auto gradients = rows_of<const float>(op.grad_output, map.n_outputs());
  auto* const largest = data_of<uint32_t>(op.largest);
  auto* const total = data_of<int64_t>(op.total);
  const int64_t pitch = matrix.packed_pitch();
  int64_t* const bias_total = op.bias_gradient ? total + matrix.n_outputs * pitch : nullptr;
  if (op.entry != SumEntry::finish) count_places(op, launcher);
  if (does(op.entry, SumEntry::maxima)) {
    enqueue(Fill{op.largest, 0}, launcher);
    const Steps all = {0, op.extents.n_steps};
    launch_largest(places_of(op, all), from_step(gradients, all, map.output_channels), largest, launcher);
  }
  if (does(op.entry, SumEntry::sums)) {
    enqueue(Fill{op.total, 0}, launcher);
    const Conv2dInputs inputs = inputs_of(op, launcher);
    for_each_steps(op, [&](const Steps& steps) {
      const SequenceRows rows = places_of(op, steps);
      Conv2dPatchLaunch patches = patches_of(op, inputs, steps);
      patches.n_words = DenseSpec::even_words(rows.count());
      patches.pitch = pitch;
      auto* const planes = data_of<uint8_t>(op.grad_on_grid);
      launch_gradient_planes({rows, from_step(gradients, steps, map.output_channels), largest, planes, patches.n_words,
                              DenseSpec::padded_columns(matrix.n_outputs) / 8, bias_total},
                             matrix.gradient_bits / 8, launcher);
      if (inputs.counts.data)
        return add_counts(
            op, inputs, steps,
            {matrix.n_outputs, matrix.n_inputs, planes, patches.n_words, patches.patches, pitch, 0, total}, launcher);
      launcher.launch(conv2d_packed_patches_kernel(),
                      one_each(pieces(patches.n_words * patches.row_words, patch_threads / 32), patch_threads),
                      patches);
      launch_weight_product(
          {matrix.n_outputs, matrix.n_inputs, planes, patches.n_words, patches.patches, pitch, 0, total},
          matrix.gradient_bits / 8, launcher);
    });
  }
  if (does(op.entry, SumEntry::finish))
    launch_finish(
        {matrix.n_outputs, matrix.n_inputs, total, bias_total, pitch, largest, data_of<const uint32_t>(op.mask),
         data_of<float>(op.weight_gradient), data_of<float>(op.bias_gradient), matrix.gradient_bits == 32, op.add,
         data_of<const float>(op.scale), op.synapse->weight_factor()},
        launcher);
}

void sum_in_order(const Conv2dWeightGradient& op, Launcher& launcher) {
  const Conv2dShape& map = op.synapse->map();
  const Conv2dInputs inputs = inputs_of(op, launcher);
  launcher.launch(conv2d_ordered_gradient_kernel(), launcher.over_elements(map.output_channels * (map.n_terms() + 1)),
                  Conv2dOrderedGradientLaunch{
                      map, rows_of(op), inputs, rows_of<const double>(op.grad_output, map.n_outputs()),
                      op.synapse->weight_factor(), data_of<const double>(op.scale), data_of<const uint32_t>(op.mask),
                      data_of<double>(op.weight_gradient), data_of<double>(op.bias_gradient), op.add});
}

// ---- gradients of inputs --------------------------------------------------------------------------------------------

template <class R>
Conv2dKept<R> kept_of(const Conv2dInputGradient& op) {
  return {data_of<const uint32_t>(op.kept.mask), op.extents.words_per_row(), data_of<const R>(op.kept.scale)};
}

// As a dense synapse whose rows are the places of the input, and whose outputs those of all taps.
void multiply_patches(const Conv2dInputGradient& op, const Conv2dGradientPatchLaunch& patches, Launcher& launcher) {
  const Conv2dShape& map = op.synapse->map();
  const DenseSpec& matrix = op.synapse->spec();
  const int64_t part = patches.first_image / op.images_at_once, places = map.input_places();
  const auto* const active = data_of<const uint32_t>(op.active_places);
  const RowArray<float> images = rows_of<float>(op.grad_input, map.n_inputs());
  const int64_t mask_words = map.channels / 32;
  KeptArray<float> kept = {};
  if (op.kept.mask)
    kept = {data_of<const uint32_t>(op.kept.mask) + patches.first_image * places * mask_words, mask_words,
            data_of<const float>(op.kept.scale)};
  launch_input_product({{patches.n_steps, patches.n_images * places, active ? active + part : nullptr},
                        map.channels,
                        matrix.n_taps * matrix.n_outputs,
                        patches.planes,
                        data_of<const uint8_t>(op.planes),
                        patches.n_words,
                        patches.row_groups,
                        patches.patch_grid,
                        {images.row({patches.first_step, patches.first_image}), images.pitch, map.channels},
                        op.add,
                        kept,
                        matrix.zero_planes()},
                       launcher);
}

void multiply_gradients(const Conv2dInputGradient& op, Launcher& launcher) {
  const Conv2dShape& map = op.synapse->map();
  const Extents& e = op.extents;
  const int64_t n_parts = pieces(e.batch, op.images_at_once);
  if (op.active_places)
    launcher.launch(conv2d_active_places_kernel(), launcher.over_elements(n_parts),
                    Conv2dActivePlacesLaunch{rows_of(op), map.input_places(), data_of<uint32_t>(op.active_places),
                                             n_parts, op.images_at_once});
  for_each_steps(op, [&](const Steps& steps) {
    for (int64_t part = 0; part < n_parts; ++part) {
      const int64_t first = part * op.images_at_once;
      Conv2dGradientPatchLaunch patches = {map,
                                           rows_of(op),
                                           steps.first,
                                           steps.count,
                                           first,
                                           std::min(op.images_at_once, e.batch - first),
                                           data_of<const int32_t>(op.row_grid),
                                           data_of<const int32_t>(op.grad_on_grid),
                                           data_of<uint8_t>(op.patches),
                                           op.synapse->spec().rows_planes_length() / 32,
                                           0,
                                           data_of<int32_t>(op.patch_grid),
                                           1};
      patches.row_groups = DenseSpec::padded_columns(patches.n_places()) / 16;
      // A warp that has several words finds its places once; there are more warps than a GPU holds at once.
      const int64_t n_groups = pieces(patches.n_places(), 16),
                    most_warps = int64_t{128} * launcher.gpu().n_multiprocessors;
      patches.words_together =
          static_cast<int32_t>(std::clamp<int64_t>(patches.n_words * n_groups / most_warps, 1, patches.n_words));
      launcher.launch(conv2d_gradient_patches_kernel(),
                      one_each(pieces(pieces(patches.n_words, patches.words_together) * n_groups, patch_threads / 32),
                               patch_threads),
                      patches);
      multiply_patches(op, patches, launcher);
    }
  });
}

}  // namespace

Hints hints(const Conv2dProduct&, const GpuShape&) {
  return {};
}
Hints hints(const Conv2dWeightGradient&, const GpuShape&) {
  return {};
}
Hints hints(const Conv2dInputGradient&, const GpuShape&) {
  return {};
}

void enqueue(const Conv2dProduct& op, Launcher& launcher) {
  if (has_rows(op)) return multiply_rows(op, launcher);
  if (op.synapse->dtype() == SYNFIRE_DTYPE_F64) return multiply<double>(op, launcher);
  multiply<float>(op, launcher);
}

void enqueue(const Conv2dWeightGradient& op, Launcher& launcher) {
  if (has_rows(op)) return sum_rows(op, launcher);
  if (op.synapse->spec().has_grid()) return sum_integers(op, launcher);
  sum_in_order(op, launcher);
}

void enqueue(const Conv2dInputGradient& op, Launcher& launcher) {
  const Conv2dSpec& spec = op.synapse->conv();
  const Conv2dShape& map = spec.shape;
  const SequenceRows rows = rows_of(op);
  const Grid grid = launcher.over_elements(rows.count() * map.n_inputs());
  if (!spec.matrix.has_grid()) {
    launcher.launch(
        conv2d_ordered_input_gradient_kernel(), grid,
        Conv2dOrderedInputGradientLaunch{map, rows, rows_of<const double>(op.grad_output, map.n_outputs()),
                                         data_of<const double>(op.rows), spec.matrix.rows_pitch(),
                                         rows_of<double>(op.grad_input, map.n_inputs()), op.add, kept_of<double>(op)});
    return;
  }
  auto* const on_grid = data_of<int32_t>(op.grad_on_grid);
  auto* const row_grid = data_of<int32_t>(op.row_grid);
  const auto gradients = rows_of<const float>(op.grad_output, map.n_outputs());
  enqueue(Fill{op.row_largest, 0}, launcher);
  const Conv2dImageGridLaunch image_grid = {rows,
                                            gradients,
                                            map.output_channels,
                                            data_of<const int32_t>(op.grid),
                                            spec.input_gradient_bits,
                                            data_of<uint64_t>(op.row_largest),
                                            row_grid,
                                            on_grid};
  const int width = map.output_channels % 4 == 0 ? largest_load_width(gradients) : 1;
  const Grid of_pieces = launcher.over_pieces(rows.count() * image_grid.pieces_of_image(), conv2d_threads);
  launcher.launch(conv2d_image_maxima_kernel(width), of_pieces, image_grid);
  launcher.launch(conv2d_image_integers_kernel(width), of_pieces, image_grid);
  if (has_rows(op)) return multiply_gradients(op, launcher);
  const bool wide = spec.input_gradient_bits == 32, depthwise = takes_depthwise(map) && !wide;
  launcher.launch(
      depthwise ? depthwise_input_gradient_kernel() : conv2d_input_gradient_kernel(wide),
      depthwise ? over_runs(rows, map.y.n_inputs, map.x.n_inputs, map.channels, launcher) : grid,
      Conv2dInputGradientLaunch{map, rows, on_grid, row_grid, data_of<const int32_t>(op.rows), spec.matrix.rows_pitch(),
                                rows_of<float>(op.grad_input, map.n_inputs()), op.add, kept_of<float>(op)});
}

}  // namespace synfire::operations

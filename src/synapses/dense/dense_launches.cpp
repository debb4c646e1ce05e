#include "dense_launches.hpp"

#include "dense_spec.hpp"

namespace synfire::operations {

using namespace synfire::cuda;

namespace {

// Tiles of 64 x 32 suit many rows and outputs, small ones few. Warpgroups are faster if each multiprocessor has 64 x 64
// outputs; with fewer, loading the planes dominates (docs/pages/tuning.md, "Measured constants").
SpikeProduct product_of(const SpikeProductLaunch& launch, const Launcher& launcher) {
  const int64_t n_rows = launch.rows.count(), n_inputs = launch.n_inputs, n_outputs = launch.n_outputs;
  if (!has_tensor_cores(launcher.gpu()) || n_inputs > most_tensor_inputs) return SpikeProduct::gather;
  if (n_rows <= 64 || n_outputs <= small_tile) return SpikeProduct::small;
  const bool many = n_outputs > tile_columns &&
                    pieces(n_rows, 64) * pieces(n_outputs, group_columns) >= launcher.gpu().n_multiprocessors;
  const bool fits = spike_group_bytes(DenseSpec::even_words(n_inputs)) + spike_ring_bytes + 1024 <= most_shared_bytes;
  return launcher.gpu().has_warpgroups && many && fits ? SpikeProduct::groups : SpikeProduct::tiles;
}

}  // namespace

// With the kernels' own arrays the sum may pass 48 KiB, for which a launch must ask: it asks for more, which costs
// nothing.
Grid grid_of_groups(int64_t n_rows, int64_t n_columns, int n_threads, int64_t shared_bytes, const Launcher& launcher) {
  const int64_t across = pieces(n_columns, group_columns), rows_of_block = int64_t{64} * (n_threads / 128);
  const int64_t shares =
      std::clamp<int64_t>(launcher.gpu().n_multiprocessors / across, 1, pieces(n_rows, rows_of_block));
  Grid grid = one_each(across * shares, n_threads);
  constexpr int64_t unasked = int64_t{48} * 1024;
  grid.shared_bytes = static_cast<uint32_t>(std::max(shared_bytes, unasked + 16));
  return grid;
}

void launch_spike_product(const SpikeProductLaunch& launch, int zero_planes, Launcher& launcher) {
  const int64_t n_rows = launch.rows.count(), n_outputs = launch.n_outputs;
  const SpikeProduct product = product_of(launch, launcher);
  const void* const kernel = spike_product_kernel(product, launch.kept.mask != nullptr, zero_planes);
  switch (product) {
    case SpikeProduct::gather:
      return launcher.launch(kernel, one_each(n_rows * pieces(n_outputs, gather_threads), gather_threads), launch);
    case SpikeProduct::small:
      return launcher.launch(
          kernel, one_each(pieces(n_rows, small_tile) * pieces(n_outputs, small_tile), small_threads), launch);
    case SpikeProduct::tiles:
      return launcher.launch(
          kernel, one_each(pieces(n_rows, tile_rows) * pieces(n_outputs, tile_columns), tile_threads), launch);
    case SpikeProduct::groups:
      return launcher.launch(kernel,
                             grid_of_groups(n_rows, n_outputs, spike_group_threads,
                                            spike_group_bytes(DenseSpec::even_words(launch.n_inputs)), launcher),
                             launch);
  }
}

int largest_load_width(const RowArray<const float>& array) {
  return (array.length | array.pitch) % 4 == 0 && reinterpret_cast<uintptr_t>(array.data) % 16 == 0 ? 4 : 1;
}

LargestLaunch largest_of(const SequenceRows& rows, const RowArray<const float>& array, uint32_t* largest,
                         const Launcher& launcher) {
  const int64_t across = pieces(array.length, int64_t{32} * largest_load_width(array));
  const int64_t rows_per_piece =
      std::max<int64_t>(64, pieces(rows.count() * across, int64_t{8} * launcher.gpu().n_multiprocessors));
  return {rows, array, largest, rows_per_piece, across * pieces(rows.count(), rows_per_piece)};
}

void launch_largest(const SequenceRows& rows, const RowArray<const float>& array, uint32_t* largest,
                    Launcher& launcher) {
  const LargestLaunch launch = largest_of(rows, array, largest, launcher);
  launcher.launch(largest_kernel(largest_load_width(array)), one_each(launch.n_pieces, largest_threads), launch);
}

void launch_gradient_planes(const GradientPlanesLaunch& launch, int n_planes, Launcher& launcher) {
  launcher.launch(gradient_planes_kernel(n_planes),
                  one_each(launch.n_words * pieces(launch.gradients.length, planes_outputs), planes_threads), launch);
}

void launch_weight_product(WeightProductLaunch launch, int n_planes, Launcher& launcher) {
  // Each multiprocessor has a piece of the rows; a piece of 2^22 rows cannot overflow the 32 bits of a tensor core.
  const bool tensor_cores = has_tensor_cores(launcher.gpu()), groups = launcher.gpu().has_warpgroups;
  const BytesProduct product = groups         ? BytesProduct::groups
                               : tensor_cores ? BytesProduct::warps
                                              : BytesProduct::integers;
  const int64_t n_tiles =
      tensor_cores ? pieces(launch.n_outputs, weight_tile_outputs) * pieces(launch.n_inputs, weight_tile_inputs)
                   : pieces(launch.n_outputs, select_tile_outputs) * pieces(launch.n_inputs, select_tile_inputs);
  const int64_t n_splits = std::max<int64_t>(1, launcher.gpu().n_multiprocessors / n_tiles);
  launch.words_per_piece = std::clamp<int64_t>(2 * pieces(launch.n_words, 2 * n_splits), 8, int64_t{1} << 17);
  Grid grid = one_each(n_tiles * pieces(launch.n_words, launch.words_per_piece),
                       groups ? weight_group_threads : weight_product_threads);
  if (groups)
    grid.shared_bytes =
        weight_group_stages * (n_planes == 3 ? weight_group_stage_bytes<3> : weight_group_stage_bytes<4>);
  launcher.launch(weight_product_kernel(product, n_planes), grid, launch);
}

void launch_finish(const FinishWeightsLaunch& launch, Launcher& launcher) {
  launcher.launch(finish_weights_kernel(),
                  one_each(launch.n_outputs * pieces(launch.n_inputs, finish_threads), finish_threads), launch);
}

void launch_input_product(const InputProductLaunch& launch, Launcher& launcher) {
  const int64_t n_rows = launch.rows.count();
  const bool tensor_cores = has_tensor_cores(launcher.gpu()) && launch.n_outputs <= most_tensor_outputs;
  const bool groups = tensor_cores && launcher.gpu().has_warpgroups;
  const bool stays = group_bytes(launch.n_words) + input_ring_bytes <= most_shared_bytes;
  const BytesProduct product = groups         ? stays ? BytesProduct::groups : BytesProduct::streams
                               : tensor_cores ? BytesProduct::warps
                                              : BytesProduct::integers;
  const int64_t shared_bytes = group_bytes(stays ? launch.n_words : input_stream_places) + input_ring_bytes;
  launcher.launch(input_product_kernel(product, launch.zero_planes),
                  groups ? grid_of_groups(n_rows, launch.n_inputs, input_group_threads, shared_bytes, launcher)
                         : one_each(pieces(n_rows, input_tile) * pieces(launch.n_inputs, input_tile),
                                    tensor_cores ? input_product_threads : wide_product_threads),
                  launch);
}

}  // namespace synfire::operations

// The launches of synapses on a GPU.
#include "dense_arguments_of.hpp"
#include "dense_launches.hpp"
#include "few_rows.hpp"

#include <backends/cuda/cuda_launcher.hpp>
#include <operations/elementwise/fill.hpp>
#include <operations/spikes/spikes_arrays_of.hpp>
#include <operations/spikes/spikes_kernels.hpp>
#include <synapses/passes/synapse_arguments_of.hpp>

#include <algorithm>
#include <bit>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

namespace {

// ---- inputs ---------------------------------------------------------------------------------------------------------

void convert(const Extents& e, SpikeStorage from, const SpikeArray& source, SpikeStorage to, uint32_t* words,
             int64_t pitch, Launcher& launcher) {
  const int64_t n_tiles = step_groups(e) * e.batch * tiles_per_row(e);
  launcher.launch(convert_spikes_kernel(from, to), launcher.over_pieces(n_tiles, spike_threads),
                  ConvertSpikesLaunch{e, n_tiles, source, {words, pitch, 0, 0}});
}

RowArray<const uint32_t> as_bits(const View& input, const View& converted, const Extents& e, Launcher& launcher) {
  const int64_t n_words = e.words_per_row();
  if (input.dtype == SYNFIRE_DTYPE_BITS) return rows_of<const uint32_t>(input, n_words);
  convert(e, storage_of(input.dtype), spikes_of(input), SpikeStorage::bits, data_of<uint32_t>(converted),
          e.batch * n_words, launcher);
  return {data_of<const uint32_t>(converted), e.batch * n_words, n_words};
}

// Packs spikes of any format into words of 32 rows (t, b). Equidistant rows are the steps of one long batch row.
void pack_rows(const DenseWeightGradient& op, int64_t pitch, Launcher& launcher) {
  const Extents& e = op.extents;
  if (op.kept.mask) {
    const SequenceRows rows = rows_of(op);
    const int64_t n_words = pieces(rows.count(), 32);
    launcher.launch(pack_kept_kernel(), one_each(n_words * pieces(e.words_per_row(), pack_threads / 32), pack_threads),
                    PackKeptLaunch{rows, as_bits(op.input, op.converted, e, launcher), kept_of<float>(op.kept, e),
                                   data_of<uint32_t>(op.packed), n_words, pitch});
    return;
  }
  const Extents folded = {e.n_steps * e.batch, 1, e.n_neurons};
  SpikeArray source = spikes_of(op.input);
  SpikeStorage storage = storage_of(op.input.dtype);
  const int64_t row = storage == SpikeStorage::bits ? e.words_per_row() : e.n_neurons;
  const bool apart = e.n_steps > 1 && source.pitch != e.batch * row;
  if (storage == SpikeStorage::time_bits || apart) {
    uint32_t* const words = data_of<uint32_t>(op.converted);
    convert(e, storage, source, SpikeStorage::bits, words, e.batch * e.words_per_row(), launcher);
    source = {words, e.words_per_row(), 0, 0};
    storage = SpikeStorage::bits;
  } else {
    source.pitch = row;
  }
  convert(folded, storage, source, SpikeStorage::time_bits, data_of<uint32_t>(op.packed), pitch, launcher);
}

template <class R>
RowArray<const R> as_numbers(const DenseSpec& spec, const View& input, const View& converted, const Kept& kept,
                             const Extents& e, Launcher& launcher) {
  if (!converted) return rows_of<const R>(input, e.n_neurons);
  const ToNumbersLaunch launch = {numbers_of(input, e, spec.input == InputKind::spikes), converted.data,
                                  data_of<const uint32_t>(kept.mask)};
  launcher.launch(to_numbers_kernel<R>(), launcher.over_elements(e.n_steps * e.row()), launch);
  return {data_of<const R>(converted), e.row(), e.n_neurons};
}

// ---- products in the fixed order ------------------------------------------------------------------------------------

template <class R>
void launch_chain(bool over_rows, const ChainLaunch<R>& launch, Launcher& launcher) {
  const int64_t n_rows = over_rows ? launch.left.length : launch.rows.count();
  const int64_t n_large = pieces(n_rows, large_chain_rows<R>) * pieces(launch.n_columns, large_chain_columns);
  const bool large = n_large >= launcher.gpu().n_multiprocessors;
  const int64_t n_tiles =
      large ? n_large : pieces(n_rows, small_chain_tile) * pieces(launch.n_columns, small_chain_tile);
  launcher.launch(chain_kernel<R>(over_rows, large), one_each(n_tiles, chain_threads), launch);
}

template <class R>
void enqueue_chains(const DenseProduct& op, Launcher& launcher) {
  const DenseSpec& spec = op.synapse->spec();
  launch_chain<R>(false,
                  {rows_of(op),
                   as_numbers<R>(spec, op.input, op.converted, op.kept, op.extents, launcher),
                   {data_of<const R>(op.table), spec.table_pitch(), spec.n_outputs},
                   spec.n_outputs,
                   data_of<R>(op.output),
                   op.output.pitch,
                   data_of<const R>(op.bias),
                   nullptr,
                   false,
                   data_of<const R>(op.kept.scale),
                   {}},
                  launcher);
}

void enqueue_chains(const DenseWeightGradient& op, Launcher& launcher) {
  const DenseSpec& spec = op.synapse->spec();
  const SequenceRows rows = rows_of(op);
  const auto gradients = rows_of<const double>(op.grad_output, spec.n_outputs);
  launch_chain<double>(true,
                       {rows,
                        gradients,
                        as_numbers<double>(spec, op.input, op.converted, op.kept, op.extents, launcher),
                        spec.n_inputs,
                        data_of<double>(op.weight_gradient),
                        0,
                        nullptr,
                        data_of<const uint32_t>(op.mask),
                        op.add,
                        data_of<const double>(op.kept.scale),
                        {}},
                       launcher);
  if (op.bias_gradient)
    launcher.launch(column_sum_kernel(), one_each(pieces(spec.n_outputs, 32), column_sum_threads),
                    ColumnSumLaunch{rows, gradients, data_of<double>(op.bias_gradient), op.add});
}

void enqueue_chains(const DenseInputGradient& op, Launcher& launcher) {
  const DenseSpec& spec = op.synapse->spec();
  launch_chain<double>(false,
                       {rows_of(op),
                        rows_of<const double>(op.grad_output, spec.n_outputs),
                        {data_of<const double>(op.rows), spec.rows_pitch(), spec.n_inputs},
                        spec.n_inputs,
                        data_of<double>(op.grad_input),
                        op.grad_input.pitch,
                        nullptr,
                        nullptr,
                        op.add,
                        data_of<const double>(op.kept.scale),
                        kept_of<double>(op.kept, op.extents)},
                       launcher);
}

// ---- exact products -------------------------------------------------------------------------------------------------

void enqueue_exact(const DenseProduct& op, Launcher& launcher) {
  launch_spike_product(spike_product_of(op, as_bits(op.input, op.converted, op.extents, launcher)),
                       op.synapse->spec().zero_planes(), launcher);
}

// Without tensor cores, up to this many rows one launch takes less time than the eight that many rows need.
constexpr int64_t few_rows = 256;

FewRowsLaunch few_rows_of(const DenseWeightGradient& op, Launcher& launcher) {
  const DenseSpec& spec = op.synapse->spec();
  return {rows_of(op),
          spec.n_inputs,
          rows_of<const float>(op.grad_output, spec.n_outputs),
          as_bits(op.input, op.converted, op.extents, launcher),
          data_of<const uint32_t>(op.mask),
          data_of<float>(op.weight_gradient),
          data_of<float>(op.bias_gradient),
          spec.gradient_bits == 32,
          op.add,
          kept_of<float>(op.kept, op.extents)};
}

void enqueue_few_rows(const DenseWeightGradient& op, Launcher& launcher) {
  const DenseSpec& spec = op.synapse->spec();
  const int64_t n_tiles = pieces(spec.n_outputs, few_rows_outputs) * pieces(spec.n_inputs, few_rows_inputs);
  launcher.launch(few_rows_kernel(), one_each(n_tiles, few_rows_threads), few_rows_of(op, launcher));
}

// The arrays between the entries of a weight gradient. Where one operation does everything, the largest magnitudes are
// at the end of the totals, so that one launch clears both.
struct SumArrays {
  uint32_t *largest, *largest_inputs;
  int64_t *total, *low, *bias_total;  // low: of values
  int64_t pitch;

  explicit SumArrays(const DenseWeightGradient& op) {
    const DenseSpec& spec = op.synapse->spec();
    pitch = spec.has_values() ? spec.rows_pitch() : spec.packed_pitch();
    total = data_of<int64_t>(op.total);
    low = total + spec.n_outputs * pitch;
    int64_t* const biases = spec.has_values() ? low + spec.n_outputs * pitch : low;
    bias_total = op.bias_gradient ? biases : nullptr;
    largest = op.largest ? data_of<uint32_t>(op.largest) : reinterpret_cast<uint32_t*>(biases + spec.n_outputs);
    largest_inputs = largest + spec.n_outputs;
  }
};

void clear_sums(const DenseWeightGradient& op, Launcher& launcher) {
  if (op.entry == SumEntry::maxima) enqueue(Fill{op.largest, 0}, launcher);
  if (does(op.entry, SumEntry::sums)) enqueue(Fill{op.total, 0}, launcher);
}

FinishWeightsLaunch finish_of(const DenseWeightGradient& op, const SumArrays& sums) {
  const DenseSpec& spec = op.synapse->spec();
  return {spec.n_outputs,
          spec.n_inputs,
          sums.total,
          sums.bias_total,
          sums.pitch,
          sums.largest,
          data_of<const uint32_t>(op.mask),
          data_of<float>(op.weight_gradient),
          data_of<float>(op.bias_gradient),
          spec.gradient_bits == 32,
          op.add,
          data_of<const float>(op.kept.scale)};
}

// Gradients on their grid as byte planes, and the sums for the bias.
GradientPlanesLaunch gradient_planes_of(const DenseWeightGradient& op, const SumArrays& sums, int64_t n_words) {
  const DenseSpec& spec = op.synapse->spec();
  return {rows_of(op),    rows_of<const float>(op.grad_output, spec.n_outputs),
          sums.largest,   data_of<uint8_t>(op.grad_on_grid),
          n_words,        DenseSpec::padded_columns(spec.n_outputs) / 8,
          sums.bias_total};
}

void enqueue_spike_sums(const DenseWeightGradient& op, const SumArrays& sums, Launcher& launcher) {
  const DenseSpec& spec = op.synapse->spec();
  const int64_t n_words = DenseSpec::even_words(rows_of(op).count());
  launch_gradient_planes(gradient_planes_of(op, sums, n_words), spec.gradient_bits / 8, launcher);
  pack_rows(op, sums.pitch, launcher);
  launch_weight_product({spec.n_outputs, spec.n_inputs, data_of<const uint8_t>(op.grad_on_grid), n_words,
                         data_of<const uint32_t>(op.packed), sums.pitch, 0, sums.total},
                        spec.gradient_bits / 8, launcher);
}

void enqueue_exact(const DenseWeightGradient& op, Launcher& launcher) {
  const DenseSpec& spec = op.synapse->spec();
  const SequenceRows rows = rows_of(op);
  if (op.entry == SumEntry::all) {
    if (has_held_rows(op, launcher.gpu())) return enqueue_held_rows({&op, 1}, launcher);
    if (rows.count() <= few_rows) return enqueue_few_rows(op, launcher);
  }
  const SumArrays sums(op);
  clear_sums(op, launcher);
  if (does(op.entry, SumEntry::maxima))
    launch_largest(rows, rows_of<const float>(op.grad_output, spec.n_outputs), sums.largest, launcher);
  if (does(op.entry, SumEntry::sums)) enqueue_spike_sums(op, sums, launcher);
  if (does(op.entry, SumEntry::finish)) launch_finish(finish_of(op, sums), launcher);
}

// ---- gradients of weights of values ---------------------------------------------------------------------------------

void enqueue_value_sums(const DenseWeightGradient& op, const SumArrays& sums, const RowArray<const float>& inputs,
                        Launcher& launcher) {
  const DenseSpec& spec = op.synapse->spec();
  const SequenceRows rows = rows_of(op);
  const int64_t n_words = DenseSpec::even_words(rows.count()), padded_inputs = DenseSpec::padded_columns(spec.n_inputs);
  launcher.launch(value_planes_kernel(spec.gradient_bits / 8),
                  one_each(n_words * (pieces(spec.n_outputs, planes_outputs) + pieces(spec.n_inputs, planes_outputs)),
                           planes_threads),
                  ValuePlanesLaunch{gradient_planes_of(op, sums, n_words),
                                    {rows, inputs, sums.largest_inputs, data_of<uint8_t>(op.input_on_grid), n_words,
                                     padded_inputs / 8, nullptr}});
  const bool tensor_cores = has_tensor_cores(launcher.gpu());
  const int64_t n_tiles =
      pieces(spec.n_inputs, value_tile) * pieces(spec.n_outputs, tensor_cores ? value_tile : select_tile_outputs);
  // Two pieces for each multiprocessor, if they are long enough.
  const int64_t n_splits = std::max<int64_t>(1, int64_t{2} * launcher.gpu().n_multiprocessors / n_tiles);
  const int64_t words_per_piece = std::clamp<int64_t>(pieces(n_words, n_splits), 8, most_value_words);
  launcher.launch(
      value_product_kernel(tensor_cores ? BytesProduct::warps : BytesProduct::integers, spec.gradient_bits / 8),
      one_each(n_tiles * pieces(n_words, words_per_piece), value_product_threads),
      ValueProductLaunch{spec.n_outputs, spec.n_inputs, data_of<const uint8_t>(op.input_on_grid),
                         data_of<const uint8_t>(op.grad_on_grid), n_words, padded_inputs / 16, words_per_piece,
                         sums.total, sums.low, sums.pitch});
}

void enqueue_values(const DenseWeightGradient& op, Launcher& launcher) {
  const DenseSpec& spec = op.synapse->spec();
  const SequenceRows rows = rows_of(op);
  const auto gradients = rows_of<const float>(op.grad_output, spec.n_outputs);
  const SumArrays sums(op);
  RowArray<const float> inputs = {};
  if (op.entry != SumEntry::finish)
    inputs = as_numbers<float>(spec, op.input, op.converted, op.kept, op.extents, launcher);
  if (op.entry == SumEntry::all && rows.count() <= most_few_values)
    return launcher.launch(
        few_values_kernel(),
        one_each(pieces(spec.n_outputs, few_rows_outputs) * pieces(spec.n_inputs, few_values_inputs), few_rows_threads),
        FewValuesLaunch{rows, gradients, inputs, data_of<const uint32_t>(op.mask), data_of<float>(op.weight_gradient),
                        data_of<float>(op.bias_gradient), spec.gradient_bits == 32, op.add,
                        data_of<const float>(op.kept.scale)});
  clear_sums(op, launcher);
  if (does(op.entry, SumEntry::maxima)) {
    const LargestOfValuesLaunch launch = {
        {largest_of(rows, gradients, sums.largest, launcher), largest_of(rows, inputs, sums.largest_inputs, launcher)},
        {largest_load_width(gradients), largest_load_width(inputs)}};
    launcher.launch(largest_of_values_kernel(),
                    one_each(launch.arrays[0].n_pieces + launch.arrays[1].n_pieces, largest_threads), launch);
  }
  if (does(op.entry, SumEntry::sums)) enqueue_value_sums(op, sums, inputs, launcher);
  if (does(op.entry, SumEntry::finish))
    launcher.launch(finish_values_kernel(),
                    one_each(spec.n_outputs * pieces(spec.n_inputs, finish_threads), finish_threads),
                    FinishValuesLaunch{finish_of(op, sums), sums.low, sums.largest_inputs});
}

// ---- gradients of inputs --------------------------------------------------------------------------------------------

void enqueue_exact(const DenseInputGradient& op, Launcher& launcher) {
  const DenseSpec& spec = op.synapse->spec();
  const SequenceRows rows = rows_of(op);
  const int64_t n_words = spec.table_pitch() / 32, row_groups = DenseSpec::padded_columns(rows.count()) / 16;
  if (has_tensor_cores(launcher.gpu()) && rows.count() <= most_held_rows && spec.n_outputs <= most_held_outputs) {
    launcher.launch(held_input_kernel(),
                    one_each(pieces(rows.count(), 16) * pieces(spec.n_inputs, input_tile), planes_threads),
                    HeldInputLaunch{rows_of<const float>(op.grad_output, spec.n_outputs),
                                    data_of<const int32_t>(op.grid),
                                    {rows, spec.n_inputs, spec.n_outputs, nullptr, data_of<const uint8_t>(op.planes),
                                     n_words, 0, nullptr, rows_of<float>(op.grad_input, spec.n_inputs), op.add,
                                     kept_of<float>(op.kept, op.extents)}});
    return;
  }
  auto* const planes = data_of<uint8_t>(op.grad_on_grid);
  auto* const row_grid = data_of<int32_t>(op.row_grid);
  launcher.launch(input_planes_kernel(), one_each(pieces(rows.count(), 16), planes_threads),
                  InputPlanesLaunch{rows, rows_of<const float>(op.grad_output, spec.n_outputs),
                                    data_of<const int32_t>(op.grid), row_grid, planes, n_words, row_groups});
  launch_input_product(
      {rows, spec.n_inputs, spec.n_outputs, planes, data_of<const uint8_t>(op.planes), n_words, row_groups, row_grid,
       rows_of<float>(op.grad_input, spec.n_inputs), op.add, kept_of<float>(op.kept, op.extents), spec.zero_planes()},
      launcher);
}

// ---- weights on their grid ------------------------------------------------------------------------------------------

template <class R>
void enqueue_rows(const PrepareDense& op, Launcher& launcher) {
  const DenseSpec& spec = op.synapse->spec();
  launcher.launch(prepare_rows_kernel<R>(), one_each(spec.n_outputs, prepare_threads),
                  PrepareRowsLaunch<R>{spec.n_inputs, spec.n_outputs, data_of<R>(op.weights),
                                       spec.is_exact() ? data_of<const float>(op.bias) : nullptr,
                                       data_of<const uint32_t>(op.mask), op.rows.data, spec.rows_pitch(),
                                       data_of<int32_t>(op.grid), data_of<int32_t>(op.bias_on_grid),
                                       static_cast<R>(op.synapse->weight_factor()), spec.dropped_bits()});
}

void enqueue_planes(const PrepareDense& op, Launcher& launcher) {
  const DenseSpec& spec = op.synapse->spec();
  const PreparePlanesLaunch launch = {spec.n_inputs,
                                      spec.n_outputs,
                                      data_of<const int32_t>(op.rows),
                                      spec.rows_pitch(),
                                      data_of<uint8_t>(op.table_planes),
                                      DenseSpec::even_words(spec.n_inputs),
                                      DenseSpec::padded_columns(spec.n_outputs) / 8,
                                      data_of<uint8_t>(op.rows_planes),
                                      spec.rows_planes_length() / 32,
                                      DenseSpec::padded_columns(spec.tap_inputs()) / 8,
                                      spec.n_taps};
  const int64_t n_units =
      32 * ((op.table_planes ? launch.table_words * launch.table_groups : 0) + launch.rows_words * launch.rows_groups);
  if (n_units == 0) return;
  launcher.launch(prepare_planes_kernel(), launcher.over_pieces(pieces(n_units, prepare_threads), prepare_threads),
                  launch);
}

}  // namespace

bool has_held_rows(const DenseWeightGradient& op, const GpuShape& gpu) {
  return op.synapse->spec().is_exact() && op.entry == SumEntry::all && has_tensor_cores(gpu) &&
         rows_of(op).count() <= most_held_rows;
}

void enqueue_held_rows(std::span<const DenseWeightGradient> operations, Launcher& launcher) {
  HeldRowsLaunch launch = {};
  for (const DenseWeightGradient& op : operations) {
    const DenseSpec& spec = op.synapse->spec();
    const int64_t n_tiles = pieces(spec.n_outputs, held_rows_outputs) * pieces(spec.n_inputs, held_rows_inputs);
    launch.gradients[launch.n_gradients] = few_rows_of(op, launcher);
    launch.first_tiles[launch.n_gradients + 1] = launch.first_tiles[launch.n_gradients] + n_tiles;
    ++launch.n_gradients;
  }
  launcher.launch(held_rows_kernel(), one_each(launch.first_tiles[launch.n_gradients], held_rows_threads), launch);
}

Hints hints(const PrepareDense&, const GpuShape&) {
  return {};
}
Hints hints(const DenseProduct&, const GpuShape&) {
  return {};
}
Hints hints(const DenseWeightGradient&, const GpuShape&) {
  return {};
}
Hints hints(const DenseInputGradient&, const GpuShape&) {
  return {};
}

void enqueue(const PrepareDense& op, Launcher& launcher) {
  const DenseSpec& spec = op.synapse->spec();
  if (spec.has_grid())
    enqueue_rows<float>(op, launcher);
  else
    enqueue_rows<double>(op, launcher);
  const TableKind kind = spec.is_exact()             ? TableKind::integers
                         : spec.has_rounded_values() ? TableKind::rounded
                         : spec.has_grid()           ? TableKind::f32
                                                     : TableKind::f64;
  const bool as_they_are = kind == TableKind::f32;
  launcher.launch(prepare_table_kernel(kind),
                  launcher.over_pieces(pieces(spec.n_inputs, 32) * pieces(spec.n_outputs, 32), prepare_threads),
                  PrepareTableLaunch{spec.n_inputs, spec.n_outputs, as_they_are ? op.weights.data : op.rows.data,
                                     as_they_are ? spec.n_inputs : spec.rows_pitch(), op.table.data, spec.table_pitch(),
                                     data_of<const int32_t>(op.grid)});
  if (spec.has_grid()) enqueue_planes(op, launcher);
}

void enqueue(const DenseProduct& op, Launcher& launcher) {
  const DenseSpec& spec = op.synapse->spec();
  if (spec.is_exact()) return enqueue_exact(op, launcher);
  if (spec.dtype == SYNFIRE_DTYPE_F64) return enqueue_chains<double>(op, launcher);
  enqueue_chains<float>(op, launcher);
}

void enqueue(const DenseWeightGradient& op, Launcher& launcher) {
  const DenseSpec& spec = op.synapse->spec();
  if (spec.is_exact()) return enqueue_exact(op, launcher);
  if (spec.has_values()) return enqueue_values(op, launcher);
  enqueue_chains(op, launcher);
}

void enqueue(const DenseInputGradient& op, Launcher& launcher) {
  if (op.synapse->spec().has_grid()) return enqueue_exact(op, launcher);
  enqueue_chains(op, launcher);
}

}  // namespace synfire::operations

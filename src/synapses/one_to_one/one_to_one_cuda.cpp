// The launches of one-to-one synapses on a GPU.
#include "one_to_one.hpp"
#include "one_to_one_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>
#include <operations/elementwise/fill.hpp>
#include <synapses/passes/synapse_arguments_of.hpp>

#include <synfire/model/grid.hpp>

#include <algorithm>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

namespace {

int64_t pieces(int64_t count, int64_t length) {
  return (count + length - 1) / length;
}

template <class Op>
OneToOneShape shape_of(const Op& op) {
  return {rows_of(op), op.extents.n_neurons, op.synapse->spec().n_entries()};
}
template <class Op>
InputNumbers input_of(const Op& op) {
  return numbers_of(op.input, op.extents, op.synapse->reads_spikes());
}

template <class R>
void multiply(const OneToOneProduct& op, Launcher& launcher) {
  const OneToOneShape shape = shape_of(op);
  launcher.launch(one_to_one_product_kernel<R>(), launcher.over_elements(shape.n_elements()),
                  OneToOneProductLaunch<R>{shape, input_of(op), rows_of<R>(op.output, shape.n_neurons),
                                           data_of<const R>(op.weight), data_of<const R>(op.bias)});
}

template <class R>
void scale_gradients(const OneToOneInputGradient& op, Launcher& launcher) {
  const OneToOneShape shape = shape_of(op);
  launcher.launch(
      one_to_one_input_gradient_kernel<R>(), launcher.over_elements(shape.n_elements()),
      OneToOneInputGradientLaunch<R>{shape, rows_of<const R>(op.grad_output, shape.n_neurons),
                                     rows_of<R>(op.grad_input, shape.n_neurons), data_of<const R>(op.weight), op.add});
}

void sum_exactly(const OneToOneGradient& op, Launcher& launcher) {
  const OneToOneShape shape = shape_of(op);
  if (does(op.entry, SumEntry::maxima)) enqueue(Fill{op.largest, 0}, launcher);
  if (does(op.entry, SumEntry::sums)) enqueue(Fill{op.totals, 0}, launcher);
  // A few blocks for each multiprocessor, with rows enough that atomics are rare.
  const int64_t across = pieces(shape.n_neurons, exact_sum_threads), n_rows = shape.rows.count();
  const int64_t rows_per_piece =
      std::max<int64_t>(32, pieces(n_rows * across, int64_t{8} * launcher.gpu().n_multiprocessors));
  const ExactSumLaunch launch = {shape,
                                 rows_of<const float>(op.grad_output, shape.n_neurons),
                                 input_of(op),
                                 data_of<uint32_t>(op.largest),
                                 data_of<int64_t>(op.totals),
                                 rows_per_piece,
                                 op.synapse->spec().gradient_bits == 32,
                                 data_of<float>(op.weight_gradient),
                                 data_of<float>(op.bias_gradient),
                                 op.add};
  const Grid grid = launcher.over_pieces(across * pieces(n_rows, rows_per_piece), exact_sum_threads);
  if (does(op.entry, SumEntry::maxima)) launcher.launch(exact_largest_kernel(), grid, launch);
  if (does(op.entry, SumEntry::sums)) launcher.launch(exact_sum_kernel(), grid, launch);
  if (does(op.entry, SumEntry::finish))
    launcher.launch(exact_finish_kernel(), launcher.over_elements(shape.n_entries), launch);
}

void sum_contributions(const OneToOneGradient& op, Launcher& launcher) {
  const OneToOneShape shape = shape_of(op);
  const bool has_bias = op.synapse->spec().has_bias;
  if (does(op.entry, SumEntry::maxima)) {
    auto* const weight = data_of<float>(op.contributions);
    launcher.launch(one_to_one_contributions_kernel(), launcher.over_elements(op.extents.row()),
                    ContributionsLaunch{shape, rows_of<const float>(op.grad_output, shape.n_neurons), input_of(op),
                                        weight, has_bias ? weight + op.extents.row() : nullptr});
  }
  const RowSums sums[] = {row_sums_of(op, 0), row_sums_of(op, 1)};
  enqueue_row_sums({sums, has_bias ? 2u : 1u}, op.entry, launcher);
}

void sum_in_order(const OneToOneGradient& op, Launcher& launcher) {
  const OneToOneShape shape = shape_of(op);
  const int64_t n_blocks = pieces(shape.rows.count() * shape.n_shares(), model::block_length);
  const int width = shape.n_entries < 16 ? 1 : 16;
  const OrderedSumLaunch launch = {shape,
                                   rows_of<const double>(op.grad_output, shape.n_neurons),
                                   input_of(op),
                                   data_of<double>(op.blocks),
                                   n_blocks,
                                   width,
                                   data_of<double>(op.weight_gradient),
                                   data_of<double>(op.bias_gradient),
                                   op.add};
  launcher.launch(
      ordered_blocks_kernel(),
      launcher.over_pieces(pieces(shape.n_entries, width) * pieces(n_blocks, 16 / width), ordered_sum_threads), launch);
  launcher.launch(ordered_finish_kernel(), launcher.over_elements(shape.n_entries), launch);
}

}  // namespace

Hints hints(const OneToOneProduct&, const GpuShape&) {
  return {};
}
Hints hints(const OneToOneGradient&, const GpuShape&) {
  return {};
}
Hints hints(const OneToOneInputGradient&, const GpuShape&) {
  return {};
}

void enqueue(const OneToOneProduct& op, Launcher& launcher) {
  if (op.synapse->dtype() == SYNFIRE_DTYPE_F64) return multiply<double>(op, launcher);
  multiply<float>(op, launcher);
}

void enqueue(const OneToOneGradient& op, Launcher& launcher) {
  if (op.synapse->spec().is_exact()) return sum_exactly(op, launcher);
  if (op.synapse->spec().has_contributions()) return sum_contributions(op, launcher);
  sum_in_order(op, launcher);
}

void enqueue(const OneToOneInputGradient& op, Launcher& launcher) {
  if (op.synapse->dtype() == SYNFIRE_DTYPE_F64) return scale_gradients<double>(op, launcher);
  scale_gradients<float>(op, launcher);
}

}  // namespace synfire::operations

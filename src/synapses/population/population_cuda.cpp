// The launches of population codes on a GPU.
#include "population.hpp"
#include "population_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>
#include <synapses/passes/synapse_arguments_of.hpp>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

namespace {

template <class R, class Op>
PopulationCells<R> cells_of(const Op& op) {
  return {rows_of(op),
          op.synapse->n_outputs(),
          op.synapse->spec().n_cells,
          numbers_of(op.input, op.extents, false),
          data_of<const R>(op.mu),
          data_of<const R>(op.sigma)};
}

template <class R>
void find_activities(const PopulationProduct& op, Launcher& launcher) {
  const PopulationCells<R> cells = cells_of<R>(op);
  launcher.launch(population_product_kernel<R>(), launcher.over_elements(cells.rows.count() * cells.n_outputs),
                  PopulationProductLaunch<R>{cells, rows_of<R>(op.output, cells.n_outputs)});
}

template <class R>
void find_contributions(const PopulationGradient& op, Launcher& launcher) {
  const PopulationCells<R> cells = cells_of<R>(op);
  const int64_t length = op.extents.batch * cells.n_outputs;
  auto* const of_mu = data_of<R>(op.contributions);
  launcher.launch(population_contributions_kernel<R>(), launcher.over_elements(length),
                  PopulationContributionsLaunch<R>{cells, rows_of<const R>(op.grad_output, cells.n_outputs), of_mu,
                                                   of_mu + length});
}

void sum_in_order(const PopulationGradient& op, Launcher& launcher) {
  const int64_t n_outputs = op.synapse->n_outputs();
  launcher.launch(population_sum_kernel(), launcher.over_elements(2 * n_outputs),
                  PopulationSumLaunch{rows_of(op),
                                      n_outputs,
                                      data_of<const double>(op.contributions),
                                      {data_of<double>(op.mu_gradient), data_of<double>(op.sigma_gradient)},
                                      op.add});
}

template <class R>
void find_input_gradients(const PopulationInputGradient& op, Launcher& launcher) {
  const PopulationCells<R> cells = cells_of<R>(op);
  launcher.launch(population_input_gradient_kernel<R>(), launcher.over_elements(cells.rows.count() * cells.n_inputs()),
                  PopulationInputGradientLaunch<R>{cells, rows_of<const R>(op.grad_output, cells.n_outputs),
                                                   rows_of<R>(op.grad_input, cells.n_inputs()), op.add});
}

}  // namespace

Hints hints(const PopulationProduct&, const GpuShape&) {
  return {};
}
Hints hints(const PopulationGradient&, const GpuShape&) {
  return {};
}
Hints hints(const PopulationInputGradient&, const GpuShape&) {
  return {};
}

void enqueue(const PopulationProduct& op, Launcher& launcher) {
  if (op.synapse->dtype() == SYNFIRE_DTYPE_F64) return find_activities<double>(op, launcher);
  find_activities<float>(op, launcher);
}

void enqueue(const PopulationGradient& op, Launcher& launcher) {
  if (op.synapse->dtype() == SYNFIRE_DTYPE_F64) {
    find_contributions<double>(op, launcher);
    return sum_in_order(op, launcher);
  }
  if (does(op.entry, SumEntry::maxima)) find_contributions<float>(op, launcher);
  const RowSums sums[] = {row_sums_of(op, 0), row_sums_of(op, 1)};
  enqueue_row_sums(sums, op.entry, launcher);
}

void enqueue(const PopulationInputGradient& op, Launcher& launcher) {
  if (op.synapse->dtype() == SYNFIRE_DTYPE_F64) return find_input_gradients<double>(op, launcher);
  find_input_gradients<float>(op, launcher);
}

}  // namespace synfire::operations

#include "population_kernels.hpp"

#include "population_arithmetic.hpp"

#include <synapses/passes/input_numbers.cuh>

namespace synfire::cuda {
namespace {

using namespace synfire::operations;

template <class R>
__global__ void __launch_bounds__(threads_per_block)
    population_product(const __grid_constant__ PopulationProductLaunch<R> launch) {
  wait_for_previous();
  const PopulationCells<R>& cells = launch.cells;
  const int64_t active = cells.rows.active();
  for (int64_t i = first_element(); i < cells.rows.count() * cells.n_outputs; i += stride()) {
    const RowIndex at = row_index(i, cells.n_outputs);
    const RowIndex row = row_index(at.t, cells.rows.batch);
    R result = R(0);
    if (row.b < active) {
      const R x = number<R>(cells.input, row, row_index(at.b, cells.n_cells).t);
      result = cell_activity(cell_distance(x, cells.mu[at.b], cells.sigma[at.b]));
    }
    launch.output.row(row)[at.b] = result;
  }
}

template <class R>
__global__ void __launch_bounds__(threads_per_block)
    population_contributions(const __grid_constant__ PopulationContributionsLaunch<R> launch) {
  wait_for_previous();
  const PopulationCells<R>& cells = launch.cells;
  const int64_t n_elements = cells.rows.active() * cells.n_outputs;
  for (int64_t i = first_element(); i < n_elements; i += stride()) {
    const RowIndex at = row_index(i, cells.n_outputs);  // of [B, N]
    const int64_t k = row_index(at.b, cells.n_cells).t;
    const R mu = cells.mu[at.b], sigma = cells.sigma[at.b];
    double of_mu = 0, of_sigma = 0;
#pragma unroll 4
    for (int64_t t = cells.rows.n_steps - 1; t >= 0; --t) {
      const RowIndex row = {t, at.t};
      const R gradient = launch.grad_output.row(row)[at.b];
      const CellSlopes<R> slopes = cell_slopes(number<R>(cells.input, row, k), mu, sigma);
      of_mu = add_slope(of_mu, gradient, slopes.of_mu);
      of_sigma = add_slope(of_sigma, gradient, slopes.of_sigma);
    }
    launch.of_mu[i] = static_cast<R>(of_mu);
    launch.of_sigma[i] = static_cast<R>(of_sigma);
  }
}

__global__ void __launch_bounds__(threads_per_block)
    population_sum(const __grid_constant__ PopulationSumLaunch launch) {
  wait_for_previous();
  const int64_t active = launch.rows.active();
  for (int64_t i = first_element(); i < 2 * launch.n_outputs; i += stride()) {
    const int64_t which = i < launch.n_outputs ? 0 : 1, n = i - which * launch.n_outputs;
    const double* const contributions = launch.contributions + which * launch.rows.batch * launch.n_outputs + n;
    double sum = 0;
    for (int64_t b = 0; b < active; ++b) sum = sum + contributions[b * launch.n_outputs];
    double& to = launch.gradients[which][n];
    to = launch.add ? to + sum : sum;
  }
}

template <class R>
__global__ void __launch_bounds__(threads_per_block)
    population_input_gradient(const __grid_constant__ PopulationInputGradientLaunch<R> launch) {
  wait_for_previous();
  const PopulationCells<R>& cells = launch.cells;
  const int64_t active = cells.rows.active();
  for (int64_t i = first_element(); i < cells.rows.count() * cells.n_inputs(); i += stride()) {
    const RowIndex at = row_index(i, cells.n_inputs());
    const RowIndex row = row_index(at.t, cells.rows.batch);
    R& to = launch.grad_input.row(row)[at.b];
    if (row.b < active) {
      const R x = number<R>(cells.input, row, at.b);
      const R* const gradients = launch.grad_output.row(row);
      double sum = 0;
      for (int64_t n = at.b * cells.n_cells; n < (at.b + 1) * cells.n_cells; ++n)
        sum = add_slope(sum, -gradients[n], cell_slopes(x, cells.mu[n], cells.sigma[n]).of_mu);
      const R gradient = static_cast<R>(sum);
      to = launch.add ? to + gradient : gradient;
    } else if (!launch.add) {
      to = R(0);
    }
  }
}

}  // namespace

template <class R>
const void* population_product_kernel() {
  return address(population_product<R>);
}
template const void* population_product_kernel<float>();
template const void* population_product_kernel<double>();

template <class R>
const void* population_contributions_kernel() {
  return address(population_contributions<R>);
}
template const void* population_contributions_kernel<float>();
template const void* population_contributions_kernel<double>();

const void* population_sum_kernel() {
  return address(population_sum);
}

template <class R>
const void* population_input_gradient_kernel() {
  return address(population_input_gradient<R>);
}
template const void* population_input_gradient_kernel<float>();
template const void* population_input_gradient_kernel<double>();

}  // namespace synfire::cuda

#include "input_numbers_twin.hpp"
#include "twin.hpp"

#include <synapses/population/population_arithmetic.hpp>
#include <synapses/population/population_kernels.hpp>

namespace synfire::cuda {
namespace {

using namespace synfire::operations;

template <class R>
R input_of_cell(const PopulationCells<R>& cells, int64_t t, int64_t b, int64_t n) {
  return number<R>(cells.input, t, b, n / cells.n_cells);
}

}  // namespace

template <class R>
const void* population_product_kernel() {
  return twin<PopulationProductLaunch<R>>({}, [](const PopulationProductLaunch<R>& launch) {
    const PopulationCells<R>& cells = launch.cells;
    for (int64_t t = 0; t < cells.rows.n_steps; ++t)
      for (int64_t b = 0; b < cells.rows.batch; ++b)
        for (int64_t n = 0; n < cells.n_outputs; ++n)
          launch.output.row({t, b})[n] =
              b < cells.rows.active()
                  ? cell_activity(cell_distance(input_of_cell(cells, t, b, n), cells.mu[n], cells.sigma[n]))
                  : R(0);
  });
}
template const void* population_product_kernel<float>();
template const void* population_product_kernel<double>();

template <class R>
const void* population_contributions_kernel() {
  return twin<PopulationContributionsLaunch<R>>({}, [](const PopulationContributionsLaunch<R>& launch) {
    const PopulationCells<R>& cells = launch.cells;
    for (int64_t b = 0; b < cells.rows.active(); ++b)
      for (int64_t n = 0; n < cells.n_outputs; ++n) {
        double of_mu = 0, of_sigma = 0;
        for (int64_t t = cells.rows.n_steps - 1; t >= 0; --t) {
          const CellSlopes<R> slopes = cell_slopes(input_of_cell(cells, t, b, n), cells.mu[n], cells.sigma[n]);
          of_mu = add_slope(of_mu, launch.grad_output.row({t, b})[n], slopes.of_mu);
          of_sigma = add_slope(of_sigma, launch.grad_output.row({t, b})[n], slopes.of_sigma);
        }
        launch.of_mu[b * cells.n_outputs + n] = static_cast<R>(of_mu);
        launch.of_sigma[b * cells.n_outputs + n] = static_cast<R>(of_sigma);
      }
  });
}
template const void* population_contributions_kernel<float>();
template const void* population_contributions_kernel<double>();

const void* population_sum_kernel() {
  return twin<PopulationSumLaunch>({}, [](const PopulationSumLaunch& launch) {
    const double* contributions = launch.contributions;
    for (double* const gradients : launch.gradients) {
      for (int64_t n = 0; n < launch.n_outputs; ++n) {
        double sum = 0;
        for (int64_t b = 0; b < launch.rows.active(); ++b) sum = sum + contributions[b * launch.n_outputs + n];
        gradients[n] = launch.add ? gradients[n] + sum : sum;
      }
      contributions += launch.rows.batch * launch.n_outputs;
    }
  });
}

template <class R>
const void* population_input_gradient_kernel() {
  return twin<PopulationInputGradientLaunch<R>>({}, [](const PopulationInputGradientLaunch<R>& launch) {
    const PopulationCells<R>& cells = launch.cells;
    for (int64_t t = 0; t < cells.rows.n_steps; ++t)
      for (int64_t b = 0; b < cells.rows.batch; ++b)
        for (int64_t k = 0; k < cells.n_inputs(); ++k) {
          R& to = launch.grad_input.row({t, b})[k];
          if (b >= cells.rows.active()) {
            if (!launch.add) to = R(0);
            continue;
          }
          double sum = 0;
          for (int64_t n = k * cells.n_cells; n < (k + 1) * cells.n_cells; ++n) {
            const R x = number<R>(cells.input, t, b, k);
            sum = add_slope(sum, -launch.grad_output.row({t, b})[n], cell_slopes(x, cells.mu[n], cells.sigma[n]).of_mu);
          }
          to = launch.add ? to + static_cast<R>(sum) : static_cast<R>(sum);
        }
  });
}
template const void* population_input_gradient_kernel<float>();
template const void* population_input_gradient_kernel<double>();

}  // namespace synfire::cuda

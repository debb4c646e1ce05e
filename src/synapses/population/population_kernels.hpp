// The kernels of population codes, as the host code sees them. R is float or double.
#ifndef SYNFIRE_SYNAPSES_POPULATION_POPULATION_KERNELS_HPP
#define SYNFIRE_SYNAPSES_POPULATION_POPULATION_KERNELS_HPP

#include <synapses/passes/input_numbers.hpp>
#include <synapses/passes/synapse_rows.hpp>

namespace synfire::cuda {

// Outputs of a row; output n is a cell of input n / n_cells.
template <class R>
struct PopulationCells {
  SequenceRows rows;
  int64_t n_outputs, n_cells;
  InputNumbers input;
  const R *mu, *sigma;  // [n_outputs]

  SYNFIRE_MODEL_FN int64_t n_inputs() const { return input.extents.n_neurons; }
};

// A thread for each output of each row.
template <class R>
struct PopulationProductLaunch {
  PopulationCells<R> cells;
  RowArray<R> output;
};
template <class R>
const void* population_product_kernel();

// A thread for each output of an active row, which adds its terms from the last step back, in f64.
template <class R>
struct PopulationContributionsLaunch {
  PopulationCells<R> cells;
  RowArray<const R> grad_output;
  R *of_mu, *of_sigma;  // [B, N]
};
template <class R>
const void* population_contributions_kernel();

// f64: a thread for each array and output, which adds the contributions in the order of the rows.
struct PopulationSumLaunch {
  SequenceRows rows;
  int64_t n_outputs;
  const double* contributions;  // [2, B, N]
  double* gradients[2];         // [N], of mu and sigma
  bool add;
};
const void* population_sum_kernel();

// A thread for each input of each row, which adds the terms of its cells in f64.
template <class R>
struct PopulationInputGradientLaunch {
  PopulationCells<R> cells;
  RowArray<const R> grad_output;
  RowArray<R> grad_input;
  bool add;
};
template <class R>
const void* population_input_gradient_kernel();

}  // namespace synfire::cuda

#endif

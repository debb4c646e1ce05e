#include "population_host_kernels.hpp"

#include "population_arithmetic.hpp"

namespace synfire::host::SYNFIRE_MODEL_LEVEL {
namespace {

using namespace synfire::operations;

template <class R>
void product(R* __restrict output, const R* __restrict input, const R* __restrict mu, const R* __restrict sigma,
             int count) {
  for (int i = 0; i < count; ++i) output[i] = cell_activity(cell_distance(input[i], mu[i], sigma[i]));
}

template <class R>
void slopes(R* __restrict of_mu, R* __restrict of_sigma, const R* __restrict input, const R* __restrict mu,
            const R* __restrict sigma, int count) {
  for (int i = 0; i < count; ++i) {
    const CellSlopes<R> slopes = cell_slopes(input[i], mu[i], sigma[i]);
    of_mu[i] = slopes.of_mu;
    of_sigma[i] = slopes.of_sigma;
  }
}

template <class R>
void add(double* __restrict sums, const R* __restrict gradients, const R* __restrict slopes, int count) {
  for (int i = 0; i < count; ++i) sums[i] = add_slope(sums[i], gradients[i], slopes[i]);
}

}  // namespace

extern const PopulationKernels population_kernels;
const PopulationKernels population_kernels = {{product<float>, slopes<float>, add<float>},
                                              {product<double>, slopes<double>, add<double>}};

}  // namespace synfire::host::SYNFIRE_MODEL_LEVEL

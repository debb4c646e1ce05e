// The inner loops of population codes, compiled once for each instruction level.
#ifndef SYNFIRE_SYNAPSES_POPULATION_POPULATION_HOST_KERNELS_HPP
#define SYNFIRE_SYNAPSES_POPULATION_POPULATION_HOST_KERNELS_HPP

#include <backends/host/level.hpp>

#include <cstdint>

namespace synfire::host {

// For `count` cells, whose inputs are repeated for each of them.
template <class R>
struct PopulationLoops {
  // output[i] is the activity of cell i.
  void (*product)(R* output, const R* input, const R* mu, const R* sigma, int count);
  // of_mu[i] is dy/dmu, and of_sigma[i] dy/dsigma.
  void (*slopes)(R* of_mu, R* of_sigma, const R* input, const R* mu, const R* sigma, int count);
  // sums[i] = fma(gradients[i], slopes[i], sums[i]) in f64.
  void (*add)(double* sums, const R* gradients, const R* slopes, int count);
};

struct PopulationKernels {
  PopulationLoops<float> f32;
  PopulationLoops<double> f64;
};

SYNFIRE_LEVEL_TABLES(PopulationKernels, population_kernels)

}  // namespace synfire::host

#endif

// The arithmetic of population codes, which processors, kernels and twins share.
#ifndef SYNFIRE_SYNAPSES_POPULATION_POPULATION_ARITHMETIC_HPP
#define SYNFIRE_SYNAPSES_POPULATION_POPULATION_ARITHMETIC_HPP

#include <synfire/model/elementary.hpp>

namespace synfire::operations {

// How far x is from the place of a cell, in widths.
template <class R>
SYNFIRE_MODEL_FN R cell_distance(R x, R mu, R sigma) {
  return (x - mu) / sigma;
}

template <class R>
SYNFIRE_MODEL_FN R cell_activity(R distance) {
  return model::exponential(R(-0.5) * (distance * distance));
}

// dy/dmu, which is -dy/dx, and dy/dsigma.
template <class R>
struct CellSlopes {
  R of_mu, of_sigma;
};
template <class R>
SYNFIRE_MODEL_FN CellSlopes<R> cell_slopes(R x, R mu, R sigma) {
  const R distance = cell_distance(x, mu, sigma);
  const R of_mu = cell_activity(distance) * distance / sigma;
  return {of_mu, of_mu * distance};
}

// The terms of all gradients are added in f64, where products of two f32 are exact.
template <class R>
SYNFIRE_MODEL_FN double add_slope(double sum, R gradient, R slope) {
  return model::fma(static_cast<double>(gradient), static_cast<double>(slope), sum);
}

}  // namespace synfire::operations

#endif

// Surrogate derivatives g'(x), x = H − v_threshold: what backward uses in place of the derivative of the spike's step.
// Each is defined for every x, infinite ones included, and 0 for a NaN; finite for every allowed parameter, in f32 too;
// and switches between its pieces by selection. Parameters are run-time values.
//
// | family            | surrogates                                                                                  |
// | ----------------- | ------------------------------------------------------------------------------------------- |
// | exponential tails | sigmoid, piecewise_exp, erf                                                                 |
// | power tails       | atan, soft_sign, super_spike, q_pseudo_spike, nonzero_sign_log_abs, fake_numerical_gradient |
// | one-sided         | s2nn, log_tailed_relu, leaky_k_relu                                                         |
// | windows           | piecewise_quadratic, rect, piecewise_leaky_relu                                             |
// | periodic          | squarewave_fourier_series                                                                   |
#ifndef SYNFIRE_MODEL_SURROGATES_HPP
#define SYNFIRE_MODEL_SURROGATES_HPP

#include "surrogates/exponential_tails.hpp"
#include "surrogates/one_sided.hpp"
#include "surrogates/periodic.hpp"
#include "surrogates/power_tails.hpp"
#include "surrogates/windows.hpp"

#endif

// Surrogate derivatives g'(x), x = H − v_threshold: backward uses them in place of the derivative of the step function.
// Each is defined for every x, including infinity, and is 0 for NaN. It is finite for every allowed parameter, in f32
// too, and selects between its pieces without branches. Parameters are run-time values. Each family has a header in
// surrogates/:
//
// | family            | surrogates                                                                                  |
// | ----------------- | ------------------------------------------------------------------------------------------- |
// | exponential tails | sigmoid, piecewise_exp, erf, multi_gaussian                                                 |
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

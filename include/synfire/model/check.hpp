// Runs a model's or a surrogate's functions on random arguments and compares the derivatives that dual numbers give with
// central differences. For texts that are loaded at run time; the same code on host and GPU.
#ifndef SYNFIRE_MODEL_CHECK_HPP
#define SYNFIRE_MODEL_CHECK_HPP

#include "added.hpp"
#include "describe.hpp"
#include "update.hpp"

SYNFIRE_MODEL_BEGIN

// SplitMix64 (Steele, Lea and Flood 2014).
struct CheckRandom {
  u64 state;

  SYNFIRE_MODEL_FN double uniform(double low, double high) {
    u64 z = (state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    z ^= z >> 31;
    return low + (high - low) * (static_cast<double>(z >> 11) * 1.1102230246251565e-16);
  }
};

SYNFIRE_MODEL_FN bool finite(double x) {
  return absolute(x) <= unbounded;
}
SYNFIRE_MODEL_FN bool finite(float x) {
  return absolute(x) <= 3.4028234663852886e38f;
}

SYNFIRE_MODEL_FN void note_error(CheckResult& result, double derivative, double difference, int function, int along) {
  // A derivative or a difference that is not finite counts elsewhere.
  if (!finite(derivative) || !finite(difference)) return;
  const double error = absolute(derivative - difference) / (1.0 + absolute(derivative));
  if (error <= result.largest_error) return;
  result.largest_error = error;
  result.worst_function = function;
  result.worst_along = along;
}

// A parameter near its default, inside its range.
template <class T>
SYNFIRE_MODEL_FN void draw_parameters(CheckRandom& random, const double* defaults, const double* minima,
                                      const double* maxima, double* parameters) {
  for (int p = 0; p < T::n_parameters; ++p) {
    const double wanted = defaults[p] + random.uniform(-0.2, 0.2) * (absolute(defaults[p]) + 0.1);
    const double low = minima[p] + (defaults[p] - minima[p]) * 0.1, high = maxima[p] - (maxima[p] - defaults[p]) * 0.1;
    parameters[p] = wanted < low ? low : wanted > high ? high : wanted;
  }
}

// All arguments of a step: the variables, X, H, S, v_threshold.
template <class Model, class R>
struct CheckPoint {
  StateOf<Model, R> state;
  R x, h, s, v_threshold;

  template <int Along>
  SYNFIRE_MODEL_FN R& at() {
    if constexpr (Along == 0)
      return state.v;
    else if constexpr (Along > 0)
      return state.w[Along - 1];
    else if constexpr (Along == along_input)
      return x;
    else if constexpr (Along == along_h)
      return h;
    else if constexpr (Along == along_v_threshold)
      return v_threshold;
    else
      return s;
  }
};

// Function K of the model (0: H, checked_threshold: the threshold) on numbers or dual numbers.
template <class Model, int K, class As, class C, class R>
SYNFIRE_MODEL_FN auto function_of(const C* c, const CheckPoint<Model, R>& p) {
  if constexpr (K == 0)
    return charge_as<Model, As>(c, p.state, p.x);
  else if constexpr (K == checked_threshold)
    return threshold_as<Model, As>(c, p.v_threshold, p.state);
  else
    return adapt_as<Model, K, As>(c, p.state, p.x, p.h, p.s);
}

template <class Model, int K, int Along, class R>
SYNFIRE_MODEL_FN R slope_of(const R* constants, const CheckPoint<Model, R>& p) {
  Dual<R, Zero> c[Model::n_constants > 0 ? Model::n_constants : 1];
  for (int k = 0; k < Model::n_constants; ++k) c[k] = constant(constants[k]);
  return number<R>(function_of<Model, K, AsDuals<Along>>(c, p).derivative);
}

template <class Model, int K, int Along>
SYNFIRE_MODEL_FN void check_slope(const double* constants, const CheckPoint<Model, double>& p, CheckResult& result) {
  CheckPoint<Model, double> up = p, down = p;
  const double width = 1e-5 * (1.0 + absolute(up.template at<Along>()));
  up.template at<Along>() += width;
  down.template at<Along>() -= width;
  const double distance = up.template at<Along>() - down.template at<Along>();
  const double difference =
      (function_of<Model, K, AsNumbers>(constants, up) - function_of<Model, K, AsNumbers>(constants, down)) / distance;
  const double slope = slope_of<Model, K, Along>(constants, p);
  note_error(result, slope, difference, K, Along);
  // Checks the model's own statements about its slopes.
  if (!slope_reads_input<Model>) {
    CheckPoint<Model, double> other = p;
    other.x += 0.7;
    if (slope_of<Model, K, Along>(constants, other) != slope) result.wrong_slope_reads_input = 1;
  }
  if (Model::n_states > 1 && K != checked_threshold && !slope_reads_w<Model>) {
    CheckPoint<Model, double> other = p;
    for (int k = 0; k < n_further_states<Model>; ++k) other.state.w[k] += 0.7;
    if (slope_of<Model, K, Along>(constants, other) != slope) result.wrong_slope_reads_w = 1;
  }
}

// In f32, as layers compute.
template <class Model, int K, int Along>
SYNFIRE_MODEL_FN void check_finite(const float* constants, const CheckPoint<Model, float>& p, CheckResult& result) {
  if (!finite(slope_of<Model, K, Along>(constants, p))) ++result.n_non_finite;
}

template <class Model, int K>
SYNFIRE_MODEL_FN void check_function(const double* constants, const float* narrow, const CheckPoint<Model, double>& p,
                                     const CheckPoint<Model, float>& q, CheckResult& result) {
  if (!finite(function_of<Model, K, AsNumbers>(narrow, q))) ++result.n_non_finite;
  const auto both = [&]<int Along>() {
    check_slope<Model, K, Along>(constants, p, result);
    check_finite<Model, K, Along>(narrow, q, result);
  };
  both.template operator()<0>();
  both.template operator()<along_input>();
  if constexpr (K > 0) both.template operator()<along_h>();
  if constexpr (K > 0) both.template operator()<along_spike>();
  if constexpr (Model::n_states > 1) both.template operator()<1>();
  if constexpr (Model::n_states > 2) both.template operator()<2>();
  if constexpr (Model::n_states > 3) both.template operator()<3>();
  if constexpr (K == checked_threshold) both.template operator()<along_v_threshold>();
}

// The gradient along each parameter, through derive().
template <class Model, int K>
SYNFIRE_MODEL_FN void check_parameters(const double* parameters, const CheckPoint<Model, double>& p,
                                       CheckResult& result) {
  double slopes[max_slope_rows * max_model_constants], constants[first_model_constant + max_model_constants];
  derive_slopes<Model>(parameters, false, slopes);
  derive_own<Model>(parameters, false, constants);
  for (int at = 0; at < Model::n_parameters; ++at) {
    Dual<double, double> c[Model::n_constants > 0 ? Model::n_constants : 1];
    for (int k = 0; k < Model::n_constants; ++k)
      c[k] = {constants[first_model_constant + k], slopes[at * max_model_constants + k]};
    const double slope = number<double>(function_of<Model, K, AsDuals<along_nothing>>(c, p).derivative);
    double values[2], moved[max_parameters];
    const double width = 1e-6 * (absolute(parameters[at]) + 1e-3);
    for (int side = 0; side < 2; ++side) {
      for (int i = 0; i < max_own_parameters; ++i) moved[i] = parameters[i];
      moved[at] += side == 0 ? width : -width;
      double c_moved[first_model_constant + max_model_constants];
      derive_own<Model>(moved, false, c_moved);
      values[side] = function_of<Model, K, AsNumbers>(static_cast<const double*>(c_moved + first_model_constant), p);
    }
    note_error(result, slope, (values[0] - values[1]) / (2 * width), K, 100 + at);
  }
}

template <class Model, int K = 0>
SYNFIRE_MODEL_FN void check_functions(const double* parameters, const double* constants, const float* narrow,
                                      const CheckPoint<Model, double>& p, const CheckPoint<Model, float>& q,
                                      CheckResult& result) {
  if constexpr (K <= n_further_states<Model>) {
    check_function<Model, K>(constants, narrow, p, q, result);
    check_parameters<Model, K>(parameters, p, result);
    check_functions<Model, K + 1>(parameters, constants, narrow, p, q, result);
  } else if constexpr (AdaptsThreshold<Model>) {
    check_function<Model, checked_threshold>(constants, narrow, p, q, result);
    check_parameters<Model, checked_threshold>(parameters, p, result);
  }
}

// `defaults`, `minima` and `maxima` are the model's own, as numbers, because GPUs do not read its tables.
template <class Model>
SYNFIRE_MODEL_FN void check_model(u64 seed, s64 n_samples, const double* defaults, const double* minima,
                                  const double* maxima, CheckResult& result) {
  CheckRandom random = {seed};
  for (s64 i = 0; i < n_samples; ++i) {
    double parameters[max_parameters], constants[first_model_constant + max_model_constants];
    draw_parameters<Model>(random, defaults, minima, maxima, parameters);
    parameters[Model::n_parameters] = 1.0;
    parameters[Model::n_parameters + 1] = 0.0;
    derive_own<Model>(parameters, false, constants);
    float narrow[max_model_constants] = {};
    for (int k = 0; k < Model::n_constants; ++k) narrow[k] = static_cast<float>(constants[first_model_constant + k]);
    CheckPoint<Model, double> p = {};
    CheckPoint<Model, float> q = {};
    p.state.v = random.uniform(-2, 2);
    for (int k = 0; k < n_further_states<Model>; ++k) p.state.w[k] = random.uniform(-2, 2);
    p.x = random.uniform(-2, 2);
    p.h = random.uniform(-2, 2);
    p.s = random.uniform(0, 1) < 0.5 ? 0.0 : 1.0;
    p.v_threshold = 1.0;
    q.state.v = static_cast<float>(p.state.v);
    for (int k = 0; k < n_further_states<Model>; ++k) q.state.w[k] = static_cast<float>(p.state.w[k]);
    q.x = static_cast<float>(p.x);
    q.h = static_cast<float>(p.h);
    q.s = static_cast<float>(p.s);
    q.v_threshold = 1.0f;
    check_functions<Model>(parameters, constants + first_model_constant, narrow, p, q, result);
  }
  result.n_samples = n_samples;
}

// A surrogate: finite everywhere, 0 for a NaN; against its primitive if it has one.
template <class Surrogate>
SYNFIRE_MODEL_FN void check_surrogate(u64 seed, s64 n_samples, const double* defaults, const double* minima,
                                      const double* maxima, CheckResult& result) {
  CheckRandom random = {seed};
  for (s64 i = 0; i < n_samples; ++i) {
    double parameters[max_surrogate_constants + 1], constants[max_surrogate_constants];
    draw_parameters<Surrogate>(random, defaults, minima, maxima, parameters);
    Surrogate::derive(static_cast<const double*>(parameters), static_cast<double*>(constants));
    float narrow[max_surrogate_constants] = {};
    for (int k = 0; k < Surrogate::n_constants; ++k) narrow[k] = static_cast<float>(constants[k]);
    const double x = random.uniform(-3, 3);
    const float infinity = from_bits(0x7F800000u), nothing = from_bits(0x7FC00000u);
    const float at[] = {static_cast<float>(x), 0.0f, -0.0f, 1e30f, -1e30f, infinity, -infinity};
    for (const float each : at)
      if (!finite(Surrogate::derivative(static_cast<const float*>(narrow), each))) ++result.n_non_finite;
    if (Surrogate::derivative(static_cast<const float*>(narrow), nothing) != 0.0f) ++result.n_non_finite;
    if constexpr (HasPrimitive<Surrogate>) {
      const double width = 1e-5;
      const double difference = (Surrogate::primitive(static_cast<const double*>(constants), x + width) -
                                 Surrogate::primitive(static_cast<const double*>(constants), x - width)) /
                                (2 * width);
      note_error(result, Surrogate::derivative(static_cast<const double*>(constants), x), difference, checked_primitive,
                 along_h);
    }
  }
  result.n_samples = n_samples;
}

SYNFIRE_MODEL_END

#endif

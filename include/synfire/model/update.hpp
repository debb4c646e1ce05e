// How replays update a layer's parameters: one step of gradient descent, and the constants that depend on the new
// values. The same code runs on host and GPU, in f64 throughout, so that both give the same bits.
//
// An update is p ← clamp(p − rate·gradient), with one rounding before the clamp. If a constant of the model's formula
// is then not finite in the layer's arithmetic R, p moves back towards its old value until all of them are.
#ifndef SYNFIRE_MODEL_UPDATE_HPP
#define SYNFIRE_MODEL_UPDATE_HPP

#include "models.hpp"

// A function that is called, because each model has one: copies in one place would be megabytes and large stack frames.
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define SYNFIRE_MODEL_CALLED __host__ __device__ __noinline__
#else
#define SYNFIRE_MODEL_CALLED inline __attribute__((noinline))
#endif

SYNFIRE_MODEL_BEGIN

template <class R>
constexpr double largest_number = 0;
template <>
inline constexpr double largest_number<float> = 3.4028234663852886e38;
template <>
inline constexpr double largest_number<double> = unbounded;

// Calls f with the entry of this id, on a GPU too.
template <class F, class... Entries>
SYNFIRE_MODEL_FN void visit_anywhere(List<Entries...>, int id, F f) {
  (void)((Entries::id == id ? (f(Entries{}), true) : false) || ...);
}

template <class Model>
constexpr u32 find_reciprocal_names() {
  u32 mask = 0;
  for (int i = 0; i < Model::n_parameters; ++i)
    if (Model::parameters[i].reciprocal_name) mask |= 1u << i;
  return mask;
}

constexpr int count_bits(u32 mask) {
  int count = 0;
  for (; mask != 0; mask >>= 1) count += static_cast<int>(mask & 1u);
  return count;
}

// Bit i is set if parameter i has a second name, for its reciprocal.
template <class Model>
inline constexpr u32 reciprocal_names = find_reciprocal_names<Model>();
// Rows of slopes: one per parameter, then one per second name.
template <class Model>
inline constexpr int slope_rows = Model::n_parameters + count_bits(reciprocal_names<Model>);

// ---- constants ------------------------------------------------------------------------------------------------------

// The constants of one neuron, v_threshold, v_reset and those of the model's formula, from its parameters in order. In a
// model that never fires, V begins at 0.
template <class Model>
SYNFIRE_MODEL_FN void derive_own(const double* parameters, bool undecayed_input, double* constants) {
  constants[constant_v_threshold] =
      is_silent<Model> ? threshold_of_silence(Model::n_states) : parameters[Model::n_parameters];
  constants[constant_v_reset] = is_silent<Model> ? 0.0 : parameters[Model::n_parameters + 1];
  Model::derive(parameters, undecayed_input, constants + first_model_constant);
}

// Slopes [row, max_model_constants] of the model's constants: along each parameter, then along each reciprocal with
// d/d(1/p) = −p²·d/dp.
template <class Model>
SYNFIRE_MODEL_FN void derive_slopes(const double* parameters, bool undecayed_input, double* slopes) {
  using Number = Dual<double, double>;
  constexpr u32 reciprocals = reciprocal_names<Model>;
  for (int i = 0; i < max_slope_rows * max_model_constants; ++i) slopes[i] = 0.0;
  int extra = Model::n_parameters;
  SYNFIRE_MODEL_ROLLED
  for (int p = 0; p < Model::n_parameters; ++p) {
    Number values[max_slope_rows], constants[max_model_constants];
    for (int i = 0; i < Model::n_parameters; ++i) values[i] = {parameters[i], i == p ? 1.0 : 0.0};
    Model::derive(static_cast<const Number*>(values), undecayed_input, constants);
    for (int k = 0; k < Model::n_constants; ++k) slopes[p * max_model_constants + k] = constants[k].derivative;
    if ((reciprocals >> p & 1u) == 0) continue;
    for (int k = 0; k < Model::n_constants; ++k)
      slopes[extra * max_model_constants + k] = -parameters[p] * parameters[p] * constants[k].derivative;
    ++extra;
  }
}

// A constant in the type of the kernels. Parameters that are each allowed may have a product that overflows; the
// constant is then the largest number of its sign.
template <class R>
SYNFIRE_MODEL_FN R held(double constant) {
  constexpr double largest = largest_number<R>;
  return static_cast<R>(constant > largest ? largest : constant < -largest ? -largest : constant);
}

// ---- one update -----------------------------------------------------------------------------------------------------

// Maps doubles to integers in the same order: those of two neighbours differ by one.
SYNFIRE_MODEL_FN u64 rank_of(double x) {
  const u64 bits = bits_of(x);
  return (bits >> 63) != 0 ? ~bits : bits | (u64(1) << 63);
}
SYNFIRE_MODEL_FN double of_rank(u64 rank) {
  return from_bits((rank >> 63) != 0 ? rank & ~(u64(1) << 63) : ~rank);
}

// True if every constant derived from these parameters is finite in R.
template <class Model, class R>
SYNFIRE_MODEL_CALLED bool constants_are_finite(const double* parameters, bool undecayed_input) {
  double constants[first_model_constant + max_model_constants];
  derive_own<Model>(parameters, undecayed_input, constants);
  for (int k = is_silent<Model> ? first_model_constant : 0; k < first_model_constant + Model::n_constants; ++k)
    if (!(absolute(constants[k]) <= largest_number<R>)) return false;
  return true;
}

// Updates parameter `index` and returns its new value. A gradient that is not finite changes nothing.
template <class Model, class R>
SYNFIRE_MODEL_CALLED double descend(double* parameters, int index, const Descent& descent, double gradient, double rate,
                                    bool undecayed_input) {
  const double old = parameters[index];
  if (!(absolute(gradient) <= unbounded)) return old;
  double wanted = fma(-rate, gradient, descent.reciprocal ? 1.0 / old : old);
  if (wanted != wanted) return old;
  wanted = wanted < descent.lower ? descent.lower : wanted > descent.upper ? descent.upper : wanted;
  double next = descent.reciprocal ? 1.0 / wanted : wanted;
  next = next < descent.minimum ? descent.minimum : next > descent.maximum ? descent.maximum : next;
  parameters[index] = next;
  if (constants_are_finite<Model, R>(parameters, undecayed_input)) return next;
  // Bisects the doubles in between, at most 64 times, for the nearest value at which the constants are finite.
  u64 good = rank_of(old), bad = rank_of(next);
  while (good + 1 < bad || bad + 1 < good) {
    const u64 middle = good < bad ? good + (bad - good) / 2 : bad + (good - bad) / 2;
    parameters[index] = of_rank(middle);
    if (constants_are_finite<Model, R>(parameters, undecayed_input))
      good = middle;
    else
      bad = middle;
  }
  return parameters[index] = of_rank(good);
}

SYNFIRE_MODEL_END

#endif

// Shared by the surrogates: decreasing functions that are 0 at infinity and for NaN, and the bounds of parameters.
#ifndef SYNFIRE_MODEL_SURROGATES_TAILS_HPP
#define SYNFIRE_MODEL_SURROGATES_TAILS_HPP

#include "../elementary.hpp"
#include "../layout.hpp"

namespace synfire::model {

// No surrogate leaves the range of f32 as long as its parameters are within ±10³⁰ and those by which it divides are
// above 10⁻³⁰.
inline constexpr double largest_parameter = 1e30;
inline constexpr double smallest_divisor = 1e-30;

}  // namespace synfire::model

SYNFIRE_MODEL_BEGIN

// e⁻ᶻ for z ≥ 0; 0 for ∞ and for a NaN.
template <class R>
SYNFIRE_MODEL_FN R decay(R z) {
  const R e = exponential_inside(-z);
  return z <= -smallest_exponent<R> ? e : R(0);
}

// 2⁻ᶻ for z ≥ 0; 0 for z > 124 (f32), for ∞ and for a NaN.
SYNFIRE_MODEL_FN float decay_by_halves(float z) {
  const float e = power_of_two_inside(-z);
  return z <= 124.0f ? e : 0.0f;
}
SYNFIRE_MODEL_FN double decay_by_halves(double z) {
  return decay(0.693147180559945309417 * z);
}

// 1/d for d ≥ 10⁻³⁰; 0 from d = 10³⁰ on, where the range of reciprocal() ends, and for NaN. Only finite numbers are
// multiplied.
template <class R>
SYNFIRE_MODEL_FN R reciprocal_or_zero(R d) {
  const R bounded = d < R(1e30) ? d : R(1e30);  // also for a NaN
  const R kept = d < R(1e30) ? R(1) : R(0);
  return kept * reciprocal(bounded);
}

SYNFIRE_MODEL_END

#endif

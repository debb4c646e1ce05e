// Resonate-and-fire: a damped oscillation that fires when it swings high enough, so that the neuron responds to input
// at its own frequency (Izhikevich 2001, "Resonate-and-fire neurons"). V is the imaginary part of the paper's complex
// variable, like a potential, and the current its real part:
//
//     U    = (1 − damping)·current[t−1] − omega·V[t−1] + X[t]
//     H[t] = (1 − damping)·V[t−1] + omega·U
//     current[t] = U·(1 − S[t])
//
// omega is the angle of a step in radians, so that a period is about 2π/omega steps; damping is the part of the
// amplitude that a step takes, exactly, because H sees the current after its half of the rotation (semi-implicit
// Euler). X, the current and V have the unit of the threshold. A spike resets the current to 0 and V to v_reset; the
// paper resets V to 1. The reset of the current keeps its surrogate gradient when the reset is detached.
#ifndef RESONATE_AND_FIRE_HPP
#define RESONATE_AND_FIRE_HPP

#include <synfire/model/dual.hpp>
#include <synfire/model/layout.hpp>

SYNFIRE_MODEL_BEGIN

// [resonate_and_fire]
struct ResonateAndFire {
  static constexpr const char* name = "resonate_and_fire";
  static constexpr int n_states = 2;
  static constexpr const char* states[n_states] = {"v", "current"};
  static constexpr int n_parameters = 2;
  static constexpr int n_constants = 2;  // 1 − damping, omega
  static constexpr double default_v_reset = 0.0;
  static constexpr bool has_input_decay = false;
  static constexpr bool slope_reads_input = false;
  static constexpr bool slope_reads_w = true;  // ∂current/∂S is −U
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"omega", 0.25, 0.0, 1.0, true, nullptr, "radians/step"},
      {"damping", 0.02, 0.0, 1.0, false, nullptr, "1/step"},
  };

  template <class T>
  static SYNFIRE_MODEL_FN void derive(const T* values, bool /*undecayed_input*/, T* constants) {
    constants[0] = Lift<T>::from(1.0) - values[1];
    constants[1] = values[0];
  }

  // U: the current after the step, before its reset.
  template <class C, class V, class Current, class X>
  static SYNFIRE_MODEL_FN auto rotated(const C* constants, V v, Current current, X x) {
    return fma(-constants[1], v, fma(constants[0], current, x));
  }
  template <class C, class V, class Current, class X>
  static SYNFIRE_MODEL_FN auto charge(const C* constants, V v, Current current, X x) {
    return fma(constants[1], rotated(constants, v, current, x), constants[0] * v);
  }
  template <class C, class V, class Current, class X, class H, class S>
  static SYNFIRE_MODEL_FN auto adapt(const C* constants, V v, Current current, X x, H /*h*/, S s) {
    const auto u = rotated(constants, v, current, x);
    return fma(-s, u, u);
  }
};
// [resonate_and_fire]

SYNFIRE_MODEL_END

#endif

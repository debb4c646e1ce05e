// Izhikevich, in the adaptive-quadratic form with linear adaptation W (Izhikevich 2003, 2007; forward Euler, step 1):
//
//     H[t] = V[t−1] + (X[t] + a0·(V[t−1] − v_rest)·(V[t−1] − v_c) − W[t−1])/tau
//     W[t] = W[t−1] + (a·(H[t] − v_rest) − W[t−1])/tau_w + b·S[t]
//
// tau and tau_w are time constants in steps, v_rest is the resting and v_c the critical potential, a0 > 0 the
// sharpness, a the coupling of W to the potential, and b the amount that a spike adds to W. b·S is adaptation, not
// reset: it keeps its surrogate gradient when the reset is detached. W starts at 0.
#ifndef SYNFIRE_MODEL_IZHIKEVICH_HPP
#define SYNFIRE_MODEL_IZHIKEVICH_HPP

#include "dual.hpp"
#include "layout.hpp"

SYNFIRE_MODEL_BEGIN

struct Izhikevich {
  static constexpr const char* name = "izhikevich";
  static constexpr int n_states = 2;
  static constexpr int n_parameters = 7;
  static constexpr int n_constants = 7;  // 1/tau, a0/tau, v_rest, v_c, 1 − 1/tau_w, a/tau_w, b
  static constexpr double default_v_reset = 0.0;
  static constexpr bool has_input_decay = false;
  static constexpr bool slope_reads_input = false;
  static constexpr bool slope_reads_w = false;
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"tau", 2.0, 0.0, unbounded, true, nullptr, "steps"},
      {"v_c", 0.8, -unbounded, unbounded, false, nullptr, "potential"},
      {"a0", 1.0, 0.0, unbounded, true, nullptr, "1/potential"},
      {"v_rest", -0.1, -unbounded, unbounded, false, nullptr, "potential"},
      {"tau_w", 2.0, 0.0, unbounded, true, nullptr, "steps"},
      {"a", 0.0, -unbounded, unbounded, false, nullptr, "W/potential"},
      {"b", 0.0, -unbounded, unbounded, false, nullptr, "W/spike"},
  };

  template <class T>
  static SYNFIRE_MODEL_FN void derive(const T* values, bool /*undecayed_input*/, T* constants) {
    const T reciprocal_tau = inverse(values[0]), v_c = values[1], a0 = values[2], v_rest = values[3];
    const T reciprocal_tau_w = inverse(values[4]), a = values[5], b = values[6];
    constants[0] = reciprocal_tau;
    constants[1] = a0 * reciprocal_tau;
    constants[2] = v_rest;
    constants[3] = v_c;
    constants[4] = Lift<T>::from(1.0) - reciprocal_tau_w;
    constants[5] = a * reciprocal_tau_w;
    constants[6] = b;
  }

  template <class C, class V, class W, class X>
  static SYNFIRE_MODEL_FN auto charge(const C* constants, V v, W w, X x) {
    return fma(constants[1] * (v - constants[2]), v - constants[3], fma(constants[0], x - w, v));
  }

  // W after the step; s is the spike as a number.
  template <class C, class W, class H, class S>
  static SYNFIRE_MODEL_FN auto adapt(const C* constants, W w, H h, S s) {
    return fma(constants[6], s, fma(constants[5], h - constants[2], constants[4] * w));
  }
};

SYNFIRE_MODEL_END

#endif

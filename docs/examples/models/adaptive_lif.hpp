// Adaptive LIF: a current W that each spike increases, and that follows the potential, works against the input, so
// that the neuron fires ever more slowly (Gerstner, Kistler, Naud and Paninski 2014, "Neuronal Dynamics", chapter 6;
// trained by Bittar and Garner 2022, "A surrogate gradient spiking baseline for speech command recognition"; forward
// Euler, step 1):
//
//     H[t] = V[t−1] + (X[t] − W[t−1] − (V[t−1] − v_rest))/tau
//     H[t] = V[t−1] − (V[t−1] − v_rest)/tau + X[t] − W[t−1]        with undecayed input
//     W[t] = W[t−1] + (a·(H[t] − v_rest) − W[t−1])/tau_w + b·S[t]
//
// tau and tau_w are time constants in steps, v_rest is the potential towards which V leaks, a the coupling of W to the
// potential, and b what a spike adds to W. X, W and V have the unit of the threshold. W begins at 0; b·S is adaptation,
// not reset, and keeps its surrogate gradient when the reset is detached.
#ifndef ADAPTIVE_LIF_HPP
#define ADAPTIVE_LIF_HPP

#include <synfire/model/dual.hpp>
#include <synfire/model/layout.hpp>

SYNFIRE_MODEL_BEGIN

// [adaptive_lif]
struct AdaptiveLif {
  static constexpr const char* name = "adaptive_lif";
  static constexpr int n_states = 2;
  static constexpr int n_parameters = 5;
  static constexpr int n_constants = 7;  // 1 − 1/tau, 1/tau or 1, v_rest/tau, v_rest, 1 − 1/tau_w, a/tau_w, b
  static constexpr double default_v_reset = 0.0;
  static constexpr bool has_input_decay = true;
  static constexpr bool slope_reads_input = false;
  static constexpr bool slope_reads_w = false;
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"tau", 10.0, 0.0, unbounded, true, nullptr, "steps"},
      {"tau_w", 60.0, 0.0, unbounded, true, nullptr, "steps"},
      {"a", 0.0, -unbounded, unbounded, false, nullptr, "W/potential"},
      {"b", 0.2, -unbounded, unbounded, false, nullptr, "W/spike"},
      {"v_rest", 0.0, -unbounded, unbounded, false, nullptr, "potential"},
  };

  template <class T>
  static SYNFIRE_MODEL_FN void derive(const T* values, bool undecayed_input, T* constants) {
    const T one = Lift<T>::from(1.0), reciprocal_tau = inverse(values[0]), reciprocal_tau_w = inverse(values[1]);
    const T a = values[2], b = values[3], v_rest = values[4];
    constants[0] = one - reciprocal_tau;
    constants[1] = undecayed_input ? one : reciprocal_tau;
    constants[2] = v_rest * reciprocal_tau;
    constants[3] = v_rest;
    constants[4] = one - reciprocal_tau_w;
    constants[5] = a * reciprocal_tau_w;
    constants[6] = b;
  }

  template <class C, class V, class W, class X>
  static SYNFIRE_MODEL_FN auto charge(const C* constants, V v, W w, X x) {
    return fma(constants[0], v, fma(constants[1], x - w, constants[2]));
  }
  // W after the step; s is the spike as a number.
  template <class C, class W, class H, class S>
  static SYNFIRE_MODEL_FN auto adapt(const C* constants, W w, H h, S s) {
    return fma(constants[6], s, fma(constants[5], h - constants[3], constants[4] * w));
  }
};
// [adaptive_lif]

SYNFIRE_MODEL_END

#endif

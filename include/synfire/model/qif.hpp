// QIF, the quadratic integrate-and-fire neuron (Ermentrout 1996; Latham et al. 2000; forward Euler with a step of 1):
//
//     H[t] = V[t−1] + (X[t] + a0·(V[t−1] − v_rest)·(V[t−1] − v_c))/tau
//
// tau is the membrane time constant in steps, v_rest the resting potential, v_c the critical potential above which V
// grows by itself, and a0 > 0 the sharpness of the growth.
#ifndef SYNFIRE_MODEL_QIF_HPP
#define SYNFIRE_MODEL_QIF_HPP

#include "dual.hpp"
#include "layout.hpp"

SYNFIRE_MODEL_BEGIN

struct Qif {
  static constexpr const char* name = "qif";
  static constexpr int n_states = 1;
  static constexpr int n_parameters = 4;
  static constexpr int n_constants = 4;  // 1/tau, a0/tau, v_rest, v_c
  static constexpr double default_v_reset = -0.1;
  static constexpr bool has_input_decay = false;
  static constexpr bool slope_reads_input = false;
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"tau", 2.0, 0.0, unbounded, true, nullptr, "steps"},
      {"v_c", 0.8, -unbounded, unbounded, false, nullptr, "potential"},
      {"a0", 1.0, 0.0, unbounded, true, nullptr, "1/potential"},
      {"v_rest", 0.0, -unbounded, unbounded, false, nullptr, "potential"},
  };

  template <class T>
  static SYNFIRE_MODEL_FN void derive(const T* values, bool /*undecayed_input*/, T* constants) {
    const T reciprocal_tau = inverse(values[0]), v_c = values[1], a0 = values[2], v_rest = values[3];
    constants[0] = reciprocal_tau;
    constants[1] = a0 * reciprocal_tau;
    constants[2] = v_rest;
    constants[3] = v_c;
  }

  template <class C, class V, class X>
  static SYNFIRE_MODEL_FN auto charge(const C* constants, V v, X x) {
    return fma(constants[1] * (v - constants[2]), v - constants[3], fma(constants[0], x, v));
  }
};

SYNFIRE_MODEL_END

#endif

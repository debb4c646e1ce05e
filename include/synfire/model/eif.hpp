// EIF, the exponential integrate-and-fire neuron (Fourcaud-Trocmé et al. 2003; forward Euler with a step of 1):
//
//     H[t] = V[t−1] + (X[t] − V[t−1] + v_rest + delta_T·exp((V[t−1] − theta_rh)/delta_T))/tau
//
// tau is the membrane time constant in steps, v_rest the resting potential, theta_rh the rheobase threshold, above
// which the exponential dominates, and delta_T > 0 its sharpness in units of the potential.
#ifndef SYNFIRE_MODEL_EIF_HPP
#define SYNFIRE_MODEL_EIF_HPP

#include "dual.hpp"
#include "layout.hpp"

SYNFIRE_MODEL_BEGIN

struct Eif {
  static constexpr const char* name = "eif";
  static constexpr int n_states = 1;
  static constexpr int n_parameters = 4;
  static constexpr int n_constants = 6;  // 1 − 1/tau, 1/tau, v_rest/tau, delta_T/tau, 1/delta_T, −theta_rh/delta_T
  static constexpr double default_v_reset = -0.1;
  static constexpr bool has_input_decay = false;
  static constexpr bool slope_reads_input = false;
  static constexpr bool many_instructions = true;  // the exponential makes a pass compute-bound
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"tau", 2.0, 0.0, unbounded, true, nullptr, "steps"},
      {"delta_T", 1.0, 0.0, unbounded, true, nullptr, "potential"},
      {"theta_rh", 0.8, -unbounded, unbounded, false, nullptr, "potential"},
      {"v_rest", 0.0, -unbounded, unbounded, false, nullptr, "potential"},
  };

  template <class T>
  static SYNFIRE_MODEL_FN void derive(const T* values, bool /*undecayed_input*/, T* constants) {
    const T reciprocal_tau = inverse(values[0]), delta_t = values[1], theta_rh = values[2], v_rest = values[3];
    constants[0] = Lift<T>::from(1.0) - reciprocal_tau;
    constants[1] = reciprocal_tau;
    constants[2] = v_rest * reciprocal_tau;
    constants[3] = delta_t * reciprocal_tau;
    constants[4] = inverse(delta_t);
    constants[5] = -(theta_rh * inverse(delta_t));
  }

  template <class C, class V, class X>
  static SYNFIRE_MODEL_FN auto charge(const C* constants, V v, X x) {
    const auto leaky = fma(constants[0], v, fma(constants[1], x, constants[2]));
    return fma(constants[3], exponential(fma(constants[4], v, constants[5])), leaky);
  }
};

SYNFIRE_MODEL_END

#endif

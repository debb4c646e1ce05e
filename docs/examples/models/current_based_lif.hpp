// A LIF neuron whose input is a synaptic current: each X adds to the current I, which decays by itself and charges the
// membrane (Gerstner, Kistler, Naud and Paninski 2014, "Neuronal Dynamics", chapters 1 and 3; trained by Neftci,
// Mostafa and Zenke 2019, "Surrogate gradient learning in spiking neural networks"; forward Euler, step 1):
//
//     I[t] = I[t−1] − I[t−1]/tau_syn + X[t]
//     H[t] = V[t−1] + (I[t] − (V[t−1] − v_rest))/tau
//     H[t] = V[t−1] − (V[t−1] − v_rest)/tau + I[t]        with undecayed input
//
// tau and tau_syn are the time constants of membrane and current in steps, v_rest is the potential towards which V
// leaks. X, I and V have the unit of the threshold. tau_syn = 1 is a LIF. I begins at 0 and is not reset.
#ifndef CURRENT_BASED_LIF_HPP
#define CURRENT_BASED_LIF_HPP

#include <synfire/model/dual.hpp>
#include <synfire/model/layout.hpp>

SYNFIRE_MODEL_BEGIN

// [current_based_lif]
struct CurrentBasedLif {
  static constexpr const char* name = "current_based_lif";
  static constexpr int n_states = 2;
  static constexpr const char* states[n_states] = {"v", "current"};
  static constexpr int n_parameters = 3;
  static constexpr int n_constants = 4;  // 1 − 1/tau, 1/tau or 1, v_rest/tau, 1 − 1/tau_syn
  static constexpr double default_v_reset = 0.0;
  static constexpr bool has_input_decay = true;
  static constexpr bool slope_reads_input = false;
  static constexpr bool slope_reads_w = false;
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"tau", 10.0, 0.0, unbounded, true, nullptr, "steps"},
      {"tau_syn", 5.0, 1.0, unbounded, false, nullptr, "steps"},
      {"v_rest", 0.0, -unbounded, unbounded, false, nullptr, "potential"},
  };

  template <class T>
  static SYNFIRE_MODEL_FN void derive(const T* values, bool undecayed_input, T* constants) {
    const T one = Lift<T>::from(1.0), reciprocal_tau = inverse(values[0]), v_rest = values[2];
    constants[0] = one - reciprocal_tau;
    constants[1] = undecayed_input ? one : reciprocal_tau;
    constants[2] = v_rest * reciprocal_tau;
    constants[3] = one - inverse(values[1]);
  }

  template <class C, class V, class Current, class X>
  static SYNFIRE_MODEL_FN auto charge(const C* constants, V v, Current current, X x) {
    return fma(constants[0], v, fma(constants[1], fma(constants[3], current, x), constants[2]));
  }
  // The current after the step. It reads X, so it has the form with all variables.
  template <class C, class V, class Current, class X, class H, class S>
  static SYNFIRE_MODEL_FN auto adapt(const C* constants, V /*v*/, Current current, X x, H /*h*/, S /*s*/) {
    return fma(constants[3], current, x);
  }
};
// [current_based_lif]

SYNFIRE_MODEL_END

#endif

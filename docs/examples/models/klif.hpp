// KLIF, a leaky integrate-and-fire neuron whose membrane is scaled by a learnable k and rectified (Jiang and Zhang
// 2023, "KLIF: An optimized spiking neuron unit for tuning surrogate gradient slope and membrane potential"):
//
//     H[t] = relu(relu_k·(V[t−1] + (X[t] − (V[t−1] − v_rest))/tau))
//     H[t] = relu(relu_k·(V[t−1] − (V[t−1] − v_rest)/tau + X[t]))       with undecayed input
//
// relu_k > 0 has no unit, tau is the membrane time constant in steps, v_rest the potential towards which V leaks.
// Where the membrane is pushed below 0, H is 0 and carries no gradient. relu_k is the paper's k, a name that
// leaky_k_relu's parameter already has.
#ifndef KLIF_HPP
#define KLIF_HPP

#include <synfire/model/dual.hpp>
#include <synfire/model/layout.hpp>

SYNFIRE_MODEL_BEGIN

// [klif]
struct Klif {
  static constexpr const char* name = "klif";
  static constexpr int n_states = 1;
  static constexpr int n_parameters = 3;
  static constexpr int n_constants = 3;  // k·(1 − 1/tau), k/tau or k, k·v_rest/tau
  static constexpr double default_v_reset = 0.0;
  static constexpr bool has_input_decay = true;
  static constexpr bool slope_reads_input = true;  // X decides on which side of the rectifier it is
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"tau", 2.0, 0.0, unbounded, true, nullptr, "steps"},
      {"relu_k", 1.0, 0.0, unbounded, true, nullptr, ""},
      {"v_rest", 0.0, -unbounded, unbounded, false, nullptr, "potential"},
  };

  template <class T>
  static SYNFIRE_MODEL_FN void derive(const T* values, bool undecayed_input, T* constants) {
    const T reciprocal_tau = inverse(values[0]), k = values[1], v_rest = values[2];
    constants[0] = k * (Lift<T>::from(1.0) - reciprocal_tau);
    constants[1] = undecayed_input ? k : k * reciprocal_tau;
    constants[2] = k * (v_rest * reciprocal_tau);
  }

  template <class C, class V, class X>
  static SYNFIRE_MODEL_FN auto charge(const C* constants, V v, X x) {
    return positive_part(fma(constants[0], v, fma(constants[1], x, constants[2])));
  }
};
// [klif]

SYNFIRE_MODEL_END

#endif

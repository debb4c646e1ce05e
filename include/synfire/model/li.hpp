// LI, the leaky integrator: LIF's charge without spikes and without reset. The usual readout of a network.
//
//     decayed input:    H[t] = V[t−1] + (X[t] − (V[t−1] − v_rest))/tau
//     undecayed input:  H[t] = V[t−1] − (V[t−1] − v_rest)/tau + X[t]
//     V[t] = H[t]
//
// The parameters, the constants and their rounding are those of LIF (lif.hpp). The integrator is LI without a leak:
//
//     H[t] = V[t−1] + gain·X[t]
#ifndef SYNFIRE_MODEL_LI_HPP
#define SYNFIRE_MODEL_LI_HPP

#include "lif.hpp"

SYNFIRE_MODEL_BEGIN

struct Li {
  static constexpr const char* name = "li";
  static constexpr int n_states = 1;
  static constexpr int n_parameters = Lif::n_parameters;
  static constexpr int n_constants = Lif::n_constants;
  static constexpr double default_v_reset = 0.0;  // unused: there is no v_reset, and V begins at 0
  static constexpr bool has_input_decay = true;
  static constexpr bool slope_reads_input = false;
  static constexpr bool never_fires = true;
  static constexpr ParameterSpec parameters[n_parameters] = {Lif::parameters[0], Lif::parameters[1]};

  template <class T>
  static SYNFIRE_MODEL_FN void derive(const T* values, bool undecayed_input, T* constants) {
    Lif::derive(values, undecayed_input, constants);
  }

  template <class C, class V, class X>
  static SYNFIRE_MODEL_FN auto charge(const C* constants, V v, X x) {
    return Lif::charge(constants, v, x);
  }
};

// fma(1, V, fma(gain, X, −0)), as IF (if.hpp).
struct Integrator {
  static constexpr const char* name = "integrator";
  static constexpr int n_states = 1;
  static constexpr int n_parameters = 1;
  static constexpr int n_constants = Lif::n_constants;
  static constexpr double default_v_reset = 0.0;
  static constexpr bool has_input_decay = false;
  static constexpr bool slope_reads_input = false;
  static constexpr bool never_fires = true;
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"gain", 1.0, -unbounded, unbounded, false, nullptr, "potential/X"},
  };

  template <class T>
  static SYNFIRE_MODEL_FN void derive(const T* values, bool /*undecayed_input*/, T* constants) {
    constants[0] = Lift<T>::from(1.0);
    constants[1] = values[0];
    constants[2] = Lift<T>::from(-0.0);
  }

  template <class C, class V, class X>
  static SYNFIRE_MODEL_FN auto charge(const C* constants, V v, X x) {
    return Lif::charge(constants, v, x);
  }
};

SYNFIRE_MODEL_END

#endif

// LIF, the leaky integrate-and-fire neuron (Abbott 1999; discretised by forward Euler with a step of 1), and PLIF (Fang
// et al. 2021), which is the same neuron with its leak 1/tau as the learned parameter:
//
//     decayed input:    H[t] = V[t−1] + (X[t] − (V[t−1] − v_rest))/tau
//     undecayed input:  H[t] = V[t−1] − (V[t−1] − v_rest)/tau + X[t]
//
// tau is the membrane time constant in steps, v_rest the leak target. Both forms are H = decay·V + gain·X + drive with
// decay = 1 − 1/tau, gain = 1/tau or 1, and drive = v_rest/tau. Only decay·V depends on the previous step, so the
// latency of a step is one fused multiply-add.
#ifndef SYNFIRE_MODEL_LIF_HPP
#define SYNFIRE_MODEL_LIF_HPP

#include "dual.hpp"
#include "layout.hpp"

SYNFIRE_MODEL_BEGIN

struct Lif {
  static constexpr const char* name = "lif";
  static constexpr int n_states = 1;
  static constexpr int n_parameters = 2;
  static constexpr int n_constants = 3;  // decay, gain, drive
  static constexpr double default_v_reset = 0.0;
  static constexpr bool has_input_decay = true;
  static constexpr bool slope_reads_input = false;
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"tau", 2.0, 0.0, unbounded, true, nullptr, "steps"},
      {"v_rest", 0.0, -unbounded, unbounded, false, nullptr, "potential"},
  };

  template <class T>
  static SYNFIRE_MODEL_FN void derive(const T* values, bool undecayed_input, T* constants) {
    const T reciprocal_tau = inverse(values[0]), v_rest = values[1], one = Lift<T>::from(1.0);
    constants[0] = one - reciprocal_tau;
    constants[1] = undecayed_input ? one : reciprocal_tau;
    constants[2] = v_rest * reciprocal_tau;
  }

  template <class C, class V, class X>
  static SYNFIRE_MODEL_FN auto charge(const C* constants, V v, X x) {
    return fma(constants[0], v, fma(constants[1], x, constants[2]));
  }
};

// It stores reciprocal_tau = 1/tau. Any 1/tau > 0 is allowed, including those with tau < 1.
struct Plif {
  static constexpr const char* name = "plif";
  static constexpr int n_states = 1;
  static constexpr int n_parameters = 2;
  static constexpr int n_constants = Lif::n_constants;
  static constexpr double default_v_reset = 0.0;
  static constexpr bool has_input_decay = true;
  static constexpr bool slope_reads_input = false;
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"reciprocal_tau", 0.5, 0.0, unbounded, true, "tau", "1/steps", "steps"},
      {"v_rest", 0.0, -unbounded, unbounded, false, nullptr, "potential"},
  };

  template <class T>
  static SYNFIRE_MODEL_FN void derive(const T* values, bool undecayed_input, T* constants) {
    const T reciprocal_tau = values[0], v_rest = values[1], one = Lift<T>::from(1.0);
    constants[0] = one - reciprocal_tau;
    constants[1] = undecayed_input ? one : reciprocal_tau;
    constants[2] = v_rest * reciprocal_tau;
  }

  template <class C, class V, class X>
  static SYNFIRE_MODEL_FN auto charge(const C* constants, V v, X x) {
    return Lif::charge(constants, v, x);
  }
};

SYNFIRE_MODEL_END

#endif

// LIF, the leaky integrate-and-fire neuron (Abbott 1999; discretised by forward Euler with a step of 1):
//
//     decayed input:    H[t] = V[t−1] + (X[t] − (V[t−1] − v_rest))/tau
//     undecayed input:  H[t] = V[t−1] − (V[t−1] − v_rest)/tau + X[t]
//
// tau membrane time constant in steps, v_rest leak target. Both forms are one: H = decay·V + gain·X + drive with
// decay = 1 − 1/tau, gain = 1/tau or 1, drive = v_rest/tau. Only decay·V is on the path from step to step, so a step
// waits for one fused multiply-add.
#ifndef SYNFIRE_MODEL_LIF_HPP
#define SYNFIRE_MODEL_LIF_HPP

#include "dual.hpp"
#include "layout.hpp"

SYNFIRE_MODEL_BEGIN

struct Lif {
  static constexpr const char* name = "lif";
  static constexpr int n_parameters = 2;
  static constexpr int n_constants = 3;  // decay, gain, drive
  static constexpr double default_v_reset = 0.0;
  static constexpr bool has_input_decay = true;
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"tau", 2.0, 0.0, unbounded, true},
      {"v_rest", 0.0, -unbounded, unbounded, false},
  };

  static void derive(const double* values, bool undecayed_input, double* constants) {
    const double tau = values[0], v_rest = values[1];
    constants[0] = 1.0 - 1.0 / tau;
    constants[1] = undecayed_input ? 1.0 : 1.0 / tau;
    constants[2] = v_rest / tau;
  }

  template <class C, class V, class X>
  static SYNFIRE_MODEL_FN auto charge(const C* constants, V v, X x) {
    return fma(constants[0], v, fma(constants[1], x, constants[2]));
  }
};

SYNFIRE_MODEL_END

#endif

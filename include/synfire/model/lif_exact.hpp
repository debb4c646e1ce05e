// LIF, solved exactly for an input that is constant during each step (Rotter and Diesmann 1999), and the same without
// spikes:
//
//     decayed input:    H[t] = decay·V[t−1] + (1 − decay)·(v_rest + gain·X[t])
//     undecayed input:  H[t] = decay·V[t−1] + (1 − decay)·v_rest + gain·X[t]
//
// with decay = e^(−1/tau). tau is the membrane time constant in steps, v_rest the leak target, and gain the factor of X. LIF
// itself (lif.hpp) has 1 − 1/tau and 1/tau in place of decay and 1 − decay. The kernels are those of LIF and LI.
#ifndef SYNFIRE_MODEL_LIF_EXACT_HPP
#define SYNFIRE_MODEL_LIF_EXACT_HPP

#include "li.hpp"
#include "lif.hpp"

SYNFIRE_MODEL_BEGIN

// (1 − e^(−z))/z for z ≥ 0, the mean of e^(−z·s) for s from 0 to 1: up to 1 by its series, without cancellation.
template <class T>
SYNFIRE_MODEL_FN T mean_decay(T z) {
  const T one = Lift<T>::from(1.0);
  T series = one;
  SYNFIRE_MODEL_ROLLED
  for (int k = 18; k > 1; --k) series = fma(z * series, Lift<T>::from(-1.0 / k), one);
  return select(value_of(z) <= 1.0, series, (one - exponential(-z)) * inverse(z));
}

struct LifExact {
  static constexpr const char* name = "lif_exact";
  static constexpr int n_states = 1;
  static constexpr int n_parameters = 3;
  static constexpr int n_constants = Lif::n_constants;
  static constexpr double default_v_reset = 0.0;
  static constexpr bool has_input_decay = true;
  static constexpr bool slope_reads_input = false;
  static constexpr ParameterSpec parameters[n_parameters] = {
      Lif::parameters[0],
      Lif::parameters[1],
      {"gain", 1.0, -unbounded, unbounded, false, nullptr, "potential/X"},
  };

  template <class T>
  static SYNFIRE_MODEL_FN void derive(const T* values, bool undecayed_input, T* constants) {
    const T reciprocal_tau = inverse(values[0]), v_rest = values[1], gain = values[2];
    const T rise = reciprocal_tau * mean_decay(reciprocal_tau);  // 1 − decay
    constants[0] = exponential(-reciprocal_tau);
    constants[1] = undecayed_input ? gain : gain * rise;
    constants[2] = v_rest * rise;
  }

  template <class C, class V, class X>
  static SYNFIRE_MODEL_FN auto charge(const C* constants, V v, X x) {
    return Lif::charge(constants, v, x);
  }
};

struct LiExact : LifExact {
  static constexpr const char* name = "li_exact";
  static constexpr bool never_fires = true;
};

SYNFIRE_MODEL_END

#endif

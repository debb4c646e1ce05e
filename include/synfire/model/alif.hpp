// ALIF, LIF with an adaptive threshold (Bellec et al. 2018, "Long short-term memory and learning-to-learn in networks of
// spiking neurons"; Yin, Corradi and Bohte 2021): each spike raises the threshold, which then falls back.
//
//     H[t] = that of LIF
//     theta[t] = v_threshold + beta_a*a[t-1]
//     a[t] = rho*a[t-1] + (1 - rho)*S[t]
//
// a, the second variable, is the mean of past spikes with a memory of -1/ln(rho) steps and begins at 0; beta_a is how much
// of the threshold it moves, in units of the potential. A soft reset subtracts theta[t].
#ifndef SYNFIRE_MODEL_ALIF_HPP
#define SYNFIRE_MODEL_ALIF_HPP

#include "lif.hpp"

SYNFIRE_MODEL_BEGIN

struct Alif {
  static constexpr const char* name = "alif";
  static constexpr int n_states = 2;
  static constexpr const char* states[n_states] = {"v", "a"};
  static constexpr int n_parameters = 4;
  static constexpr int n_constants = Lif::n_constants + 3;  // those of LIF, rho, 1 - rho, beta_a
  static constexpr double default_v_reset = 0.0;
  static constexpr bool has_input_decay = true;
  static constexpr bool slope_reads_input = false;
  static constexpr bool slope_reads_w = false;
  static constexpr ParameterSpec parameters[n_parameters] = {
      Lif::parameters[0],
      Lif::parameters[1],
      {"rho", 0.99, 0.0, 1.0, false, nullptr, "fraction"},
      {"beta_a", 1.8, -unbounded, unbounded, false, nullptr, "potential"},
  };

  template <class T>
  static SYNFIRE_MODEL_FN void derive(const T* values, bool undecayed_input, T* constants) {
    Lif::derive(values, undecayed_input, constants);
    const T rho = values[2];
    constants[3] = rho;
    constants[4] = Lift<T>::from(1.0) - rho;
    constants[5] = values[3];
  }

  template <class C, class V, class A, class X>
  static SYNFIRE_MODEL_FN auto charge(const C* constants, V v, A /*a*/, X x) {
    return Lif::charge(constants, v, x);
  }

  template <class C, class A, class H, class S>
  static SYNFIRE_MODEL_FN auto adapt(const C* constants, A a, H /*h*/, S s) {
    return fma(constants[3], a, constants[4] * s);
  }

  // [threshold]
  template <class C, class T, class A>
  static SYNFIRE_MODEL_FN auto threshold(const C* constants, T v_threshold, A a) {
    return fma(constants[5], a, v_threshold);
  }
  // [threshold]
};

SYNFIRE_MODEL_END

#endif

// Current-based LIF: the input drives a synaptic current I, and I drives the membrane (Gerstner, Kistler, Naud and
// Paninski 2014, "Neuronal Dynamics", chapters 1 and 3; in discrete time: Neftci, Mostafa and Zenke 2019):
//
//     I[t] = alpha·I[t−1] + g·X[t]
//     H[t] = beta·V[t−1] + k·((1 − c)·I[t−1] + c·I[t]) + (1 − beta)·v_rest
//
// c is current_first: 1 updates the current before the membrane, 0 after it. A spike resets V and leaves I as it is. I begins
// at 0. tau and tau_syn are the time constants of the membrane and of the current in steps. By forward Euler with a step of 1,
//
//     alpha = 1 − 1/tau_syn    g = input_gain/tau_syn     beta = 1 − 1/tau     k = gain/tau
//
// and with undecayed input g = input_gain, k = gain. Solved exactly, with X as a jump of I and no input between jumps,
//
//     alpha = e^(−1/tau_syn)   g = (1 − alpha)·input_gain   beta = e^(−1/tau)   k = gain/tau·κ
//     κ = ∫ e^(−(1 − s)/tau)·e^(−s/tau_syn) ds, s from 0 to 1
//
// and with undecayed input g = input_gain, k = gain·κ (Rotter and Diesmann 1999). κ is the V at the end of a step that an I of
// 1 at its beginning leaves. All four models have the same dynamics of two linear variables, and one set of kernels. The
// models without spikes take it with a threshold that no H reaches (recursion.hpp).
#ifndef SYNFIRE_MODEL_CUBA_HPP
#define SYNFIRE_MODEL_CUBA_HPP

#include "lif_exact.hpp"

SYNFIRE_MODEL_BEGIN

struct CubaLif {
  static constexpr const char* name = "cuba_lif";
  static constexpr int n_states = 2;
  static constexpr const char* states[n_states] = {"v", "current"};
  static constexpr int n_parameters = 6;
  static constexpr int n_constants = 6;  // beta, k·c, k·(1 − c), (1 − beta)·v_rest, alpha, g
  static constexpr double default_v_reset = 0.0;
  static constexpr bool has_input_decay = true;
  static constexpr bool slope_reads_input = false;
  static constexpr bool slope_reads_w = false;
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"tau", 10.0, 1.0, unbounded, false, nullptr, "steps"},
      {"tau_syn", 5.0, 1.0, unbounded, false, nullptr, "steps"},
      {"v_rest", 0.0, -unbounded, unbounded, false, nullptr, "potential"},
      {"gain", 1.0, -unbounded, unbounded, false, nullptr, "potential/current"},
      {"input_gain", 1.0, -unbounded, unbounded, false, nullptr, "current/X"},
      {"current_first", 1.0, 0.0, 1.0, false, nullptr, "fraction"},
  };

  template <class T>
  static SYNFIRE_MODEL_FN void derive(const T* values, bool undecayed_input, T* constants) {
    const T one = Lift<T>::from(1.0), v_rest = values[2], gain = values[3], input_gain = values[4];
    const T reciprocal_tau = inverse(values[0]), reciprocal_tau_syn = inverse(values[1]);
    constants[0] = one - reciprocal_tau;
    share(undecayed_input ? gain : gain * reciprocal_tau, values[5], constants);
    constants[3] = v_rest * reciprocal_tau;
    constants[4] = one - reciprocal_tau_syn;
    constants[5] = undecayed_input ? input_gain : input_gain * reciprocal_tau_syn;
  }

  template <class C, class V, class I, class X>
  static SYNFIRE_MODEL_FN auto charge(const C* constants, V v, I current, X x) {
    const auto after = fma(constants[4], current, constants[5] * x);
    return fma(constants[0], v, fma(constants[1], after, fma(constants[2], current, constants[3])));
  }

  template <class C, class V, class I, class X, class H, class S>
  static SYNFIRE_MODEL_FN auto adapt(const C* constants, V /*v*/, I current, X x, H /*h*/, S /*s*/) {
    return fma(constants[4], current, constants[5] * x);
  }

 protected:
  // k for the current after the step and before it.
  template <class T>
  static SYNFIRE_MODEL_FN void share(T k, T current_first, T* constants) {
    constants[1] = k * current_first;
    constants[2] = k * (Lift<T>::from(1.0) - current_first);
  }
};

struct CubaLi : CubaLif {
  static constexpr const char* name = "cuba_li";
  static constexpr bool never_fires = true;
};

struct CubaLifExact : CubaLif {
  static constexpr const char* name = "cuba_lif_exact";
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"tau", 10.0, 0.0, unbounded, true, nullptr, "steps"},
      {"tau_syn", 5.0, 0.0, unbounded, true, nullptr, "steps"},
      CubaLif::parameters[2],
      CubaLif::parameters[3],
      CubaLif::parameters[4],
      CubaLif::parameters[5],
  };

  template <class T>
  static SYNFIRE_MODEL_FN void derive(const T* values, bool undecayed_input, T* constants) {
    const T v_rest = values[2], gain = values[3], input_gain = values[4];
    const T a = inverse(values[0]), b = inverse(values[1]);
    // κ is symmetric: e^(−a)·mean_decay(b − a) is e^(−b)·mean_decay(a − b), of which one has an argument of at least 0.
    const T kappa = exponential(-select(value_of(a) < value_of(b), a, b)) * mean_decay(absolute(a - b));
    constants[0] = exponential(-a);
    share(undecayed_input ? gain * kappa : gain * a * kappa, values[5], constants);
    constants[3] = v_rest * (a * mean_decay(a));
    constants[4] = exponential(-b);
    constants[5] = undecayed_input ? input_gain : input_gain * (b * mean_decay(b));
  }
};

struct CubaLiExact : CubaLifExact {
  static constexpr const char* name = "cuba_li_exact";
  static constexpr bool never_fires = true;
};

SYNFIRE_MODEL_END

#endif

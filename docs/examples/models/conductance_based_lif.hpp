// A LIF neuron with conductances: input above 0 opens excitatory channels and input below 0 inhibitory ones, which pull
// V towards their reversal potentials and close by themselves (Vogels and Abbott 2005, "Signal propagation and logic
// gating in networks of integrate-and-fire neurons"; forward Euler, step 1):
//
//     g_e[t] = g_e[t−1] − g_e[t−1]/tau_e + max(0, X[t])
//     g_i[t] = g_i[t−1] − g_i[t−1]/tau_i + max(0, −X[t])
//     H[t] = V[t−1] + (v_rest − V[t−1] + g_e[t]·(e_e − V[t−1]) + g_i[t]·(e_i − V[t−1]))/tau
//
// tau, tau_e and tau_i are time constants in steps. v_rest, e_e and e_i are potentials, in the unit of the threshold. X
// and the conductances are in units of the leak's; those begin at 0 and are not reset. A step is stable where
// 1 + g_e + g_i < 2·tau. The defaults are the paper's for steps of 1 ms, with 0 at rest (−60 mV) and 1 at the threshold
// (−50 mV).
#ifndef CONDUCTANCE_BASED_LIF_HPP
#define CONDUCTANCE_BASED_LIF_HPP

#include <synfire/model/dual.hpp>
#include <synfire/model/layout.hpp>

SYNFIRE_MODEL_BEGIN

// [conductance_based_lif]
struct ConductanceBasedLif {
  static constexpr const char* name = "conductance_based_lif";
  static constexpr int n_states = 3;
  static constexpr const char* states[n_states] = {"v", "g_e", "g_i"};
  static constexpr int n_parameters = 6;
  static constexpr int n_constants = 6;  // 1/tau, v_rest, e_e, e_i, 1 − 1/tau_e, 1 − 1/tau_i
  static constexpr double default_v_reset = 0.0;
  static constexpr bool has_input_decay = false;
  static constexpr bool slope_reads_input = true;  // the conductances open with X
  static constexpr bool slope_reads_w = true;
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"tau", 20.0, 0.0, unbounded, true, nullptr, "steps"},
      {"tau_e", 5.0, 1.0, unbounded, false, nullptr, "steps"},
      {"tau_i", 10.0, 1.0, unbounded, false, nullptr, "steps"},
      {"v_rest", 0.0, -unbounded, unbounded, false, nullptr, "potential"},
      {"e_e", 6.0, -unbounded, unbounded, false, nullptr, "potential"},
      {"e_i", -2.0, -unbounded, unbounded, false, nullptr, "potential"},
  };

  template <class T>
  static SYNFIRE_MODEL_FN void derive(const T* values, bool /*undecayed_input*/, T* constants) {
    const T one = Lift<T>::from(1.0);
    constants[0] = inverse(values[0]);
    constants[1] = values[3];
    constants[2] = values[4];
    constants[3] = values[5];
    constants[4] = one - inverse(values[1]);
    constants[5] = one - inverse(values[2]);
  }

  // A conductance after the step; `opened` is what X opens.
  template <class K, class G, class X>
  static SYNFIRE_MODEL_FN auto conductance(K kept, G g, X opened) {
    return fma(kept, g, positive_part(opened));
  }
  template <class C, class V, class E, class I, class X>
  static SYNFIRE_MODEL_FN auto charge(const C* c, V v, E g_e, I g_i, X x) {
    const auto excited = conductance(c[4], g_e, x);
    const auto inhibited = conductance(c[5], g_i, -x);
    return fma(c[0], fma(excited, c[2] - v, fma(inhibited, c[3] - v, c[1] - v)), v);
  }
  template <class C, class V, class E, class I, class X, class H, class S>
  static SYNFIRE_MODEL_FN auto adapt(const C* c, V /*v*/, E g_e, I /*g_i*/, X x, H /*h*/, S /*s*/) {
    return conductance(c[4], g_e, x);
  }
  template <class C, class V, class E, class I, class X, class H, class S>
  static SYNFIRE_MODEL_FN auto adapt_third(const C* c, V /*v*/, E /*g_e*/, I g_i, X x, H /*h*/, S /*s*/) {
    return conductance(c[5], g_i, -x);
  }
};
// [conductance_based_lif]

SYNFIRE_MODEL_END

#endif

// The neuron of Izhikevich 2003, "Simple model of spiking neurons", in millivolts and steps of 1 ms, as the program in
// the paper computes it: V in two half steps, then the recovery variable u.
//
//     V' = V[t−1] + ½·(0.04·V[t−1]² + 5·V[t−1] + 140 − u[t−1] + X[t])
//     H[t] = V' + ½·(0.04·V'² + 5·V' + 140 − u[t−1] + X[t])
//     u[t] = u[t−1] + a·(b·H[t] − u[t−1]) + d·S[t]
//
// a is the rate of recovery in 1/ms, b its sensitivity to V, d in mV what a spike adds to u. The paper's c is v_reset,
// its peak of 30 mV is v_threshold, which must be set: 1 is every model's default. X is in mV/ms. The reset must be
// hard. The paper lets u begin at b·V; here it begins at 0, so write it where the first spikes matter. A surrogate's
// width is in mV too. The defaults are those of a regular spiking neuron.
#ifndef IZHIKEVICH_2003_HPP
#define IZHIKEVICH_2003_HPP

#include <synfire/model/dual.hpp>
#include <synfire/model/layout.hpp>

SYNFIRE_MODEL_BEGIN

// [izhikevich_2003]
struct Izhikevich2003 {
  static constexpr const char* name = "izhikevich_2003";
  static constexpr int n_states = 2;
  static constexpr const char* states[n_states] = {"v", "u"};
  static constexpr int n_parameters = 3;
  static constexpr int n_constants = 7;  // 0.04/2, 5/2 + 1, 1/2, 140/2, 1 − a, a·b, d
  static constexpr double default_v_reset = -65.0;
  static constexpr bool has_input_decay = false;
  static constexpr bool slope_reads_input = true;  // the second half step begins where X has brought the first
  static constexpr bool slope_reads_w = true;
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"a", 0.02, 0.0, 1.0, false, nullptr, "1/ms"},
      {"b", 0.2, -unbounded, unbounded, false, nullptr, ""},
      {"d", 8.0, -unbounded, unbounded, false, nullptr, "mV/spike"},
  };

  template <class T>
  static SYNFIRE_MODEL_FN void derive(const T* values, bool /*undecayed_input*/, T* constants) {
    constants[0] = Lift<T>::from(0.02);
    constants[1] = Lift<T>::from(3.5);
    constants[2] = Lift<T>::from(0.5);
    constants[3] = Lift<T>::from(70.0);
    constants[4] = Lift<T>::from(1.0) - values[0];
    constants[5] = values[0] * values[1];
    constants[6] = values[2];
  }

  template <class C, class V, class U, class X>
  static SYNFIRE_MODEL_FN auto charge(const C* constants, V v, U u, X x) {
    const auto drive = fma(constants[2], x - u, constants[3]);
    const auto half = fma(fma(constants[0], v, constants[1]), v, drive);
    return fma(fma(constants[0], half, constants[1]), half, drive);
  }
  // u after the step; s is the spike as a number.
  template <class C, class U, class H, class S>
  static SYNFIRE_MODEL_FN auto adapt(const C* constants, U u, H h, S s) {
    return fma(constants[6], s, fma(constants[5], h, constants[4] * u));
  }
};
// [izhikevich_2003]

SYNFIRE_MODEL_END

#endif

// IF, the integrate-and-fire neuron (Lapicque 1907; Abbott 1999):
//
//     H[t] = V[t−1] + X[t]
//
// H is the charged potential, V the potential after reset and X the input, all in the units of the threshold. The model
// has no parameters of its own. It is LIF without a leak, fma(1, V, fma(1, X, −0)): adding −0 changes no number and a
// product with 1 is exact, so both forms have the same bits, and IF shares LIF's kernels.
#ifndef SYNFIRE_MODEL_IF_HPP
#define SYNFIRE_MODEL_IF_HPP

#include "dual.hpp"
#include "layout.hpp"
#include "lif.hpp"

SYNFIRE_MODEL_BEGIN

struct If {
  static constexpr const char* name = "if";
  static constexpr int n_states = 1;
  static constexpr int n_parameters = 0;
  static constexpr int n_constants = Lif::n_constants;
  static constexpr double default_v_reset = 0.0;
  static constexpr bool has_input_decay = false;
  static constexpr bool slope_reads_input = false;
  static constexpr const ParameterSpec* parameters = nullptr;

  template <class T>
  static SYNFIRE_MODEL_FN void derive(const T* /*values*/, bool /*undecayed_input*/, T* constants) {
    constants[0] = constants[1] = Lift<T>::from(1.0);
    constants[2] = Lift<T>::from(-0.0);
  }

  template <class C, class V, class X>
  static SYNFIRE_MODEL_FN auto charge(const C* /*constants*/, V v, X x) {
    return v + x;
  }
};

SYNFIRE_MODEL_END

#endif

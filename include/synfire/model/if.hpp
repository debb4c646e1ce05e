// IF, the integrate-and-fire neuron (Lapicque 1907; Abbott 1999):
//
//     H[t] = V[t−1] + X[t]
//
// H is the charged potential, V the potential after reset and X the input, all in the units of the threshold. The model
// has no parameters of its own.
#ifndef SYNFIRE_MODEL_IF_HPP
#define SYNFIRE_MODEL_IF_HPP

#include "dual.hpp"
#include "layout.hpp"

SYNFIRE_MODEL_BEGIN

struct If {
  static constexpr const char* name = "if";
  static constexpr int n_states = 1;
  static constexpr int n_parameters = 0;
  static constexpr int n_constants = 0;
  static constexpr double default_v_reset = 0.0;
  static constexpr bool has_input_decay = false;
  static constexpr bool slope_reads_input = false;
  static constexpr const ParameterSpec* parameters = nullptr;

  template <class T>
  static SYNFIRE_MODEL_FN void derive(const T* /*values*/, bool /*undecayed_input*/, T* /*constants*/) {}

  template <class C, class V, class X>
  static SYNFIRE_MODEL_FN auto charge(const C* /*constants*/, V v, X x) {
    return v + x;
  }
};

SYNFIRE_MODEL_END

#endif

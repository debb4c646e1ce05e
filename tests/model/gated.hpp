// A neuron with three variables for tests: conductances of excitatory and inhibitory input (g_e, g_i), each opened by
// its sign of X and closing by itself; g_e is also opened by the neuron's own spike.
//
//     H   = V + leak·(v_rest − V) + g_e·(e_e − V) + g_i·(e_i − V)
//     g_e = keep_e·g_e + max(0, X) + echo·S
//     g_i = keep_i·g_i + max(0, −X)
#ifndef GATED_HPP
#define GATED_HPP

#include <synfire/model/dual.hpp>
#include <synfire/model/layout.hpp>

SYNFIRE_MODEL_BEGIN

struct Gated {
  static constexpr const char* name = "gated";
  static constexpr int n_states = 3;
  static constexpr const char* states[n_states] = {"v", "g_e", "g_i"};
  static constexpr int n_parameters = 5;
  static constexpr int n_constants = 8;  // leak, v_rest·leak, e_e, e_i, keep_e, keep_i, echo, 0
  static constexpr double default_v_reset = -0.1;
  static constexpr bool has_input_decay = false;
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"tau", 10.0, 0.0, unbounded, true, nullptr, "steps"},
      {"v_rest", 0.0, -unbounded, unbounded, false, nullptr, "potential"},
      {"tau_e", 4.0, 0.0, unbounded, true, nullptr, "steps"},
      {"tau_i", 6.0, 0.0, unbounded, true, nullptr, "steps"},
      {"echo", 0.05, -unbounded, unbounded, false, nullptr, ""},
  };

  template <class T>
  static SYNFIRE_MODEL_FN void derive(const T* values, bool /*undecayed_input*/, T* constants) {
    const T leak = inverse(values[0]), one = Lift<T>::from(1.0);
    constants[0] = leak;
    constants[1] = values[1] * leak;
    constants[2] = Lift<T>::from(3.0);
    constants[3] = Lift<T>::from(-1.0);
    constants[4] = one - inverse(values[2]);
    constants[5] = one - inverse(values[3]);
    constants[6] = values[4];
    constants[7] = Lift<T>::from(0.0);
  }

  template <class C, class V, class E, class I, class X>
  static SYNFIRE_MODEL_FN auto charge(const C* c, V v, E g_e, I g_i, X /*x*/) {
    return fma(g_e, c[2] - v, fma(g_i, c[3] - v, fma(-c[0], v, c[1]) + v));
  }
  template <class C, class V, class E, class I, class X, class H, class S>
  static SYNFIRE_MODEL_FN auto adapt(const C* c, V /*v*/, E g_e, I /*g_i*/, X x, H /*h*/, S s) {
    return fma(c[6], s, fma(c[4], g_e, positive_part(x)));
  }
  template <class C, class V, class E, class I, class X, class H, class S>
  static SYNFIRE_MODEL_FN auto adapt_third(const C* c, V /*v*/, E /*g_e*/, I g_i, X x, H /*h*/, S /*s*/) {
    return fma(c[5], g_i, positive_part(-x));
  }
};

SYNFIRE_MODEL_END

#endif

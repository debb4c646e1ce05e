// A neuron with four variables for tests: an adaptation W, a trace u of H and S, and a trace z of the trace, all in the
// short form, so that they follow from H and a tape may store it.
//
//     H = keep·V + gain·X − W + b·u·z
//     W = decay·W + a·H + jump·S        u = fade·u + S        z = fade·z + a·H·H
#ifndef CASCADE_HPP
#define CASCADE_HPP

#include <synfire/model/dual.hpp>
#include <synfire/model/layout.hpp>

SYNFIRE_MODEL_BEGIN

struct Cascade {
  static constexpr const char* name = "cascade";
  static constexpr int n_states = 4;
  static constexpr const char* states[n_states] = {"v", "w", "u", "z"};
  static constexpr int n_parameters = 4;
  static constexpr int n_constants = 7;  // keep, gain, b, decay, a, jump, fade
  static constexpr double default_v_reset = 0.0;
  static constexpr bool has_input_decay = true;
  static constexpr bool slope_reads_input = false;
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"cascade_rate", 0.25, 0.0, 1.0, true, "cascade_tau", "1/steps", "steps"},
      {"a", 0.1, -unbounded, unbounded, false, nullptr, ""},
      {"b", 0.3, -unbounded, unbounded, false, nullptr, ""},
      {"fade", 0.8, 0.0, 1.0, false, nullptr, ""},
  };

  template <class T>
  static SYNFIRE_MODEL_FN void derive(const T* values, bool undecayed_input, T* constants) {
    const T one = Lift<T>::from(1.0);
    constants[0] = one - values[0];
    constants[1] = undecayed_input ? one : values[0];
    constants[2] = values[2];
    constants[3] = one - values[0] * values[0];
    constants[4] = values[1];
    constants[5] = values[1] + values[2];
    constants[6] = values[3];
  }

  template <class C, class V, class W, class U, class Z, class X>
  static SYNFIRE_MODEL_FN auto charge(const C* c, V v, W w, U u, Z z, X x) {
    return fma(c[2] * u, z, fma(c[0], v, fma(c[1], x, -w)));
  }
  template <class C, class W, class H, class S>
  static SYNFIRE_MODEL_FN auto adapt(const C* c, W w, H h, S s) {
    return fma(c[5], s, fma(c[3], w, c[4] * h));
  }
  template <class C, class U, class H, class S>
  static SYNFIRE_MODEL_FN auto adapt_third(const C* c, U u, H /*h*/, S s) {
    return fma(c[6], u, s);
  }
  template <class C, class Z, class H, class S>
  static SYNFIRE_MODEL_FN auto adapt_fourth(const C* c, Z z, H h, S /*s*/) {
    return fma(c[6], z, c[4] * (h * h));
  }
};

SYNFIRE_MODEL_END

#endif

// The derivatives of the neurons as on paper: of one step, along the state, the input and every parameter. Written
// from the formulas alone, without the library and without automatic differentiation.
//
//     IF          H = V + X
//     LIF         H = V + (X − (V − v_rest))/tau               undecayed: H = V − (V − v_rest)/tau + X
//     PLIF        LIF with r for 1/tau
//     QIF         H = V + (X + a0·(V − v_rest)·(V − v_c))/tau
//     EIF         H = V + (X − V + v_rest + delta_T·E)/tau,  E = exp((V − theta_rh)/delta_T)
//     Izhikevich  H = V + (X + a0·(V − v_rest)·(V − v_c) − W)/tau,  W' = W + (a·(H − v_rest) − W)/tau_w + b·S
//     LI          H of LIF
//     KLIF        H = max(0, relu_k·(the H of LIF)), of docs/examples/models; not built in
//
// The recursion through time is in tests/capi/closed_form_oracle.hpp.
#ifndef SYNFIRE_TESTS_MODEL_CLOSED_FORM_HPP
#define SYNFIRE_TESTS_MODEL_CLOSED_FORM_HPP

#include <cmath>
#include <vector>

namespace closed_form {

/// The ids of synfire.h.
enum Model : int { if_neuron = 1, lif, plif, qif, eif, izhikevich, li, klif = 1000 };

/// The step that begins at (v, w), receives x, charges to h and emits the spike s.
struct Step {
  double v, w, x, h, s;
};

struct Slopes {
  double h_v = 1, h_w = 0, h_x = 1;  // ∂H/∂V, ∂H/∂W, ∂H/∂X
  double w_w = 0, w_h = 0, w_s = 0;  // ∂W'/∂W, ∂W'/∂H, ∂W'/∂S
  std::vector<double> h_p, w_p;      // ∂H/∂p, ∂W'/∂p at constant H, in the order of the model's parameters
};

/// p: the model's own parameters in the documented order.
inline Slopes slopes(int model, bool undecayed_input, const double* p, const Step& step) {
  const auto [v, w, x, h, s] = step;
  Slopes d;
  switch (model) {
    case lif:
    case li: {
      const double tau = p[0], v_rest = p[1];
      d.h_v = 1 - 1 / tau;
      d.h_x = undecayed_input ? 1 : 1 / tau;
      d.h_p = {(undecayed_input ? v - v_rest : v - v_rest - x) / (tau * tau), 1 / tau};
      break;
    }
    case plif: {
      const double r = p[0], v_rest = p[1];
      d.h_v = 1 - r;
      d.h_x = undecayed_input ? 1 : r;
      d.h_p = {undecayed_input ? v_rest - v : x - (v - v_rest), r};
      break;
    }
    case qif: {
      const double tau = p[0], v_c = p[1], a0 = p[2], v_rest = p[3];
      d.h_v = 1 + a0 / tau * (2 * v - v_rest - v_c);
      d.h_x = 1 / tau;
      d.h_p = {-(x + a0 * (v - v_rest) * (v - v_c)) / (tau * tau), -a0 * (v - v_rest) / tau,
               (v - v_rest) * (v - v_c) / tau, -a0 * (v - v_c) / tau};
      break;
    }
    case eif: {
      const double tau = p[0], delta_t = p[1], theta_rh = p[2], v_rest = p[3];
      const double e = std::exp((v - theta_rh) / delta_t);
      d.h_v = 1 - 1 / tau + e / tau;
      d.h_x = 1 / tau;
      d.h_p = {-(x - v + v_rest + delta_t * e) / (tau * tau), e * (1 - (v - theta_rh) / delta_t) / tau, -e / tau,
               1 / tau};
      break;
    }
    case izhikevich: {
      const double tau = p[0], v_c = p[1], a0 = p[2], v_rest = p[3], tau_w = p[4], a = p[5], b = p[6];
      d.h_v = 1 + a0 / tau * (2 * v - v_rest - v_c);
      d.h_x = 1 / tau;
      d.h_w = -1 / tau;
      d.h_p = {-(x + a0 * (v - v_rest) * (v - v_c) - w) / (tau * tau),
               -a0 * (v - v_rest) / tau,
               (v - v_rest) * (v - v_c) / tau,
               -a0 * (v - v_c) / tau,
               0,
               0,
               0};
      d.w_w = 1 - 1 / tau_w;
      d.w_h = a / tau_w;
      d.w_s = b;
      d.w_p = {0, 0, 0, -a / tau_w, (w - a * (h - v_rest)) / (tau_w * tau_w), (h - v_rest) / tau_w, s};
      break;
    }
    case klif: {
      const double tau = p[0], k = p[1], v_rest = p[2];
      const double membrane = undecayed_input ? v - (v - v_rest) / tau + x : v + (x - (v - v_rest)) / tau;
      const double on = k * membrane > 0 ? 1 : 0;
      d.h_v = on * k * (1 - 1 / tau);
      d.h_x = on * k * (undecayed_input ? 1 : 1 / tau);
      d.h_p = {on * k * (undecayed_input ? v - v_rest : v - v_rest - x) / (tau * tau), on * membrane, on * k / tau};
      break;
    }
    default:
      break;
  }
  if (d.w_p.empty()) d.w_p.assign(d.h_p.size(), 0);
  return d;
}

}  // namespace closed_form

#endif

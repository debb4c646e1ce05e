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
enum Model : int {
  if_neuron = 1,
  lif,
  plif,
  qif,
  eif,
  izhikevich,
  li,
  lif_exact,
  li_exact,
  cuba_lif,
  cuba_li,
  alif,
  cuba_lif_exact,
  cuba_li_exact,
  integrator,
  klif = 1000
};

/// The step that begins at (v, w), receives x, charges to h and emits the spike s.
struct Step {
  double v, w, x, h, s;
};

struct Slopes {
  double h_v = 1, h_w = 0, h_x = 1;           // ∂H/∂V, ∂H/∂W, ∂H/∂X
  double w_w = 0, w_h = 0, w_s = 0, w_x = 0;  // ∂W'/∂W, ∂W'/∂H, ∂W'/∂S, ∂W'/∂X
  std::vector<double> h_p, w_p;  // ∂H/∂p, ∂W'/∂p at constant H, in the order of the model's parameters
};

/// ∫ u(s) e^(−(1 − s)a − s·b) ds for s from 0 to 1, by Gauss and Legendre's rule of five points in eight parts.
template <class Factor>
double integral(double a, double b, Factor u) {
  constexpr int n = 8;
  const double near = std::sqrt(5 - 2 * std::sqrt(10.0 / 7)) / 3, far = std::sqrt(5 + 2 * std::sqrt(10.0 / 7)) / 3;
  const double at_near = (322 + 13 * std::sqrt(70.0)) / 900, at_far = (322 - 13 * std::sqrt(70.0)) / 900;
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    const auto value = [&](double at) {
      const double s = (i + 0.5 + 0.5 * at) / n;
      return u(s) * std::exp(-(1 - s) * a - s * b);
    };
    sum += 128.0 / 225 * value(0) + at_near * (value(near) + value(-near)) + at_far * (value(far) + value(-far));
  }
  return sum / (2 * n);
}

/// H = beta·V + k·((1 − c)·I + c·I') + (1 − beta)·v_rest, I' = alpha·I + g·X, by Euler or solved exactly; W is I.
inline Slopes current_based(bool exact, bool undecayed, const double* p, const Step& step) {
  const double v = step.v, current = step.w, x = step.x;
  const double a = 1 / p[0], b = 1 / p[1], v_rest = p[2], gain = p[3], input_gain = p[4], c = p[5];
  const double beta = exact ? std::exp(-a) : 1 - a, beta_tau = a * a * (exact ? beta : 1);
  const double alpha = exact ? std::exp(-b) : 1 - b, alpha_tau = b * b * (exact ? alpha : 1);
  const double of_input = undecayed ? 1 : 1 - alpha, of_input_tau = undecayed ? 0 : -alpha_tau;
  const auto one = [](double) { return 1.0; };
  const double kappa = exact ? integral(a, b, one) : 1;
  const double kappa_a = exact ? -integral(a, b, [](double s) { return 1 - s; }) : 0;
  const double kappa_b = exact ? -integral(a, b, [](double s) { return s; }) : 0;
  const double factor = undecayed ? 1 : a, of_gain = factor * kappa, k = gain * of_gain;
  const double k_tau = -a * a * gain * (factor * kappa_a + (undecayed ? 0 : kappa));
  const double k_tau_syn = -b * b * gain * factor * kappa_b;
  const double after = alpha * current + of_input * input_gain * x, mixed = (1 - c) * current + c * after;
  const double after_tau_syn = alpha_tau * current + of_input_tau * input_gain * x;
  Slopes d;
  d.h_v = beta;
  d.h_w = k * ((1 - c) + c * alpha);
  d.h_x = k * c * of_input * input_gain;
  d.w_w = alpha;
  d.w_x = of_input * input_gain;
  d.h_p = {beta_tau * (v - v_rest) + k_tau * mixed,
           k_tau_syn * mixed + k * c * after_tau_syn,
           1 - beta,
           of_gain * mixed,
           k * c * of_input * x,
           k * (after - current)};
  d.w_p = {0, after_tau_syn, 0, 0, of_input * x, 0};
  return d;
}

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
    case lif_exact:
    case li_exact: {
      const double decay = std::exp(-1 / p[0]), v_rest = p[1], gain = p[2], of_x = undecayed_input ? 1 : 1 - decay;
      d.h_v = decay;
      d.h_x = gain * of_x;
      d.h_p = {decay / (p[0] * p[0]) * (v - v_rest - (undecayed_input ? 0 : gain * x)), 1 - decay, of_x * x};
      break;
    }
    case integrator:
      d.h_x = p[0];
      d.h_p = {x};
      break;
    case cuba_lif:
    case cuba_li:
      return current_based(false, undecayed_input, p, step);
    case cuba_lif_exact:
    case cuba_li_exact:
      return current_based(true, undecayed_input, p, step);
    case alif: {
      d = slopes(lif, undecayed_input, p, step);
      const double rho = p[2];
      d.w_w = rho;
      d.w_s = 1 - rho;
      d.h_p.insert(d.h_p.end(), {0, 0});
      d.w_p = {0, 0, w - s, 0};
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

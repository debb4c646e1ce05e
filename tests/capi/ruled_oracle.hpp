// An independent reference for the rules that few layers have: textbook formulas of LIF, Izhikevich and ALIF under a
// strict threshold, a delayed reset and refractory steps, with automatic differentiation in f64 (autodiff.hpp). It uses
// nothing of the library.
//
//     theta = v_threshold; ALIF: v_threshold + beta_a*a
//     H = f(V, X), or V while the neuron is refractory; minus theta*S[t-1] with a delayed reset
//     S = H >= theta, or H > theta if strict; never while refractory
//     V = v_reset after a spike (hard), H - theta*S (soft), H (delayed)
//     ALIF: a = rho*a + (1 - rho)*S
//
// A detached reset treats S as a constant wherever V or H is reset.
#ifndef SYNFIRE_TESTS_CAPI_RULED_ORACLE_HPP
#define SYNFIRE_TESTS_CAPI_RULED_ORACLE_HPP

#include <cstddef>
#include <vector>

#include "autodiff.hpp"

namespace synfire_test {

enum class RuledKind { lif, izhikevich, alif };
enum class RuledReset { hard, soft, delayed };

struct RuledNeuron {
  RuledKind kind = RuledKind::lif;
  RuledReset reset = RuledReset::hard;
  bool detach = false, strict = false;
  int refractory_steps = 0;
  // In the order of the library; tau and v_rest of LIF, then rho and beta_a of ALIF; last v_threshold and
  // v_reset.
  std::vector<double> parameters;
};

/// One neuron over all steps, and its gradients.
struct RuledRun {
  std::vector<double> x, grad_spike, grad_v, grad_w;       // in; the last may be empty
  double v_init = 0, w_init = 0;                           // in
  std::vector<double> h, spikes, v, w, countdown, grad_x;  // out
  std::vector<double> gradients;                           // out, of the parameters
  double grad_v_init = 0, grad_w_init = 0;                 // out
};

/// The sigmoid with alpha = 4.
inline double ruled_surrogate(double x) {
  const double s = 1 / (1 + std::exp(-4 * x));
  return 4 * s * (1 - s);
}

inline void run_ruled(const RuledNeuron& neuron, RuledRun& run) {
  Tape tape;
  std::vector<Number> p, x;
  for (const double value : neuron.parameters) p.push_back(tape.variable(value));
  for (const double value : run.x) x.push_back(tape.variable(value));
  const Number &v_threshold = p[p.size() - 2], &v_reset = p[p.size() - 1];
  const Number v_init = tape.variable(run.v_init), w_init = tape.variable(run.w_init);
  Number v = v_init, w = w_init, before = 0, loss = 0;
  int left = 0, countdown = 0;
  run.h.clear(), run.spikes.clear(), run.v.clear(), run.w.clear(), run.countdown.clear();
  for (size_t t = 0; t < x.size(); ++t) {
    const Number theta = neuron.kind == RuledKind::alif ? v_threshold + p[3] * w : v_threshold;
    Number h = v;
    if (left == 0) {
      if (neuron.kind == RuledKind::izhikevich)
        h = v + (x[t] + p[2] * (v - p[3]) * (v - p[1]) - w) / p[0];
      else
        h = v + (x[t] - (v - p[1])) / p[0];
    }
    if (neuron.reset == RuledReset::delayed) h = h - theta * before;
    const double over = h.value() - theta.value();
    const bool fires = left == 0 && (neuron.strict ? h.value() > theta.value() : h.value() >= theta.value());
    const Number spike = left == 0 ? Tape::result(fires ? 1 : 0, h - theta, ruled_surrogate(over)) : Number(0);
    const Number in_reset = neuron.detach ? Number(spike.value()) : spike;
    const Number charged = h;
    if (neuron.reset == RuledReset::hard) v = h * (Number(1) - in_reset) + v_reset * in_reset;
    if (neuron.reset == RuledReset::soft) v = h - theta * in_reset;
    if (neuron.reset == RuledReset::delayed) v = h;
    before = in_reset;
    if (neuron.kind == RuledKind::alif) w = p[2] * w + (Number(1) - p[2]) * spike;
    if (neuron.kind == RuledKind::izhikevich) w = w + (p[5] * (charged - p[3]) - w) / p[4] + p[6] * spike;
    left = fires ? neuron.refractory_steps : left > 0 ? left - 1 : 0;
    countdown = fires ? neuron.refractory_steps + 1 : countdown > 0 ? countdown - 1 : 0;
    run.h.push_back(charged.value());
    run.spikes.push_back(spike.value());
    run.v.push_back(v.value());
    run.w.push_back(w.value());
    run.countdown.push_back(countdown);
    loss = loss + Number(run.grad_spike[t]) * spike + Number(run.grad_v[t]) * v;
    if (!run.grad_w.empty()) loss = loss + Number(run.grad_w[t]) * w;
  }
  tape.differentiate(loss);
  run.grad_x.clear(), run.gradients.clear();
  for (const Number& each : x) run.grad_x.push_back(tape.gradient(each));
  for (const Number& each : p) run.gradients.push_back(tape.gradient(each));
  run.grad_v_init = tape.gradient(v_init);
  run.grad_w_init = tape.gradient(w_init);
}

}  // namespace synfire_test

#endif

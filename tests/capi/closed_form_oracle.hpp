// A second independent reference: the adjoint of a neuron through time, written out by hand with the derivatives of
// tests/model/closed_form.hpp, for one element at a time in double. It shares the textbook charge functions and the
// generation of inputs with neuron_oracle.hpp, but not differentiation: there, a tape of operations computes the
// gradients.
//
//     G_V += G_V[t],  G_W += G_W[t]                                (both include what step t + 1 carried back)
//     G_S  = G_S[t] + (1 − D)·G_V·∂V/∂S + G_W·∂W/∂S               ∂V/∂S = v_reset − H (hard), −v_threshold (soft)
//     G_H  = G_S·g' + G_V·(1 − S or 1) + G_W·∂W/∂H                 D = 1: the reset's S is a constant
//     G_X  = G_H·∂H/∂X;  G_V ← G_H·∂H/∂V;  G_W ← G_W·∂W/∂W + G_H·∂H/∂W
//     G_p += G_H·∂H/∂p + G_W·∂W/∂p
//     G_v_threshold −= G_S·g' + (soft) S·G_V;   G_v_reset += (hard) S·G_V
//
// S is 0 or 1, or the surrogate's smooth primitive: then this is the exact gradient of a smooth function.
#ifndef SYNFIRE_TESTS_CAPI_CLOSED_FORM_ORACLE_HPP
#define SYNFIRE_TESTS_CAPI_CLOSED_FORM_ORACLE_HPP

#include <vector>

#include "../model/closed_form.hpp"
#include "neuron_oracle.hpp"

namespace synfire_test {

class ClosedFormOracle {
 public:
  using Element = NeuronOracle::Element;

  ClosedFormOracle(const ReferenceNeuron& neuron, const Shape& shape, SpikeKind kind = SpikeKind::hard)
      : neuron_(neuron), shape_(shape), forward_(neuron, shape, kind) {}

  NeuronOracle::Gradients gradients(const Element& e) const {
    const size_t n_own = neuron_.own.size(), n_steps = e.x.size();
    const double v_threshold = e.parameters[n_own], v_reset = e.parameters[n_own + 1];
    NeuronOracle::Gradients g;
    g.run = forward_.run<double>(e, e.x, {e.v_init, e.w_init}, e.parameters);
    g.x.resize(n_steps);
    g.parameters.assign(n_own + 2, 0);
    double grad_v = e.grad_v_final, grad_w = e.grad_w_final;
    for (size_t t = n_steps; t-- > 0;) {
      const double h = g.run.h[t], s = g.run.spike[t];
      const closed_form::Step step = {t > 0 ? g.run.v[t - 1] : e.v_init, t > 0 ? g.run.w[t - 1] : e.w_init, e.x[t], h,
                                      s};
      const closed_form::Slopes d =
          closed_form::slopes(neuron_.model->id, neuron_.undecayed_input, e.parameters.data(), step);
      const double slope = neuron_.surrogate->derivative(e.shape.data(), h - v_threshold);
      grad_v += e.grad_v[t];
      grad_w += e.grad_w[t];
      const double v_s = neuron_.soft_reset ? -v_threshold : v_reset - h;
      const double grad_s = e.grad_spike[t] + (neuron_.detach_reset ? 0 : grad_v * v_s) + grad_w * d.w_s;
      const double grad_h = grad_s * slope + grad_v * (neuron_.soft_reset ? 1 : 1 - s) + grad_w * d.w_h;
      for (size_t p = 0; p < n_own; ++p) g.parameters[p] += grad_h * d.h_p[p] + grad_w * d.w_p[p];
      g.parameters[n_own] -= grad_s * slope + (neuron_.soft_reset ? s * grad_v : 0);
      g.parameters[n_own + 1] += neuron_.soft_reset ? 0 : s * grad_v;
      g.x[t] = grad_h * d.h_x;
      grad_v = grad_h * d.h_v;
      grad_w = grad_w * d.w_w + grad_h * d.h_w;
    }
    g.v_init = grad_v;
    g.w_init = grad_w;
    return g;
  }

  template <typename Scalar>
  ReferenceOutputs outputs(const FullInputs<Scalar>& inputs) const {
    const bool two = neuron_.model->two_variables;
    const size_t row = shape_.row(), sequence = shape_.sequence();
    ReferenceOutputs out;
    for (std::vector<double>* array : {&out.spikes, &out.h_seq, &out.v_seq, &out.grad_x_seq}) array->resize(sequence);
    for (std::vector<double>* array : {&out.v_final, &out.grad_v_init}) array->resize(row);
    out.w_seq.resize(two ? sequence : 0);
    for (std::vector<double>* array : {&out.w_final, &out.grad_w_init}) array->resize(two ? row : 0);
    out.gradients.assign(neuron_.n_differentiable(), std::vector<double>(row));
    for (size_t i = 0; i < row; ++i) {
      const NeuronOracle::Gradients g = gradients(forward_.element(inputs, i));
      for (size_t t = 0; t < g.x.size(); ++t) {
        out.spikes[t * row + i] = g.run.spike[t];
        out.h_seq[t * row + i] = g.run.h[t];
        out.v_seq[t * row + i] = g.run.v[t];
        if (two) out.w_seq[t * row + i] = g.run.w[t];
        out.grad_x_seq[t * row + i] = g.x[t];
      }
      out.v_final[i] = g.run.v.back();
      out.grad_v_init[i] = g.v_init;
      if (two) out.w_final[i] = g.run.w.back();
      if (two) out.grad_w_init[i] = g.w_init;
      for (size_t p = 0; p < g.parameters.size(); ++p) out.gradients[p][i] = g.parameters[p];
    }
    return out;
  }

 private:
  const ReferenceNeuron& neuron_;
  const Shape& shape_;
  NeuronOracle forward_;
};

}  // namespace synfire_test

#endif

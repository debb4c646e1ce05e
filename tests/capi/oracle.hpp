// An independent reference: the textbook formulas of IF and LIF neurons, one scalar at a time, in double precision. It
// uses nothing of the library but the names of its constants.
//
// Notation: H charged potential, S spike, V potential after reset, X input; D = 1 when the reset is detached.
//
//     IF        H = V + X                              dH/dV = 1            dH/dX = 1
//     LIF       H = V + (X - (V - v_rest))/tau         dH/dV = 1 - 1/tau    dH/dX = 1/tau
//     undecayed H = V - (V - v_rest)/tau + X           dH/dV = 1 - 1/tau    dH/dX = 1
//     S = [H >= v_threshold];  V = S ? v_reset : H (hard), H - v_threshold*S (soft)
//
//     dV/dH = 1 - S + (v_reset - H) g' (1 - D) (hard),  1 - v_threshold g' (1 - D) (soft)
//     G_H[t] = G_S[t] g' + (G_V[t] + G_H[t+1] dH/dV) dV/dH;   G_X = G_H dH/dX;   G_V_init = G_H[1] dH/dV
//
// Sources: Neftci, Mostafa and Zenke 2019 (surrogate gradients); Fang et al. 2023 (these neurons and surrogates).
#ifndef SYNFIRE_TESTS_CAPI_ORACLE_HPP
#define SYNFIRE_TESTS_CAPI_ORACLE_HPP

#include <cmath>
#include <string>
#include <vector>

#include "support.hpp"

namespace synfire_test {

/// Parameters of a neuron: one number, or one per neuron.
struct Parameters {
  std::vector<double> tau{2.0}, v_rest{0.0}, v_threshold{1.0}, v_reset{0.0}, alpha{4.0};
};

/// The neuron of the library that the oracle computes.
struct Neuron {
  int32_t model = SYNFIRE_MODEL_LIF;
  int32_t reset = SYNFIRE_RESET_HARD;
  int32_t surrogate = SYNFIRE_SURROGATE_SIGMOID;
  bool detach_reset = false;
  bool undecayed_input = false;
};

inline synfire_layer_desc describe(const Neuron& neuron, const Shape& shape, int32_t dtype) {
  synfire_layer_desc desc = describe(shape, dtype);
  desc.model = neuron.model;
  desc.reset = neuron.reset;
  desc.surrogate = neuron.surrogate;
  desc.detach_reset = neuron.detach_reset ? 1 : 0;
  desc.undecayed_input = neuron.undecayed_input ? 1 : 0;
  return desc;
}

inline void set_parameters(synfire_layer layer, const Neuron& neuron, const Parameters& parameters) {
  if (neuron.model == SYNFIRE_MODEL_LIF) {
    set_parameter(layer, "tau", parameters.tau);
    set_parameter(layer, "v_rest", parameters.v_rest);
  }
  set_parameter(layer, "v_threshold", parameters.v_threshold);
  set_parameter(layer, "v_reset", parameters.v_reset);
  set_parameter(layer, "alpha", parameters.alpha);
}

class Oracle {
 public:
  Oracle(const Neuron& neuron, const Parameters& parameters, const Shape& shape)
      : neuron_(neuron), parameters_(parameters), shape_(shape) {}

  double charge(size_t n, double v, double x) const {
    if (neuron_.model == SYNFIRE_MODEL_IF) return v + x;
    const double tau = at(parameters_.tau, n), v_rest = at(parameters_.v_rest, n);
    return neuron_.undecayed_input ? v - (v - v_rest) / tau + x : v + (x - (v - v_rest)) / tau;
  }
  bool fires(size_t n, double h) const { return h >= at(parameters_.v_threshold, n); }
  double after_reset(size_t n, double h) const {
    if (!fires(n, h)) return h;
    return soft() ? h - at(parameters_.v_threshold, n) : at(parameters_.v_reset, n);
  }

  /// Moves every X whose H would be closer than `margin` to the threshold, so that rounding cannot decide a spike. X
  /// remains a value of Scalar.
  template <typename Scalar>
  void keep_margin(std::vector<Scalar>& x, const std::vector<Scalar>& v_init, double margin) const {
    for (size_t i = 0; i < shape_.row(); ++i) {
      const size_t n = neuron_of(i);
      double v = static_cast<double>(v_init[i]);
      for (size_t t = 0; t < steps(); ++t) {
        Scalar& input = x[t * shape_.row() + i];
        double h = charge(n, v, static_cast<double>(input));
        while (std::fabs(h - at(parameters_.v_threshold, n)) < margin) {
          input = static_cast<Scalar>(static_cast<double>(input) + margin);
          h = charge(n, v, static_cast<double>(input));
        }
        v = after_reset(n, h);
      }
    }
  }

  template <typename Scalar>
  ForwardOutputs<double> forward(const Inputs<Scalar>& inputs) const {
    ForwardOutputs<double> out;
    out.spikes.resize(shape_.sequence());
    out.v_seq.resize(shape_.sequence());
    out.h_seq.resize(shape_.sequence());
    out.v_final.resize(shape_.row());
    for (size_t i = 0; i < shape_.row(); ++i) {
      double v = static_cast<double>(inputs.v_init[i]);
      for (size_t t = 0; t < steps(); ++t) {
        const size_t at_step = t * shape_.row() + i;
        const double h = charge(neuron_of(i), v, static_cast<double>(inputs.x[at_step]));
        v = after_reset(neuron_of(i), h);
        out.h_seq[at_step] = h;
        out.spikes[at_step] = fires(neuron_of(i), h) ? 1 : 0;
        out.v_seq[at_step] = v;
      }
      out.v_final[i] = v;
    }
    out.spike_bits = pack_bits(shape_, out.spikes);
    return out;
  }

  template <typename Scalar>
  BackwardOutputs<double> backward(const Inputs<Scalar>& inputs, const std::vector<double>& h_seq) const {
    BackwardOutputs<double> out;
    out.grad_x_seq.resize(shape_.sequence());
    out.grad_v_init.resize(shape_.row());
    for (size_t i = 0; i < shape_.row(); ++i) {
      const size_t n = neuron_of(i);
      const double tau = neuron_.model == SYNFIRE_MODEL_LIF ? at(parameters_.tau, n) : 0;
      const double dh_dv = neuron_.model == SYNFIRE_MODEL_LIF ? 1 - 1 / tau : 1;
      const double dh_dx = neuron_.model == SYNFIRE_MODEL_LIF && !neuron_.undecayed_input ? 1 / tau : 1;
      double carried = static_cast<double>(inputs.grad_v_final[i]);
      for (size_t t = steps(); t-- > 0;) {
        const size_t at_step = t * shape_.row() + i;
        const double h = h_seq[at_step];
        const double g = surrogate_derivative(n, h - at(parameters_.v_threshold, n));
        const double spike = fires(n, h) ? 1 : 0;
        const double attached = neuron_.detach_reset ? 0 : 1;
        const double dv_dh = soft() ? 1 - at(parameters_.v_threshold, n) * g * attached
                                    : 1 - spike + (at(parameters_.v_reset, n) - h) * g * attached;
        const double grad_v = static_cast<double>(inputs.grad_v_seq[at_step]) + carried;
        const double grad_h = static_cast<double>(inputs.grad_spike_seq[at_step]) * g + grad_v * dv_dh;
        out.grad_x_seq[at_step] = grad_h * dh_dx;
        carried = grad_h * dh_dv;
      }
      out.grad_v_init[i] = carried;
    }
    return out;
  }

 private:
  static double at(const std::vector<double>& values, size_t n) { return values.size() == 1 ? values[0] : values[n]; }
  bool soft() const { return neuron_.reset == SYNFIRE_RESET_SOFT; }
  size_t steps() const { return static_cast<size_t>(shape_.n_steps); }
  size_t neuron_of(size_t i) const { return i % static_cast<size_t>(shape_.n_neurons); }

  double surrogate_derivative(size_t n, double x) const {
    const double alpha = at(parameters_.alpha, n);
    if (neuron_.surrogate == SYNFIRE_SURROGATE_SIGMOID) {
      const double sigma = 1 / (1 + std::exp(-alpha * x));
      return alpha * sigma * (1 - sigma);
    }
    const double y = 3.14159265358979323846 * alpha * x / 2;
    return alpha / (2 * (1 + y * y));
  }

  const Neuron& neuron_;
  const Parameters& parameters_;
  const Shape& shape_;
};

/// Largest |out - reference| relative to the largest |reference|; infinite if anything is NaN.
template <typename Scalar>
double relative_error(const std::vector<Scalar>& out, const std::vector<double>& reference) {
  double error = 0, largest = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(out[i]) - reference[i]);
    if (!(difference < HUGE_VAL)) return HUGE_VAL;
    error = std::fmax(error, difference);
    largest = std::fmax(largest, std::fabs(reference[i]));
  }
  return largest > 0 ? error / largest : error;
}

}  // namespace synfire_test

#endif

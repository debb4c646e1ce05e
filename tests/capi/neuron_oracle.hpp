// An independent reference for all models and surrogates: the textbook formulas for any kind of number. The same code
// computes a forward on doubles and on a tape of automatic differentiation (autodiff.hpp), which yields every
// gradient. It uses nothing of the library but the names of its constants.
//
// Notation: H charged potential, S spike, V potential after reset, W second variable, X input.
//
//     IF          H = V + X
//     LIF         H = V + (X - (V - v_rest))/tau               undecayed: H = V - (V - v_rest)/tau + X
//     PLIF        LIF with reciprocal_tau for 1/tau
//     QIF         H = V + (X + a0*(V - v_rest)*(V - v_c))/tau
//     EIF         H = V + (X - V + v_rest + delta_T*exp((V - theta_rh)/delta_T))/tau
//     Izhikevich  H = V + (X + a0*(V - v_rest)*(V - v_c) - W)/tau
//                 W = W + (a*(H - v_rest) - W)/tau_w + b*S
//     exact LIF   H = d*V + (1 - d)*(v_rest + gain*X), d = exp(-1/tau)     undecayed: d*V + (1 - d)*v_rest + gain*X
//     with a current I, which is W:
//                 I = I + (input_gain*X - I)/tau_syn                   undecayed: I - I/tau_syn + input_gain*X
//                 H = V + (gain*J - (V - v_rest))/tau                  undecayed: V - (V - v_rest)/tau + gain*J
//                 J = c*I[t] + (1 - c)*I[t-1], c = current_first
//     the same, exact: I = e*I + (1 - e)*input_gain*X                  undecayed: e*I + input_gain*X
//                 H = d*V + (1 - d)*v_rest + gain*J*q                  undecayed: gain*J*q*tau
//                 e = exp(-1/tau_syn), q = (e - d)*tau_syn/(tau_syn - tau)
//     KLIF        H = relu(relu_k*(the H of LIF)), of docs/examples/models; not built in
//     V = H*(1 - S) + v_reset*S (hard)       V = H - v_threshold*S (soft)
//
// A detached reset treats S as a constant in the last line only. The loss is the sum of the products of the incoming
// gradients with S, V and W.
//
// Sources: Fang et al. 2023 (these neurons and surrogates), Neftci, Mostafa and Zenke 2019 (surrogate gradients).
#ifndef SYNFIRE_TESTS_CAPI_NEURON_ORACLE_HPP
#define SYNFIRE_TESTS_CAPI_NEURON_ORACLE_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "autodiff.hpp"
#include "full_rig.hpp"

namespace synfire_test {

// ---- Surrogates -----------------------------------------------------------------------------------------------------

/// A parameter of a surrogate with the values that tests use: different from the defaults and from each other.
struct TestedParameter {
  const char* name;
  double default_value, low, high;
  bool whole = false;
};

/// A surrogate as a function of x = H - v_threshold and its parameters p.
struct ReferenceSurrogate {
  int32_t id;
  const char* name;
  std::vector<TestedParameter> parameters;
  double (*derivative)(const double* p, double x);
  double (*primitive)(const double* p, double x);           // null if there is none
  std::vector<double> (*kinks)(const double* p) = nullptr;  // where the derivative jumps or bends, besides 0
};

/// The ids in a library that docs/examples/models was added to, in the order of adding.
inline constexpr int32_t added_klif = 1000, added_side_lobes = 1000;

inline bool library_has_added() {
  int32_t model = 0, surrogate = 0;
  return synfire_model_id("klif", &model) == SYNFIRE_OK && model == added_klif &&
         synfire_surrogate_id("side_lobes", &surrogate) == SYNFIRE_OK && surrogate == added_side_lobes;
}

/// The built-in ones, followed by the added one if the library has it.
inline const std::vector<ReferenceSurrogate>& reference_surrogates() {
  using std::numbers::pi;
  using P = const double*;
  static const auto sigma = [](double z) { return 1 / (1 + std::exp(-z)); };
  static const auto normal = [](double x, double mean, double deviation) {
    const double z = (x - mean) / deviation;
    return std::exp(-z * z / 2) / (std::sqrt(2 * pi) * deviation);
  };
  static const auto distribution = [](double x, double mean, double deviation) {
    return std::erfc((mean - x) / (std::sqrt(2.0) * deviation)) / 2;
  };
  static std::vector<ReferenceSurrogate> surrogates = {
      {SYNFIRE_SURROGATE_SIGMOID,
       "sigmoid",
       {{"alpha", 4, 2, 5}},
       [](P p, double x) { return p[0] * sigma(p[0] * x) * (1 - sigma(p[0] * x)); },
       [](P p, double x) { return sigma(p[0] * x); }},
      {SYNFIRE_SURROGATE_ATAN,
       "atan",
       {{"alpha", 2, 1, 3}},
       [](P p, double x) { return p[0] / (2 * (1 + std::pow(pi * p[0] * x / 2, 2))); },
       [](P p, double x) { return 0.5 + std::atan(pi * p[0] * x / 2) / pi; }},
      {SYNFIRE_SURROGATE_PIECEWISE_QUADRATIC,
       "piecewise_quadratic",
       {{"alpha", 1, 0.6, 1.4}},
       [](P p, double x) { return std::fmax(0, p[0] - p[0] * p[0] * std::fabs(x)); },
       [](P p, double x) {
         return x < -1 / p[0] ? 0 : x > 1 / p[0] ? 1 : 0.5 + p[0] * x - 0.5 * p[0] * p[0] * x * std::fabs(x);
       },
       [](P p) {
         return std::vector{-1 / p[0], 1 / p[0]};
       }},
      {SYNFIRE_SURROGATE_PIECEWISE_EXP,
       "piecewise_exp",
       {{"alpha", 1, 0.6, 2}},
       [](P p, double x) { return p[0] / 2 * std::exp(-p[0] * std::fabs(x)); },
       [](P p, double x) { return x < 0 ? 0.5 * std::exp(p[0] * x) : 1 - 0.5 * std::exp(-p[0] * x); }},
      {SYNFIRE_SURROGATE_SOFT_SIGN,
       "soft_sign",
       {{"alpha", 2, 1, 3}},
       [](P p, double x) { return p[0] / (2 * std::pow(1 + p[0] * std::fabs(x), 2)); },
       [](P p, double x) { return 0.5 * (1 + p[0] * x / (1 + p[0] * std::fabs(x))); }},
      {SYNFIRE_SURROGATE_SUPER_SPIKE,
       "super_spike",
       {{"alpha", 1, 0.5, 1.5}},
       [](P p, double x) { return p[0] / std::pow(1 + std::fabs(x), 2); },
       nullptr},
      {SYNFIRE_SURROGATE_ERF,
       "erf",
       {{"alpha", 2, 1, 2.5}},
       [](P p, double x) { return p[0] / std::sqrt(pi) * std::exp(-p[0] * p[0] * x * x); },
       [](P p, double x) { return 0.5 * std::erfc(-p[0] * x); }},
      {SYNFIRE_SURROGATE_PIECEWISE_LEAKY_RELU,
       "piecewise_leaky_relu",
       {{"w", 1, 0.4, 0.9}, {"c", 0.01, 0.02, 0.1}},
       [](P p, double x) { return std::fabs(x) < p[0] ? 1 / (2 * p[0]) : p[1]; },
       [](P p, double x) {
         return x < -p[0] ? p[1] * x + p[1] * p[0] : x > p[0] ? p[1] * x - p[1] * p[0] + 1 : x / (2 * p[0]) + 0.5;
       },
       [](P p) {
         return std::vector{-p[0], p[0]};
       }},
      {SYNFIRE_SURROGATE_S2NN,
       "s2nn",
       {{"alpha", 4, 2, 5}, {"beta", 1, 0.5, 1.5}},
       [](P p, double x) { return x < 0 ? p[0] * sigma(p[0] * x) * (1 - sigma(p[0] * x)) : p[1] / (x + 1); },
       [](P p, double x) { return x < 0 ? sigma(p[0] * x) : p[1] * std::log(x + 1) + 0.5; }},
      {SYNFIRE_SURROGATE_Q_PSEUDO_SPIKE,
       "q_pseudo_spike",
       {{"alpha", 2, 1.5, 3}},
       [](P p, double x) { return std::pow(1 + 2 * std::fabs(x) / (p[0] - 1), -p[0]); },
       [](P p, double x) {
         const double tail = 0.5 * std::pow(1 + 2 * std::fabs(x) / (p[0] - 1), 1 - p[0]);
         return x < 0 ? tail : 1 - tail;
       }},
      {SYNFIRE_SURROGATE_LEAKY_K_RELU,
       "leaky_k_relu",
       {{"leak", 0, 0.05, 0.2}, {"k", 1, 0.4, 0.9}},
       [](P p, double x) { return x >= 0 ? p[1] : p[0]; },
       [](P p, double x) { return (x >= 0 ? p[1] : p[0]) * x; }},
      {SYNFIRE_SURROGATE_FAKE_NUMERICAL_GRADIENT,
       "fake_numerical_gradient",
       {{"alpha", 0.3, 0.3, 2}},
       [](P p, double x) { return std::fmin((x >= 0 ? 1 : -1) / x, p[0]); },
       nullptr},
      {SYNFIRE_SURROGATE_LOG_TAILED_RELU,
       "log_tailed_relu",
       {{"alpha", 0, 0.05, 0.3}},
       [](P p, double x) { return x <= 0   ? p[0]
                                  : x <= 1 ? 1
                                           : 1 / x; },
       [](P p, double x) { return x <= 0   ? p[0] * x
                                  : x <= 1 ? x
                                           : std::log(x) + 1; }},
      {SYNFIRE_SURROGATE_NONZERO_SIGN_LOG_ABS,
       "nonzero_sign_log_abs",
       {{"alpha", 1, 0.5, 1.5}},
       [](P p, double x) { return 1 / (1 / p[0] + std::fabs(x)); },
       [](P p, double x) { return (x >= 0 ? 1 : -1) * std::log(1 + p[0] * std::fabs(x)); }},
      {SYNFIRE_SURROGATE_SQUAREWAVE_FOURIER_SERIES,
       "squarewave_fourier_series",
       {{"n", 2, 2, 4, true}, {"T_period", 8, 4, 9}},
       [](P p, double x) {
         double sum = 0;
         for (int i = 1; i < static_cast<int>(p[0]); ++i) sum += std::cos((2 * i - 1) * 2 * pi * x / p[1]);
         return 4 / p[1] * sum;
       },
       [](P p, double x) {
         double sum = 0;
         for (int i = 1; i < static_cast<int>(p[0]); ++i)
           sum += std::sin((2 * i - 1) * 2 * pi * x / p[1]) / (2 * i - 1);
         return 0.5 + 2 / pi * sum;
       }},
      {SYNFIRE_SURROGATE_RECT,
       "rect",
       {{"alpha", 1, 0.6, 1.4}},
       [](P p, double x) { return std::fabs(x) < 1 / (2 * p[0]) ? p[0] : 0; },
       [](P p, double x) { return std::clamp(p[0] * x + 0.5, 0.0, 1.0); },
       [](P p) {
         return std::vector{-1 / (2 * p[0]), 1 / (2 * p[0])};
       }},
      {SYNFIRE_SURROGATE_MULTI_GAUSSIAN,
       "multi_gaussian",
       {{"sigma", 0.5, 0.3, 0.7}, {"h", 0.15, 0.1, 0.3}, {"s", 6, 2, 4}},
       [](P p, double x) {
         return (1 + p[1]) * normal(x, 0, p[0]) - p[1] * normal(x, p[0], p[2] * p[0]) -
                p[1] * normal(x, -p[0], p[2] * p[0]);
       },
       [](P p, double x) {
         return (1 + p[1]) * distribution(x, 0, p[0]) - p[1] * distribution(x, p[0], p[2] * p[0]) -
                p[1] * distribution(x, -p[0], p[2] * p[0]);
       }},
  };
  static const bool with_added = [] {
    if (!library_has_added()) return false;
    surrogates.push_back(surrogates.back());  // the same under another name
    surrogates.back().id = added_side_lobes;
    surrogates.back().name = "side_lobes";
    return true;
  }();
  static_cast<void>(with_added);
  return surrogates;
}

// ---- Models ---------------------------------------------------------------------------------------------------------

/// A model with its parameters in the documented order.
struct ReferenceModel {
  int32_t id;
  const char* name;
  std::vector<TestedParameter> parameters;  // the model's own
  double default_v_reset;
  bool two_variables = false, has_input_decay = false;
};

/// The built-in ones, followed by the added one if the library has it.
inline const std::vector<ReferenceModel>& reference_models() {
  static std::vector<ReferenceModel> models = {
      {SYNFIRE_MODEL_IF, "if", {}, 0},
      {SYNFIRE_MODEL_LIF, "lif", {{"tau", 2, 1.2, 6}, {"v_rest", 0, -0.2, 0.2}}, 0, false, true},
      {SYNFIRE_MODEL_PLIF, "plif", {{"reciprocal_tau", 0.5, 0.2, 1.5}, {"v_rest", 0, -0.2, 0.2}}, 0, false, true},
      {SYNFIRE_MODEL_QIF,
       "qif",
       {{"tau", 2, 1.5, 4}, {"v_c", 0.8, 0.6, 0.9}, {"a0", 1, 0.5, 1.2}, {"v_rest", 0, -0.2, 0.2}},
       -0.1},
      {SYNFIRE_MODEL_EIF,
       "eif",
       {{"tau", 2, 1.5, 4}, {"delta_T", 1, 0.7, 1.3}, {"theta_rh", 0.8, 0.6, 0.9}, {"v_rest", 0, -0.2, 0.2}},
       -0.1},
      {SYNFIRE_MODEL_IZHIKEVICH,
       "izhikevich",
       {{"tau", 2, 1.5, 4},
        {"v_c", 0.8, 0.6, 0.9},
        {"a0", 1, 0.5, 1.2},
        {"v_rest", -0.1, -0.2, 0},
        {"tau_w", 2, 1.5, 4},
        {"a", 0, -0.3, 0.4},
        {"b", 0, -0.2, 0.5}},
       0,
       true},
  };
  static const bool with_added = [] {
    if (!library_has_added()) return false;
    models.push_back(
        {added_klif, "klif", {{"tau", 2, 1.2, 6}, {"relu_k", 1, 0.6, 1.5}, {"v_rest", 0, -0.2, 0.2}}, 0, false, true});
    return true;
  }();
  static_cast<void>(with_added);
  return models;
}

/// Models with a current, and models that are solved exactly, apart from the others, whose tests have many cases.
inline const std::vector<ReferenceModel>& models_with_currents() {
  static const std::vector<ReferenceModel> models = {
      {SYNFIRE_MODEL_LIF_EXACT,
       "lif_exact",
       {{"tau", 2, 0.8, 6}, {"v_rest", 0, -0.2, 0.2}, {"gain", 1, 0.7, 1.6}},
       0,
       false,
       true},
      {SYNFIRE_MODEL_CUBA_LIF,
       "cuba_lif",
       {{"tau", 10, 1.2, 6},
        {"tau_syn", 5, 1.2, 4},
        {"v_rest", 0, -0.2, 0.2},
        {"gain", 1, 0.7, 1.6},
        {"input_gain", 1, 0.8, 1.5},
        {"current_first", 1, 0.6, 0.95}},
       0,
       true,
       true},
      {SYNFIRE_MODEL_CUBA_LIF_EXACT,
       "cuba_lif_exact",
       {{"tau", 10, 2.2, 6},
        {"tau_syn", 5, 0.4, 1.9},
        {"v_rest", 0, -0.2, 0.2},
        {"gain", 1, 0.7, 1.6},
        {"input_gain", 1, 0.8, 1.5},
        {"current_first", 1, 0.6, 0.95}},
       0,
       true,
       true},
  };
  return models;
}

template <typename Value>
struct Step {
  Value v, w;
};

/// The current after a step. It does not read V.
template <typename Value>
Value reference_current(int32_t model, bool undecayed_input, const Value* p, const Value& current, const Value& x) {
  using std::exp;
  const Value &tau_syn = p[1], &input_gain = p[4];
  if (model == SYNFIRE_MODEL_CUBA_LIF)
    return undecayed_input ? current - current / tau_syn + input_gain * x
                           : current + (input_gain * x - current) / tau_syn;
  const Value decay = exp(Value(-1) / tau_syn);
  return decay * current + (undecayed_input ? input_gain * x : (Value(1) - decay) * input_gain * x);
}

/// H of a model with a current.
template <typename Value>
Value reference_driven(int32_t model, bool undecayed_input, const Value* p, const Step<Value>& before, const Value& x) {
  using std::exp;
  const Value &tau = p[0], &tau_syn = p[1], &v_rest = p[2], &gain = p[3], &first = p[5], &v = before.v;
  const Value after = reference_current(model, undecayed_input, p, before.w, x);
  const Value drive = gain * (first * after + (Value(1) - first) * before.w);
  if (model == SYNFIRE_MODEL_CUBA_LIF)
    return undecayed_input ? v - (v - v_rest) / tau + drive : v + (drive - (v - v_rest)) / tau;
  const Value decay = exp(Value(-1) / tau), of_current = exp(Value(-1) / tau_syn);
  const Value kappa = (of_current - decay) * tau_syn / (tau_syn - tau);
  return decay * v + (Value(1) - decay) * v_rest + (undecayed_input ? drive * kappa * tau : drive * kappa);
}

/// H before rectification, which only KLIF has. p are the model's own parameters. H grows with X.
template <typename Value>
Value reference_membrane(int32_t model, bool undecayed_input, const Value* p, const Step<Value>& before,
                         const Value& x) {
  using std::exp;
  const Value &v = before.v, &w = before.w;
  switch (model) {
    case SYNFIRE_MODEL_LIF: {
      const Value &tau = p[0], &v_rest = p[1];
      return undecayed_input ? v - (v - v_rest) / tau + x : v + (x - (v - v_rest)) / tau;
    }
    case SYNFIRE_MODEL_PLIF: {
      const Value &reciprocal_tau = p[0], &v_rest = p[1];
      return undecayed_input ? v - (v - v_rest) * reciprocal_tau + x : v + (x - (v - v_rest)) * reciprocal_tau;
    }
    case SYNFIRE_MODEL_QIF: {
      const Value &tau = p[0], &v_c = p[1], &a0 = p[2], &v_rest = p[3];
      return v + (x + a0 * (v - v_rest) * (v - v_c)) / tau;
    }
    case SYNFIRE_MODEL_EIF: {
      const Value &tau = p[0], &delta_t = p[1], &theta_rh = p[2], &v_rest = p[3];
      return v + (x - v + v_rest + delta_t * exp((v - theta_rh) / delta_t)) / tau;
    }
    case SYNFIRE_MODEL_IZHIKEVICH: {
      const Value &tau = p[0], &v_c = p[1], &a0 = p[2], &v_rest = p[3];
      return v + (x + a0 * (v - v_rest) * (v - v_c) - w) / tau;
    }
    case SYNFIRE_MODEL_LIF_EXACT: {
      const Value &v_rest = p[1], &gain = p[2], decay = exp(Value(-1) / p[0]);
      return undecayed_input ? decay * v + (Value(1) - decay) * v_rest + gain * x
                             : decay * v + (Value(1) - decay) * (v_rest + gain * x);
    }
    case SYNFIRE_MODEL_CUBA_LIF:
    case SYNFIRE_MODEL_CUBA_LIF_EXACT:
      return reference_driven(model, undecayed_input, p, before, x);
    case added_klif: {
      const Value &tau = p[0], &k = p[1], &v_rest = p[2];
      return k * (undecayed_input ? v - (v - v_rest) / tau + x : v + (x - (v - v_rest)) / tau);
    }
    default:
      return v + x;
  }
}

/// H.
template <typename Value>
Value reference_charge(int32_t model, bool undecayed_input, const Value* p, const Step<Value>& before, const Value& x) {
  const Value membrane = reference_membrane(model, undecayed_input, p, before, x);
  return model == added_klif ? Value(rectified(membrane)) : membrane;
}

/// W after a step; `w` is that before it.
template <typename Value>
Value reference_adapt(int32_t model, bool undecayed_input, const Value* p, const Value& w, const Value& x,
                      const Value& h, const Value& spike) {
  if (model == SYNFIRE_MODEL_CUBA_LIF || model == SYNFIRE_MODEL_CUBA_LIF_EXACT)
    return reference_current(model, undecayed_input, p, w, x);
  if (model != SYNFIRE_MODEL_IZHIKEVICH) return 0;
  const Value &v_rest = p[3], &tau_w = p[4], &a = p[5], &b = p[6];
  return w + (a * (h - v_rest) - w) / tau_w + b * spike;
}

// ---- A neuron with its parameters -----------------------------------------------------------------------------------

/// A neuron of the library with values for all its parameters, each shared or per neuron.
struct ReferenceNeuron {
  const ReferenceModel* model = nullptr;
  const ReferenceSurrogate* surrogate = nullptr;
  bool soft_reset = false, detach_reset = false, undecayed_input = false;
  std::vector<std::vector<double>> own{};  // in the order of the model
  std::vector<double> v_threshold{1.0}, v_reset{0.0};
  std::vector<std::vector<double>> shape{};  // in the order of the surrogate

  size_t n_differentiable() const { return own.size() + 2; }
  /// The differentiable parameters: the model's own, v_threshold, v_reset.
  std::string name(size_t parameter) const {
    return parameter < own.size()    ? model->parameters[parameter].name
           : parameter == own.size() ? "v_threshold"
                                     : "v_reset";
  }
  const std::vector<double>& values(size_t parameter) const {
    return parameter < own.size() ? own[parameter] : parameter == own.size() ? v_threshold : v_reset;
  }
  std::vector<double>& values(size_t parameter) {
    return parameter < own.size() ? own[parameter] : parameter == own.size() ? v_threshold : v_reset;
  }
  std::string text() const {
    return std::string(model->name) + (undecayed_input ? " undecayed" : "") + (soft_reset ? " soft" : " hard") +
           (detach_reset ? " detached " : " attached ") + surrogate->name;
  }
};

inline synfire_layer_desc describe(const ReferenceNeuron& neuron, const Shape& shape, int32_t dtype) {
  synfire_layer_desc desc = describe(shape, dtype);
  desc.model = neuron.model->id;
  desc.reset = neuron.soft_reset ? SYNFIRE_RESET_SOFT : SYNFIRE_RESET_HARD;
  desc.surrogate = neuron.surrogate->id;
  desc.detach_reset = neuron.detach_reset ? 1 : 0;
  desc.undecayed_input = neuron.undecayed_input ? 1 : 0;
  return desc;
}

inline void set_parameters(synfire_layer layer, const ReferenceNeuron& neuron) {
  for (size_t i = 0; i < neuron.n_differentiable(); ++i) set_parameter(layer, neuron.name(i).c_str(), neuron.values(i));
  for (size_t i = 0; i < neuron.shape.size(); ++i)
    set_parameter(layer, neuron.surrogate->parameters[i].name, neuron.shape[i]);
}

/// Values inside the tested ranges that an f32 holds exactly.
inline void choose_parameters(ReferenceNeuron& neuron, size_t count, Random& random) {
  const auto chosen = [&](const std::vector<TestedParameter>& parameters) {
    std::vector<std::vector<double>> all;
    for (const TestedParameter& parameter : parameters) {
      std::vector<double>& values = all.emplace_back();
      for (const float value : random.values<float>(count, parameter.low, parameter.high))
        values.push_back(parameter.whole ? std::round(static_cast<double>(value)) : static_cast<double>(value));
    }
    return all;
  };
  neuron.own = chosen(neuron.model->parameters);
  neuron.v_threshold = chosen({{"v_threshold", 1, 0.8, 1.2}})[0];
  neuron.v_reset = chosen({{"v_reset", 0, -0.2, 0.2}})[0];
  neuron.shape = chosen(neuron.surrogate->parameters);
}

/// Every model, reset, kind of gradient through the reset and input mode, with one surrogate and values for its
/// parameters.
inline std::vector<ReferenceNeuron> reference_neurons(const ReferenceSurrogate& surrogate, size_t count, Random& random,
                                                      const std::vector<ReferenceModel>& models = reference_models()) {
  std::vector<ReferenceNeuron> neurons;
  for (const ReferenceModel& model : models)
    for (const bool undecayed : {false, true})
      for (const bool soft : {false, true})
        for (const bool detached : {false, true}) {
          if (undecayed && !model.has_input_decay) continue;
          ReferenceNeuron neuron{&model, &surrogate, soft, detached, undecayed};
          choose_parameters(neuron, count, random);
          neurons.push_back(neuron);
        }
  return neurons;
}

inline const ReferenceSurrogate& reference_surrogate(int32_t id) {
  return id == added_side_lobes ? reference_surrogates().back() : reference_surrogates()[static_cast<size_t>(id - 1)];
}

/// True if a combination is tested here. A library with additions tests only those that have one, because the library
/// without has tested the others.
inline bool is_new_here(const ReferenceNeuron& neuron) {
  return !library_has_added() || neuron.model->id == added_klif || neuron.surrogate->id == added_side_lobes;
}

// ---- The oracle -----------------------------------------------------------------------------------------------------

/// A spike of 0 or 1 with the surrogate's derivative, or the surrogate's smooth primitive.
enum class SpikeKind { hard, smooth };

struct ReferenceOutputs {
  std::vector<double> spikes, h_seq, v_seq, w_seq, v_final, w_final;
  std::vector<double> grad_x_seq, grad_v_init, grad_w_init;
  std::vector<std::vector<double>> gradients;  // for each differentiable parameter, per element [B, N]
};

class NeuronOracle {
 public:
  NeuronOracle(const ReferenceNeuron& neuron, const Shape& shape, SpikeKind kind = SpikeKind::hard)
      : neuron_(neuron), shape_(shape), kind_(kind) {}

  /// One element of [B, N] over all steps.
  struct Element {
    std::vector<double> x, grad_spike, grad_v, grad_w;  // per step
    double v_init = 0, w_init = 0, grad_v_final = 0, grad_w_final = 0;
    std::vector<double> parameters;  // own, v_threshold, v_reset
    std::vector<double> shape;       // of the surrogate
  };

  template <typename Scalar>
  Element element(const FullInputs<Scalar>& inputs, size_t i) const {
    Element e;
    const auto at = [&](const std::vector<Scalar>& values, size_t index) {
      return values.empty() ? 0.0 : static_cast<double>(values[index]);
    };
    for (size_t t = 0; t < steps(); ++t) {
      e.x.push_back(at(inputs.x, t * shape_.row() + i));
      e.grad_spike.push_back(at(inputs.grad_spike_seq, t * shape_.row() + i));
      e.grad_v.push_back(at(inputs.grad_v_seq, t * shape_.row() + i));
      e.grad_w.push_back(at(inputs.grad_w_seq, t * shape_.row() + i));
    }
    e.v_init = at(inputs.v_init, i);
    e.w_init = at(inputs.w_init, i);
    e.grad_v_final = at(inputs.grad_v_final, i);
    e.grad_w_final = at(inputs.grad_w_final, i);
    const size_t n = i % static_cast<size_t>(shape_.n_neurons);
    for (size_t p = 0; p < neuron_.n_differentiable(); ++p) e.parameters.push_back(of_neuron(neuron_.values(p), n));
    for (const std::vector<double>& values : neuron_.shape) e.shape.push_back(of_neuron(values, n));
    return e;
  }

  /// The course of one element. `x`, `start` and `parameters` are numbers on a tape, or doubles. If `frozen` is given,
  /// detached resets take their spikes from it.
  template <typename Value>
  struct Run {
    std::vector<Value> h, spike, v, w;
    Value loss = 0;
  };
  template <typename Value>
  Run<Value> run(const Element& e, const std::vector<Value>& x, const Step<Value>& start,
                 const std::vector<Value>& parameters, const std::vector<double>* frozen = nullptr) const {
    const Value* const own = parameters.data();
    const Value &v_threshold = parameters[neuron_.own.size()], &v_reset = parameters[neuron_.own.size() + 1];
    Run<Value> r;
    Step<Value> state = start;
    for (size_t t = 0; t < steps(); ++t) {
      const Value h = reference_charge(neuron_.model->id, neuron_.undecayed_input, own, state, x[t]);
      const Value s = spike<Value>(e, h - v_threshold);
      const Value in_reset = neuron_.detach_reset ? Value(frozen ? (*frozen)[t] : number(s)) : s;
      state.w = reference_adapt(neuron_.model->id, neuron_.undecayed_input, own, state.w, x[t], h, s);
      state.v = neuron_.soft_reset ? h - v_threshold * in_reset : h * (Value(1) - in_reset) + v_reset * in_reset;
      r.h.push_back(h);
      r.spike.push_back(s);
      r.v.push_back(state.v);
      r.w.push_back(state.w);
      r.loss = r.loss + Value(e.grad_spike[t]) * s + Value(e.grad_v[t]) * state.v + Value(e.grad_w[t]) * state.w;
    }
    r.loss = r.loss + Value(e.grad_v_final) * state.v + Value(e.grad_w_final) * state.w;
    return r;
  }

  /// The gradients of one element by automatic differentiation: x, v_init, w_init, parameters.
  struct Gradients {
    std::vector<double> x, parameters;
    double v_init = 0, w_init = 0;
    Run<double> run;
  };
  Gradients differentiate(const Element& e) const {
    Tape tape;
    std::vector<Number> x, parameters;
    for (const double value : e.x) x.push_back(tape.variable(value));
    for (const double value : e.parameters) parameters.push_back(tape.variable(value));
    const Step<Number> start = {tape.variable(e.v_init), tape.variable(e.w_init)};
    const Run<Number> r = run<Number>(e, x, start, parameters);
    tape.differentiate(r.loss);
    Gradients g;
    for (const Number& number : x) g.x.push_back(tape.gradient(number));
    for (const Number& number : parameters) g.parameters.push_back(tape.gradient(number));
    g.v_init = tape.gradient(start.v);
    g.w_init = tape.gradient(start.w);
    const auto values = [](const std::vector<Number>& numbers) {
      std::vector<double> result;
      for (const Number& number : numbers) result.push_back(number.value());
      return result;
    };
    g.run = {values(r.h), values(r.spike), values(r.v), values(r.w), r.loss.value()};
    return g;
  }

  template <typename Scalar>
  ReferenceOutputs outputs(const FullInputs<Scalar>& inputs) const {
    ReferenceOutputs out;
    for (std::vector<double>* sequence : {&out.spikes, &out.h_seq, &out.v_seq, &out.grad_x_seq})
      sequence->resize(shape_.sequence());
    for (std::vector<double>* row : {&out.v_final, &out.grad_v_init}) row->resize(shape_.row());
    const bool two = neuron_.model->two_variables;
    out.w_seq.resize(two ? shape_.sequence() : 0);
    for (std::vector<double>* row : {&out.w_final, &out.grad_w_init}) row->resize(two ? shape_.row() : 0);
    out.gradients.assign(neuron_.n_differentiable(), std::vector<double>(shape_.row()));
    for (size_t i = 0; i < shape_.row(); ++i) {
      const Gradients g = differentiate(element(inputs, i));
      for (size_t t = 0; t < steps(); ++t) {
        const size_t at = t * shape_.row() + i;
        out.spikes[at] = g.run.spike[t];
        out.h_seq[at] = g.run.h[t];
        out.v_seq[at] = g.run.v[t];
        if (two) out.w_seq[at] = g.run.w[t];
        out.grad_x_seq[at] = g.x[t];
      }
      out.v_final[i] = g.run.v.back();
      out.grad_v_init[i] = g.v_init;
      if (two) out.w_final[i] = g.run.w.back();
      if (two) out.grad_w_init[i] = g.w_init;
      for (size_t p = 0; p < g.parameters.size(); ++p) out.gradients[p][i] = g.parameters[p];
    }
    return out;
  }

  /// Inputs that take H to chosen places around the threshold, at least `margin` away from it, from the surrogate's
  /// kinks and from KLIF's own. H before rectification grows with X in every model, which determines X.
  template <typename Scalar>
  FullInputs<Scalar> drive(Random& random, double margin) const {
    FullInputs<Scalar> inputs;
    inputs.x.resize(shape_.sequence());
    inputs.v_init = random.values<Scalar>(shape_.row(), -0.3, 0.7);
    inputs.grad_spike_seq = random.values<Scalar>(shape_.sequence(), -1, 1);
    inputs.grad_v_seq = random.values<Scalar>(shape_.sequence(), -1, 1);
    inputs.grad_v_final = random.values<Scalar>(shape_.row(), -1, 1);
    if (neuron_.model->two_variables) {
      inputs.w_init = random.values<Scalar>(shape_.row(), -0.3, 0.3);
      inputs.grad_w_seq = random.values<Scalar>(shape_.sequence(), -1, 1);
      inputs.grad_w_final = random.values<Scalar>(shape_.row(), -1, 1);
    }
    for (size_t i = 0; i < shape_.row(); ++i) {
      const Element e = element(inputs, i);
      const double* const own = e.parameters.data();
      const double v_threshold = own[neuron_.own.size()], v_reset = own[neuron_.own.size() + 1];
      std::vector<double> forbidden = {0};
      if (neuron_.surrogate->kinks)
        for (const double kink : neuron_.surrogate->kinks(e.shape.data())) forbidden.push_back(kink);
      Step<double> state = {e.v_init, e.w_init};
      for (size_t t = 0; t < steps(); ++t) {
        const auto h_of = [&](double x) {
          return reference_membrane(neuron_.model->id, neuron_.undecayed_input, own, state, x);
        };
        const bool rectifies = neuron_.model->id == added_klif;
        const auto too_close = [&](double h) {
          if (rectifies && std::fabs(h) < margin) return true;
          return std::any_of(forbidden.begin(), forbidden.end(),
                             [&](double place) { return std::fabs(h - v_threshold - place) < margin; });
        };
        Scalar& x = inputs.x[t * shape_.row() + i];
        double h = 0;
        do {
          const double wanted = v_threshold + random.uniform(-1.8, 0.4);
          x = static_cast<Scalar>((wanted - h_of(0)) / (h_of(1) - h_of(0)));
          h = h_of(static_cast<double>(x));
        } while (too_close(h));
        h = reference_charge(neuron_.model->id, neuron_.undecayed_input, own, state, static_cast<double>(x));
        const double s = spike<double>(e, h - v_threshold);
        state.w =
            reference_adapt(neuron_.model->id, neuron_.undecayed_input, own, state.w, static_cast<double>(x), h, s);
        state.v = neuron_.soft_reset ? h - v_threshold * s : h * (1 - s) + v_reset * s;
      }
    }
    return inputs;
  }

 private:
  static double of_neuron(const std::vector<double>& values, size_t n) {
    return values.size() == 1 ? values[0] : values[n];
  }
  static double number(double value) { return value; }
  static double number(const Number& value) { return value.value(); }
  size_t steps() const { return static_cast<size_t>(shape_.n_steps); }

  template <typename Value>
  Value spike(const Element& e, const Value& x) const {
    const double at = number(x);
    const double value =
        kind_ == SpikeKind::smooth ? neuron_.surrogate->primitive(e.shape.data(), at) : (at >= 0 ? 1.0 : 0.0);
    if constexpr (std::is_same_v<Value, double>)
      return value;
    else
      return Tape::result(value, x, neuron_.surrogate->derivative(e.shape.data(), at));
  }

  const ReferenceNeuron& neuron_;
  const Shape& shape_;
  SpikeKind kind_;
};

}  // namespace synfire_test

#endif

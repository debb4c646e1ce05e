// Gradients of whole networks by the library's formulas: two layers of weights and neurons, a leaky integrator as
// readout, and a loss. Spikes are the surrogates' smooth primitives, so that the gradients are those of the loss, and
// central differences must find them again.
//
// The recursion is that of model/recursion.hpp with a spike of any value, and must be it for spikes of 0 and 1. All
// else comes from model/: constants and their slopes, charge and adaptation in dual numbers, the surrogates'
// derivatives.
#include "../sample.hpp"
#include "surrogate_reference.hpp"

#include <synfire/model/models.hpp>
#include <synfire/model/update.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace {

namespace model = synfire::model;
using model::Rules;
using Incoming = model::Incoming<double>;
using State = model::State<double>;
using StepGradient = model::StepGradient<double>;
using Doubles = std::vector<double>;

// ---- surrogates -----------------------------------------------------------------------------------------------------

struct SurrogateOps {
  const char* name;
  std::vector<Doubles> sets;  // of parameters
  double (*primitive)(const Doubles& p, double x);
  double (*derivative)(const Doubles& p, double x);
  Doubles (*kinks)(const Doubles& p);
};

template <class Surrogate>
SurrogateOps ops_of_surrogate() {
  using Reference = reference::Of<Surrogate>;
  return {Surrogate::name,
          {Reference::sets().front(), Reference::sets()[1]},
          [](const Doubles& p, double x) { return static_cast<double>(Reference::primitive(p, x)); },
          [](const Doubles& p, double x) {
            double constants[model::max_surrogate_constants];
            Surrogate::derive(p.data(), constants);
            return Surrogate::template derivative<double>(constants, x);
          },
          [](const Doubles& p) {
            Doubles kinks;
            for (const reference::Real kink : Reference::kinks(p)) kinks.push_back(static_cast<double>(kink));
            return kinks;
          }};
}

template <class... Entries>
std::vector<SurrogateOps> surrogates_of(model::List<Entries...>) {
  std::vector<SurrogateOps> all;
  const auto add = [&]<class Surrogate>(Surrogate) {
    if constexpr (reference::Of<Surrogate>::has_primitive) all.push_back(ops_of_surrogate<Surrogate>());
  };
  (add(typename Entries::type{}), ...);
  return all;
}

// ---- models ---------------------------------------------------------------------------------------------------------

// Values that a step has computed, for its adjoint.
struct StepTape {
  State before;
  double x, h, spike, g;
};

// Constants of a neuron and their slopes along its parameters (the model's own, then v_threshold and v_reset).
struct Derived {
  double constants[model::first_model_constant + model::max_model_constants];
  double slopes[model::max_slope_rows * model::max_model_constants];
};

struct ModelOps {
  const char* name;
  int n_own;
  bool never_fires, has_w;
  Doubles (*defaults)();
  Derived (*derive)(const Doubles& parameters, bool undecayed);
  double (*charge)(const Derived&, State before, double x);
  // The state after a step whose spike is `spike`, and whose reset sees `in_reset`.
  State (*advance)(const Derived&, Rules, State before, double h, double spike, double in_reset);
  // The adjoint of a step; adds to the gradients of the parameters.
  StepGradient (*backward)(const Derived&, Rules, const StepTape&, Incoming, Doubles& parameters);
  // The same by recursion.hpp, for spikes of 0 and 1.
  StepGradient (*library_backward)(const Derived&, Rules, const StepTape&, Incoming, Doubles& parameters);
  State (*library_advance)(const Derived&, Rules, State before, double h, bool spike);
};

template <class Model>
StepGradient smooth_backward(const Derived& d, Rules rules, const StepTape& step, Incoming in, Doubles& parameters) {
  const double* const own = d.constants + model::first_model_constant;
  const double v_threshold = d.constants[model::constant_v_threshold], v_reset = d.constants[model::constant_v_reset];
  const bool soft = rules.soft_reset, detached = rules.detach_reset;
  const auto derivative = [&](auto of_constants) {
    model::Dual<double, model::Zero> c[model::max_model_constants];
    for (int k = 0; k < Model::n_constants; ++k) c[k] = model::constant(own[k]);
    return model::number<double>(of_constants(c).derivative);
  };
  const auto v = model::constant(step.before.v), w = model::constant(step.before.w[0]), x = model::constant(step.x);
  const double dh_dv =
      derivative([&](auto* c) { return model::charge_of<Model>(c, model::variable(step.before.v), w, x); });
  const double dh_dx = derivative([&](auto* c) { return model::charge_of<Model>(c, v, w, model::variable(step.x)); });
  double grad_spike = in.spike + (detached ? 0.0 : in.v * (soft ? -v_threshold : v_reset - step.h));
  const double through = soft ? in.v : in.v * (1 - step.spike);
  StepGradient result = {};
  if constexpr (Model::n_states == 1) {
    const double grad_h = grad_spike * step.g + through;
    result = {grad_h * dh_dx, {grad_h * dh_dv, {0}}, grad_h, grad_spike};
  } else {
    const auto h = model::constant(step.h), s = model::constant(step.spike);
    const double dw_ds = derivative([&](auto* c) { return Model::adapt(c, w, h, model::variable(step.spike)); });
    const double dw_dh = derivative([&](auto* c) { return Model::adapt(c, w, model::variable(step.h), s); });
    const double dw_dw = derivative([&](auto* c) { return Model::adapt(c, model::variable(step.before.w[0]), h, s); });
    const double dh_dw =
        derivative([&](auto* c) { return model::charge_of<Model>(c, v, model::variable(step.before.w[0]), x); });
    grad_spike += in.w[0] * dw_ds;
    const double grad_h = grad_spike * step.g + through + in.w[0] * dw_dh;
    result = {grad_h * dh_dx, {grad_h * dh_dv, {in.w[0] * dw_dw + grad_h * dh_dw}}, grad_h, grad_spike};
  }
  for (int p = 0; p < Model::n_parameters; ++p) {
    model::Dual<double, double> c[model::max_model_constants];
    for (int k = 0; k < Model::n_constants; ++k) c[k] = {own[k], d.slopes[p * model::max_model_constants + k]};
    double share = result.h * model::number<double>(model::charge_of<Model>(c, v, w, x).derivative);
    if constexpr (Model::n_states == 2)
      share += in.w[0] * Model::adapt(c, w, model::constant(step.h), model::constant(step.spike)).derivative;
    parameters[static_cast<size_t>(p)] += share;
  }
  parameters[Model::n_parameters] -= step.g * result.spike + (soft ? step.spike * in.v : 0.0);
  parameters[Model::n_parameters + 1] += soft ? 0.0 : step.spike * in.v;
  return result;
}

template <class Model>
StepGradient hard_backward(const Derived& d, Rules rules, const StepTape& step, Incoming in, Doubles& parameters) {
  const double* const c = d.constants;
  const StepGradient result = model::backward_step<Model>(c, rules, step.before, step.x, step.h, step.g, in);
  for (int p = 0; p < Model::n_parameters; ++p)
    parameters[static_cast<size_t>(p)] += model::parameter_gradient<Model>(c, d.slopes + p * model::max_model_constants,
                                                                           step.before, step.x, step.h, result, in);
  if constexpr (!model::never_fires<Model>) {
    parameters[Model::n_parameters] += model::v_threshold_gradient<Model>(c, rules, step.h, step.g, result, in);
    parameters[Model::n_parameters + 1] += model::v_reset_gradient<Model>(c, rules, step.h, in);
  }
  return result;
}

template <class Model>
ModelOps ops_of_model() {
  constexpr bool silent = model::never_fires<Model>;
  return {Model::name,
          Model::n_parameters,
          silent,
          Model::n_states == 2,
          [] {
            Doubles values;
            for (int i = 0; i < Model::n_parameters; ++i) values.push_back(Model::parameters[i].default_value);
            values.push_back(model::v_threshold_parameter.default_value);
            values.push_back(Model::default_v_reset);
            return values;
          },
          [](const Doubles& parameters, bool undecayed) {
            Derived d = {};
            model::derive_own<Model>(parameters.data(), undecayed, d.constants);
            model::derive_slopes<Model>(parameters.data(), undecayed, d.slopes);
            return d;
          },
          [](const Derived& d, State before, double x) { return model::charge<Model>(d.constants, before, x); },
          [](const Derived& d, Rules rules, State before, double h, double spike, double in_reset) {
            State after = {h, {0}};
            const double v_threshold = d.constants[model::constant_v_threshold];
            if constexpr (!silent)
              after.v = rules.soft_reset ? h - v_threshold * in_reset
                                         : h * (1 - in_reset) + d.constants[model::constant_v_reset] * in_reset;
            if constexpr (Model::n_states == 2)
              after.w[0] = Model::adapt(d.constants + model::first_model_constant, before.w[0], h, spike);
            return after;
          },
          silent ? hard_backward<Model> : smooth_backward<Model>,
          hard_backward<Model>,
          [](const Derived& d, Rules rules, State before, double h, bool spike) {
            return model::advance<Model>(d.constants, rules, before, 0.0, h, spike);
          }};
}

// Models whose further variable follows X, such as a current, are in further_states_test.cpp.
template <class... Entries>
std::vector<ModelOps> models_of(model::List<Entries...>) {
  std::vector<ModelOps> models;
  const auto add = [&](auto entry) {
    using Model = typename decltype(entry)::type;
    if constexpr (!model::follows_input<Model>()) models.push_back(ops_of_model<Model>());
  };
  (add(Entries{}), ...);
  return models;
}

// ---- networks -------------------------------------------------------------------------------------------------------

constexpr size_t n_steps = 6, batch = 2, n_inputs = 5, n_hidden = 4, n_second = 3, n_classes = 3;

// Weights [N, K], a bias [N] and N neurons.
struct Layer {
  const ModelOps* neuron;
  const SurrogateOps* surrogate;
  Doubles surrogate_parameters;
  Rules rules;
  bool undecayed;
  size_t inputs, outputs;
  Doubles weights, bias, parameters;
  Doubles start;  // V and W before the first step

  std::string text() const {
    return std::string(neuron->name) + (undecayed ? " undecayed" : "") + (rules.soft_reset ? " soft" : " hard") +
           (rules.detach_reset ? " detached " : " attached ") + surrogate->name;
  }
};

struct Network {
  std::vector<Layer> layers;
  Doubles input;  // [T, B, K]
  bool squared_error = false;
};

// The results of a forward: the outputs of every layer [T, B, N] (spikes, or V of the readout), and the values that its
// backward reads.
struct Pass {
  std::vector<Doubles> outputs;
  std::vector<std::vector<StepTape>> tapes;
  Doubles grad_readout;  // dL/dV of the readout
  double loss = 0;
};

struct LayerGradients {
  Doubles weights, bias, parameters, start;
};
struct Gradients {
  std::vector<LayerGradients> layers;
  Doubles input;
};

constexpr double target_of(size_t b, size_t c) {
  return c == (b + 1) % n_classes ? 0.9 : 0.05;
}

void add_loss(const Network& network, Pass& pass) {
  const Doubles& v = pass.outputs.back();
  pass.grad_readout.assign(v.size(), 0);
  for (size_t b = 0; b < batch; ++b) {
    double predicted[n_classes] = {}, sum = 0;
    for (size_t c = 0; c < n_classes; ++c)
      for (size_t t = network.squared_error ? n_steps - 1 : 0; t < n_steps; ++t)
        predicted[c] += v[(t * batch + b) * n_classes + c] / (network.squared_error ? 1.0 : double{n_steps});
    for (const double x : predicted) sum += std::exp(x);
    for (size_t c = 0; c < n_classes; ++c) {
      const double y = target_of(b, c), difference = predicted[c] - y;
      if (network.squared_error) {
        pass.loss += difference * difference / (batch * n_classes);
        pass.grad_readout[((n_steps - 1) * batch + b) * n_classes + c] = 2 * difference / (batch * n_classes);
        continue;
      }
      pass.loss -= y * (predicted[c] - std::log(sum)) / batch;
      for (size_t t = 0; t < n_steps; ++t)
        pass.grad_readout[(t * batch + b) * n_classes + c] = (std::exp(predicted[c]) / sum - y) / (batch * n_steps);
    }
  }
}

// If `frozen` is given, detached resets take their spikes from it.
Pass forward(const Network& network, const Pass* frozen = nullptr) {
  Pass pass;
  const Doubles* input = &network.input;
  for (size_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    const Derived derived = layer.neuron->derive(layer.parameters, layer.undecayed);
    Doubles output(n_steps * batch * layer.outputs);
    std::vector<StepTape> tape(output.size());
    for (size_t b = 0; b < batch; ++b)
      for (size_t n = 0; n < layer.outputs; ++n) {
        State state = {layer.start[0], {layer.start[1]}};
        for (size_t t = 0; t < n_steps; ++t) {
          double x = layer.bias[n];
          for (size_t k = 0; k < layer.inputs; ++k)
            x += layer.weights[n * layer.inputs + k] * (*input)[(t * batch + b) * layer.inputs + k];
          const size_t at = (t * batch + b) * layer.outputs + n;
          const double h = layer.neuron->charge(derived, state, x);
          const double over = h - derived.constants[model::constant_v_threshold];
          const bool silent = layer.neuron->never_fires;
          const double spike = silent ? 0 : layer.surrogate->primitive(layer.surrogate_parameters, over);
          const double g = silent ? 0 : layer.surrogate->derivative(layer.surrogate_parameters, over);
          const double in_reset = layer.rules.detach_reset && frozen ? frozen->tapes[i][at].spike : spike;
          tape[at] = {state, x, h, spike, g};
          state = layer.neuron->advance(derived, layer.rules, state, h, spike, in_reset);
          output[at] = silent ? state.v : spike;
        }
      }
    pass.outputs.push_back(std::move(output));
    pass.tapes.push_back(std::move(tape));
    input = &pass.outputs.back();
  }
  add_loss(network, pass);
  return pass;
}

Gradients backward(const Network& network, const Pass& pass) {
  Gradients gradients;
  gradients.layers.resize(network.layers.size());
  Doubles grad_output = pass.grad_readout;
  for (size_t i = network.layers.size(); i-- > 0;) {
    const Layer& layer = network.layers[i];
    const Derived derived = layer.neuron->derive(layer.parameters, layer.undecayed);
    const Doubles& input = i == 0 ? network.input : pass.outputs[i - 1];
    LayerGradients& g = gradients.layers[i];
    g = {Doubles(layer.weights.size()), Doubles(layer.bias.size()), Doubles(layer.parameters.size()), Doubles(2)};
    Doubles grad_input(n_steps * batch * layer.inputs);
    for (size_t b = 0; b < batch; ++b)
      for (size_t n = 0; n < layer.outputs; ++n) {
        State carried = {0, {0}};
        for (size_t t = n_steps; t-- > 0;) {
          const size_t row = t * batch + b, at = row * layer.outputs + n;
          const bool silent = layer.neuron->never_fires;
          const Incoming in = {
              silent ? 0 : grad_output[at], carried.v + (silent ? grad_output[at] : 0), {carried.w[0]}};
          const StepGradient step = layer.neuron->backward(derived, layer.rules, pass.tapes[i][at], in, g.parameters);
          carried = step.before;
          g.bias[n] += step.x;
          for (size_t k = 0; k < layer.inputs; ++k) {
            g.weights[n * layer.inputs + k] += step.x * input[row * layer.inputs + k];
            grad_input[row * layer.inputs + k] += step.x * layer.weights[n * layer.inputs + k];
          }
        }
        g.start[0] += carried.v;
        g.start[1] += carried.w[0];
      }
    grad_output = std::move(grad_input);
  }
  gradients.input = std::move(grad_output);
  return gradients;
}

// ---- drawing --------------------------------------------------------------------------------------------------------

class Draw {
 public:
  explicit Draw(unsigned seed) : generator_(seed) {}
  double uniform(double low, double high) {  // the same on every machine
    return low + (high - low) * (static_cast<double>(generator_() >> 5) * 0x1p-27);
  }
  Doubles uniform(size_t count, double low, double high) {
    Doubles values(count);
    for (double& value : values) value = uniform(low, high);
    return values;
  }

 private:
  std::mt19937 generator_;
};

Layer draw_layer(Draw& draw, const ModelOps& neuron, const SurrogateOps& surrogate, size_t inputs, size_t outputs) {
  Layer layer = {
      &neuron, &surrogate, surrogate.sets[draw.uniform(0, 1) < 0.5 ? 0 : 1], {}, false, inputs, outputs, {}, {},
      {},      {}};
  layer.rules = {draw.uniform(0, 1) < 0.5, draw.uniform(0, 1) < 0.5};
  layer.undecayed = draw.uniform(0, 1) < 0.5;
  layer.weights = draw.uniform(inputs * outputs, -1, 1);
  layer.bias = draw.uniform(outputs, -0.2, 0.6);
  layer.parameters = neuron.defaults();
  for (double& parameter : layer.parameters) parameter += draw.uniform(0.03, 0.25);
  layer.start = {draw.uniform(-0.2, 0.4), neuron.has_w ? draw.uniform(-0.2, 0.2) : 0.0};
  return layer;
}

// True if no potential is close to where a surrogate bends: a difference across it would not be one.
bool is_smooth(const Network& network, const Pass& pass) {
  for (size_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    if (layer.neuron->never_fires) continue;
    const Doubles kinks = layer.surrogate->kinks(layer.surrogate_parameters);
    const double v_threshold = layer.parameters[static_cast<size_t>(layer.neuron->n_own)];
    for (const StepTape& step : pass.tapes[i])
      for (const double kink : kinks)
        if (std::fabs(step.h - v_threshold - kink) < 0.01) return false;
  }
  return true;
}

Network draw_network(Draw& draw, const ModelOps& first, const ModelOps& second, const ModelOps& readout,
                     const SurrogateOps& of_first, const SurrogateOps& of_second) {
  for (;;) {
    Network network;
    network.layers.push_back(draw_layer(draw, first, of_first, n_inputs, n_hidden));
    network.layers.push_back(draw_layer(draw, second, of_second, n_hidden, n_second));
    network.layers.push_back(draw_layer(draw, readout, of_second, n_second, n_classes));
    for (size_t i = 0; i < n_steps * batch * n_inputs; ++i) network.input.push_back(draw.uniform(0, 1) < 0.5 ? 1 : 0);
    network.squared_error = draw.uniform(0, 1) < 0.5;
    if (is_smooth(network, forward(network))) return network;
  }
}

// ---- tests ----------------------------------------------------------------------------------------------------------

// Fourth-order central difference of the loss with respect to one number.
double central_difference(Network& network, const Pass& base, double& number) {
  constexpr double h = 2e-4;
  const double at = number;
  const auto moved = [&](double steps) {
    number = at + steps * h;
    const double loss = forward(network, &base).loss;
    number = at;
    return loss;
  };
  return (8 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / (12 * h);
}

class NetworkGradients : public testing::Test {
 protected:
  // The gradients of an array, relative to the largest of them.
  void expect_same(Network& network, const Pass& base, Doubles& array, const Doubles& gradients, const char* name) {
    ASSERT_EQ(array.size(), gradients.size());
    double largest = 0.01;
    for (const double gradient : gradients) largest = std::fmax(largest, std::fabs(gradient));
    for (size_t i = 0; i < array.size(); ++i) {
      const double difference = central_difference(network, base, array[i]);
      const double error = std::fabs(gradients[i] - difference) / largest;
      EXPECT_LE(error, 1e-7) << name << "[" << i << "]: " << gradients[i] << " against " << difference;
      largest_error_ = std::fmax(largest_error_, error);
      ++n_gradients_;
    }
  }

  const std::vector<ModelOps> models_ = models_of(model::BuiltInModels{});
  const std::vector<SurrogateOps> surrogates_ = surrogates_of(model::BuiltInSurrogates{});
  double largest_error_ = 0;
  int n_gradients_ = 0;
};

// Every model is in both layers with every surrogate that has a primitive, in turn.
TEST_F(NetworkGradients, EqualCentralDifferences) {
  std::vector<const ModelOps*> firing, readouts;
  for (const ModelOps& ops : models_)
    if (ops.never_fires)
      readouts.push_back(&ops);
    else
      firing.push_back(&ops);
  ASSERT_GT(readouts.size(), 2u);
  uint32_t number = 0;
  int n_networks = 0;
  for (size_t i = 0; i < firing.size(); ++i)
    for (size_t j = 0; j < surrogates_.size(); ++j) {
      if (!synfire_test::sampled(number++)) continue;
      ++n_networks;
      Draw draw(number);
      const ModelOps& second = *firing[(i + j) % firing.size()];
      Network network = draw_network(draw, *firing[i], second, *readouts[(i + j) % readouts.size()], surrogates_[j],
                                     surrogates_[(j + i + 1) % surrogates_.size()]);
      SCOPED_TRACE(network.layers[0].text() + ", " + network.layers[1].text());
      const Pass base = forward(network);
      const Gradients gradients = backward(network, base);
      for (size_t l = 0; l < network.layers.size(); ++l) {
        Layer& layer = network.layers[l];
        const LayerGradients& g = gradients.layers[l];
        expect_same(network, base, layer.weights, g.weights, "weights");
        expect_same(network, base, layer.bias, g.bias, "bias");
        expect_same(network, base, layer.parameters, g.parameters, "parameters");
        expect_same(network, base, layer.start, g.start, "start");
      }
      expect_same(network, base, network.input, gradients.input, "input");
      if (HasFailure()) return;
    }
  RecordProperty("largest_error", (testing::Message() << largest_error_).GetString());
  EXPECT_GT(n_gradients_, 50 * n_networks);
}

// With spikes of 0 and 1, the recursion above is the library's.
TEST_F(NetworkGradients, AreThoseOfTheLibrarysRecursionForSpikesOf0And1) {
  Draw draw(2);
  for (const ModelOps& neuron : models_)
    for (const bool undecayed : {false, true})
      for (const Rules rules : {Rules{false, false}, Rules{false, true}, Rules{true, false}, Rules{true, true}})
        for (int i = 0; i < 50; ++i) {
          SCOPED_TRACE(testing::Message()
                       << neuron.name << " soft " << rules.soft_reset << " detached " << rules.detach_reset);
          Doubles parameters = neuron.defaults();
          for (double& parameter : parameters) parameter += draw.uniform(0.03, 0.25);
          const Derived derived = neuron.derive(parameters, undecayed);
          StepTape step = {
              {draw.uniform(-1, 1), {neuron.has_w ? draw.uniform(-1, 1) : 0}}, draw.uniform(-1, 4), 0, 0, 0};
          step.h = neuron.charge(derived, step.before, step.x);
          step.spike = !neuron.never_fires && step.h >= derived.constants[model::constant_v_threshold] ? 1 : 0;
          step.g = neuron.never_fires ? 0 : draw.uniform(0, 1);
          const Incoming in = {neuron.never_fires ? 0 : draw.uniform(-1, 1),
                               draw.uniform(-1, 1),
                               {neuron.has_w ? draw.uniform(-1, 1) : 0}};
          Doubles own(parameters.size()), librarys(parameters.size());
          const StepGradient a = neuron.backward(derived, rules, step, in, own),
                             b = neuron.library_backward(derived, rules, step, in, librarys);
          for (const auto& [x, y] : {std::pair(a.x, b.x), std::pair(a.before.v, b.before.v),
                                     std::pair(a.before.w[0], b.before.w[0]), std::pair(a.h, b.h)})
            ASSERT_NEAR(x, y, 1e-13);
          for (size_t p = 0; p < own.size(); ++p) ASSERT_NEAR(own[p], librarys[p], 1e-13) << p;
          // And so is the state after the step.
          const State after = neuron.advance(derived, rules, step.before, step.h, step.spike, step.spike);
          const State librarys_after = neuron.library_advance(derived, rules, step.before, step.h, step.spike != 0);
          ASSERT_NEAR(after.v, librarys_after.v, 1e-13);
          ASSERT_NEAR(after.w[0], librarys_after.w[0], 1e-13);
        }
}

}  // namespace

// Whole networks against a reference in f64: two layers with their synapses, a readout, a loss, and every gradient.
// The reference runs the formulas of the neuron oracle and plain sums on a tape of automatic differentiation.
#include <cmath>

#include "graph_support.hpp"
#include "neuron_oracle.hpp"
#include "synapse_rig.hpp"

namespace synfire_test {
namespace {

constexpr size_t rounds = 5;

// ---- networks -------------------------------------------------------------------------------------------------------

// Two layers that fire, and a leaky integrator.
constexpr size_t n_layers = 3, readout = 2;

struct Stage {
  ReferenceNeuron neuron;  // of the readout: LIF, whose charge is that of LI
  size_t inputs = 0, outputs = 0;
  std::vector<double> weights, bias;    // [N, K], [N]
  std::vector<double> v_init, w_init;   // [B, N]
  int32_t spikes = SYNFIRE_DTYPE_BITS;  // format of the input
};

struct Plan {
  size_t n_steps = 8, batch = 4, active = 4;
  std::vector<Stage> stages;
  std::vector<double> input;  // spikes [T, B, K]
  bool of_layers = false;     // synfire_forward_desc::synapse instead of operations of their own
  bool squared_error = false;
  double smoothing = 0;
  int32_t tape = SYNFIRE_TAPE_RECOMPUTE;

  size_t n_classes() const { return stages.back().outputs; }
  size_t label(size_t b) const { return (b * 7 + 1) % n_classes(); }
  double target(size_t b, size_t c) const { return static_cast<double>((b + 2 * c) % 5) / 4; }
};

// All that is compared. Sequences are [T, B, ..], gradients of parameters one array each.
struct Outcome {
  std::vector<std::vector<double>> spikes, weights, bias, parameters;
  std::vector<double> v_seq, grad_input, loss;
};

// ---- the reference --------------------------------------------------------------------------------------------------

Number logarithm(const Number& a) {
  return Tape::result(std::log(a.value()), a, 1 / a.value());
}

// False if a potential is closer than `margin` to where a spike or a surrogate jumps, or is very large.
bool is_tame(const Stage& stage, const NeuronOracle::Element& e, const std::vector<Number>& h, double margin) {
  std::vector<double> places = {0};
  if (stage.neuron.surrogate->kinks)
    for (const double kink : stage.neuron.surrogate->kinks(e.shape.data())) places.push_back(kink);
  const double v_threshold = e.parameters[stage.neuron.own.size()];
  for (const Number& number : h) {
    if (!(std::fabs(number.value()) < 5)) return false;
    for (const double place : places)
      if (std::fabs(number.value() - v_threshold - place) < margin) return false;
  }
  return true;
}

// Returns false if the plan is not one on which rounding decides nothing.
bool reference(const Plan& plan, double margin, Outcome& outcome) {
  Tape tape;
  const size_t n_rows = plan.n_steps * plan.batch;
  const auto variables = [&](const std::vector<double>& values) {
    std::vector<Number> numbers;
    for (const double value : values) numbers.push_back(tape.variable(value));
    return numbers;
  };
  std::vector<std::vector<Number>> weights, biases;
  std::vector<std::vector<std::vector<Number>>> parameters;
  const std::vector<Number> input = variables(plan.input);
  std::vector<Number> from = input;
  for (size_t i = 0; i < n_layers; ++i) {
    const Stage& stage = plan.stages[i];
    weights.push_back(variables(stage.weights));
    biases.push_back(variables(stage.bias));
    parameters.emplace_back();
    for (size_t p = 0; p < stage.neuron.n_differentiable(); ++p)
      parameters[i].push_back(variables(stage.neuron.values(p)));
    std::vector<Number> output(n_rows * stage.outputs);
    const Shape shape = {static_cast<int64_t>(plan.n_steps), static_cast<int64_t>(plan.batch),
                         static_cast<int64_t>(stage.outputs)};
    const NeuronOracle oracle(stage.neuron, shape);
    FullInputs<double> given;
    given.x = given.grad_spike_seq = given.grad_v_seq = given.grad_w_seq = std::vector<double>(shape.sequence());
    given.v_init = stage.v_init;
    given.w_init = stage.w_init;
    for (size_t b = 0; b < plan.active; ++b)
      for (size_t n = 0; n < stage.outputs; ++n) {
        std::vector<Number> x, own;
        for (size_t t = 0; t < plan.n_steps; ++t) {
          Number sum = biases[i][n];
          for (size_t k = 0; k < stage.inputs; ++k)
            sum = sum + weights[i][n * stage.inputs + k] * from[(t * plan.batch + b) * stage.inputs + k];
          x.push_back(sum);
        }
        for (const std::vector<Number>& values : parameters[i]) own.push_back(values[values.size() == 1 ? 0 : n]);
        const auto at = [&](size_t t) { return (t * plan.batch + b) * stage.outputs + n; };
        const size_t element = b * stage.outputs + n;
        if (i == readout) {
          Step<Number> state = {stage.v_init[element], 0};
          for (size_t t = 0; t < plan.n_steps; ++t)
            output[at(t)] = state.v =
                reference_charge(SYNFIRE_MODEL_LIF, stage.neuron.undecayed_input, own.data(), state, x[t]);
          continue;
        }
        const NeuronOracle::Element e = oracle.element(given, element);
        const auto run = oracle.run<Number>(e, x, {e.v_init, e.w_init}, own);
        if (!is_tame(stage, e, run.h, margin)) return false;
        for (size_t t = 0; t < plan.n_steps; ++t) output[at(t)] = run.spike[t];
      }
    std::vector<double> values;
    for (const Number& number : output) values.push_back(number.value());
    (i == readout ? outcome.v_seq : outcome.spikes.emplace_back()) = std::move(values);
    from = std::move(output);
  }

  Number loss = 0;
  const size_t n_classes = plan.n_classes();
  const double classes = static_cast<double>(n_classes), active = static_cast<double>(plan.active);
  for (size_t b = 0; b < plan.active; ++b) {
    std::vector<Number> mean(n_classes, 0);
    Number sum = 0;
    for (size_t c = 0; c < n_classes; ++c) {
      for (size_t t = 0; t < plan.n_steps; ++t) mean[c] = mean[c] + from[(t * plan.batch + b) * n_classes + c];
      mean[c] = mean[c] / Number(static_cast<double>(plan.n_steps));
      sum = sum + exp(mean[c]);
    }
    for (size_t c = 0; c < n_classes; ++c) {
      const Number difference = mean[c] - Number(plan.target(b, c));
      const double y = (c == plan.label(b) ? 1 - plan.smoothing : 0) + plan.smoothing / classes;
      loss = loss + (plan.squared_error ? difference * difference / Number(active * classes)
                                        : Number(y / active) * (logarithm(sum) - mean[c]));
    }
  }
  outcome.loss = {loss.value()};
  tape.differentiate(loss);
  const auto gradients = [&](const std::vector<Number>& numbers) {
    std::vector<double> values;
    for (const Number& number : numbers) values.push_back(tape.gradient(number));
    return values;
  };
  for (size_t i = 0; i < n_layers; ++i) {
    outcome.weights.push_back(gradients(weights[i]));
    outcome.bias.push_back(gradients(biases[i]));
    const size_t count = i == readout ? plan.stages[i].neuron.own.size() : parameters[i].size();
    for (size_t p = 0; p < count; ++p) outcome.parameters.push_back(gradients(parameters[i][p]));
  }
  outcome.grad_input = gradients(input);
  return true;
}

// ---- the library ----------------------------------------------------------------------------------------------------

template <typename Scalar>
class Recorded {
 public:
  Recorded(synfire_context context, const Plan& plan) : context_(context), plan_(plan) {
    n_active_ = make_buffer(context, SYNFIRE_DTYPE_U32, 1);
    upload(n_active_, std::vector<uint32_t>{static_cast<uint32_t>(plan.active)});
    parts_.resize(n_layers);
    for (size_t i = 0; i < n_layers; ++i) make(i);
    const Graph graph = make_graph(context);
    for (size_t i = 0; i < n_layers; ++i) record_forward(graph, i);
    record_loss(graph);
    for (size_t i = n_layers; i-- > 0;) record_backward(graph, i);
    EXPECT_OK(synfire_graph_instantiate(graph));
    replay(graph);
  }

  Outcome outcome() const {
    Outcome got;
    for (size_t i = 0; i < n_layers; ++i) {
      const Stage& stage = plan_.stages[i];
      const Part& part = parts_[i];
      if (i == readout)
        got.v_seq = wide(part.output, n_rows() * stage.outputs);
      else
        got.spikes.push_back(dense(i));
      got.weights.push_back(of_synapse(part.synapse, "weight_gradient", stage.weights.size()));
      got.bias.push_back(of_synapse(part.synapse, "bias_gradient", stage.outputs));
      for (size_t p = 0; p < part.gradients.size(); ++p)
        got.parameters.push_back(wide(part.gradients[p], stage.neuron.values(p).size()));
    }
    got.grad_input = wide(grad_input_, plan_.input.size());
    got.loss = download<double>(loss_, 1);
    return got;
  }

 private:
  static constexpr int32_t dtype = dtype_of<Scalar>;
  struct Part {
    Synapse synapse;
    Layer layer;
    Buffer input, x, output, v_init, w_init, grad_output, grad_x;
    std::vector<Buffer> gradients;
    std::vector<std::string> names;
  };
  size_t n_rows() const { return plan_.n_steps * plan_.batch; }
  Shape shape(size_t neurons) const {
    return {static_cast<int64_t>(plan_.n_steps), static_cast<int64_t>(plan_.batch), static_cast<int64_t>(neurons)};
  }
  static std::vector<Scalar> narrow(const std::vector<double>& values) { return {values.begin(), values.end()}; }
  static std::vector<double> wide(synfire_buffer buffer, size_t count) {
    const std::vector<Scalar> values = download<Scalar>(buffer, count);
    return {values.begin(), values.end()};
  }
  static std::vector<double> of_synapse(synfire_synapse synapse, const char* name, size_t count) {
    const std::vector<Scalar> values = read<Scalar>(synapse, name, count);
    return {values.begin(), values.end()};
  }
  Buffer sequence(size_t neurons) const { return make_buffer(context_, dtype, n_rows() * neurons); }
  Buffer spikes_of(int32_t format, size_t neurons) const {
    const Shape s = shape(neurons);
    if (format == SYNFIRE_DTYPE_BITS) return make_buffer(context_, format, s.words());
    return make_buffer(context_, format == as_the_layer ? dtype : format,
                       format == SYNFIRE_DTYPE_TIME_BITS ? (plan_.n_steps + 31) / 32 * s.row() : s.sequence());
  }
  synfire_convert_spikes_desc conversion(synfire_buffer from, synfire_buffer to, size_t neurons) const {
    synfire_convert_spikes_desc desc = SYNFIRE_CONVERT_SPIKES_DESC_INIT;
    desc.n_steps = shape(neurons).n_steps;
    desc.n_neurons = shape(neurons).n_neurons;
    desc.batch = shape(neurons).batch;
    desc.source = from;
    desc.destination = to;
    return desc;
  }
  std::vector<double> dense(size_t i) const {
    const size_t neurons = plan_.stages[i].outputs;
    const Buffer numbers = sequence(neurons);
    const auto desc = conversion(parts_[i].output, numbers, neurons);
    EXPECT_OK(synfire_convert_spikes(context_, &desc, nullptr));
    return wide(numbers, n_rows() * neurons);
  }
  template <class Desc>
  Desc shaped(Desc desc) const {
    desc.n_steps = static_cast<int64_t>(plan_.n_steps);
    desc.batch = static_cast<int64_t>(plan_.batch);
    return desc;
  }

  void make(size_t i) {
    const Stage& stage = plan_.stages[i];
    Part& part = parts_[i];
    const Product product = {static_cast<int64_t>(plan_.n_steps), static_cast<int64_t>(plan_.batch),
                             static_cast<int64_t>(stage.inputs), static_cast<int64_t>(stage.outputs)};
    part.synapse = make_synapse(context_, describe(product, true, dtype));
    write(part.synapse, "weight", narrow(stage.weights));
    write(part.synapse, "bias", narrow(stage.bias));
    synfire_layer_desc desc = describe(stage.neuron, shape(stage.outputs), dtype);
    if (i == readout) {
      desc.model = SYNFIRE_MODEL_LI;
      desc.reset = desc.surrogate = desc.detach_reset = 0;
    }
    part.layer = make_layer(context_, desc);
    for (size_t p = 0; p < (i == readout ? stage.neuron.own.size() : stage.neuron.n_differentiable()); ++p) {
      part.names.push_back(stage.neuron.name(p));
      set_parameter(part.layer, part.names.back().c_str(), stage.neuron.values(p));
      part.gradients.push_back(make_buffer(context_, dtype, stage.neuron.values(p).size()));
    }
    for (size_t p = 0; p < stage.neuron.shape.size() && i != readout; ++p)
      set_parameter(part.layer, stage.neuron.surrogate->parameters[p].name, stage.neuron.shape[p]);
    part.v_init = make_buffer_of(context_, narrow(stage.v_init));
    if (!stage.w_init.empty()) part.w_init = make_buffer_of(context_, narrow(stage.w_init));
    part.grad_output = sequence(stage.outputs);
    part.output = i == readout ? sequence(stage.outputs) : spikes_of(plan_.stages[i + 1].spikes, stage.outputs);
    if (!plan_.of_layers) {
      part.x = sequence(stage.outputs);
      part.grad_x = sequence(stage.outputs);
    }
    if (i != 0) return;
    const Buffer numbers = make_buffer_of(context_, narrow(plan_.input));
    part.input = spikes_of(stage.spikes, stage.inputs);
    const auto convert = conversion(numbers, part.input, stage.inputs);
    EXPECT_OK(synfire_convert_spikes(context_, &convert, nullptr));
    grad_input_ = sequence(stage.inputs);
  }
  synfire_buffer input_of(size_t i) const { return i == 0 ? parts_[0].input : parts_[i - 1].output; }

  void record_forward(synfire_graph graph, size_t i) {
    Part& part = parts_[i];
    synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
    desc.tape = plan_.tape;
    desc.v_init = part.v_init;
    desc.w_init = part.w_init;
    (i == readout ? desc.v_seq : desc.spikes) = part.output;
    if (plan_.of_layers) {
      desc.n_active = n_active_;
      desc.synapse = part.synapse;
      desc.synapse_input = input_of(i);
    } else {
      auto product = shaped<synfire_synapse_forward_desc>(SYNFIRE_SYNAPSE_FORWARD_DESC_INIT);
      product.input = input_of(i);
      product.output = part.x;
      product.n_active = n_active_;
      EXPECT_OK(synfire_graph_record_synapse_forward(graph, part.synapse, &product));
      desc.x = part.x;
    }
    EXPECT_OK(synfire_graph_record_forward(graph, part.layer, &desc));
  }

  void record_loss(synfire_graph graph) {
    const auto n_classes = static_cast<int64_t>(plan_.n_classes());
    const size_t count = plan_.batch * plan_.n_classes();
    mean_ = make_buffer(context_, dtype, count);
    grad_mean_ = make_buffer(context_, dtype, count);
    loss_ = make_buffer(context_, SYNFIRE_DTYPE_F64, 1);
    auto mean = shaped<synfire_reduce_desc>(SYNFIRE_REDUCE_DESC_INIT);
    mean.reduction = SYNFIRE_REDUCE_MEAN;
    mean.n_neurons = n_classes;
    mean.source = parts_[readout].output;
    mean.destination = mean_;
    mean.n_active = n_active_;
    EXPECT_OK(synfire_graph_record_reduce(graph, &mean));
    synfire_loss_desc loss = SYNFIRE_LOSS_DESC_INIT;
    loss.n_classes = n_classes;
    loss.batch = static_cast<int64_t>(plan_.batch);
    loss.source = mean_;
    loss.n_active = n_active_;
    loss.loss = loss_;
    loss.gradient = grad_mean_;
    std::vector<uint32_t> labels;
    std::vector<double> targets;
    for (size_t b = 0; b < plan_.batch; ++b) {
      labels.push_back(static_cast<uint32_t>(plan_.label(b)));
      for (size_t c = 0; c < plan_.n_classes(); ++c) targets.push_back(plan_.target(b, c));
    }
    if (plan_.squared_error) {
      loss.kind = SYNFIRE_LOSS_MEAN_SQUARED_ERROR;
      loss.targets = truth_ = make_buffer_of(context_, narrow(targets));
    } else {
      truth_ = make_buffer(context_, SYNFIRE_DTYPE_U32, labels.size());
      upload(truth_, labels);
      loss.labels = truth_;
      loss.label_smoothing = plan_.smoothing;
    }
    EXPECT_OK(synfire_graph_record_loss(graph, &loss));
    auto spread = shaped<synfire_reduce_backward_desc>(SYNFIRE_REDUCE_BACKWARD_DESC_INIT);
    spread.reduction = SYNFIRE_REDUCE_MEAN;
    spread.n_neurons = n_classes;
    spread.grad_destination = grad_mean_;
    spread.grad_source = parts_[readout].grad_output;
    spread.n_active = n_active_;
    EXPECT_OK(synfire_graph_record_reduce_backward(graph, &spread));
  }

  void record_backward(synfire_graph graph, size_t i) {
    Part& part = parts_[i];
    const synfire_buffer grad_input = i == 0 ? grad_input_ : parts_[i - 1].grad_output;
    std::vector<synfire_parameter_gradient> asked;
    for (size_t p = 0; p < part.gradients.size(); ++p) asked.push_back({part.names[p].c_str(), part.gradients[p]});
    synfire_backward_desc desc = SYNFIRE_BACKWARD_DESC_INIT;
    (i == readout ? desc.grad_v_seq : desc.grad_spike_seq) = part.grad_output;
    desc.parameter_gradients = asked.data();
    desc.n_parameter_gradients = asked.size();
    if (plan_.of_layers)
      desc.grad_synapse_input = grad_input;
    else
      desc.grad_x_seq = part.grad_x;
    EXPECT_OK(synfire_graph_record_backward(graph, part.layer, &desc));
    if (plan_.of_layers) return;
    auto product = shaped<synfire_synapse_backward_desc>(SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT);
    product.grad_output = part.grad_x;
    product.input = input_of(i);
    product.grad_input = grad_input;
    product.n_active = n_active_;
    EXPECT_OK(synfire_graph_record_synapse_backward(graph, part.synapse, &product));
  }

  synfire_context context_;
  const Plan& plan_;
  std::vector<Part> parts_;
  Buffer n_active_, mean_, grad_mean_, loss_, truth_, grad_input_;
};

// ---- the tests ------------------------------------------------------------------------------------------------------

std::vector<double> drawn(Random& random, size_t count, double low, double high) {
  const std::vector<float> values = random.values<float>(count, low, high);  // exact in both types
  return {values.begin(), values.end()};
}

Stage draw_stage(Random& random, const ReferenceNeuron& neuron, size_t inputs, size_t outputs, size_t batch) {
  const int32_t formats[] = {SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS, SYNFIRE_DTYPE_U8, as_the_layer};
  Stage stage = {neuron, inputs, outputs, {}, {}, {}, {}, formats[random.whole(0, 3)]};
  const double bound = 2.5 / std::sqrt(static_cast<double>(inputs));
  stage.weights = drawn(random, inputs * outputs, -bound, bound);
  stage.bias = drawn(random, outputs, 0, 0.8);
  stage.v_init = drawn(random, batch * outputs, -0.3, 0.6);
  if (neuron.model->two_variables) stage.w_init = drawn(random, batch * outputs, -0.2, 0.2);
  return stage;
}

ReferenceNeuron draw_neuron(Random& random, const ReferenceModel& model, const ReferenceSurrogate& surrogate,
                            size_t neurons) {
  ReferenceNeuron neuron{&model, &surrogate, random.whole(0, 1) == 1, random.whole(0, 1) == 1,
                         model.has_input_decay && random.whole(0, 1) == 1};
  choose_parameters(neuron, random.whole(0, 1) == 1 ? neurons : 1, random);
  return neuron;
}

Plan draw_plan(uint64_t seed, size_t first, size_t second, size_t surrogate, double margin, Outcome& expected) {
  Random random(seed);
  const auto& models = reference_models();
  const auto& surrogates = reference_surrogates();
  for (int attempt = 0; attempt < 2000; ++attempt) {
    Plan plan;
    plan.n_steps = static_cast<size_t>(random.whole(1, 9));
    plan.batch = static_cast<size_t>(random.whole(1, 4));
    plan.active =
        random.whole(0, 2) == 0 ? static_cast<size_t>(random.whole(1, static_cast<int64_t>(plan.batch))) : plan.batch;
    plan.of_layers = random.whole(0, 1) == 1;
    plan.squared_error = random.whole(0, 1) == 1;
    plan.smoothing = random.whole(0, 1) == 1 ? 0.125 : 0;
    plan.tape = random.whole(0, 1) == 1 ? SYNFIRE_TAPE_STORE : SYNFIRE_TAPE_RECOMPUTE;
    constexpr size_t sizes[] = {9, 7, 5, 3};
    plan.stages = {
        draw_stage(random, draw_neuron(random, models[first], surrogates[surrogate], sizes[1]), sizes[0], sizes[1],
                   plan.batch),
        draw_stage(
            random,
            draw_neuron(random, models[second], surrogates[(surrogate + first + 1) % surrogates.size()], sizes[2]),
            sizes[1], sizes[2], plan.batch),
        draw_stage(random, draw_neuron(random, reference_models()[SYNFIRE_MODEL_LIF - 1], surrogates[0], sizes[3]),
                   sizes[2], sizes[3], plan.batch)};
    for (size_t i = 0; i < plan.n_steps * plan.batch * sizes[0]; ++i)
      plan.input.push_back(static_cast<double>(random.whole(0, 1)));
    expected = {};
    if (reference(plan, margin, expected)) return plan;
  }
  throw std::runtime_error("no network without potentials close to a threshold");
}

template <typename Scalar>
class NetworkReference : public testing::Test {
 protected:
  static constexpr bool is_wide = std::is_same_v<Scalar, double>;
  // In f32, models with a square amplify rounding from step to step.
  static constexpr double margin = is_wide ? 1e-9 : 1e-3, bound = is_wide ? 1e-11 : 5e-4;

  // Relative to the largest of the array, or to 1 % of a usual gradient where all cancel.
  void expect_near(const std::vector<double>& got, const std::vector<double>& expected, const char* name, size_t i) {
    ASSERT_EQ(got.size(), expected.size()) << name << i;
    double largest = 0.01;
    for (const double value : expected) largest = std::fmax(largest, std::fabs(value));
    for (size_t at = 0; at < got.size(); ++at)
      ASSERT_LE(std::fabs(got[at] - expected[at]), bound * largest)
          << name << i << " [" << at << "]: " << got[at] << " against " << expected[at];
  }
  void compare(synfire_context context, const Plan& plan, const Outcome& expected) {
    const Outcome got = Recorded<Scalar>(context, plan).outcome();
    for (size_t i = 0; i < readout; ++i) {
      // Only rows that are active are compared.
      const size_t row = plan.stages[i].outputs;
      for (size_t m = 0; m < plan.n_steps * plan.batch; ++m) {
        if (m % plan.batch >= plan.active) continue;
        ASSERT_EQ(slice(got.spikes[i], m * row, row), slice(expected.spikes[i], m * row, row)) << i << " " << m;
      }
      for (const double spike : expected.spikes[i]) n_spikes_ += spike;
      n_places_ += static_cast<double>(expected.spikes[i].size());
    }
    for (size_t i = 0; i < n_layers; ++i) {
      expect_near(got.weights[i], expected.weights[i], "weights", i);
      expect_near(got.bias[i], expected.bias[i], "bias", i);
    }
    ASSERT_EQ(got.parameters.size(), expected.parameters.size());
    for (size_t i = 0; i < got.parameters.size(); ++i)
      expect_near(got.parameters[i], expected.parameters[i], "parameter", i);
    expect_near(got.grad_input, expected.grad_input, "input", 0);
    expect_near(got.loss, expected.loss, "loss", 0);
  }
  double n_spikes_ = 0, n_places_ = 0;
};
using Scalars = testing::Types<double, float>;
TYPED_TEST_SUITE(NetworkReference, Scalars);

// Every model in both layers, with every surrogate, in turn.
TYPED_TEST(NetworkReference, EveryValueAndGradient) {
  const Context context = make_context();
  const size_t n_models = reference_models().size(), n_surrogates = reference_surrogates().size();
  for (size_t i = 0; i < n_models; ++i)
    for (size_t j = 0; j < rounds * n_surrogates; ++j) {
      const size_t number = i * rounds * n_surrogates + j;
      if (!sampled(number)) continue;
      Outcome expected;
      const Plan plan = draw_plan(number + 1, i, (i + j) % n_models, j % n_surrogates, this->margin, expected);
      SCOPED_TRACE(testing::Message() << "network " << number << ": " << plan.stages[0].neuron.text() << ", "
                                      << plan.stages[1].neuron.text() << ", T " << plan.n_steps << " B " << plan.batch
                                      << " active " << plan.active << " of layers " << plan.of_layers);
      this->compare(context, plan, expected);
      if (this->HasFailure()) return;
    }
  EXPECT_GT(this->n_spikes_, 0.05 * this->n_places_) << "the networks are silent";
}

}  // namespace
}  // namespace synfire_test

// Networks that branch: the design is made from inside, or by names with synfire.h; all else goes through synfire.h.
// The order of recording, the shapes and the gradients are those of the same network recorded by hand.
#include <algorithm>
#include <cmath>
#include <functional>

#include "described_stages.hpp"
#include "held.hpp"
#include "network_file.hpp"

#include <network/network.hpp>
#include <network/stages/stage_kinds.hpp>

namespace synfire_test {
namespace {

namespace inside = synfire::network;
using synfire::core::Failure;

constexpr int64_t n_steps = 6, batch = 4, n_rows = 10;
constexpr int64_t n_inputs = 20, n_shared = 15, n_upper = 9, n_lower = 4;

using Describe = std::function<void(inside::Design&)>;

inside::NetworkRules rules() {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = n_steps;
  desc.batch = batch;
  desc.seed = 7;
  return inside::NetworkRules(desc);
}

Network make_network(synfire_context context, const Describe& describe) {
  const auto owner = synfire::capi::held(context);
  auto* const made = new inside::Network(*owner, rules());
  Network network(synfire::capi::registered<synfire_network>(made));
  made->change([&](inside::Design& design) { describe(design); });
  return network;
}

void set(inside::Design& design, const char* stage, const char* name, double value) {
  design.set_value(stage, name, value, false);
}

// Numbers of the stages of the branching network.
enum : uint32_t { input, s_shared, shared, last, drop, s_upper, upper, s_lower, lower, mean, steps };

// Three heads: the shared neurons are read by a readout of their V, by a synapse through a dropout, and by another
// synapse, and their rates have a target.
void describe_branches(inside::Design& design) {
  add_input(design, "input", SYNFIRE_NETWORK_INPUT_SPIKES, n_inputs);
  add_synapse(design, "s.shared", n_shared);
  add_neurons(design, "shared", SYNFIRE_MODEL_LIF);
  add_readout(design, "last", SYNFIRE_READOUT_LAST, false);
  add_dropout(design, "drop", 0.3, {{shared}});
  add_synapse(design, "s.upper", n_upper);
  add_neurons(design, "upper", SYNFIRE_MODEL_LIF);
  add_synapse(design, "s.lower", n_lower, {{shared}});
  add_neurons(design, "lower", SYNFIRE_MODEL_LI);
  add_readout(design, "mean", SYNFIRE_READOUT_MEAN, true, {{upper}});
  add_readout(design, "steps", SYNFIRE_READOUT_STEPS, false, {{lower}});
  const size_t losses[] = {add_loss(design, "loss.last", SYNFIRE_LOSS_CROSS_ENTROPY, {{last}}),
                           add_loss(design, "loss.mean", SYNFIRE_LOSS_CROSS_ENTROPY, {{mean}}),
                           add_loss(design, "loss.steps", SYNFIRE_LOSS_CROSS_ENTROPY, {{steps}})};
  add_optimizer(
      design, "optimizer", SYNFIRE_OPTIMIZER_KIND_ADAM, 0.01,
      {{static_cast<uint32_t>(losses[0]), static_cast<uint32_t>(losses[1]), static_cast<uint32_t>(losses[2])}});
  for (const char* const name : {"s.shared", "s.upper", "s.lower"}) set(design, name, "gain", 2);
  set(design, "shared", "rate_target", 0.2);
  set(design, "shared", "rate_strength", 0.5);
  set(design, "loss.mean", "gradient_scale", 0.5);
  train_parameter(design, "shared", {"tau", 0.5, 0, 1.1, infinity_of_double}, true);
}

struct Rows {
  Buffer inputs, labels;
};
Rows make_rows(synfire_context context) {
  Random random(3);
  std::vector<uint32_t> words(static_cast<size_t>(n_rows * n_steps)), labels(static_cast<size_t>(n_rows));
  for (uint32_t& word : words) word = static_cast<uint32_t>(random.next() & random.next()) & ((1U << n_inputs) - 1);
  for (uint32_t& label : labels) label = static_cast<uint32_t>(random.whole(0, n_lower - 1));
  return {buffer_of_bytes(context, SYNFIRE_DTYPE_BITS, words.size(), words.data(), words.size() * 4),
          buffer_of_bytes(context, SYNFIRE_DTYPE_U32, labels.size(), labels.data(), labels.size() * 4)};
}
void give(synfire_network network, const Rows& rows) {
  require_ok(synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, n_rows, rows.inputs, rows.labels, nullptr,
                                      nullptr, nullptr));
}

std::string text_of(const std::function<synfire_status(char*, uint64_t*)>& write) {
  uint64_t bytes = 0;
  require_ok(write(nullptr, &bytes));
  std::string text(bytes, '\0');
  require_ok(write(text.data(), &bytes));
  return text.c_str();
}
std::string dot_of(synfire_graph graph) {
  return text_of([&](char* text, uint64_t* bytes) { return synfire_graph_write_dot(graph, text, bytes); });
}

template <class Handle, class Get>
Owned<Handle> part(Get get) {
  Handle handle = nullptr;
  require_ok(get(&handle));
  return Owned<Handle>(handle);
}
Synapse synapse_of(synfire_network network, const char* stage) {
  return part<synfire_synapse>([&](auto* out) { return synfire_network_get_synapse(network, stage, out); });
}
std::vector<float> weights_of(synfire_synapse synapse, int64_t count) {
  std::vector<float> weights(static_cast<size_t>(count));
  require_ok(synfire_synapse_read(synapse, "weight", weights.data(), weights.size() * 4));
  return weights;
}
std::vector<float> numbers_of(synfire_network network, const char* name, int64_t width) {
  const Buffer buffer = part<synfire_buffer>([&](auto* out) { return synfire_network_get_buffer(network, name, out); });
  return download<float>(buffer, static_cast<size_t>(n_steps * batch * width));
}

// ---- by hand --------------------------------------------------------------------------------------------------------

template <class Desc>
Desc shaped(Desc desc) {
  desc.n_steps = n_steps;
  desc.batch = batch;
  return desc;
}

// The training of describe_branches().
class BranchesByHand {
 public:
  BranchesByHand(synfire_context context, const Rows& rows) : context_(context) {
    make_parts();
    graph_ = make_graph(context_);
    record_batch(rows);
    record_forwards();
    record_losses();
    record_backwards();
    require_ok(synfire_graph_instantiate(graph_));
  }
  synfire_graph graph() const { return graph_; }
  void replay_once() { replay(graph_); }

  struct Branch {
    int64_t inputs, outputs;
    Synapse synapse;
    Layer layer;
    Buffer spikes, v, grad_spikes, grad_v;
  };
  Branch shared_, upper_, lower_;
  std::vector<double> taus() const {
    std::vector<double> values(n_shared);
    require_ok(synfire_layer_get_parameter(shared_.layer, "tau", values.data(), values.size()));
    return values;
  }

 private:
  Buffer array(int32_t dtype, std::vector<int64_t> shape) const {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.dtype = dtype;
    std::copy(shape.begin(), shape.end(), desc.shape);
    return part<synfire_buffer>([&](auto* out) { return synfire_buffer_create(context_, &desc, out); });
  }
  Buffer numbers(int64_t width) const { return array(SYNFIRE_DTYPE_F32, {n_steps, batch, width}); }
  Buffer bits(int64_t width) const { return array(SYNFIRE_DTYPE_BITS, {n_steps, batch, (width + 31) / 32}); }
  Buffer one(int32_t dtype) const { return array(dtype, {1}); }

  void make(Branch& branch, int64_t inputs, int64_t outputs, int32_t model, const char* synapse) {
    branch.inputs = inputs;
    branch.outputs = outputs;
    synfire_synapse_desc sd = SYNFIRE_SYNAPSE_DESC_INIT;
    sd.n_inputs = inputs;
    sd.n_outputs = outputs;
    sd.bias = 1;
    sd.gain = 2;
    sd.seed = random_seed(7, synapse, "weights");
    branch.synapse = part<synfire_synapse>([&](auto* out) { return synfire_synapse_create(context_, &sd, out); });
    synfire_layer_desc ld = shaped<synfire_layer_desc>(SYNFIRE_LAYER_DESC_INIT);
    ld.model = model;
    ld.n_neurons = outputs;
    branch.layer = make_layer(context_, ld);
    branch.spikes = bits(outputs);
    branch.v = numbers(outputs);
    branch.grad_spikes = numbers(outputs);
    branch.grad_v = numbers(outputs);
  }

  void make_parts() {
    make(shared_, n_inputs, n_shared, SYNFIRE_MODEL_LIF, "s.shared");
    make(upper_, n_shared, n_upper, SYNFIRE_MODEL_LIF, "s.upper");
    make(lower_, n_shared, n_lower, SYNFIRE_MODEL_LI, "s.lower");
    grad_tau_ = array(SYNFIRE_DTYPE_F32, {n_shared});
    mask_ = array(SYNFIRE_DTYPE_BITS, {1, batch, 1});
    scale_ = one(SYNFIRE_DTYPE_F32);
    x_upper_ = numbers(n_upper);
    grad_x_upper_ = numbers(n_upper);
    last_ = array(SYNFIRE_DTYPE_F32, {batch, n_shared});
    grad_last_ = array(SYNFIRE_DTYPE_F32, {batch, n_shared});
    mean_ = array(SYNFIRE_DTYPE_F32, {batch, n_upper});
    grad_mean_ = array(SYNFIRE_DTYPE_F32, {batch, n_upper});
    indices_ = array(SYNFIRE_DTYPE_U32, {batch});
    n_active_ = one(SYNFIRE_DTYPE_U32);
    inputs_ = bits(n_inputs);
    for (int i = 0; i < 3; ++i) {
      labels_[i] = array(SYNFIRE_DTYPE_U32, {1, batch, 1});
      loss_[i] = one(SYNFIRE_DTYPE_F64);
      n_correct_[i] = one(SYNFIRE_DTYPE_U32);
      n_counted_[i] = one(SYNFIRE_DTYPE_U32);
    }
    synfire_optimizer_desc od = SYNFIRE_OPTIMIZER_DESC_INIT;
    od.kind = SYNFIRE_OPTIMIZER_KIND_ADAM;
    od.learning_rate = 0.01;
    optimizer_ = part<synfire_optimizer>([&](auto* out) { return synfire_optimizer_create(context_, &od, out); });
    const auto add = [&](const Branch& branch) {
      require_ok(synfire_optimizer_add_weights(optimizer_, branch.synapse, 1, 1));
      require_ok(synfire_optimizer_add_bias(optimizer_, branch.synapse, 1, 0));
    };
    add(shared_);
    // One number for each neuron, as its gradients are.
    double tau = 0;
    require_ok(synfire_layer_get_parameter(shared_.layer, "tau", &tau, 1));
    const std::vector<double> all(n_shared, tau);
    require_ok(synfire_layer_set_parameter(shared_.layer, "tau", all.data(), all.size()));
    require_ok(
        synfire_optimizer_add_parameter(optimizer_, shared_.layer, "tau", grad_tau_, 0.5, 0, 1.1, infinity_of_double));
    add(upper_);
    add(lower_);
  }

  void gather(synfire_buffer source, synfire_buffer destination, int64_t steps_of_row, int64_t width) const {
    synfire_gather_rows_desc desc = SYNFIRE_GATHER_ROWS_DESC_INIT;
    desc.n_rows = n_rows;
    desc.n_steps = steps_of_row;
    desc.n_elements = width;
    desc.batch = batch;
    desc.source = source;
    desc.indices = indices_;
    desc.n_active = n_active_;
    desc.destination = destination;
    require_ok(synfire_graph_record_gather_rows(graph_, &desc));
  }
  void record_batch(const Rows& rows) {
    synfire_shuffle_desc shuffle = SYNFIRE_SHUFFLE_DESC_INIT;
    shuffle.n_rows = n_rows;
    shuffle.batch = batch;
    shuffle.indices = indices_;
    shuffle.n_active = n_active_;
    shuffle.seed = random_seed(7, "", "order");
    require_ok(synfire_graph_record_shuffle(graph_, &shuffle));
    gather(rows.inputs, inputs_, n_steps, n_inputs);
    for (const Buffer& labels : labels_) gather(rows.labels, labels, 1, 1);
  }

  void forward(const Branch& branch, synfire_buffer from, synfire_buffer x, bool spikes, bool v) const {
    synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
    if (x) {
      desc.x = x;
    } else {
      desc.synapse = branch.synapse;
      desc.synapse_input = from;
      desc.n_active = n_active_;
    }
    desc.spikes = spikes ? branch.spikes.get() : nullptr;
    desc.v_seq = v ? branch.v.get() : nullptr;
    require_ok(synfire_graph_record_forward(graph_, branch.layer, &desc));
  }
  void reduce(int32_t reduction, int64_t width, synfire_buffer source, synfire_buffer destination) const {
    synfire_reduce_desc desc = shaped<synfire_reduce_desc>(SYNFIRE_REDUCE_DESC_INIT);
    desc.reduction = reduction;
    desc.n_neurons = width;
    desc.source = source;
    desc.destination = destination;
    desc.n_active = n_active_;
    require_ok(synfire_graph_record_reduce(graph_, &desc));
  }
  // In the order of the stages, and readouts after all neurons.
  void record_forwards() const {
    const synfire_state_desc all = SYNFIRE_STATE_DESC_INIT;
    for (const Branch* const branch : {&shared_, &upper_, &lower_})
      require_ok(synfire_graph_record_reset_rows(graph_, branch->layer, &all));
    forward(shared_, inputs_, nullptr, true, true);
    synfire_dropout_desc dropout = SYNFIRE_DROPOUT_DESC_INIT;
    dropout.n_neurons = n_shared;
    dropout.batch = batch;
    dropout.probability = 0.3;
    dropout.mask = mask_;
    dropout.scale = scale_;
    dropout.seed = random_seed(7, "drop", "dropout");
    require_ok(synfire_graph_record_dropout(graph_, &dropout));
    synfire_synapse_forward_desc product = shaped<synfire_synapse_forward_desc>(SYNFIRE_SYNAPSE_FORWARD_DESC_INIT);
    product.input = shared_.spikes;
    product.output = x_upper_;
    product.n_active = n_active_;
    product.input_mask = mask_;
    product.input_scale = scale_;
    require_ok(synfire_graph_record_synapse_forward(graph_, upper_.synapse, &product));
    forward(upper_, nullptr, x_upper_, true, false);
    forward(lower_, shared_.spikes, nullptr, false, true);
    reduce(SYNFIRE_REDUCE_LAST, n_shared, shared_.v, last_);
    reduce(SYNFIRE_REDUCE_MEAN, n_upper, upper_.spikes, mean_);
  }

  void loss(int i, int64_t steps_of_row, int64_t width, synfire_buffer source, synfire_buffer gradient,
            double gradient_scale) {
    for (const bool sums : {false, true}) {
      synfire_loss_desc desc = SYNFIRE_LOSS_DESC_INIT;
      desc.kind = SYNFIRE_LOSS_CROSS_ENTROPY;
      desc.n_steps = steps_of_row;
      desc.n_classes = width;
      desc.batch = batch;
      desc.source = source;
      desc.labels = labels_[i];
      desc.n_active = n_active_;
      if (sums) {
        desc.sum = desc.accumulate = 1;
        desc.loss = loss_[i];
        desc.n_correct = n_correct_[i];
        desc.n_counted = n_counted_[i];
      } else {
        desc.gradient = gradient;
        desc.gradient_scale = gradient_scale;
      }
      require_ok(synfire_graph_record_loss(graph_, &desc));
    }
  }
  // From here on, in reverse order of the stages.
  void record_losses() {
    loss(2, n_steps, n_lower, lower_.v, lower_.grad_v, 1);
    loss(1, 1, n_upper, mean_, grad_mean_, 0.5);
    loss(0, 1, n_shared, last_, grad_last_, 1);
  }

  void reduce_backward(int32_t reduction, int64_t width, synfire_buffer gradient, synfire_buffer grad_source) const {
    synfire_reduce_backward_desc desc = shaped<synfire_reduce_backward_desc>(SYNFIRE_REDUCE_BACKWARD_DESC_INIT);
    desc.reduction = reduction;
    desc.n_neurons = width;
    desc.grad_destination = gradient;
    desc.n_active = n_active_;
    desc.grad_source = grad_source;
    require_ok(synfire_graph_record_reduce_backward(graph_, &desc));
  }
  void record_backwards() {
    reduce_backward(SYNFIRE_REDUCE_MEAN, n_upper, grad_mean_, upper_.grad_spikes);
    // The last reader of the shared spikes writes their gradient.
    synfire_backward_desc of_lower = SYNFIRE_BACKWARD_DESC_INIT;
    of_lower.grad_v_seq = lower_.grad_v;
    of_lower.grad_synapse_input = shared_.grad_spikes;
    require_ok(synfire_graph_record_backward(graph_, lower_.layer, &of_lower));
    synfire_backward_desc of_upper = SYNFIRE_BACKWARD_DESC_INIT;
    of_upper.grad_spike_seq = upper_.grad_spikes;
    of_upper.grad_x_seq = grad_x_upper_;
    require_ok(synfire_graph_record_backward(graph_, upper_.layer, &of_upper));
    // The one before adds to it.
    synfire_synapse_backward_desc product = shaped<synfire_synapse_backward_desc>(SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT);
    product.grad_output = grad_x_upper_;
    product.input = shared_.spikes;
    product.grad_input = shared_.grad_spikes;
    product.add_input_gradient = 1;
    product.n_active = n_active_;
    product.input_mask = mask_;
    product.input_scale = scale_;
    require_ok(synfire_graph_record_synapse_backward(graph_, upper_.synapse, &product));
    reduce_backward(SYNFIRE_REDUCE_LAST, n_shared, grad_last_, shared_.grad_v);
    // The rates come last.
    synfire_rate_loss_desc rate = shaped<synfire_rate_loss_desc>(SYNFIRE_RATE_LOSS_DESC_INIT);
    rate.n_neurons = n_shared;
    rate.target = 0.2;
    rate.strength = 0.5;
    rate.spikes = shared_.spikes;
    rate.n_active = n_active_;
    rate.grad_spike_seq = shared_.grad_spikes;
    rate.accumulate = 1;
    require_ok(synfire_graph_record_rate_loss(graph_, &rate));
    const synfire_parameter_gradient tau = {"tau", grad_tau_};
    synfire_backward_desc of_shared = SYNFIRE_BACKWARD_DESC_INIT;
    of_shared.grad_spike_seq = shared_.grad_spikes;
    of_shared.grad_v_seq = shared_.grad_v;
    of_shared.parameter_gradients = &tau;
    of_shared.n_parameter_gradients = 1;
    require_ok(synfire_graph_record_backward(graph_, shared_.layer, &of_shared));
    const synfire_optimizer_step_desc step = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
    require_ok(synfire_graph_record_optimizer_step(graph_, optimizer_, &step));
  }

  synfire_context context_;
  Graph graph_;
  Optimizer optimizer_;
  Buffer grad_tau_, mask_, scale_, x_upper_, grad_x_upper_, last_, grad_last_, mean_, grad_mean_, indices_, n_active_,
      inputs_, labels_[3], loss_[3], n_correct_[3], n_counted_[3];
};

// ---- tests ----------------------------------------------------------------------------------------------------------

class NetworkBranches : public testing::Test {
 protected:
  Context context = make_context(2);
};

TEST_F(NetworkBranches, AreRecordedAsByHand) {
  const Network network = make_network(context, describe_branches);
  require_ok(synfire_network_build(network));
  const Rows rows = make_rows(context);
  give(network, rows);
  BranchesByHand by_hand(context, rows);
  const Graph graph = part<synfire_graph>(
      [&](auto* out) { return synfire_network_get_graph(network, SYNFIRE_NETWORK_GRAPH_TRAINING, out); });
  EXPECT_EQ(dot_of(graph), dot_of(by_hand.graph()));
}

// describe_branches() by names.
Network make_described(synfire_context context) {
  Network network = make_network(context, [](inside::Design&) {});
  const auto add = [&](const char* kind, const char* name, const StageValues& values, const StageInputs& inputs = {}) {
    require_ok(add_stage(network, kind, name, values, inputs));
  };
  const auto synapse = [&](const char* name, int64_t width, const StageInputs& inputs = {}) {
    add("synapse", name, {number("n_outputs", static_cast<double>(width)), number("gain", 2)}, inputs);
  };
  add("input", "input", {text("kind", "spikes"), number("n_features", n_inputs)});
  synapse("s.shared", n_shared);
  add("neurons", "shared", {text("model", "lif"), number("rate_target", 0.2), number("rate_strength", 0.5)});
  add("readout", "last", {text("reduction", "last")}, {reads("shared", "v")});
  add("dropout", "drop", {number("probability", 0.3)}, {reads("shared")});
  synapse("s.upper", n_upper);
  add("neurons", "upper", {text("model", "lif")});
  synapse("s.lower", n_lower, {reads("shared", "spikes")});
  add("neurons", "lower", {text("model", "li")});
  add("readout", "mean", {text("reduction", "mean"), number("of_spikes", 1)}, {reads("upper")});
  add("readout", "steps", {text("reduction", "steps")}, {reads("lower")});
  add("loss", "loss.last", {text("kind", "cross_entropy")}, {reads("last")});
  add("loss", "loss.mean", {text("kind", "cross_entropy"), number("gradient_scale", 0.5)}, {reads("mean")});
  add("loss", "loss.steps", {text("kind", "cross_entropy")}, {reads("steps")});
  add("optimizer", "optimizer", {text("kind", "adam"), number("learning_rate", 0.01)},
      {reads("loss.last"), reads("loss.mean"), reads("loss.steps")});
  require_ok(synfire_network_train_parameter(network, "shared", "tau", 1, 0.5, 0, 1.1, infinity_of_double));
  return network;
}

TEST_F(NetworkBranches, AreDescribedByNames) {
  const Network network = make_described(context);
  require_ok(synfire_network_build(network));
  const Rows rows = make_rows(context);
  give(network, rows);
  BranchesByHand by_hand(context, rows);
  const Graph graph = part<synfire_graph>(
      [&](auto* out) { return synfire_network_get_graph(network, SYNFIRE_NETWORK_GRAPH_TRAINING, out); });
  EXPECT_EQ(dot_of(graph), dot_of(by_hand.graph()));
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  require_ok(synfire_network_train(network, 3, &result));
  for (int i = 0; i < 3; ++i) by_hand.replay_once();
  EXPECT_TRUE(same_bits(weights_of(synapse_of(network, "s.shared"), n_inputs * n_shared),
                        weights_of(by_hand.shared_.synapse, n_inputs * n_shared)));
}

TEST_F(NetworkBranches, TrainToTheBitAsByHand) {
  const Network network = make_network(context, describe_branches);
  require_ok(synfire_network_build(network));
  const Rows rows = make_rows(context);
  give(network, rows);
  BranchesByHand by_hand(context, rows);
  const std::vector<float> before = weights_of(by_hand.shared_.synapse, n_inputs * n_shared);
  for (int i = 0; i < 7; ++i) {
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    require_ok(synfire_network_train(network, 1, &result));
    by_hand.replay_once();
    const auto same = [&](const char* name, const Buffer& expected, int64_t width) {
      const std::vector<float> numbers = numbers_of(network, name, width);
      EXPECT_TRUE(same_bits(numbers, download<float>(expected, numbers.size()))) << name << ", batch " << i;
      EXPECT_FALSE(all_are(numbers, 0.0F)) << name;
    };
    same("shared.grad_spikes", by_hand.shared_.grad_spikes, n_shared);
    same("shared.grad_v", by_hand.shared_.grad_v, n_shared);
    same("upper.grad_spikes", by_hand.upper_.grad_spikes, n_upper);
    same("lower.grad_v", by_hand.lower_.grad_v, n_lower);
  }
  const auto same_weights = [&](const char* stage, const BranchesByHand::Branch& branch) {
    const int64_t count = branch.inputs * branch.outputs;
    EXPECT_TRUE(same_bits(weights_of(synapse_of(network, stage), count), weights_of(branch.synapse, count))) << stage;
  };
  same_weights("s.shared", by_hand.shared_);
  same_weights("s.upper", by_hand.upper_);
  same_weights("s.lower", by_hand.lower_);
  EXPECT_NE(weights_of(by_hand.shared_.synapse, n_inputs * n_shared), before);
  const Layer layer = part<synfire_layer>([&](auto* out) { return synfire_network_get_layer(network, "shared", out); });
  std::vector<double> taus(n_shared);
  require_ok(synfire_layer_get_parameter(layer, "tau", taus.data(), taus.size()));
  EXPECT_EQ(taus, by_hand.taus());
}

TEST_F(NetworkBranches, HaveTheShapesOfWhatTheyRead) {
  inside::Design design(rules());
  describe_branches(design);
  const auto shape = [&](uint32_t stage) {
    const synfire::core::Flow& flow = design.stages()[stage].output;
    return std::vector{flow.n_steps, flow.batch, flow.n_features()};
  };
  using Lengths = std::vector<int64_t>;
  EXPECT_EQ(shape(input), (Lengths{n_steps, batch, n_inputs}));
  EXPECT_EQ(shape(drop), (Lengths{n_steps, batch, n_shared}));
  EXPECT_EQ(shape(s_lower), (Lengths{n_steps, batch, n_lower}));
  EXPECT_EQ(shape(lower), (Lengths{n_steps, batch, n_lower}));
  EXPECT_EQ(shape(last), (Lengths{1, batch, n_shared}));
  EXPECT_EQ(shape(mean), (Lengths{1, batch, n_upper}));
  EXPECT_EQ(shape(steps), (Lengths{n_steps, batch, n_lower}));
  EXPECT_EQ(design.outputs(), (std::vector<size_t>{last, mean, steps}));
  // Past the dropout, and past a readout of every step.
  EXPECT_EQ(design.source({drop}), (inside::Edge{shared}));
  EXPECT_EQ(design.source({steps}), (inside::Edge{lower, inside::Port::v}));
  EXPECT_TRUE(design.is_complete());
  EXPECT_FALSE(design.is_chain());
}

TEST_F(NetworkBranches, AreShown) {
  const Network network = make_network(context, describe_branches);
  const std::string dot =
      text_of([&](char* text, uint64_t* bytes) { return synfire_network_write_dot(network, text, bytes); });
  for (const char* const edge :
       {"s2 -> s3 [label=\"v\"];", "s2 -> s4;", "s4 -> s5;", "s2 -> s7;", "s6 -> s9;", "s13 -> s14;"})
    EXPECT_NE(dot.find(edge), std::string::npos) << edge << "\n" << dot;
  EXPECT_EQ(dot.find("s3 -> s4;"), std::string::npos) << dot;
  const std::string summary =
      text_of([&](char* text, uint64_t* bytes) { return synfire_network_write_summary(network, text, bytes); });
  EXPECT_NE(summary.find("[4, 15]"), std::string::npos) << summary;
}

// Two chains in one network, with two inputs, train as each of them alone.
TEST_F(NetworkBranches, ThatDoNotMeetTrainAsAloneNetworks) {
  struct Chain {
    std::string name;
    int64_t width;
    int32_t readout;
    double seed;
  };
  const Chain chains[] = {{"a", 5, SYNFIRE_READOUT_MEAN, 31}, {"b", 8, SYNFIRE_READOUT_MAX, 32}};
  const auto add_chain = [](inside::Design& design, const Chain& chain) {
    const auto named = [&](const char* what) { return what + ("." + chain.name); };
    add_input(design, named("input").c_str(), SYNFIRE_NETWORK_INPUT_SPIKES, n_inputs,
              std::vector<inside::StageInput>{});
    add_synapse(design, named("s").c_str(), chain.width);
    set(design, named("s").c_str(), "gain", 2);
    set(design, named("s").c_str(), "seed", chain.seed);
    add_neurons(design, named("n").c_str(), SYNFIRE_MODEL_LIF);
    add_readout(design, named("readout").c_str(), chain.readout, true);
    return static_cast<uint32_t>(add_loss(design, named("loss").c_str(), SYNFIRE_LOSS_CROSS_ENTROPY));
  };
  const Rows rows = make_rows(context);
  const auto train = [&](const Network& network) {
    require_ok(synfire_network_build(network));
    give(network, rows);
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    require_ok(synfire_network_train(network, 6, &result));
    return result;
  };
  const Network both = make_network(context, [&](inside::Design& design) {
    const uint32_t losses[] = {add_chain(design, chains[0]), add_chain(design, chains[1])};
    add_optimizer(design, "optimizer", SYNFIRE_OPTIMIZER_KIND_ADAM, 0.01, {{losses[0], losses[1]}});
  });
  const synfire_network_result together = train(both);
  double loss = 0;
  for (const Chain& chain : chains) {
    const Network alone = make_network(context, [&](inside::Design& design) {
      add_chain(design, chain);
      add_optimizer(design, "optimizer", SYNFIRE_OPTIMIZER_KIND_ADAM, 0.01);
    });
    loss += train(alone).loss;
    const std::string stage = "s." + chain.name;
    EXPECT_TRUE(same_bits(weights_of(synapse_of(both, stage.c_str()), n_inputs * chain.width),
                          weights_of(synapse_of(alone, stage.c_str()), n_inputs * chain.width)))
        << stage;
  }
  EXPECT_EQ(bits_of(together.loss), bits_of(loss));
  EXPECT_EQ(together.n_counted, static_cast<uint64_t>(2 * 2 * n_rows));
}

// Stages on no way from a loss to something that learns have no backward.
TEST_F(NetworkBranches, WithoutALossAreNotTrained) {
  const Network network = make_network(context, [](inside::Design& design) {
    describe_branches(design);
    add_synapse(design, "s.idle", 3, {{upper}});
    add_neurons(design, "idle", SYNFIRE_MODEL_LIF);
  });
  require_ok(synfire_network_build(network));
  const Rows rows = make_rows(context);
  give(network, rows);
  const std::vector<float> before = weights_of(synapse_of(network, "s.idle"), n_upper * 3);
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  require_ok(synfire_network_train(network, 2, &result));
  EXPECT_EQ(weights_of(synapse_of(network, "s.idle"), n_upper * 3), before);
  EXPECT_EQ(result.n_skipped, 0U);
  synfire_buffer gradient = nullptr;
  EXPECT_EQ(synfire_network_get_buffer(network, "idle.grad_spikes", &gradient), SYNFIRE_ERROR_INVALID_ARGUMENT);
}

TEST_F(NetworkBranches, AreRefusedWhereNoOperationComputesThem) {
  inside::Design design(rules());
  describe_branches(design);
  const size_t n_stages = design.stages().size();
  const auto refused = [&](const std::function<void()>& add, const char* word) {
    try {
      add();
      ADD_FAILURE() << "accepted; " << word;
    } catch (const Failure& failure) {
      EXPECT_STREQ(failure.rule, "SYN-NETWORK-CHAIN");
      EXPECT_NE(failure.text.find(word), std::string::npos) << failure.text;
    }
    EXPECT_EQ(design.stages().size(), n_stages);
    EXPECT_TRUE(design.is_complete());
  };
  refused([&] { add_synapse(design, "late", 3, {{static_cast<uint32_t>(n_stages)}}); }, "before");
  refused([&] { add_synapse(design, "two", 3, {{shared, upper}}); }, "at most 1");
  refused([&] { add_synapse(design, "silent", 3, {{lower}}); }, "never fire");
  refused([&] { add_optimizer(design, "second", SYNFIRE_OPTIMIZER_KIND_SGD, 0.1, {{11}}); }, "optimizer");
  // Nothing reads it, and inference has no use for it.
  add_synapse(design, "open", 3, {{shared}});
  EXPECT_FALSE(design.is_complete());
}

// A frame by frame loop reads the output of each head.
TEST_F(NetworkBranches, HaveABufferForEachOutput) {
  const Network network = make_network(context, describe_branches);
  require_ok(synfire_network_build(network));
  const auto elements = [&](const char* name) {
    const Buffer buffer =
        part<synfire_buffer>([&](auto* out) { return synfire_network_get_buffer(network, name, out); });
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    require_ok(synfire_buffer_get_desc(buffer, &desc));
    return desc.shape[0] * desc.shape[1] * desc.shape[2];
  };
  EXPECT_EQ(elements("last.output"), static_cast<uint64_t>(batch * n_shared));
  EXPECT_EQ(elements("mean.output"), static_cast<uint64_t>(batch * n_upper));
  EXPECT_EQ(elements("steps.output"), static_cast<uint64_t>(n_steps * batch * n_lower));
  synfire_buffer none = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-BUFFER", "\"input\"", "\"mean.output\""),
               synfire_network_get_buffer(network, "output", &none));
}

// A network that was saved, and one made of its file, go on with the same bits.
TEST_F(NetworkBranches, AreSavedAndLoaded) {
  const Network network = make_network(context, describe_branches), same = make_network(context, describe_branches);
  for (const synfire_network one : {network.get(), same.get()}) require_ok(synfire_network_build(one));
  const Rows rows = make_rows(context);
  give(network, rows);
  trained(network, 2);
  const File file = saved(network);
  const FileParts parts(file);
  for (const char* const words :
       {"version=2", "inputs=none", "name=last width=15 inputs=2.v", "name=drop width=15 inputs=2 ", "inputs=11,12,13"})
    EXPECT_NE(parts.header.find(words), std::string::npos) << words << "\n" << parts.header;
  require_ok(load(same, file));
  const Network made = created(context, file);
  for (const synfire_network one : {same.get(), made.get()}) {
    EXPECT_TRUE(saved(one) == file);
    give(one, rows);
    trained(one, 3);
  }
  trained(network, 3);
  EXPECT_TRUE(saved(same) == saved(network));
  EXPECT_TRUE(saved(made) == saved(network));
  // Without what only training needs, it has the outputs.
  const Network inference = created(context, file, 0, 0, true);
  EXPECT_EQ(dot_of(part<synfire_graph>(
                [&](auto* out) { return synfire_network_get_graph(inference, SYNFIRE_NETWORK_GRAPH_INFERENCE, out); })),
            dot_of(part<synfire_graph>(
                [&](auto* out) { return synfire_network_get_graph(network, SYNFIRE_NETWORK_GRAPH_INFERENCE, out); })));
}

TEST_F(NetworkBranches, FilesWithOtherEdgesAreRefused) {
  const Network network = make_network(context, describe_branches);
  require_ok(synfire_network_build(network));
  const File file = saved(network);
  const auto refused = [&](const char* before, const char* after, std::initializer_list<std::string_view> words) {
    const File other = FileParts(file).replace(before, after).whole();
    synfire_network made = nullptr;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, words,
                 synfire_network_create_from_memory(context, other.data(), other.size(), nullptr, &made));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, words, load(network, other));
  };
  for (const char* const inputs : {"inputs=4", "inputs=99", "inputs=2.", "inputs=2.spikes", "inputs=2.u", "inputs=0.v",
                                   "inputs=", "inputs=2,", "inputs=-1", "inputs=two", "inputs=2.v.v"})
    refused("name=drop width=15 inputs=2 ", (std::string("name=drop width=15 ") + inputs + " ").c_str(),
            WORDS("SYN-NETWORK-FILE"));
  refused("name=drop width=15 inputs=2 ", "name=drop width=15 ", WORDS("SYN-NETWORK-FILE", "inputs"));
  refused("name=last width=15 inputs=2.v", "name=last width=15 inputs=2", WORDS("SYN-NETWORK-FILE", "other ports"));
  refused("name=drop width=15 inputs=2 ", "name=drop width=15 inputs=1 ", WORDS("SYN-NETWORK-CHAIN", "in the file"));
  refused("version=2", "version=1", WORDS("SYN-NETWORK-FILE", "inputs"));
  // Another stage that it could read.
  const File other = FileParts(file).replace("name=mean width=9 inputs=6", "name=mean width=15 inputs=2").whole();
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-OTHER"), load(network, other));
}

}  // namespace
}  // namespace synfire_test

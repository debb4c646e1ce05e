// A network that is trained for some steps by one graph: rates as spikes, synapses, neurons, a loss, all gradients and
// an optimiser. Its weights afterwards must have the same bits everywhere. Also for programs without GoogleTest.
#ifndef SYNFIRE_TESTS_CAPI_TRAINED_NETWORK_HPP
#define SYNFIRE_TESTS_CAPI_TRAINED_NETWORK_HPP

#include <synfire/synfire.h>

#include <cstdint>
#include <ostream>
#include <vector>

namespace synfire_test {

struct NetworkPlan {
  std::vector<int64_t> sizes;  // from the input to the last layer
  int64_t n_steps = 1, batch = 1, active = 1;
  double rate = 0.1;  // of the inputs, at most
  int32_t hidden = SYNFIRE_MODEL_LIF, spikes = SYNFIRE_DTYPE_BITS, tape = SYNFIRE_TAPE_RECOMPUTE;
  int32_t optimizer = SYNFIRE_OPTIMIZER_KIND_ADAM, gradient_bits = 24;
  bool synapses_of_layers = false;               // synfire_forward_desc::synapse instead of operations of their own
  bool dropout = false;                          // of the first synapse's input; not with synapses_of_layers
  int32_t schedule = SYNFIRE_SCHEDULE_CONSTANT;  // another one begins with a warm-up
  uint32_t batches_per_step = 1;
  uint64_t seed = 1;
};
inline std::ostream& operator<<(std::ostream& out, const NetworkPlan& plan) {
  for (const int64_t size : plan.sizes) out << (size == plan.sizes[0] ? "" : "-") << size;
  return out << " T " << plan.n_steps << " B " << plan.batch << " active " << plan.active << " rate " << plan.rate
             << " model " << plan.hidden << " spikes " << plan.spikes << " tape " << plan.tape << " optimizer "
             << plan.optimizer << " bits " << plan.gradient_bits << " of layers " << plan.synapses_of_layers
             << " dropout " << plan.dropout << " seed " << plan.seed
             << (plan.schedule == SYNFIRE_SCHEDULE_COSINE ? " cosine"
                 : plan.schedule == SYNFIRE_SCHEDULE_STEP ? " steps"
                                                          : "")
             << (plan.batches_per_step > 1 ? " with means of batches" : "");
}

// Every failed call goes to `check`, which throws or ends the program.
template <class Check>
class TrainedNetwork {
 public:
  TrainedNetwork(synfire_context context, const NetworkPlan& plan, Check check)
      : context_(context), plan_(plan), check_(check) {
    make_input();
    for (size_t i = 0; i + 1 < plan.sizes.size(); ++i) make_stage(i);
    check_(synfire_graph_create(context, nullptr, &graph_));
    check_(synfire_graph_record_encode_bernoulli(graph_, &encode_));
    if (plan.dropout) check_(synfire_graph_record_dropout(graph_, &dropout_));
    for (size_t i = 0; i < stages_.size(); ++i) record_forward(i);
    record_loss();
    for (size_t i = stages_.size(); i-- > 0;) record_backward(i);
    record_step();
    check_(synfire_graph_instantiate(graph_));
  }
  ~TrainedNetwork() {
    synfire_graph_destroy(graph_);
    synfire_optimizer_destroy(optimizer_);
    for (Stage& stage : stages_) {
      synfire_synapse_destroy(stage.synapse);
      synfire_layer_destroy(stage.layer);
    }
    for (synfire_buffer buffer : buffers_) synfire_buffer_destroy(buffer);
  }
  TrainedNetwork(const TrainedNetwork&) = delete;
  TrainedNetwork& operator=(const TrainedNetwork&) = delete;

  void train(int n_replays) {
    for (int i = 0; i < n_replays; ++i) {
      uint64_t ticket = 0;
      check_(synfire_graph_launch(graph_, nullptr, &ticket));
      check_(synfire_graph_wait(graph_, ticket, SYNFIRE_WAIT_SPIN, -1));
    }
  }

  // All weights and biases, the loss of the last step and the number of correct predictions of all.
  std::vector<float> results() {
    std::vector<float> all;
    for (const Stage& stage : stages_)
      for (const char* const name : {"weight", "bias"}) {
        const bool is_bias = name[0] == 'b';
        std::vector<float> values(static_cast<size_t>(is_bias ? stage.outputs : stage.inputs * stage.outputs));
        check_(synfire_synapse_read(stage.synapse, name, values.data(), values.size() * sizeof values[0]));
        all.insert(all.end(), values.begin(), values.end());
      }
    float loss = 0;
    uint32_t correct = 0;
    check_(synfire_buffer_download(loss_.loss, 0, &loss, sizeof loss));
    check_(synfire_buffer_download(loss_.n_correct, 0, &correct, sizeof correct));
    all.push_back(loss);
    all.push_back(static_cast<float>(correct));
    return all;
  }

 private:
  struct Stage {
    int64_t inputs, outputs;
    synfire_synapse synapse;
    synfire_layer layer;
    synfire_buffer input, x, output, rest, grad_output, grad_x;
    bool is_last;
  };

  double uniform() {  // splitmix64 (Steele, Lea and Flood 2014)
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }
  synfire_buffer buffer(int32_t dtype, int64_t count) {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.dtype = dtype;
    desc.n_elements = static_cast<uint64_t>(count);
    synfire_buffer made = nullptr;
    check_(synfire_buffer_create(context_, &desc, &made));
    buffers_.push_back(made);
    return made;
  }
  synfire_buffer sequence(int64_t neurons) { return buffer(SYNFIRE_DTYPE_F32, plan_.n_steps * plan_.batch * neurons); }
  synfire_buffer spikes_of(int64_t neurons) {
    const int64_t count = plan_.spikes == SYNFIRE_DTYPE_BITS ? plan_.n_steps * plan_.batch * ((neurons + 31) / 32)
                          : plan_.spikes == SYNFIRE_DTYPE_TIME_BITS ? (plan_.n_steps + 31) / 32 * plan_.batch * neurons
                                                                    : plan_.n_steps * plan_.batch * neurons;
    return buffer(plan_.spikes, count);
  }
  template <class Element>
  void fill(synfire_buffer to, const std::vector<Element>& values) {
    check_(synfire_buffer_upload(to, 0, values.data(), values.size() * sizeof(Element)));
  }
  template <class Desc>
  Desc shaped(Desc desc) const {
    desc.n_steps = plan_.n_steps;
    desc.batch = plan_.batch;
    return desc;
  }

  void make_input() {
    state_ = plan_.seed;
    const int64_t inputs = plan_.sizes[0];
    encode_ = shaped<synfire_encode_bernoulli_desc>(SYNFIRE_ENCODE_BERNOULLI_DESC_INIT);
    encode_.n_neurons = inputs;
    encode_.seed = plan_.seed;
    encode_.rates = buffer(SYNFIRE_DTYPE_F32, plan_.batch * inputs);
    encode_.spikes = spikes_of(inputs);
    std::vector<float> rates;
    for (int64_t i = 0; i < plan_.batch * inputs; ++i) rates.push_back(static_cast<float>(plan_.rate * uniform()));
    fill(encode_.rates, rates);
    n_active_ = buffer(SYNFIRE_DTYPE_U32, 1);
    fill(n_active_, std::vector<uint32_t>{static_cast<uint32_t>(plan_.active)});
    if (!plan_.dropout) return;
    dropout_ = SYNFIRE_DROPOUT_DESC_INIT;
    dropout_.n_neurons = inputs;
    dropout_.batch = plan_.batch;
    dropout_.probability = 0.2;
    dropout_.seed = plan_.seed + 1;
    dropout_.mask = buffer(SYNFIRE_DTYPE_BITS, plan_.batch * ((inputs + 31) / 32));
    dropout_.scale = buffer(SYNFIRE_DTYPE_F32, 1);
  }

  void make_stage(size_t i) {
    Stage stage = {};
    stage.inputs = plan_.sizes[i];
    stage.outputs = plan_.sizes[i + 1];
    stage.is_last = i + 2 == plan_.sizes.size();
    synfire_synapse_desc synapse = SYNFIRE_SYNAPSE_DESC_INIT;
    synapse.n_inputs = stage.inputs;
    synapse.n_outputs = stage.outputs;
    synapse.bias = 1;
    synapse.gain = 3;
    synapse.gradient_bits = plan_.gradient_bits;
    synapse.seed = plan_.seed + 10 + i;
    check_(synfire_synapse_create(context_, &synapse, &stage.synapse));
    synfire_layer_desc layer = shaped<synfire_layer_desc>(SYNFIRE_LAYER_DESC_INIT);
    layer.model = stage.is_last ? SYNFIRE_MODEL_LI : plan_.hidden;
    layer.n_neurons = stage.outputs;
    check_(synfire_layer_create(context_, &layer, &stage.layer));
    stage.input = i == 0 ? encode_.spikes : stages_[i - 1].output;
    stage.output = stage.is_last ? sequence(stage.outputs) : spikes_of(stage.outputs);
    stage.rest = buffer(SYNFIRE_DTYPE_F32, plan_.batch * stage.outputs);
    stage.grad_output = sequence(stage.outputs);
    if (!plan_.synapses_of_layers) {
      stage.x = sequence(stage.outputs);
      stage.grad_x = sequence(stage.outputs);
    }
    stages_.push_back(stage);
  }

  void record_forward(size_t i) {
    const Stage& stage = stages_[i];
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.tape = plan_.tape;
    forward.v_init = stage.rest;
    (stage.is_last ? forward.v_seq : forward.spikes) = stage.output;
    if (plan_.synapses_of_layers) {
      forward.synapse = stage.synapse;
      forward.synapse_input = stage.input;
      forward.n_active = n_active_;
    } else {
      auto product = shaped<synfire_synapse_forward_desc>(SYNFIRE_SYNAPSE_FORWARD_DESC_INIT);
      product.input = stage.input;
      product.output = stage.x;
      product.n_active = n_active_;
      if (plan_.dropout && i == 0) {
        product.input_mask = dropout_.mask;
        product.input_scale = dropout_.scale;
      }
      check_(synfire_graph_record_synapse_forward(graph_, stage.synapse, &product));
      forward.x = stage.x;
    }
    check_(synfire_graph_record_forward(graph_, stage.layer, &forward));
  }

  void record_loss() {
    const Stage& last = stages_.back();
    auto mean = shaped<synfire_reduce_desc>(SYNFIRE_REDUCE_DESC_INIT);
    mean.reduction = SYNFIRE_REDUCE_MEAN;
    mean.n_neurons = last.outputs;
    mean.source = last.output;
    mean.destination = buffer(SYNFIRE_DTYPE_F32, plan_.batch * last.outputs);
    mean.n_active = n_active_;
    check_(synfire_graph_record_reduce(graph_, &mean));
    loss_ = SYNFIRE_LOSS_DESC_INIT;
    loss_.n_classes = last.outputs;
    loss_.batch = plan_.batch;
    loss_.source = mean.destination;
    loss_.labels = buffer(SYNFIRE_DTYPE_U32, plan_.batch);
    loss_.n_active = n_active_;
    loss_.loss = buffer(SYNFIRE_DTYPE_F32, 1);
    loss_.n_correct = buffer(SYNFIRE_DTYPE_U32, 1);
    loss_.gradient = buffer(SYNFIRE_DTYPE_F32, plan_.batch * last.outputs);
    loss_.accumulate = 1;
    std::vector<uint32_t> labels;
    for (int64_t b = 0; b < plan_.batch; ++b) labels.push_back(static_cast<uint32_t>(b % last.outputs));
    fill(loss_.labels, labels);
    fill(loss_.loss, std::vector<float>{0});
    fill(loss_.n_correct, std::vector<uint32_t>{0});
    check_(synfire_graph_record_loss(graph_, &loss_));
    auto spread = shaped<synfire_reduce_backward_desc>(SYNFIRE_REDUCE_BACKWARD_DESC_INIT);
    spread.reduction = SYNFIRE_REDUCE_MEAN;
    spread.n_neurons = last.outputs;
    spread.grad_destination = loss_.gradient;
    spread.grad_source = last.grad_output;
    spread.n_active = n_active_;
    check_(synfire_graph_record_reduce_backward(graph_, &spread));
  }

  void record_backward(size_t i) {
    const Stage& stage = stages_[i];
    const synfire_buffer grad_input = i == 0 ? nullptr : stages_[i - 1].grad_output;
    synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
    (stage.is_last ? backward.grad_v_seq : backward.grad_spike_seq) = stage.grad_output;
    if (plan_.synapses_of_layers)
      backward.grad_synapse_input = grad_input;
    else
      backward.grad_x_seq = stage.grad_x;
    check_(synfire_graph_record_backward(graph_, stage.layer, &backward));
    if (plan_.synapses_of_layers) return;
    auto product = shaped<synfire_synapse_backward_desc>(SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT);
    product.grad_output = stage.grad_x;
    product.input = stage.input;
    product.grad_input = grad_input;
    product.n_active = n_active_;
    if (plan_.dropout && i == 0) {
      product.input_mask = dropout_.mask;
      product.input_scale = dropout_.scale;
    }
    check_(synfire_graph_record_synapse_backward(graph_, stage.synapse, &product));
  }

  void record_step() {
    synfire_optimizer_desc desc = SYNFIRE_OPTIMIZER_DESC_INIT;
    desc.kind = plan_.optimizer;
    desc.learning_rate = 0.01;
    desc.weight_decay = 1e-3;
    desc.clip_norm = 0.5;
    if (plan_.optimizer == SYNFIRE_OPTIMIZER_KIND_SGD) desc.momentum = 0.9;
    desc.batches_per_step = plan_.batches_per_step;
    check_(synfire_optimizer_create(context_, &desc, &optimizer_));
    for (const Stage& stage : stages_) {
      check_(synfire_optimizer_add_weights(optimizer_, stage.synapse, 1, 1));
      check_(synfire_optimizer_add_bias(optimizer_, stage.synapse, 0.5, 0));
    }
    synfire_optimizer_step_desc step = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
    if (plan_.schedule != SYNFIRE_SCHEDULE_CONSTANT) {
      step.schedule = plan_.schedule;
      step.warmup_steps = 3;
      step.schedule_steps = plan_.schedule == SYNFIRE_SCHEDULE_COSINE ? 5 : 2;
      step.schedule_factor = 0.3;
    }
    check_(synfire_graph_record_optimizer_step(graph_, optimizer_, &step));
  }

  synfire_context context_;
  const NetworkPlan plan_;
  Check check_;
  uint64_t state_ = 0;
  synfire_encode_bernoulli_desc encode_ = SYNFIRE_ENCODE_BERNOULLI_DESC_INIT;
  synfire_dropout_desc dropout_ = SYNFIRE_DROPOUT_DESC_INIT;
  synfire_loss_desc loss_ = SYNFIRE_LOSS_DESC_INIT;
  synfire_buffer n_active_ = nullptr;
  synfire_graph graph_ = nullptr;
  synfire_optimizer optimizer_ = nullptr;
  std::vector<synfire_buffer> buffers_;
  std::vector<Stage> stages_;
};

}  // namespace synfire_test

#endif

// A network as synfire_network makes it, and the same one recorded by hand, operation by operation, with synapses as
// operations of their own: the two must have the same bits.
#ifndef SYNFIRE_TESTS_CAPI_NETWORK_BY_HAND_HPP
#define SYNFIRE_TESTS_CAPI_NETWORK_BY_HAND_HPP

#include <cstring>
#include <stdexcept>

#include "../random_seed.hpp"
#include "support.hpp"

namespace synfire_test {

inline constexpr double infinity_of_double = std::numeric_limits<double>::infinity();

// The plan that both are made from. Stage i of synapse and neurons is called "s<i>" and "n<i>", the others by their
// kind.
struct StagePlan {
  int64_t n_steps = 6, batch = 4;
  std::vector<int64_t> sizes = {20, 15, 4};  // from the input to the last neurons
  int32_t input = SYNFIRE_NETWORK_INPUT_RATES, input_dtype = SYNFIRE_DTYPE_F32;
  int32_t hidden = SYNFIRE_MODEL_LIF, last = SYNFIRE_MODEL_LI;
  int32_t readout = SYNFIRE_READOUT_MEAN;
  bool of_spikes = false;
  int32_t loss = SYNFIRE_LOSS_CROSS_ENTROPY;
  int32_t optimizer = SYNFIRE_OPTIMIZER_KIND_ADAM;
  double rate = 0.01, clip_norm = 0, decay = 0, smoothing = 0;
  double dropout = 0;         // of the input; 0: no such stage
  double hidden_dropout = 0;  // of the first hidden neurons
  double rate_strength = 0;   // of the first hidden neurons
  bool train_tau = false;     // of the first hidden neurons, one for each
  bool freeze_first = false;
  bool lengths = false, sample_weights = false;
  int64_t n_rows = 10;
  int32_t dtype = SYNFIRE_DTYPE_F32;
  int32_t drop_last = 0;
  uint64_t seed = 7;

  size_t n_pairs() const { return sizes.size() - 1; }
  bool has_targets() const { return loss == SYNFIRE_LOSS_MEAN_SQUARED_ERROR; }
  int32_t model(size_t pair) const { return pair + 1 == n_pairs() ? last : hidden; }
  bool drops(size_t pair) const { return pair == 0 ? dropout > 0 : pair == 1 && hidden_dropout > 0; }
};
inline std::ostream& operator<<(std::ostream& out, const StagePlan& plan) {
  for (const int64_t size : plan.sizes) out << size << "-";
  return out << " T " << plan.n_steps << " B " << plan.batch << " rows " << plan.n_rows << " input " << plan.input
             << " of " << plan.input_dtype << " models " << plan.hidden << " " << plan.last << " readout "
             << plan.readout << " of spikes " << plan.of_spikes << " loss " << plan.loss << " optimizer "
             << plan.optimizer << " clip " << plan.clip_norm << " decay " << plan.decay << " smoothing "
             << plan.smoothing << " dropout " << plan.dropout << " " << plan.hidden_dropout << " strength "
             << plan.rate_strength << " tau " << plan.train_tau << " frozen " << plan.freeze_first << " lengths "
             << plan.lengths << " weights " << plan.sample_weights << " dtype " << plan.dtype << " drop last "
             << plan.drop_last << " seed " << plan.seed;
}

inline void require_ok(synfire_status status) {
  if (status < 0) throw std::runtime_error(last_error_text());
}

// Rows of inputs with labels or targets, in buffers.
struct Data {
  Buffer inputs, labels, targets, lengths, sample_weights;
};

inline Buffer buffer_of_bytes(synfire_context context, int32_t dtype, uint64_t n_elements, const void* bytes,
                              uint64_t n_bytes) {
  Buffer made = make_buffer(context, dtype, n_elements);
  require_ok(synfire_buffer_upload(made, 0, bytes, n_bytes));
  return made;
}

inline Data make_data(synfire_context context, const StagePlan& plan, int64_t n_rows, uint64_t seed) {
  Random random(seed);
  const auto rows = static_cast<size_t>(n_rows), steps = static_cast<size_t>(plan.n_steps);
  const auto width = static_cast<size_t>(plan.sizes.front()), classes = static_cast<size_t>(plan.sizes.back());
  Data data;
  const auto numbers = [&](size_t count, double low, double high, bool f64) {
    if (f64) return make_buffer_of(context, random.values<double>(count, low, high));
    return make_buffer_of(context, random.values<float>(count, low, high));
  };
  if (plan.input == SYNFIRE_NETWORK_INPUT_RATES) {
    data.inputs = numbers(rows * width, 0, 0.7, false);
  } else if (plan.input == SYNFIRE_NETWORK_INPUT_VALUES) {
    data.inputs = numbers(rows * steps * width, -1, 2, plan.dtype == SYNFIRE_DTYPE_F64);
  } else if (plan.input_dtype == SYNFIRE_DTYPE_U8) {
    std::vector<uint8_t> spikes(rows * steps * width);
    for (uint8_t& spike : spikes) spike = random.uniform(0, 1) < 0.3 ? 1 : 0;
    data.inputs = buffer_of_bytes(context, SYNFIRE_DTYPE_U8, spikes.size(), spikes.data(), spikes.size());
  } else {
    const bool in_time = plan.input_dtype == SYNFIRE_DTYPE_TIME_BITS;
    std::vector<uint32_t> words(rows * (in_time ? (steps + 31) / 32 * width : steps * ((width + 31) / 32)));
    for (uint32_t& word : words) word = static_cast<uint32_t>(random.next() & random.next());
    data.inputs = buffer_of_bytes(context, plan.input_dtype, words.size(), words.data(), words.size() * 4);
  }
  std::vector<uint32_t> labels(rows), lengths(rows);
  for (uint32_t& label : labels) label = static_cast<uint32_t>(random.whole(0, static_cast<int64_t>(classes) - 1));
  for (uint32_t& length : lengths) length = static_cast<uint32_t>(random.whole(1, plan.n_steps));
  if (plan.has_targets())
    data.targets = numbers(rows * classes, -1, 1, plan.dtype == SYNFIRE_DTYPE_F64);
  else
    data.labels = buffer_of_bytes(context, SYNFIRE_DTYPE_U32, rows, labels.data(), rows * 4);
  if (plan.lengths) data.lengths = buffer_of_bytes(context, SYNFIRE_DTYPE_U32, rows, lengths.data(), rows * 4);
  if (plan.sample_weights) data.sample_weights = numbers(rows, 0.5, 2, false);
  return data;
}

// "s0", "n0", ... are the synapses and the neurons of a network.
inline std::string numbered(char letter, size_t i) {
  return std::string(1, letter).append(std::to_string(i));
}

inline const char* dropout_name(size_t i) {
  return i == 0 ? "drop" : "hidden.drop";
}

inline Network make_stages(synfire_context context, const StagePlan& plan, bool with_training = true) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.dtype = plan.dtype;
  desc.n_steps = plan.n_steps;
  desc.batch = plan.batch;
  desc.seed = plan.seed;
  desc.drop_last = plan.drop_last;
  synfire_network made = nullptr;
  require_ok(synfire_network_create(context, &desc, &made));
  Network network(made);
  const auto set = [&](const std::string& stage, const char* name, double value) {
    require_ok(synfire_network_set_value(network, stage.c_str(), name, value));
  };
  require_ok(synfire_network_add_input(network, "input", plan.input, plan.sizes.front()));
  if (plan.input == SYNFIRE_NETWORK_INPUT_SPIKES) set("input", "dtype", plan.input_dtype);
  for (size_t i = 0; i < plan.n_pairs(); ++i) {
    const std::string synapse = numbered('s', i), neurons = numbered('n', i);
    if (plan.drops(i))
      require_ok(synfire_network_add_dropout(network, dropout_name(i), i == 0 ? plan.dropout : plan.hidden_dropout));
    require_ok(synfire_network_add_synapse(network, synapse.c_str(), plan.sizes[i + 1]));
    set(synapse, "gain", 2);
    set(synapse, "seed", 100 + static_cast<double>(i));
    require_ok(synfire_network_add_neurons(network, neurons.c_str(), plan.model(i)));
  }
  if (plan.freeze_first) set("s0", "frozen", 1);
  if (plan.rate_strength != 0) {
    set("n0", "rate_target", 0.2);
    set("n0", "rate_strength", plan.rate_strength);
  }
  if (plan.train_tau)
    require_ok(synfire_network_train_parameter(network, "n0", "tau", 1, 0.5, 0, 1.1, infinity_of_double));
  require_ok(synfire_network_add_readout(network, "readout", plan.readout, plan.of_spikes ? 1 : 0));
  if (!with_training) return network;
  require_ok(synfire_network_add_loss(network, "loss", plan.loss));
  if (plan.smoothing != 0) set("loss", "label_smoothing", plan.smoothing);
  require_ok(synfire_network_add_optimizer(network, "optimizer", plan.optimizer, plan.rate));
  set("optimizer", "weight_decay", plan.decay);
  set("optimizer", "clip_norm", plan.clip_norm);
  return network;
}

inline void set_data(synfire_network network, int32_t kind, int64_t n_rows, const Data& data) {
  require_ok(synfire_network_set_data(network, kind, n_rows, data.inputs, data.labels, data.targets, data.lengths,
                                      data.sample_weights));
}

// All that is learnt, in one list: weights, biases and moments of all members, the parameters of the first neurons, and
// the counters.
class Learnt {
 public:
  Learnt(synfire_optimizer optimizer, const std::vector<synfire_synapse>& synapses, synfire_layer first,
         const StagePlan& plan) {
    const bool f64 = plan.dtype == SYNFIRE_DTYPE_F64;
    const uint64_t element = f64 ? 8 : 4;
    std::vector<uint64_t> members;
    for (size_t i = 0; i < synapses.size(); ++i) {
      const auto inputs = static_cast<uint64_t>(plan.sizes[i]), outputs = static_cast<uint64_t>(plan.sizes[i + 1]);
      add(inputs * outputs * element,
          [&](void* to, uint64_t bytes) { return synfire_synapse_read(synapses[i], "weight", to, bytes); });
      add(outputs * element,
          [&](void* to, uint64_t bytes) { return synfire_synapse_read(synapses[i], "bias", to, bytes); });
      if (i > 0 || !plan.freeze_first) {
        members.push_back(inputs * outputs);
        members.push_back(outputs);
      }
      if (i == 0 && plan.train_tau) members.push_back(outputs);
    }
    if (plan.train_tau) {
      const auto count = static_cast<uint64_t>(plan.sizes[1]);
      add(count * sizeof(double), [&](void* to, uint64_t bytes) {
        std::vector<double> tau(count);  // aligned, which `to` need not be
        const synfire_status status = synfire_layer_get_parameter(first, "tau", tau.data(), count);
        std::memcpy(to, tau.data(), bytes);
        return status;
      });
    }
    for (size_t m = 0; m < members.size(); ++m)
      if (plan.optimizer != SYNFIRE_OPTIMIZER_KIND_SGD)
        for (const char* const name : {"moment1", "moment2"})
          add(members[m] * element, [&](void* to, uint64_t bytes) {
            return synfire_optimizer_read(optimizer, static_cast<int32_t>(m), name, to, bytes);
          });
    for (const char* const name : {"step_count", "skipped", "beta1_power", "beta2_power"})
      add(8, [&](void* to, uint64_t bytes) { return synfire_optimizer_read(optimizer, -1, name, to, bytes); });
  }
  const std::vector<uint32_t>& words() const { return words_; }

 private:
  template <class Read>
  void add(uint64_t bytes, Read read) {
    const size_t before = words_.size();
    words_.resize(before + bytes / 4);
    require_ok(read(words_.data() + before, bytes));
  }
  std::vector<uint32_t> words_;
};

inline Learnt learnt(synfire_network network, const StagePlan& plan) {
  std::vector<Synapse> synapses;
  std::vector<synfire_synapse> raw;
  for (size_t i = 0; i < plan.n_pairs(); ++i) {
    synfire_synapse synapse = nullptr;
    require_ok(synfire_network_get_synapse(network, numbered('s', i).c_str(), &synapse));
    synapses.emplace_back(synapse);
    raw.push_back(synapse);
  }
  synfire_optimizer optimizer = nullptr;
  require_ok(synfire_network_get_optimizer(network, "optimizer", &optimizer));
  const Optimizer owned(optimizer);
  synfire_layer first = nullptr;
  require_ok(synfire_network_get_layer(network, "n0", &first));
  const Layer layer(first);
  return {optimizer, raw, first, plan};
}

// Sums over all batches, of which synfire_network_result has means.
struct Sums {
  double loss = 0, divisor = 0, rate_loss = 0;
  uint32_t n_correct = 0, n_counted = 0;
};

// The training and the evaluation, recorded by hand.
class ByHand {
 public:
  ByHand(synfire_context context, const StagePlan& plan, const Data& training, const Data& evaluation,
         int64_t n_evaluated)
      : context_(context), plan_(plan) {
    make_parts();
    record(training_, training, plan.n_rows, true);
    record(evaluation_, evaluation, n_evaluated, false);
  }

  Sums train(int n_batches) { return run(training_, n_batches); }
  Sums evaluate(int n_batches) {
    for (const int32_t operation : counted_) require_ok(synfire_graph_set_value(evaluation_, operation, "offset", 0));
    return run(evaluation_, n_batches);
  }
  Learnt learnt() const {
    std::vector<synfire_synapse> raw;
    for (const Pair& pair : pairs_) raw.push_back(pair.synapse);
    return {optimizer_, raw, pairs_[0].layer, plan_};
  }
  synfire_graph training() const { return training_; }
  int32_t step() const { return step_; }

 private:
  struct Pair {
    Synapse synapse;
    Layer layer;
    Buffer x, spikes, v, grad_x, grad_spikes, grad_v, mask, scale, grad_tau;
  };

  Buffer numbers(int64_t count) const { return make_buffer(context_, plan_.dtype, static_cast<uint64_t>(count)); }
  Buffer words(int64_t count) const { return make_buffer(context_, SYNFIRE_DTYPE_U32, static_cast<uint64_t>(count)); }
  Buffer sequence(int64_t width) const { return numbers(plan_.n_steps * plan_.batch * width); }
  Buffer bits(int64_t n_steps, int64_t width) const {
    return make_buffer(context_, SYNFIRE_DTYPE_BITS,
                       static_cast<uint64_t>(n_steps * plan_.batch * ((width + 31) / 32)));
  }
  bool trains(size_t i) const { return i > 0 || !plan_.freeze_first; }
  template <class Desc>
  Desc shaped(Desc desc) const {
    desc.n_steps = plan_.n_steps;
    desc.batch = plan_.batch;
    return desc;
  }

  void make_parts() {
    synfire_optimizer_desc od = SYNFIRE_OPTIMIZER_DESC_INIT;
    od.kind = plan_.optimizer;
    od.learning_rate = plan_.rate;
    od.weight_decay = plan_.decay;
    od.clip_norm = plan_.clip_norm;
    synfire_optimizer optimizer = nullptr;
    require_ok(synfire_optimizer_create(context_, &od, &optimizer));
    optimizer_ = Optimizer(optimizer);
    for (size_t i = 0; i < plan_.n_pairs(); ++i) {
      Pair pair;
      const int64_t inputs = plan_.sizes[i], outputs = plan_.sizes[i + 1];
      synfire_synapse_desc sd = SYNFIRE_SYNAPSE_DESC_INIT;
      sd.input_kind = i == 0 && plan_.input == SYNFIRE_NETWORK_INPUT_VALUES ? SYNFIRE_INPUT_VALUES : 0;
      sd.n_inputs = inputs;
      sd.n_outputs = outputs;
      sd.dtype = plan_.dtype;
      sd.bias = 1;
      sd.frozen = trains(i) ? 0 : 1;
      sd.gain = 2;
      sd.seed = 100 + i;
      synfire_synapse synapse = nullptr;
      require_ok(synfire_synapse_create(context_, &sd, &synapse));
      pair.synapse = Synapse(synapse);
      synfire_layer_desc ld = shaped<synfire_layer_desc>(SYNFIRE_LAYER_DESC_INIT);
      ld.model = plan_.model(i);
      ld.n_neurons = outputs;
      ld.dtype = plan_.dtype;
      pair.layer = make_layer(context_, ld);
      pair.x = sequence(outputs);
      pair.v = sequence(outputs);
      pair.grad_x = sequence(outputs);
      pair.grad_v = sequence(outputs);
      pair.grad_spikes = sequence(outputs);
      const bool as_numbers = i + 1 == plan_.n_pairs() && plan_.readout == SYNFIRE_READOUT_STEPS && plan_.of_spikes;
      pair.spikes = as_numbers ? sequence(outputs) : bits(plan_.n_steps, outputs);
      pair.mask = bits(1, inputs);
      pair.scale = numbers(1);
      pair.grad_tau = numbers(outputs);
      if (trains(i)) {
        require_ok(synfire_optimizer_add_weights(optimizer, synapse, 1, 1));
        require_ok(synfire_optimizer_add_bias(optimizer, synapse, 1, 0));
      }
      if (i == 0 && plan_.train_tau) {
        double tau = 0;
        require_ok(synfire_layer_get_parameter(pair.layer, "tau", &tau, 1));
        set_parameter(pair.layer, "tau", std::vector<double>(static_cast<size_t>(outputs), tau));
        require_ok(synfire_optimizer_add_parameter(optimizer, pair.layer, "tau", pair.grad_tau, 0.5, 0, 1.1,
                                                   infinity_of_double));
      }
      pairs_.push_back(std::move(pair));
    }
    const int64_t classes = plan_.sizes.back();
    indices_ = words(plan_.batch);
    n_active_ = words(1);
    labels_ = words(plan_.batch);
    lengths_ = words(plan_.batch);
    weights_ = make_buffer(context_, SYNFIRE_DTYPE_F32, static_cast<uint64_t>(plan_.batch));
    targets_ = numbers(plan_.batch * classes);
    rates_ = make_buffer(context_, SYNFIRE_DTYPE_F32, static_cast<uint64_t>(plan_.batch * plan_.sizes[0]));
    readout_ = numbers(plan_.batch * classes);
    grad_readout_ = numbers(plan_.batch * classes);
    loss_ = make_buffer(context_, SYNFIRE_DTYPE_F64, 1);
    divisor_ = make_buffer(context_, SYNFIRE_DTYPE_F64, 1);
    rate_loss_ = make_buffer(context_, SYNFIRE_DTYPE_F64, 1);
    n_correct_ = words(1);
    n_counted_ = words(1);
    const int64_t width = plan_.sizes[0], steps = plan_.n_steps;
    if (plan_.input == SYNFIRE_NETWORK_INPUT_VALUES)
      input_ = sequence(width);
    else if (plan_.input == SYNFIRE_NETWORK_INPUT_RATES || plan_.input_dtype == SYNFIRE_DTYPE_BITS)
      input_ = bits(steps, width);
    else if (plan_.input_dtype == SYNFIRE_DTYPE_TIME_BITS)
      input_ = make_buffer(context_, SYNFIRE_DTYPE_TIME_BITS,
                           static_cast<uint64_t>((steps + 31) / 32 * plan_.batch * width));
    else
      input_ = make_buffer(context_, plan_.input_dtype, static_cast<uint64_t>(steps * plan_.batch * width));
  }

  // Steps beyond the length of a row are 0, if its length is given.
  void gather(synfire_graph graph, synfire_buffer source, synfire_buffer destination, int64_t n_rows, int64_t n_steps,
              int64_t width, synfire_buffer of_rows = nullptr) const {
    if (!source) return;
    synfire_gather_rows_desc desc = SYNFIRE_GATHER_ROWS_DESC_INIT;
    desc.n_rows = n_rows;
    desc.n_steps = n_steps;
    desc.n_elements = width;
    desc.batch = plan_.batch;
    desc.source = source;
    desc.indices = indices_;
    desc.n_active = n_active_;
    desc.destination = destination;
    desc.lengths = of_rows;
    require_ok(synfire_graph_record_gather_rows(graph, &desc));
  }
  void note_counted(synfire_graph graph, bool training) {
    int32_t operation = 0;
    require_ok(synfire_graph_get_last_operation(graph, &operation));
    if (!training) counted_.push_back(operation);
  }
  void record(Graph& graph, const Data& data, int64_t n_rows, bool training) {
    graph = make_graph(context_);
    synfire_shuffle_desc shuffle = SYNFIRE_SHUFFLE_DESC_INIT;
    shuffle.in_order = training ? 0 : 1;
    shuffle.n_rows = n_rows;
    shuffle.batch = plan_.batch;
    shuffle.drop_last = training ? plan_.drop_last : 0;
    shuffle.indices = indices_;
    shuffle.n_active = n_active_;
    shuffle.seed = random_seed(plan_.seed, "", "order");
    require_ok(synfire_graph_record_shuffle(graph, &shuffle));
    note_counted(graph, training);
    const bool rates = plan_.input == SYNFIRE_NETWORK_INPUT_RATES;
    gather(graph, data.lengths, lengths_, n_rows, 1, 1);
    gather(graph, data.inputs, rates ? rates_.get() : input_.get(), n_rows, rates ? 1 : plan_.n_steps, plan_.sizes[0],
           rates ? nullptr : lengths());
    gather(graph, data.labels, labels_, n_rows, 1, 1);
    gather(graph, data.targets, targets_, n_rows, 1, plan_.sizes.back());
    gather(graph, data.sample_weights, weights_, n_rows, 1, 1);
    if (rates) {
      synfire_encode_bernoulli_desc encode = shaped<synfire_encode_bernoulli_desc>(SYNFIRE_ENCODE_BERNOULLI_DESC_INIT);
      encode.n_neurons = plan_.sizes[0];
      encode.rates = rates_;
      encode.spikes = input_;
      encode.seed = stage_seed(plan_.seed, "input", "rates", training);
      require_ok(synfire_graph_record_encode_bernoulli(graph, &encode));
      note_counted(graph, training);
    }
    const synfire_state_desc all = SYNFIRE_STATE_DESC_INIT;
    for (const Pair& pair : pairs_) require_ok(synfire_graph_record_reset_rows(graph, pair.layer, &all));
    for (size_t i = 0; i < pairs_.size(); ++i) record_forward(graph, i, training);
    record_readout(graph);
    if (training) record_loss(graph, true);
    record_loss(graph, false);
    if (training) {
      record_readout_backward(graph);
      for (size_t i = pairs_.size(); i-- > 0;)
        if (i > 0 || !plan_.freeze_first || plan_.train_tau) record_backward(graph, i);
      synfire_optimizer_step_desc step = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
      require_ok(synfire_graph_record_optimizer_step(graph, optimizer_, &step));
      require_ok(synfire_graph_get_last_operation(graph, &step_));
      // 0 means no decay here, and the default of AdamW in a descriptor.
      require_ok(synfire_graph_set_value(graph, step_, "weight_decay", plan_.decay));
    }
    require_ok(synfire_graph_instantiate(graph));
  }

  synfire_buffer input_of(size_t i) const { return i == 0 ? input_.get() : pairs_[i - 1].spikes.get(); }
  void record_forward(synfire_graph graph, size_t i, bool training) {
    const Pair& pair = pairs_[i];
    const bool is_last = i + 1 == pairs_.size(), fires = plan_.model(i) != SYNFIRE_MODEL_LI;
    synfire_synapse_forward_desc product = shaped<synfire_synapse_forward_desc>(SYNFIRE_SYNAPSE_FORWARD_DESC_INIT);
    product.input = input_of(i);
    product.output = pair.x;
    product.n_active = n_active_;
    if (plan_.drops(i)) {
      synfire_dropout_desc drop = SYNFIRE_DROPOUT_DESC_INIT;
      drop.n_neurons = plan_.sizes[i];
      drop.batch = plan_.batch;
      drop.probability = !training ? 0 : i == 0 ? plan_.dropout : plan_.hidden_dropout;
      drop.mask = pair.mask;
      drop.scale = pair.scale;
      drop.seed = stage_seed(plan_.seed, dropout_name(i), "dropout", training);
      require_ok(synfire_graph_record_dropout(graph, &drop));
      note_counted(graph, training);
      product.input_mask = pair.mask;
      product.input_scale = pair.scale;
    }
    require_ok(synfire_graph_record_synapse_forward(graph, pair.synapse, &product));
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.tape = training ? SYNFIRE_TAPE_RECOMPUTE : SYNFIRE_TAPE_NONE;
    forward.x = pair.x;
    forward.spikes = fires ? pair.spikes.get() : nullptr;
    forward.v_seq = is_last && !plan_.of_spikes ? pair.v.get() : nullptr;
    require_ok(synfire_graph_record_forward(graph, pair.layer, &forward));
    const bool has_backward = training && (!plan_.freeze_first || plan_.train_tau);
    if (i == 0 && plan_.rate_strength != 0 && !has_backward) record_rates(graph, false, false);
  }

  bool reduces() const { return plan_.readout != SYNFIRE_READOUT_STEPS; }
  synfire_buffer source() const { return plan_.of_spikes ? pairs_.back().spikes.get() : pairs_.back().v.get(); }
  synfire_buffer source_gradient() const {
    return plan_.of_spikes ? pairs_.back().grad_spikes.get() : pairs_.back().grad_v.get();
  }
  synfire_buffer lengths() const { return plan_.lengths ? lengths_.get() : nullptr; }

  void record_readout(synfire_graph graph) {
    if (!reduces()) return;
    synfire_reduce_desc reduce = shaped<synfire_reduce_desc>(SYNFIRE_REDUCE_DESC_INIT);
    reduce.reduction = plan_.readout;
    reduce.n_neurons = plan_.sizes.back();
    reduce.source = source();
    reduce.destination = readout_;
    reduce.lengths = lengths();
    reduce.n_active = n_active_;
    require_ok(synfire_graph_record_reduce(graph, &reduce));
  }
  void record_readout_backward(synfire_graph graph) {
    if (!reduces()) return;
    synfire_reduce_backward_desc back = shaped<synfire_reduce_backward_desc>(SYNFIRE_REDUCE_BACKWARD_DESC_INIT);
    back.reduction = plan_.readout;
    back.n_neurons = plan_.sizes.back();
    back.grad_destination = grad_readout_;
    back.source = plan_.readout == SYNFIRE_READOUT_MAX ? source() : nullptr;
    back.lengths = lengths();
    back.n_active = n_active_;
    back.grad_source = source_gradient();
    require_ok(synfire_graph_record_reduce_backward(graph, &back));
  }
  void record_loss(synfire_graph graph, bool gradient) {
    synfire_loss_desc loss = SYNFIRE_LOSS_DESC_INIT;
    loss.kind = plan_.loss;
    loss.n_steps = reduces() ? 1 : plan_.n_steps;
    loss.n_classes = plan_.sizes.back();
    loss.batch = plan_.batch;
    loss.source = reduces() ? readout_.get() : source();
    loss.labels = plan_.has_targets() ? nullptr : labels_.get();
    loss.targets = plan_.has_targets() ? targets_.get() : nullptr;
    loss.lengths = lengths();
    loss.n_active = n_active_;
    loss.sample_weights = plan_.sample_weights ? weights_.get() : nullptr;
    loss.label_smoothing = plan_.smoothing;
    if (gradient) {
      loss.gradient = reduces() ? grad_readout_.get() : source_gradient();
    } else {
      loss.sum = loss.accumulate = 1;
      loss.loss = loss_;
      loss.divisor = divisor_;
      loss.n_correct = plan_.has_targets() ? nullptr : n_correct_.get();
      loss.n_counted = n_counted_;
    }
    require_ok(synfire_graph_record_loss(graph, &loss));
  }

  // The loss of the first neurons' rates. An evaluation has no gradient.
  void record_rates(synfire_graph graph, bool gradient, bool add) const {
    const Pair& pair = pairs_.front();
    synfire_rate_loss_desc rate = shaped<synfire_rate_loss_desc>(SYNFIRE_RATE_LOSS_DESC_INIT);
    rate.n_neurons = plan_.sizes[1];
    rate.target = 0.2;
    rate.strength = plan_.rate_strength;
    rate.spikes = pair.spikes;
    rate.lengths = lengths();
    rate.n_active = n_active_;
    rate.loss = rate_loss_;
    rate.accumulate_loss = 1;
    rate.grad_spike_seq = gradient ? pair.grad_spikes.get() : nullptr;
    rate.accumulate = add ? 1 : 0;
    require_ok(synfire_graph_record_rate_loss(graph, &rate));
  }

  void record_backward(synfire_graph graph, size_t i) {
    const Pair& pair = pairs_[i];
    const bool is_last = i + 1 == pairs_.size();
    bool has_spikes = !is_last || plan_.of_spikes;
    if (i == 0 && plan_.rate_strength != 0) {
      record_rates(graph, true, has_spikes);
      has_spikes = true;
    }
    const bool passes = i > 0 && (i > 1 || !plan_.freeze_first || plan_.train_tau);
    const synfire_parameter_gradient tau = {"tau", pair.grad_tau};
    synfire_backward_desc back = SYNFIRE_BACKWARD_DESC_INIT;
    back.grad_spike_seq = has_spikes ? pair.grad_spikes.get() : nullptr;
    back.grad_v_seq = is_last && !plan_.of_spikes ? pair.grad_v.get() : nullptr;
    back.grad_x_seq = pair.grad_x;
    if (i == 0 && plan_.train_tau) {
      back.parameter_gradients = &tau;
      back.n_parameter_gradients = 1;
    }
    require_ok(synfire_graph_record_backward(graph, pair.layer, &back));
    if (!trains(i) && !passes) return;
    synfire_synapse_backward_desc product = shaped<synfire_synapse_backward_desc>(SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT);
    product.grad_output = pair.grad_x;
    product.input = trains(i) ? input_of(i) : nullptr;
    product.grad_input = passes ? pairs_[i - 1].grad_spikes.get() : nullptr;
    product.n_active = n_active_;
    if (plan_.drops(i)) {
      product.input_mask = pair.mask;
      product.input_scale = pair.scale;
    }
    require_ok(synfire_graph_record_synapse_backward(graph, pair.synapse, &product));
  }

  Sums run(synfire_graph graph, int n_batches) {
    for (const Buffer* const sum : {&loss_, &divisor_, &rate_loss_, &n_correct_, &n_counted_})
      require_ok(synfire_buffer_fill(*sum, 0));
    for (int i = 0; i < n_batches; ++i) replay(graph);
    Sums sums;
    require_ok(synfire_buffer_download(loss_, 0, &sums.loss, sizeof sums.loss));
    require_ok(synfire_buffer_download(divisor_, 0, &sums.divisor, sizeof sums.divisor));
    require_ok(synfire_buffer_download(rate_loss_, 0, &sums.rate_loss, sizeof sums.rate_loss));
    require_ok(synfire_buffer_download(n_correct_, 0, &sums.n_correct, sizeof sums.n_correct));
    require_ok(synfire_buffer_download(n_counted_, 0, &sums.n_counted, sizeof sums.n_counted));
    return sums;
  }

  synfire_context context_;
  const StagePlan plan_;
  Optimizer optimizer_;
  std::vector<Pair> pairs_;
  Buffer indices_, n_active_, labels_, lengths_, weights_, targets_, rates_, input_, readout_, grad_readout_, loss_,
      divisor_, rate_loss_, n_correct_, n_counted_;
  Graph training_, evaluation_;
  std::vector<int32_t> counted_;  // operations of the evaluation that count
  int32_t step_ = 0;
};

}  // namespace synfire_test

#endif

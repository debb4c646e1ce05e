// network.cpp - the arrays of a network and the operations of a step.
//
// SPDX-License-Identifier: MIT
#include "network.hpp"

#include <bit>
#include <utility>

#include "inputs.hpp"

namespace synfire_bench {
namespace {

constexpr std::uint64_t seed_of_weights = 10, seed_of_labels = 11, seed_of_spikes = 12;

std::int64_t count(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}

std::uint64_t words(std::uint64_t neurons) {
  return (neurons + 31) / 32;
}

// A descriptor with n_steps and batch.
template <class Desc>
Desc with_shape(Desc desc, const NetworkShape& shape) {
  desc.n_steps = count(shape.steps);
  desc.batch = count(shape.batch);
  return desc;
}

}  // namespace

std::string NetworkShape::text() const {
  std::string text;
  for (const std::uint64_t size : sizes) text.append(text.empty() ? "" : "-").append(std::to_string(size));
  return text;
}

synfire_buffer Network::new_buffer(std::int32_t dtype, std::uint64_t elements) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.dtype = dtype;
  desc.n_elements = elements;
  synfire_buffer buffer = nullptr;
  check(synfire_buffer_create(machine_.context(), &desc, &buffer), "synfire_buffer_create");
  buffers_.emplace_back(buffer);
  return buffer;
}

Network::Network(const Machine& machine, const NetworkShape& shape, bool training, const Input& input, bool taus)
    : machine_(machine), shape_(shape), training_(training), taus_(taus), kind_(input) {
  double bytes = 0;
  for (std::size_t i = 1; i < shape.sizes.size(); ++i) {
    const auto neurons = static_cast<double>(shape.sizes[i]);
    bytes += neurons * (static_cast<double>(shape.rows()) * 12 + static_cast<double>(shape.sizes[i - 1]) * 30);
  }
  if (input.values) bytes += static_cast<double>(shape.rows()) * static_cast<double>(shape.sizes[0]) * 4;
  machine.require_memory(bytes);
  make_input();
  for (std::uint64_t i = 0; i + 1 < shape.sizes.size(); ++i) make_stage(i);
  for (std::size_t i = 0; i < stages_.size(); ++i) add_forward(i);
  add_readout();
  for (std::size_t i = stages_.size(); training && i-- > 0;) add_backward(i);
  if (training) add_optimizer();
}

void Network::make_input() {
  const std::uint64_t inputs = shape_.sizes[0];
  if (kind_.values) {
    input_ = new_buffer(SYNFIRE_DTYPE_F32, shape_.rows() * inputs);
    const std::vector<float> numbers = random_numbers(shape_.rows() * inputs, -1, 1, seed_of_spikes);
    check(synfire_buffer_upload(input_, 0, numbers.data(), numbers.size() * sizeof numbers[0]),
          "synfire_buffer_upload");
    return;
  }
  input_ = new_buffer(SYNFIRE_DTYPE_BITS, shape_.rows() * words(inputs));
  const synfire_buffer rates = new_buffer(SYNFIRE_DTYPE_F32, shape_.batch * inputs);
  check(synfire_buffer_fill(rates, kind_.rate), "synfire_buffer_fill");
  auto encode = with_shape<synfire_encode_bernoulli_desc>(SYNFIRE_ENCODE_BERNOULLI_DESC_INIT, shape_);
  encode.n_neurons = count(inputs);
  encode.rates = rates;
  encode.spikes = input_;
  encode.seed = seed_of_spikes;
  check(synfire_encode_bernoulli(machine_.context(), &encode, nullptr), "synfire_encode_bernoulli");
}

void Network::make_stage(std::uint64_t index) {
  Stage& stage = stages_.emplace_back();
  stage.inputs = shape_.sizes[index];
  stage.neurons = shape_.sizes[index + 1];
  synfire_synapse_desc synapse_desc = SYNFIRE_SYNAPSE_DESC_INIT;
  synapse_desc.n_inputs = count(stage.inputs);
  synapse_desc.n_outputs = count(stage.neurons);
  synapse_desc.bias = 1;
  synapse_desc.seed = seed_of_weights + index;
  synapse_desc.gain = 6;  // so that neurons fire with 5 % of the inputs spiking
  if (index == 0 && kind_.values) synapse_desc.input_kind = SYNFIRE_INPUT_VALUES;
  synfire_synapse synapse = nullptr;
  check(synfire_synapse_create(machine_.context(), &synapse_desc, &synapse), "synfire_synapse_create");
  stage.synapse.reset(synapse);
  auto layer_desc = with_shape<synfire_layer_desc>(SYNFIRE_LAYER_DESC_INIT, shape_);
  layer_desc.n_neurons = count(stage.neurons);
  stage.layer = make_layer(machine_, layer_desc);
  const std::uint64_t elements = shape_.rows() * stage.neurons;
  stage.x = new_buffer(SYNFIRE_DTYPE_F32, elements);
  stage.spikes = new_buffer(SYNFIRE_DTYPE_BITS, shape_.rows() * words(stage.neurons));
  if (!training_) return;
  stage.grad_x = new_buffer(SYNFIRE_DTYPE_F32, elements);
  stage.grad_spikes = new_buffer(SYNFIRE_DTYPE_F32, elements);
  if (taus_) stage.grad_tau = new_buffer(SYNFIRE_DTYPE_F32, stage.neurons);
}

void Network::add(std::string name, std::vector<Product> products, bool backward,
                  std::function<void(synfire_graph)> record) {
  operations_.push_back({std::move(name), std::move(products), std::move(record), backward});
}

void Network::add_forward(std::size_t index) {
  const Stage& stage = stages_[index];
  const std::string number = std::to_string(index + 1);
  auto product = with_shape<synfire_synapse_forward_desc>(SYNFIRE_SYNAPSE_FORWARD_DESC_INIT, shape_);
  product.input = index == 0 ? input_ : stages_[index - 1].spikes;
  product.output = stage.x;
  add("synapse " + number, {{Product::Operands::forward, shape_.rows(), stage.neurons, stage.inputs}}, false,
      [synapse = stage.synapse.get(), product](synfire_graph graph) {
        check(synfire_graph_record_synapse_forward(graph, synapse, &product), "synfire_graph_record_synapse_forward");
      });
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.tape = training_ ? SYNFIRE_TAPE_RECOMPUTE : SYNFIRE_TAPE_NONE;
  forward.x = stage.x;
  forward.spikes = stage.spikes;
  add("layer " + number, {}, false, [layer = stage.layer.get(), forward](synfire_graph graph) {
    check(synfire_graph_record_forward(graph, layer, &forward), "synfire_graph_record_forward");
  });
}

void Network::add_readout() {
  const Stage& last = stages_.back();
  const std::uint64_t scores = shape_.batch * last.neurons;
  auto mean = with_shape<synfire_reduce_desc>(SYNFIRE_REDUCE_DESC_INIT, shape_);
  mean.reduction = SYNFIRE_REDUCE_MEAN;
  mean.n_neurons = count(last.neurons);
  mean.source = last.spikes;
  mean.destination = new_buffer(SYNFIRE_DTYPE_F32, scores);
  add("mean rates", {}, false,
      [mean](synfire_graph graph) { check(synfire_graph_record_reduce(graph, &mean), "synfire_graph_record_reduce"); });
  if (!training_) return;
  synfire_loss_desc loss = SYNFIRE_LOSS_DESC_INIT;
  loss.n_classes = count(last.neurons);
  loss.batch = count(shape_.batch);
  loss.source = mean.destination;
  loss.labels = new_buffer(SYNFIRE_DTYPE_U32, shape_.batch);
  std::vector<std::uint32_t> labels;
  for (const float number : random_numbers(shape_.batch, 0, static_cast<float>(last.neurons), seed_of_labels))
    labels.push_back(static_cast<std::uint32_t>(number));
  check(synfire_buffer_upload(loss.labels, 0, labels.data(), labels.size() * sizeof labels[0]),
        "synfire_buffer_upload");
  loss.loss = new_buffer(SYNFIRE_DTYPE_F32, 1);
  loss.gradient = new_buffer(SYNFIRE_DTYPE_F32, scores);
  add("loss", {}, false,
      [loss](synfire_graph graph) { check(synfire_graph_record_loss(graph, &loss), "synfire_graph_record_loss"); });
  auto spread = with_shape<synfire_reduce_backward_desc>(SYNFIRE_REDUCE_BACKWARD_DESC_INIT, shape_);
  spread.reduction = SYNFIRE_REDUCE_MEAN;
  spread.n_neurons = count(last.neurons);
  spread.grad_destination = loss.gradient;
  spread.grad_source = last.grad_spikes;
  add("mean rates, gradient", {}, true, [spread](synfire_graph graph) {
    check(synfire_graph_record_reduce_backward(graph, &spread), "synfire_graph_record_reduce_backward");
  });
}

void Network::add_backward(std::size_t index) {
  const Stage& stage = stages_[index];
  const std::string number = std::to_string(index + 1);
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  backward.grad_spike_seq = stage.grad_spikes;
  backward.grad_x_seq = stage.grad_x;
  add("layer " + number + ", gradient", {}, true,
      [layer = stage.layer.get(), backward, grad_tau = stage.grad_tau](synfire_graph graph) {
        const synfire_parameter_gradient tau = {"tau", grad_tau};
        synfire_backward_desc desc = backward;
        desc.parameter_gradients = grad_tau != nullptr ? &tau : nullptr;
        desc.n_parameter_gradients = grad_tau != nullptr ? 1 : 0;
        check(synfire_graph_record_backward(graph, layer, &desc), "synfire_graph_record_backward");
      });
  const auto add_product = [&](const std::string& name, const Product& product, synfire_buffer input,
                               synfire_buffer grad_input) {
    auto desc = with_shape<synfire_synapse_backward_desc>(SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT, shape_);
    desc.grad_output = stage.grad_x;
    desc.input = input;
    desc.grad_input = grad_input;
    add("synapse " + number + name, {product}, true, [synapse = stage.synapse.get(), desc](synfire_graph graph) {
      check(synfire_graph_record_synapse_backward(graph, synapse, &desc), "synfire_graph_record_synapse_backward");
    });
  };
  add_product(", weight gradient", {Product::Operands::weights, stage.neurons, stage.inputs, shape_.rows()},
              index == 0 ? input_ : stages_[index - 1].spikes, nullptr);
  if (index > 0)
    add_product(", input gradient", {Product::Operands::input, shape_.rows(), stage.inputs, stage.neurons}, nullptr,
                stages_[index - 1].grad_spikes);
}

void Network::add_optimizer() {
  synfire_optimizer_desc desc = SYNFIRE_OPTIMIZER_DESC_INIT;
  desc.kind = SYNFIRE_OPTIMIZER_KIND_ADAM;
  desc.learning_rate = 1e-6;  // the labels mean nothing; the rates of spikes stay as they are
  synfire_optimizer optimizer = nullptr;
  check(synfire_optimizer_create(machine_.context(), &desc, &optimizer), "synfire_optimizer_create");
  optimizer_.reset(optimizer);
  for (const Stage& stage : stages_) {
    check(synfire_optimizer_add_weights(optimizer, stage.synapse.get(), 1, 1), "synfire_optimizer_add_weights");
    check(synfire_optimizer_add_bias(optimizer, stage.synapse.get(), 1, 0), "synfire_optimizer_add_bias");
  }
  add("Adam", {}, true, [optimizer](synfire_graph graph) {
    const synfire_optimizer_step_desc step = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
    check(synfire_graph_record_optimizer_step(graph, optimizer, &step), "synfire_graph_record_optimizer_step");
  });
}

Owned<synfire_graph> Network::graph(const std::vector<const Operation*>& operations, std::uint64_t passes) const {
  Owned<synfire_graph> graph = make_graph(machine_);
  for (std::uint64_t pass = 0; pass < passes; ++pass)
    for (const Operation* const operation : operations) operation->record(graph.get());
  check(synfire_graph_instantiate(graph.get()), "synfire_graph_instantiate");
  return graph;
}

Owned<synfire_graph> Network::whole(std::uint64_t passes) const {
  std::vector<const Operation*> all;
  for (const Operation& operation : operations_) all.push_back(&operation);
  return graph(all, passes);
}

double Network::spike_rate() const {
  check(synfire_context_synchronize(machine_.context()), "synfire_context_synchronize");
  double spikes = 0, neurons = 0;
  for (const Stage& stage : stages_) {
    std::vector<std::uint32_t> bits(shape_.rows() * words(stage.neurons));
    check(synfire_buffer_download(stage.spikes, 0, bits.data(), bits.size() * sizeof bits[0]),
          "synfire_buffer_download");
    for (const std::uint32_t word : bits) spikes += std::popcount(word);
    neurons += static_cast<double>(shape_.rows() * stage.neurons);
  }
  return spikes / neurons;
}

double Network::multiply_adds() const {
  double sum = 0;
  for (const Operation& operation : operations_)
    for (const Product& product : operation.products) sum += product.multiply_adds();
  return sum;
}

}  // namespace synfire_bench

// chain.cpp - the layers of a chain and their connections.
//
// SPDX-License-Identifier: MIT
#include "chain.hpp"

#include "inputs.hpp"

namespace synfire_bench {

synfire_buffer Chain::new_buffer(const Machine& machine) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.n_elements = shape_.steps * shape_.neurons;
  synfire_buffer buffer = nullptr;
  check(synfire_buffer_create(machine.context(), &desc, &buffer), "synfire_buffer_create");
  buffers_.emplace_back(buffer);
  return buffer;
}

Chain::Chain(const Machine& machine, const ChainShape& shape) : shape_(shape) {
  const std::uint64_t elements = shape.steps * shape.neurons;
  machine.require_memory(static_cast<double>(elements) * sizeof(float) *
                         static_cast<double>((shape.layers + 1) * (shape.backward ? 2 : 1)));
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  desc.n_steps = static_cast<std::int64_t>(shape.steps);
  desc.n_neurons = static_cast<std::int64_t>(shape.neurons);
  synfire_buffer x = new_buffer(machine);
  fill_random(machine, x, dtypes[0], dtypes[0], elements, models[0].x_low, models[0].x_high, seed_of_x);
  for (std::uint64_t i = 0; i < shape.layers; ++i) {
    Layer& made = layers_.emplace_back();
    made.layer = make_layer(machine, desc);
    made.forward.tape = shape.backward ? SYNFIRE_TAPE_RECOMPUTE : SYNFIRE_TAPE_NONE;
    made.forward.x = x;
    made.forward.spikes = x = new_buffer(machine);
  }
  if (shape.backward) {
    synfire_buffer gradient = new_buffer(machine);
    fill_random(machine, gradient, dtypes[0], dtypes[0], elements, -1.0F, 1.0F, seed_of_grad_spike);
    for (std::size_t i = layers_.size(); i-- > 0;) {
      layers_[i].backward.grad_spike_seq = gradient;
      layers_[i].backward.grad_x_seq = gradient = new_buffer(machine);
    }
  }
  graph_ = make_graph(machine);
  synfire_graph const graph = graph_.get();
  for (const Layer& layer : layers_)
    check(synfire_graph_record_forward(graph, layer.layer.get(), &layer.forward), "synfire_graph_record_forward");
  for (std::size_t i = layers_.size(); shape.backward && i-- > 0;)
    check(synfire_graph_record_backward(graph, layers_[i].layer.get(), &layers_[i].backward),
          "synfire_graph_record_backward");
  check(synfire_graph_get_last_operation(graph, &last_operation_), "synfire_graph_get_last_operation");
  check(synfire_graph_instantiate(graph), "synfire_graph_instantiate");
}

void Chain::run_eagerly(synfire_stream stream) const {
  for (const Layer& layer : layers_)
    check(synfire_layer_forward(layer.layer.get(), &layer.forward, stream), "synfire_layer_forward");
  for (std::size_t i = layers_.size(); shape_.backward && i-- > 0;)
    check(synfire_layer_backward(layers_[i].layer.get(), &layers_[i].backward, stream), "synfire_layer_backward");
}

}  // namespace synfire_bench

/* One training step of a network in one graph, with every operation of learning: a batch drawn and gathered on the
 * device, rates as spikes, dropout, a synapse of its own and one of a layer, a readout, both losses, all gradients and
 * a step of an optimiser. For C and C++. The file that includes it must first define require(status, what), which ends
 * the program if a call failed. */
#ifndef SYNFIRE_TESTS_LEARNING_GRAPH_H
#define SYNFIRE_TESTS_LEARNING_GRAPH_H

#include <synfire/synfire.h>

#include <stddef.h>
#include <string.h>

enum { most_learning_buffers = 32 };

/* Rows of the data set, steps, rows of a batch, inputs, neurons, classes. Batches are not all full. */
struct learning_sizes {
  int64_t rows, steps, batch, inputs, neurons, classes;
};

struct learning {
  synfire_graph graph;
  synfire_synapse first, second;
  synfire_layer hidden, readout;
  synfire_optimizer optimizer;
  synfire_buffer images, labels;  /* of the data set; images are pinned */
  synfire_buffer loss, n_correct; /* pinned */
  synfire_buffer buffers[most_learning_buffers];
  int n_buffers;
  int32_t dropout, loss_operation, rate_loss, step; /* operations */
};

static inline struct learning empty_learning(void) {
  struct learning l;
  memset(&l, 0, sizeof l);
  return l;
}

static inline synfire_buffer learning_buffer(struct learning *l, synfire_context context, int32_t memory, int32_t dtype,
                                             int64_t n) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire_buffer buffer = NULL;
  desc.memory = memory;
  desc.dtype = dtype;
  desc.n_elements = (uint64_t)n;
  require(synfire_buffer_create(context, &desc, &buffer), "buffer");
  l->buffers[l->n_buffers++] = buffer;
  return buffer;
}

static inline int32_t learning_operation(synfire_graph graph) {
  int32_t operation = -1;
  require(synfire_graph_get_last_operation(graph, &operation), "operation");
  return operation;
}

static inline synfire_synapse learning_synapse(synfire_context context, int64_t inputs, int64_t outputs) {
  synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
  synfire_synapse synapse = NULL;
  desc.n_inputs = inputs;
  desc.n_outputs = outputs;
  desc.bias = 1;
  desc.gain = 3;
  desc.seed = (uint64_t)(inputs + outputs);
  require(synfire_synapse_create(context, &desc, &synapse), "synapse");
  return synapse;
}

static inline synfire_layer learning_layer(synfire_context context, int32_t model, const struct learning_sizes *sizes,
                                           int64_t neurons) {
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  synfire_layer layer = NULL;
  desc.model = model;
  desc.n_steps = sizes->steps;
  desc.batch = sizes->batch;
  desc.n_neurons = neurons;
  require(synfire_layer_create(context, &desc, &layer), "layer");
  return layer;
}

static inline struct learning make_learning(synfire_context context, struct learning_sizes sizes, uint32_t n_slots) {
  const int32_t device = SYNFIRE_MEMORY_DEVICE, pinned = SYNFIRE_MEMORY_PINNED, f32 = SYNFIRE_DTYPE_F32,
                u32 = SYNFIRE_DTYPE_U32, bits = SYNFIRE_DTYPE_BITS;
  struct learning l = empty_learning();
  const int64_t rows = sizes.steps * sizes.batch, input_words = (sizes.inputs + 31) / 32,
                words = (sizes.neurons + 31) / 32;
  const synfire_buffer indices = learning_buffer(&l, context, device, u32, sizes.batch),
                       n_active = learning_buffer(&l, context, device, u32, 1),
                       labels = learning_buffer(&l, context, device, u32, sizes.batch),
                       rates = learning_buffer(&l, context, device, f32, sizes.batch * sizes.inputs),
                       input = learning_buffer(&l, context, device, bits, rows * input_words),
                       mask = learning_buffer(&l, context, device, bits, sizes.batch * input_words),
                       scale = learning_buffer(&l, context, device, f32, 1),
                       x = learning_buffer(&l, context, device, f32, rows * sizes.neurons),
                       spikes = learning_buffer(&l, context, device, bits, rows * words),
                       v_seq = learning_buffer(&l, context, device, f32, rows * sizes.classes),
                       mean = learning_buffer(&l, context, device, f32, sizes.batch * sizes.classes),
                       grad_mean = learning_buffer(&l, context, device, f32, sizes.batch * sizes.classes),
                       grad_v_seq = learning_buffer(&l, context, device, f32, rows * sizes.classes),
                       grad_spikes = learning_buffer(&l, context, device, f32, rows * sizes.neurons),
                       grad_x = learning_buffer(&l, context, device, f32, rows * sizes.neurons),
                       grad_input = learning_buffer(&l, context, device, f32, rows * sizes.inputs),
                       grad_tau = learning_buffer(&l, context, device, f32, 1);
  synfire_shuffle_desc shuffle = SYNFIRE_SHUFFLE_DESC_INIT;
  synfire_gather_rows_desc gather = SYNFIRE_GATHER_ROWS_DESC_INIT;
  synfire_encode_bernoulli_desc encode = SYNFIRE_ENCODE_BERNOULLI_DESC_INIT;
  synfire_dropout_desc dropout = SYNFIRE_DROPOUT_DESC_INIT;
  synfire_synapse_forward_desc product = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
  synfire_synapse_backward_desc product_back = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  synfire_reduce_desc reduce = SYNFIRE_REDUCE_DESC_INIT;
  synfire_reduce_backward_desc spread = SYNFIRE_REDUCE_BACKWARD_DESC_INIT;
  synfire_loss_desc loss = SYNFIRE_LOSS_DESC_INIT;
  synfire_rate_loss_desc rate_loss = SYNFIRE_RATE_LOSS_DESC_INIT;
  synfire_optimizer_desc od = SYNFIRE_OPTIMIZER_DESC_INIT;
  const synfire_optimizer_step_desc step = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  synfire_graph_desc gd = SYNFIRE_GRAPH_DESC_INIT;
  synfire_parameter_gradient gradient;
  synfire_graph graph = NULL;

  l.images = learning_buffer(&l, context, pinned, f32, sizes.rows * sizes.inputs);
  l.loss = learning_buffer(&l, context, pinned, f32, 1);
  l.n_correct = learning_buffer(&l, context, pinned, u32, 1);
  require(synfire_buffer_fill(l.images, 0.5), "fill");
  l.labels = learning_buffer(&l, context, device, u32, sizes.rows);
  require(synfire_buffer_fill(l.labels, 1), "fill");
  l.first = learning_synapse(context, sizes.inputs, sizes.neurons);
  l.second = learning_synapse(context, sizes.neurons, sizes.classes);
  l.hidden = learning_layer(context, SYNFIRE_MODEL_LIF, &sizes, sizes.neurons);
  l.readout = learning_layer(context, SYNFIRE_MODEL_LI, &sizes, sizes.classes);
  od.kind = SYNFIRE_OPTIMIZER_KIND_ADAM;
  od.clip_norm = 1;
  require(synfire_optimizer_create(context, &od, &l.optimizer), "optimizer");
  require(synfire_optimizer_add_weights(l.optimizer, l.first, 1, 1), "weights");
  require(synfire_optimizer_add_bias(l.optimizer, l.first, 1, 0), "bias");
  require(synfire_optimizer_add_weights(l.optimizer, l.second, 1, 1), "weights");
  require(synfire_optimizer_add_bias(l.optimizer, l.second, 1, 0), "bias");
  require(synfire_optimizer_add_parameter(l.optimizer, l.hidden, "tau", grad_tau, 0.1, 0, 1.5, 10), "tau");

  gd.n_slots = n_slots;
  require(synfire_graph_create(context, &gd, &graph), "graph");
  l.graph = graph;
  shuffle.n_rows = sizes.rows;
  shuffle.batch = sizes.batch;
  shuffle.indices = indices;
  shuffle.n_active = n_active;
  require(synfire_graph_record_shuffle(graph, &shuffle), "shuffle");
  gather.n_rows = sizes.rows;
  gather.batch = sizes.batch;
  gather.indices = indices;
  gather.n_active = n_active;
  gather.n_elements = 1;
  gather.source = l.labels;
  gather.destination = labels;
  require(synfire_graph_record_gather_rows(graph, &gather), "gather");
  gather.n_elements = sizes.inputs;
  gather.source = l.images;
  gather.destination = rates;
  require(synfire_graph_record_gather_rows(graph, &gather), "gather");
  encode.n_steps = sizes.steps;
  encode.n_neurons = sizes.inputs;
  encode.batch = sizes.batch;
  encode.rates = rates;
  encode.spikes = input;
  require(synfire_graph_record_encode_bernoulli(graph, &encode), "encode");
  dropout.n_neurons = sizes.inputs;
  dropout.batch = sizes.batch;
  dropout.probability = 0.25;
  dropout.mask = mask;
  dropout.scale = scale;
  require(synfire_graph_record_dropout(graph, &dropout), "dropout");
  l.dropout = learning_operation(graph);

  product.n_steps = sizes.steps;
  product.batch = sizes.batch;
  product.input = input;
  product.output = x;
  product.n_active = n_active;
  product.input_mask = mask;
  product.input_scale = scale;
  require(synfire_graph_record_synapse_forward(graph, l.first, &product), "synapse forward");
  forward.x = x;
  forward.spikes = spikes;
  require(synfire_graph_record_forward(graph, l.hidden, &forward), "forward");
  forward.x = forward.spikes = NULL;
  forward.synapse = l.second;
  forward.synapse_input = spikes;
  forward.n_active = n_active;
  forward.v_seq = v_seq;
  require(synfire_graph_record_forward(graph, l.readout, &forward), "forward with a synapse");

  reduce.reduction = SYNFIRE_REDUCE_MEAN;
  reduce.n_steps = sizes.steps;
  reduce.n_neurons = sizes.classes;
  reduce.batch = sizes.batch;
  reduce.source = v_seq;
  reduce.destination = mean;
  reduce.n_active = n_active;
  require(synfire_graph_record_reduce(graph, &reduce), "reduce");
  loss.n_classes = sizes.classes;
  loss.batch = sizes.batch;
  loss.source = mean;
  loss.labels = labels;
  loss.n_active = n_active;
  loss.loss = l.loss;
  loss.n_correct = l.n_correct;
  loss.gradient = grad_mean;
  require(synfire_graph_record_loss(graph, &loss), "loss");
  l.loss_operation = learning_operation(graph);
  spread.reduction = SYNFIRE_REDUCE_MEAN;
  spread.n_steps = sizes.steps;
  spread.n_neurons = sizes.classes;
  spread.batch = sizes.batch;
  spread.grad_destination = grad_mean;
  spread.grad_source = grad_v_seq;
  spread.n_active = n_active;
  require(synfire_graph_record_reduce_backward(graph, &spread), "reduce backward");

  backward.grad_v_seq = grad_v_seq;
  backward.grad_synapse_input = grad_spikes;
  require(synfire_graph_record_backward(graph, l.readout, &backward), "backward with a synapse");
  rate_loss.n_steps = sizes.steps;
  rate_loss.n_neurons = sizes.neurons;
  rate_loss.batch = sizes.batch;
  rate_loss.target = 0.1;
  rate_loss.strength = 0.01;
  rate_loss.spikes = spikes;
  rate_loss.n_active = n_active;
  rate_loss.grad_spike_seq = grad_spikes;
  rate_loss.accumulate = 1;
  require(synfire_graph_record_rate_loss(graph, &rate_loss), "rate loss");
  l.rate_loss = learning_operation(graph);
  gradient.name = "tau";
  gradient.gradient = grad_tau;
  backward.grad_v_seq = backward.grad_synapse_input = NULL;
  backward.grad_spike_seq = grad_spikes;
  backward.grad_x_seq = grad_x;
  backward.parameter_gradients = &gradient;
  backward.n_parameter_gradients = 1;
  require(synfire_graph_record_backward(graph, l.hidden, &backward), "backward");
  product_back.n_steps = sizes.steps;
  product_back.batch = sizes.batch;
  product_back.grad_output = grad_x;
  product_back.input = input;
  product_back.grad_input = grad_input;
  product_back.n_active = n_active;
  product_back.input_mask = mask;
  product_back.input_scale = scale;
  require(synfire_graph_record_synapse_backward(graph, l.first, &product_back), "synapse backward");
  require(synfire_graph_record_optimizer_step(graph, l.optimizer, &step), "optimizer step");
  l.step = learning_operation(graph);
  require(synfire_graph_instantiate(graph), "instantiate");
  return l;
}

static inline void destroy_learning(struct learning *l) {
  synfire_graph_destroy(l->graph);
  synfire_optimizer_destroy(l->optimizer);
  synfire_layer_destroy(l->hidden);
  synfire_layer_destroy(l->readout);
  synfire_synapse_destroy(l->first);
  synfire_synapse_destroy(l->second);
  while (l->n_buffers > 0) synfire_buffer_destroy(l->buffers[--l->n_buffers]);
}

/* Everything between two replays that is documented not to allocate. */
static inline void change_learning(const struct learning *l, int i) {
  void *data = NULL;
  uint64_t bytes = 0;
  require(synfire_graph_set_value(l->graph, l->step, "learning_rate", 1e-3 / (1 + i)), "set_value");
  require(synfire_graph_set_value(l->graph, l->dropout, "probability", i % 2 == 0 ? 0.25 : 0), "set_value");
  require(synfire_graph_set_value(l->graph, l->loss_operation, "label_smoothing", i % 2 == 0 ? 0.1 : 0), "set_value");
  require(synfire_graph_set_value(l->graph, l->rate_loss, "strength", 0.01 * (i % 3)), "set_value");
  require(synfire_graph_set_enabled(l->graph, l->step, i % 4 != 0), "set_enabled");
  require(synfire_graph_set_enabled(l->graph, l->rate_loss, i % 3 != 0), "set_enabled");
  require(synfire_layer_set_n_active(l->hidden, 1 + i % 2), "set_n_active");
  require(synfire_graph_get_slot(l->graph, 0, l->loss, &data, &bytes), "get_slot");
}

#endif

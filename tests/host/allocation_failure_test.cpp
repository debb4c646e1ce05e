// Calls without enough memory: each kind of call is repeated with the first, the second, the third ... allocation
// failing, until it succeeds. A failed call returns an error and has changed nothing.
#include <synfire/synfire.h>

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "../capi/call_watch.hpp"
#include "../capi/operation_samples.hpp"
#include "operation_calls.hpp"

// ---- An allocator that can run dry ----------------------------------------------------------------------------------

namespace {

thread_local long allocations_left = -1;  // on this thread until one fails; negative: unlimited
thread_local bool only_one_fails = false;
thread_local bool counts = false;
thread_local long n_counted = 0;  // on this thread, while it counts

bool is_refused() {
  if (counts) ++n_counted;
  if (allocations_left < 0) return false;
  if (allocations_left > 0) {
    --allocations_left;
    return false;
  }
  if (only_one_fails) allocations_left = -1;
  errno = ENOMEM;
  return true;
}

}  // namespace

// Exported, so that the library's calls reach it.
#pragma GCC visibility push(default)
extern "C" {

// The C library's own allocator by its private names. NOLINTBEGIN(clang-diagnostic-reserved-identifier)
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
// NOLINTEND(clang-diagnostic-reserved-identifier)

void* malloc(size_t size) {
  return is_refused() ? nullptr : __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  return is_refused() ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  return is_refused() ? nullptr : __libc_realloc(memory, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  return is_refused() ? nullptr : __libc_memalign(alignment, size);
}
void* memalign(size_t alignment, size_t size) {
  return is_refused() ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) {
  if (is_refused()) return ENOMEM;
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}

}  // extern "C"
#pragma GCC visibility pop

namespace {

int n_failures = 0;

// Listens while memory is short.
synfire_test::CallWatch watch;

void complain(const char* call, long n, const char* what) {
  char text[512];
  synfire_last_error(text, sizeof text, nullptr);
  std::fprintf(stderr, "%s, allocation %ld failing: %s (%s)\n", call, n, what, text);
  ++n_failures;
}

void require(synfire_status status, const char* what) {
  if (status >= 0) return;
  char text[512];
  synfire_last_error(text, sizeof text, nullptr);
  std::fprintf(stderr, "%s: %s\n", what, text);
  std::exit(2);
}

constexpr int64_t n_steps = 40, batch = 2, n_neurons = 37;  // two words a row, two chunks of the tape
constexpr uint64_t n_row = batch * n_neurons, n_sequence = n_steps * n_row;

// ---- A graph, and everything that can be recorded into it -----------------------------------------------------------

struct World {
  synfire_context context = nullptr;
  synfire_layer layer = nullptr, second = nullptr, third = nullptr;  // the third runs after the synapse
  synfire_synapse synapse = nullptr;
  synfire_graph graph = nullptr;
  synfire_synapse learned = nullptr, one_to_one = nullptr, population = nullptr, conv2d = nullptr, delayed = nullptr;
  synfire_optimizer optimizer = nullptr;
  std::vector<synfire_buffer> buffers;
  synfire_buffer x, spikes, packed, v_seq, grad_spike, grad_x, grad_tau, count, row, snapshot, marker, spare, indices;

  synfire_buffer make(int32_t dtype, uint64_t n, int32_t memory = SYNFIRE_MEMORY_DEVICE) {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.dtype = dtype;
    desc.n_elements = n;
    desc.memory = memory;
    synfire_buffer buffer = nullptr;
    require(synfire_buffer_create(context, &desc, &buffer), "buffer");
    buffers.push_back(buffer);
    return buffer;
  }

  World() {
    synfire_context_desc cd = SYNFIRE_CONTEXT_DESC_INIT;
    cd.backend = SYNFIRE_BACKEND_HOST;
    cd.n_threads = 1;
    require(synfire_context_create(&cd, &context), "context");
    synfire_layer_desc ld = SYNFIRE_LAYER_DESC_INIT;
    ld.n_steps = n_steps;
    ld.batch = batch;
    ld.n_neurons = n_neurons;
    require(synfire_layer_create(context, &ld, &layer), "layer");
    require(synfire_layer_create(context, &ld, &second), "layer");
    require(synfire_layer_create(context, &ld, &third), "layer");
    synfire_synapse_desc sd = SYNFIRE_SYNAPSE_DESC_INIT;
    sd.n_inputs = sd.n_outputs = n_neurons;
    require(synfire_synapse_create(context, &sd, &synapse), "synapse");
    const synfire_one_to_one_desc od = neurons_apart();
    require(synfire_synapse_create_one_to_one(context, &od, &one_to_one), "one to one");
    const synfire_population_desc pd = cells();
    require(synfire_synapse_create_population(context, &pd, &population), "population");
    const synfire_conv2d_desc of_conv2d = sequence_kernel();
    require(synfire_synapse_create_conv2d(context, &of_conv2d, &conv2d), "convolution");
    const synfire_delayed_desc of_delays = delays();
    require(synfire_synapse_create_delayed(context, &of_delays, &delayed), "delays");
    x = make(SYNFIRE_DTYPE_F32, n_sequence);
    spikes = make(SYNFIRE_DTYPE_F32, n_sequence);
    packed = make(SYNFIRE_DTYPE_BITS, n_steps * batch * 2);
    v_seq = make(SYNFIRE_DTYPE_F32, n_sequence);
    grad_spike = make(SYNFIRE_DTYPE_F32, n_sequence);
    grad_x = make(SYNFIRE_DTYPE_F32, n_sequence);
    grad_tau = make(SYNFIRE_DTYPE_F32, 1);
    count = make(SYNFIRE_DTYPE_U64, n_steps);
    row = make(SYNFIRE_DTYPE_F32, n_row);
    snapshot = make(SYNFIRE_DTYPE_U8, 96 + n_row * 4);
    marker = make(SYNFIRE_DTYPE_F32, 4);
    indices = make(SYNFIRE_DTYPE_U32, 2);
    spare = make(SYNFIRE_DTYPE_F32, n_sequence, SYNFIRE_MEMORY_PINNED);
    std::vector<float> input(n_sequence);
    for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i * 2654435761u % 1000) / 500;
    for (synfire_buffer buffer : {x, grad_spike, spare})
      require(synfire_buffer_upload(buffer, 0, input.data(), input.size() * sizeof(float)), "upload");
    synfire_forward_desc fd = forward();
    require(synfire_layer_forward(layer, &fd, nullptr), "forward");  // a tape for backwards
    fd = behind_synapse();
    require(synfire_layer_forward(third, &fd, nullptr), "forward");
    make_optimizer();
    synfire_state_desc rows = SYNFIRE_STATE_DESC_INIT;
    rows.buffer = snapshot;
    new_graph();
    require(synfire_graph_record_snapshot(graph, layer, &rows), "snapshot");  // a snapshot to restore
    require(synfire_graph_instantiate(graph), "instantiate");
    require(synfire_graph_launch(graph, nullptr, nullptr), "launch");
  }
  ~World() {
    synfire_graph_destroy(graph);
    for (synfire_buffer buffer : buffers) synfire_buffer_destroy(buffer);
    synfire_optimizer_destroy(optimizer);
    synfire_synapse_destroy(learned);
    synfire_synapse_destroy(one_to_one);
    synfire_synapse_destroy(population);
    synfire_synapse_destroy(conv2d);
    synfire_synapse_destroy(delayed);
    synfire_layer_destroy(layer);
    synfire_layer_destroy(second);
    synfire_layer_destroy(third);
    synfire_synapse_destroy(synapse);
    synfire_context_destroy(context);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  static synfire_one_to_one_desc neurons_apart() {
    synfire_one_to_one_desc desc = SYNFIRE_ONE_TO_ONE_DESC_INIT;
    desc.channels = n_neurons;
    desc.bias = 1;
    return desc;
  }
  static synfire_population_desc cells() {
    synfire_population_desc desc = SYNFIRE_POPULATION_DESC_INIT;
    desc.channels = n_neurons;
    desc.n_cells = 1;
    return desc;
  }
  static synfire_delayed_desc delays() {
    synfire_delayed_desc desc = SYNFIRE_DELAYED_DESC_INIT;
    desc.n_inputs = desc.n_outputs = n_neurons;
    desc.max_delay = 3;
    desc.learn_delays = desc.bias = 1;
    return desc;
  }
  static synfire_conv2d_desc sequence_kernel() {
    synfire_conv2d_desc desc = SYNFIRE_CONV2D_DESC_INIT;
    desc.width = n_neurons;
    desc.channels = desc.output_channels = 1;
    desc.kernel_width = 3;
    desc.padding_x = 1;
    return desc;
  }
  synfire_forward_desc behind_synapse() const {
    synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
    desc.synapse = synapse;
    desc.synapse_input = x;
    desc.spikes = spikes;
    return desc;
  }

  // Over the weights of a synapse and two parameters of a layer.
  void make_optimizer() {
    synfire_synapse_desc sd = SYNFIRE_SYNAPSE_DESC_INIT;
    sd.n_inputs = 5;
    sd.n_outputs = 3;
    require(synfire_synapse_create(context, &sd, &learned), "synapse");
    synfire_optimizer_desc od = SYNFIRE_OPTIMIZER_DESC_INIT;
    od.kind = SYNFIRE_OPTIMIZER_KIND_ADAM;
    require(synfire_optimizer_create(context, &od, &optimizer), "optimizer");
    require(synfire_optimizer_add_weights(optimizer, learned, 1, 1), "weights");
    for (const char* name : {"tau", "v_threshold"})
      require(synfire_optimizer_add_parameter(optimizer, second, name, grad_tau, 1, 0, -HUGE_VAL, HUGE_VAL), name);
  }

  // With two slots, and a fill that shows whether it ran.
  void new_graph() {
    synfire_graph_destroy(graph);
    synfire_graph_desc gd = SYNFIRE_GRAPH_DESC_INIT;
    gd.n_slots = 2;
    require(synfire_graph_create(context, &gd, &graph), "graph");
    synfire_fill_desc fill = SYNFIRE_FILL_DESC_INIT;
    fill.buffer = marker;
    fill.value = 7;
    require(synfire_graph_record_fill(graph, &fill), "fill");
  }

  synfire_forward_desc forward() const {
    synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
    desc.x = x;
    desc.spikes = spikes;
    desc.v_seq = v_seq;
    desc.v_final = row;
    return desc;
  }

  std::string dot() const {
    uint64_t bytes = 0;
    require(synfire_graph_write_dot(graph, nullptr, &bytes), "dot");
    std::string text(bytes, ' ');
    require(synfire_graph_write_dot(graph, text.data(), &bytes), "dot");
    return text;
  }

  // The bytes of everything that a replay can change.
  std::vector<unsigned char> memory() const {
    std::vector<unsigned char> all;
    for (synfire_buffer buffer : buffers) {
      if (buffer == marker) continue;
      uint64_t bytes = 0;
      require(synfire_buffer_get_data(buffer, nullptr, &bytes), "size");
      all.resize(all.size() + bytes);
      require(synfire_buffer_download(buffer, 0, all.data() + all.size() - bytes, bytes), "download");
    }
    for (synfire_layer of : {layer, second}) {
      all.resize(all.size() + n_row * 4);
      require(synfire_layer_read_state(of, "v", all.data() + all.size() - n_row * 4, n_row * 4), "state");
      double tau = 0;
      require(synfire_layer_get_parameter(of, "tau", &tau, 1), "tau");
      all.resize(all.size() + sizeof tau);
      std::memcpy(all.data() + all.size() - sizeof tau, &tau, sizeof tau);
    }
    return all;
  }
};

synfire_status SYNFIRE_CALL native(void*, const synfire_native_call* call) {
  std::memset(call->writes[0].data, 1, call->writes[0].bytes);
  return SYNFIRE_OK;
}

struct Kind {
  const char* name;
  std::function<synfire_status(World&)> record;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> list = {
      {"record_forward",
       [](World& w) {
         const synfire_forward_desc desc = w.forward();
         return synfire_graph_record_forward(w.graph, w.layer, &desc);
       }},
      {"record_forward that stores H",
       [](World& w) {
         synfire_forward_desc desc = w.forward();
         desc.tape = SYNFIRE_TAPE_STORE;
         return synfire_graph_record_forward(w.graph, w.second, &desc);
       }},
      {"record_synapse_forward",
       [](World& w) {
         synfire_synapse_forward_desc desc = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
         desc.n_steps = n_steps;
         desc.batch = batch;
         desc.input = w.x;
         desc.output = w.v_seq;
         return synfire_graph_record_synapse_forward(w.graph, w.one_to_one, &desc);
       }},
      {"record_synapse_backward",
       [](World& w) {
         synfire_synapse_backward_desc desc = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
         desc.n_steps = n_steps;
         desc.batch = batch;
         desc.input = w.x;
         desc.grad_output = w.grad_spike;
         desc.grad_input = w.grad_x;
         return synfire_graph_record_synapse_backward(w.graph, w.one_to_one, &desc);
       }},
      {"record_synapse_forward of a population code",
       [](World& w) {
         synfire_synapse_forward_desc desc = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
         desc.n_steps = n_steps;
         desc.batch = batch;
         desc.input = w.x;
         desc.output = w.v_seq;
         return synfire_graph_record_synapse_forward(w.graph, w.population, &desc);
       }},
      {"record_synapse_backward of a population code",
       [](World& w) {
         synfire_synapse_backward_desc desc = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
         desc.n_steps = n_steps;
         desc.batch = batch;
         desc.input = w.x;
         desc.grad_output = w.grad_spike;
         desc.grad_input = w.grad_x;
         return synfire_graph_record_synapse_backward(w.graph, w.population, &desc);
       }},
      {"record_synapse_forward of delays",
       [](World& w) {
         synfire_synapse_forward_desc desc = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
         desc.n_steps = n_steps;
         desc.batch = batch;
         desc.input = w.x;
         desc.output = w.v_seq;
         return synfire_graph_record_synapse_forward(w.graph, w.delayed, &desc);
       }},
      {"record_synapse_backward of delays",
       [](World& w) {
         synfire_synapse_backward_desc desc = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
         desc.n_steps = n_steps;
         desc.batch = batch;
         desc.input = w.x;
         desc.grad_output = w.grad_spike;
         desc.grad_input = w.grad_x;
         return synfire_graph_record_synapse_backward(w.graph, w.delayed, &desc);
       }},
      {"record_synapse_forward of a convolution",
       [](World& w) {
         synfire_synapse_forward_desc desc = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
         desc.n_steps = n_steps;
         desc.batch = batch;
         desc.input = w.x;
         desc.output = w.v_seq;
         return synfire_graph_record_synapse_forward(w.graph, w.conv2d, &desc);
       }},
      {"record_synapse_backward of a convolution",
       [](World& w) {
         synfire_synapse_backward_desc desc = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
         desc.n_steps = n_steps;
         desc.batch = batch;
         desc.input = w.x;
         desc.grad_output = w.grad_spike;
         desc.grad_input = w.grad_x;
         return synfire_graph_record_synapse_backward(w.graph, w.conv2d, &desc);
       }},
      {"record_forward after a synapse",
       [](World& w) {
         const synfire_forward_desc desc = w.behind_synapse();
         return synfire_graph_record_forward(w.graph, w.second, &desc);
       }},
      {"record_backward after a synapse",
       [](World& w) {
         synfire_backward_desc desc = SYNFIRE_BACKWARD_DESC_INIT;
         desc.grad_spike_seq = w.grad_spike;
         desc.grad_synapse_input = w.grad_x;
         return synfire_graph_record_backward(w.graph, w.third, &desc);
       }},
      {"record_backward with gradients of parameters",
       [](World& w) {
         synfire_backward_desc desc = SYNFIRE_BACKWARD_DESC_INIT;
         const synfire_parameter_gradient gradient = {"tau", w.grad_tau};
         desc.grad_spike_seq = w.grad_spike;
         desc.grad_x_seq = w.grad_x;
         desc.n_parameter_gradients = 1;
         desc.parameter_gradients = &gradient;
         return synfire_graph_record_backward(w.graph, w.layer, &desc);
       }},
      {"record_copy",
       [](World& w) {
         synfire_copy_desc desc = SYNFIRE_COPY_DESC_INIT;
         desc.source = w.grad_spike;
         desc.destination = w.grad_x;
         return synfire_graph_record_copy(w.graph, &desc);
       }},
      {"record_convert_spikes",
       [](World& w) {
         synfire_convert_spikes_desc desc = SYNFIRE_CONVERT_SPIKES_DESC_INIT;
         desc.n_steps = n_steps;
         desc.batch = batch;
         desc.n_neurons = n_neurons;
         desc.source = w.grad_spike;
         desc.destination = w.packed;
         return synfire_graph_record_convert_spikes(w.graph, &desc);
       }},
      {"record_count_spikes",
       [](World& w) {
         synfire_count_spikes_desc desc = SYNFIRE_COUNT_SPIKES_DESC_INIT;
         desc.kind = SYNFIRE_COUNT_PER_STEP;
         desc.n_steps = n_steps;
         desc.batch = batch;
         desc.n_neurons = n_neurons;
         desc.spikes = w.grad_spike;
         desc.counts = w.count;
         return synfire_graph_record_count_spikes(w.graph, &desc);
       }},
      {"record_encode_bernoulli",
       [](World& w) {
         synfire_encode_bernoulli_desc desc = SYNFIRE_ENCODE_BERNOULLI_DESC_INIT;
         desc.n_steps = n_steps;
         desc.batch = batch;
         desc.n_neurons = n_neurons;
         desc.rates = w.row;
         desc.spikes = w.packed;
         return synfire_graph_record_encode_bernoulli(w.graph, &desc);
       }},
      {"record_dropout",
       [](World& w) {
         synfire_dropout_desc desc = SYNFIRE_DROPOUT_DESC_INIT;
         desc.n_neurons = 32;
         desc.mask = w.packed;
         desc.scale = w.row;
         return synfire_graph_record_dropout(w.graph, &desc);
       }},
      {"record_gather_rows",
       [](World& w) {
         synfire_gather_rows_desc desc = SYNFIRE_GATHER_ROWS_DESC_INIT;
         desc.n_rows = n_steps;
         desc.n_elements = static_cast<int64_t>(n_row);
         desc.source = w.x;
         desc.indices = w.indices;
         desc.destination = w.row;
         return synfire_graph_record_gather_rows(w.graph, &desc);
       }},
      {"record_replace_nonfinite",
       [](World& w) {
         synfire_replace_nonfinite_desc desc = SYNFIRE_REPLACE_NONFINITE_DESC_INIT;
         desc.n_elements = static_cast<int64_t>(n_row);
         desc.source = w.row;
         desc.count = w.count;
         desc.destination = w.row;
         return synfire_graph_record_replace_nonfinite(w.graph, &desc);
       }},
      {"record_shuffle",
       [](World& w) {
         synfire_shuffle_desc desc = SYNFIRE_SHUFFLE_DESC_INIT;
         desc.n_rows = 100;
         desc.batch = 2;
         desc.indices = w.indices;
         return synfire_graph_record_shuffle(w.graph, &desc);
       }},
      {"record_reduce",
       [](World& w) {
         synfire_reduce_desc desc = SYNFIRE_REDUCE_DESC_INIT;
         desc.n_steps = n_steps;
         desc.batch = batch;
         desc.n_neurons = n_neurons;
         desc.source = w.grad_spike;
         desc.destination = w.row;
         return synfire_graph_record_reduce(w.graph, &desc);
       }},
      {"record_reduce_backward",
       [](World& w) {
         synfire_reduce_backward_desc desc = SYNFIRE_REDUCE_BACKWARD_DESC_INIT;
         desc.reduction = SYNFIRE_REDUCE_MAX;
         desc.n_steps = n_steps;
         desc.batch = batch;
         desc.n_neurons = n_neurons;
         desc.grad_destination = w.row;
         desc.source = w.grad_spike;
         desc.grad_source = w.grad_x;
         return synfire_graph_record_reduce_backward(w.graph, &desc);
       }},
      {"record_pool_backward",
       [](World& w) {
         synfire_pool_backward_desc desc = SYNFIRE_POOL_BACKWARD_DESC_INIT;
         desc.n_steps = n_steps;
         desc.batch = batch;
         desc.channels = n_neurons;
         desc.grad_destination = w.grad_spike;
         desc.source = w.x;
         desc.grad_source = w.grad_x;
         desc.accumulate = 1;
         return synfire_graph_record_pool_backward(w.graph, &desc);
       }},
      {"record_normalize_backward",
       [](World& w) {
         synfire_normalize_backward_desc desc = SYNFIRE_NORMALIZE_BACKWARD_DESC_INIT;
         desc.n_steps = n_steps;
         desc.batch = batch;
         desc.width = n_neurons;
         desc.channels = 1;
         desc.grad_destination = w.grad_spike;
         desc.source = w.x;
         desc.saved = w.count;
         desc.grad_source = w.grad_x;
         desc.grad_gamma = w.grad_tau;
         return synfire_graph_record_normalize_backward(w.graph, &desc);
       }},
      {"record_rate_loss",
       [](World& w) {
         synfire_rate_loss_desc desc = SYNFIRE_RATE_LOSS_DESC_INIT;
         desc.n_steps = n_steps;
         desc.batch = batch;
         desc.n_neurons = n_neurons;
         desc.spikes = w.grad_spike;
         desc.grad_spike_seq = w.grad_x;
         return synfire_graph_record_rate_loss(w.graph, &desc);
       }},
      {"record_loss",
       [](World& w) {
         synfire_loss_desc desc = SYNFIRE_LOSS_DESC_INIT;
         desc.n_steps = n_steps;
         desc.batch = batch;
         desc.n_classes = n_neurons;
         desc.source = w.grad_spike;
         desc.targets = w.row;
         desc.gradient = w.grad_x;
         return synfire_graph_record_loss(w.graph, &desc);
       }},
      {"record_combine",
       [](World& w) {
         const synfire_buffer sources[] = {w.x, w.grad_spike};
         synfire_combine_desc desc = SYNFIRE_COMBINE_DESC_INIT;
         desc.n_steps = n_steps;
         desc.batch = batch;
         desc.n_neurons = n_neurons;
         desc.sources = sources;
         desc.n_sources = 2;
         desc.destination = w.grad_x;
         return synfire_graph_record_combine(w.graph, &desc);
       }},
      {"record_native",
       [](World& w) {
         synfire_native_desc desc = SYNFIRE_NATIVE_DESC_INIT;
         desc.callback = native;
         desc.name = "a name that is too long to be kept without memory of its own";
         desc.reads = &w.x;
         desc.n_reads = 1;
         desc.writes = &w.spare;
         desc.n_writes = 1;
         return synfire_graph_record_native(w.graph, &desc);
       }},
      {"record_fill",
       [](World& w) {
         synfire_fill_desc desc = SYNFIRE_FILL_DESC_INIT;
         desc.buffer = w.row;
         desc.value = 3;
         return synfire_graph_record_fill(w.graph, &desc);
       }},
      {"record_scale_add",
       [](World& w) {
         synfire_scale_add_desc desc = SYNFIRE_SCALE_ADD_DESC_INIT;
         desc.source = w.grad_spike;
         desc.destination = w.grad_x;
         desc.scale = 2;
         desc.keep = 1;
         return synfire_graph_record_scale_add(w.graph, &desc);
       }},
      {"record_update_parameter",
       [](World& w) {
         synfire_update_parameter_desc desc = SYNFIRE_UPDATE_PARAMETER_DESC_INIT;
         desc.name = "tau";
         desc.gradient = w.grad_tau;
         desc.learning_rate = 0.5;
         return synfire_graph_record_update_parameter(w.graph, w.second, &desc);
       }},
      {"record_synapse_forward",
       [](World& w) {
         synfire_synapse_forward_desc desc = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
         desc.n_steps = n_steps;
         desc.batch = batch;
         desc.input = w.grad_spike;
         desc.output = w.grad_x;
         return synfire_graph_record_synapse_forward(w.graph, w.synapse, &desc);
       }},
      {"record_synapse_backward",
       [](World& w) {
         synfire_synapse_backward_desc desc = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
         desc.n_steps = n_steps;
         desc.batch = batch;
         desc.grad_output = w.grad_spike;
         desc.input = w.x;
         desc.grad_input = w.grad_x;
         return synfire_graph_record_synapse_backward(w.graph, w.synapse, &desc);
       }},
      {"record_optimizer_step",
       [](World& w) {
         const synfire_optimizer_step_desc desc = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
         return synfire_graph_record_optimizer_step(w.graph, w.optimizer, &desc);
       }},
      {"record_reset_rows",
       [](World& w) {
         const synfire_state_desc desc = SYNFIRE_STATE_DESC_INIT;
         return synfire_graph_record_reset_rows(w.graph, w.layer, &desc);
       }},
      {"record_read_rows",
       [](World& w) {
         synfire_state_desc desc = SYNFIRE_STATE_DESC_INIT;
         desc.buffer = w.row;
         return synfire_graph_record_read_rows(w.graph, w.second, &desc);
       }},
      {"record_write_rows",
       [](World& w) {
         synfire_state_desc desc = SYNFIRE_STATE_DESC_INIT;
         desc.buffer = w.row;
         return synfire_graph_record_write_rows(w.graph, w.second, &desc);
       }},
      {"record_snapshot",
       [](World& w) {
         synfire_state_desc desc = SYNFIRE_STATE_DESC_INIT;
         desc.buffer = w.snapshot;
         return synfire_graph_record_snapshot(w.graph, w.second, &desc);
       }},
      {"record_restore",
       [](World& w) {
         synfire_state_desc desc = SYNFIRE_STATE_DESC_INIT;
         desc.buffer = w.snapshot;
         return synfire_graph_record_restore(w.graph, w.second, &desc);
       }},
      {"record_copy_rows",
       [](World& w) {
         synfire_copy_rows_desc desc = SYNFIRE_COPY_ROWS_DESC_INIT;
         desc.source = w.layer;
         return synfire_graph_record_copy_rows(w.graph, w.second, &desc);
       }},
  };
  return list;
}

int32_t last_operation(const World& w) {
  int32_t operation = -1;
  require(synfire_graph_get_last_operation(w.graph, &operation), "last operation");
  return operation;
}

// Makes the call with allocation n = 0, 1, 2 ... failing until it succeeds; runs check() after each failure.
void run_dry(const char* name, const std::function<synfire_status()>& call, const std::function<void(long)>& check) {
  for (long n = 0; n < 10000; ++n) {
    watch.listen(true);
    allocations_left = n;
    const synfire_status status = call();
    allocations_left = -1;
    watch.listen(false);
    if (status >= 0) {
      if (n == 0) complain(name, n, "nothing failed: the library's allocations are not counted");
      return;
    }
    if (status != SYNFIRE_ERROR_OUT_OF_MEMORY) complain(name, n, "the status is not OUT_OF_MEMORY");
    check(n);
  }
  complain(name, 10000, "never succeeds");
}

void test_records() {
  for (const Kind& kind : kinds()) {
    World world;
    world.new_graph();
    const std::string before = world.dot();
    run_dry(
        kind.name, [&] { return kind.record(world); },
        [&](long n) {
          if (last_operation(world) != 0) complain(kind.name, n, "the graph has gained an operation");
          if (world.dot() != before) complain(kind.name, n, "the graph's DOT text has changed");
        });
    if (last_operation(world) != 1) complain(kind.name, -1, "the operation has the wrong number");
    require(synfire_graph_instantiate(world.graph), kind.name);
    require(synfire_graph_launch(world.graph, nullptr, nullptr), kind.name);
    // The same recording without failures.
    World twin;
    twin.new_graph();
    require(kind.record(twin), kind.name);
    require(synfire_graph_instantiate(twin.graph), kind.name);
    require(synfire_graph_launch(twin.graph, nullptr, nullptr), kind.name);
    if (world.memory() != twin.memory()) complain(kind.name, -1, "the replay has different results");
  }
}

// Every operation whose descriptor can be found without help.
struct SampledRecords {
  template <typename Desc>
  void sample(const char* name, Desc desc, std::initializer_list<synfire_buffer Desc::*> fields,
              synfire_status (*record)(synfire_graph, const Desc*),
              synfire_status (*)(synfire_context, const Desc*, synfire_stream)) {
    World world;
    world.new_graph();
    synfire_test::OperationSamples::Buffers buffers;
    if (!samples.give_buffers(world.context, name, desc, fields, record, buffers)) return;
    const std::string before = world.dot();
    run_dry(
        name, [&] { return record(world.graph, &desc); },
        [&](long n) {
          if (last_operation(world) != 0) complain(name, n, "the graph has gained an operation");
          if (world.dot() != before) complain(name, n, "the graph's DOT text has changed");
        });
    if (last_operation(world) != 1) complain(name, -1, "the operation has the wrong number");
    require(synfire_graph_instantiate(world.graph), name);
    require(synfire_graph_launch(world.graph, nullptr, nullptr), name);
  }
  synfire_test::OperationSamples samples;
};

// A graph whose recording failed at each point in turn is instantiated and run without the operation.
void test_refused_records_do_not_run() {
  for (const Kind& kind : kinds()) {
    World world;
    for (long n = 0;; ++n) {
      world.new_graph();
      allocations_left = n;
      const synfire_status status = kind.record(world);
      allocations_left = -1;
      if (status >= 0) break;
      const std::vector<unsigned char> before = world.memory();
      require(synfire_graph_instantiate(world.graph), kind.name);
      require(synfire_graph_launch(world.graph, nullptr, nullptr), kind.name);
      require(synfire_graph_launch(world.graph, nullptr, nullptr), kind.name);
      if (world.memory() != before) complain(kind.name, n, "the refused operation ran");
    }
  }
}

// A graph with every kind of operation is instantiated and rebound without enough memory.
void test_changes() {
  World world;
  world.new_graph();
  for (const Kind& kind : kinds()) require(kind.record(world), kind.name);
  run_dry(
      "instantiate", [&] { return synfire_graph_instantiate(world.graph); },
      [&](long n) {
        if (synfire_graph_launch(world.graph, nullptr, nullptr) != SYNFIRE_ERROR_WRONG_ORDER)
          complain("instantiate", n, "a graph that was not instantiated launches");
      });
  World twin;
  twin.new_graph();
  for (const Kind& kind : kinds()) require(kind.record(twin), kind.name);
  require(synfire_graph_instantiate(twin.graph), "instantiate");
  const auto expect_same = [&](const char* what, long n) {
    for (World* each : {&world, &twin}) {
      uint64_t ticket = 0;
      require(synfire_graph_launch(each->graph, nullptr, &ticket), what);
      require(synfire_graph_wait(each->graph, ticket, SYNFIRE_WAIT_YIELD, -1), what);
    }
    if (world.memory() != twin.memory()) complain(what, n, "replays have different results");
  };
  expect_same("launch", -1);
  synfire_buffer next[2] = {};
  for (int i = 0; i < 2; ++i) {
    World& each = i == 0 ? world : twin;
    next[i] = each.make(SYNFIRE_DTYPE_F32, n_sequence, SYNFIRE_MEMORY_PINNED);
  }
  run_dry(
      "rebind", [&] { return synfire_graph_rebind(world.graph, world.spare, next[0]); },
      [&](long n) { expect_same("rebind", n); });
  require(synfire_graph_rebind(twin.graph, twin.spare, next[1]), "rebind");
  expect_same("rebind", -1);
}

// A stage of one or two inputs.
void add_stage(synfire_network network, const char* kind, const char* name, const char* from, const char* other,
               const std::vector<synfire_stage_value>& values = {}) {
  const synfire_stage_input inputs[] = {{from, nullptr, 0}, {other, nullptr, 0}};
  synfire_stage_desc desc = SYNFIRE_STAGE_DESC_INIT;
  desc.kind = kind;
  desc.name = name;
  desc.inputs = inputs;
  desc.n_inputs = other ? 2 : 1;
  desc.values = values.data();
  desc.n_values = values.size();
  require(synfire_network_add_stage(network, &desc), name);
}

// Two pairs of synapse and neurons, of which one learns a parameter for each neuron, and branches between them; trained
// for some batches.
synfire_network trained_network(synfire_context context, int64_t n_batches) {
  constexpr int64_t n_rows = 5;
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = 4;
  desc.batch = 2;
  synfire_network network = nullptr;
  require(synfire_network_create(context, &desc, &network), "network");
  require(synfire_network_add_input(network, "input", SYNFIRE_NETWORK_INPUT_RATES, 9), "input");
  require(synfire_network_add_synapse(network, "s0", 7), "synapse");
  require(synfire_network_add_neurons(network, "n0", SYNFIRE_MODEL_LIF), "neurons");
  require(synfire_network_train_parameter(network, "n0", "tau", 1, 1, 0, 1.1, HUGE_VAL), "tau");
  add_stage(network, "conv2d", "kernel", "n0", nullptr, {{"output_channels", nullptr, 2}});
  add_stage(network, "normalization", "norm", "kernel", nullptr);
  add_stage(network, "neurons", "of-maps", "norm", nullptr, {{"model", "lif", 0}});
  add_stage(network, "pool", "mean", "of-maps", nullptr, {{"kind", "mean", 0}});
  add_stage(network, "upsample", "large", "mean", nullptr);
  add_stage(network, "pad", "border", "large", nullptr, {{"padding", nullptr, 1}});
  add_stage(network, "neurons", "of-border", "border", nullptr, {{"model", "lif", 0}});
  add_stage(network, "scale", "w", "n0", nullptr);
  add_stage(network, "population", "cells", "n0", nullptr, {{"n_cells", nullptr, 2}});
  add_stage(network, "neurons", "of-cells", "cells", nullptr, {{"model", "if", 0}});
  add_stage(network, "delayed", "paths", "n0", nullptr,
            {{"n_outputs", nullptr, 2}, {"max_delay", nullptr, 3}, {"learn_delays", nullptr, 1}});
  add_stage(network, "neurons", "of-paths", "paths", nullptr, {{"model", "lif", 0}});
  add_stage(network, "sum", "both", "w", "n0");
  add_stage(network, "concatenate", "wide", "both", "n0");
  add_stage(network, "flatten", "flat", "of-border", nullptr);
  add_stage(network, "concatenate", "half", "wide", "flat");
  add_stage(network, "concatenate", "more", "half", "of-cells");
  add_stage(network, "concatenate", "whole", "more", "of-paths");
  require(synfire_network_add_synapse(network, "s1", 3), "synapse");
  require(synfire_network_add_neurons(network, "n1", SYNFIRE_MODEL_LI), "neurons");
  require(synfire_network_add_readout(network, "readout", SYNFIRE_READOUT_MEAN, 0), "readout");
  require(synfire_network_add_loss(network, "loss", SYNFIRE_LOSS_CROSS_ENTROPY), "loss");
  require(synfire_network_add_optimizer(network, "optimizer", SYNFIRE_OPTIMIZER_KIND_ADAM, 0.01), "optimizer");
  require(synfire_network_build(network), "build");
  const std::vector<float> rates(n_rows * 9, 0.4F);
  const std::vector<uint32_t> classes = {0, 1, 2, 0, 1};
  synfire_buffer inputs = nullptr, labels = nullptr;
  synfire_buffer_desc rows = SYNFIRE_BUFFER_DESC_INIT;
  rows.n_elements = rates.size();
  require(synfire_buffer_create(context, &rows, &inputs), "inputs");
  rows.dtype = SYNFIRE_DTYPE_U32;
  rows.n_elements = classes.size();
  require(synfire_buffer_create(context, &rows, &labels), "labels");
  require(synfire_buffer_upload(inputs, 0, rates.data(), rates.size() * sizeof(float)), "upload");
  require(synfire_buffer_upload(labels, 0, classes.data(), classes.size() * sizeof(uint32_t)), "upload");
  require(synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, n_rows, inputs, labels, nullptr, nullptr, nullptr),
          "data");
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  require(synfire_network_train(network, n_batches, &result), "train");
  synfire_buffer_destroy(inputs);
  synfire_buffer_destroy(labels);
  return network;
}

std::vector<unsigned char> file_of(synfire_network network) {
  uint64_t bytes = 0;
  require(synfire_network_save_to_memory(network, nullptr, &bytes), "size");
  std::vector<unsigned char> file(bytes);
  require(synfire_network_save_to_memory(network, file.data(), &bytes), "save");
  return file;
}

// Saving, creating and loading fail whole. What a load has changed by then is put back: at once if one allocation
// fails, by the next call that has memory if all do.
void test_network_files() {
  synfire_context_desc cd = SYNFIRE_CONTEXT_DESC_INIT;
  cd.backend = SYNFIRE_BACKEND_HOST;
  cd.n_threads = 1;
  synfire_context context = nullptr;
  require(synfire_context_create(&cd, &context), "context");
  synfire_network network = trained_network(context, 4), other = trained_network(context, 1), made = nullptr;
  const std::vector<unsigned char> file = file_of(network), before = file_of(other);
  std::vector<unsigned char> saved(file.size());
  const auto unchanged = [&](const char* name) {
    return [&, name](long n) {
      if (file_of(network) != file || file_of(other) != before) complain(name, n, "a network has changed");
    };
  };
  uint64_t bytes = saved.size();
  run_dry(
      "save_to_memory", [&] { return synfire_network_save_to_memory(network, saved.data(), &bytes); },
      unchanged("save_to_memory"));
  if (saved != file) complain("save_to_memory", -1, "the file is another");
  run_dry(
      "create_from_memory",
      [&] {
        const synfire_status status =
            synfire_network_create_from_memory(context, file.data(), file.size(), nullptr, &made);
        if (status < 0 && made) complain("create_from_memory", -1, "there is a handle");
        return status;
      },
      unchanged("create_from_memory"));
  if (!made || file_of(made) != file) complain("create_from_memory", -1, "the network is another");
  synfire_network read = nullptr;
  char path[] = "/tmp/synfire_allocation_failure_XXXXXX";
  const int opened = mkstemp(path);
  if (opened < 0) std::exit(2);
  close(opened);
  require(synfire_network_save(network, path), "save");
  run_dry(
      "create_from_file", [&] { return synfire_network_create_from_file(context, path, nullptr, &read); },
      [&](long n) {
        if (read) complain("create_from_file", n, "there is a handle");
      });
  unlink(path);
  if (!read || file_of(read) != file) complain("create_from_file", -1, "the network is another");
  for (const bool only_one : {true, false}) {
    only_one_fails = only_one;
    run_dry(
        "load_from_memory", [&] { return synfire_network_load_from_memory(other, file.data(), file.size()); },
        unchanged("load_from_memory"));
    only_one_fails = false;
    if (file_of(other) != file) complain("load_from_memory", -1, "the network is another");
    require(synfire_network_load_from_memory(other, before.data(), before.size()), "the network before");
  }
  // Calls before are refused, and change nothing.
  long n_refused = 0;
  double tau = 0;
  for (long n = 0;; ++n) {
    allocations_left = n;
    const synfire_status status = synfire_network_load_from_memory(other, file.data(), file.size());
    allocations_left = status < 0 ? 0 : -1;
    const synfire_status next = synfire_network_get_value(other, "n1", "tau", &tau);
    if (next < 0 && next != SYNFIRE_ERROR_OUT_OF_MEMORY) complain("get_value", n, "the status is not OUT_OF_MEMORY");
    n_refused += status < 0 && next < 0;
    allocations_left = -1;
    if (status >= 0) break;
    if (file_of(other) != before) complain("load_from_memory", n, "a network has changed");
  }
  if (n_refused == 0) complain("load_from_memory", -1, "no load has left anything to put back");
  for (synfire_network each : {network, other, made, read}) synfire_network_destroy(each);
  synfire_context_destroy(context);
}

// A training either fails and has learnt nothing, or says what it has learnt.
void test_training() {
  synfire_context_desc cd = SYNFIRE_CONTEXT_DESC_INIT;
  cd.backend = SYNFIRE_BACKEND_HOST;
  cd.n_threads = 1;
  synfire_context context = nullptr;
  require(synfire_context_create(&cd, &context), "context");
  const synfire_network network = trained_network(context, 2), twin = trained_network(context, 2);
  const std::vector<unsigned char> before = file_of(network);
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT, expected = SYNFIRE_NETWORK_RESULT_INIT;
  require(synfire_network_train(twin, 3, &expected), "train");
  for (long n = 0; n < 1000; ++n) {
    allocations_left = n;
    const synfire_status status = synfire_network_train(network, 3, &result);
    const bool enough = allocations_left > 0;
    allocations_left = -1;
    if (status < 0 && file_of(network) != before) complain("train", n, "a call that has failed has learnt");
    if (status < 0) continue;
    if (std::memcmp(&result, &expected, sizeof result) != 0) complain("train", n, "the result is another");
    if (file_of(network) != file_of(twin)) complain("train", n, "the network is another");
    if (enough) break;
    require(synfire_network_load_from_memory(network, before.data(), before.size()), "the network before");
  }
  synfire_network_destroy(network);
  synfire_network_destroy(twin);
  synfire_context_destroy(context);
}

// Inference in several batches, and values of a built network: a call that fails has changed nothing.
void test_network_calls() {
  synfire_context_desc cd = SYNFIRE_CONTEXT_DESC_INIT;
  cd.backend = SYNFIRE_BACKEND_HOST;
  cd.n_threads = 1;
  synfire_context context = nullptr;
  require(synfire_context_create(&cd, &context), "context");
  const synfire_network network = trained_network(context, 2);
  synfire_graph frames = nullptr;
  require(synfire_network_get_graph(network, SYNFIRE_NETWORK_GRAPH_INFERENCE, &frames), "graph");
  for (int i = 0; i < 3; ++i) require(synfire_graph_launch(frames, nullptr, nullptr), "launch");
  synfire_graph_destroy(frames);
  const std::vector<unsigned char> before = file_of(network);
  const auto unchanged = [&](const char* name) {
    return [&, name](long n) {
      if (file_of(network) != before) complain(name, n, "the network has changed");
    };
  };
  constexpr uint64_t n_rows = 7;  // in batches of 2
  synfire_buffer inputs = nullptr, outputs = nullptr;
  synfire_buffer_desc rows = SYNFIRE_BUFFER_DESC_INIT;
  rows.n_elements = n_rows * 9;
  require(synfire_buffer_create(context, &rows, &inputs), "inputs");
  rows.n_elements = n_rows * 3;
  require(synfire_buffer_create(context, &rows, &outputs), "outputs");
  run_dry(
      "infer", [&] { return synfire_network_infer(network, inputs, n_rows, outputs); }, unchanged("infer"));
  require(synfire_network_load_from_memory(network, before.data(), before.size()), "the network before");
  // Their defaults, which nobody has set.
  for (const char* const name : {"v_threshold", "v_reset"}) {
    run_dry(
        name, [&] { return synfire_network_set_value(network, "n0", name, 0.75); }, unchanged(name));
    require(synfire_network_load_from_memory(network, before.data(), before.size()), "the network before");
  }
  synfire_buffer_destroy(inputs);
  synfire_buffer_destroy(outputs);
  synfire_network_destroy(network);
  synfire_context_destroy(context);
}

void test_objects() {
  World world;
  synfire_buffer buffer = nullptr;
  synfire_layer layer = nullptr;
  synfire_graph graph = nullptr;
  synfire_context context = nullptr;
  const auto expect_null = [](const char* name, const void* handle, long n) {
    if (handle) complain(name, n, "a handle was given");
  };
  run_dry(
      "context_create",
      [&] {
        synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
        desc.backend = SYNFIRE_BACKEND_HOST;
        return synfire_context_create(&desc, &context);
      },
      [&](long n) { expect_null("context_create", context, n); });
  run_dry(
      "buffer_create",
      [&] {
        synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
        desc.n_elements = 100;
        return synfire_buffer_create(world.context, &desc, &buffer);
      },
      [&](long n) { expect_null("buffer_create", buffer, n); });
  float lent[4] = {};
  int64_t length = 4;
  // DLManagedTensor: the memory, the device (1: a processor), dimensions, an f32, the shape, no strides, no offset, no
  // owner.
  struct {
    void* data;
    int32_t device[2], n_dimensions;
    uint8_t type[4];
    int64_t *shape, *strides;
    uint64_t offset;
    void *manager, *deleter;
  } tensor = {lent, {1, 0}, 1, {2, 32, 1, 0}, &length, nullptr, 0, nullptr, nullptr};
  synfire_buffer taken = nullptr;
  run_dry(
      "buffer_from_dlpack",
      [&] {
        synfire_from_dlpack_desc desc = SYNFIRE_FROM_DLPACK_DESC_INIT;
        desc.unversioned = 1;
        desc.tensor = &tensor;
        return synfire_buffer_from_dlpack(world.context, &desc, &taken);
      },
      [&](long n) { expect_null("buffer_from_dlpack", taken, n); });
  void* given = nullptr;
  run_dry(
      "buffer_to_dlpack", [&] { return synfire_buffer_to_dlpack(taken, nullptr, &given); },
      [&](long n) { expect_null("buffer_to_dlpack", given, n); });
  // DLManagedTensorVersioned: its deleter follows the version and the manager.
  if (given) (*reinterpret_cast<void (**)(void*)>(static_cast<char*>(given) + 16))(given);
  synfire_buffer_destroy(taken);
  run_dry(
      "layer_create",
      [&] {
        synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
        desc.n_steps = 3;
        desc.n_neurons = 5;
        return synfire_layer_create(world.context, &desc, &layer);
      },
      [&](long n) { expect_null("layer_create", layer, n); });
  synfire_synapse one_to_one = nullptr;
  run_dry(
      "synapse_create_one_to_one",
      [&] {
        const synfire_one_to_one_desc desc = World::neurons_apart();
        return synfire_synapse_create_one_to_one(world.context, &desc, &one_to_one);
      },
      [&](long n) { expect_null("synapse_create_one_to_one", one_to_one, n); });
  synfire_synapse population = nullptr;
  run_dry(
      "synapse_create_population",
      [&] {
        const synfire_population_desc desc = World::cells();
        return synfire_synapse_create_population(world.context, &desc, &population);
      },
      [&](long n) { expect_null("synapse_create_population", population, n); });
  synfire_synapse delayed = nullptr;
  run_dry(
      "synapse_create_delayed",
      [&] {
        const synfire_delayed_desc desc = World::delays();
        return synfire_synapse_create_delayed(world.context, &desc, &delayed);
      },
      [&](long n) { expect_null("synapse_create_delayed", delayed, n); });
  synfire_synapse conv2d = nullptr;
  run_dry(
      "synapse_create_conv2d",
      [&] {
        const synfire_conv2d_desc desc = World::sequence_kernel();
        return synfire_synapse_create_conv2d(world.context, &desc, &conv2d);
      },
      [&](long n) { expect_null("synapse_create_conv2d", conv2d, n); });
  run_dry(
      "graph_create", [&] { return synfire_graph_create(world.context, nullptr, &graph); },
      [&](long n) { expect_null("graph_create", graph, n); });
  synfire_synapse synapse = nullptr;
  run_dry(
      "synapse_create",
      [&] {
        synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
        desc.n_inputs = desc.n_outputs = 5;
        return synfire_synapse_create(world.context, &desc, &synapse);
      },
      [&](long n) { expect_null("synapse_create", synapse, n); });
  synfire_optimizer optimizer = nullptr;
  run_dry(
      "optimizer_create",
      [&] {
        const synfire_optimizer_desc desc = SYNFIRE_OPTIMIZER_DESC_INIT;
        return synfire_optimizer_create(world.context, &desc, &optimizer);
      },
      [&](long n) { expect_null("optimizer_create", optimizer, n); });
  synfire_communicator communicator = nullptr;
  run_dry(
      "communicator_create",
      [&] {
        synfire_communicator_desc desc = SYNFIRE_COMMUNICATOR_DESC_INIT;
        desc.transport = SYNFIRE_TRANSPORT_LOOPBACK;
        desc.size = 1;
        return synfire_communicator_create(world.context, &desc, &communicator);
      },
      [&](long n) { expect_null("communicator_create", communicator, n); });
  synfire_communicator_destroy(communicator);
  std::vector<double> values(n_neurons, 3.0);
  run_dry(
      "set_parameter per neuron",
      [&] { return synfire_layer_set_parameter(world.layer, "tau", values.data(), n_neurons); },
      [&](long n) {
        double tau = 0;
        require(synfire_layer_get_parameter(world.layer, "tau", &tau, 1), "tau");
        if (tau == 3.0) complain("set_parameter", n, "the value was set");
      });
  synfire_buffer_destroy(buffer);
  synfire_layer_destroy(layer);
  synfire_synapse_destroy(one_to_one);
  synfire_synapse_destroy(population);
  synfire_synapse_destroy(conv2d);
  synfire_synapse_destroy(delayed);
  synfire_graph_destroy(graph);
  synfire_optimizer_destroy(optimizer);
  synfire_synapse_destroy(synapse);
  synfire_context_destroy(context);
}

// ---- Networks -------------------------------------------------------------------------------------------------------

struct NetworkWorld {
  static constexpr int64_t n_rows = 5, n_classes = 3;
  synfire_context context = nullptr;
  synfire_network network = nullptr;
  synfire_buffer inputs = nullptr, labels = nullptr, outputs = nullptr;
  std::vector<char> file;

  NetworkWorld() {
    synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
    desc.backend = SYNFIRE_BACKEND_HOST;
    desc.n_threads = 1;
    require(synfire_context_create(&desc, &context), "context");
    const std::vector<float> rates(n_rows * n_neurons, 0.4F);
    const std::vector<uint32_t> classes(n_rows, 1);
    inputs = buffer(SYNFIRE_DTYPE_F32, rates.data(), rates.size());
    labels = buffer(SYNFIRE_DTYPE_U32, classes.data(), classes.size());
    outputs = buffer(SYNFIRE_DTYPE_F32, nullptr, n_rows * n_classes);
  }
  ~NetworkWorld() {
    synfire_network_destroy(network);
    for (synfire_buffer each : {inputs, labels, outputs}) synfire_buffer_destroy(each);
    synfire_context_destroy(context);
    require(synfire_context_reclaim(nullptr, nullptr), "reclaim");
  }
  NetworkWorld(const NetworkWorld&) = delete;
  NetworkWorld& operator=(const NetworkWorld&) = delete;

  synfire_buffer buffer(int32_t dtype, const void* values, uint64_t n_elements) const {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.dtype = dtype;
    desc.n_elements = n_elements;
    synfire_buffer made = nullptr;
    require(synfire_buffer_create(context, &desc, &made), "buffer");
    if (values) require(synfire_buffer_upload(made, 0, values, n_elements * 4), "upload");
    return made;
  }
  std::string drawing() const {
    char text[4096];
    uint64_t bytes = sizeof text;
    require(synfire_network_write_dot(network, text, &bytes), "drawing");
    return text;
  }
  std::vector<float> weights() const {
    std::vector<float> values(n_neurons * n_classes);
    synfire_synapse synapse = nullptr;
    require(synfire_network_get_synapse(network, "weights", &synapse), "synapse");
    require(synfire_synapse_read(synapse, "weight", values.data(), values.size() * sizeof(float)), "weights");
    synfire_synapse_destroy(synapse);
    return values;
  }
  synfire_status set_data(int32_t set) const {
    return synfire_network_set_data(network, set, n_rows, inputs, labels, nullptr, nullptr, nullptr);
  }
};

struct NetworkCall {
  const char* name;
  bool needs_none;  // it always has the memory that it needs
  std::function<synfire_status(NetworkWorld&)> run;
};

// The calls that make, train, run and save a network, in order.
const std::vector<NetworkCall>& network_calls() {
  static const std::vector<NetworkCall> list = {
      {"network_create", false,
       [](NetworkWorld& w) {
         synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
         desc.n_steps = n_steps;
         desc.batch = batch;
         return synfire_network_create(w.context, &desc, &w.network);
       }},
      {"add_input", false,
       [](NetworkWorld& w) {
         return synfire_network_add_input(w.network, "an-input-with-a-name-that-is-allocated",
                                          SYNFIRE_NETWORK_INPUT_RATES, n_neurons);
       }},
      {"add_dropout", false,
       [](NetworkWorld& w) {
         return synfire_network_add_dropout(w.network, "a-dropout-with-a-name-that-is-allocated", 0.5);
       }},
      {"add_synapse", false,
       [](NetworkWorld& w) { return synfire_network_add_synapse(w.network, "weights", NetworkWorld::n_classes); }},
      {"add_neurons", false,
       [](NetworkWorld& w) {
         return synfire_network_add_neurons(w.network, "neurons-with-a-name-that-is-allocated", SYNFIRE_MODEL_LIF);
       }},
      {"set_value", false,
       [](NetworkWorld& w) {
         return synfire_network_set_value(w.network, "neurons-with-a-name-that-is-allocated", "v_threshold", 0.5);
       }},
      {"add_readout", false,
       [](NetworkWorld& w) {
         return synfire_network_add_readout(w.network, "a-readout-with-a-name-that-is-allocated", SYNFIRE_READOUT_SUM,
                                            0);
       }},
      {"add_loss", false,
       [](NetworkWorld& w) {
         return synfire_network_add_loss(w.network, "a-loss-with-a-name-that-is-allocated", SYNFIRE_LOSS_CROSS_ENTROPY);
       }},
      {"add_stage", false,
       [](NetworkWorld& w) {
         const synfire_stage_input inputs[] = {{"a-loss-with-a-name-that-is-allocated", nullptr, 0}};
         const synfire_stage_value values[] = {{"learning_rate", nullptr, 0.01}, {"kind", "adam", 0}};
         synfire_stage_desc desc = SYNFIRE_STAGE_DESC_INIT;
         desc.kind = "optimizer";
         desc.name = "an-optimizer-with-a-name-that-is-allocated";
         desc.inputs = inputs;
         desc.n_inputs = 1;
         desc.values = values;
         desc.n_values = 2;
         return synfire_network_add_stage(w.network, &desc);
       }},
      {"keep", false,
       [](NetworkWorld& w) {
         return synfire_network_keep(w.network, "weights.monitor neurons-with-a-name-that-is-allocated.monitor");
       }},
      {"query_memory", false,
       [](NetworkWorld& w) {
         synfire_network_memory memory = SYNFIRE_NETWORK_MEMORY_INIT;
         return synfire_network_query_memory(w.network, &memory);
       }},
      {"build", false, [](NetworkWorld& w) { return synfire_network_build(w.network); }},
      {"set_data of the training", false, [](NetworkWorld& w) { return w.set_data(SYNFIRE_DATA_TRAINING); }},
      {"set_arrays of the evaluation", false,
       [](NetworkWorld& w) {
         const synfire_network_array arrays[] = {
             {nullptr, SYNFIRE_ARRAY_LABELS, 0, w.labels},
             {"an-input-with-a-name-that-is-allocated", SYNFIRE_ARRAY_INPUTS, 0, w.inputs}};
         return synfire_network_set_arrays(w.network, SYNFIRE_DATA_EVALUATION, NetworkWorld::n_rows, arrays, 2);
       }},
      {"train", true,
       [](NetworkWorld& w) {
         synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
         return synfire_network_train(w.network, 0, &result);
       }},
      {"evaluate", true,
       [](NetworkWorld& w) {
         synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
         return synfire_network_evaluate(w.network, &result);
       }},
      {"train_stages", true,
       [](NetworkWorld& w) {
         synfire_stage_result loss = {"a-loss-with-a-name-that-is-allocated", 0, 0, 0};
         synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
         return synfire_network_train_stages(w.network, 0, &loss, 1, &result);
       }},
      {"get_monitor", false,
       [](NetworkWorld& w) {
         synfire_network_monitor monitor = SYNFIRE_NETWORK_MONITOR_INIT;
         return synfire_network_get_monitor(w.network, "neurons-with-a-name-that-is-allocated", 1, &monitor);
       }},
      {"get_monitor of weights", false,
       [](NetworkWorld& w) {
         synfire_network_monitor monitor = SYNFIRE_NETWORK_MONITOR_INIT;
         return synfire_network_get_monitor(w.network, "weights", 0, &monitor);
       }},
      {"reset_rows", false, [](NetworkWorld& w) { return synfire_network_reset_rows(w.network, 0, 1); }},
      {"evaluate_stages", true,
       [](NetworkWorld& w) {
         synfire_stage_result loss = {"a-loss-with-a-name-that-is-allocated", 0, 0, 0};
         synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
         return synfire_network_evaluate_stages(w.network, &loss, 1, &result);
       }},
      {"infer", false,
       [](NetworkWorld& w) { return synfire_network_infer(w.network, w.inputs, NetworkWorld::n_rows, w.outputs); }},
      {"infer_arrays", false,
       [](NetworkWorld& w) {
         const synfire_network_array arrays[] = {{nullptr, SYNFIRE_ARRAY_INPUTS, 0, w.inputs},
                                                 {nullptr, SYNFIRE_ARRAY_OUTPUTS, 0, w.outputs}};
         return synfire_network_infer_arrays(w.network, NetworkWorld::n_rows, arrays, 2);
       }},
  };
  return list;
}

// A network of which every call ran dry at every point ends up as one that always had enough memory, with the same
// weights.
void test_networks() {
  NetworkWorld world, twin;
  bool built = false;
  for (const auto& [name, needs_none, call] : network_calls()) {
    const std::string before = world.network ? world.drawing() : "";
    const std::vector<float> weights = built ? world.weights() : std::vector<float>();
    const auto check = [&, name = name](long n) {
      if (before.empty() ? world.network != nullptr : world.drawing() != before)
        complain(name, n, "the network has changed");
      if (built && world.weights() != weights) complain(name, n, "weights have changed");
    };
    if (needs_none) {
      allocations_left = 0;
      const synfire_status status = call(world);
      allocations_left = -1;
      if (status < 0) complain(name, 0, "it needs memory");
    } else {
      run_dry(
          name, [&, &run = call] { return run(world); }, check);
    }
    require(call(twin), name);
    if (built && world.weights() != twin.weights()) complain(name, -1, "the weights are not those with enough memory");
    built = built || std::strcmp(name, "build") == 0;
  }
  for (const float weight : world.weights())
    if (!std::isfinite(weight)) complain("networks", -1, "a weight is not finite");
  if (world.drawing() != twin.drawing()) complain("networks", -1, "the drawings differ");
}

// With the program's functions for memory, the library asks for it nowhere else: no call of the C library's allocator,
// while objects are made, used and freed on one thread.
void test_that_all_memory_is_the_programs() {
  require(synfire_context_reclaim(nullptr, nullptr), "reclaim");
  synfire_memory_use use = SYNFIRE_MEMORY_USE_INIT;
  require(synfire_memory_get_use(&use), "memory_get_use");
  if (use.has_containers == 0) return;  // of a static library, the containers are the program's
  static long n_given, n_back;
  n_given = n_back = 0;
  synfire_memory_desc memory = SYNFIRE_MEMORY_DESC_INIT;
  memory.allocate = [](void*, uint64_t bytes, uint64_t alignment, int32_t) {
    ++n_given;
    return __libc_memalign(alignment, bytes);
  };
  memory.release = [](void*, void* given, uint64_t, uint64_t, int32_t) {
    ++n_back;
    std::free(given);
  };
  require(synfire_memory_set_functions(&memory), "memory_set_functions");
  n_counted = 0;
  counts = true;
  synfire_context_desc of_context = SYNFIRE_CONTEXT_DESC_INIT;
  of_context.backend = SYNFIRE_BACKEND_HOST;
  of_context.n_threads = 1;
  synfire_context context = nullptr;
  require(synfire_context_create(&of_context, &context), "context");
  synfire_layer_desc of_layer = SYNFIRE_LAYER_DESC_INIT;
  of_layer.n_steps = n_steps;
  of_layer.batch = batch;
  of_layer.n_neurons = n_neurons;
  synfire_layer layer = nullptr;
  require(synfire_layer_create(context, &of_layer, &layer), "layer");
  synfire_buffer_desc of_buffer = SYNFIRE_BUFFER_DESC_INIT;
  of_buffer.memory = SYNFIRE_MEMORY_PINNED;
  of_buffer.n_elements = n_sequence;
  synfire_buffer x = nullptr, spikes = nullptr, gradient = nullptr, labels = nullptr;
  require(synfire_buffer_create(context, &of_buffer, &x), "x");
  require(synfire_buffer_create(context, &of_buffer, &spikes), "spikes");
  require(synfire_buffer_create(context, &of_buffer, &gradient), "gradient");
  of_buffer.dtype = SYNFIRE_DTYPE_U32;
  require(synfire_buffer_create(context, &of_buffer, &labels), "labels");
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.spikes = spikes;
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  backward.grad_spike_seq = spikes;
  backward.grad_x_seq = gradient;
  require(synfire_layer_forward(layer, &forward, nullptr), "forward");
  require(synfire_layer_backward(layer, &backward, nullptr), "backward");
  synfire_graph graph = nullptr;
  require(synfire_graph_create(context, nullptr, &graph), "graph");
  require(synfire_graph_record_forward(graph, layer, &forward), "record_forward");
  require(synfire_graph_instantiate(graph), "instantiate");
  uint64_t ticket = 0;
  require(synfire_graph_launch(graph, nullptr, &ticket), "launch");
  require(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_BLOCK, -1), "wait");
  synfire_network_desc of_network = SYNFIRE_NETWORK_DESC_INIT;
  of_network.n_steps = 3;
  synfire_network network = nullptr;
  require(synfire_network_create(context, &of_network, &network), "network");
  require(synfire_network_add_input(network, "input", SYNFIRE_NETWORK_INPUT_RATES, n_neurons), "input");
  require(synfire_network_add_synapse(network, "weights", 4), "synapse");
  require(synfire_network_add_neurons(network, "neurons", SYNFIRE_MODEL_LIF), "neurons");
  require(synfire_network_add_readout(network, "readout", SYNFIRE_READOUT_SUM, 0), "readout");
  require(synfire_network_add_loss(network, "loss", SYNFIRE_LOSS_CROSS_ENTROPY), "loss");
  require(synfire_network_add_optimizer(network, "adam", SYNFIRE_OPTIMIZER_KIND_ADAM, 0.01), "optimizer");
  require(synfire_network_build(network), "build");
  require(synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, 8, x, labels, nullptr, nullptr, nullptr), "data");
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  require(synfire_network_train(network, 4, &result), "train");
  uint64_t bytes = 0;
  require(synfire_network_save_to_memory(network, nullptr, &bytes), "save");
  synfire_network_destroy(network);
  synfire_graph_destroy(graph);
  synfire_layer_destroy(layer);
  for (synfire_buffer each : {x, spikes, gradient, labels}) synfire_buffer_destroy(each);
  synfire_context_destroy(context);
  require(synfire_context_reclaim(nullptr, nullptr), "reclaim");
  counts = false;
  if (n_counted != 0) complain("the program's functions", n_counted, "memory came from the C library as well");
  if (n_given < 100 || n_given != n_back) complain("the program's functions", n_given - n_back, "blocks are left");
  require(synfire_memory_set_functions(nullptr), "memory_set_functions");
}

// Every kind of operation is recorded and every kind of object is made without enough memory. What a compiler makes is
// in tests/jit.
void test_that_nothing_is_left_out() {
  for (const std::string& name : watch.makers_not_called())
    if (name != "synfire_model_load" && name != "synfire_surrogate_load")
      complain(name.c_str(), -1, "it was never called without enough memory");
}

}  // namespace

int main() {
  watch.listen(false);
  test_records();
  SampledRecords sampled;
  synfire_test::sample_operations(sampled);
  test_refused_records_do_not_run();
  test_networks();
  test_changes();
  test_objects();
  test_network_files();
  test_training();
  test_network_calls();
  test_that_all_memory_is_the_programs();
  if (synfire_test::CallWatch::is_possible) test_that_nothing_is_left_out();
  std::printf("%d failures\n", n_failures);
  return n_failures == 0 ? 0 : 1;
}

// No call on a host context needs more than 32 KiB of stack, whatever the model, the type and the shape; nor does a
// part of a task that a job system runs. Each call is made on a thread that has 32 KiB of stack, with protected memory
// below. The stack is painted with a pattern, and how far down it has changed is what the call took. call_watch.c
// measures the calls of other programs.
#include <synfire/synfire.h>

#include <pthread.h>
#include <sys/mman.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr size_t allowed = size_t{32} << 10;
constexpr size_t stack_bytes = size_t{256} << 10, page_bytes = 4096, signal_bytes = size_t{64} << 10;
constexpr uint64_t pattern = 0x5AFE57ACC5AFE57Au;

int n_failures = 0;
std::atomic<size_t> deepest_call{0}, deepest_part{0};

void raise_to(std::atomic<size_t>& most, size_t depth) {
  size_t before = most.load();
  while (depth > before && !most.compare_exchange_weak(before, depth)) {
  }
}

// The thread's current call, for the text about a call that reaches the protected memory.
thread_local const char* what_is_called = "";

void say_overflow(int, siginfo_t*, void*) {
  const char* const texts[] = {what_is_called, " reached the memory below its 32 KiB of stack\n"};
  for (const char* text : texts)
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
  _exit(1);
}

// Runs a function on a thread with a small painted stack.
class SmallThread {
 public:
  SmallThread(const char* what, const std::function<void()>& function) : what_(what), function_(function) {
    stack_ = static_cast<char*>(
        mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (stack_ == MAP_FAILED) std::abort();
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack_, stack_bytes);
    if (pthread_create(&thread_, &attributes, run, this) != 0) std::abort();
    pthread_attr_destroy(&attributes);
  }
  // How many bytes below the thread's first frame the function has changed.
  size_t depth() {
    pthread_join(thread_, nullptr);
    munmap(stack_, stack_bytes);
    return depth_;
  }

 private:
  static void* run(void* argument) {
    auto* const thread = static_cast<SmallThread*>(argument);
    what_is_called = thread->what_;
    stack_t alternative = {};
    alternative.ss_sp = thread->stack_;
    alternative.ss_size = signal_bytes;
    sigaltstack(&alternative, nullptr);
    // The stack that the function may use ends at a page.
    char* const frame = static_cast<char*>(__builtin_frame_address(0));
    const size_t unused = reinterpret_cast<uintptr_t>(frame - allowed) % page_bytes;
    char* const first = frame - unused;
    thread->work(first, static_cast<char*>(__builtin_alloca(unused)));
    alternative.ss_flags = SS_DISABLE;
    sigaltstack(&alternative, nullptr);
    return nullptr;
  }
  // `unused` is on the stack above.
  [[gnu::noinline]] void work(char* first, char* unused) {
    asm volatile("" : : "r"(unused) : "memory");
    auto* const lowest = reinterpret_cast<uint64_t*>(first - allowed);
    paint(lowest, static_cast<const char*>(__builtin_frame_address(0)));
    char* const below = stack_ + signal_bytes;
    if (mprotect(below, static_cast<size_t>(first - allowed - below), PROT_NONE) != 0) std::abort();
    function_();
    const uint64_t* changed = lowest;
    while (*changed == pattern) ++changed;
    depth_ = static_cast<size_t>(first - reinterpret_cast<const char*>(changed));
  }
  // All but what its caller and it have on the stack.
  [[gnu::noinline]] static void paint(uint64_t* from, const char* frame) {
    const auto* const end = reinterpret_cast<const uint64_t*>(frame - 512);
    for (volatile uint64_t* word = from; word < end; ++word) *word = pattern;
  }

  const char* const what_;
  const std::function<void()>& function_;
  char* stack_ = nullptr;
  pthread_t thread_ = {};
  size_t depth_ = 0;
};

void check_depth(const std::string& what, size_t depth) {
  if (depth <= allowed) return;
  std::fprintf(stderr, "%s needs %zu bytes of stack; %zu are allowed\n", what.c_str(), depth, allowed);
  ++n_failures;
}

// Makes a call on such a thread. It must succeed.
void call(const std::string& what, const std::function<synfire_status()>& make) {
  synfire_status status = SYNFIRE_OK;
  std::string error;
  const std::function<void()> function = [&] {
    status = make();
    if (status >= 0) return;
    error.resize(1024);
    synfire_last_error(error.data(), error.size(), nullptr);
  };
  const size_t depth = SmallThread(what.c_str(), function).depth();
  raise_to(deepest_call, depth);
  if (status < 0) {
    std::fprintf(stderr, "%s: %s\n", what.c_str(), error.c_str());
    std::exit(2);
  }
  check_depth(what, depth);
}

// ---- Job systems ----------------------------------------------------------------------------------------------------

// Runs the parts of each task on threads with small stacks.
struct Jobs {
  std::atomic<int> n_parts{0};
};
void* SYNFIRE_CALL enqueue(void* user, synfire_task task, void* argument, int32_t n_items, int32_t) {
  auto* const jobs = static_cast<Jobs*>(user);
  std::thread([=] {  // these threads are made on a stack that is not part of the call
    for (int32_t first = 0; first < n_items; first += 2) {
      const std::function<void()> part = [&] { task(argument, first, std::min(first + 2, n_items)); };
      const size_t depth = SmallThread("a part of a task", part).depth();
      raise_to(deepest_part, depth);
      check_depth("a part of a task", depth);
      ++jobs->n_parts;
    }
  })
      .join();
  return nullptr;
}
void SYNFIRE_CALL finish(void*, void*) {}

synfire_context make_context(Jobs* jobs) {
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  desc.backend = SYNFIRE_BACKEND_HOST;
  desc.n_threads = jobs ? 3 : 1;
  if (jobs) {
    desc.enqueue_task = enqueue;
    desc.finish_task = finish;
    desc.job_system = jobs;
  }
  synfire_context context = nullptr;
  call("synfire_context_create", [&] { return synfire_context_create(&desc, &context); });
  return context;
}

// ---- Layers ---------------------------------------------------------------------------------------------------------

struct ModelName {
  int32_t id;
  const char* name;
  const char* parameter;
};
constexpr ModelName models[] = {
    {SYNFIRE_MODEL_IF, "IF", "v_threshold"}, {SYNFIRE_MODEL_LIF, "LIF", "tau"},
    {SYNFIRE_MODEL_PLIF, "PLIF", "tau"},     {SYNFIRE_MODEL_QIF, "QIF", "tau"},
    {SYNFIRE_MODEL_EIF, "EIF", "tau"},       {SYNFIRE_MODEL_IZHIKEVICH, "Izhikevich", "tau"},
    {SYNFIRE_MODEL_LI, "LI", "tau"},         {SYNFIRE_MODEL_CUBA_LIF_EXACT, "exact CUBA-LIF", "tau"}};

struct Shape {
  int64_t n_steps, batch, n_neurons;
};

class LayerCalls {
 public:
  LayerCalls(synfire_context context, const ModelName& model, int32_t dtype, const Shape& shape, int32_t tape)
      : context_(context),
        name_(std::string(model.name) + ", dtype " + std::to_string(dtype) + ", T " + std::to_string(shape.n_steps) +
              ", N " + std::to_string(shape.n_neurons) + ", tape " + std::to_string(tape) + ": "),
        arithmetic_(dtype == SYNFIRE_DTYPE_F64 ? dtype : SYNFIRE_DTYPE_F32) {
    const uint64_t row = static_cast<uint64_t>(shape.batch * shape.n_neurons),
                   sequence = row * static_cast<uint64_t>(shape.n_steps);
    const bool fires = model.id != SYNFIRE_MODEL_LI;
    synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
    desc.model = model.id;
    desc.dtype = dtype;
    desc.n_steps = shape.n_steps;
    desc.batch = shape.batch;
    desc.n_neurons = shape.n_neurons;
    synfire_layer layer = nullptr;
    call(name_ + "synfire_layer_create", [&] { return synfire_layer_create(context, &desc, &layer); });
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = make(dtype, sequence);
    forward.tape = tape;
    if (fires)
      forward.spikes = make(SYNFIRE_DTYPE_BITS, static_cast<uint64_t>(shape.n_steps * shape.batch) *
                                                    ((static_cast<uint64_t>(shape.n_neurons) + 31) / 32));
    forward.v_seq = make(dtype, sequence);
    forward.h_seq = make(dtype, sequence);
    synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
    const synfire_parameter_gradient gradient = {model.parameter, make(arithmetic_, 1)};
    if (fires) backward.grad_spike_seq = make(dtype, sequence);
    backward.grad_v_seq = make(dtype, sequence);
    backward.grad_x_seq = make(dtype, sequence);
    backward.parameter_gradients = &gradient;
    synfire_graph graph = nullptr;
    call(name_ + "synfire_graph_create", [&] { return synfire_graph_create(context, nullptr, &graph); });
    for (const uint64_t n_gradients : {uint64_t{0}, uint64_t{1}}) {
      backward.n_parameter_gradients = n_gradients;
      call(name_ + "synfire_layer_forward", [&] { return synfire_layer_forward(layer, &forward, nullptr); });
      call(name_ + "synfire_layer_backward", [&] { return synfire_layer_backward(layer, &backward, nullptr); });
      call(name_ + "synfire_graph_record_forward",
           [&] { return synfire_graph_record_forward(graph, layer, &forward); });
      call(name_ + "synfire_graph_record_backward",
           [&] { return synfire_graph_record_backward(graph, layer, &backward); });
    }
    call(name_ + "synfire_graph_instantiate", [&] { return synfire_graph_instantiate(graph); });
    uint64_t ticket = 0;
    call(name_ + "synfire_graph_launch", [&] { return synfire_graph_launch(graph, nullptr, &ticket); });
    call(name_ + "synfire_graph_wait", [&] { return synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_BLOCK, -1); });
    // With one number per neuron, the passes have loops of their own.
    const std::vector<double> values(static_cast<size_t>(shape.n_neurons), 2.0);
    call(name_ + "synfire_layer_set_parameter",
         [&] { return synfire_layer_set_parameter(layer, model.parameter, values.data(), values.size()); });
    call(name_ + "synfire_graph_launch per neuron", [&] { return synfire_graph_launch(graph, nullptr, &ticket); });
    call(name_ + "destroy", [&] {
      synfire_graph_destroy(graph);
      synfire_layer_destroy(layer);
      for (synfire_buffer buffer : buffers_) synfire_buffer_destroy(buffer);
      return synfire_context_reclaim(context, nullptr);
    });
  }

 private:
  synfire_buffer make(int32_t dtype, uint64_t n_elements) {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.dtype = dtype;
    desc.n_elements = n_elements;
    synfire_buffer buffer = nullptr;
    call(name_ + "synfire_buffer_create", [&] { return synfire_buffer_create(context_, &desc, &buffer); });
    buffers_.push_back(buffer);
    return buffer;
  }

  const synfire_context context_;
  const std::string name_;
  const int32_t arithmetic_;
  std::vector<synfire_buffer> buffers_;
};

void test_layers() {
  const synfire_context context = make_context(nullptr);
  for (const ModelName& model : models)
    for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16}) {
      const bool narrow = dtype == SYNFIRE_DTYPE_F16 || dtype == SYNFIRE_DTYPE_BF16;
      for (const Shape& shape : {Shape{1, 1, 1}, Shape{8, 3, 37}, Shape{40, 2, 700}}) {
        for (const int32_t tape : {static_cast<int32_t>(SYNFIRE_TAPE_RECOMPUTE),
                                   static_cast<int32_t>(narrow ? SYNFIRE_TAPE_STORE_NARROW : SYNFIRE_TAPE_STORE)})
          LayerCalls(context, model, dtype, shape, tape);
      }
    }
  synfire_context_destroy(context);
}

void test_job_system() {
  Jobs jobs;
  const synfire_context context = make_context(&jobs);
  for (const ModelName& model : models)
    for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_BF16})
      LayerCalls(context, model, dtype, {40, 1, 16001}, SYNFIRE_TAPE_RECOMPUTE);
  if (jobs.n_parts == 0) {
    std::fprintf(stderr, "no task was given to the job system\n");
    ++n_failures;
  }
  synfire_context_destroy(context);
}

// ---- Networks -------------------------------------------------------------------------------------------------------

class NetworkCalls {
 public:
  static constexpr uint64_t n_inputs = 40, n_classes = 5, n_rows = 12;

  NetworkCalls(synfire_context context, const ModelName& model, int32_t dtype, int64_t n_steps)
      : context_(context), name_(std::string("a network of ") + model.name + ", T " + std::to_string(n_steps) + ": ") {
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.dtype = dtype;
    desc.n_steps = n_steps;
    desc.batch = 4;
    synfire_network network = nullptr;
    call(name_ + "create", [&] { return synfire_network_create(context, &desc, &network); });
    call(name_ + "input",
         [&] { return synfire_network_add_input(network, "in", SYNFIRE_NETWORK_INPUT_RATES, n_inputs); });
    call(name_ + "dropout", [&] { return synfire_network_add_dropout(network, "d", 0.2); });
    call(name_ + "synapse", [&] { return synfire_network_add_synapse(network, "s0", 70); });
    // Neurons that never fire are read out by V.
    const bool fires = model.id != SYNFIRE_MODEL_LI;
    call(name_ + "neurons",
         [&] { return synfire_network_add_neurons(network, "n0", fires ? model.id : SYNFIRE_MODEL_LIF); });
    call(name_ + "synapse", [&] { return synfire_network_add_synapse(network, "s1", n_classes); });
    call(name_ + "neurons", [&] { return synfire_network_add_neurons(network, "n1", SYNFIRE_MODEL_LI); });
    call(name_ + "train_parameter", [&] {
      return synfire_network_train_parameter(network, fires ? "n0" : "n1", model.parameter, 1, 0, 0, -HUGE_VAL,
                                             HUGE_VAL);
    });
    call(name_ + "readout", [&] { return synfire_network_add_readout(network, "r", SYNFIRE_READOUT_MEAN, 0); });
    call(name_ + "loss", [&] { return synfire_network_add_loss(network, "l", SYNFIRE_LOSS_CROSS_ENTROPY); });
    call(name_ + "optimizer",
         [&] { return synfire_network_add_optimizer(network, "o", SYNFIRE_OPTIMIZER_KIND_ADAM, 0.01); });
    synfire_network_memory memory = SYNFIRE_NETWORK_MEMORY_INIT;
    call(name_ + "query_memory", [&] { return synfire_network_query_memory(network, &memory); });
    call(name_ + "build", [&] { return synfire_network_build(network); });
    const synfire_buffer inputs = make(SYNFIRE_DTYPE_F32, n_rows * n_inputs), labels = make(SYNFIRE_DTYPE_U32, n_rows),
                         outputs = make(dtype, n_rows * n_classes);
    call(name_ + "fill", [&] { return synfire_buffer_fill(inputs, 0.5); });
    for (const int32_t set : {SYNFIRE_DATA_TRAINING, SYNFIRE_DATA_EVALUATION})
      call(name_ + "set_data",
           [&] { return synfire_network_set_data(network, set, n_rows, inputs, labels, nullptr, nullptr, nullptr); });
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    call(name_ + "train", [&] { return synfire_network_train(network, 0, &result); });
    call(name_ + "evaluate", [&] { return synfire_network_evaluate(network, &result); });
    call(name_ + "infer", [&] { return synfire_network_infer(network, inputs, n_rows, outputs); });
    std::vector<unsigned char> file(1 << 20);
    uint64_t bytes = file.size();
    call(name_ + "save", [&] { return synfire_network_save_to_memory(network, file.data(), &bytes); });
    synfire_network other = nullptr;
    call(name_ + "create from a file",
         [&] { return synfire_network_create_from_memory(context, file.data(), bytes, nullptr, &other); });
    call(name_ + "load", [&] { return synfire_network_load_from_memory(network, file.data(), bytes); });
    call(name_ + "destroy", [&] {
      synfire_network_destroy(network);
      synfire_network_destroy(other);
      for (synfire_buffer buffer : {inputs, labels, outputs}) synfire_buffer_destroy(buffer);
      return synfire_context_reclaim(context, nullptr);
    });
  }

 private:
  synfire_buffer make(int32_t dtype, uint64_t n_elements) const {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.dtype = dtype;
    desc.n_elements = n_elements;
    synfire_buffer buffer = nullptr;
    call(name_ + "synfire_buffer_create", [&] { return synfire_buffer_create(context_, &desc, &buffer); });
    return buffer;
  }

  const synfire_context context_;
  const std::string name_;
};

void test_networks() {
  const synfire_context context = make_context(nullptr);
  for (const ModelName& model : models)
    for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64})
      for (const int64_t n_steps : {8, 40}) NetworkCalls(context, model, dtype, n_steps);
  synfire_context_destroy(context);
}

// ---- Texts ----------------------------------------------------------------------------------------------------------

// A model of three variables that is compiled at run time.
void test_loaded() {
  const synfire_context context = make_context(nullptr);
  synfire_load_desc desc = SYNFIRE_LOAD_DESC_INIT;
  desc.cache = SYNFIRE_TEST_CACHE;
  desc.time_out = 600000000000u;
  desc.file = SYNFIRE_TEST_SOURCE "/docs/examples/models/conductance_based_lif.hpp";
  synfire_model model = nullptr;
  call("synfire_model_load", [&] { return synfire_model_load(context, &desc, &model); });
  synfire_load_info info = SYNFIRE_LOAD_INFO_INIT;
  call("synfire_model_get_info", [&] { return synfire_model_get_info(model, &info); });
  synfire_check_report report = SYNFIRE_CHECK_REPORT_INIT;
  call("synfire_model_check", [&] { return synfire_model_check(model, 1, 100, &report); });
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16})
    for (const Shape& shape : {Shape{1, 1, 1}, Shape{40, 2, 700}})
      LayerCalls(context, {info.id, "the loaded model", "tau"}, dtype, shape, SYNFIRE_TAPE_RECOMPUTE);
  const NetworkCalls of_network(context, {info.id, "the loaded model", "tau"}, SYNFIRE_DTYPE_F32, 8);
  call("synfire_model_destroy", [&] {
    synfire_model_destroy(model);
    return SYNFIRE_OK;
  });
  synfire_context_destroy(context);
}

// ---- Sums of many numbers -------------------------------------------------------------------------------------------

// Reductions over more than one chunk, losses over more than one block of classes, and synapses of many inputs.
void test_operations() {
  const synfire_context context = make_context(nullptr);
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64}) {
    const auto make = [&](int32_t type, uint64_t n_elements) {
      synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
      desc.dtype = type;
      desc.n_elements = n_elements;
      synfire_buffer buffer = nullptr;
      call("synfire_buffer_create", [&] { return synfire_buffer_create(context, &desc, &buffer); });
      return buffer;
    };
    const int64_t n_steps = 3000, n_neurons = 33;
    synfire_reduce_desc reduce = SYNFIRE_REDUCE_DESC_INIT;
    reduce.n_steps = n_steps;
    reduce.n_neurons = n_neurons;
    reduce.source = make(dtype, n_steps * n_neurons);
    reduce.destination = make(dtype, n_neurons);
    for (const int32_t reduction : {SYNFIRE_REDUCE_SUM, SYNFIRE_REDUCE_MEAN, SYNFIRE_REDUCE_MAX, SYNFIRE_REDUCE_LAST}) {
      reduce.reduction = reduction;
      call("synfire_reduce", [&] { return synfire_reduce(context, &reduce, nullptr); });
    }
    synfire_loss_desc loss = SYNFIRE_LOSS_DESC_INIT;
    loss.n_classes = 3000;
    loss.batch = 2;
    loss.source = make(dtype, 6000);
    loss.targets = make(dtype, 6000);
    loss.gradient = make(dtype, 6000);
    loss.class_weights = make(SYNFIRE_DTYPE_F32, 3000);
    for (const int32_t kind : {SYNFIRE_LOSS_CROSS_ENTROPY, SYNFIRE_LOSS_MEAN_SQUARED_ERROR})
      for (const int64_t steps : {1, 1500}) {
        loss.kind = kind;
        loss.n_steps = 1;
        loss.batch = steps == 1 ? 2 : 1500;
        loss.n_classes = steps == 1 ? 3000 : 4;
        call("synfire_loss", [&] { return synfire_loss(context, &loss, nullptr); });
        if (steps == 1) loss.class_weights = nullptr;
      }
    for (const int32_t input : {SYNFIRE_INPUT_SPIKES, SYNFIRE_INPUT_VALUES})
      for (const int64_t n_inputs : {37, 1500}) {
        synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
        desc.dtype = dtype;
        desc.input_kind = input;
        desc.n_inputs = n_inputs;
        desc.n_outputs = 150;
        synfire_synapse synapse = nullptr;
        call("synfire_synapse_create", [&] { return synfire_synapse_create(context, &desc, &synapse); });
        const bool spikes = input == SYNFIRE_INPUT_SPIKES;
        const uint64_t n_rows = 40;
        const synfire_buffer source =
            spikes ? make(SYNFIRE_DTYPE_BITS, n_rows * ((static_cast<uint64_t>(n_inputs) + 31) / 32))
                   : make(dtype, n_rows * static_cast<uint64_t>(n_inputs));
        synfire_synapse_forward_desc forward = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
        forward.n_steps = 40;
        forward.input = source;
        forward.output = make(dtype, n_rows * 150);
        call("synfire_synapse_forward", [&] { return synfire_synapse_forward(synapse, &forward, nullptr); });
        synfire_synapse_backward_desc backward = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
        backward.n_steps = 40;
        backward.input = source;
        backward.grad_output = forward.output;
        backward.grad_input = make(dtype, n_rows * static_cast<uint64_t>(n_inputs));
        call("synfire_synapse_backward", [&] { return synfire_synapse_backward(synapse, &backward, nullptr); });
        synfire_synapse_destroy(synapse);
      }
  }
  synfire_context_destroy(context);
}

// A call that takes more than it may, to show that this is noticed.
void test_overflow() {
  call("40000 bytes of its own", [] {
    volatile char* const bytes = static_cast<char*>(__builtin_alloca(40000));
    for (int i = 40000; i-- > 0;) bytes[i] = 1;
    return SYNFIRE_OK;
  });
}

struct Part {
  const char* name;
  void (*test)();
};
constexpr Part parts[] = {{"layers", test_layers},         {"jobs", test_job_system}, {"networks", test_networks},
                          {"operations", test_operations}, {"loaded", test_loaded},   {"overflow", test_overflow}};

}  // namespace

int main(int argc, char** argv) {
  struct sigaction action = {};
  action.sa_sigaction = say_overflow;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
  const Part* const part = std::find_if(std::begin(parts), std::end(parts), [&](const Part& each) {
    return argc == 2 && std::strcmp(each.name, argv[1]) == 0;
  });
  if (part == std::end(parts)) {
    std::fprintf(stderr, "usage: synfire-stack-test layers|jobs|networks|operations|loaded|overflow\n");
    return 2;
  }
  part->test();
  std::printf("the deepest call took %zu bytes of stack, the deepest part of a task %zu; %zu are allowed\n",
              deepest_call.load(), deepest_part.load(), allowed);
  return n_failures == 0 ? 0 : 1;
}

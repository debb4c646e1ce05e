// The whole interface in any floating-point environment of the caller. Every byte of every result is the same as in
// the default environment, nothing traps, and each call leaves the environment as it found it, sticky flags included.
// A callback sees the caller's environment. For large work on several threads see float_environment_test.cpp.
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdio>
#include <functional>

#include "call_watch.hpp"
#include "full_rig.hpp"
#include "operation_calls.hpp"
#include "operation_samples.hpp"
#include "recording_support.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace synfire_test {
namespace {

// The current control and status words, those of the x87 unit included.
struct Environment {
#if defined(__x86_64__)
  uint32_t sse = _mm_getcsr();
  uint16_t x87 = x87_control();
  int flags = std::fetestexcept(FE_ALL_EXCEPT);

  static uint16_t x87_control() {
    uint16_t word = 0;
    __asm__ volatile("fnstcw %0" : "=m"(word));
    return word;
  }
  uint32_t control() const {
    return (sse & ~0x3Fu) << 16 | x87;
  }
#else
  int rounding = std::fegetround();
  int flags = std::fetestexcept(FE_ALL_EXCEPT);

  uint32_t control() const {
    return static_cast<uint32_t>(rounding);
  }
#endif
  bool operator==(const Environment&) const = default;
};

// Sets an environment for a scope.
struct Choice {
  const char* name;
  int rounding = FE_TONEAREST;
  bool flush = false;
  int traps = 0;
  int raised = 0;
  bool x87_of_53_bits = false;  // as Mono sets it
};

class Entered {
 public:
  explicit Entered(const Choice& choice) {
    std::fegetenv(&saved_);
    std::feclearexcept(FE_ALL_EXCEPT);
    std::fesetround(choice.rounding);
#if defined(__x86_64__)
    if (choice.flush) _mm_setcsr(_mm_getcsr() | 0x8040);
    if (choice.x87_of_53_bits) {
      const auto word = static_cast<uint16_t>((Environment::x87_control() & ~0x0300) | 0x0200);
      __asm__ volatile("fldcw %0" : : "m"(word));
    }
#elif defined(__aarch64__)
    if (choice.flush) {
      uint64_t word = 0;
      __asm__ volatile("mrs %0, fpcr" : "=r"(word));
      __asm__ volatile("msr fpcr, %0" : : "r"(word | uint64_t{1} << 24));
    }
#endif
    if (choice.raised != 0) std::feraiseexcept(choice.raised);
#if defined(__GLIBC__)
    if (choice.traps != 0) ::feenableexcept(choice.traps);
#endif
  }
  ~Entered() {
    std::fesetenv(&saved_);
#if defined(_WIN32)
    _mm_setcsr(sse_);  // mingw-w64's fesetenv() leaves flush-to-zero on
#endif
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  std::fenv_t saved_;
#if defined(_WIN32)
  const unsigned sse_ = _mm_getcsr();
#endif
};

constexpr Shape shape{35, 2, 19};

struct Number {
  const char* name;
  double value;
};
constexpr Number numbers[] = {{"tau", 3.3},         {"reciprocal_tau", 0.3},
                              {"v_rest", 0.1},      {"v_c", 0.7},
                              {"a0", 0.9},          {"delta_T", 1.3},
                              {"theta_rh", 0.8},    {"tau_w", 55.5},
                              {"a", 0.02},          {"b", 0.3},
                              {"alpha", 3.7},       {"v_threshold", 1.1},
                              {"v_reset", -0.1},    {"v_threshold", 1e300},
                              {"v_rest", 3e-42},    {"tau", 1e-310},
                              {"reciprocal_tau", 0}};
constexpr double fills[] = {0.1, 1e-41, 1e-310, 70000.0, 1e39, -1e308, 0.5, 1, 3e9};

// Everything that the calls need, created in the default environment.
class Everything {
 public:
  Everything() {
    Random random(5);
    x_ = random.values<double>(shape.sequence(), -0.5, 3.0);
    for (size_t i = 0; i < x_.size(); i += 7) x_[i] = 1e-41 * static_cast<double>(i);
    for (size_t i = 3; i < x_.size(); i += 101) x_[i] = 3e38;
    row_ = random.values<double>(shape.row(), -0.5, 0.9);
    gradient_ = random.values<double>(shape.sequence(), -1, 1);
    narrow_x_.assign(x_.begin(), x_.end());
    narrow_row_.assign(row_.begin(), row_.end());
    narrow_gradient_.assign(gradient_.begin(), gradient_.end());
    for (int64_t n = 0; n < shape.n_neurons; ++n) per_neuron_.push_back(0.7 + 0.1 * static_cast<double>(n));
    bytes_.reserve(size_t{1} << 20);
  }

  // The results of all calls, made in the current environment.
  std::vector<unsigned char> live() {
    bytes_.clear();
    mode_ = Environment();
    callback_saw_ = 0;
    Context context;
    {
      synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
      desc.backend = backend();
      desc.n_threads = 1;
      synfire_context handle = nullptr;
      answer(synfire_context_create(&desc, &handle));
      context = Context(handle);
    }
    synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
    answer(synfire_context_get_properties(context, &properties));
    add(&properties, sizeof properties);
    answer(static_cast<synfire_status>(synfire_abi_version()));
    for (const char* const text : {synfire_version_string(), synfire_status_name(SYNFIRE_OK)})
      add(text, std::strlen(text));
    int32_t id = 0;
    answer(synfire_model_id("lif", &id));
    answer(synfire_model_id("no such model", &id));
    answer(synfire_surrogate_id("atan", &id));
    for (int32_t model = SYNFIRE_MODEL_IF; model <= SYNFIRE_MODEL_IZHIKEVICH; ++model) {
      run_layer<float>(context, model);
      run_layer<double>(context, model);
    }
    run_narrow(context);
    context_of_samples_ = context;
    sample_operations(*this);
    run_elements(context);
    run_synapse(context);
    run_graph<float>(context);
    run_graph<double>(context);
    run_network(context);
    refuse_texts(context);
    answer(synfire_context_synchronize(context));
    context.reset();
    answer(synfire_context_reclaim(nullptr, nullptr));
    return bytes_;
  }
  // Runs an operation on numbers of any kind, at once and in a graph, if its descriptor can be found without help.
  template <typename Desc>
  void sample(const char* name, Desc desc, std::initializer_list<synfire_buffer Desc::*> fields,
              synfire_status (*record)(synfire_graph, const Desc*),
              synfire_status (*run)(synfire_context, const Desc*, synfire_stream)) {
    OperationSamples::Buffers buffers;
    CallWatch* const watch = CallWatch::current();
    if (watch) watch->listen(false);
    const bool found = samples_.give_buffers(context_of_samples_, name, desc, fields, record, buffers);
    if (watch) watch->listen(true);
    if (!found) return;
    const auto fill = [&] {  // numbers; zeros in all else, which may be indices
      for (const synfire_buffer one : buffers.all) {
        synfire_buffer_desc of = SYNFIRE_BUFFER_DESC_INIT;
        answer(synfire_buffer_get_desc(one, &of));
        if (of.dtype == SYNFIRE_DTYPE_F32)
          answer(synfire_buffer_upload(one, 0, narrow_x_.data(), of.n_elements * sizeof(float)));
        else if (of.dtype == SYNFIRE_DTYPE_F64)
          answer(synfire_buffer_upload(one, 0, x_.data(), of.n_elements * sizeof(double)));
        else
          answer(synfire_buffer_fill(one, 0));
      }
    };
    const auto look_at_all = [&] {
      for (const synfire_buffer one : buffers.all) look(one);
    };
    fill();
    if (run) answer(run(context_of_samples_, &desc, nullptr));
    look_at_all();
    fill();
    synfire_graph handle = nullptr;
    answer(synfire_graph_create(context_of_samples_, nullptr, &handle));
    const Graph graph(handle);
    answer(record(graph, &desc));
    answer(synfire_graph_instantiate(graph));
    uint64_t ticket = 0;
    answer(synfire_graph_launch(graph, nullptr, &ticket));
    answer(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_BLOCK, -1));
    look_at_all();
  }

  uint32_t callback_saw() const { return callback_saw_; }
  bool left_as_found() const { return Environment() == mode_; }
  const std::string& first_change() const { return first_change_; }

 private:
  void add(const void* data, size_t bytes) {
    const auto* const first = static_cast<const unsigned char*>(data);
    bytes_.insert(bytes_.end(), first, first + bytes);
  }
  // The result of a call, with its text if it failed, and the environment that it left.
  void answer(synfire_status status, int line = __builtin_LINE()) {
    const bool changed = !(Environment() == mode_);
    add(&status, sizeof status);
    synfire_last_error(text_, sizeof text_, nullptr);
    if (status < 0) add(text_, std::strlen(text_));
    if (changed && first_change_.empty())
      first_change_ = "line " + std::to_string(line) + ", text " + (status < 0 ? text_ : "none");
  }
  Buffer buffer(synfire_context context, int32_t dtype, uint64_t n) {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.dtype = dtype;
    desc.n_elements = n;
    synfire_buffer handle = nullptr;
    answer(synfire_buffer_create(context, &desc, &handle));
    return Buffer(handle);
  }
  void look(synfire_buffer buffer) {
    uint64_t bytes = 0;
    answer(synfire_buffer_get_data(buffer, nullptr, &bytes));
    std::vector<unsigned char> now(bytes);
    answer(synfire_buffer_download(buffer, 0, now.data(), bytes));
    add(now.data(), bytes);
  }
  template <typename Scalar>
  const std::vector<Scalar>& wide_or_narrow(const std::vector<double>& wide, const std::vector<float>& narrow) const {
    if constexpr (std::is_same_v<Scalar, double>) {
      (void)narrow;
      return wide;
    } else {
      (void)wide;
      return narrow;
    }
  }

  template <typename Scalar>
  void load(FullRig<Scalar>& rig) {
    const auto put = [&](synfire_buffer to, const std::vector<Scalar>& values) {
      if (to) answer(synfire_buffer_upload(to, 0, values.data(), values.size() * sizeof(Scalar)));
    };
    put(rig.x, wide_or_narrow<Scalar>(x_, narrow_x_));
    for (const Buffer* const to : {&rig.v_init, &rig.w_init, &rig.grad_v_final, &rig.grad_w_final})
      put(*to, wide_or_narrow<Scalar>(row_, narrow_row_));
    for (const Buffer* const to : {&rig.grad_spike_seq, &rig.grad_v_seq, &rig.grad_w_seq})
      put(*to, wide_or_narrow<Scalar>(gradient_, narrow_gradient_));
  }
  template <typename Scalar>
  void look_at(const FullRig<Scalar>& rig) {
    for (const Buffer* const out : {&rig.spikes, &rig.h_seq, &rig.v_seq, &rig.w_seq, &rig.v_final, &rig.w_final,
                                    &rig.grad_x_seq, &rig.grad_v_init, &rig.grad_w_init})
      if (out->get()) look(*out);
  }

  void set_and_get(synfire_layer layer) {
    for (uint32_t index = 0;; ++index) {
      synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
      const synfire_status status = synfire_layer_get_parameter_info(layer, index, &info);
      answer(status);
      if (status < 0) break;
      add(&info, offsetof(synfire_parameter_info, name));
    }
    for (const Number& number : numbers) {
      answer(synfire_layer_set_parameter(layer, number.name, &number.value, 1));
      double now = 0;
      answer(synfire_layer_get_parameter(layer, number.name, &now, 1));
      add(&now, sizeof now);
    }
    const double v_reset = -0.2;
    const synfire_parameter_values list[] = {{"v_threshold", per_neuron_.data(), per_neuron_.size()},
                                             {"v_reset", &v_reset, 1}};
    answer(synfire_layer_set_parameters(layer, list, 2));
    answer(synfire_layer_set_parameter(layer, "tau", per_neuron_.data(), per_neuron_.size()));
    std::vector<double> now(per_neuron_.size());
    for (const char* const name : {"tau", "reciprocal_tau", "v_threshold"}) {
      answer(synfire_layer_get_parameter(layer, name, now.data(), now.size()));
      add(now.data(), now.size() * sizeof(double));
    }
  }

  template <typename Scalar>
  void run_layer(synfire_context context, int32_t model) {
    synfire_layer_desc desc = describe(shape, dtype_of<Scalar>);
    desc.model = model;
    desc.surrogate = SYNFIRE_SURROGATE_SIGMOID + model * 2;
    synfire_layer_memory memory = SYNFIRE_LAYER_MEMORY_INIT;
    answer(synfire_layer_query_memory(&desc, &memory));
    add(&memory, sizeof memory);
    FullRig<Scalar> rig(context, desc);
    set_and_get(rig.layer);
    rig.ask({{"v_threshold", true}, {"v_reset", false}});
    load(rig);
    const synfire_forward_desc forward = rig.forward_desc();
    const synfire_backward_desc backward = rig.backward_desc();
    answer(synfire_layer_forward(rig.layer, &forward, nullptr));
    answer(synfire_layer_backward(rig.layer, &backward, nullptr));
    look_at(rig);
    for (uint64_t i = 0; i < backward.n_parameter_gradients; ++i) look(backward.parameter_gradients[i].gradient);
    run_state(context, rig);
  }

  template <typename Scalar>
  void run_state(synfire_context context, FullRig<Scalar>& rig) {
    std::vector<Scalar> state(shape.row());
    const uint64_t state_bytes = state.size() * sizeof(Scalar);
    answer(synfire_layer_reset_state(rig.layer, nullptr));
    synfire_forward_desc forward = rig.forward_desc();
    forward.v_init = nullptr;
    forward.w_init = nullptr;
    answer(synfire_layer_set_n_active(rig.layer, 1));
    answer(synfire_layer_forward(rig.layer, &forward, nullptr));
    answer(synfire_layer_set_n_active(rig.layer, shape.batch));
    answer(synfire_layer_read_state(rig.layer, "v", state.data(), state_bytes));
    add(state.data(), state_bytes);
    answer(synfire_layer_write_state(rig.layer, "v", wide_or_narrow<Scalar>(row_, narrow_row_).data(), state_bytes));
    synfire_layer_desc of_layer = SYNFIRE_LAYER_DESC_INIT;
    answer(synfire_layer_get_desc(rig.layer, &of_layer));
    add(&of_layer, sizeof of_layer);
    uint64_t text_bytes = 0;
    answer(synfire_layer_source(rig.layer, nullptr, &text_bytes));
    std::vector<char> text(text_bytes);
    answer(synfire_layer_source(rig.layer, text.data(), &text_bytes));
    add(text.data(), text.size());
    run_pointers<Scalar>(context, rig);
    synfire_copy_rows_desc over = SYNFIRE_COPY_ROWS_DESC_INIT;
    over.source = rig.layer;
    over.n_rows = over.destination_row = 1;
    answer(synfire_layer_copy_rows(rig.layer, &over, nullptr));
    const Buffer rows = buffer(context, dtype_of<Scalar>, shape.row());
    const synfire_state_desc all = rows_desc(0, 0, rows, "v"), reset = rows_desc(1, 1);
    answer(synfire_layer_reset_rows(rig.layer, &reset, nullptr));
    answer(synfire_layer_read_rows(rig.layer, &all, nullptr));
    answer(synfire_layer_write_rows(rig.layer, &all, nullptr));
    look(rows);
    uint64_t bytes = 0;
    answer(synfire_layer_snapshot(rig.layer, nullptr, nullptr, &bytes));
    std::vector<unsigned char> snapshot(bytes);
    answer(synfire_layer_snapshot(rig.layer, nullptr, snapshot.data(), &bytes));
    add(snapshot.data(), snapshot.size());
    answer(synfire_layer_restore(rig.layer, nullptr, snapshot.data(), bytes));
    snapshot.back() ^= 1;
    answer(synfire_layer_restore(rig.layer, nullptr, snapshot.data(), bytes));
  }

  // Both passes over addresses, from the layer's state.
  template <typename Scalar>
  void run_pointers(synfire_context context, const FullRig<Scalar>& rig) {
    const auto address = [](synfire_buffer of) {
      void* data = nullptr;
      EXPECT_OK(synfire_buffer_get_data(of, &data, nullptr));
      return data;
    };
    synfire_pointers_desc desc = SYNFIRE_POINTERS_DESC_INIT;
    uint64_t scratch_bytes = 0;
    answer(synfire_layer_get_run_memory(rig.layer, SYNFIRE_TAPE_RECOMPUTE, 0, 0, 0, &desc.tape_bytes, &scratch_bytes));
    const Buffer tape = buffer(context, SYNFIRE_DTYPE_U8, desc.tape_bytes),
                 out = buffer(context, dtype_of<Scalar>, shape.sequence());
    synfire_tape_stamp stamp = {};
    const synfire_forward_desc forward = rig.forward_desc();
    desc.x = address(forward.x);
    desc.v_seq = address(out);
    desc.tape_memory = address(tape);
    desc.stamp = &stamp;
    answer(synfire_layer_run_forward(rig.layer, &desc, nullptr));
    look(out);
    desc.grad_v_seq = desc.x;
    desc.grad_x_seq = address(out);
    answer(synfire_layer_run_backward(rig.layer, &desc, nullptr));
    look(out);
  }

  // A 16-bit layer with the tape that rounds H.
  void run_narrow(synfire_context context) {
    for (const int32_t dtype : {SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16}) {
      synfire_layer_desc desc = describe(shape, dtype);
      synfire_layer handle = nullptr;
      answer(synfire_layer_create(context, &desc, &handle));
      const Layer layer(handle);
      const Buffer x = buffer(context, SYNFIRE_DTYPE_F32, shape.sequence()),
                   out = buffer(context, dtype, shape.sequence()), in = buffer(context, dtype, shape.sequence()),
                   spikes = buffer(context, SYNFIRE_DTYPE_TIME_BITS, (35 + 31) / 32 * shape.row());
      answer(synfire_buffer_upload(x, 0, narrow_x_.data(), narrow_x_.size() * sizeof(float)));
      answer(synfire_buffer_fill(in, 0.3));
      synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
      forward.tape = SYNFIRE_TAPE_STORE_NARROW;
      forward.x = x;
      forward.h_seq = out;
      forward.spikes = spikes;
      answer(synfire_layer_forward(layer, &forward, nullptr));
      look(out);
      look(spikes);
      synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
      backward.grad_spike_seq = in;
      backward.grad_x_seq = out;
      answer(synfire_layer_backward(layer, &backward, nullptr));
      look(out);
    }
  }

  void run_elements(synfire_context context) {
    constexpr int32_t types[] = {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16,
                                 SYNFIRE_DTYPE_U8,  SYNFIRE_DTYPE_U32, SYNFIRE_DTYPE_U64};
    for (const int32_t dtype : types)
      for (const double value : fills) {
        const Buffer filled = buffer(context, dtype, 5);
        answer(synfire_buffer_fill(filled, value));
        look(filled);
      }
    for (const int32_t from : types)
      for (const int32_t to : types) {
        const Buffer source = buffer(context, from, 5), destination = buffer(context, to, 5);
        answer(synfire_buffer_fill(source, from == SYNFIRE_DTYPE_F64 ? 1e308 : 3));
        answer(synfire_buffer_fill(destination, 7));
        for (const double scale : {0.1, 1e38, 1e-40}) {
          const synfire_scale_add_desc desc = scale_add_desc(source, destination, scale, 0.7);
          answer(synfire_scale_add(context, &desc, nullptr));
          look(destination);
        }
      }
    const Buffer dense = buffer(context, SYNFIRE_DTYPE_F32, shape.sequence()),
                 packed = buffer(context, SYNFIRE_DTYPE_BITS, shape.words()),
                 total = buffer(context, SYNFIRE_DTYPE_U64, 1);
    answer(synfire_buffer_upload(dense, 0, narrow_x_.data(),
                                 narrow_x_.size() * sizeof(float)));  // subnormals count as spikes
    answer(synfire_buffer_mark_written(dense));
    synfire_convert_spikes_desc convert = SYNFIRE_CONVERT_SPIKES_DESC_INIT;
    synfire_count_spikes_desc count = SYNFIRE_COUNT_SPIKES_DESC_INIT;
    convert.n_steps = count.n_steps = shape.n_steps;
    convert.batch = count.batch = shape.batch;
    convert.n_neurons = count.n_neurons = shape.n_neurons;
    convert.source = dense;
    convert.destination = packed;
    count.kind = SYNFIRE_COUNT_TOTAL;
    count.spikes = dense;
    count.counts = total;
    answer(synfire_convert_spikes(context, &convert, nullptr));
    answer(synfire_count_spikes(context, &count, nullptr));
    look(packed);
    look(total);
    synfire_encode_bernoulli_desc encode = SYNFIRE_ENCODE_BERNOULLI_DESC_INIT;
    encode.n_steps = shape.n_steps;
    encode.batch = shape.batch;
    encode.n_neurons = shape.n_neurons;
    encode.rates_per_step = 1;
    encode.seed = 5;
    encode.spikes = packed;
    for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16}) {
      const Buffer rates = buffer(context, dtype, shape.sequence());
      for (const double rate : {0.3, 6e-8}) {  // the second one is subnormal in f16
        answer(synfire_buffer_fill(rates, rate));
        encode.rates = rates;
        answer(synfire_encode_bernoulli(context, &encode, nullptr));
        look(packed);
      }
    }
    run_reductions(context, packed);
    choose_rows(context, dense);
  }

  // The other operations that run at once: a draw of rows, their copies without NaN and infinity, and a dropout.
  void choose_rows(synfire_context context, synfire_buffer source) {
    const Buffer chosen = buffer(context, SYNFIRE_DTYPE_U32, 4), mask = buffer(context, SYNFIRE_DTYPE_BITS, 1),
                 scale = buffer(context, SYNFIRE_DTYPE_F32, 1), n_replaced = buffer(context, SYNFIRE_DTYPE_U64, 1),
                 rows = buffer(context, SYNFIRE_DTYPE_F32, 4 * shape.row());
    synfire_buffer_desc of_buffer = SYNFIRE_BUFFER_DESC_INIT;
    answer(synfire_buffer_get_desc(rows, &of_buffer));
    add(&of_buffer.dtype, sizeof of_buffer.dtype);
    synfire_shuffle_desc shuffle = SYNFIRE_SHUFFLE_DESC_INIT;
    shuffle.n_rows = shape.n_steps;
    shuffle.batch = 4;
    shuffle.indices = chosen;
    answer(synfire_shuffle(context, &shuffle, nullptr));
    synfire_gather_rows_desc gather = SYNFIRE_GATHER_ROWS_DESC_INIT;
    gather.n_rows = shape.n_steps;
    gather.n_elements = shape.batch * shape.n_neurons;
    gather.batch = 4;
    gather.source = source;
    gather.indices = chosen;
    gather.destination = rows;
    answer(synfire_gather_rows(context, &gather, nullptr));
    synfire_replace_nonfinite_desc replace = SYNFIRE_REPLACE_NONFINITE_DESC_INIT;
    replace.n_elements = 4 * shape.batch * shape.n_neurons;
    replace.source = rows;
    replace.count = n_replaced;
    replace.destination = rows;
    answer(synfire_replace_nonfinite(context, &replace, nullptr));
    synfire_dropout_desc dropout = SYNFIRE_DROPOUT_DESC_INIT;
    dropout.n_neurons = shape.n_neurons;
    dropout.probability = 0.3;
    dropout.mask = mask;
    dropout.scale = scale;
    answer(synfire_dropout(context, &dropout, nullptr));
    for (const Buffer* const out : {&chosen, &rows, &n_replaced, &mask, &scale}) look(*out);
  }

  // The products of spikes and of values, subnormal and huge among them, with their gradients, at once and in a graph.
  void run_synapse(synfire_context context) {
    for (const int32_t input : {SYNFIRE_INPUT_SPIKES, SYNFIRE_INPUT_VALUES}) {
      synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
      desc.n_inputs = shape.n_neurons;
      desc.n_outputs = 7;
      desc.input_kind = input;
      desc.bias = 1;
      desc.seed = 9;
      synfire_synapse_memory memory = SYNFIRE_SYNAPSE_MEMORY_INIT;
      answer(synfire_synapse_query_memory(&desc, &memory));
      add(&memory, sizeof memory);
      synfire_synapse synapse = nullptr;
      answer(synfire_synapse_create(context, &desc, &synapse));
      synfire_synapse_info info = SYNFIRE_SYNAPSE_INFO_INIT;
      synfire_synapse_array_info array = SYNFIRE_SYNAPSE_ARRAY_INFO_INIT;
      answer(synfire_synapse_get_info(synapse, &info));
      answer(synfire_synapse_get_array_info(synapse, 0, &array));
      synfire_synapse_rounding rounding = SYNFIRE_SYNAPSE_ROUNDING_INIT;
      answer(synfire_synapse_get_rounding(synapse, -1, &rounding));
      add(&rounding, sizeof rounding);
      int32_t exponents[7] = {};
      answer(synfire_synapse_read_integers(synapse, "exponent", exponents, 7));
      add(exponents, sizeof exponents);
      add(&info, offsetof(synfire_synapse_info, kind));
      add(&array, offsetof(synfire_synapse_array_info, name));
      const uint64_t n_products = static_cast<uint64_t>(shape.n_steps * shape.batch) * 7;
      const Buffer x = buffer(context, SYNFIRE_DTYPE_F32, shape.sequence()),
                   products = buffer(context, SYNFIRE_DTYPE_F32, n_products),
                   slopes = buffer(context, SYNFIRE_DTYPE_F32, n_products),
                   grad_x = buffer(context, SYNFIRE_DTYPE_F32, shape.sequence());
      answer(synfire_buffer_upload(x, 0, narrow_x_.data(), narrow_x_.size() * sizeof(float)));
      answer(synfire_buffer_upload(slopes, 0, narrow_gradient_.data(), n_products * sizeof(float)));
      synfire_synapse_forward_desc forward = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
      synfire_synapse_backward_desc backward = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
      forward.n_steps = backward.n_steps = shape.n_steps;
      forward.batch = backward.batch = shape.batch;
      forward.input = backward.input = x;
      forward.output = products;
      backward.grad_output = slopes;
      backward.grad_input = grad_x;
      synfire_graph handle = nullptr;
      answer(synfire_graph_create(context, nullptr, &handle));
      const Graph graph(handle);
      answer(synfire_graph_record_synapse_forward(graph, synapse, &forward));
      answer(synfire_graph_record_synapse_backward(graph, synapse, &backward));
      answer(synfire_graph_instantiate(graph));
      std::vector<float> values(static_cast<size_t>(shape.n_neurons) * 7);
      for (int i = 0; i < 2; ++i) {
        if (i == 0) {
          answer(synfire_synapse_forward(synapse, &forward, nullptr));
          answer(synfire_synapse_backward(synapse, &backward, nullptr));
        } else {
          uint64_t ticket = 0;
          answer(synfire_graph_launch(graph, nullptr, &ticket));
          answer(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_YIELD, -1));
        }
        look(products);
        look(grad_x);
        answer(synfire_synapse_read(synapse, "weight_gradient", values.data(), values.size() * sizeof(float)));
        add(values.data(), values.size() * sizeof(float));
        answer(synfire_synapse_read(synapse, "bias_gradient", values.data(), 7 * sizeof(float)));
        add(values.data(), 7 * sizeof(float));
      }
      synfire_synapse_destroy(synapse);
    }
  }

  // A text of the library, whose size is asked for first.
  template <typename Call>
  void read_text(Call call) {
    uint64_t bytes = 0;
    answer(call(nullptr, &bytes));
    std::vector<char> text(bytes);
    answer(call(text.data(), &bytes));
    add(text.data(), text.size());
  }

  // A network of every kind of stage: described, built, trained, tested, run, saved and loaded.
  void run_network(synfire_context context) {
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.n_steps = 5;
    desc.batch = 2;
    // One rank; on a GPU it is refused.
    synfire_communicator_desc of_ranks = SYNFIRE_COMMUNICATOR_DESC_INIT;
    of_ranks.transport = SYNFIRE_TRANSPORT_LOOPBACK;
    of_ranks.size = 1;
    synfire_communicator communicator = nullptr;
    answer(synfire_communicator_create(context, &of_ranks, &communicator));
    synfire_communicator_properties place = SYNFIRE_COMMUNICATOR_PROPERTIES_INIT;
    answer(synfire_communicator_get_properties(communicator, &place));
    add(&place, sizeof place);
    answer(synfire_communicator_barrier(communicator));
    answer(synfire_communicator_abort(communicator));
    synfire_communicator_destroy(communicator);
    synfire_network network = nullptr;
    answer(synfire_network_create(context, &desc, &network));
    answer(synfire_network_add_input(network, "rates", SYNFIRE_NETWORK_INPUT_RATES, 9));
    answer(synfire_network_set_value(network, "rates", "seed", 11));
    answer(synfire_network_add_dropout(network, "dropout", 0.25));
    answer(synfire_network_add_synapse(network, "first", 7));
    const std::vector<uint8_t> every(63, 1);
    answer(synfire_network_set_mask(network, "first", every.data(), every.size()));
    answer(synfire_network_add_neurons(network, "hidden", SYNFIRE_MODEL_PLIF));
    answer(synfire_network_train_parameter(network, "hidden", "tau", 1, 1, 0, 1.1, HUGE_VAL));
    answer(synfire_network_set_scope(network, "hidden", "tau", SYNFIRE_SCOPE_NEURON));
    const synfire_stage_value values[] = {{"scope", "layer", 0}, {"initial_weight", nullptr, 0.5}};
    const synfire_stage_input of_hidden = {"hidden", nullptr, 0};
    synfire_stage_desc scale = SYNFIRE_STAGE_DESC_INIT;
    scale.kind = "scale";
    scale.name = "scale";
    scale.inputs = &of_hidden;
    scale.n_inputs = 1;
    scale.values = values;
    scale.n_values = 2;
    answer(synfire_network_add_stage(network, &scale));
    answer(synfire_network_add_synapse(network, "second", 3));
    answer(synfire_network_add_neurons(network, "last", SYNFIRE_MODEL_LI));
    answer(synfire_network_add_readout(network, "readout", SYNFIRE_READOUT_MEAN, 0));
    answer(synfire_network_add_loss(network, "loss", SYNFIRE_LOSS_CROSS_ENTROPY));
    constexpr float weights[] = {1, 0.5F, 2};
    answer(synfire_network_set_class_weights(network, "loss", weights, 3));
    answer(synfire_network_add_optimizer(network, "optimizer", SYNFIRE_OPTIMIZER_KIND_ADAMW, 0.01));
    answer(synfire_network_keep(network, "hidden.counts hidden.monitor first.monitor"));
    synfire_network_memory memory = SYNFIRE_NETWORK_MEMORY_INIT;
    answer(synfire_network_query_memory(network, &memory));
    add(&memory, sizeof memory);
    synfire_memory_use use = SYNFIRE_MEMORY_USE_INIT;
    answer(synfire_network_get_memory_use(network, &use));
    const auto summary = [&](char* text, uint64_t* bytes) {
      return synfire_network_write_summary(network, text, bytes);
    };
    const auto picture = [&](char* text, uint64_t* bytes) { return synfire_network_write_dot(network, text, bytes); };
    const auto file = [&](char* text, uint64_t* bytes) { return synfire_network_save_to_memory(network, text, bytes); };
    read_text(summary);
    answer(synfire_network_build(network));
    const Buffer inputs = buffer(context, SYNFIRE_DTYPE_F32, 45), labels = buffer(context, SYNFIRE_DTYPE_U32, 5),
                 outputs = buffer(context, SYNFIRE_DTYPE_F32, 15);
    answer(synfire_buffer_fill(inputs, 0.4));
    answer(synfire_buffer_fill(labels, 1));
    for (const int32_t set : {SYNFIRE_DATA_TRAINING, SYNFIRE_DATA_EVALUATION})
      answer(synfire_network_set_data(network, set, 5, inputs, labels, nullptr, nullptr, nullptr));
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    answer(synfire_network_train(network, 4, &result));
    add(&result, sizeof result);
    for (const char* const stage : {"hidden", "first"}) {
      synfire_network_monitor monitor = SYNFIRE_NETWORK_MONITOR_INIT;
      answer(synfire_network_get_monitor(network, stage, 1, &monitor));
      add(&monitor, sizeof monitor);
    }
    answer(synfire_network_evaluate(network, &result));
    add(&result, sizeof result);
    answer(synfire_network_infer(network, inputs, 5, outputs));
    const synfire_network_array arrays[] = {{"rates", SYNFIRE_ARRAY_INPUTS, 0, inputs},
                                            {"readout", SYNFIRE_ARRAY_OUTPUTS, 0, outputs}};
    answer(synfire_network_infer_arrays(network, 5, arrays, 2));
    const synfire_network_array data[] = {{"rates", SYNFIRE_ARRAY_INPUTS, 0, inputs},
                                          {"loss", SYNFIRE_ARRAY_LABELS, 0, labels}};
    answer(synfire_network_set_arrays(network, SYNFIRE_DATA_EVALUATION, 5, data, 2));
    synfire_stage_result loss = {"loss", 0, 0, 0};
    answer(synfire_network_evaluate_stages(network, &loss, 1, &result));
    answer(synfire_network_train_stages(network, 1, &loss, 1, &result));
    answer(synfire_network_reset_rows(network, 1, 1));
    look(outputs);
    double tau = 0;
    answer(synfire_network_get_value(network, "last", "tau", &tau));
    add(&tau, sizeof tau);
    look_at_parts(network);
    read_text(summary);
    read_text(picture);
    read_text(file);
    save_and_load(context, network);
    answer(synfire_network_reset_state(network));
    read_text(file);
    synfire_network_destroy(network);
  }

  void look_at_parts(synfire_network network) {
    synfire_synapse synapse = nullptr;
    synfire_layer layer = nullptr;
    synfire_optimizer optimizer = nullptr;
    synfire_graph graph = nullptr;
    synfire_buffer input = nullptr;
    answer(synfire_network_get_synapse(network, "first", &synapse));
    answer(synfire_network_get_layer(network, "hidden", &layer));
    answer(synfire_network_get_optimizer(network, "optimizer", &optimizer));
    answer(synfire_network_get_graph(network, SYNFIRE_NETWORK_GRAPH_INFERENCE, &graph));
    answer(synfire_network_get_buffer(network, "input", &input));
    synfire_optimizer_memory memory = SYNFIRE_OPTIMIZER_MEMORY_INIT;
    answer(synfire_optimizer_query_memory(optimizer, &memory));
    add(&memory, sizeof memory);
    void* frame = nullptr;
    answer(synfire_graph_get_slot(graph, 0, input, &frame, nullptr));
    std::vector<double> taus(7);
    answer(synfire_layer_get_parameter(layer, "tau", taus.data(), taus.size()));
    add(taus.data(), taus.size() * sizeof(double));
    synfire_buffer_destroy(input);
    synfire_graph_destroy(graph);
    synfire_optimizer_destroy(optimizer);
    synfire_layer_destroy(layer);
    synfire_synapse_destroy(synapse);
  }

  void save_and_load(synfire_context context, synfire_network network) {
    // No std::filesystem::path, which raises a flag itself when it grows.
    const std::string path =
        testing::TempDir() + "any_environment_" + std::to_string(reinterpret_cast<uintptr_t>(this)) + ".safetensors";
    answer(synfire_network_save(network, path.c_str()));
    answer(synfire_network_load(network, path.c_str()));
    synfire_array_source bias = {"first.bias", nullptr, nullptr, 0, 0};
    answer(synfire_network_load_arrays(network, path.c_str(), &bias, 1, 0));
    add(&bias.is_loaded, sizeof bias.is_loaded);
    synfire_network made = nullptr;
    answer(synfire_network_create_from_file(context, path.c_str(), nullptr, &made));
    synfire_network_destroy(made);
    uint64_t bytes = 0;
    answer(synfire_network_save_to_memory(network, nullptr, &bytes));
    std::vector<unsigned char> file(bytes);
    answer(synfire_network_save_to_memory(network, file.data(), &bytes));
    answer(synfire_network_load_from_memory(network, file.data(), bytes));
    synfire_array_source weights[] = {{"second.weights", nullptr, "oi", 0, 0},
                                      {"nothing", "second.bias", nullptr, 0, 0}};
    answer(synfire_network_load_arrays_from_memory(network, file.data(), bytes, weights, 2, 1));
    add(&weights[0].is_loaded, sizeof weights[0].is_loaded);
    add(&weights[1].is_loaded, sizeof weights[1].is_loaded);
    answer(synfire_network_create_from_memory(context, file.data(), bytes, nullptr, &made));
    synfire_network_destroy(made);
    file.back() ^= 1;
    answer(synfire_network_load_from_memory(network, file.data(), bytes - 1));
    uint64_t n_shards = 0;
    answer(synfire_network_save_shards(network, path.c_str(), 0, &n_shards));
    add(&n_shards, sizeof n_shards);
    std::remove(path.c_str());
    train_on_files(network, path);
  }

  // The rows are the bytes of two arrays of NumPy.
  void train_on_files(synfire_network network, const std::string& path) {
    const auto write = [&](const std::string& to, std::string header, const std::vector<float>& values) {
      header.resize(118, ' ');
      std::FILE* const file = std::fopen(to.c_str(), "wb");
      std::fwrite("\x93NUMPY\1\0\x76\0", 1, 10, file);
      std::fwrite(header.data(), 1, header.size(), file);
      std::fwrite(values.data(), sizeof(float), values.size(), file);
      std::fclose(file);
    };
    const std::string inputs = path + ".inputs.npy", labels = path + ".labels.npy";
    write(inputs, "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 9)}", std::vector<float>(45, 0.25f));
    write(labels, "{'descr': '<u4', 'fortran_order': False, 'shape': (5,)}", std::vector<float>(5, 0.0f));
    const synfire_data_file files[] = {{inputs.c_str(), nullptr, nullptr, SYNFIRE_ARRAY_INPUTS, 0},
                                       {labels.c_str(), nullptr, nullptr, SYNFIRE_ARRAY_LABELS, 0}};
    synfire_network_data_desc desc = SYNFIRE_NETWORK_DATA_DESC_INIT;
    desc.block_rows = desc.window_blocks = 1;
    answer(synfire_network_open_data(network, SYNFIRE_DATA_TRAINING, files, 2, &desc));
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    answer(synfire_network_train(network, 2, &result));
    add(&result.loss, sizeof result.loss);
    std::remove(inputs.c_str());
    std::remove(labels.c_str());
  }

  // A compiler is not part of the interface, so nothing is loaded as text here: each call is refused.
  void refuse_texts(synfire_context context) {
    const synfire_load_desc desc = SYNFIRE_LOAD_DESC_INIT;
    synfire_load_info info = SYNFIRE_LOAD_INFO_INIT;
    synfire_check_report report = SYNFIRE_CHECK_REPORT_INIT;
    synfire_model model = nullptr;
    synfire_surrogate surrogate = nullptr;
    answer(synfire_model_load(context, &desc, &model));
    answer(synfire_surrogate_load(context, &desc, &surrogate));
    answer(synfire_model_get_info(model, &info));
    answer(synfire_surrogate_get_info(surrogate, &info));
    answer(synfire_model_check(model, 1, 1, &report));
    answer(synfire_surrogate_check(surrogate, 1, 1, &report));
    synfire_model_destroy(model);
    synfire_surrogate_destroy(surrogate);
  }

  static synfire_combine_desc combine_desc(const synfire_buffer (&sources)[2], synfire_buffer destination) {
    synfire_combine_desc desc = SYNFIRE_COMBINE_DESC_INIT;
    desc.n_steps = shape.n_steps;
    desc.batch = shape.batch;
    desc.n_neurons = shape.n_neurons;
    desc.sources = sources;
    desc.n_sources = 2;
    desc.destination = destination;
    return desc;
  }
  // Reductions of numbers and of spikes, with their gradients; a sum of both; and the rate of the spikes.
  void run_reductions(synfire_context context, synfire_buffer spikes) {
    const Buffer dense = buffer(context, SYNFIRE_DTYPE_F32, shape.sequence()),
                 row = buffer(context, SYNFIRE_DTYPE_F32, shape.row()),
                 gradient = buffer(context, SYNFIRE_DTYPE_F16, shape.sequence()),
                 loss = buffer(context, SYNFIRE_DTYPE_F32, 1);
    answer(synfire_buffer_upload(dense, 0, narrow_x_.data(), narrow_x_.size() * sizeof narrow_x_[0]));
    for (int32_t reduction = SYNFIRE_REDUCE_SUM; reduction <= SYNFIRE_REDUCE_LAST; ++reduction) {
      synfire_reduce_desc reduce = SYNFIRE_REDUCE_DESC_INIT;
      reduce.reduction = reduction;
      reduce.n_steps = shape.n_steps;
      reduce.batch = shape.batch;
      reduce.n_neurons = shape.n_neurons;
      reduce.destination = row;
      for (const synfire_buffer source : {spikes, dense.get()}) {
        reduce.source = source;
        answer(synfire_reduce(context, &reduce, nullptr));
        look(row);
      }
      synfire_reduce_backward_desc backward = SYNFIRE_REDUCE_BACKWARD_DESC_INIT;
      backward.reduction = reduction;
      backward.n_steps = shape.n_steps;
      backward.batch = shape.batch;
      backward.n_neurons = shape.n_neurons;
      backward.grad_destination = row;
      backward.source = dense;
      backward.grad_source = gradient;
      for (backward.accumulate = 0; backward.accumulate < 2; ++backward.accumulate) {
        answer(synfire_reduce_backward(context, &backward, nullptr));
        look(gradient);
      }
    }
    const Buffer sum = buffer(context, SYNFIRE_DTYPE_F16, shape.sequence());
    const synfire_buffer terms[] = {dense, spikes};
    const synfire_combine_desc combine = combine_desc(terms, sum);
    answer(synfire_combine(context, &combine, nullptr));
    look(sum);
    synfire_rate_loss_desc rate = SYNFIRE_RATE_LOSS_DESC_INIT;
    rate.n_steps = shape.n_steps;
    rate.batch = shape.batch;
    rate.n_neurons = shape.n_neurons;
    rate.target = 0.1;
    rate.strength = 1e-6;
    rate.spikes = spikes;
    rate.loss = loss;
    rate.grad_spike_seq = gradient;
    for (rate.whole_layer = 0; rate.whole_layer < 2; ++rate.whole_layer) {
      answer(synfire_rate_loss(context, &rate, nullptr));
      look(loss);
      look(gradient);
    }
    compute_losses(context, dense);
    take_steps(context);
    scale_inputs(context);
    encode_inputs(context);
    delay_spikes(context);
    slide_kernels(context);
    normalize_maps(context);
  }

  // Convolutions over the same numbers, with their gradients: values, then those above 0 as spikes.
  void slide_kernels(synfire_context context) {
    constexpr int64_t width = 19, channels = 7;
    const std::vector<float> values(narrow_x_.begin(), narrow_x_.begin() + width * channels);
    for (const int32_t kind : {SYNFIRE_INPUT_SPIKES, SYNFIRE_INPUT_VALUES})
      for (const int32_t transposed : {0, 1}) {
        synfire_conv2d_desc of_synapse = SYNFIRE_CONV2D_DESC_INIT;
        of_synapse.input_kind = kind;
        of_synapse.transposed = transposed;
        of_synapse.width = width;
        of_synapse.channels = of_synapse.output_channels = channels;
        of_synapse.kernel_width = 3;
        of_synapse.padding_x = 1;
        of_synapse.bias = 1;
        of_synapse.gain = 1e-30;
        synfire_synapse_memory memory = SYNFIRE_SYNAPSE_MEMORY_INIT;
        answer(synfire_synapse_query_memory_conv2d(&of_synapse, &memory));
        synfire_synapse synapse = nullptr;
        answer(synfire_synapse_create_conv2d(context, &of_synapse, &synapse));
        const Buffer x = make_buffer_of(context, values), y = make_buffer(context, SYNFIRE_DTYPE_F32, values.size()),
                     dx = make_buffer(context, SYNFIRE_DTYPE_F32, values.size());
        synfire_synapse_forward_desc forward = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
        forward.n_steps = 1;
        forward.input = x;
        forward.output = y;
        answer(synfire_synapse_forward(synapse, &forward, nullptr));
        look(y);
        synfire_synapse_backward_desc backward = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
        backward.n_steps = 1;
        backward.input = backward.grad_output = x;
        backward.grad_input = dx;
        answer(synfire_synapse_backward(synapse, &backward, nullptr));
        look(dx);
        std::vector<float> gradient(channels * channels * 3);
        answer(synfire_synapse_read(synapse, "weight_gradient", gradient.data(), gradient.size() * sizeof(float)));
        add(gradient.data(), gradient.size() * sizeof(float));
        synfire_synapse_destroy(synapse);
      }
    // The gradient of a maximum needs its source.
    const Buffer x = make_buffer_of(context, values), dx = make_buffer(context, SYNFIRE_DTYPE_F32, values.size());
    synfire_pool_backward_desc spread = SYNFIRE_POOL_BACKWARD_DESC_INIT;
    spread.n_steps = 1;
    spread.width = width;
    spread.channels = channels;
    spread.kernel_width = 3;
    spread.stride_x = 2;
    spread.source = spread.grad_destination = x;
    spread.grad_source = dx;
    answer(synfire_pool_backward(context, &spread, nullptr));
    look(dx);
    const Graph graph = make_graph(context);
    answer(synfire_graph_record_pool_backward(graph, &spread));
    answer(synfire_graph_instantiate(graph));
    uint64_t ticket = 0;
    answer(synfire_graph_launch(graph, nullptr, &ticket));
    answer(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_BLOCK, -1));
    look(dx);
  }

  // A normalisation of the same numbers, at once and recorded, with its gradients.
  void normalize_maps(synfire_context context) {
    constexpr int64_t width = 19, channels = 7;
    const std::vector<float> values(narrow_x_.begin(), narrow_x_.begin() + width * channels);
    const Buffer y = make_buffer_of(context, values), x = make_buffer(context, SYNFIRE_DTYPE_F32, values.size()),
                 dy = make_buffer(context, SYNFIRE_DTYPE_F32, values.size()),
                 mean = make_buffer_of(context, std::vector<float>(channels, 1e-30f)),
                 variance = make_buffer_of(context, std::vector<float>(channels, 1e-30f)),
                 saved = make_buffer(context, SYNFIRE_DTYPE_U64, 4 * channels),
                 grad_gamma = make_buffer(context, SYNFIRE_DTYPE_F32, channels);
    const Graph graph = make_graph(context);
    for (const int32_t mode : {SYNFIRE_NORMALIZE_TRAINING, SYNFIRE_NORMALIZE_EVALUATION}) {
      synfire_normalize_desc forward = SYNFIRE_NORMALIZE_DESC_INIT;
      forward.mode = mode;
      forward.n_steps = 1;
      forward.width = width;
      forward.channels = channels;
      forward.epsilon = 1e-50;
      forward.source = y;
      forward.destination = x;
      forward.running_mean = mean;
      forward.running_variance = variance;
      forward.saved = saved;
      answer(synfire_normalize(context, &forward, nullptr));
      answer(synfire_graph_record_normalize(graph, &forward));
      synfire_normalize_backward_desc backward = SYNFIRE_NORMALIZE_BACKWARD_DESC_INIT;
      backward.mode = mode;
      backward.n_steps = 1;
      backward.width = width;
      backward.channels = channels;
      backward.source = backward.grad_destination = y;
      backward.saved = saved;
      backward.grad_source = dy;
      backward.grad_gamma = grad_gamma;
      answer(synfire_normalize_backward(context, &backward, nullptr));
      for (const synfire_buffer result : {x.get(), dy.get(), grad_gamma.get(), mean.get(), variance.get()})
        look(result);
      answer(synfire_graph_record_normalize_backward(graph, &backward));
    }
    answer(synfire_graph_instantiate(graph));
    uint64_t ticket = 0;
    answer(synfire_graph_launch(graph, nullptr, &ticket));
    answer(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_BLOCK, -1));
    for (const synfire_buffer result : {x.get(), dy.get(), variance.get()}) look(result);
  }

  // A one-to-one synapse over the same numbers, with its gradients and a step.
  void scale_inputs(synfire_context context) {
    constexpr int64_t n = 19 * 7;
    const std::vector<float> values(narrow_x_.begin(), narrow_x_.begin() + n);
    for (const int32_t kind : {SYNFIRE_INPUT_SPIKES, SYNFIRE_INPUT_VALUES})
      for (const int32_t scope : {SYNFIRE_SCOPE_NEURON, SYNFIRE_SCOPE_LAYER}) {
        synfire_one_to_one_desc of_synapse = SYNFIRE_ONE_TO_ONE_DESC_INIT;
        of_synapse.input_kind = kind;
        of_synapse.scope = scope;
        of_synapse.channels = n;
        of_synapse.bias = 1;
        of_synapse.initial_weight = 1e-30;
        synfire_synapse_memory memory = SYNFIRE_SYNAPSE_MEMORY_INIT;
        answer(synfire_synapse_query_memory_one_to_one(&of_synapse, &memory));
        synfire_synapse synapse = nullptr;
        answer(synfire_synapse_create_one_to_one(context, &of_synapse, &synapse));
        const Buffer x = make_buffer_of(context, values), y = make_buffer(context, SYNFIRE_DTYPE_F32, values.size()),
                     dx = make_buffer(context, SYNFIRE_DTYPE_F32, values.size());
        synfire_synapse_forward_desc forward = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
        forward.n_steps = 1;
        forward.input = x;
        forward.output = y;
        answer(synfire_synapse_forward(synapse, &forward, nullptr));
        look(y);
        synfire_synapse_backward_desc backward = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
        backward.n_steps = 1;
        backward.input = backward.grad_output = x;
        backward.grad_input = dx;
        answer(synfire_synapse_backward(synapse, &backward, nullptr));
        look(dx);
        std::vector<float> gradient(scope == SYNFIRE_SCOPE_NEURON ? values.size() : 1);
        for (const char* const name : {"weight_gradient", "bias_gradient"}) {
          answer(synfire_synapse_read(synapse, name, gradient.data(), gradient.size() * sizeof(float)));
          add(gradient.data(), gradient.size() * sizeof(float));
        }
        synfire_optimizer_desc of_optimizer = SYNFIRE_OPTIMIZER_DESC_INIT;
        synfire_optimizer optimizer = nullptr;
        answer(synfire_optimizer_create(context, &of_optimizer, &optimizer));
        answer(synfire_optimizer_add_array(optimizer, synapse, "bias", 1, 0));
        const synfire_optimizer_step_desc step = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
        answer(synfire_optimizer_step(optimizer, &step, nullptr));
        answer(synfire_synapse_read(synapse, "bias", gradient.data(), gradient.size() * sizeof(float)));
        add(gradient.data(), gradient.size() * sizeof(float));
        synfire_optimizer_destroy(optimizer);
        synfire_synapse_destroy(synapse);
      }
  }

  // Delays that are learnt: narrow ones, whose weights are tiny, and gradients that are subnormal.
  void delay_spikes(synfire_context context) {
    constexpr int64_t n_steps = 5, n_inputs = 19, n_outputs = 7;
    constexpr size_t n_connections = n_inputs * n_outputs;
    synfire_delayed_desc of_synapse = SYNFIRE_DELAYED_DESC_INIT;
    of_synapse.n_inputs = n_inputs;
    of_synapse.n_outputs = n_outputs;
    of_synapse.max_delay = 6;
    of_synapse.learn_delays = 1;
    of_synapse.width = 0.3;
    synfire_synapse_memory memory = SYNFIRE_SYNAPSE_MEMORY_INIT;
    answer(synfire_synapse_query_memory_delayed(&of_synapse, &memory));
    synfire_synapse synapse = nullptr;
    answer(synfire_synapse_create_delayed(context, &of_synapse, &synapse));
    std::vector<float> spikes(n_steps * n_inputs), gradients(n_steps * n_outputs), sums(n_connections);
    for (size_t i = 0; i < spikes.size(); ++i) spikes[i] = i % 3 == 0 ? 1.0F : 0.0F;
    // Subnormal numbers by their bits: a product would raise flags here.
    for (size_t i = 0; i < gradients.size(); ++i) {
      const uint32_t bits = (i % 2 == 0 ? 0x80000000U : 0U) | (static_cast<uint32_t>(i) * 92'821U + 1U);
      std::memcpy(&gradients[i], &bits, sizeof bits);
    }
    const Buffer x = make_buffer_of(context, spikes), y = make_buffer(context, SYNFIRE_DTYPE_F32, gradients.size()),
                 dy = make_buffer_of(context, gradients), dx = make_buffer(context, SYNFIRE_DTYPE_F32, spikes.size());
    synfire_synapse_forward_desc forward = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
    forward.n_steps = n_steps;
    forward.input = x;
    forward.output = y;
    answer(synfire_synapse_forward(synapse, &forward, nullptr));
    look(y);
    synfire_synapse_backward_desc backward = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
    backward.n_steps = n_steps;
    backward.input = x;
    backward.grad_output = dy;
    backward.grad_input = dx;
    answer(synfire_synapse_backward(synapse, &backward, nullptr));
    look(dx);
    for (const char* const name : {"weight_gradient", "delay_gradient"}) {
      answer(synfire_synapse_read(synapse, name, sums.data(), sums.size() * sizeof(float)));
      add(sums.data(), sums.size() * sizeof(float));
    }
    synfire_synapse_destroy(synapse);
  }

  // A population code of the same numbers: tiny activities, and gradients that are subnormal.
  void encode_inputs(synfire_context context) {
    constexpr int64_t n = 19 * 7, n_cells = 3;
    std::vector<float> values(narrow_x_.begin(), narrow_x_.begin() + n), gradients(values.size() * n_cells);
    for (size_t i = 0; i < gradients.size(); ++i) gradients[i] = values[i / n_cells];
    synfire_population_desc of_synapse = SYNFIRE_POPULATION_DESC_INIT;
    of_synapse.channels = n;
    of_synapse.n_cells = n_cells;
    of_synapse.sigma = 0.25;
    synfire_synapse_memory memory = SYNFIRE_SYNAPSE_MEMORY_INIT;
    answer(synfire_synapse_query_memory_population(&of_synapse, &memory));
    synfire_synapse synapse = nullptr;
    answer(synfire_synapse_create_population(context, &of_synapse, &synapse));
    const Buffer x = make_buffer_of(context, values), y = make_buffer(context, SYNFIRE_DTYPE_F32, gradients.size()),
                 dy = make_buffer_of(context, gradients), dx = make_buffer(context, SYNFIRE_DTYPE_F32, values.size());
    synfire_synapse_forward_desc forward = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
    forward.n_steps = 1;
    forward.input = x;
    forward.output = y;
    answer(synfire_synapse_forward(synapse, &forward, nullptr));
    look(y);
    synfire_synapse_backward_desc backward = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
    backward.n_steps = 1;
    backward.input = x;
    backward.grad_output = dy;
    backward.grad_input = dx;
    answer(synfire_synapse_backward(synapse, &backward, nullptr));
    look(dx);
    for (const char* const name : {"mu_gradient", "sigma_gradient"}) {
      answer(synfire_synapse_read(synapse, name, gradients.data(), gradients.size() * sizeof(float)));
      add(gradients.data(), gradients.size() * sizeof(float));
    }
    synfire_synapse_destroy(synapse);
  }

  // Over weights and gradients that are subnormal or huge among them.
  void take_steps(synfire_context context) {
    synfire_synapse_desc of_synapse = SYNFIRE_SYNAPSE_DESC_INIT;
    of_synapse.n_inputs = 19;
    of_synapse.n_outputs = 7;
    of_synapse.bias = 1;
    of_synapse.seed = 3;
    synfire_optimizer_desc of_optimizer = SYNFIRE_OPTIMIZER_DESC_INIT;
    of_optimizer.kind = SYNFIRE_OPTIMIZER_KIND_ADAMW;
    of_optimizer.clip_norm = 1;
    synfire_synapse synapse = nullptr;
    synfire_optimizer optimizer = nullptr;
    answer(synfire_synapse_create(context, &of_synapse, &synapse));
    answer(synfire_optimizer_create(context, &of_optimizer, &optimizer));
    answer(synfire_optimizer_add_weights(optimizer, synapse, 0.3, 1));
    answer(synfire_optimizer_add_bias(optimizer, synapse, 1, 0));
    answer(synfire_optimizer_add_array(optimizer, synapse, "weight", 1, 0));  // a second time, which is refused
    const synfire_layer_desc of_layer = describe(shape, SYNFIRE_DTYPE_F32);
    synfire_layer handle = nullptr;
    answer(synfire_layer_create(context, &of_layer, &handle));
    const Layer layer(handle);
    const Buffer slope = buffer(context, SYNFIRE_DTYPE_F32, 1);
    answer(synfire_buffer_fill(slope, 0.1));
    answer(synfire_optimizer_add_parameter(optimizer, layer, "tau", slope, 1, 0, 1.1, HUGE_VAL));
    const synfire_optimizer_step_desc step = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
    std::vector<float> values(narrow_x_.begin(), narrow_x_.begin() + 19 * 7);
    const uint64_t bytes = values.size() * sizeof(float);
    answer(synfire_synapse_write(synapse, "weight_gradient", values.data(), bytes));
    for (int i = 0; i < 3; ++i) answer(synfire_optimizer_step(optimizer, &step, nullptr));
    answer(synfire_optimizer_set_factors(optimizer, 0, 0.5, 1, 0));
    {
      synfire_graph made = nullptr;
      answer(synfire_graph_create(context, nullptr, &made));
      const Graph graph(made);
      answer(synfire_graph_record_optimizer_step(graph, optimizer, &step));
      answer(synfire_graph_instantiate(graph));
      uint64_t ticket = 0;
      answer(synfire_graph_launch(graph, nullptr, &ticket));
      answer(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_YIELD, -1));
    }
    answer(synfire_context_synchronize(context));
    double tau = 0;
    answer(synfire_layer_get_parameter(layer, "tau", &tau, 1));
    add(&tau, sizeof tau);
    for (const char* const name : {"moment1", "moment2"}) {
      answer(synfire_optimizer_read(optimizer, 0, name, values.data(), bytes));
      add(values.data(), bytes);
      answer(synfire_optimizer_write(optimizer, 0, name, values.data(), bytes));
    }
    answer(synfire_synapse_read(synapse, "weight", values.data(), bytes));
    add(values.data(), bytes);
    synfire_optimizer_destroy(optimizer);
    synfire_synapse_destroy(synapse);
  }

  // Predictions that are subnormal or huge among them.
  void compute_losses(synfire_context context, synfire_buffer predictions) {
    const Buffer gradient = buffer(context, SYNFIRE_DTYPE_F32, shape.sequence()),
                 losses = buffer(context, SYNFIRE_DTYPE_F32, static_cast<size_t>(shape.n_steps * shape.batch)),
                 loss = buffer(context, SYNFIRE_DTYPE_F32, 1),
                 labels = buffer(context, SYNFIRE_DTYPE_U32, static_cast<size_t>(shape.batch));
    answer(synfire_buffer_fill(labels, 3));
    synfire_loss_desc desc = loss_desc(predictions, labels, gradient);
    desc.loss = loss;
    desc.losses = losses;
    for (const int32_t kind : {SYNFIRE_LOSS_CROSS_ENTROPY, SYNFIRE_LOSS_MEAN_SQUARED_ERROR})
      for (const double scale : {0.3, 1e-40}) {
        desc.kind = kind;
        desc.gradient_scale = scale;
        answer(synfire_loss(context, &desc, nullptr));
        look(gradient);
        look(losses);
        look(loss);
      }
  }

  static synfire_loss_desc loss_desc(synfire_buffer predictions, synfire_buffer labels, synfire_buffer gradient) {
    synfire_loss_desc desc = SYNFIRE_LOSS_DESC_INIT;
    desc.n_steps = shape.n_steps;
    desc.batch = shape.batch;
    desc.n_classes = shape.n_neurons;
    desc.source = predictions;
    desc.labels = labels;
    desc.gradient = gradient;
    return desc;
  }

  static synfire_status SYNFIRE_CALL native(void* user, const synfire_native_call*) {
    static_cast<Everything*>(user)->callback_saw_ = Environment().control();
    return SYNFIRE_OK;
  }

  // One update of a parameter of PLIF, by either name.
  template <typename Scalar>
  void run_graph(synfire_context context) {
    for (const char* const name : {"tau", "reciprocal_tau"}) {
      synfire_layer_desc desc = describe(shape, dtype_of<Scalar>);
      desc.model = SYNFIRE_MODEL_PLIF;
      FullRig<Scalar> rig(context, desc);
      answer(synfire_buffer_fill(rig.x, 0.9));
      rig.ask({{name, false}});
      synfire_graph handle = nullptr;
      answer(synfire_graph_create(context, nullptr, &handle));
      const Graph graph(handle);
      const synfire_forward_desc forward = rig.forward_desc();
      const synfire_backward_desc backward = rig.backward_desc();
      const Buffer other = buffer(context, dtype_of<Scalar>, shape.sequence()),
                   snapshot = buffer(context, SYNFIRE_DTYPE_U8, 4096),
                   row = buffer(context, dtype_of<Scalar>, shape.row()),
                   words = buffer(context, SYNFIRE_DTYPE_BITS, shape.words()),
                   counts = buffer(context, SYNFIRE_DTYPE_U32, shape.row()),
                   rates = buffer(context, SYNFIRE_DTYPE_F32, shape.row()),
                   drawn = buffer(context, SYNFIRE_DTYPE_TIME_BITS, (shape.n_steps + 31) / 32 * shape.row());
      answer(synfire_buffer_fill(rates, 0.3));
      answer(synfire_graph_record_forward(graph, rig.layer, &forward));
      answer(synfire_graph_record_backward(graph, rig.layer, &backward));
      synfire_update_parameter_desc update = update_desc(name, backward.parameter_gradients[0].gradient, 0.01);
      update.bounds = SYNFIRE_BOUND_LOWER | SYNFIRE_BOUND_UPPER;
      update.lower = 3;
      update.upper = 1e-300;
      answer(synfire_graph_record_update_parameter(graph, rig.layer, &update));  // no value lies between these bounds
      update.bounds = SYNFIRE_BOUND_LOWER;
      update.lower = 0.05;
      answer(synfire_graph_record_update_parameter(graph, rig.layer, &update));
      synfire_fill_desc fill = SYNFIRE_FILL_DESC_INIT;
      fill.buffer = other;
      fill.value = 0.1;
      answer(synfire_graph_record_fill(graph, &fill));
      int32_t filling = 0;
      answer(synfire_graph_get_last_operation(graph, &filling));
      const synfire_scale_add_desc add_up = scale_add_desc(rig.v_seq, other, 0.3, 1.7);
      answer(synfire_graph_record_scale_add(graph, &add_up));
      synfire_copy_desc copy = SYNFIRE_COPY_DESC_INIT;
      copy.source = other;
      copy.destination = rig.grad_spike_seq;
      answer(synfire_graph_record_copy(graph, &copy));
      synfire_convert_spikes_desc convert = SYNFIRE_CONVERT_SPIKES_DESC_INIT;
      synfire_count_spikes_desc count = SYNFIRE_COUNT_SPIKES_DESC_INIT;
      convert.n_steps = count.n_steps = shape.n_steps;
      convert.batch = count.batch = shape.batch;
      convert.n_neurons = count.n_neurons = shape.n_neurons;
      convert.source = count.spikes = rig.spikes;
      convert.destination = words;
      count.counts = counts;
      answer(synfire_graph_record_convert_spikes(graph, &convert));
      answer(synfire_graph_record_count_spikes(graph, &count));
      synfire_encode_bernoulli_desc encode = SYNFIRE_ENCODE_BERNOULLI_DESC_INIT;
      encode.n_steps = shape.n_steps;
      encode.batch = shape.batch;
      encode.n_neurons = shape.n_neurons;
      encode.rates = rates;
      encode.spikes = drawn;
      answer(synfire_graph_record_encode_bernoulli(graph, &encode));
      int32_t encoding = 0;
      answer(synfire_graph_get_last_operation(graph, &encoding));
      const Buffer kept = buffer(context, SYNFIRE_DTYPE_BITS, static_cast<size_t>(shape.batch) * shape.words_per_row()),
                   kept_scale = buffer(context, dtype_of<Scalar>, 1);
      synfire_dropout_desc dropout = SYNFIRE_DROPOUT_DESC_INIT;
      dropout.n_neurons = shape.n_neurons;
      dropout.batch = shape.batch;
      dropout.probability = 0.3;
      dropout.mask = kept;
      dropout.scale = kept_scale;
      answer(synfire_graph_record_dropout(graph, &dropout));
      const Buffer chosen = buffer(context, SYNFIRE_DTYPE_U32, 4), n_active = buffer(context, SYNFIRE_DTYPE_U32, 1),
                   gathered = buffer(context, dtype_of<Scalar>, 4 * shape.row());
      synfire_shuffle_desc shuffle = SYNFIRE_SHUFFLE_DESC_INIT;
      shuffle.n_rows = shape.n_steps;
      shuffle.batch = 4;
      shuffle.indices = chosen;
      shuffle.n_active = n_active;
      answer(synfire_graph_record_shuffle(graph, &shuffle));
      synfire_gather_rows_desc gather = SYNFIRE_GATHER_ROWS_DESC_INIT;
      gather.n_rows = shape.n_steps;
      gather.n_elements = shape.batch * shape.n_neurons;
      gather.batch = 4;
      gather.source = other;
      gather.indices = chosen;
      gather.n_active = n_active;
      gather.destination = gathered;
      answer(synfire_graph_record_gather_rows(graph, &gather));
      const Buffer n_replaced = buffer(context, SYNFIRE_DTYPE_U64, 1);
      synfire_replace_nonfinite_desc replace = SYNFIRE_REPLACE_NONFINITE_DESC_INIT;
      replace.n_elements = 4 * shape.batch * shape.n_neurons;
      replace.source = gathered;
      replace.count = n_replaced;
      replace.destination = gathered;
      answer(synfire_graph_record_replace_nonfinite(graph, &replace));
      const Buffer labels = buffer(context, SYNFIRE_DTYPE_U32, static_cast<size_t>(shape.batch)),
                   slope = buffer(context, dtype_of<Scalar>, shape.sequence());
      synfire_loss_desc loss = loss_desc(rig.v_seq, labels, slope);
      loss.label_smoothing = 0.1;
      answer(synfire_graph_record_loss(graph, &loss));
      const Buffer sums = buffer(context, dtype_of<Scalar>, shape.row()),
                   penalty = buffer(context, SYNFIRE_DTYPE_F32, 1);
      synfire_reduce_desc reduce = SYNFIRE_REDUCE_DESC_INIT;
      synfire_reduce_backward_desc spread = SYNFIRE_REDUCE_BACKWARD_DESC_INIT;
      synfire_rate_loss_desc rate = SYNFIRE_RATE_LOSS_DESC_INIT;
      reduce.n_steps = spread.n_steps = rate.n_steps = shape.n_steps;
      reduce.batch = spread.batch = rate.batch = shape.batch;
      reduce.n_neurons = spread.n_neurons = rate.n_neurons = shape.n_neurons;
      reduce.source = rate.spikes = rig.spikes;
      reduce.destination = spread.grad_destination = sums;
      spread.grad_source = slope;
      rate.loss = penalty;
      rate.target = 0.1;
      rate.strength = 1e-6;
      answer(synfire_graph_record_reduce(graph, &reduce));
      answer(synfire_graph_record_reduce_backward(graph, &spread));
      answer(synfire_graph_record_rate_loss(graph, &rate));
      const synfire_buffer terms[] = {rig.v_seq, slope};
      const Buffer sum = buffer(context, dtype_of<Scalar>, shape.sequence());
      const synfire_combine_desc combine = combine_desc(terms, sum);
      answer(synfire_graph_record_combine(graph, &combine));
      synfire_copy_rows_desc over = SYNFIRE_COPY_ROWS_DESC_INIT;
      over.source = rig.layer;
      over.n_rows = over.destination_row = 1;
      answer(synfire_graph_record_copy_rows(graph, rig.layer, &over));
      const synfire_state_desc rows = rows_desc(0, 0, row, "v"), in_snapshot = rows_desc(0, 0, snapshot),
                               first = rows_desc(0, 1);
      answer(synfire_graph_record_reset_rows(graph, rig.layer, &first));
      answer(synfire_graph_record_read_rows(graph, rig.layer, &rows));
      answer(synfire_graph_record_write_rows(graph, rig.layer, &rows));
      answer(synfire_graph_record_snapshot(graph, rig.layer, &in_snapshot));
      answer(synfire_graph_record_restore(graph, rig.layer, &in_snapshot));
      synfire_native_desc node = SYNFIRE_NATIVE_DESC_INIT;
      node.callback = native;
      node.user = this;
      answer(synfire_graph_record_native(graph, &node));
      answer(synfire_graph_instantiate(graph));
      for (int i = 0; i < 3; ++i) {
        uint64_t ticket = 0;
        answer(synfire_graph_launch(graph, nullptr, &ticket));
        answer(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_YIELD, -1));
        answer(synfire_graph_poll(graph, ticket));
        answer(synfire_graph_set_value(graph, filling, "value", 0.7));
        answer(synfire_graph_set_value(graph, filling, "value", INFINITY));
        if (i == 1) answer(synfire_graph_set_value(graph, encoding, "seed", 1e15));
        if (i == 1) answer(synfire_graph_set_value(graph, encoding, "offset", 0.1));
        answer(synfire_graph_set_enabled(graph, filling, i % 2));
      }
      look_at(rig);
      for (const Buffer* const out : {&other, &snapshot, &row, &words, &counts, &drawn, &kept, &kept_scale, &chosen,
                                      &gathered, &n_replaced, &sums, &penalty, &slope})
        look(*out);
      look(backward.parameter_gradients[0].gradient);
      for (const char* const known_as : {"tau", "reciprocal_tau"}) {
        double value = 0;
        answer(synfire_layer_get_parameter(rig.layer, known_as, &value, 1));
        add(&value, sizeof value);
      }
      answer(synfire_graph_rebind(graph, other, rig.h_seq));
      synfire_graph_statistics statistics = SYNFIRE_GRAPH_STATISTICS_INIT;
      answer(synfire_graph_get_statistics(graph, &statistics));
      add(&statistics.n_replays, sizeof statistics.n_replays);
      answer(synfire_graph_reset_statistics(graph));
      synfire_memory_use use = SYNFIRE_MEMORY_USE_INIT;
      answer(synfire_graph_get_memory_use(graph, &use));
      answer(synfire_layer_get_memory_use(rig.layer, &use));
      answer(synfire_context_get_memory_use(context, &use));
      answer(synfire_memory_get_use(&use));
      answer(synfire_log_set_function(nullptr));
      // Refused, because the library holds memory, with a text that says how much.
      static_cast<void>(synfire_memory_set_functions(nullptr));
      void* tensor = nullptr;
      answer(synfire_buffer_to_dlpack(rig.x, nullptr, &tensor));
      synfire_from_dlpack_desc as_given = SYNFIRE_FROM_DLPACK_DESC_INIT;
      as_given.tensor = tensor;
      synfire_buffer taken = nullptr;
      answer(synfire_buffer_from_dlpack(context, &as_given, &taken));
      const Buffer owned(taken);
      uint64_t bytes = 0;
      answer(synfire_graph_write_dot(graph, nullptr, &bytes));
      std::vector<char> dot(bytes);
      answer(synfire_graph_write_dot(graph, dot.data(), &bytes));
      add(dot.data(), dot.size());
    }
  }

  std::vector<double> x_, row_, gradient_, per_neuron_;
  std::vector<float> narrow_x_, narrow_row_, narrow_gradient_;
  std::vector<unsigned char> bytes_;
  char text_[2048] = {};
  Environment mode_;
  uint32_t callback_saw_ = 0;
  std::string first_change_;
  OperationSamples samples_;
  synfire_context context_of_samples_ = nullptr;
};

// Where they differ, and the surrounding bytes as text: failed calls are recorded as their texts.
std::string where_they_differ(const std::vector<unsigned char>& a, const std::vector<unsigned char>& b) {
  const auto at = static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  std::string text = std::to_string(a.size()) + " bytes against " + std::to_string(b.size()) + ", from " +
                     std::to_string(at) + " on; before and after: ";
  for (const auto* const bytes : {&a, &b}) {
    for (size_t i = at < 300 ? 0 : at - 300; i < std::min(at + 200, bytes->size()); ++i)
      text.push_back((*bytes)[i] >= 32 && (*bytes)[i] < 127 ? static_cast<char>((*bytes)[i]) : '.');
    text.append("\n");
  }
  return text;
}

TEST(AnyEnvironment, EveryAnswerHasTheSameBytes) {
  Everything everything;
  std::vector<unsigned char> usual;
  {
    const CallWatch watch;
    usual = everything.live();
    if (CallWatch::is_possible)
      for (const std::string& name : watch.functions_not_called()) ADD_FAILURE() << name << " is not called";
  }
  EXPECT_GT(usual.size(), 100'000u);
  const std::vector<unsigned char> again = everything.live();
  EXPECT_TRUE(again == usual) << "not even twice in the default environment: " << where_they_differ(again, usual);
  constexpr int serious = FE_OVERFLOW | FE_DIVBYZERO | FE_INVALID;
  for (const Choice& choice : {
         Choice{"default, no flag raised"}, Choice{"upward", FE_UPWARD}, Choice{"downward", FE_DOWNWARD},
             Choice{"toward zero", FE_TOWARDZERO}, Choice{"flush to zero", FE_TONEAREST, true},
             Choice{"flush to zero and upward", FE_UPWARD, true},
             Choice{"x87 registers of 53 bits", FE_TONEAREST, false, 0, 0, true},
#if defined(__GLIBC__) && defined(__x86_64__)
             Choice{"traps", FE_TONEAREST, false, serious}, Choice{"every trap", FE_TONEAREST, false, FE_ALL_EXCEPT},
             Choice{"traps and upward", FE_UPWARD, false, serious},
             Choice{"traps and flush to zero", FE_TONEAREST, true, serious},
#endif
             Choice{"every flag raised", FE_TONEAREST, false, 0, FE_ALL_EXCEPT}, Choice {
           "upward and one flag raised", FE_UPWARD, false, 0, serious& FE_INVALID
         }
       }) {
    SCOPED_TRACE(choice.name);
    std::vector<unsigned char> now;
    uint32_t theirs = 0;
    bool as_found = false;
    {
      const Entered environment(choice);
      theirs = Environment().control();
      now = everything.live();
      as_found = everything.left_as_found();
    }
    EXPECT_TRUE(now == usual) << where_they_differ(now, usual);
    EXPECT_TRUE(as_found);
    EXPECT_EQ(everything.first_change(), "") << "the first call that did not leave the environment as found";
    EXPECT_EQ(everything.callback_saw(), theirs) << "the callback's environment is not the caller's";
    if (HasFailure()) return;
  }
}

#if defined(__GLIBC__)
// A callback's changes to the environment end with it: later operations give the usual bits, and the caller finds its
// own mode.
TEST(AnyEnvironment, OfACallbackEndsWithIt) {
  if (!on_host()) GTEST_SKIP() << "on a GPU a callback does not run between two operations";
  const Context context = make_context();
  const Buffer sum = make_buffer(context, SYNFIRE_DTYPE_F32, 1), one = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
  EXPECT_OK(synfire_buffer_fill(one, 1));
  const Graph graph = make_graph(context);
  synfire_native_desc node = SYNFIRE_NATIVE_DESC_INIT;
  node.callback = [](void*, const synfire_native_call*) -> synfire_status {
    std::fesetround(FE_UPWARD);
    return SYNFIRE_OK;
  };
  EXPECT_OK(synfire_graph_record_native(graph, &node));
  record_scale_add(graph, one, sum, 0.1, 0);
  EXPECT_OK(synfire_graph_instantiate(graph));
  const int before = std::fegetround();
  replay(graph);
  const int after = std::fegetround();
  EXPECT_EQ(after, before);
  EXPECT_EQ(download<float>(sum, 1)[0], 0.1f);
}
#endif

}  // namespace
}  // namespace synfire_test

#include "layer.hpp"

#include "error.hpp"
#include "float_environment.hpp"

#include <synfire/model/reduction.hpp>

#include <cstdio>
#include <cstring>

namespace synfire::core {
namespace {

constexpr int64_t max_bytes = int64_t{1} << 62;

// Sizes in bytes that a layer may ask for: the widest array has T + 1 rows of 8 bytes.
void check_representable(const synfire_layer_desc& desc, int64_t batch) {
  int64_t row = 0, sequence = 0, bytes = 0;
  if (desc.n_steps > max_bytes - 32 || __builtin_mul_overflow(batch, desc.n_neurons, &row) || row > max_bytes - 32 ||
      __builtin_mul_overflow(desc.n_steps + 32, row + 32, &sequence) || __builtin_mul_overflow(sequence, 16, &bytes) ||
      bytes > max_bytes)
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-LAYER-OVERFLOW",
         "desc.n_steps is %lld, desc.batch %lld and desc.n_neurons %lld; their product must stay below 2^58 elements",
         static_cast<long long>(desc.n_steps), static_cast<long long>(batch), static_cast<long long>(desc.n_neurons));
}

void check_flag(int32_t value, const char* name) {
  if (value != 0 && value != 1) fail_argument("SYN-LAYER-FLAG", "desc.%s is %d; allowed are 0 and 1", name, value);
}

}  // namespace

// ---- description ----------------------------------------------------------------------------------------------------

LayerSpec::LayerSpec(const synfire_layer_desc& desc) {
  model = find_model(desc.model == SYNFIRE_MODEL_DEFAULT ? SYNFIRE_MODEL_LIF : desc.model);
  if (!model)
    fail_argument("SYN-LAYER-MODEL", "desc.model is %d; this library has %s", desc.model, model_names());
  surrogate = find_surrogate(desc.surrogate == SYNFIRE_SURROGATE_DEFAULT ? SYNFIRE_SURROGATE_SIGMOID : desc.surrogate);
  if (!surrogate)
    fail_argument("SYN-LAYER-SURROGATE", "desc.surrogate is %d; this library has %s", desc.surrogate,
                  surrogate_names());
  if (desc.n_steps < 1)
    fail_argument("SYN-LAYER-STEPS", "desc.n_steps is %lld; at least 1 is needed", static_cast<long long>(desc.n_steps));
  if (desc.n_neurons < 1)
    fail_argument("SYN-LAYER-NEURONS", "desc.n_neurons is %lld; at least 1 is needed",
                  static_cast<long long>(desc.n_neurons));
  if (desc.batch < 0)
    fail_argument("SYN-LAYER-BATCH", "desc.batch is %lld; at least 1 is needed (0 means 1)",
                  static_cast<long long>(desc.batch));
  if (desc.dtype != SYNFIRE_DTYPE_F32 && desc.dtype != SYNFIRE_DTYPE_F64)
    fail_argument("SYN-LAYER-DTYPE", "desc.dtype is %d; allowed are SYNFIRE_DTYPE_F32 (0) and SYNFIRE_DTYPE_F64 (1)",
                  desc.dtype);
  if (desc.reset != SYNFIRE_RESET_HARD && desc.reset != SYNFIRE_RESET_SOFT)
    fail_argument("SYN-LAYER-RESET", "desc.reset is %d; allowed are SYNFIRE_RESET_HARD (0) and SYNFIRE_RESET_SOFT (1)",
                  desc.reset);
  check_flag(desc.detach_reset, "detach_reset");
  check_flag(desc.undecayed_input, "undecayed_input");
  if (desc.undecayed_input && !model->has_input_decay)
    fail_argument("SYN-LAYER-INPUT-DECAY", "desc.undecayed_input is 1; model \"%s\" has no input decay to switch off",
                  model->name);
  const int64_t batch = desc.batch == 0 ? 1 : desc.batch;
  check_representable(desc, batch);
  extents = {desc.n_steps, batch, desc.n_neurons};
  rules = {desc.reset == SYNFIRE_RESET_SOFT, desc.detach_reset == 1};
  dtype = desc.dtype;
  undecayed_input = desc.undecayed_input == 1;
}

uint64_t LayerSpec::tape_bytes() const {
  constexpr int64_t interval = model::checkpoint_interval;
  return static_cast<uint64_t>((extents.n_steps + interval - 1) / interval * model->n_states) * row_bytes();
}

uint64_t LayerSpec::block_bytes() const {
  return dtype == SYNFIRE_DTYPE_F64 ? sizeof(ParameterBlock<double>) : sizeof(ParameterBlock<float>);
}

uint64_t LayerSpec::per_neuron_bytes() const {
  return static_cast<uint64_t>(n_constants(*model)) * static_cast<uint64_t>(extents.n_neurons) *
         element_bytes();
}

uint64_t LayerSpec::gradient_bytes() const {
  const int64_t row = extents.row();
  const int64_t n_chunks = (row + model::reduction_chunk - 1) / model::reduction_chunk;
  return static_cast<uint64_t>((n_slope_rows(*model) + 2) * (row + n_chunks)) * sizeof(double);
}

uint64_t LayerSpec::slope_bytes() const {
  return static_cast<uint64_t>(n_slope_rows(*model) * synfire::model::max_model_constants) *
         static_cast<uint64_t>(extents.n_neurons) * element_bytes();
}

// ---- lifetime -------------------------------------------------------------------------------------------------------

Layer::Layer(Context& context, const LayerSpec& spec)
    : Child(ObjectType::layer, context),
      spec_(spec),
      parameters_(*spec.model, *spec.surrogate, spec.extents.n_neurons, spec.undecayed_input) {
  try {
    state_ = device().allocate(SYNFIRE_MEMORY_DEVICE, spec_.state_bytes());
    block_ = device().allocate(SYNFIRE_MEMORY_DEVICE, spec_.block_bytes());
    refresh(nullptr);
    const Operation reset = ResetStateOperation{this};
    device().execute({&reset, 1}, nullptr);
    device().synchronize();
  } catch (...) {
    release_memory();
    throw;
  }
}

Layer::~Layer() { release_memory(); }

void Layer::release_memory() noexcept {
  for (void* memory : {state_, block_, per_neuron_, tape_, static_cast<void*>(gradient_partials_), slopes_per_neuron_})
    if (memory) device().release(SYNFIRE_MEMORY_DEVICE, memory);
}

void* Layer::state(int variable) const noexcept {
  if (variable >= spec_.model->n_states) return nullptr;
  return static_cast<char*>(state_) + static_cast<uint64_t>(variable) * spec_.state_stride();
}

// ---- parameters -----------------------------------------------------------------------------------------------------

void Layer::set_parameter(ParameterName name, std::span<const double> values) {
  const auto lock = lock_parameters();
  const uint32_t index = name.index;
  std::vector<double> next = parameters_.checked(name, values);
  std::vector<double> previous(parameters_.values(index).begin(), parameters_.values(index).end());
  parameters_.set(index, std::move(next));
  try {
    upload_arrays();
  } catch (...) {
    // Back to what was, on the device too, if it still takes it.
    parameters_.set(index, std::move(previous));
    try {
      upload_arrays();
    } catch (...) {
      // The device is lost, or will be found to be by the next call.
    }
    throw;
  }
  version_.fetch_add(1, std::memory_order_release);
}

// Brings what is held per neuron up to date with the parameters.
void Layer::upload_arrays() {
  if (!parameters_.per_neuron()) return;
  const bool f64 = spec_.dtype == SYNFIRE_DTYPE_F64;
  if (!per_neuron_) per_neuron_ = device().allocate(SYNFIRE_MEMORY_DEVICE, spec_.per_neuron_bytes());
  if (f64) upload_per_neuron<double>();
  else upload_per_neuron<float>();
  if (!wants_gradients_ || n_slope_rows(*spec_.model) == 0) return;
  if (!slopes_per_neuron_) slopes_per_neuron_ = device().allocate(SYNFIRE_MEMORY_DEVICE, spec_.slope_bytes());
  if (f64) upload_slopes<double>();
  else upload_slopes<float>();
}

template <class R>
void Layer::upload_slopes() {
  const FloatEnvironment ieee;
  const int64_t n = spec_.extents.n_neurons;
  const int rows = n_slope_rows(*spec_.model) * model::max_model_constants;
  std::vector<R> slopes(static_cast<size_t>(rows) * static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    double derived[model::max_slope_rows * model::max_model_constants];
    parameters_.slopes(i, derived);
    for (int k = 0; k < rows; ++k) slopes[static_cast<size_t>(k * n + i)] = static_cast<R>(derived[k]);
  }
  device().upload(slopes_per_neuron_, slopes.data(), slopes.size() * sizeof(R));
}

template <class R>
void Layer::upload_per_neuron() {
  const FloatEnvironment ieee;
  const int64_t n = spec_.extents.n_neurons;
  const int rows = parameters_.n_constants();
  std::vector<R> constants(static_cast<size_t>(rows) * static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    double derived[model::max_constants];
    parameters_.derive(i, derived);
    for (int k = 0; k < rows; ++k) constants[static_cast<size_t>(k * n + i)] = static_cast<R>(derived[k]);
  }
  device().upload(per_neuron_, constants.data(), constants.size() * sizeof(R));
}

template <class R>
void Layer::fill_block(void* bytes) const {
  const FloatEnvironment ieee;
  ParameterBlock<R> block = {};
  double derived[model::max_constants];
  parameters_.derive(0, derived);
  for (int k = 0; k < parameters_.n_constants(); ++k) block.shared[k] = static_cast<R>(derived[k]);
  block.per_neuron = parameters_.per_neuron() ? static_cast<const R*>(per_neuron_) : nullptr;
  double slopes[model::max_slope_rows * model::max_model_constants] = {};
  parameters_.slopes(0, slopes);
  for (int k = 0; k < model::max_slope_rows * model::max_model_constants; ++k)
    block.slopes[k] = static_cast<R>(slopes[k]);
  block.slopes_per_neuron = parameters_.per_neuron() ? static_cast<const R*>(slopes_per_neuron_) : nullptr;
  std::memcpy(bytes, &block, sizeof block);
}

void Layer::upload_block(synfire_stream stream) {
  const auto lock = lock_parameters();
  alignas(16) unsigned char block[sizeof(ParameterBlock<double>)];
  if (spec_.dtype == SYNFIRE_DTYPE_F64) fill_block<double>(block);
  else fill_block<float>(block);
  const uint64_t version = parameter_version();
  device().write_small(block_, block, spec_.block_bytes(), stream);
  uploaded_version_.store(version, std::memory_order_relaxed);
}

// ---- operations -----------------------------------------------------------------------------------------------------

namespace {

// "f32 [16, 1, 128]"
std::string shape_text(const LayerSpec& spec, bool sequence) {
  char text[128];
  const auto& e = spec.extents;
  if (sequence)
    std::snprintf(text, sizeof text, "%s [%lld, %lld, %lld]", name_of_dtype(spec.dtype),
                  static_cast<long long>(e.n_steps), static_cast<long long>(e.batch),
                  static_cast<long long>(e.n_neurons));
  else
    std::snprintf(text, sizeof text, "%s [%lld, %lld]", name_of_dtype(spec.dtype), static_cast<long long>(e.batch),
                  static_cast<long long>(e.n_neurons));
  return text;
}

void check_size(const Buffer& buffer, const char* name, uint64_t needed, const std::string& shape) {
  if (buffer.array().bytes < needed)
    fail_argument("SYN-BUFFER-SIZE", "%s holds %llu bytes; at least %llu bytes, %s, are needed", name,
                  static_cast<unsigned long long>(buffer.array().bytes), static_cast<unsigned long long>(needed),
                  shape.c_str());
}

void check_memory(const Buffer& buffer, const char* name, bool host_device) {
  if (!host_device && buffer.array().memory == SYNFIRE_MEMORY_HOST)
    fail_argument("SYN-BUFFER-KIND",
                  "%s is a buffer of pageable host memory; a CUDA context computes on device or pinned buffers", name);
}

class Checker {
 public:
  Checker(const LayerSpec& spec, bool host_device) : spec_(spec), host_device_(host_device) {}

  Array sequence(Buffer* buffer, const char* name) const { return real(buffer, name, true); }
  Array row(Buffer* buffer, const char* name) const { return real(buffer, name, false); }

  Array spikes(Buffer* buffer, SpikeFormat& format) const {
    format = SpikeFormat::none;
    if (!buffer) return {};
    if (buffer->dtype() != SYNFIRE_DTYPE_BITS) {
      const Array array = real(buffer, "desc.spikes", true);
      format = SpikeFormat::dense;
      return array;
    }
    char shape[128];
    std::snprintf(shape, sizeof shape, "bits [%lld, %lld, %lld words]", static_cast<long long>(spec_.extents.n_steps),
                  static_cast<long long>(spec_.extents.batch), static_cast<long long>(spec_.extents.words_per_row()));
    check_size(*buffer, "desc.spikes", spec_.packed_bytes(), shape);
    check_memory(*buffer, "desc.spikes", host_device_);
    format = SpikeFormat::bits;
    return trimmed(*buffer, spec_.packed_bytes());
  }

 private:
  static Array trimmed(const Buffer& buffer, uint64_t bytes) {
    Array array = buffer.array();
    array.bytes = bytes;
    return array;
  }

  Array real(Buffer* buffer, const char* name, bool sequence) const {
    if (!buffer) return {};
    if (buffer->dtype() != spec_.dtype)
      fail_argument("SYN-BUFFER-TYPE", "%s holds %s; %s is needed", name, name_of_dtype(buffer->dtype()),
                    shape_text(spec_, sequence).c_str());
    const uint64_t bytes = sequence ? spec_.sequence_bytes() : spec_.row_bytes();
    check_size(*buffer, name, bytes, shape_text(spec_, sequence));
    check_memory(*buffer, name, host_device_);
    return trimmed(*buffer, bytes);
  }

  const LayerSpec& spec_;
  bool host_device_;
};

struct NamedBuffer {
  const Buffer* buffer;
  const char* name;
};

void check_second_variable(const LayerSpec& spec, std::initializer_list<NamedBuffer> buffers) {
  for (const NamedBuffer& given : buffers)
    if (given.buffer && spec.model->n_states < 2)
      fail_argument("SYN-LAYER-NO-W", "%s is given; model \"%s\" has no second variable W, null is needed", given.name,
                    spec.model->name);
}

struct Named {
  const char* name;
  const Array& array;
  bool written;
};

// An output may share no memory with any other array of the operation.
void check_overlap(std::span<const Named> arrays) {
  for (const Named& a : arrays)
    for (const Named& b : arrays) {
      if (&a == &b || !a.written || !a.array.data || !b.array.data) continue;
      const auto a0 = reinterpret_cast<uintptr_t>(a.array.data), b0 = reinterpret_cast<uintptr_t>(b.array.data);
      if (a0 < b0 + b.array.bytes && b0 < a0 + a.array.bytes)
        fail_argument("SYN-BUFFER-OVERLAP", "%s is written and overlaps %s; each output needs memory of its own",
                      a.name, b.name);
    }
}

}  // namespace

ForwardOperation Layer::forward(const ForwardRequest& request) {
  const Checker check(spec_, device().is_host());
  ForwardOperation op = {};
  op.layer = this;
  op.x = check.sequence(request.x, "desc.x");
  op.spikes = check.spikes(request.spikes, op.spike_format);
  op.v_in = check.row(request.v_init, "desc.v_init");
  op.v_final = check.row(request.v_final, "desc.v_final");
  op.v_seq = check.sequence(request.v_seq, "desc.v_seq");
  op.h_seq = check.sequence(request.h_seq, "desc.h_seq");
  check_second_variable(spec_, {{request.w_init, "desc.w_init"}, {request.w_final, "desc.w_final"}, {request.w_seq, "desc.w_seq"}});
  op.w_in = check.row(request.w_init, "desc.w_init");
  op.w_final = check.row(request.w_final, "desc.w_final");
  op.w_seq = check.sequence(request.w_seq, "desc.w_seq");
  const Named arrays[] = {{"desc.x", op.x, false},          {"desc.spikes", op.spikes, true},
                          {"desc.v_init", op.v_in, false},  {"desc.v_final", op.v_final, true},
                          {"desc.v_seq", op.v_seq, true},   {"desc.h_seq", op.h_seq, true},
                          {"desc.w_init", op.w_in, false},  {"desc.w_final", op.w_final, true},
                          {"desc.w_seq", op.w_seq, true}};
  check_overlap(arrays);
  const bool two_variables = spec_.model->n_states == 2;
  if (two_variables && !op.v_in.data != !op.w_in.data)
    fail_argument("SYN-FORWARD-INIT", "%s is given and %s is null; a forward begins from both or from the layer's state",
                  op.v_in.data ? "desc.v_init" : "desc.w_init", op.v_in.data ? "desc.w_init" : "desc.v_init");
  if (!op.v_in.data) {
    op.v_in = op.v_out = {state(0), spec_.row_bytes(), SYNFIRE_MEMORY_DEVICE};
    if (two_variables) op.w_in = op.w_out = {state(1), spec_.row_bytes(), SYNFIRE_MEMORY_DEVICE};
  }
  if (request.taped) {
    const auto lock = lock_parameters();
    if (!tape_) tape_ = device().allocate(SYNFIRE_MEMORY_DEVICE, spec_.tape_bytes());
    op.tape = tape_;
    latest_input_ = Ref<Buffer>(request.x);
  }
  return op;
}

OperationList Layer::backward(const BackwardRequest& request, const Buffer& x) {
  const Checker check(spec_, device().is_host());
  BackwardOperation op = {};
  op.layer = this;
  op.x = x.array();
  op.x.bytes = spec_.sequence_bytes();
  op.tape = tape_;
  op.grad_spike = check.sequence(request.grad_spike_seq, "desc.grad_spike_seq");
  op.grad_v_seq = check.sequence(request.grad_v_seq, "desc.grad_v_seq");
  op.grad_v_final = check.row(request.grad_v_final, "desc.grad_v_final");
  op.grad_x = check.sequence(request.grad_x_seq, "desc.grad_x_seq");
  op.grad_v_init = check.row(request.grad_v_init, "desc.grad_v_init");
  check_second_variable(spec_, {{request.grad_w_seq, "desc.grad_w_seq"}, {request.grad_w_final, "desc.grad_w_final"}, {request.grad_w_init, "desc.grad_w_init"}});
  op.grad_w_seq = check.sequence(request.grad_w_seq, "desc.grad_w_seq");
  op.grad_w_final = check.row(request.grad_w_final, "desc.grad_w_final");
  op.grad_w_init = check.row(request.grad_w_init, "desc.grad_w_init");
  if (!op.grad_x.data && !op.grad_v_init.data && !op.grad_w_init.data && request.gradients.empty())
    fail_argument("SYN-BACKWARD-OUTPUT",
                  "desc.grad_x_seq, desc.grad_v_init and desc.grad_w_init are all null and desc.n_parameter_gradients is "
                  "0; at least one output is needed");
  const Named arrays[] = {{"the forward's x", op.x, false},
                          {"desc.grad_spike_seq", op.grad_spike, false},
                          {"desc.grad_v_seq", op.grad_v_seq, false},
                          {"desc.grad_v_final", op.grad_v_final, false},
                          {"desc.grad_x_seq", op.grad_x, true},
                          {"desc.grad_v_init", op.grad_v_init, true},
                          {"desc.grad_w_seq", op.grad_w_seq, false},
                          {"desc.grad_w_final", op.grad_w_final, false},
                          {"desc.grad_w_init", op.grad_w_init, true}};
  std::vector<Named> all(std::begin(arrays), std::end(arrays));
  std::vector<std::string> names;
  names.reserve(request.gradients.size());
  for (const GradientRequest& gradient : request.gradients) {
    names.push_back("desc.parameter_gradients[" + std::to_string(names.size()) + "].gradient");
    all.push_back({names.back().c_str(), gradient.gradient->array(), true});
  }
  check_overlap(all);
  OperationList operations = {op};
  if (!request.gradients.empty()) append_gradients(request, operations);
  return operations;
}

// ---- gradients of parameters ----------------------------------------------------------------------------------------

namespace {

int64_t chunks_of(int64_t count) { return (count + model::reduction_chunk - 1) / model::reduction_chunk; }

}  // namespace

// From the first gradient on, the slopes of the constants are kept beside the constants.
void Layer::prepare_gradients() {
  const auto lock = lock_parameters();
  if (wants_gradients_) return;
  if (!gradient_partials_)
    gradient_partials_ = static_cast<double*>(device().allocate(SYNFIRE_MEMORY_DEVICE, spec_.gradient_bytes()));
  wants_gradients_ = true;
  try {
    upload_arrays();
  } catch (...) {
    wants_gradients_ = false;
    throw;
  }
  uploaded_version_.store(0, std::memory_order_relaxed);  // the block must name the slopes
}

void Layer::append_gradients(const BackwardRequest& request, OperationList& operations) {
  const size_t most = static_cast<size_t>(n_slope_rows(*spec_.model)) + 2;
  if (request.gradients.size() > most)
    fail_argument("SYN-GRADIENT-COUNT", "desc.n_parameter_gradients is %zu; this layer has %zu gradients to ask for",
                  request.gradients.size(), most);
  const auto n_neurons = static_cast<uint64_t>(spec_.extents.n_neurons);
  GradientRows rows = {};
  for (size_t i = 0; i < request.gradients.size(); ++i) {
    char name[64];
    std::snprintf(name, sizeof name, "desc.parameter_gradients[%zu].name", i);
    rows.rows[rows.count++] = parameters_.gradient_row(request.gradients[i].parameter, name);
    const Buffer& gradient = *request.gradients[i].gradient;
    std::snprintf(name, sizeof name, "desc.parameter_gradients[%zu].gradient", i);
    if (gradient.dtype() != spec_.dtype)
      fail_argument("SYN-BUFFER-TYPE", "%s holds %s; %s is needed", name, name_of_dtype(gradient.dtype()),
                    name_of_dtype(spec_.dtype));
    const uint64_t held = gradient.array().bytes / spec_.element_bytes();
    if (held != 1 && held != n_neurons)
      fail_argument("SYN-GRADIENT-LENGTH",
                    "%s holds %llu elements; allowed are 1 (the sum over all neurons) and %llu (one per neuron)", name,
                    static_cast<unsigned long long>(held), static_cast<unsigned long long>(n_neurons));
    check_memory(gradient, name, device().is_host());
  }
  prepare_gradients();

  auto& backward = std::get<BackwardOperation>(operations.front());
  backward.gradients = rows;
  backward.gradient_partials = gradient_partials_;
  const int64_t row = spec_.extents.row(), n_chunks = chunks_of(row);
  double* const chunk_sums = gradient_partials_ + row * static_cast<int64_t>(most);
  for (size_t i = 0; i < request.gradients.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    const double* const partial = gradient_partials_ + row * index;
    const Array out = request.gradients[i].gradient->array();
    if (out.bytes == spec_.element_bytes() && n_neurons != 1) {
      const Array sums = {chunk_sums + n_chunks * index, static_cast<uint64_t>(n_chunks) * sizeof(double),
                          SYNFIRE_MEMORY_DEVICE};
      operations.emplace_back(ReduceOperation{ReduceKind::chunks, spec_.dtype, partial, 1, row, sums});
      operations.emplace_back(ReduceOperation{ReduceKind::total, spec_.dtype, sums.data, 1, n_chunks, out});
    } else {
      operations.emplace_back(
          ReduceOperation{ReduceKind::batch, spec_.dtype, partial, spec_.extents.batch, spec_.extents.n_neurons, out});
    }
  }
}

// ---- the tape -------------------------------------------------------------------------------------------------------

namespace {

[[noreturn]] void fail_no_tape() {
  fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-NONE",
       "the layer has no tape: no forward ran yet, or the latest one ran for inference (SYNFIRE_TAPE_NONE)");
}

}  // namespace

void Layer::replace_tape_input(Buffer* x) {
  const auto lock = lock_parameters();
  tape_reference_ = Ref<Buffer>(x);
  if (x) latest_input_ = tape_reference_;
  tape_x_.store(x, std::memory_order_release);
}

void Layer::check_tape_parameters() const {
  if (tape_version_.load(std::memory_order_relaxed) != parameter_version())
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-PARAMETERS",
         "a parameter of the layer changed after the forward that left the tape; run a forward first");
}

Ref<Buffer> Layer::require_tape() const {
  const auto lock = lock_parameters();
  if (!tape_reference_) fail_no_tape();
  check_tape_parameters();
  return tape_reference_;
}

void Layer::require_tape_of(const Buffer* x) const {
  const Buffer* const latest = tape_x_.load(std::memory_order_acquire);
  if (!latest) fail_no_tape();
  check_tape_parameters();
  if (latest != x)
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-INPUT",
         "the latest forward of the layer read another x than the one this graph was recorded for");
}

Ref<Buffer> Layer::expected_input() const {
  const auto lock = lock_parameters();
  if (!latest_input_)
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-NONE",
         "the layer has no tape: no forward with a tape was recorded or run before");
  return latest_input_;
}

// ---- state ----------------------------------------------------------------------------------------------------------

void* Layer::find_state(const char* name, const void* values, uint64_t bytes) const {
  const std::string_view wanted = name;
  void* const found = wanted == "v" ? state(0) : wanted == "w" ? state(1) : nullptr;
  if (!found)
    fail_argument("SYN-STATE-NAME", "name is \"%.64s\"; model \"%s\" has %s", name, spec_.model->name,
                  spec_.model->n_states == 2 ? "the state variables \"v\" and \"w\"" : "the state variable \"v\"");
  if (!values) fail_argument("SYN-ARGUMENT-NULL", "values is null");
  if (bytes != spec_.row_bytes())
    fail_argument("SYN-STATE-SIZE", "bytes is %llu; exactly %llu, %s, are needed",
                  static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(spec_.row_bytes()),
                  shape_text(spec_, false).c_str());
  return found;
}

void Layer::read_state(const char* name, void* values, uint64_t bytes) {
  const void* const state = find_state(name, values, bytes);
  device().download(values, state, bytes);
}

void Layer::write_state(const char* name, const void* values, uint64_t bytes) {
  void* const state = find_state(name, values, bytes);
  device().upload(state, values, bytes);
}

}  // namespace synfire::core

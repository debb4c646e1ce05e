#include "layer.hpp"

#include <base/error.hpp>

#include <synfire/model/reduction.hpp>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <limits>

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
    fail_argument("SYN-LAYER-STEPS", "desc.n_steps is %lld; at least 1 is needed",
                  static_cast<long long>(desc.n_steps));
  if (desc.n_neurons < 1)
    fail_argument("SYN-LAYER-NEURONS", "desc.n_neurons is %lld; at least 1 is needed",
                  static_cast<long long>(desc.n_neurons));
  if (desc.batch < 0)
    fail_argument("SYN-LAYER-BATCH", "desc.batch is %lld; at least 1 is needed (0 means 1)",
                  static_cast<long long>(desc.batch));
  if (desc.dtype != SYNFIRE_DTYPE_F32 && desc.dtype != SYNFIRE_DTYPE_F64 && desc.dtype != SYNFIRE_DTYPE_F16 &&
      desc.dtype != SYNFIRE_DTYPE_BF16)
    fail_argument("SYN-LAYER-DTYPE",
                  "desc.dtype is %d; allowed are SYNFIRE_DTYPE_F32 (0), _F64 (1), _F16 (3) and _BF16 (4)", desc.dtype);
  if (desc.reset != SYNFIRE_RESET_HARD && desc.reset != SYNFIRE_RESET_SOFT)
    fail_argument("SYN-LAYER-RESET", "desc.reset is %d; allowed are SYNFIRE_RESET_HARD (0) and SYNFIRE_RESET_SOFT (1)",
                  desc.reset);
  check_flag(desc.detach_reset, "detach_reset");
  check_flag(desc.undecayed_input, "undecayed_input");
  if (desc.undecayed_input && !model->has_input_decay)
    fail_argument("SYN-LAYER-INPUT-DECAY", "desc.undecayed_input is 1; model \"%s\" has no input decay to switch off",
                  model->name);
  if (desc.threads_per_block % 32 != 0 || desc.threads_per_block > 128)
    fail_argument("SYN-LAYER-THREADS", "desc.threads_per_block is %u; allowed are 32, 64, 96, 128 and 0 for automatic",
                  desc.threads_per_block);
  const int64_t batch = desc.batch == 0 ? 1 : desc.batch;
  check_representable(desc, batch);
  extents = {desc.n_steps, batch, desc.n_neurons};
  rules = {desc.reset == SYNFIRE_RESET_SOFT, desc.detach_reset == 1};
  dtype = desc.dtype;
  undecayed_input = desc.undecayed_input == 1;
  threads_per_block = static_cast<int>(desc.threads_per_block);
}

uint64_t LayerSpec::tape_bytes() const {
  constexpr int64_t interval = model::checkpoint_interval;
  return static_cast<uint64_t>((extents.n_steps + interval - 1) / interval * model->n_states) * row_bytes();
}

uint64_t LayerSpec::block_bytes() const {
  return dtype == SYNFIRE_DTYPE_F64 ? sizeof(ParameterBlock<double>) : sizeof(ParameterBlock<float>);
}

uint64_t LayerSpec::master_offset() const { return (block_bytes() + 255) / 256 * 256; }

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

std::string LayerSpec::shape_text(bool sequence, int32_t element) const {
  char text[128];
  const auto& e = extents;
  if (sequence)
    std::snprintf(text, sizeof text, "%s [%lld, %lld, %lld]", name_of_dtype(element), static_cast<long long>(e.n_steps),
                  static_cast<long long>(e.batch), static_cast<long long>(e.n_neurons));
  else
    std::snprintf(text, sizeof text, "%s [%lld, %lld]", name_of_dtype(element), static_cast<long long>(e.batch),
                  static_cast<long long>(e.n_neurons));
  return text;
}

// ---- lifetime -------------------------------------------------------------------------------------------------------

Layer::Layer(Context& context, const LayerSpec& spec)
    : Child(ObjectType::layer, context),
      spec_(spec),
      parameters_(*spec.model, *spec.surrogate, spec.extents.n_neurons, spec.undecayed_input),
      n_active_(spec.extents.batch) {
  try {
    state_ = device().allocate(SYNFIRE_MEMORY_DEVICE, spec_.state_bytes());
    block_ = device().allocate(SYNFIRE_MEMORY_DEVICE, spec_.parameter_bytes());
  } catch (...) {
    release_memory();
    throw;
  }
}

Layer::~Layer() { release_memory(); }

void Layer::release_memory() noexcept {
  for (void* memory : {state_, block_, per_neuron_, checkpoints_, stored_h_, narrow_h_, narrow_spikes_,
                       static_cast<void*>(gradient_partials_), slopes_per_neuron_})
    if (memory) device().release(SYNFIRE_MEMORY_DEVICE, memory);
  for (double* const memory : rows_)
    if (memory) device().release(SYNFIRE_MEMORY_DEVICE, memory);
}

void* Layer::state(int variable) const noexcept {
  if (variable >= spec_.model->n_states) return nullptr;
  return static_cast<char*>(state_) + static_cast<uint64_t>(variable) * spec_.state_stride();
}

// ---- parameters -----------------------------------------------------------------------------------------------------

double Layer::largest_constant() const {
  return spec_.dtype == SYNFIRE_DTYPE_F64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
}

void Layer::check_list(std::span<const ParameterValues> list) const {
  uint32_t seen = 0;
  for (const ParameterValues& entry : list) {
    const uint32_t bit = uint32_t{1} << entry.name.index;
    if ((seen & bit) != 0)
      fail_argument("SYN-PARAMETER-TWICE", "\"%s\" is given twice", parameters_.spec(entry.name.index).name);
    seen |= bit;
  }
}

void Layer::set_n_active(int64_t n_rows) {
  if (n_rows < 0 || n_rows > spec_.extents.batch)
    fail_argument("SYN-LAYER-ACTIVE", "n_rows is %lld; the layer has %lld batch rows", static_cast<long long>(n_rows),
                  static_cast<long long>(spec_.extents.batch));
  const auto lock = lock_parameters();
  if (n_active_ == n_rows) return;
  n_active_ = n_rows;
  version_.fetch_add(1, std::memory_order_release);
}

const int64_t* Layer::active() const noexcept {
  const auto offset = spec_.dtype == SYNFIRE_DTYPE_F64 ? offsetof(ParameterBlock<double>, active)
                                                       : offsetof(ParameterBlock<float>, active);
  return reinterpret_cast<const int64_t*>(static_cast<const char*>(block_) + offset);
}

template <class R>
void Layer::fill_block(void* bytes) const {
  ParameterBlock<R> block = {};
  double derived[model::max_constants];
  parameters_.constants(0, derived);
  for (int k = 0; k < parameters_.n_constants(); ++k) block.shared[k] = static_cast<R>(derived[k]);
  double slopes[model::max_slope_rows * model::max_model_constants] = {};
  parameters_.slopes(0, slopes);
  for (int k = 0; k < model::max_slope_rows * model::max_model_constants; ++k)
    block.slopes[k] = static_cast<R>(slopes[k]);
  block.active = n_active_ * spec_.extents.n_neurons;
  std::memcpy(bytes, &block, sizeof block);
}

void Layer::upload_block(synfire_stream stream) {
  device().check_stream(stream);
  const auto lock = lock_parameters();
  if (master_) {
    const uint64_t version = version_.load(std::memory_order_acquire);
    send_values(stream);
    staging_->sent(staged());
    changed_ = 0;
    uploaded_version_.store(version, std::memory_order_relaxed);
    return;
  }
  alignas(16) unsigned char block[sizeof(ParameterBlock<double>)];
  if (spec_.dtype == SYNFIRE_DTYPE_F64) fill_block<double>(block);
  else fill_block<float>(block);
  const uint64_t version = version_.load(std::memory_order_acquire);
  device().write_small(block_, block, spec_.block_bytes(), stream);
  uploaded_version_.store(version, std::memory_order_relaxed);
}

// ---- the tape -------------------------------------------------------------------------------------------------------

namespace {

[[noreturn]] void fail_no_tape() {
  fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-NONE",
       "the layer has no tape: no forward ran yet, or the latest one ran for inference (SYNFIRE_TAPE_NONE)");
}

}  // namespace

void Layer::replace_tape(const TapeShape& tape) {
  const EnteredScope scope(mutex_);
  if (!scope) return tape_x_.store(nullptr, std::memory_order_release);  // left behind by a fork: no tape is known
  tape_ = {tape, Ref<Buffer>(tape.x)};
  if (tape.x) latest_ = {tape, WeakRef<Buffer>(tape.x)};
  tape_kind_.store(tape.kind(), std::memory_order_relaxed);
  tape_x_.store(tape.x, std::memory_order_release);
}

void Layer::expect_tape(const TapeShape& tape) noexcept {
  const EnteredScope scope(mutex_);
  if (!scope || !tape.x) return;
  latest_ = {tape, WeakRef<Buffer>(tape.x)};
}

void Layer::check_tape(bool reads_input) const {
  const Buffer* const x = tape_x_.load(std::memory_order_acquire);
  if (!x) fail_no_tape();
  if (tape_version_.load(std::memory_order_relaxed) != parameter_version())
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-PARAMETERS",
         "a parameter of the layer changed after the forward that left the tape; run a forward first");
  if (reads_input && tape_x_version_.load(std::memory_order_relaxed) != x->version())
    fail(
        SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-WRITTEN",
        "x was written after the forward that left the tape, and this backward reads it again; run a forward first, or "
        "let the forward store H (SYNFIRE_TAPE_STORE)");
}

std::pair<TapeShape, Ref<Buffer>> Layer::require_tape(bool with_gradients) const {
  const auto lock = lock_parameters();
  if (!tape_.reference) fail_no_tape();
  check_tape(reads_input(tape_.shape, with_gradients) || tape_.shape.in_place);
  return {tape_.shape, tape_.reference};
}

void Layer::require_tape(const TapeShape& tape, bool reads_input) const {
  const Buffer* const latest = tape_x_.load(std::memory_order_acquire);
  if (latest && latest != tape.x)
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-INPUT",
         "the latest forward of the layer read another x than the one this graph was recorded for");
  if (latest && tape_kind_.load(std::memory_order_relaxed) != tape.kind())
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-MODE",
         "the latest forward of the layer left its tape in another mode than the one this graph was recorded for");
  check_tape(reads_input);
}

std::pair<TapeShape, Ref<Buffer>> Layer::expected_tape() const {
  const auto lock = lock_parameters();
  Ref<Buffer> x = latest_.x.lock();
  if (!x)
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-NONE",
         "the layer has no tape: no forward with a tape was recorded or run before, or its x is gone");
  return {latest_.shape, std::move(x)};
}

void Layer::allocate_tape(Tape tape, bool in_place) {
  const auto provide = [&](void*& memory, uint64_t bytes) {
    if (!memory) memory = device().allocate(SYNFIRE_MEMORY_DEVICE, bytes);
  };
  provide(checkpoints_, spec_.tape_bytes());
  if (tape == Tape::store && !in_place) provide(stored_h_, spec_.stored_tape_bytes());
  if (tape == Tape::store_narrow) {
    if (!in_place) provide(narrow_h_, spec_.narrow_tape_bytes());
    provide(narrow_spikes_, spec_.narrow_tape_spike_bytes());
  }
}

// The H that a tape mode keeps: memory of the layer's own, or X itself.
View Layer::stored_h(Tape tape, bool in_place, const View& x) noexcept {
  if (tape != Tape::store && tape != Tape::store_narrow) return {};
  if (in_place) return x;
  const Extents& e = spec_.extents;
  return tape == Tape::store_narrow ? own(narrow_h_, {e.n_steps, e.batch, e.n_neurons}, spec_.dtype)
                                    : own(stored_h_, {e.n_steps, e.batch, e.n_neurons}, spec_.arithmetic());
}

View Layer::tape_spikes(Tape tape) noexcept {
  if (tape != Tape::store_narrow) return {};
  const Extents& e = spec_.extents;
  return own(narrow_spikes_, {spec_.time_words(), e.batch, e.n_neurons}, SYNFIRE_DTYPE_TIME_BITS);
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
                  spec_.shape_text(false, spec_.arithmetic()).c_str());
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

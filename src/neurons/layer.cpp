#include "layer.hpp"

#include <base/error.hpp>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <limits>

namespace synfire::core {
// ---- lifetime -------------------------------------------------------------------------------------------------------

Layer::Layer(Context& context, const LayerSpec& spec, const ValueSender& sender)
    : Replayed(ObjectType::layer, context, {"SYN-LAYER-SHARED", "layer"}),
      spec_(spec),
      sender_(sender),
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

Layer::~Layer() {
  release_memory();
}

void Layer::release_memory() noexcept {
  for (void* memory : {state_, block_, per_neuron_, static_cast<void*>(gradient_sums_), slopes_per_neuron_})
    if (memory) device().release(SYNFIRE_MEMORY_DEVICE, memory);
  for (double* const memory : rows_)
    if (memory) device().release(SYNFIRE_MEMORY_DEVICE, memory);
}

void* Layer::state(int variable) const noexcept {
  if (variable >= spec_.model->n_states) return nullptr;
  return static_cast<char*>(state_) + static_cast<uint64_t>(variable) * spec_.state_stride();
}

View Layer::history_memory(int64_t first_row, int64_t n_rows) noexcept {
  if (spec_.history_steps == 0) return {};
  const int64_t words = spec_.extents.words_per_row();
  char* const history = static_cast<char*>(state_) + spec_.history_offset();
  View rows = own(history + static_cast<uint64_t>(first_row * words) * sizeof(uint32_t),
                  {spec_.history_steps, n_rows, words}, SYNFIRE_DTYPE_BITS);
  rows.pitch = spec_.extents.batch * words;
  rows.bytes = static_cast<uint64_t>((spec_.history_steps - 1) * rows.pitch + rows.row()) * sizeof(uint32_t);
  return rows;
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
  count_change();
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

void Layer::upload_changes(synfire_stream stream) {
  device().check_stream(stream);
  const auto lock = lock_parameters();
  if (master_) {
    const uint64_t now = version();
    sender_.send(*this, stream);
    staging_->sent(staged());
    changed_ = 0;
    set_uploaded(now);
    return;
  }
  alignas(16) unsigned char block[sizeof(ParameterBlock<double>)];
  if (spec_.dtype == SYNFIRE_DTYPE_F64)
    fill_block<double>(block);
  else
    fill_block<float>(block);
  const uint64_t now = version();
  device().write_small(block_, block, spec_.block_bytes(), stream);
  set_uploaded(now);
}

// ---- tapes ----------------------------------------------------------------------------------------------------------

void Layer::replace_tape(Tape* tape) {
  const EnteredScope scope(mutex_);
  if (!scope)
    return left_now_.store(nullptr, std::memory_order_release);  // the lock is abandoned after a fork: no tape is known
  left_ = Ref<Tape>(tape);
  if (eager_ && eager_.get() != tape) eager_->spoil();
  if (tape) {
    latest_ = WeakRef<Tape>(tape);
    latest_now_.store(tape, std::memory_order_relaxed);
  }
  left_now_.store(tape, std::memory_order_release);
}

void Layer::expect_tape(Tape& tape) noexcept {
  const EnteredScope scope(mutex_);
  if (!scope) return;
  latest_ = WeakRef<Tape>(&tape);
  latest_now_.store(&tape, std::memory_order_relaxed);
}

Ref<Tape> Layer::left_tape() const {
  const auto lock = lock_parameters();
  if (!left_now_.load(std::memory_order_relaxed)) fail_no_tape();
  return left_;
}

Ref<Tape> Layer::latest_tape() const {
  const auto lock = lock_parameters();
  Ref<Tape> tape = latest_.lock();
  if (!tape) tape = left_;
  if (!tape || !tape->expected().second.x)
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-NONE",
         "the layer has no tape: no forward with a tape was recorded or run before, or its x is gone");
  return tape;
}

Tape& Layer::eager_tape() {
  const auto lock = lock_parameters();
  if (!eager_) eager_ = Ref<Tape>::adopt(new Tape(*context(), spec_));
  return *eager_;
}

// ---- state ----------------------------------------------------------------------------------------------------------

void* Layer::find_state(const char* name, const void* values, uint64_t bytes) const {
  void* const found = state(core::find_state(*spec_.model, name, "name"));
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

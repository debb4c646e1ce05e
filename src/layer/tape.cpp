#include "tape.hpp"

#include "layer.hpp"

#include <base/error.hpp>

namespace synfire::core {

void fail_no_tape() {
  fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-NONE",
       "the layer has no tape: no forward ran yet, or the latest one ran for inference (SYNFIRE_TAPE_NONE)");
}

// ---- memory ---------------------------------------------------------------------------------------------------------

void Tape::provide(TapeMode mode, bool in_place) {
  const auto provide = [&](void*& memory, uint64_t bytes) {
    if (!memory) memory = device().allocate(SYNFIRE_MEMORY_DEVICE, bytes);
  };
  provide(checkpoints_, spec_.tape_bytes());
  if (mode == TapeMode::store && !in_place) provide(stored_h_, spec_.stored_tape_bytes());
  if (mode == TapeMode::store_narrow) {
    if (!in_place) provide(narrow_h_, spec_.narrow_tape_bytes());
    if (!spec_.model->never_fires) provide(narrow_spikes_, spec_.narrow_tape_spike_bytes());
  }
}

void Tape::dispose() noexcept {
  for (void* const memory : {checkpoints_, stored_h_, narrow_h_, narrow_spikes_})
    if (memory) device().release(SYNFIRE_MEMORY_DEVICE, memory);
  left_x_ = {};
}

View Tape::own(void* data, std::initializer_list<int64_t> lengths, int32_t dtype) noexcept {
  View view;
  view.data = data;
  view.dtype = dtype;
  view.owner = this;
  view = view.shaped(lengths);
  view.pitch = view.row();
  if (data) view.bytes = static_cast<uint64_t>(view.shape[0] * view.pitch) * bytes_of_dtype(dtype);
  return view;
}

View Tape::checkpoints() noexcept {
  constexpr int64_t interval = model::checkpoint_interval;
  const Extents& e = spec_.extents;
  return own(checkpoints_, {(e.n_steps + interval - 1) / interval, spec_.model->n_states, e.batch, e.n_neurons},
             spec_.arithmetic());
}

View Tape::stored_h(TapeMode mode, bool in_place, const View& x) noexcept {
  if (mode != TapeMode::store && mode != TapeMode::store_narrow) return {};
  if (in_place) return x;
  const Extents& e = spec_.extents;
  return mode == TapeMode::store_narrow ? own(narrow_h_, {e.n_steps, e.batch, e.n_neurons}, spec_.dtype)
                                        : own(stored_h_, {e.n_steps, e.batch, e.n_neurons}, spec_.arithmetic());
}

View Tape::spikes(TapeMode mode) noexcept {
  if (mode != TapeMode::store_narrow || spec_.model->never_fires) return {};
  const Extents& e = spec_.extents;
  return own(narrow_spikes_, {spec_.time_words(), e.batch, e.n_neurons}, SYNFIRE_DTYPE_TIME_BITS);
}

// ---- what it was made of --------------------------------------------------------------------------------------------

TapeStamp Tape::stamp(const Layer& layer, const Buffer* x) const noexcept {
  return {layer.computing_version(), x ? x->version() : 0, n_left_.load(std::memory_order_relaxed), layer.n_forwards()};
}

void Tape::expect(const TapeShape& shape) noexcept {
  const EnteredScope scope(mutex_);
  if (!scope) return;
  expected_ = shape;
  expected_x_ = WeakRef<Buffer>(shape.x);
}

void Tape::leave(const TapeShape& shape, const TapeStamp& made_of) {
  n_left_.store(n_left_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  parameters_.store(made_of.parameters, std::memory_order_relaxed);
  if (x_.load(std::memory_order_relaxed) != shape.x || kind_.load(std::memory_order_relaxed) != shape.kind())
    replace(shape);
  x_version_.store(made_of.x, std::memory_order_relaxed);
}

void Tape::replace(const TapeShape& shape) {
  const EnteredScope scope(mutex_);
  if (!scope)
    return x_.store(nullptr, std::memory_order_release);  // the lock is abandoned after a fork: no tape is known
  left_ = expected_ = shape;
  left_x_ = Ref<Buffer>(shape.x);
  expected_x_ = WeakRef<Buffer>(shape.x);
  kind_.store(shape.kind(), std::memory_order_relaxed);
  x_.store(shape.x, std::memory_order_release);
}

void Tape::spoil() noexcept {
  n_left_.store(n_left_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  const EnteredScope scope(mutex_);
  x_.store(nullptr, std::memory_order_release);
  if (scope) left_x_ = {};
}

Tape::Held Tape::left() const {
  const EnteredScope scope(mutex_);
  if (!scope || !left_x_) return {};
  return {left_, left_x_};
}

Tape::Held Tape::expected() const {
  const EnteredScope scope(mutex_);
  if (!scope) return {};
  Ref<Buffer> x = expected_x_.lock();
  if (!x) return left_x_ ? Held{left_, left_x_} : Held{};
  TapeShape shape = expected_;
  shape.x = x.get();
  return {shape, std::move(x)};
}

void Tape::check(const Layer& layer, bool reads_input) const {
  const Buffer* const x = x_.load(std::memory_order_acquire);
  if (!x) fail_no_tape();
  if (parameters_.load(std::memory_order_relaxed) != layer.parameter_version())
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-PARAMETERS",
         "a parameter of the layer changed after the forward that left the tape; run a forward first");
  if (reads_input && x_version_.load(std::memory_order_relaxed) != x->version())
    fail(
        SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-WRITTEN",
        "x was written after the forward that left the tape, and this backward reads it again; run a forward first, or "
        "let the forward store H (SYNFIRE_TAPE_STORE)");
}

void Tape::check(const Layer& layer, const TapeShape& wanted, bool reads_input) const {
  const Buffer* const x = x_.load(std::memory_order_acquire);
  if (x && x != wanted.x)
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-INPUT",
         "the forward that left the tape read another x than the one this graph was recorded for");
  if (x && kind_.load(std::memory_order_relaxed) != wanted.kind())
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-MODE",
         "the forward left its tape in another mode than the one this graph was recorded for");
  check(layer, reads_input);
}

}  // namespace synfire::core

#include "tape.hpp"

#include "layer.hpp"

#include <base/error.hpp>

namespace synfire::core {

void fail_no_tape() {
  fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-NONE",
       "the layer has no tape: no forward ran yet, or the latest one ran for inference (SYNFIRE_TAPE_NONE)");
}

// ---- memory ---------------------------------------------------------------------------------------------------------

void Tape::provide(const TapeShape& shape, bool keeps_x) {
  const TapeMode mode = shape.mode;
  // The tape stores H in the memory of the synapse's X.
  const bool in_place = shape.in_place && !shape.synapse;
  const auto provide = [&](void*& memory, uint64_t bytes) {
    if (!memory) memory = device().allocate(SYNFIRE_MEMORY_DEVICE, bytes);
  };
  if (shape.recurrent.synapse) {
    provide(step_checkpoints_, spec_.recurrent_checkpoint_bytes());
    provide(recurrent_spikes_, spec_.recurrent_spike_bytes());
  } else {
    provide(checkpoints_, spec_.tape_bytes());
  }
  if (keeps_x) provide(kept_x_, spec_.stored_tape_bytes());
  if (mode == TapeMode::store && !in_place) provide(stored_h_, spec_.stored_tape_bytes());
  if (mode == TapeMode::store_narrow) {
    if (!in_place) provide(narrow_h_, spec_.narrow_tape_bytes());
    if (spec_.model->linear) return;
    if (shape.recurrent.synapse)
      provide(step_spikes_, spec_.recurrent_narrow_spike_bytes());
    else
      provide(narrow_spikes_, spec_.narrow_tape_spike_bytes());
  }
}

void Tape::dispose() noexcept {
  for (void* const memory : {checkpoints_, stored_h_, narrow_h_, narrow_spikes_, kept_x_, step_checkpoints_,
                             recurrent_spikes_, step_spikes_})
    if (memory) device().release(SYNFIRE_MEMORY_DEVICE, memory);
  left_inputs_ = {};
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

View Tape::checkpoints(const TapeShape& shape) noexcept {
  const bool of_each = shape.recurrent.synapse;
  const Extents& e = spec_.extents;
  const int64_t interval = of_each ? 1 : model::checkpoint_interval;
  return own(of_each ? step_checkpoints_ : checkpoints_,
             {(e.n_steps + interval - 1) / interval, spec_.model->n_states, e.batch, e.n_neurons}, spec_.arithmetic());
}

View Tape::stored_h(const TapeShape& shape, const View& x) noexcept {
  const TapeMode mode = shape.mode;
  if (mode != TapeMode::store && mode != TapeMode::store_narrow) return {};
  if (shape.in_place && !shape.synapse) return x;
  const Extents& e = spec_.extents;
  return mode == TapeMode::store_narrow ? own(narrow_h_, {e.n_steps, e.batch, e.n_neurons}, spec_.dtype)
                                        : own(stored_h_, {e.n_steps, e.batch, e.n_neurons}, spec_.arithmetic());
}

View Tape::kept_x() noexcept {
  const Extents& e = spec_.extents;
  return own(kept_x_, {e.n_steps, e.batch, e.n_neurons}, spec_.arithmetic());
}

View Tape::spikes(const TapeShape& shape) noexcept {
  if (shape.mode != TapeMode::store_narrow || spec_.model->linear) return {};
  const Extents& e = spec_.extents;
  const bool of_each = shape.recurrent.synapse;
  return own(of_each ? step_spikes_ : narrow_spikes_, {of_each ? e.n_steps : spec_.time_words(), e.batch, e.n_neurons},
             SYNFIRE_DTYPE_TIME_BITS);
}

View Tape::recurrent_spikes() noexcept {
  const Extents& e = spec_.extents;
  return own(recurrent_spikes_, {spec_.recurrent_spike_steps(), e.batch, e.words_per_row()}, SYNFIRE_DTYPE_BITS);
}

// ---- what it was made of --------------------------------------------------------------------------------------------

void Tape::expect(const TapeShape& shape) noexcept {
  const EnteredScope scope(mutex_);
  if (!scope) return;
  expect_locked(shape);
}

void Tape::expect_locked(const TapeShape& shape) noexcept {
  expected_ = shape;
  expected_x_ = WeakRef<Buffer>(shape.x);
  expected_synapse_ = WeakRef<Synapse>(shape.synapse);
  expected_recurrent_ = WeakRef<Synapse>(shape.recurrent.synapse);
  expected_n_active_ = WeakRef<Buffer>(shape.n_active);
}

void Tape::replace(const TapeShape& shape) {
  const EnteredScope scope(mutex_);
  if (!scope)
    return x_.store(nullptr, std::memory_order_release);  // the lock is abandoned after a fork: no tape is known
  left_ = shape;
  left_inputs_ = TapeInputs(shape);
  expect_locked(shape);
  synapse_.store(shape.synapse, std::memory_order_relaxed);
  recurrent_.store(shape.recurrent.synapse, std::memory_order_relaxed);
  n_active_.store(shape.n_active, std::memory_order_relaxed);
  kind_.store(shape.kind(), std::memory_order_relaxed);
  x_.store(shape.x, std::memory_order_release);
}

void Tape::spoil() noexcept {
  n_left_.store(n_left_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  const EnteredScope scope(mutex_);
  x_.store(nullptr, std::memory_order_release);
  if (scope) left_inputs_ = {};
}

Tape::Held Tape::left() const {
  const EnteredScope scope(mutex_);
  if (!scope || !left_inputs_.x) return {};
  return {left_, TapeInputs(left_)};
}

Tape::Held Tape::expected() const {
  const EnteredScope scope(mutex_);
  if (!scope) return {};
  TapeInputs inputs;
  inputs.x = expected_x_.lock();
  inputs.synapse = expected_synapse_.lock();
  inputs.recurrent = expected_recurrent_.lock();
  inputs.n_active = expected_n_active_.lock();
  if (inputs.x && inputs.synapse.get() == expected_.synapse && inputs.recurrent.get() == expected_.recurrent.synapse &&
      inputs.n_active.get() == expected_.n_active)
    return {expected_, std::move(inputs)};
  return left_inputs_.x ? Held{left_, TapeInputs(left_)} : Held{};
}

void Tape::check(const Layer& layer, bool reads_input) const {
  const Buffer* const x = x_.load(std::memory_order_acquire);
  if (!x) fail_no_tape();
  if (parameters_.load(std::memory_order_relaxed) != layer.parameter_version())
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-PARAMETERS",
         "a parameter of the layer changed after the forward that left the tape; run a forward first");
  const Synapse* const synapse = synapse_.load(std::memory_order_relaxed);
  if (weights_.load(std::memory_order_relaxed) !=
      version_of_weights(synapse, recurrent_.load(std::memory_order_relaxed)))
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-WEIGHTS",
         "weights or bias of the forward's synapse changed after the forward that left the tape; run a forward first");
  if (reads_input &&
      x_version_.load(std::memory_order_relaxed) != version_of_input(x, n_active_.load(std::memory_order_relaxed)))
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-WRITTEN",
         "%s was written after the forward that left the tape, and this backward reads it again; run a forward first%s",
         synapse ? "the input of the synapse, or its n_active," : "x",
         synapse ? "" : ", or let the forward store H (SYNFIRE_TAPE_STORE)");
}

void Tape::check(const Layer& layer, const TapeShape& wanted, bool reads_input) const {
  const Buffer* const x = x_.load(std::memory_order_acquire);
  const TapeShape left = {const_cast<Buffer*>(x),
                          TapeMode::none,
                          false,
                          synapse_.load(std::memory_order_relaxed),
                          n_active_.load(std::memory_order_relaxed),
                          {recurrent_.load(std::memory_order_relaxed)}};
  if (x && !left.same_input(wanted))
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-INPUT",
         "the forward that left the tape read another x, or another synapse's product, than the one this graph was "
         "recorded for");
  if (x && kind_.load(std::memory_order_relaxed) != wanted.kind())
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-MODE",
         "the forward left its tape in another mode than the one this graph was recorded for");
  check(layer, reads_input);
}

}  // namespace synfire::core

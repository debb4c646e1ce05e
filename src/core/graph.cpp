#include "graph.hpp"

#include "array_checks.hpp"
#include "error.hpp"
#include "native_operation.hpp"
#include "operation_arrays.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace synfire::core {
namespace {

void pause_processor() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

// ---- recording ------------------------------------------------------------------------------------------------------

void Graph::check_recording() const {
  if (instantiated_.load(std::memory_order_acquire))
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-GRAPH-INSTANTIATED",
         "the graph is already instantiated; record into a new graph");
}

void Graph::check_instantiated() const {
  if (!instantiated_.load(std::memory_order_acquire))
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-GRAPH-NOT-INSTANTIATED",
         "the graph is not instantiated; call synfire_graph_instantiate first");
}

void Graph::end_operation() {
  const auto number = static_cast<uint32_t>(enabled_.size());
  owners_.resize(operations_.size(), number);
  enabled_.push_back(1);
}

int32_t Graph::last_operation() {
  const Exclusive exclusive(busy_);
  if (enabled_.empty())
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-GRAPH-EMPTY", "the graph is empty; record at least one operation first");
  return static_cast<int32_t>(enabled_.size()) - 1;
}

void Graph::use(Layer& layer) {
  for (const Ref<Layer>& known : layers_)
    if (known.get() == &layer) return;
  layers_.emplace_back(&layer);
}

void Graph::keep(std::initializer_list<Buffer*> buffers) {
  for (Buffer* buffer : buffers)
    if (buffer) buffers_.emplace_back(buffer);
}

// Operations report what they write: a tape made of it before is worth nothing after.
void Graph::note_written(std::initializer_list<Buffer*> buffers) {
  for (Buffer* buffer : buffers) {
    if (!buffer) continue;
    for (RecordedForward& forward : forwards_)
      if (forward.left.x == buffer) forward.overwritten = true;
    if (std::find(written_.begin(), written_.end(), buffer) == written_.end()) written_.push_back(buffer);
  }
}

Graph::~Graph() {
  for (const Ref<Layer>& layer : layers_) layer->remove_user(*this);
}

void Graph::record_forward(Layer& layer, const ForwardRequest& request) {
  const Exclusive exclusive(busy_);
  check_recording();
  operations_.reserve(operations_.size() + 1);
  forwards_.reserve(forwards_.size() + 1);
  const ForwardOperation operation = layer.forward(request);
  keep({request.x, request.spikes, request.v_init, request.v_final, request.v_seq, request.h_seq, request.w_init,
        request.w_final, request.w_seq});
  note_written({request.spikes, request.v_final, request.v_seq, request.h_seq, request.w_final, request.w_seq,
                request.in_place ? request.x : nullptr});
  use(layer);
  forwards_.push_back({&layer, static_cast<uint32_t>(enabled_.size()),
                       request.tape == Tape::none ? TapeShape{} : TapeShape{request.x, request.tape, request.in_place}});
  operations_.emplace_back(operation);
  end_operation();
}

void Graph::record_backward(Layer& layer, const BackwardRequest& request) {
  const Exclusive exclusive(busy_);
  check_recording();
  const RecordedForward* inside = nullptr;
  for (const RecordedForward& forward : forwards_)
    if (forward.layer == &layer) inside = &forward;
  if (inside && !inside->left.x)
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-INFERENCE",
         "the latest forward of the layer in this graph was recorded for inference (SYNFIRE_TAPE_NONE)");
  for (const RecordedUpdate& update : updates_)
    if (update.layer == &layer && (!inside || update.operation > inside->operation))
      fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-PARAMETERS",
           "operation %u of this graph updates a parameter of the layer after the forward whose tape this backward would read",
           update.operation);
  std::pair<TapeShape, Ref<Buffer>> expected;
  if (inside) expected = {inside->left, Ref<Buffer>(inside->left.x)};
  else expected = layer.expected_tape();
  const TapeShape& tape = expected.first;
  const bool reads_input = layer.reads_input(request, tape) || tape.in_place;
  if (inside && inside->overwritten && reads_input)
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-WRITTEN",
         "an operation of this graph writes x after the forward that read it, and this backward reads it again");
  const OperationList operations = layer.backward(request, tape);
  operations_.reserve(operations_.size() + operations.size());
  backwards_.reserve(backwards_.size() + 1);
  keep({tape.x, request.grad_spike_seq, request.grad_v_seq, request.grad_v_final, request.grad_x_seq,
        request.grad_v_init, request.grad_w_seq, request.grad_w_final, request.grad_w_init});
  for (const GradientRequest& gradient : request.gradients) keep({gradient.gradient});
  use(layer);
  const auto index = inside ? std::optional<size_t>(inside - forwards_.data()) : std::nullopt;
  backwards_.push_back({&layer, static_cast<uint32_t>(enabled_.size()), index, tape, reads_input});
  operations_.insert(operations_.end(), operations.begin(), operations.end());
  note_written({request.grad_x_seq, request.grad_v_init, request.grad_w_init});
  for (const GradientRequest& gradient : request.gradients) note_written({gradient.gradient});
  end_operation();
}

void Graph::record_copy(Buffer& source, uint64_t source_offset, Buffer& destination, uint64_t destination_offset,
                        uint64_t bytes) {
  const Exclusive exclusive(busy_);
  check_recording();
  Array from = source.array(), to = destination.array();
  for (const auto& [name, array] : {std::pair{"desc.source", &from}, std::pair{"desc.destination", &to}})
    if (!device().is_host() && array->memory == SYNFIRE_MEMORY_HOST)
      fail_argument("SYN-BUFFER-KIND",
                    "%s is a buffer of pageable host memory; a graph on a CUDA context copies between device and "
                    "pinned buffers",
                    name);
  if (source_offset > from.bytes)
    fail_argument("SYN-COPY-RANGE", "desc.source_offset is %llu; desc.source holds %llu bytes",
                  static_cast<unsigned long long>(source_offset), static_cast<unsigned long long>(from.bytes));
  if (bytes == 0) bytes = from.bytes - source_offset;
  if (bytes == 0) fail_argument("SYN-COPY-RANGE", "desc.source_offset is the size of desc.source: nothing to copy");
  if (bytes > from.bytes - source_offset)
    fail_argument("SYN-COPY-RANGE", "desc.bytes is %llu at desc.source_offset %llu; desc.source holds %llu bytes",
                  static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(source_offset),
                  static_cast<unsigned long long>(from.bytes));
  if (destination_offset > to.bytes || bytes > to.bytes - destination_offset)
    fail_argument("SYN-COPY-RANGE",
                  "%llu bytes do not fit at desc.destination_offset %llu; desc.destination holds %llu bytes",
                  static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(destination_offset),
                  static_cast<unsigned long long>(to.bytes));
  from.data = static_cast<char*>(from.data) + source_offset;
  to.data = static_cast<char*>(to.data) + destination_offset;
  from.bytes = to.bytes = bytes;
  const auto a = reinterpret_cast<uintptr_t>(from.data), b = reinterpret_cast<uintptr_t>(to.data);
  if (a < b + bytes && b < a + bytes)
    fail_argument("SYN-BUFFER-OVERLAP", "desc.source and desc.destination overlap in memory");
  operations_.reserve(operations_.size() + 1);
  keep({&source, &destination});
  note_written({&destination});
  operations_.emplace_back(CopyOperation{from, to});
  end_operation();
}

void Graph::record_convert_spikes(const ConvertSpikesRequest& request) {
  const Exclusive exclusive(busy_);
  check_recording();
  operations_.reserve(operations_.size() + 1);
  const ConvertSpikesOperation operation = convert_spikes(request, device().is_host());
  keep({request.source, request.destination});
  note_written({request.destination});
  operations_.emplace_back(operation);
  end_operation();
}

void Graph::record_count_spikes(const CountSpikesRequest& request) {
  const Exclusive exclusive(busy_);
  check_recording();
  operations_.reserve(operations_.size() + 1);
  const CountSpikesOperation operation = count_spikes(request, device().is_host());
  keep({request.spikes, request.counts});
  note_written({request.counts});
  operations_.emplace_back(operation);
  end_operation();
}

void Graph::record_native(const NativeRequest& request) {
  const Exclusive exclusive(busy_);
  check_recording();
  operations_.reserve(operations_.size() + 1);
  NativeOperation operation = {static_cast<uint32_t>(enabled_.size()), request.name ? request.name : "", request.callback,
                               request.user, {}, {}};
  const auto arrays_of = [&](const std::vector<Buffer*>& buffers, const char* field, std::vector<Array>& arrays) {
    for (size_t i = 0; i < buffers.size(); ++i) {
      const std::string name = std::string("desc.").append(field).append("[").append(std::to_string(i)).append("]");
      check_memory(*buffers[i], name.c_str(), device().is_host());
      arrays.push_back(buffers[i]->array());
    }
  };
  arrays_of(request.reads, "reads", operation.reads);
  arrays_of(request.writes, "writes", operation.writes);
  for (Buffer* buffer : request.reads) keep({buffer});
  for (Buffer* buffer : request.writes) {
    keep({buffer});
    note_written({buffer});
  }
  operations_.emplace_back(std::move(operation));
  end_operation();
}

void Graph::append(const Recording& recording) {
  operations_.reserve(operations_.size() + recording.operations.size());
  layers_.reserve(layers_.size() + recording.layers.size());
  buffers_.reserve(buffers_.size() + recording.reads.size() + recording.writes.size());
  written_.reserve(written_.size() + recording.writes.size());
  for (Buffer* buffer : recording.reads) keep({buffer});
  for (Buffer* buffer : recording.writes) {
    keep({buffer});
    note_written({buffer});
  }
  for (Layer* layer : recording.layers) use(*layer);
  operations_.insert(operations_.end(), recording.operations.begin(), recording.operations.end());
  end_operation();
}

void Graph::record(const Recording& recording) {
  const Exclusive exclusive(busy_);
  check_recording();
  append(recording);
}

template <class Make>
void Graph::record_with_values(Make make) {
  const Exclusive exclusive(busy_);
  check_recording();
  const auto number = static_cast<uint32_t>(enabled_.size());
  try {
    append(make(number));
  } catch (...) {
    values_.drop_from(number);
    throw;
  }
}

void Graph::record_fill(Buffer& buffer, double value) {
  record_with_values([&](uint32_t number) {
    Recording recording = fill(buffer, value, device().is_host());
    std::get<FillOperation>(recording.operations[0]).bits =
        values_.add(number, "value", GraphValues::Kind::fill, buffer.dtype(), value);
    return recording;
  });
}

void Graph::record_scale_add(const ScaleAddRequest& request) {
  record_with_values([&](uint32_t number) {
    Recording recording = scale_add(request, device().is_host());
    auto& operation = std::get<ScaleAddOperation>(recording.operations[0]);
    const auto number_at = [&](const char* name, double value) {
      return reinterpret_cast<const double*>(
          values_.add(number, name, GraphValues::Kind::number, SYNFIRE_DTYPE_F64, value));
    };
    operation.scale_value = number_at("scale", request.scale);
    operation.keep_value = number_at("keep", request.keep);
    return recording;
  });
}

void Graph::record_update(Layer& layer, const UpdateRequest& request, double learning_rate) {
  record_with_values([&](uint32_t number) {
    updates_.reserve(updates_.size() + 1);
    const uint64_t* const rate =
        values_.add(number, "learning_rate", GraphValues::Kind::number, SYNFIRE_DTYPE_F64, learning_rate);
    const UpdateParameterOperation operation = layer.update(request, reinterpret_cast<const double*>(rate));
    updates_.push_back({&layer, number, uint32_t{1} << request.parameter.index});
    return Recording{{operation}, {request.gradient}, {}, {&layer}};
  });
}

// ---- tapes ----------------------------------------------------------------------------------------------------------

// Works out what a launch must check and what it leaves. Slow enough for calls off the path of a launch only; within the
// capacity that instantiate() reserved.
void Graph::plan_tapes() {
  needs_.clear();
  leaves_.clear();
  const auto runs = [&](uint32_t operation) { return enabled_[operation] != 0; };
  for (const RecordedBackward& backward : backwards_) {
    if (!runs(backward.operation)) continue;
    if (backward.forward && runs(forwards_[*backward.forward].operation)) continue;
    // Its forward does not run in this replay: an enabled one before it has left another tape, or none of this replay has.
    const RecordedForward* instead = nullptr;
    for (const RecordedForward& forward : forwards_)
      if (forward.layer == backward.layer && forward.operation < backward.operation && runs(forward.operation))
        instead = &forward;
    if (instead && instead->left.x == backward.tape.x && instead->left.kind() == backward.tape.kind() &&
        !(instead->overwritten && backward.reads_input))
      continue;
    const bool updated = std::any_of(updates_.begin(), updates_.end(), [&](const RecordedUpdate& update) {
      return update.layer == backward.layer && update.operation < backward.operation && runs(update.operation);
    });
    needs_.push_back({backward.layer, backward.tape, backward.reads_input, instead != nullptr || updated});
  }
  for (const RecordedForward& forward : forwards_) {
    if (!runs(forward.operation)) continue;
    std::erase_if(leaves_, [&](const TapeLeft& left) { return left.layer == forward.layer; });
    // A later replay may use another slot, in which X is not what this one read.
    const bool moved = slot_count() > 1 && forward.left.x && forward.left.x->array().memory == SYNFIRE_MEMORY_PINNED;
    const bool outdated = std::any_of(updates_.begin(), updates_.end(), [&](const RecordedUpdate& update) {
      return update.layer == forward.layer && update.operation > forward.operation && runs(update.operation);
    });
    leaves_.push_back({forward.layer, forward.left, forward.overwritten || moved, outdated});
  }
  updated_.clear();
  for (const RecordedUpdate& update : updates_) {
    if (!runs(update.operation)) continue;
    const auto same = std::find_if(updated_.begin(), updated_.end(),
                                   [&](const Updated& updated) { return updated.layer == update.layer; });
    if (same == updated_.end()) updated_.push_back({update.layer, update.parameter});
    else same->parameters |= update.parameter;
  }
}

void Graph::check_tapes() const {
  for (const TapeNeed& need : needs_) {
    if (need.never)
      fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-DISABLED",
           "an operation that is enabled reads the tape of a forward that is disabled, and another forward or an update of "
           "the same layer runs before it");
    need.layer->require_tape(need.tape, need.reads_input);
  }
}

void Graph::leave_tapes(bool captured) {
  for (Buffer* buffer : written_) buffer->mark_written();
  for (const Updated& updated : updated_) updated.layer->note_updated(updated.parameters, captured);
  for (const TapeLeft& left : leaves_) left.layer->set_tape(left.tape, left.overwritten, left.outdated);
}

// ---- instantiating --------------------------------------------------------------------------------------------------

ReplayPlan Graph::plan(const OperationList& operations, const Slots& slots) const {
  ReplayPlan plan = {{}, owners_, enabled_, false};
  for (uint32_t slot = 0; slot < slot_count(); ++slot) plan.slots.push_back(slots.relocated(operations, slot));
  const char* const value = std::getenv("SYNFIRE_GRAPH");
  plan.eager = value && std::string_view(value) == "0";
  return plan;
}

void Graph::check_slots_and_tapes() const {
  if (slot_count() < 2) return;
  for (const RecordedBackward& backward : backwards_)
    if (!backward.forward && backward.reads_input && backward.tape.x->array().memory == SYNFIRE_MEMORY_PINNED)
      fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-GRAPH-SLOT-TAPE",
           "desc.n_slots is %u; operation %u is a backward that reads the x of a forward outside this graph again, from a "
           "pinned buffer, which this graph has several copies of: let x be a device buffer, or the forward store H",
           n_slots_, backward.operation);
}

void Graph::instantiate() {
  const Exclusive exclusive(busy_);
  check_recording();
  if (operations_.empty())
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-GRAPH-EMPTY", "the graph is empty; record at least one operation first");
  check_slots_and_tapes();
  needs_.reserve(backwards_.size());
  leaves_.reserve(forwards_.size());
  updated_.reserve(updates_.size());
  refresh(nullptr);
  auto slots = std::make_unique<Slots>(device(), buffers_, slot_count());
  replay_ = device().instantiate(plan(operations_, *slots));
  slots_ = std::move(slots);
  for (const Ref<Layer>& layer : layers_) layer->add_user(*this);
  plan_tapes();
  instantiated_.store(true, std::memory_order_release);
}

// ---- between replays ------------------------------------------------------------------------------------------------

void Graph::check_operation(int32_t operation) const {
  if (operation < 0 || static_cast<size_t>(operation) >= enabled_.size())
    fail_argument("SYN-GRAPH-OPERATION", "operation is %d; %zu operations are recorded in this graph, from 0 on", operation,
                  enabled_.size());
}

void Graph::set_value(int32_t operation, const char* name, double value) {
  const Exclusive exclusive(busy_);
  check_operation(operation);
  values_.set(static_cast<uint32_t>(operation), name, value);
}

void Graph::set_enabled(int32_t operation, bool enabled) {
  const Exclusive exclusive(busy_);
  check_operation(operation);
  uint8_t& flag = enabled_[static_cast<size_t>(operation)];
  if (flag == static_cast<uint8_t>(enabled)) return;
  const bool instantiated = instantiated_.load(std::memory_order_relaxed);
  if (instantiated) replay_->set_enabled(static_cast<uint32_t>(operation), enabled);
  flag = enabled ? 1 : 0;
  if (instantiated) plan_tapes();
}

namespace {

std::string describe(const Buffer& buffer) {
  const Array& array = buffer.array();
  std::string text = std::string(name_of_memory(array.memory)).append(" memory, ").append(name_of_dtype(buffer.dtype()));
  text.append("[").append(std::to_string(array.bytes / bytes_of_dtype(buffer.dtype()))).append("]");
  if (buffer.row_pitch() != 0) text.append(", row_pitch ").append(std::to_string(buffer.row_pitch()));
  return text;
}

}  // namespace

void Graph::rebind(Buffer& before, Buffer& now) {
  const Exclusive exclusive(busy_);
  if (std::none_of(buffers_.begin(), buffers_.end(), [&](const Ref<Buffer>& b) { return b.get() == &before; }))
    fail_argument("SYN-REBIND-UNKNOWN", "old_buffer (%s) is used by no operation of this graph", describe(before).c_str());
  if (&before == &now) return;
  const Array& from = before.array();
  const Array& to = now.array();
  if (before.dtype() != now.dtype() || from.bytes != to.bytes || from.memory != to.memory ||
      before.row_pitch() != now.row_pitch())
    fail_argument("SYN-REBIND-SHAPE", "new_buffer is %s; old_buffer is %s, and both must be the same",
                  describe(now).c_str(), describe(before).c_str());
  const auto inside = [&](const Array& array) { return overlaps(array.data, array.bytes, from.data, from.bytes); };
  OperationList operations = operations_;
  for (size_t i = 0; i < operations.size(); ++i) {
    bool named = false;
    for_each_array(operations[i], [&](Array& array, Access) { named |= inside(array); });
    if (!named) continue;
    for_each_array(operations[i], [&](Array& array, Access) {
      if (!inside(array)) {
        if (overlaps(array.data, array.bytes, to.data, to.bytes))
          fail_argument("SYN-BUFFER-OVERLAP",
                        "new_buffer overlaps in memory with another array of operation %u, which old_buffer did not",
                        owners_[i]);
        return;
      }
      // What was recorded through another buffer over the same memory moves too, if it lies wholly inside.
      const auto offset = static_cast<char*>(array.data) - static_cast<char*>(from.data);
      if (offset >= 0 && static_cast<uint64_t>(offset) + array.bytes <= from.bytes)
        array.data = static_cast<char*>(to.data) + offset;
    });
  }
  std::vector<Ref<Buffer>> buffers = buffers_;
  for (Ref<Buffer>& buffer : buffers)
    if (buffer.get() == &before) buffer = Ref<Buffer>(&now);
  if (instantiated_.load(std::memory_order_relaxed)) {
    auto slots = std::make_unique<Slots>(device(), buffers, slot_count());
    replay_->rebuild(plan(operations, *slots));
    const std::lock_guard lock(slots_mutex_);
    for (const Ref<Buffer>& buffer : buffers)
      if (buffer.get() != &now) slots->take_over(*slots_, *buffer, slot_count());
    slots_ = std::move(slots);
    buffers_.swap(buffers);  // under the lock: slot_memory() reads both
  } else {
    buffers_.swap(buffers);
  }
  operations_ = std::move(operations);
  std::replace(written_.begin(), written_.end(), &before, &now);
  for (RecordedForward& forward : forwards_)
    if (forward.left.x == &before) forward.left.x = &now;
  for (RecordedBackward& backward : backwards_)
    if (backward.tape.x == &before) backward.tape.x = &now;
  if (instantiated_.load(std::memory_order_relaxed)) plan_tapes();
}

// ---- replaying ------------------------------------------------------------------------------------------------------

// What changed since the last launch reaches the device, in stream order.
void Graph::refresh(synfire_stream stream) {
  for (const Ref<Layer>& layer : layers_) layer->refresh(stream);
  values_.refresh(stream);
}

// Before work that the caller captures. The capture must not contain this update: it would write today's values in every
// replay of it. So it goes to the context's own stream, which is in no order with replays in flight on others.
void Graph::refresh_for_capture() {
  for (const Ref<Layer>& layer : layers_) layer->settle();
  if (values_.has_changed()) finish();
  refresh(nullptr);
  device().synchronize();
}

namespace {

// The layers of a replay that runs on the launching thread: no other thread's has one of them meanwhile.
class Entered {
 public:
  explicit Entered(std::span<const Ref<Layer>> layers) : layers_(layers) {
    for (; n_entered_ < layers_.size(); ++n_entered_) {
      if (layers_[n_entered_]->enter()) continue;
      leave();
      fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-LAYER-SHARED",
           "another thread runs a replay of another graph that uses a layer of this one, so that their order is not defined; "
           "launch both on one thread, or wait until the other launch has returned");
    }
  }
  ~Entered() { leave(); }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  void leave() noexcept {
    for (; n_entered_ > 0; --n_entered_) layers_[n_entered_ - 1]->leave();
  }

  std::span<const Ref<Layer>> layers_;
  size_t n_entered_ = 0;
};

}  // namespace

Launched Graph::launch(synfire_stream stream) {
  const Exclusive exclusive(busy_);
  check_instantiated();
  std::optional<Entered> entered;
  if (device().is_host()) entered.emplace(layers_);
  const bool captured = stream && device().is_capturing(stream);
  check_tapes();
  if (captured) {
    refresh_for_capture();
    replay_->launch_captured(stream, 0);
    leave_tapes(true);
    return {0, true};
  }
  const uint64_t ticket = launched_.load(std::memory_order_relaxed) + 1;
  if (n_slots_ > 0 && ticket > n_slots_ && replay_->finished() + n_slots_ < ticket)
    fail(SYNFIRE_ERROR_BUSY, "SYN-GRAPH-SLOTS", "all %u slots are in flight; wait for ticket %llu first", n_slots_,
         static_cast<unsigned long long>(ticket - n_slots_));
  const int64_t start = now_ns();
  for (const Ref<Layer>& layer : layers_) layer->check_use(this, stream);
  for (const Ref<Layer>& layer : layers_) layer->note_use(this, stream);
  refresh(stream);
  try {
    replay_->launch(stream, slot_of(ticket));
  } catch (...) {
    for (Buffer* buffer : written_) buffer->mark_written();  // it may have run in part
    throw;
  }
  leave_tapes(false);
  statistics_.launched(ticket, start);
  launched_.store(ticket, std::memory_order_release);
  return {ticket, false};
}

namespace {

constexpr int64_t first_check_ns = 1'000'000;          // while spinning, and for those who only poll
constexpr int64_t first_sleepy_check_ns = 700'000;     // other policies wake up late
constexpr int64_t check_interval_ns = 500'000;  // so that a fault after the first look is found within 1 ms too

}  // namespace

synfire_status Graph::wait(uint64_t ticket, WaitPolicy policy, int64_t timeout_ns) {
  check_instantiated();
  const uint64_t launched = launched_.load(std::memory_order_acquire);
  if (ticket == 0 || ticket > launched)
    fail_argument("SYN-GRAPH-TICKET", "ticket is %llu; this graph handed out 1 to %llu",
                  static_cast<unsigned long long>(ticket), static_cast<unsigned long long>(launched));
  const auto done = [&] {
    if (replay_->finished() < ticket) return false;
    statistics_.seen_done(ticket, launched_.load(std::memory_order_relaxed));
    return true;
  };
  if (done()) return SYNFIRE_OK;
  const int64_t start = now_ns();
  if (timeout_ns == 0) {
    // A program that only polls must learn of a lost device too.
    int64_t last = last_check_ns_.load(std::memory_order_relaxed);
    if (start - std::max(last, statistics_.launch_time(ticket)) >= first_check_ns &&
        last_check_ns_.compare_exchange_strong(last, start, std::memory_order_relaxed))
      replay_->check();
    return SYNFIRE_PENDING;
  }
  int64_t next_check = start + (policy == WaitPolicy::spin ? first_check_ns : first_sleepy_check_ns);
  const int64_t deadline = timeout_ns < 0 || timeout_ns > INT64_MAX - start ? INT64_MAX : start + timeout_ns;
  for (;;) {
    // A look at the clock costs more than a look at the counter.
    for (int i = 0; i < 32; ++i) {
      if (done()) return SYNFIRE_OK;
      if (policy == WaitPolicy::spin) pause_processor();
    }
    const int64_t now = now_ns();
    if (now >= deadline) {
      if (done()) return SYNFIRE_OK;
      replay_->check();  // a failed replay is reported as such, never as late
      statistics_.late();
      return SYNFIRE_PENDING;
    }
    if (now >= next_check) {
      replay_->check();
      next_check = now + check_interval_ns;
    }
    if (policy == WaitPolicy::yield) std::this_thread::yield();
    // Sleeping longer than the replay has taken so far would at most double the latency.
    if (policy == WaitPolicy::block) {
      const int64_t nap = std::clamp<int64_t>((now - start) / 4, 20'000, 500'000);
      std::this_thread::sleep_for(std::chrono::nanoseconds(std::min({nap, next_check - now, deadline - now})));
    }
  }
}

SlotMemory Graph::slot_memory(uint64_t ticket, const Buffer& buffer) {
  check_instantiated();
  const uint64_t launched = launched_.load(std::memory_order_acquire), n = slot_count();
  if (ticket > launched)
    fail_argument("SYN-GRAPH-TICKET", "ticket is %llu; this graph handed out 1 to %llu, and 0 is the next launch",
                  static_cast<unsigned long long>(ticket), static_cast<unsigned long long>(launched));
  if (ticket > 0 && launched - ticket >= n)
    fail_argument("SYN-GRAPH-SLOT-TAKEN", "ticket is %llu; the replay of ticket %llu has its slot now",
                  static_cast<unsigned long long>(ticket),
                  static_cast<unsigned long long>(ticket + (launched - ticket) / n * n));
  const Array& array = buffer.array();
  if (array.memory != SYNFIRE_MEMORY_PINNED)
    fail_argument("SYN-GRAPH-SLOT-BUFFER", "buffer is one of %s memory; only pinned buffers have slots",
                  name_of_memory(array.memory));
  // The slot is free when the last replay that had it is done.
  const uint64_t holder = ticket > 0 ? ticket : launched < n ? 0 : launched + 1 - n;
  if (replay_->finished() < holder) return {nullptr, array.bytes};
  const std::lock_guard lock(slots_mutex_);
  if (std::none_of(buffers_.begin(), buffers_.end(), [&](const Ref<Buffer>& b) { return b.get() == &buffer; }))
    fail_argument("SYN-GRAPH-SLOT-BUFFER", "buffer is used by no operation of this graph");
  return {slots_->address(array.data, slot_of(ticket > 0 ? ticket : launched + 1)), array.bytes};
}

// ---- eager calls ----------------------------------------------------------------------------------------------------

namespace {

// True: the caller captures the stream, and the operations are part of that now.
bool run(Device& device, std::span<Layer* const> layers, std::span<const Operation> operations, synfire_stream stream) {
  if (!device.is_capturing(stream)) {
    for (Layer* layer : layers) layer->check_use(nullptr, stream);
    for (Layer* layer : layers) layer->note_use(nullptr, stream);
    for (Layer* layer : layers) layer->refresh(stream);
    device.execute(operations, stream);
    return false;
  }
  // As Graph::refresh_for_capture().
  for (Layer* layer : layers) layer->settle();
  for (Layer* layer : layers) layer->refresh(nullptr);
  device.synchronize();
  device.execute_captured(operations, stream);
  return true;
}

bool run(Device& device, Layer* layer, std::span<const Operation> operations, synfire_stream stream) {
  return run(device, std::span<Layer* const>(&layer, layer ? 1 : 0), operations, stream);
}

bool run(Device& device, Layer* layer, const Operation& operation, synfire_stream stream) {
  return run(device, layer, std::span<const Operation>(&operation, 1), stream);
}

}  // namespace

bool run_forward(Layer& layer, const ForwardRequest& request, synfire_stream stream) {
  Device& device = layer.context()->device();
  device.is_capturing(stream);  // refuses a stream that the device cannot have
  const ForwardOperation operation = layer.forward(request);
  const bool captured = run(device, &layer, Operation(operation), stream);
  for (Buffer* written : {request.spikes, request.v_final, request.v_seq, request.h_seq, request.w_final, request.w_seq,
                          request.in_place ? request.x : nullptr})
    if (written) written->mark_written();
  layer.set_tape(request.tape == Tape::none ? TapeShape{} : TapeShape{request.x, request.tape, request.in_place}, false);
  return captured;
}

bool run_backward(Layer& layer, const BackwardRequest& request, synfire_stream stream) {
  Device& device = layer.context()->device();
  device.is_capturing(stream);
  const auto [tape, input] = layer.require_tape(request);
  const bool captured = run(device, &layer, layer.backward(request, tape), stream);
  for (Buffer* written : {request.grad_x_seq, request.grad_v_init, request.grad_w_init})
    if (written) written->mark_written();
  for (const GradientRequest& gradient : request.gradients) gradient.gradient->mark_written();
  return captured;
}

bool run(Context& context, const Recording& recording, synfire_stream stream) {
  const bool captured = run(context.device(), std::span<Layer* const>(recording.layers), recording.operations, stream);
  for (Buffer* buffer : recording.writes) buffer->mark_written();
  return captured;
}

bool run_convert_spikes(Context& context, const ConvertSpikesRequest& request, synfire_stream stream) {
  Device& device = context.device();
  device.is_capturing(stream);
  const bool captured = run(device, nullptr, Operation(convert_spikes(request, device.is_host())), stream);
  request.destination->mark_written();
  return captured;
}

bool run_count_spikes(Context& context, const CountSpikesRequest& request, synfire_stream stream) {
  Device& device = context.device();
  device.is_capturing(stream);
  const bool captured = run(device, nullptr, Operation(count_spikes(request, device.is_host())), stream);
  request.counts->mark_written();
  return captured;
}

}  // namespace synfire::core

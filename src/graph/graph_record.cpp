// Recording: each call appends one operation to the list of a graph, with everything checked that a launch would
// otherwise have to check. The operations themselves are in operations/.
#include "graph.hpp"
#include "operands.hpp"

#include <base/make_room.hpp>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace synfire::core {

void Graph::check_recording() const {
  if (instantiated_.load(std::memory_order_acquire))
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-GRAPH-INSTANTIATED",
         "the graph is already instantiated; record into a new graph");
}

int32_t Graph::last_operation() {
  const Exclusive exclusive(use_);
  if (enabled_.empty())
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-GRAPH-EMPTY", "the graph is empty; record at least one operation first");
  return static_cast<int32_t>(enabled_.size()) - 1;
}

// All of these stay within the room that append() has made.

uint32_t Graph::use(Layer& layer) noexcept {
  uint32_t number = layers_at_.find(&layer);
  if (number != AddressIndex::none) return number;
  number = static_cast<uint32_t>(layers_.size());
  layers_at_.set(&layer, number);
  layers_.emplace_back(&layer);
  of_layers_.emplace_back();
  return number;
}

uint32_t Graph::use(SharedObject& object, bool writes) noexcept {
  uint32_t number = shared_at_.find(&object);
  if (number != AddressIndex::none) {
    shared_[number].written |= writes;
    return number;
  }
  number = static_cast<uint32_t>(shared_.size());
  shared_at_.set(&object, number);
  shared_.push_back({Ref<SharedObject>(&object), writes});
  of_shared_.emplace_back();
  return number;
}

void Graph::keep(Buffer& buffer) noexcept {
  if (buffers_at_.find(&buffer) != AddressIndex::none) return;
  buffers_at_.set(&buffer, static_cast<uint32_t>(buffers_.size()));
  buffers_.emplace_back(&buffer);
}

// A tape that was made from it is invalid afterwards.
void Graph::note_written(Buffer& buffer) noexcept {
  for (uint32_t at = readers_at_.find(&buffer); at != AddressIndex::none; at = readers_[at].previous)
    ++forwards_[readers_[at].forward].n_overwritten;
  if (written_at_.find(&buffer) != AddressIndex::none) return;
  written_at_.set(&buffer, static_cast<uint32_t>(written_.size()));
  written_.push_back({&buffer, false});
}

void Graph::note_reader(const Buffer* buffer, uint32_t forward) noexcept {
  if (!buffer) return;
  readers_.push_back({forward, readers_at_.find(buffer)});
  readers_at_.set(buffer, static_cast<uint32_t>(readers_.size()) - 1);
}

void Graph::note_rewritten(Synapse& synapse, uint32_t operation) noexcept {
  const uint32_t number = use(synapse, true);
  uint32_t& newest = of_shared_[number].rewrite;
  if (newest != AddressIndex::none && rewrites_[newest].operation == operation) return;
  rewrites_.push_back({&synapse, operation, number, newest});
  newest = static_cast<uint32_t>(rewrites_.size()) - 1;
}

// The only place where the list grows. It derives from the operands what an operation keeps alive and what it writes.
// Recording is all or nothing: all memory is allocated before anything changes, and nothing after that can fail.
void Graph::append(OperationList&& operations, const Recorder& recorder) {
  size_t n_operands = 0;
  for_each_operand(operations, [&](const Operand<const View>&) { ++n_operands; });
  make_room(operations_, operations.size());
  make_room(owners_, operations.size());
  make_room(enabled_, 1);
  make_room(layers_, n_operands + recorder.updates_.size() + 1);
  make_room(shared_, n_operands + 1);
  make_room(buffers_, n_operands + 2);
  make_room(written_, n_operands);
  make_room(forwards_, 1);
  make_room(backwards_, 1);
  make_room(readers_, 2);
  make_room(of_layers_, n_operands + recorder.updates_.size() + 1);
  make_room(of_shared_, n_operands + 1);
  layers_at_.make_room(n_operands + recorder.updates_.size() + 1);
  shared_at_.make_room(n_operands + 1);
  buffers_at_.make_room(n_operands + 2);
  written_at_.make_room(n_operands);
  readers_at_.make_room(2);
  make_room(updates_, recorder.updates_.size());
  make_room(rewrites_, n_operands);
  for_each_operand(operations, [&](const Operand<const View>& operand) {
    if (Layer* const layer = layer_of(operand.view)) use(*layer);
    if (SharedObject* const object = shared_of(operand.view)) use(*object, operand.is_written());
    if (Synapse* const synapse = synapse_of(operand.view); synapse && operand.is_written())
      if (synapse->holds_weights(operand.view)) note_rewritten(*synapse, recorder.number());
    if (Buffer* const buffer = buffer_of(operand.view)) {
      keep(*buffer);
      if (operand.is_written()) note_written(*buffer);
    }
  });
  if (recorder.kept_.x) keep(*recorder.kept_.x);
  if (recorder.kept_.n_active) keep(*recorder.kept_.n_active);
  if (recorder.kept_.synapse) use(*recorder.kept_.synapse, false);
  std::move(operations.begin(), operations.end(), std::back_inserter(operations_));
  owners_.resize(operations_.size(), recorder.number());
  enabled_.push_back(1);
  if (recorder.forward_) {
    const auto index = static_cast<uint32_t>(forwards_.size());
    RecordedForward& forward = forwards_.emplace_back(*recorder.forward_);
    forward.layer_number = use(*forward.layer);
    forward.previous = std::exchange(of_layers_[forward.layer_number].forward, index);
    note_reader(forward.left.x, index);
    if (forward.left.n_active != forward.left.x) note_reader(forward.left.n_active, index);
    if (Tape* const tape = recorder.forward_->tape.get()) recorder.forward_->layer->expect_tape(*tape);
  }
  if (recorder.backward_) {
    backwards_.push_back(*recorder.backward_);
    backwards_.back().layer_number = use(*recorder.backward_->layer);
  }
  for (RecordedUpdate update : recorder.updates_) {
    update.layer_number = use(*update.layer);
    update.previous = std::exchange(of_layers_[update.layer_number].update, static_cast<uint32_t>(updates_.size()));
    updates_.push_back(update);
  }
}

void Graph::give_up(const Recorder& recorder) noexcept {
  values_.drop_from(recorder.number());
  for (const RecordedUpdate& update : recorder.updates_) update.layer->drop_update(update.parameter);
}

void Graph::record(FunctionRef<OperationList(Recorder&)> make) {
  const Exclusive exclusive(use_);
  check_recording();
  Recorder recorder(*this);
  try {
    append(make(recorder), recorder);
  } catch (...) {
    give_up(recorder);
    throw;
  }
}

// ---- what an operation tells ----------------------------------------------------------------------------------------

Recorder::Recorder(Graph& graph) noexcept : graph_(graph), number_(static_cast<uint32_t>(graph.enabled_.size())) {}

bool Recorder::on_host() const noexcept {
  return graph_.on_host_;
}

const uint64_t* Recorder::value(const char* name, GraphValues::Kind kind, int32_t dtype, double value) {
  return graph_.values_.add(number_, name, kind, dtype, value);
}

const uint64_t* Recorder::whole(const char* name, uint64_t value) {
  return graph_.values_.add_whole(number_, name, value);
}

CountedValue Recorder::counted(const char* name, uint64_t value) {
  return graph_.values_.add_counted(number_, name, value);
}

void Recorder::updates(Layer& layer, uint32_t parameter) {
  make_room(updates_, 1);
  layer.add_update(parameter);
  updates_.push_back({&layer, number_, parameter});
}

Tape* Recorder::leaves(Layer& layer, const TapeShape& shape) {
  Ref<Tape> tape;
  if (shape.x) {
    tape = Ref<Tape>::adopt(new Tape(*layer.context(), layer.spec()));
    tape->expect(shape);
  }
  forward_ = {&layer, number_, tape, shape};
  return tape.get();
}

// The newest forward of the layer, or the one that is this operation; null if there is none.
const RecordedForward* Graph::find_forward(const Layer& layer, std::optional<uint32_t> operation) const noexcept {
  const uint32_t number = layers_at_.find(&layer);
  uint32_t at = number == AddressIndex::none ? number : of_layers_[number].forward;
  while (at != AddressIndex::none && operation && forwards_[at].operation != *operation) at = forwards_[at].previous;
  return at == AddressIndex::none ? nullptr : &forwards_[at];
}

// The first update of the layer after a forward, or at all; null if there is none.
const RecordedUpdate* Graph::find_update(const Layer& layer, const RecordedForward* after) const noexcept {
  const uint32_t number = layers_at_.find(&layer);
  uint32_t at = number == AddressIndex::none ? number : of_layers_[number].update;
  const RecordedUpdate* found = nullptr;
  for (; at != AddressIndex::none && (!after || updates_[at].operation > after->operation); at = updates_[at].previous)
    found = &updates_[at];
  return found;
}

// The same for a synapse whose weights are written.
const RecordedRewrite* Graph::find_rewrite(const Synapse* synapse, const RecordedForward* after) const noexcept {
  const uint32_t number = synapse ? shared_at_.find(static_cast<const SharedObject*>(synapse)) : AddressIndex::none;
  uint32_t at = number == AddressIndex::none ? number : of_shared_[number].rewrite;
  const RecordedRewrite* found = nullptr;
  for (; at != AddressIndex::none && (!after || rewrites_[at].operation > after->operation);
       at = rewrites_[at].previous)
    found = &rewrites_[at];
  return found;
}

Tape& Recorder::reads_tape(Layer& layer, std::optional<uint32_t> forward, const TapeUse& use) {
  const RecordedForward* const inside = graph_.find_forward(layer, forward);
  if (forward && !inside)
    fail_argument("SYN-BACKWARD-FORWARD",
                  "desc.forward names operation %u, which is no forward of this layer in this graph", *forward);
  if (inside && !inside->tape)
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-INFERENCE",
         "%s forward of the layer in this graph was recorded for inference (SYNFIRE_TAPE_NONE)",
         forward ? "that" : "the latest");
  if (const RecordedUpdate* const update = graph_.find_update(layer, inside))
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-PARAMETERS",
         "operation %u of this graph updates a parameter of the layer after the forward whose tape this backward "
         "would read",
         update->operation);
  const Ref<Tape> tape = inside ? inside->tape : layer.latest_tape();
  TapeShape shape;
  std::tie(shape, kept_) = tape->expected();
  if (!shape.x) fail_no_tape();
  if (const RecordedRewrite* const rewrite = graph_.find_rewrite(shape.synapse, inside))
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-WEIGHTS",
         "operation %u of this graph writes the weights of the synapse after the forward whose tape this backward "
         "would read",
         rewrite->operation);
  const bool reads_input = layer.reads_input(shape, use);
  if (inside && inside->n_overwritten > 0 && reads_input)
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-WRITTEN",
         "an operation of this graph writes %s after the forward that read it, and this backward reads it again",
         shape.synapse ? "the synapse's input, or n_active," : "x");
  const auto index = inside ? std::optional<size_t>(inside - graph_.forwards_.data()) : std::nullopt;
  // The tape belongs to the forward of this x, so the graph keeps x even if the backward reads only H.
  backward_ = {&layer, number_, index, tape, shape, reads_input};
  return *tape;
}

void Graph::drop_updates_from(uint32_t operation) noexcept {
  while (!updates_.empty() && updates_.back().operation >= operation) {
    updates_.back().layer->drop_update(updates_.back().parameter);
    updates_.pop_back();
  }
}

}  // namespace synfire::core

// Recording: each call appends one operation to the list of a graph, with everything checked that a launch would
// otherwise have to check. The operations themselves are in operations/.
#include "graph.hpp"
#include "operands.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

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

namespace {

// Reserves room for more elements, so that adding them cannot fail. Grows as adding them one by one would.
template <class T>
void make_room(std::vector<T>& list, size_t n_more) {
  if (list.capacity() - list.size() < n_more) list.reserve(std::max(list.size() + n_more, 2 * list.capacity()));
}

}  // namespace

void Graph::use(Layer& layer) noexcept {
  for (const Ref<Layer>& known : layers_)
    if (known.get() == &layer) return;
  layers_.emplace_back(&layer);
}

void Graph::use(SharedObject& object, bool writes) noexcept {
  for (UsedObject& known : shared_)
    if (known.object.get() == &object) {
      known.written |= writes;
      return;
    }
  shared_.push_back({Ref<SharedObject>(&object), writes});
}

void Graph::keep(Buffer& buffer) noexcept {
  for (const Ref<Buffer>& known : buffers_)
    if (known.get() == &buffer) return;
  buffers_.emplace_back(&buffer);
}

// A tape that was made from it is invalid afterwards.
void Graph::note_written(Buffer& buffer) noexcept {
  for (RecordedForward& forward : forwards_)
    if (forward.left.reads(&buffer)) ++forward.n_overwritten;
  const auto same = [&](const Written& written) { return written.buffer == &buffer; };
  if (std::none_of(written_.begin(), written_.end(), same)) written_.push_back({&buffer, false});
}

void Graph::note_rewritten(Synapse& synapse, uint32_t operation) noexcept {
  if (rewrites_.empty() || rewrites_.back().synapse != &synapse || rewrites_.back().operation != operation)
    rewrites_.push_back({&synapse, operation});
}

// The only place where the list grows. It derives from the operands what an operation keeps alive and what it writes.
// Recording is all or nothing: all memory is allocated before anything changes, and nothing after that can fail.
void Graph::append(OperationList&& operations, const Recorder& recorder) {
  size_t n_operands = 0;
  for_each_operand(operations, [&](const Operand<const View>&) { ++n_operands; });
  make_room(operations_, operations.size());
  make_room(owners_, operations.size());
  make_room(enabled_, 1);
  make_room(layers_, n_operands);
  make_room(shared_, n_operands + 1);
  make_room(buffers_, n_operands + 2);
  make_room(written_, n_operands);
  make_room(forwards_, 1);
  make_room(backwards_, 1);
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
    forwards_.push_back(*recorder.forward_);
    if (Tape* const tape = recorder.forward_->tape.get()) recorder.forward_->layer->expect_tape(*tape);
  }
  if (recorder.backward_) backwards_.push_back(*recorder.backward_);
  updates_.insert(updates_.end(), recorder.updates_.begin(), recorder.updates_.end());
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
  updates_.reserve(updates_.size() + 1);
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

Tape& Recorder::reads_tape(Layer& layer, std::optional<uint32_t> forward, const TapeUse& use) {
  const RecordedForward* inside = nullptr;
  for (const RecordedForward& recorded : graph_.forwards_)
    if (recorded.layer == &layer && (!forward || recorded.operation == *forward)) inside = &recorded;
  if (forward && !inside)
    fail_argument("SYN-BACKWARD-FORWARD",
                  "desc.forward names operation %u, which is no forward of this layer in this graph", *forward);
  if (inside && !inside->tape)
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-INFERENCE",
         "%s forward of the layer in this graph was recorded for inference (SYNFIRE_TAPE_NONE)",
         forward ? "that" : "the latest");
  for (const RecordedUpdate& update : graph_.updates_)
    if (update.layer == &layer && (!inside || update.operation > inside->operation))
      fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-PARAMETERS",
           "operation %u of this graph updates a parameter of the layer after the forward whose tape this backward "
           "would read",
           update.operation);
  const Ref<Tape> tape = inside ? inside->tape : layer.latest_tape();
  TapeShape shape;
  std::tie(shape, kept_) = tape->expected();
  if (!shape.x) fail_no_tape();
  for (const RecordedRewrite& rewrite : graph_.rewrites_)
    if (rewrite.synapse == shape.synapse && (!inside || rewrite.operation > inside->operation))
      fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-WEIGHTS",
           "operation %u of this graph writes the weights of the synapse after the forward whose tape this backward "
           "would read",
           rewrite.operation);
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

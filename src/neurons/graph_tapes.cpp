#include "graph_tapes.hpp"

#include <base/error.hpp>
#include <base/make_room.hpp>

#include <tuple>
#include <utility>

namespace synfire::core {

GraphTapes::~GraphTapes() {
  for (const Update& update : updates_) update.layer->drop_update(update.parameter);
}

// ---- recording ------------------------------------------------------------------------------------------------------

void GraphTapes::make_room_for_layer() {
  const size_t most = new_updates_.size() + 3;  // with those of another update, a forward and a backward
  make_room(of_layers_, most);
  layers_at_.make_room(most);
}

uint32_t GraphTapes::number_of(Layer& layer) noexcept {
  uint32_t number = layers_at_.find(&layer);
  if (number != AddressIndex::none) return number;
  number = static_cast<uint32_t>(of_layers_.size());
  layers_at_.set(&layer, number);
  of_layers_.emplace_back();
  return number;
}

void GraphTapes::updates(const Recorder& recorder, Layer& layer, uint32_t parameter) {
  make_room(new_updates_, 1);
  make_room(updates_, new_updates_.size() + 1);
  make_room_for_layer();
  layer.add_update(parameter);
  new_updates_.push_back({&layer, recorder.number(), parameter});
}

Tape* GraphTapes::leaves(const Recorder& recorder, Layer& layer, const TapeShape& shape) {
  make_room(forwards_, 1);
  make_room_for_layer();
  Ref<Tape> tape;
  if (shape.x) {
    tape = Ref<Tape>::adopt(new Tape(*layer.context(), layer.spec()));
    tape->expect(shape);
  }
  new_forward_ = {&layer, recorder.number(), tape, shape};
  return tape.get();
}

// The newest forward of the layer, or the one with this operation; null if there is none.
const GraphTapes::Forward* GraphTapes::find_forward(const Layer& layer,
                                                    std::optional<uint32_t> operation) const noexcept {
  const uint32_t number = layers_at_.find(&layer);
  uint32_t at = number == AddressIndex::none ? number : of_layers_[number].forward;
  while (at != AddressIndex::none && operation && forwards_[at].operation != *operation) at = forwards_[at].previous;
  return at == AddressIndex::none ? nullptr : &forwards_[at];
}

const GraphTapes::Forward* GraphTapes::find_forward(const Layer& layer, const Tape& leaves) const noexcept {
  const Forward* found = find_forward(layer, std::nullopt);
  while (found && found->tape.get() != &leaves)
    found = found->previous == AddressIndex::none ? nullptr : &forwards_[found->previous];
  return found;
}

Tape* GraphTapes::newest(const Layer& layer) const noexcept {
  const Forward* const found = find_forward(layer, std::nullopt);
  return found ? found->tape.get() : nullptr;
}

// The first update of the layer after a forward, or of all; null if there is none.
const GraphTapes::Update* GraphTapes::find_update(const Layer& layer, const Forward* after) const noexcept {
  const uint32_t number = layers_at_.find(&layer);
  uint32_t at = number == AddressIndex::none ? number : of_layers_[number].update;
  const Update* found = nullptr;
  for (; at != AddressIndex::none && (!after || updates_[at].operation > after->operation); at = updates_[at].previous)
    found = &updates_[at];
  return found;
}

// True if an operation after the forward writes X or n_active.
bool GraphTapes::is_overwritten(const Forward& forward) const noexcept {
  const RecordedWrites& writes = graph_.writes();
  return writes.any_after(forward.left.x, forward.operation) ||
         writes.any_after(forward.left.n_active, forward.operation);
}

Tape& GraphTapes::reads(Recorder& recorder, Layer& layer, std::optional<uint32_t> forward, const TapeUse& use,
                        Tape* of_forward) {
  make_room(backwards_, 1);
  make_room_for_layer();
  const Forward* const inside = of_forward ? find_forward(layer, *of_forward) : find_forward(layer, forward);
  if (forward && !inside)
    fail_argument("SYN-BACKWARD-FORWARD",
                  "desc.forward names operation %u, which is not a forward of this layer in this graph", *forward);
  if (inside && !inside->tape)
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-INFERENCE",
         "%s forward of the layer in this graph was recorded for inference (SYNFIRE_TAPE_NONE)",
         forward ? "that" : "the latest");
  if (const Update* const update = find_update(layer, inside))
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-PARAMETERS",
         "operation %u of this graph updates a parameter of the layer after the forward whose tape this backward "
         "would read",
         update->operation);
  const Ref<Tape> tape = inside ? inside->tape : of_forward ? Ref<Tape>(of_forward) : layer.latest_tape();
  TapeShape shape;
  TapeInputs inputs;
  std::tie(shape, inputs) = tape->expected();
  if (!shape.x) fail_no_tape();
  const auto after = inside ? std::optional<uint32_t>(inside->operation) : std::nullopt;
  for (const Synapse* const synapse : {shape.synapse, shape.recurrent.synapse})
    if (const std::optional<uint32_t> rewrite = graph_.writes().first(synapse, after))
      fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-WEIGHTS",
           "operation %u of this graph writes the weights of the synapse after the forward whose tape this backward "
           "would read",
           *rewrite);
  const bool reads_input = layer.reads_input(shape, use);
  if (inside && reads_input && is_overwritten(*inside))
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-WRITTEN",
         "an operation of this graph writes %s after the forward that read it, and this backward reads it again",
         shape.synapse ? "the synapse's input, or n_active," : "x");
  const auto index = inside ? std::optional<size_t>(inside - forwards_.data()) : std::nullopt;
  // The tape belongs to the forward of this x, so the graph keeps x even if the backward reads only H.
  if (inputs.x) recorder.keep(*inputs.x);
  if (inputs.n_active) recorder.keep(*inputs.n_active);
  if (inputs.synapse) recorder.keep(*inputs.synapse);
  if (inputs.recurrent) recorder.keep(*inputs.recurrent);
  new_backward_ = {&layer, recorder.number(), index, tape, shape, reads_input};
  return *tape;
}

void GraphTapes::commit() noexcept {
  if (new_forward_) {
    const auto index = static_cast<uint32_t>(forwards_.size());
    Forward& forward = forwards_.emplace_back(*std::exchange(new_forward_, std::nullopt));
    forward.layer_number = number_of(*forward.layer);
    forward.previous = std::exchange(of_layers_[forward.layer_number].forward, index);
    if (Tape* const tape = forward.tape.get()) forward.layer->expect_tape(*tape);
  }
  if (new_backward_) {
    Backward& backward = backwards_.emplace_back(*std::exchange(new_backward_, std::nullopt));
    backward.layer_number = number_of(*backward.layer);
  }
  for (Update update : new_updates_) {
    update.layer_number = number_of(*update.layer);
    update.previous = std::exchange(of_layers_[update.layer_number].update, static_cast<uint32_t>(updates_.size()));
    updates_.push_back(update);
  }
  new_updates_.clear();
}

void GraphTapes::drop() noexcept {
  new_forward_.reset();
  new_backward_.reset();
  for (const Update& update : new_updates_) update.layer->drop_update(update.parameter);
  new_updates_.clear();
}

// ---- between replays ------------------------------------------------------------------------------------------------

namespace {

bool is_pinned(const TapeShape& shape) {
  return (shape.x && shape.x->view().memory == SYNFIRE_MEMORY_PINNED) ||
         (shape.n_active && shape.n_active->view().memory == SYNFIRE_MEMORY_PINNED);
}

}  // namespace

void GraphTapes::instantiate() {
  if (graph_.slot_count() > 1)
    for (const Backward& backward : backwards_)
      if (!backward.forward && backward.reads_input && is_pinned(backward.shape))
        fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-GRAPH-SLOT-TAPE",
             "desc.n_slots is %u; operation %u is a backward that reads the x of a forward outside this graph again, "
             "from a pinned buffer, of which this graph has several copies; use a device buffer for x, or let the "
             "forward store H",
             graph_.slot_count(), backward.operation);
  needs_.reserve(backwards_.size());
  leaves_.reserve(forwards_.size());
  updated_.reserve(updates_.size());
  observed_ = graph_.is_observed();
}

// Changes of X and n_active that count once a replay has been launched, less those that the forward has not seen.
uint64_t GraphTapes::x_changes_of(const Forward& forward) const noexcept {
  const TapeShape& left = forward.left;
  const RecordedWrites& writes = graph_.writes();
  const auto seen = [&](const Buffer* buffer) -> uint64_t {
    return writes.any(buffer) && !writes.any_after(buffer, forward.operation) ? 1 : 0;
  };
  const bool moved = graph_.slot_count() > 1 && left.x && is_pinned(left);
  return seen(left.x) + (left.n_active != left.x ? seen(left.n_active) : 0) - (moved ? 1 : 0);
}

void GraphTapes::plan(std::span<const uint8_t> enabled) noexcept {
  const RecordedWrites& writes = graph_.writes();
  needs_.clear();
  leaves_.clear();
  updated_.clear();
  const auto runs = [&](uint32_t operation) { return enabled[operation] != 0; };
  for (OfLayer& layer : of_layers_) {
    layer.left = layer.updated = AddressIndex::none;
    layer.updates = {};
  }
  for (const Update& update : updates_) {
    if (!runs(update.operation)) continue;
    OfLayer& layer = of_layers_[update.layer_number];
    layer.updates.add(update.operation);
    if (layer.updated == AddressIndex::none) {
      layer.updated = static_cast<uint32_t>(updated_.size());
      updated_.push_back({update.layer, 0});
    }
    updated_[layer.updated].parameters |= uint32_t{1} << update.parameter;
  }
  for (Backward& backward : backwards_) {
    if (!runs(backward.operation)) continue;
    backward.from_before = !backward.forward || !runs(forwards_[*backward.forward].operation);
    if (!backward.from_before) {
      const uint32_t forward = forwards_[*backward.forward].operation;
      const auto overwritten = [&](const Buffer* buffer) {
        return writes.any_between(buffer, forward, backward.operation, enabled);
      };
      if (backward.reads_input && (overwritten(backward.shape.x) || overwritten(backward.shape.n_active)))
        needs_.push_back(
            {backward.layer, backward.tape.get(), backward.shape, backward.reads_input, Need::Stale::overwritten});
      continue;
    }
    const bool updated = of_layers_[backward.layer_number].updates.before(backward.operation) ||
                         writes.enabled(backward.shape.synapse).before(backward.operation) ||
                         writes.enabled(backward.shape.recurrent.synapse).before(backward.operation);
    needs_.push_back({backward.layer, backward.tape.get(), backward.shape, backward.reads_input,
                      updated ? Need::Stale::updated : Need::Stale::no});
  }
  for (const Forward& forward : forwards_) {
    if (!runs(forward.operation)) continue;
    OfLayer& layer = of_layers_[forward.layer_number];
    if (layer.left != AddressIndex::none) leaves_[layer.left].last = false;
    layer.left = static_cast<uint32_t>(leaves_.size());
    // A replay counts as one change. The forward has seen it unless an operation after it makes the change.
    const auto seen = [&](const OperationSpan& changes) -> uint64_t {
      return changes.any && !changes.after(forward.operation) ? 1 : 0;
    };
    leaves_.push_back(
        {forward.layer, forward.tape.get(), forward.left, static_cast<size_t>(&forward - forwards_.data()), true,
         x_changes_of(forward),
         seen(writes.enabled(forward.left.synapse)) + seen(writes.enabled(forward.left.recurrent.synapse)),
         seen(layer.updates)});
  }
  checks_ = !needs_.empty();
}

void GraphTapes::rebind(Buffer& before, Buffer& now) noexcept {
  for (Forward& forward : forwards_) {
    if (!forward.left.reads(&before)) continue;
    forward.left.rebind(before, now);
    if (forward.tape) forward.tape->expect(forward.left);
  }
  for (Backward& backward : backwards_) backward.shape.rebind(before, now);
}

// ---- launches -------------------------------------------------------------------------------------------------------

void GraphTapes::check() const {
  for (const Need& need : needs_) {
    if (need.stale == Need::Stale::overwritten)
      fail(
          SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-WRITTEN",
          "an operation of this graph writes %s between the forward and a backward that reads it again; rebind it to a "
          "buffer that no operation in between writes, or disable that operation",
          need.shape.synapse ? "the synapse's input, or n_active," : "x");
    if (need.stale == Need::Stale::updated)
      fail(
          SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-DISABLED",
          "an operation that is enabled reads the tape of a forward that is disabled, and an update of the same layer, "
          "or of its synapse, runs before it");
    need.tape->check(*need.layer, need.shape, need.reads_input);
  }
}

[[gnu::hot]] void GraphTapes::stamp() noexcept {
  for (Left& left : leaves_) left.stamp = stamp_of(*left.layer, left.tape, left.shape);
  if (observed_) [[unlikely]]
    stamp_operations();
}

void GraphTapes::stamp_operations() noexcept {
  for (Forward& forward : forwards_) forward.stamp = stamp_of(*forward.layer, forward.tape.get(), forward.left);
  for (Backward& backward : backwards_) backward.stamp = backward.tape->stamp(*backward.layer, backward.shape);
}

// A callback of the replay may have set a parameter, run a layer or written an X since the forward.
void GraphTapes::before(uint32_t operation) {
  for (Forward& forward : forwards_) {
    if (forward.operation != operation) continue;
    forward.stamp = stamp_of(*forward.layer, forward.tape.get(), forward.left);
    for (Left& left : leaves_)
      if (&forwards_[left.forward] == &forward) left.stamp = forward.stamp;
  }
  for (const Backward& backward : backwards_) {
    if (backward.operation != operation) continue;
    const TapeStamp made_of = backward.from_before ? backward.stamp : forwards_[*backward.forward].stamp;
    const TapeStamp now = backward.tape->stamp(*backward.layer, backward.shape);
    const char* const what = now.n_left != made_of.n_left                 ? "ran the layer"
                             : now.parameters != made_of.parameters       ? "set a parameter of the layer"
                             : now.weights != made_of.weights             ? "wrote the weights of the synapse"
                             : backward.reads_input && now.x != made_of.x ? "wrote x"
                                                                          : nullptr;
    if (what)
      fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-CALLBACK",
           "a callback of this graph %s between the forward and operation %u, the backward that reads its tape", what,
           operation);
  }
}

[[gnu::hot]] void GraphTapes::leave(bool captured) {
  for (const Updated& updated : updated_) updated.layer->note_updated(updated.parameters, captured);
  for (const Left& left : leaves_) {
    TapeStamp stamp = left.stamp;
    // The replay's own writes and updates count only now.
    stamp.x += left.x_changes;
    stamp.weights += left.weight_changes;
    stamp.parameters += left.parameter_changes;
    if (left.tape) left.tape->leave(left.shape, stamp);
    if (left.last &&
        left.layer->n_forwards() == stamp.n_forwards)  // otherwise a callback ran the layer, and its tape is newer
      left.layer->leave_tape(left.tape);
  }
}

// A failed replay may have overwritten earlier tapes and updated parameters.
void GraphTapes::spoil() noexcept {
  for (const Updated& updated : updated_) updated.layer->note_updated(updated.parameters, false);
  for (const Left& left : leaves_) {
    if (left.tape) left.tape->spoil();
    left.layer->leave_tape(nullptr);
  }
}

}  // namespace synfire::core

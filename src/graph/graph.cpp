// Instantiates a graph: computes in advance what a launch must know. Recording is in graph_record.cpp, changes between
// replays in graph_change.cpp, launching and waiting in graph_replay.cpp, DOT output in graph_dot.cpp.
#include "graph.hpp"
#include "operands.hpp"

#include <base/error.hpp>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace synfire::core {

void Exclusive::fail_busy() {
  fail(SYNFIRE_ERROR_BUSY, "SYN-GRAPH-BUSY", "the graph is in use on another thread");
}

void Graph::fail_not_instantiated() {
  fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-GRAPH-NOT-INSTANTIATED",
       "the graph is not instantiated; call synfire_graph_instantiate first");
}

Graph::~Graph() {
  drop_updates_from(0);
  for (const Written& written : written_)
    if (written.owned) written.buffer->writes().give_up();
  remove_from_objects();
  replay_.reset();  // destroyed before what it uses
}

void Graph::remove_from_objects() noexcept {
  for (const Ref<Layer>& layer : layers_) layer->remove_replayer(*this);
  for (const UsedObject& used : shared_) used.object->order().remove(*this);
}

// ---- instantiating --------------------------------------------------------------------------------------------------

ReplayPlan Graph::plan(const OperationList& operations, const Slots& slots) {
  ReplayPlan plan = {{}, owners_, enabled_, eager_, observed_ ? this : nullptr};
  for (uint32_t slot = 0; slot < slot_count(); ++slot) {
    plan.slots.push_back(slots.relocated(operations, slot));
    // One for all slots, because replays of one graph run one after the other.
    place_scratch(plan.slots.back(), owners_, scratch_.get());
  }
  return plan;
}

void Graph::check_slots_and_tapes() const {
  if (slot_count() < 2) return;
  for (const RecordedBackward& backward : backwards_)
    if (!backward.forward && backward.reads_input &&
        (backward.shape.x->view().memory == SYNFIRE_MEMORY_PINNED ||
         (backward.shape.n_active && backward.shape.n_active->view().memory == SYNFIRE_MEMORY_PINNED)))
      fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-GRAPH-SLOT-TAPE",
           "desc.n_slots is %u; operation %u is a backward that reads the x of a forward outside this graph again, "
           "from a pinned buffer, of which this graph has several copies; use a device buffer for x, or let the "
           "forward store H",
           n_slots_, backward.operation);
}

uint32_t Graph::most_in_flight() const {
  if (n_slots_ > 0) return n_slots_ == shared_slots ? 0 : n_slots_;
  const auto pinned = [](const Ref<Buffer>& buffer) { return buffer->view().memory == SYNFIRE_MEMORY_PINNED; };
  const std::vector<Ref<Buffer>> buffers = buffers_with_slots(operations_, buffers_);
  return std::any_of(buffers.begin(), buffers.end(), pinned) ? 1 : 0;
}

void Graph::instantiate() {
  const Exclusive exclusive(use_);
  check_recording();
  if (operations_.empty())
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-GRAPH-EMPTY", "the graph is empty; record at least one operation first");
  check_slots_and_tapes();
  needs_.reserve(backwards_.size());
  leaves_.reserve(forwards_.size());
  updated_.reserve(updates_.size());
  rewritten_.reserve(rewrites_.size());
  const char* const value = std::getenv("SYNFIRE_GRAPH");
  eager_ = value && std::string_view(value) == "0";
  observed_ = std::any_of(operations_.begin(), operations_.end(),
                          [](const Operation& operation) { return operation.kind().calls_back; });
  auto slots = std::make_unique<Slots>(device(), buffers_with_slots(operations_, buffers_), slot_count());
  scratch_.provide_for_replays(device(), scratch_bytes(operations_, owners_));
  replay_ = device().instantiate(plan(operations_, *slots));
  try {
    for (const Ref<Layer>& layer : layers_) layer->add_replayer(*this);
    for (const UsedObject& used : shared_) used.object->order().add(*this, used.written);
  } catch (...) {
    remove_from_objects();
    replay_.reset();  // destroyed before the slots that it uses
    throw;
  }
  slots_ = std::move(slots);
  most_in_flight_ = most_in_flight();
  for (Written& written : written_) written.owned = written.buffer->writes().claim(this);
  plan_tapes();
  instantiated_.store(true, std::memory_order_release);
}

// ---- tapes ----------------------------------------------------------------------------------------------------------

// The enabled operations that write the synapse's weights.
Graph::Span Graph::rewrites_of(const Synapse* synapse) const noexcept {
  const uint32_t number = synapse ? shared_at_.find(static_cast<const SharedObject*>(synapse)) : AddressIndex::none;
  return number == AddressIndex::none ? Span{} : of_shared_[number].rewrites;
}

// Buffers of the shape that the replay writes.
uint64_t Graph::n_written_of(const TapeShape& shape) const noexcept {
  const auto is_written = [&](const Buffer* buffer) -> uint64_t {
    return buffer && written_at_.find(buffer) != AddressIndex::none ? 1 : 0;
  };
  return is_written(shape.x) + (shape.n_active != shape.x ? is_written(shape.n_active) : 0);
}

// Computes what a launch must check and what it leaves. Too slow for the path of a launch. Stays within the capacity
// that instantiate() reserved.
void Graph::plan_tapes() {
  needs_.clear();
  leaves_.clear();
  rewritten_.clear();
  updated_.clear();
  const auto runs = [&](uint32_t operation) { return enabled_[operation] != 0; };
  for (OfLayer& layer : of_layers_) {
    layer.left = layer.updated = AddressIndex::none;
    layer.updates = {};
  }
  for (OfShared& shared : of_shared_) shared.rewrites = {};
  for (const RecordedUpdate& update : updates_) {
    if (!runs(update.operation)) continue;
    OfLayer& layer = of_layers_[update.layer_number];
    layer.updates.add(update.operation);
    if (layer.updated == AddressIndex::none) {
      layer.updated = static_cast<uint32_t>(updated_.size());
      updated_.push_back({update.layer, 0});
    }
    updated_[layer.updated].parameters |= uint32_t{1} << update.parameter;
  }
  for (const RecordedRewrite& rewrite : rewrites_) {
    if (!runs(rewrite.operation)) continue;
    Span& rewrites = of_shared_[rewrite.synapse_number].rewrites;
    if (!rewrites.any) rewritten_.push_back(rewrite.synapse);
    rewrites.add(rewrite.operation);
  }
  for (RecordedBackward& backward : backwards_) {
    if (!runs(backward.operation)) continue;
    backward.from_before = !backward.forward || !runs(forwards_[*backward.forward].operation);
    if (!backward.from_before) continue;
    const bool changed = of_layers_[backward.layer_number].updates.before(backward.operation) ||
                         rewrites_of(backward.shape.synapse).before(backward.operation);
    needs_.push_back({backward.layer, backward.tape.get(), backward.shape, backward.reads_input, changed});
  }
  for (const RecordedForward& forward : forwards_) {
    if (!runs(forward.operation)) continue;
    OfLayer& layer = of_layers_[forward.layer_number];
    if (layer.left != AddressIndex::none) leaves_[layer.left].last = false;
    layer.left = static_cast<uint32_t>(leaves_.size());
    // A later replay may use another slot, which holds another X.
    const TapeShape& left = forward.left;
    const bool moved = slot_count() > 1 && left.x &&
                       (left.x->view().memory == SYNFIRE_MEMORY_PINNED ||
                        (left.n_active && left.n_active->view().memory == SYNFIRE_MEMORY_PINNED));
    // A replay counts as one change, which the forward has seen unless an operation after it makes it.
    const auto seen = [&](const Span& changes) -> uint64_t {
      return changes.any && !changes.after(forward.operation) ? 1 : 0;
    };
    const uint64_t n_overwritten = static_cast<uint64_t>(forward.n_overwritten) + (moved ? 1 : 0);
    leaves_.push_back({forward.layer, forward.tape.get(), left, static_cast<size_t>(&forward - forwards_.data()), true,
                       n_written_of(left) - n_overwritten, seen(rewrites_of(left.synapse)), seen(layer.updates)});
  }
}

}  // namespace synfire::core

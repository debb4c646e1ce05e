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

// Whether an enabled operation with a number in [from, to) writes the synapse's weights.
bool Graph::is_rewritten(const Synapse* synapse, uint32_t from, uint32_t to) const noexcept {
  return std::any_of(rewrites_.begin(), rewrites_.end(), [&](const RecordedRewrite& rewrite) {
    return rewrite.synapse == synapse && rewrite.operation >= from && rewrite.operation < to &&
           enabled_[rewrite.operation] != 0;
  });
}

// Computes what a launch must check and what it leaves. Too slow for the path of a launch. Stays within the capacity
// that instantiate() reserved.
void Graph::plan_tapes() {
  needs_.clear();
  leaves_.clear();
  const auto runs = [&](uint32_t operation) { return enabled_[operation] != 0; };
  for (RecordedBackward& backward : backwards_) {
    if (!runs(backward.operation)) continue;
    backward.from_before = !backward.forward || !runs(forwards_[*backward.forward].operation);
    if (!backward.from_before) continue;
    const bool updated = std::any_of(updates_.begin(), updates_.end(), [&](const RecordedUpdate& update) {
      return update.layer == backward.layer && update.operation < backward.operation && runs(update.operation);
    });
    const bool rewritten = is_rewritten(backward.shape.synapse, 0, backward.operation);
    needs_.push_back({backward.layer, backward.tape.get(), backward.shape, backward.reads_input, updated || rewritten});
  }
  for (const RecordedForward& forward : forwards_) {
    if (!runs(forward.operation)) continue;
    for (TapeLeft& before : leaves_)
      if (before.layer == forward.layer) before.last = false;
    // A later replay may use another slot, which holds another X.
    const TapeShape& left = forward.left;
    const bool moved = slot_count() > 1 && left.x &&
                       (left.x->view().memory == SYNFIRE_MEMORY_PINNED ||
                        (left.n_active && left.n_active->view().memory == SYNFIRE_MEMORY_PINNED));
    const auto n_updates = [&](bool after) -> uint64_t {  // 0 or 1: a replay counts as one update
      return std::any_of(updates_.begin(), updates_.end(), [&](const RecordedUpdate& update) {
        return update.layer == forward.layer && (!after || update.operation > forward.operation) &&
               runs(update.operation);
      });
    };
    const auto n_rewrites = [&](uint32_t from) -> uint64_t {  // likewise
      return is_rewritten(left.synapse, from, UINT32_MAX);
    };
    const auto n_written = static_cast<uint64_t>(std::count_if(
        written_.begin(), written_.end(), [&](const Written& other) { return left.reads(other.buffer); }));
    const uint64_t n_overwritten = static_cast<uint64_t>(forward.n_overwritten) + (moved ? 1 : 0);
    leaves_.push_back({forward.layer, forward.tape.get(), left, static_cast<size_t>(&forward - forwards_.data()), true,
                       n_written - n_overwritten, n_rewrites(0) - n_rewrites(forward.operation + 1),
                       n_updates(false) - n_updates(true)});
  }
  rewritten_.clear();
  for (const RecordedRewrite& rewrite : rewrites_)
    if (runs(rewrite.operation) && std::find(rewritten_.begin(), rewritten_.end(), rewrite.synapse) == rewritten_.end())
      rewritten_.push_back(rewrite.synapse);
  updated_.clear();
  for (const RecordedUpdate& update : updates_) {
    if (!runs(update.operation)) continue;
    const auto same = std::find_if(updated_.begin(), updated_.end(),
                                   [&](const Updated& updated) { return updated.layer == update.layer; });
    const uint32_t bit = uint32_t{1} << update.parameter;
    if (same == updated_.end())
      updated_.push_back({update.layer, bit});
    else
      same->parameters |= bit;
  }
}

}  // namespace synfire::core

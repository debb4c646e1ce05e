// Instantiates a graph: computes in advance what launches need. Recording is in graph_record.cpp, changes in
// graph_change.cpp, launching and waiting in graph_replay.cpp, DOT output in graph_dot.cpp.
#include "graph.hpp"

#include "operands.hpp"

#include <base/error.hpp>
#include <base/log.hpp>

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
  keepers_.clear();
  writes_.give_up();
  remove_from_objects();
  replay_.reset();  // destroyed before what it uses
}

void Graph::remove_from_objects() noexcept {
  for (const Ref<Replayed>& object : replayed_) object->remove_replayer(*this);
  for (const UsedObject& used : shared_) used.object->order().remove(*this);
}

// ---- instantiating --------------------------------------------------------------------------------------------------

ReplayPlan Graph::plan(const OperationList& operations, const Slots& slots) {
  ReplayPlan plan;
  for (uint32_t slot = 0; slot < slot_count(); ++slot) plan.slots.push_back(slots.relocated(operations, slot));
  plan.owners = owners_;
  plan.enabled = enabled_;
  plan.transients.assign(transients_.arrays().begin(), transients_.arrays().end());
  plan.arena = arena_;
  plan.eager = eager_;
  plan.observer = observed_ ? this : nullptr;
  return plan;
}

uint32_t Graph::most_in_flight() const {
  if (n_slots_ > 0) return n_slots_ == shared_slots ? 0 : n_slots_;
  const auto pinned = [](const Ref<Buffer>& buffer) { return buffer->view().memory == SYNFIRE_MEMORY_PINNED; };
  const std::vector<Ref<Buffer>> buffers = buffers_with_slots(operations_, buffers_);
  return std::any_of(buffers.begin(), buffers.end(), pinned) ? 1 : 0;
}

void Graph::instantiate() {
  const Charging charging(charge());
  const Exclusive exclusive(use_);
  check_recording();
  if (operations_.empty())
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-GRAPH-EMPTY", "the graph is empty; record at least one operation first");
  if (arrange_) {
    arrange_(operations_, owners_);
    arrange_ = nullptr;
  }
  observed_ = std::any_of(operations_.begin(), operations_.end(),
                          [](const Operation& operation) { return operation.kind().calls_back; });
  for (TapeKeeper& keeper : keepers_) keeper.instantiate();
  counted_.reserve(writes_.n_objects());
  const char* const value = std::getenv("SYNFIRE_GRAPH");
  eager_ = value && std::string_view(value) == "0";
  auto slots = std::make_unique<Slots>(device(), buffers_with_slots(operations_, buffers_), slot_count());
  replay_ = device().instantiate(plan(operations_, *slots));
  try {
    for (const Ref<Replayed>& object : replayed_) object->add_replayer(*this);
    for (const UsedObject& used : shared_) used.object->order().add(*this, used.written);
  } catch (...) {
    remove_from_objects();
    replay_.reset();  // destroyed before the slots that it uses
    throw;
  }
  slots_ = std::move(slots);
  most_in_flight_ = most_in_flight();
  writes_.claim(this);
  plan_launches();
  instantiated_.store(true, std::memory_order_release);
  if (!is_logged(SYNFIRE_LOG_CHOICE)) return;
  synfire_memory_use use = SYNFIRE_MEMORY_USE_INIT;
  charge().account().read(use);
  log_message(SYNFIRE_LOG_CHOICE, "graph: %zu operations, %u slots, %llu bytes%s", enabled_.size(), slot_count(),
              static_cast<unsigned long long>(use.graph_bytes),
              eager_ ? ", runs its operations one by one (SYNFIRE_GRAPH is 0)" : "");
}

// Computes what a launch counts, and what its keepers check and leave. Too slow for the path of a launch. Stays within
// the capacity that instantiate() reserved.
void Graph::plan_launches() noexcept {
  writes_.plan(enabled_, counted_);
  passed_on_.plan(enabled_);
  looks_closer_ = eager_ || passed_on_.missing();
  for (TapeKeeper& keeper : keepers_) keeper.plan(enabled_);
}

}  // namespace synfire::core

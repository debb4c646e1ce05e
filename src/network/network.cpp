// The network object: its uses, design and building. Its runs are in run.cpp, its texts in summary.cpp.
#include "network.hpp"

#include "stages/stage_kinds.hpp"

#include <base/error.hpp>
#include <base/log.hpp>
#include <base/make_room.hpp>

#include <algorithm>
#include <string>

namespace synfire::network {

using namespace synfire::core;

Network::Use::Use(Network& network) : in_use_(network.in_use_) {
  bool nobody = false;
  if (!in_use_.compare_exchange_strong(nobody, true, std::memory_order_acquire, std::memory_order_relaxed))
    fail(SYNFIRE_ERROR_BUSY, "SYN-NETWORK-BUSY", "the network is in use on another thread");
  try {
    network.settle();
  } catch (...) {
    in_use_.store(false, std::memory_order_release);
    throw;
  }
}

// Does the work that earlier calls left undone for lack of memory.
void Network::settle() {
  if (!owed_ && !kept_owed_ && !reset_owed_) return;
  HeldGraphs held;
  hold_all(held);
  settle(held);
}

void Network::settle(const HeldGraphs& held) {
  if (kept_owed_) {
    parts_->kept->put_back(held);
    kept_owed_ = false;
  }
  if (owed_) {
    apply(held, owed_->file, owed_->saved);
    owed_.reset();
  }
  if (reset_owed_) {
    reset_layers();
    reset_owed_ = false;
  }
}

void Network::hold_all(HeldGraphs& held) {
  for (const GraphKind kind : graph_kinds) held.add(kind, parts_->graph(kind).graph);
  for (const WeakRef<Graph>& weak : replaced_)
    if (const Ref<Graph> graph = weak.lock()) held.add_replaced(*graph);
}

void Network::check_order() const {
  for (const std::unique_ptr<StageParts>& stage : parts_->stages) stage->check_order();
}

void Network::check_built() const {
  if (!parts_)
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-NOT-BUILT",
         "the network is not built; call synfire_network_build first");
}

void Network::check_not_built() const {
  if (parts_)
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-BUILT",
         "the network is built; stages are added and described before that, and it is built once");
}

// ---- the design -----------------------------------------------------------------------------------------------------

void Network::change(FunctionRef<void(Design&)> body) {
  const Use use(*this);
  check_not_built();
  body(design_);
}

namespace {

// Inference has no value that changes.
constexpr GraphKind graphs_with_values[] = {GraphKind::training, GraphKind::evaluation, GraphKind::forward,
                                            GraphKind::backward};

}  // namespace

void Network::apply_value(const HeldGraphs& held, size_t stage, const char* name, double value) {
  if (parts_->stages[stage]->take_value(name, value)) return;
  const Stage& changed = design_.stages()[stage];
  const double recorded = changed.find_spec(name) ? changed.kind->recorded_value(changed, name) : value;
  for (const GraphKind kind : graphs_with_values)
    if (const Graph::Hold* const hold = held.find(kind)) parts_->graph(kind).set(*hold, stage, name, recorded);
}

void Network::set_value(const char* stage, const char* name, double value) {
  const Use use(*this);
  if (!parts_) {
    design_.set_value(stage, name, value, false);
    return;
  }
  const size_t index = design_.find(stage);
  HeldGraphs held;
  if (design_.has_value(index, name)) {
    for (const GraphKind kind : graphs_with_values) held.add(kind, parts_->graph(kind).graph);
  }
  Stage before = design_.stages()[index];
  design_.set_value(stage, name, value, true);
  try {
    apply_value(held, index, name, value);
  } catch (...) {
    design_.put_back(index, std::move(before));
    throw;
  }
}

double Network::get_value(const char* stage, const char* name) {
  const Use use(*this);
  const double value = design_.get_value(stage, name);
  if (!parts_) return value;
  const size_t index = design_.find(stage);
  if (design_.has_value(index, name)) return value;
  return parts_->stages[index]->further_value(name).value_or(value);
}

uint64_t Network::data_bytes() const noexcept {
  return training_.bytes() + evaluation_.bytes();
}

void Network::query_memory(synfire_network_memory& memory) {
  const Use use(*this);
  design_.check_complete();
  const PartBytes bytes = plan(design_, device());
  memory.synapse_bytes = bytes.synapses;
  memory.layer_bytes = bytes.layers;
  memory.buffer_bytes = bytes.buffers;
  memory.optimizer_bytes = bytes.optimizer;
  memory.graph_bytes = bytes.graphs;
  memory.device_bytes = bytes.device();
  memory.pinned_bytes = bytes.pinned;
  memory.data_bytes = data_bytes();
}

// ---- building -------------------------------------------------------------------------------------------------------

void Network::build() {
  const Use use(*this);
  check_not_built();
  design_.check_complete();
  const PartBytes bytes = plan(design_, device());
  device().require(SYNFIRE_MEMORY_DEVICE, bytes.device());
  device().require(SYNFIRE_MEMORY_PINNED, bytes.pinned);
  auto parts = std::make_unique<Parts>(*context(), design_);
  parts->arena_block = parts->arena->provide(bytes.arena);
  parts->record_inference();
  if (parts->has_own_loss()) parts->record_own_loss();
  parts_ = std::move(parts);
  design_.built();
  log_message(SYNFIRE_LOG_CHOICE, "network: %zu stages, %llu bytes of device memory and %llu page-locked",
              design_.stages().size(), static_cast<unsigned long long>(bytes.device()),
              static_cast<unsigned long long>(bytes.pinned));
}

void Network::set_data(DataKind kind, int64_t n_rows, const DataArrays& arrays) {
  take_data(kind, n_rows, [&] { return needed_arrays(design_, arrays); });
}

void Network::set_arrays(DataKind kind, int64_t n_rows, std::span<const GivenArray> arrays) {
  take_data(kind, n_rows, [&] { return needed_arrays(design_, arrays); });
}

void Network::take_data(DataKind kind, int64_t n_rows, FunctionRef<NeededArrays()> arrays) {
  const Use use(*this);
  check_built();
  const bool training = kind == DataKind::training;
  for (const Role role : {Role::scores, Role::trains})
    if (!design_.has(role) && (training || role == Role::scores))
      fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-INCOMPLETE",
           "the network has no %s, without which it has no use for this data", kind_with(role).traits.name);
  DataSet& current = training ? training_ : evaluation_;
  const GraphKind graph_kind = training ? GraphKind::training : GraphKind::evaluation;
  const Ref<Graph> before = parts_->graph(graph_kind).graph;
  HeldGraphs held;
  held.add(graph_kind, before);
  held.finish();
  DataSet next = copy_data(design_, *context(), n_rows, arrays(), current);
  // The existing graph reads the same memory.
  if (next.is_in(current)) return;
  std::erase_if(replaced_, [](const WeakRef<Graph>& graph) { return !graph.lock(); });
  make_room(replaced_, 1);
  if (training) {
    Parts::Offsets offsets = parts_->offsets(held);
    if (parts_->training_rows() != n_rows) offsets.back() = 0;
    parts_->record_training(next, offsets);
  } else {
    parts_->record_evaluation(next);
  }
  if (before) replaced_.emplace_back(before.get());
  current = std::move(next);
}

// ---- parts ----------------------------------------------------------------------------------------------------------

Ref<Object> Network::object(const char* stage, std::span<const StageKind* const> kinds) {
  const Use use(*this);
  check_built();
  const size_t index = design_.find(stage);
  if (std::ranges::find(kinds, design_.stages()[index].kind) == kinds.end()) design_.find(stage, *kinds.front());
  Object* const object = parts_->stages[index]->object();
  if (!object) fail(SYNFIRE_ERROR_INTERNAL, "SYN-INTERNAL", "stage \"%s\" has no object", stage);
  return Ref<Object>(object);
}

const RecordedGraph& Network::checked_graph(GraphKind kind) const {
  check_built();
  const RecordedGraph& recorded = parts_->graph(kind);
  if (!recorded.graph && (kind == GraphKind::forward || kind == GraphKind::backward))
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-OWN-LOSS",
         "the network has no such graph; it needs an optimizer, and own_loss in its descriptor");
  if (!recorded.graph)
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-NO-DATA",
         "the network has no %s data; call synfire_network_set_data first",
         kind == GraphKind::training ? "training" : "evaluation");
  if ((kind == GraphKind::training && training_.is_mixed) || (kind == GraphKind::evaluation && evaluation_.is_mixed))
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-NO-DATA",
         "the %s data are incomplete, because the call that was to replace them failed; call synfire_network_set_data "
         "again",
         kind == GraphKind::training ? "training" : "evaluation");
  return recorded;
}

Ref<Graph> Network::graph(GraphKind kind) {
  const Use use(*this);
  return checked_graph(kind).graph;
}

Ref<Buffer> Network::buffer(const char* name) {
  const Use use(*this);
  check_built();
  Ref<Buffer> found;
  std::string known;
  const auto offer = [&](const std::string& known_as, const Ref<Buffer>& buffer) {
    if (!buffer || buffer->is_transient()) return;
    if (known_as == name) found = buffer;
    known.append(known.empty() ? "\"" : ", \"").append(known_as).append("\"");
  };
  const auto in_stage_name = [&](size_t stage, const char* what) {
    return std::string(design_.stages()[stage].name).append(".").append(what);
  };
  // With the stage's name in front and, where there is one, also by the name alone.
  const auto offer_each = [&](const auto& list, const char* what) {
    for (const auto& one : list) {
      if (list.size() == 1) offer(what, one.array);
      offer(in_stage_name(one.stage, what), one.array);
    }
  };
  offer_each(parts_->inputs, "input");
  offer_each(parts_->outputs, "output");
  for (const FrameArray& one : parts_->frame)
    offer(in_stage_name(one.stage, one.role == DataRole::outputs ? "gradient" : name_of(one.role)), one.array);
  for (const std::unique_ptr<StageParts>& stage : parts_->stages)
    stage->offer([&](const char* own, const Ref<Buffer>& buffer) {
      offer(own[0] == '.' ? stage->stage()->name + own : std::string(own), buffer);
    });
  if (found) return found;
  fail_argument("SYN-NETWORK-BUFFER", "name is \"%.140s\"; the network has %.700s", name, known.c_str());
}

}  // namespace synfire::network

// The network object: its uses, design and building. Its runs are in run.cpp, its texts in summary.cpp.
#include "network.hpp"

#include "contents_hash.hpp"
#include "kept_arrays.hpp"
#include "stages/stage_kinds.hpp"

#include <base/error.hpp>
#include <base/log.hpp>
#include <base/make_room.hpp>
#include <base/text.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

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

namespace {

// A number for the library and the design, without what the design has learnt. All ranks have the same one.
uint64_t contents_of(const Design& design) {
  const size_t n_stages = design.stages().size();
  Position position;
  position.training = position.inference = position.forward = std::vector<uint64_t>(n_stages + 1);
  files::SafetensorsWriter writer;
  write_metadata(writer, design, position);
  for (size_t i = 0; i < n_stages; ++i) design.stages()[i].kind->write_tensors(design.view(i), writer);
  return ContentsHash().add(SYNFIRE_ABI_VERSION).add(writer.bytes()).value();
}

}  // namespace

void Network::build() {
  RankCall together(design_.rules().ranks.get(), ranks::Call::build);
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
  if (together) together.agree(contents_of(design_), "stages or values, or another version of the library,");
  together.end();
  parts_ = std::move(parts);
  design_.built();
  log_message(SYNFIRE_LOG_CHOICE, "network: %zu stages, %llu bytes of device memory and %llu page-locked",
              design_.stages().size(), static_cast<unsigned long long>(bytes.device()),
              static_cast<unsigned long long>(bytes.pinned));
}

namespace {

uint64_t contents_of(int64_t n_rows, const NeededArrays& arrays) {
  std::vector<std::byte> block(1 << 20);
  ContentsHash hash;
  hash.add(static_cast<uint64_t>(n_rows));
  const auto add = [&](Buffer* array) {
    hash.add(array ? 1 : 0);
    if (!array || !array->view().data || array->is_transient()) return;
    const uint64_t bytes = array->view().bytes;
    hash.add(bytes);
    for (uint64_t first = 0; first < bytes; first += block.size()) {
      const uint64_t count = std::min<uint64_t>(block.size(), bytes - first);
      array->download(first, block.data(), count);
      hash.add(std::span(block).first(count));
    }
  };
  for (Buffer* const array : arrays.arrays) add(array);
  add(arrays.lengths);
  add(arrays.sample_weights);
  return hash.value();
}

}  // namespace

void Network::set_data(DataKind kind, int64_t n_rows, const DataArrays& arrays) {
  take_arrays(kind, n_rows, [&] { return needed_arrays(design_, arrays); });
}

void Network::set_arrays(DataKind kind, int64_t n_rows, std::span<const GivenArray> arrays) {
  take_arrays(kind, n_rows, [&] { return needed_arrays(design_, arrays); });
}

void Network::take_arrays(DataKind kind, int64_t n_rows, FunctionRef<NeededArrays()> arrays) {
  take_data(kind, [&](DataSet& current, RankCall& together) {
    const NeededArrays given = arrays();
    if (together) together.agree(contents_of(n_rows, given), "data");
    DataSet none;
    return copy_data(design_, *context(), n_rows, given, current.stream ? none : current);
  });
}

namespace {

// It looks at rows that are far apart, because all of them may be more than a memory holds.
uint64_t contents_of(const DataFiles& files, const RowBlocks& blocks) {
  constexpr int64_t most_rows = 64;
  const int64_t n_rows = files.n_rows(), n_read = std::min(n_rows, most_rows);
  ContentsHash hash;
  hash.add(static_cast<uint64_t>(n_rows)).add(blocks.block_rows).add(blocks.window_blocks);
  std::vector<std::byte> row;
  const auto add = [&](const DataFiles::Array& array) {
    row.resize(array.pieces.empty() ? 0 : array.row.bytes());
    hash.add(row.size());
    if (row.empty()) return;
    for (int64_t i = 0; i < n_read; ++i) {
      DataFiles::read(array, n_read == 1 ? 0 : i * (n_rows - 1) / (n_read - 1), 1, row.data());
      hash.add(row);
    }
  };
  for (const DataFiles::Array& array : files.arrays()) add(array);
  add(files.lengths());
  add(files.sample_weights());
  return hash.value();
}

}  // namespace

void Network::open_data(DataKind kind, std::span<const GivenFile> given, const StreamRules& rules) {
  take_data(kind, [&](DataSet&, RankCall& together) {
    DataSet data;
    const DataFiles files(design_, given);
    data.stream = std::make_shared<DataStream>(*context(), design_, files, rules, kind == DataKind::evaluation, data);
    if (together) together.agree(contents_of(files, data.blocks), "data");
    return data;
  });
}

void Network::take_data(DataKind kind, FunctionRef<DataSet(DataSet&, RankCall&)> make) {
  const bool training = kind == DataKind::training;
  RankCall together(design_.rules().ranks.get(), training ? ranks::Call::training_data : ranks::Call::evaluation_data);
  const Use use(*this);
  check_built();
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
  DataSet next = make(current, together);
  // The existing graph reads the same memory.
  if (next.is_in(current)) return together.agree_last();
  std::erase_if(replaced_, [](const WeakRef<Graph>& graph) { return !graph.lock(); });
  make_room(replaced_, 1);
  RecordedGraph recorded_before = parts_->graph(graph_kind);
  if (training) {
    Parts::Offsets offsets = parts_->offsets(held);
    if (parts_->training_rows() != next.n_rows || parts_->training_blocks() != next.blocks) offsets.back() = 0;
    parts_->record_training(next, offsets);
  } else {
    parts_->record_evaluation(next);
  }
  try {
    together.agree_last();
  } catch (...) {
    parts_->graph(graph_kind) = std::move(recorded_before);  // another rank has failed: nothing changes
    throw;
  }
  if (before) replaced_.emplace_back(before.get());
  current = std::move(next);
}

// ---- monitors -------------------------------------------------------------------------------------------------------

void Network::read_monitor(const char* stage, bool restart, synfire_network_monitor& monitor) {
  const Use use(*this);
  check_built();
  const size_t index = design_.find(stage);
  const std::string name = design_.stages()[index].name + "." + std::string(kept_arrays::monitor);
  check_kept(*parts_, name);
  if (!design_.stages()[index].keeps(kept_arrays::monitor))
    fail_argument("SYN-NETWORK-MONITOR",
                  "stage \"%s\" of kind %s has no monitor; neurons that fire and stages with weights of their own have",
                  design_.stages()[index].name.c_str(), design_.stages()[index].kind->traits.name);
  HeldGraphs held;
  hold_all(held);
  held.finish();
  const StageParts& parts = *parts_->stages[index];
  parts.wait();
  synfire_network_monitor seen = SYNFIRE_NETWORK_MONITOR_INIT;
  seen.rate = seen.silent = seen.weight_norm = seen.gradient_norm = std::numeric_limits<double>::quiet_NaN();
  parts.read_monitor(seen);
  if (restart) parts.clear_monitor();
  monitor.n_replays = seen.n_replays;
  monitor.rate = seen.rate;
  monitor.silent = seen.silent;
  monitor.weight_norm = seen.weight_norm;
  monitor.gradient_norm = seen.gradient_norm;
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
  if (design_.rules().ranks && kind != GraphKind::inference)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-NETWORK-RANKS",
         "the graphs of training and evaluation of a network with a communicator are not given out; ranks launch them "
         "together, by synfire_network_train and synfire_network_evaluate");
  const RecordedGraph& recorded = checked_graph(kind);
  if ((kind == GraphKind::training && training_.stream) || (kind == GraphKind::evaluation && evaluation_.stream))
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-DATA",
         "the %s data are in files, and only synfire_network_%s knows which rows are in memory",
         kind == GraphKind::training ? "training" : "evaluation", kind == GraphKind::training ? "train" : "evaluate");
  return recorded.graph;
}

Ref<Buffer> Network::buffer(const char* name) {
  const Use use(*this);
  check_built();
  Ref<Buffer> found;
  std::vector<std::string> known;
  parts_->offer([&](const std::string& known_as, const Ref<Buffer>& buffer) {
    if (!buffer || buffer->is_transient()) return;
    if (known_as == name) found = buffer;
    known.push_back(known_as);
  });
  if (found) return found;
  check_kept(*parts_, name);
  std::string list;
  for (const std::string& one : known) list.append(list.empty() ? "\"" : ", \"").append(one).append("\"");
  const std::vector<std::string> further = keepable_arrays(*parts_);
  std::vector<std::string_view> names(known.begin(), known.end());
  names.insert(names.end(), further.begin(), further.end());
  fail_argument("SYN-NETWORK-BUFFER", "name is \"%.140s\"%s; the network has %.700s", name,
                suggestion(name, names).c_str(), list.c_str());
}

}  // namespace synfire::network

// A network from a safetensors file: everything is checked first; later failures are taken back.
#include "kept_arrays.hpp"
#include "network.hpp"
#include "stages/stage_kinds.hpp"
#include "state_arrays.hpp"

#include <base/error.hpp>
#include <base/host_memory.hpp>
#include <files/layout.hpp>

#include <cmath>
#include <cstring>
#include <limits>

namespace synfire::network {

using namespace synfire::core;

// ---- numbers of the file --------------------------------------------------------------------------------------------

namespace {

template <class Number>
std::vector<Number> numbers_of(std::span<const std::byte> bytes) {
  require_host_memory(bytes.size(), Paging::pageable);
  std::vector<Number> numbers(bytes.size() / sizeof(Number));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

template <class Number>
void check_numbers(const StateArray& array, std::span<const std::byte> bytes) {
  for (size_t i = 0; i < bytes.size() / sizeof(Number); ++i) {
    Number number;
    std::memcpy(&number, &bytes[i * sizeof(Number)], sizeof number);
    const auto value = static_cast<double>(number);
    const bool fits = std::isfinite(value) && (array.numbers == StateArray::Numbers::finite || value >= 0) &&
                      (array.numbers != StateArray::Numbers::from_0_to_1 || value <= 1);
    if (!fits)
      fail_argument("SYN-NETWORK-NUMBER", "element %zu of tensor %s is %g; it must be finite%s", i,
                    files::shown(array.name).c_str(), value,
                    array.numbers == StateArray::Numbers::finite   ? ""
                    : array.numbers == StateArray::Numbers::from_0 ? ", and at least 0"
                                                                   : ", and from 0 to 1");
  }
}

void check_whole(const StateArray& array, std::span<const std::byte> bytes) {
  uint64_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  if (number > array.most)
    fail_argument("SYN-NETWORK-NUMBER", "tensor %s is %llu; at most %llu is allowed", files::shown(array.name).c_str(),
                  static_cast<unsigned long long>(number), static_cast<unsigned long long>(array.most));
}

bool lacks(const files::SafetensorsFile& file, const StateArray& array) {
  return array.may_lack && !file.find(array.name);
}

void check_array(const StateArray& array, const files::SafetensorsFile& file) {
  if (lacks(file, array)) return;
  const std::span<const std::byte> bytes = file.bytes(array.name, array.dtype, array.shape);
  if (array.check) array.check(bytes);
  if (array.most != UINT64_MAX) check_whole(array, bytes);
  if (array.numbers == StateArray::Numbers::any) return;
  if (array.dtype == files::Dtype::f64)
    check_numbers<double>(array, bytes);
  else
    check_numbers<float>(array, bytes);
}

std::vector<double> parameter_values(const files::SafetensorsFile& file, const std::string& name, int64_t n_neurons) {
  const files::SafetensorsFile::Tensor* const tensor = file.find(name);
  // One number, one for each neuron, or one for each channel, whose number divides that of the neurons.
  const int64_t held = tensor && !tensor->shape.empty() ? tensor->shape[0] : 1;
  const int64_t length = held > 1 && n_neurons % held == 0 ? held : n_neurons;
  const std::span<const int64_t> shape(&length, tensor && !tensor->shape.empty() ? 1 : 0);
  return numbers_of<double>(file.bytes(name, files::Dtype::f64, shape));
}

ParameterGroup::Values values_of(const ParameterGroup& group, const files::SafetensorsFile& file) {
  ParameterGroup::Values values;
  for (const std::string& name : group.names) values.push_back(parameter_values(file, name, group.n_neurons));
  return values;
}

}  // namespace

// ---- checking -------------------------------------------------------------------------------------------------------

void Network::check_loadable(const files::SafetensorsFile& file, const SavedNetwork& saved) const {
  check_same(design_, saved.design);
  const StateArrays state(*parts_);
  const bool same_batch = saved.design.rules().batch == design_.rules().batch;
  for (const StateArray& array : state.arrays)
    if (same_batch || !array.of_rows) check_array(array, file);
  for (const ParameterGroup& group : state.parameters) group.check(values_of(group, file));
  position_of(saved);
}

// ---- applying -------------------------------------------------------------------------------------------------------

namespace {

double recorded_value(const Stage& stage, const char* name) {
  return stage.kind->recorded_value(stage, name);
}

}  // namespace

void Network::apply_values(const HeldGraphs& held) const {
  for (const GraphKind kind : graph_kinds)
    for (const RecordedGraph::Value& one : parts_->graph(kind).values) {
      if (one.is_offset()) continue;
      if (one.is_seed())
        held.find(kind)->set_whole(one.operation, one.known_as, parts_->seed(one.stage, kind));
      else
        held.find(kind)->set_value(one.operation, one.known_as, recorded_value(parts_->stage(one.stage), one.name));
    }
  for (const std::unique_ptr<StageParts>& stage : parts_->stages) stage->take_values();
}

// Where the training continues. With batches of another size, the epoch begins again.
Parts::Offsets Network::position_of(const SavedNetwork& saved) const {
  const NetworkRules& rules = design_.rules();
  const Position& position = saved.position;
  const size_t n_stages = design_.stages().size();
  Parts::Offsets offsets(position.training.begin(), position.training.begin() + static_cast<ptrdiff_t>(n_stages));
  offsets.push_back(position.next_batch);
  const int64_t before = saved.design.rules().batch;
  if (before == rules.batch || position.n_rows == 0) return offsets;
  const auto batches = [&](int64_t batch) {
    const int64_t rows = position.n_rows + (rules.drop_last ? 0 : batch - 1);
    return static_cast<uint64_t>(std::max<int64_t>(1, rows / batch));
  };
  const uint64_t epoch = position.next_batch / batches(before);
  if (__builtin_mul_overflow(epoch, batches(rules.batch), &offsets.back()))
    fail_argument(
        "SYN-NETWORK-FILE",
        "the file goes on with batch %llu, in epoch %llu; with batches of %lld rows, as many cannot be counted",
        static_cast<unsigned long long>(position.next_batch), static_cast<unsigned long long>(epoch),
        static_cast<long long>(rules.batch));
  return offsets;
}

void Network::apply_position(const HeldGraphs& held, const SavedNetwork& saved) const {
  const Position& position = saved.position;
  Parts::Offsets offsets = position_of(saved);
  for (const RecordedGraph::Value& one : parts_->graph(GraphKind::inference).values)
    if (one.is_offset())
      held.find(GraphKind::inference)->set_whole(one.operation, one.known_as, position.inference[one.stage]);
  for (const RecordedGraph::Value& one : parts_->graph(GraphKind::forward).values)
    if (one.is_offset())
      held.find(GraphKind::forward)->set_whole(one.operation, one.known_as, position.forward[one.stage]);
  const RecordedGraph& training = parts_->graph(GraphKind::training);
  if (training.graph && (training.n_rows != position.n_rows || training.blocks != position.blocks)) {
    Parts::Offsets other_rows = offsets;
    other_rows.back() = 0;
    parts_->set_offsets(held, other_rows);
  } else {
    parts_->set_offsets(held, offsets);
  }
  parts_->training_start_rows = position.n_rows;
  parts_->training_start_blocks = position.blocks;
  parts_->training_start = std::move(offsets);
}

void Network::apply(const HeldGraphs& held, const files::SafetensorsFile& file, const SavedNetwork& saved) {
  has_compared_ = false;
  const StateArrays state(*parts_);
  for (const ParameterGroup& group : state.parameters) group.write(values_of(group, file));
  design_.take_changes(saved.design);
  apply_values(held);
  apply_position(held, saved);
  const bool same_batch = saved.design.rules().batch == design_.rules().batch;
  if (!same_batch) reset_layers();
  for (const StateArray& array : state.arrays) {
    if (array.of_rows && !same_batch) continue;
    if (lacks(file, array)) {
      array.write(std::vector<std::byte>(array.bytes()).data());
      continue;
    }
    // A tensor of a file in memory may have any address.
    array.write(numbers_of<std::byte>(file.bytes(array.name, array.dtype, array.shape)).data());
  }
}

void Network::load_first(const files::SafetensorsFile& file, const SavedNetwork& whole) {
  const Use use(*this);
  const SavedNetwork saved = as_in(whole, design_);
  check_loadable(file, saved);
  HeldGraphs held;
  hold_all(held);
  apply(held, file, saved);
}

void Network::load(const files::SafetensorsFile& file) {
  const Use use(*this);
  check_built();
  const SavedNetwork saved = as_in(read_metadata(file, *context()), design_);
  check_loadable(file, saved);
  HeldGraphs held;
  hold_all(held);
  auto before = std::make_unique<Before>(writer(held).bytes(), *context());
  check_order();
  parts_->frame_tape->set(FrameTape::State::overwritten);
  try {
    apply(held, file, saved);
  } catch (...) {
    owed_ = std::move(before);
    take_back(held);
    throw;
  }
}

void Network::take_back(const HeldGraphs& held) noexcept {
  try {
    settle(held);
  } catch (...) {  // the next call tries again
  }
}

// ---- a new network --------------------------------------------------------------------------------------------------

FileRules::FileRules(const synfire_network_file_desc& desc)
    : inference(desc.inference == 1),
      replace_nonfinite(desc.replace_nonfinite == 1),
      n_steps(desc.n_steps),
      batch(desc.batch),
      n_slots(desc.n_slots),
      keep(desc.keep),
      continues(desc.continues == 1) {
  check_flag(desc.inference, "SYN-NETWORK-FLAG", "desc.inference");
  check_flag(desc.replace_nonfinite, "SYN-NETWORK-FLAG", "desc.replace_nonfinite");
  check_flag(desc.continues, "SYN-NETWORK-FLAG", "desc.continues");
}

Network* create_from_file(Context& context, const files::SafetensorsFile& file, const FileRules& rules) {
  const SavedNetwork saved = read_metadata(file, context);
  const NetworkRules& before = saved.design.rules();
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.dtype = before.dtype;
  desc.n_steps = rules.n_steps == 0 ? before.n_steps : rules.n_steps;
  desc.batch = rules.batch == 0 ? before.batch : rules.batch;
  desc.seed = before.seed;
  desc.drop_last = before.drop_last ? 1 : 0;
  desc.n_slots = rules.n_slots == 0 ? before.n_slots : rules.n_slots;
  desc.own_loss = rules.inference ? SYNFIRE_OWN_LOSS_NONE : static_cast<int32_t>(before.own_loss);
  NetworkRules own(desc);
  own.order_seed = before.order_seed;
  Design design{own};
  add_copies(design, saved.design,
             [&](const Stage& stage) { return !rules.inference || !stage.kind->traits.of_training; });
  if (rules.replace_nonfinite)
    for (size_t i = 0; i < design.stages().size(); ++i)
      if (design.has_value(i, "replace_nonfinite"))
        design.set_value(design.stages()[i].name.c_str(), "replace_nonfinite", 1, false);
  if (rules.continues) continue_readouts(design);
  if (rules.keep) keep(design, rules.keep);
  const Ref<Network> network = Ref<Network>::adopt(new Network(context, std::move(design)));
  network->build();
  network->load_first(file, saved);
  network->retain();
  return network.get();
}

}  // namespace synfire::network

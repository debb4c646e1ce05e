#include "parts.hpp"

#include "planning_device.hpp"

#include <operations/state/state.hpp>
#include <synapses/dense/dense.hpp>

#include <algorithm>
#include <iterator>

namespace synfire::network {

using namespace synfire::core;

void RecordedGraph::set(const Graph::Hold& hold, size_t stage, std::string_view name, double value) const {
  for (const Value& one : values)
    if (one.stage == stage && name == one.name) hold.set_value(one.operation, one.known_as, value);
}

void RecordedGraph::begin_again(const Graph::Hold& hold) const {
  for (const Value& one : values)
    if (one.is_offset()) hold.set_whole(one.operation, one.known_as, 0);
}

// ---- arrays ---------------------------------------------------------------------------------------------------------

Ref<Buffer> Parts::make(int32_t dtype, std::initializer_list<int64_t> lengths, int32_t memory) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = memory;
  desc.dtype = dtype;
  std::transform(lengths.begin(), lengths.end(), desc.shape,
                 [](int64_t length) { return static_cast<uint64_t>(length); });
  if (planned) {
    uint64_t size = bytes_of_dtype(dtype);
    for (const int64_t length : lengths)
      if (__builtin_mul_overflow(size, static_cast<uint64_t>(length), &size)) size = UINT64_MAX;
    desc.data = planned->reserve(memory, size);
  }
  return Ref<Buffer>::adopt(new Buffer(context, desc));
}

Ref<Buffer> Parts::make_sequence(int32_t dtype, int64_t n_steps, int64_t n_rows, int64_t width, int32_t memory) {
  const RowShape row = {dtype, n_steps, width};
  return make(dtype, {row.stored_steps(), n_rows, row.stored_width()}, memory);
}

// ---- slots ----------------------------------------------------------------------------------------------------------

// Slots begin as copies of page-locked memory, of which a planned network has nothing but the address.
uint32_t Parts::graph_slots() const noexcept {
  const uint32_t n_slots = rules().n_slots;
  return planned && n_slots != Graph::shared_slots ? std::min(n_slots, 1U) : n_slots;
}

void Parts::reserve_slots() {
  const uint32_t n_slots = rules().n_slots;
  if (n_slots < 2 || n_slots == Graph::shared_slots) return;
  constexpr uint64_t alignment = 256;
  for (const Ref<Buffer>& buffer : {inference_input, inference_output, n_replaced}) {
    if (!buffer) continue;
    uint64_t size = 0;
    if (__builtin_mul_overflow(buffer->view().bytes + alignment, uint64_t{n_slots} - 1, &size)) size = UINT64_MAX;
    planned->reserve(SYNFIRE_MEMORY_PINNED, size);
  }
}

// ---- objects --------------------------------------------------------------------------------------------------------

namespace {

class Maker {
 public:
  explicit Maker(Parts& parts) : parts_(parts), design_(parts.design), rules_(design_.rules()) {}

  void make_pairs() {
    const std::vector<Stage>& stages = design_.stages();
    for (size_t i = 0; i < stages.size(); ++i) {
      if (stages[i].kind != StageKind::synapse) continue;
      Pair pair = {};
      pair.synapse_stage = i;
      pair.neurons_stage = i + 1;
      if (design_.before(i).kind == StageKind::dropout) pair.dropout_stage = i - 1;
      parts_.pairs.push_back(std::move(pair));
    }
  }
  void make_synapse(Pair& pair) const {
    const synfire_synapse_desc desc = design_.synapse_desc(pair.synapse_stage);
    const operations::DenseSpec spec(desc);
    // Weights are drawn in memory of the host, which planning does without.
    pair.synapse = Ref<Synapse>::adopt(parts_.planned ? new operations::DenseSynapse(parts_.context, spec, nullptr)
                                                      : operations::make_dense(parts_.context, spec, desc.mask));
  }
  void make_layer(Pair& pair) const {
    const LayerSpec spec(design_.layer_desc(pair.neurons_stage));
    if (!parts_.planned) spec.check_context(parts_.context);
    pair.layer = Ref<Layer>::adopt(operations::make_layer(parts_.context, spec));
    set_parameters(*pair.layer, neurons(pair));
  }
  // Which pairs a backward must reach.
  void plan_backward() {
    bool before = false;
    for (Pair& pair : parts_.pairs) {
      pair.passes_gradient = before;
      pair.trains_synapse = design_.is_trainable() && !stage(pair.synapse_stage).flag("frozen");
      const bool trains_neurons = design_.is_trainable() && !neurons(pair).trained.empty();
      before |= pair.trains_synapse || trains_neurons;
      pair.has_backward = before;
    }
  }
  void make_arrays() {
    const Stage& input = design_.input();
    if (input.choice == SYNFIRE_NETWORK_INPUT_RATES) parts_.input_spikes = sequence(SYNFIRE_DTYPE_BITS, input.width);
    for (Pair& pair : parts_.pairs) make_arrays(pair);
    make_readout();
    make_input_and_output();
    if (const Stage* const loss = design_.only(StageKind::loss)) make_loss(*loss);
  }
  void make_optimizer() {
    if (!design_.is_trainable()) return;
    const Stage& optimizer = *design_.only(StageKind::optimizer);
    parts_.optimizer = Ref<operations::Optimizer>::adopt(
        new operations::Optimizer(parts_.context, operations::OptimizerSpec(design_.optimizer_desc(optimizer))));
    for (Pair& pair : parts_.pairs) add_members(pair);
    if (parts_.optimizer->members().empty())
      fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-INCOMPLETE",
           "stage \"%s\" has nothing to train: all synapses are frozen, and no parameter of neurons is trained",
           optimizer.name.c_str());
    parts_.optimizer->seal();
  }

 private:
  const Stage& stage(size_t index) const { return parts_.stage(index); }
  const Stage& neurons(const Pair& pair) const { return stage(pair.neurons_stage); }
  Ref<Buffer> sequence(int32_t dtype, int64_t width) const {
    return parts_.make_sequence(dtype, rules_.n_steps, rules_.batch, width);
  }
  Ref<Buffer> one(int32_t dtype) const { return parts_.make(dtype, {1}); }
  const Stage* readout() const { return design_.only(StageKind::readout); }

  // Values that the caller set, and a number for each neuron where each has a gradient of its own.
  static void set_parameters(Layer& layer, const Stage& stage) {
    std::vector<ParameterValues> list;
    for (const NamedValue& one : stage.parameters) list.push_back({layer.parameters().find(one.name), {&one.value, 1}});
    if (!list.empty()) layer.set_parameters(list);
    for (const TrainedParameter& one : stage.trained) {
      if (!one.per_neuron) continue;
      const ParameterName name = layer.parameters().find(one.name);
      std::vector<double> values(static_cast<size_t>(layer.spec().extents.n_neurons));
      layer.get_parameter(name, one.name.c_str(), values);
      const ParameterValues all = {name, values};
      layer.set_parameters({&all, 1});
    }
  }

  void make_arrays(Pair& pair) const {
    const Stage& stage = neurons(pair);
    const bool is_last = &pair == &parts_.pairs.back(), fires = !design_.never_fires(stage);
    pair.has_rate = stage.has_rate || stage.value("rate_strength") != 0;
    if (pair.dropout_stage) {
      const int64_t inputs = this->stage(*pair.dropout_stage).width;
      pair.mask = parts_.make_sequence(SYNFIRE_DTYPE_BITS, 1, rules_.batch, inputs);
      pair.scale = one(parts_.number());
      pair.x = sequence(parts_.number(), stage.width);
      if (pair.has_backward && (pair.trains_synapse || pair.passes_gradient))
        pair.grad_x = sequence(parts_.number(), stage.width);
    }
    const bool spikes_are_read = is_last && readout() && readout()->of_spikes;
    const bool v_is_read = is_last && readout() && !readout()->of_spikes;
    // The loss reads numbers; other readers take any format.
    const bool as_numbers = spikes_are_read && readout()->choice == SYNFIRE_READOUT_STEPS;
    if (fires && (!is_last || spikes_are_read || pair.has_rate))
      pair.spikes = sequence(as_numbers ? parts_.number() : SYNFIRE_DTYPE_BITS, stage.width);
    if (v_is_read) pair.v_seq = sequence(parts_.number(), stage.width);
    if (!pair.has_backward) return;
    if (pair.spikes) pair.grad_spikes = sequence(parts_.number(), stage.width);
    if (pair.v_seq) pair.grad_v = sequence(parts_.number(), stage.width);
    for (const TrainedParameter& trained : stage.trained)
      pair.gradients.push_back(parts_.make(parts_.number(), {trained.per_neuron ? stage.width : 1}));
  }

  void make_readout() const {
    if (!readout() || readout()->choice == SYNFIRE_READOUT_STEPS) return;
    const int64_t width = readout()->width;
    if (design_.only(StageKind::loss)) parts_.readout = parts_.make(parts_.number(), {rules_.batch, width});
    if (design_.is_trainable()) parts_.grad_readout = parts_.make(parts_.number(), {rules_.batch, width});
  }

  // What the inference graph reads and writes.
  void make_input_and_output() const {
    constexpr int32_t pinned = SYNFIRE_MEMORY_PINNED;
    for (const auto& [array, row] : {std::pair(&parts_.inference_input, input_row(design_)),
                                     std::pair(&parts_.inference_output, parts_.output_row())})
      *array = parts_.make_sequence(row.dtype, row.n_steps, rules_.batch, row.width, pinned);
    if (!design_.input().flag("replace_nonfinite")) return;
    const RowShape row = input_row(design_);
    parts_.finite_input = parts_.make_sequence(row.dtype, row.n_steps, rules_.batch, row.width);
    parts_.n_replaced = parts_.make(SYNFIRE_DTYPE_U64, {1}, pinned);
    if (design_.only(StageKind::loss)) parts_.n_replaced_in_batches = one(SYNFIRE_DTYPE_U64);
  }

  void make_loss(const Stage& loss) const {
    parts_.loss = one(SYNFIRE_DTYPE_F64);
    parts_.n_counted = one(SYNFIRE_DTYPE_U32);
    if (!loss.flag("targets")) parts_.n_correct = one(SYNFIRE_DTYPE_U32);
    parts_.indices = parts_.make(SYNFIRE_DTYPE_U32, {rules_.batch});
    parts_.n_active = one(SYNFIRE_DTYPE_U32);
    if (loss.class_weights.empty()) return;
    parts_.class_weights = parts_.make(SYNFIRE_DTYPE_F32, {static_cast<int64_t>(loss.class_weights.size())});
    parts_.class_weights->upload(0, loss.class_weights.data(), loss.class_weights.size() * sizeof(float));
  }

  void add_members(const Pair& pair) {
    const Stage& synapse = stage(pair.synapse_stage);
    if (pair.trains_synapse) {
      parts_.optimizer->add_array(*pair.synapse, "weight",
                                  {synapse.value("learning_rate_factor"), synapse.value("weight_decay_factor")});
      if (synapse.flag("bias"))
        parts_.optimizer->add_array(
            *pair.synapse, "bias",
            {synapse.value("bias_learning_rate_factor"), synapse.value("bias_weight_decay_factor")});
    }
    const std::vector<TrainedParameter>& trained = neurons(pair).trained;
    for (size_t i = 0; i < trained.size(); ++i)
      parts_.optimizer->add_parameter(*pair.layer, pair.layer->parameters().find(trained[i].name), *pair.gradients[i],
                                      {trained[i].rate_factor, trained[i].decay_factor}, trained[i].lower,
                                      trained[i].upper);
  }

  Parts& parts_;
  const Design& design_;
  const NetworkRules& rules_;
};

}  // namespace

Parts::Parts(Context& where, const Design& what, PlanningDevice* planning)
    : context(where),
      design(what),
      planned(planning),
      training_start(what.stages().size() + 1),
      offsets_before(what.stages().size() + 1) {
  uint64_t before = planned ? planned->device_bytes() : 0;
  const auto count = [&](uint64_t& into) {
    if (!planned) return;
    into = planned->device_bytes() - before;
    before += into;
  };
  Maker maker(*this);
  maker.make_pairs();
  for (Pair& pair : pairs) maker.make_synapse(pair);
  count(bytes.synapses);
  for (Pair& pair : pairs) maker.make_layer(pair);
  count(bytes.layers);
  maker.plan_backward();
  maker.make_arrays();
  kept = std::make_unique<KeptState>(*this);
  count(bytes.buffers);
  maker.make_optimizer();
  count(bytes.optimizer);
  for (const Pair& pair : pairs) {
    OperationList one = operations::reset_rows(*pair.layer, {0, 0}, nullptr);
    std::move(one.begin(), one.end(), std::back_inserter(resets));
  }
}

const Pair* Parts::find_pair(size_t stage_index) const noexcept {
  const auto at = std::ranges::lower_bound(pairs, stage_index, {}, &Pair::neurons_stage);
  return at != pairs.end() && (at->neurons_stage == stage_index || at->synapse_stage == stage_index) ? &*at : nullptr;
}

RowShape Parts::output_row() const {
  const Stage* const readout_stage = design.only(StageKind::readout);
  const Stage& last = stage(pairs.back().neurons_stage);
  const bool reduces = readout_stage && readout_stage->choice != SYNFIRE_READOUT_STEPS;
  const bool as_spikes = !readout_stage && !design.never_fires(last);
  return {as_spikes ? SYNFIRE_DTYPE_BITS : number(), reduces ? 1 : rules().n_steps, last.width};
}

void Parts::read_offsets(GraphKind kind, const HeldGraphs& held, Offsets& offsets) const {
  for (const RecordedGraph::Value& one : graph(kind).values)
    if (one.is_offset()) offsets[one.stage] = held.find(kind)->counted(one.operation, one.known_as);
}

Parts::Offsets Parts::offsets_of(GraphKind kind, const HeldGraphs& held) const {
  Offsets offsets(design.stages().size() + 1);
  read_offsets(kind, held, offsets);
  return offsets;
}

void Parts::set_offsets(const HeldGraphs& held, const Offsets& offsets) const {
  for (const RecordedGraph::Value& one : training.values)
    if (one.is_offset()) held.find(GraphKind::training)->set_whole(one.operation, one.known_as, offsets[one.stage]);
}

uint64_t Parts::next_batch(const HeldGraphs& held) const {
  if (!training.graph) return training_start.back();
  for (const RecordedGraph::Value& one : training.values)
    if (one.is_offset() && one.stage == design.stages().size())
      return held.find(GraphKind::training)->counted(one.operation, one.known_as);
  return 0;
}

// ---- planning -------------------------------------------------------------------------------------------------------

namespace {

// A batch of data, of which only the shapes matter.
DataSet planned_data(Parts& parts) {
  const Design& design = parts.design;
  const auto make = [&](const RowShape& row) {
    return parts.make(row.dtype, {parts.rules().batch, row.stored_steps(), row.stored_width()});
  };
  DataSet data;
  data.n_rows = parts.rules().batch;
  data.inputs = make(input_row(design));
  if (design.only(StageKind::loss)->flag("targets"))
    data.targets = make(target_row(design));
  else
    data.labels = make(label_row(design));
  return data;
}

}  // namespace

PartBytes plan(const Design& design, const Device& on) {
  auto owned = std::make_unique<PlanningDevice>(on);
  PlanningDevice& device = *owned;
  const Ref<Context> context = Ref<Context>::adopt(new Context(std::move(owned), SYNFIRE_FALLBACK_NONE));
  Parts parts(*context, design, &device);
  DataSet data;
  if (design.only(StageKind::loss)) data = planned_data(parts);
  const uint64_t before = device.device_bytes();
  parts.record_inference();
  if (design.only(StageKind::loss)) parts.record_evaluation(data);
  if (design.is_trainable()) parts.record_training(data, parts.training_start);
  parts.bytes.graphs = device.device_bytes() - before;
  parts.bytes.pinned = device.pinned_bytes();
  return parts.bytes;
}

}  // namespace synfire::network

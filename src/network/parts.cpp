#include "parts.hpp"

#include "kept_arrays.hpp"
#include "planning_device.hpp"

#include <base/error.hpp>

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
  if (planned && memory != SYNFIRE_MEMORY_TRANSIENT) {
    uint64_t size = bytes_of_dtype(dtype);
    for (const int64_t length : lengths)
      if (__builtin_mul_overflow(size, static_cast<uint64_t>(length), &size)) size = UINT64_MAX;
    desc.data = planned->reserve(memory, size);
  }
  return charged_as(SYNFIRE_TAG_BUFFER, [&] { return Ref<Buffer>::adopt(new Buffer(context, desc)); });
}

Ref<Buffer> Parts::make_sequence(int32_t dtype, int64_t n_steps, int64_t n_rows, int64_t width, int32_t memory) {
  const RowShape row = {dtype, n_steps, width};
  return make(dtype, {row.stored_steps(), n_rows, row.stored_width()}, memory);
}

Buffer* Parts::part(Buffer& whole, int64_t first_step, int64_t n_steps) {
  Ref<Buffer>& made = parts_[{&whole, first_step, n_steps}];
  if (made) return made.get();
  const View& view = whole.view();
  const std::span<const int64_t> lengths = whole.shape().all();
  const uint64_t step_bytes = view.bytes / static_cast<uint64_t>(lengths[0]);
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = view.memory;
  desc.dtype = whole.dtype();
  std::ranges::transform(lengths, desc.shape, [](int64_t length) { return static_cast<uint64_t>(length); });
  desc.shape[0] = static_cast<uint64_t>(n_steps);
  desc.data = static_cast<char*>(view.data) + static_cast<uint64_t>(first_step) * step_bytes;
  desc.release = [](void* array) { static_cast<Buffer*>(array)->release(); };
  desc.release_user = &whole;
  made = charged_as(SYNFIRE_TAG_BUFFER, [&] { return Ref<Buffer>::adopt(new Buffer(context, desc)); });
  whole.retain();
  return made.get();
}

Buffer& Parts::import(size_t index, const Buffer& array) {
  Ref<Buffer>& made = imports_[index];
  const bool packs = array.dtype() == SYNFIRE_DTYPE_TIME_BITS;
  if (!made)
    made =
        make_sequence(packs ? SYNFIRE_DTYPE_BITS : array.dtype(), rules().n_steps, rules().batch, stage(index).width());
  return *made;
}

// ---- slots ----------------------------------------------------------------------------------------------------------

// Slots begin as copies of page-locked memory, of which a planned network has only the address.
uint32_t Parts::graph_slots() const noexcept {
  const uint32_t n_slots = rules().n_slots;
  return planned && n_slots != Graph::shared_slots ? std::min(n_slots, 1U) : n_slots;
}

void Parts::reserve_slots() {
  const uint32_t n_slots = rules().n_slots;
  if (n_slots < 2 || n_slots == Graph::shared_slots) return;
  const auto reserve = [&](const Ref<Buffer>& buffer) {
    constexpr uint64_t alignment = 256;
    if (!buffer) return;
    uint64_t size = 0;
    if (__builtin_mul_overflow(buffer->view().bytes + alignment, uint64_t{n_slots} - 1, &size)) size = UINT64_MAX;
    planned->reserve(SYNFIRE_MEMORY_PINNED, size);
  };
  for (const NetworkInput& input : inputs) reserve(input.array);
  for (const NetworkOutput& output : outputs) reserve(output.array);
  for (const NetworkInput& input : inputs) reserve(input.n_replaced);
}

// ---- objects --------------------------------------------------------------------------------------------------------

uint64_t StageMaker::allocated() const noexcept {
  return parts_.planned ? parts_.planned->device_bytes() : 0;
}

namespace {

// Gradients begin at losses, at outputs with a loss of the program's and at stages that begin one themselves, and go
// back to trained stages.
std::vector<GradientPlan> plan_gradients(const Design& design) {
  const Cycles cycles(design);
  const size_t n_stages = design.stages().size();
  std::vector<GradientPlan> plan(n_stages, GradientPlan{});
  if (!design.is_trainable()) return plan;
  std::vector<bool> gets(n_stages), begins(n_stages);
  for (const size_t output : design.outputs_with_own_loss()) begins[output] = true;
  for (size_t at = cycles.units.size(); at-- > 0;) {
    const std::vector<uint32_t>& unit = cycles.units[at];
    const bool any_gets = std::ranges::any_of(unit, [&](uint32_t i) {
      const Stage& stage = design.stages()[i];
      return begins[i] || stage.kind->begins_gradient(stage) ||
             std::ranges::any_of(design.readers(i), [&](const Edge& reader) { return gets[reader.from]; });
    });
    for (const uint32_t i : unit) gets[i] = any_gets;
  }
  for (const std::vector<uint32_t>& unit : cycles.units) {
    bool any_has = false;
    for (const uint32_t i : unit) {
      const Stage& stage = design.stages()[i];
      if (!gets[i]) continue;
      plan[i].learns = stage.kind->learns(design.view(i));
      if (plan[i].learns) plan[design.owner_of_weights(i)].trains = true;
      plan[i].passes =
          std::ranges::any_of(stage.inputs, [&](const Edge& edge) { return plan[edge.from].has_backward; });
      plan[i].has_backward = plan[i].learns || plan[i].passes;
      any_has = any_has || plan[i].has_backward;
    }
    // In a cycle, a stage that has a gradient passes one on to all.
    if (cycles.has[unit.front()] == 0 || !any_has) continue;
    for (const uint32_t i : unit) plan[i].passes = plan[i].has_backward = true;
  }
  return plan;
}

std::vector<int32_t> longest_delays(const Design& design) {
  std::vector<int32_t> delays(design.stages().size());
  for (size_t i = 0; i < delays.size(); ++i) delays[i] = design.longest_delay(i);
  return delays;
}

}  // namespace

Parts::Parts(Context& where, const Design& what, PlanningDevice* planning)
    : context(where),
      design(what),
      planned(planning),
      data_needs(what.data_needs()),
      gradients(plan_gradients(what)),
      cycles(what),
      delays(longest_delays(what)),
      arena(std::make_shared<Arena>(where.device())),
      training_start(what.stages().size() + 1),
      offsets_before(what.stages().size() + 1) {
  const uint64_t before = planned ? planned->device_bytes() : 0;
  batch.arrays.resize(data_needs.size());
  if (design.has(Role::scores)) {
    indices = make(SYNFIRE_DTYPE_U32, {rules().batch});
    n_active = make(SYNFIRE_DTYPE_U32, {1});
  }
  for (size_t i = 0; i < design.stages().size(); ++i) {
    StageMaker maker(*this, design.view(i));
    stages.push_back(stage(i).kind->make(maker));
  }
  for (size_t i = 0; i < stages.size(); ++i) {
    StageMaker maker(*this, design.view(i));
    stages[i]->finish(maker);
  }
  make_outputs();
  make_frame();
  check_kept();
  for (const std::unique_ptr<StageParts>& one : stages) one->add_reset(resets, {0, 0});
  kept = std::make_unique<KeptState>(*this);
  if (planned) bytes.buffers = planned->device_bytes() - before - bytes.synapses - bytes.layers - bytes.optimizer;
}

bool Parts::is_divided(size_t index) const {
  return in_cycle(index) || delays[index] > 0 || std::ranges::any_of(design.readers(index), [&](const Edge& reader) {
           const Stage& by = stage(reader.from);
           return in_cycle(reader.from) || (by.kind->hands_on(by) && is_divided(reader.from));
         });
}

bool Parts::is_copied(const NetworkOutput& output) const {
  const Edge& from = output.from;
  const std::string_view name = kept_name_of(stage(from.from), from.port);
  // An array that is kept as "output" of an output's own stage is the page-locked one itself.
  const bool is_itself = from.from == output.stage && name == kept_arrays::output;
  return is_divided(from.from) || (!is_itself && stage(from.from).keeps(name));
}

// ---- arrays for programs --------------------------------------------------------------------------------------------

void Parts::offer(FunctionRef<void(const std::string&, const Ref<Buffer>&)> each) const {
  const auto in_stage_name = [&](size_t index, std::string_view what) {
    return std::string(stage(index).name).append(".").append(what);
  };
  // With the stage's name in front and, where there is one, also by the name alone.
  const auto offer_each = [&](const auto& list, const char* what) {
    for (const auto& one : list) {
      if (list.size() == 1) each(what, one.array);
      each(in_stage_name(one.stage, what), one.array);
    }
  };
  offer_each(inputs, "input");
  offer_each(outputs, "output");
  for (const FrameArray& one : frame)
    each(in_stage_name(one.stage, one.role == DataRole::outputs ? "gradient" : name_of(one.role)), one.array);
  for (const std::unique_ptr<StageParts>& one : stages)
    one->offer([&](const char* own, const Ref<Buffer>& buffer) {
      each(own[0] == '.' ? one->stage()->name + own : std::string(own), buffer);
    });
  for (size_t i = 0; i < stages.size(); ++i) {
    if (!stage(i).kind->traits.ports.empty()) continue;
    const bool is_output = std::ranges::find(outputs, i, &NetworkOutput::stage) != outputs.end();
    Buffer* const array = stages[i]->array(Port::output);
    if (stage(i).keeps(kept_arrays::output) && !is_output)
      each(in_stage_name(i, kept_arrays::output), Ref<Buffer>(array ? array : stages[i]->counts()));
    // Half a gradient is none: that of means, or that of the counts that stand for them.
    Buffer *const gradient = stages[i]->gradient(Port::output), *const of_counts = stages[i]->gradient(Port::counts);
    if (stage(i).keeps(kept_arrays::grad_output) && (!gradient || !of_counts || gradient == of_counts))
      each(in_stage_name(i, kept_arrays::grad_output), Ref<Buffer>(gradient ? gradient : of_counts));
  }
}

// A gradient that the program has asked for exists only if one arrives there.
void Parts::check_kept() const {
  for (size_t i = 0; i < stages.size(); ++i)
    for (const std::string& array : stage(i).kept) {
      bool is_there = array == kept_arrays::monitor;
      const std::string wanted = stage(i).name + "." + array;
      offer([&](const std::string& name, const Ref<Buffer>& buffer) {
        is_there = is_there || (buffer && !buffer->is_transient() && name == wanted);
      });
      if (!is_there)
        fail(
            SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-KEEP",
            "the network was asked to keep \"%s\", which nothing computes: a gradient is there only where an optimizer "
            "trains something before, and something reads the array on the way to a loss; a mean has none if "
            "synapses read its counts and other stages numbers, and initial spikes are those of neurons that are read "
            "with a delay",
            wanted.c_str());
    }
}

// ---- outputs and frames ---------------------------------------------------------------------------------------------

// Outputs of the same array, such as two readouts of every step, have the same memory.
void Parts::make_outputs() {
  for (const size_t index : design.outputs()) {
    const StageOutput output = *stage(index).kind->output(design.view(index));
    const RowShape& row = output.row;
    const Edge from = design.source({static_cast<uint32_t>(index), output.port});
    const auto same = std::ranges::find(outputs, from, &NetworkOutput::from);
    outputs.push_back({index, row,
                       same != outputs.end()
                           ? same->array
                           : make_sequence(row.dtype, row.n_steps, rules().batch, row.width, SYNFIRE_MEMORY_PINNED),
                       from});
  }
}

void Parts::make_frame() {
  if (rules().own_loss == OwnLoss::none) return;
  const auto add = [&](size_t index, DataRole role, const RowShape& row) {
    frame.push_back(
        {index, role, row, make_sequence(row.dtype, row.n_steps, rules().batch, row.width, SYNFIRE_MEMORY_PINNED)});
  };
  for (const DataNeed& need : data_needs)
    if (need.role != DataRole::inputs) add(need.stage, need.role, need.row);
  for (const size_t index : design.outputs_with_own_loss())
    if (gradients[index].has_backward)
      add(index, DataRole::outputs, stage(index).kind->output(design.view(index))->row);
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
  for (const RecordedGraph::Value& one : graph(GraphKind::training).values)
    if (one.is_offset()) held.find(GraphKind::training)->set_whole(one.operation, one.known_as, offsets[one.stage]);
}

uint64_t Parts::next_batch(const HeldGraphs& held) const {
  if (!has_graph(GraphKind::training)) return training_start.back();
  for (const RecordedGraph::Value& one : graph(GraphKind::training).values)
    if (one.is_offset() && one.stage == design.stages().size())
      return held.find(GraphKind::training)->counted(one.operation, one.known_as);
  return 0;
}

// ---- planning -------------------------------------------------------------------------------------------------------

namespace {

Ref<Buffer> planned_rows(Parts& parts, const RowShape& row) {
  return parts.make(row.dtype, {parts.rules().batch, row.stored_steps(), row.stored_width()});
}

// With everything that data may have, so that the arena has room for any data: a larger one would be allocated in
// addition, because the graphs keep the old one.
DataSet planned_data(Parts& parts) {
  DataSet data;
  data.n_rows = parts.rules().batch;
  for (const DataNeed& need : parts.data_needs) data.arrays.push_back(planned_rows(parts, need.row));
  data.lengths = planned_rows(parts, length_row());
  data.sample_weights = planned_rows(parts, weight_row());
  return data;
}

}  // namespace

PartBytes plan(const Design& design, const Device& on) {
  auto owned = std::make_unique<PlanningDevice>(on);
  PlanningDevice& device = *owned;
  const Ref<Context> context = Ref<Context>::adopt(new Context(std::move(owned), SYNFIRE_FALLBACK_NONE));
  Parts parts(*context, design, &device);
  DataSet data;
  if (design.has(Role::scores)) data = planned_data(parts);
  const uint64_t before = device.device_bytes();
  parts.record_inference();
  if (design.has(Role::scores)) parts.record_evaluation(data);
  if (parts.has_own_loss()) parts.record_own_loss();
  if (design.is_trainable() && design.has(Role::scores)) parts.record_training(data, parts.training_start);
  parts.bytes.graphs = device.device_bytes() - before;
  parts.bytes.pinned = device.pinned_bytes();
  parts.bytes.arena = device.arena_bytes();
  return parts.bytes;
}

}  // namespace synfire::network

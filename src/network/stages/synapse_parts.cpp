#include "synapse_parts.hpp"

#include "packed_rows.hpp"

#include <network/kept_arrays.hpp>
#include <network/state_arrays.hpp>

#include <base/error.hpp>
#include <base/shape.hpp>
#include <neurons/passes/backward.hpp>
#include <neurons/passes/forward.hpp>
#include <operations/elementwise/copy.hpp>
#include <operations/elementwise/fill.hpp>
#include <operations/elementwise/scale_add.hpp>
#include <operations/last_steps/last_steps.hpp>
#include <operations/spikes/convert_spikes.hpp>
#include <synapses/passes/synapse_passes.hpp>

namespace synfire::network {

using namespace synfire::core;

namespace {

bool is_read_by_neurons(const StageView& view) {
  const std::span<const Edge> readers = view.design().readers(view.index());
  return readers.size() == 1 && view.design().stages()[readers.front().from].kind->traits.reads_products &&
         view->output.n_steps == view.rules().n_steps;
}

// Neurons that were added later, which have no mask, are not made yet.
bool is_masked(const StageMaker& maker) {
  const std::vector<std::unique_ptr<StageParts>>& made = maker.parts().stages;
  const size_t from = maker.stage().edge().from;
  return from < made.size() && made[from]->kept().mask != nullptr;
}

std::string array_name(const Stage& stage, const SynapseArray& array) {
  return stage.name + "." + array.file_name;
}

std::vector<int64_t> lengths_of(const SynapseArray& array) {
  const std::span<const int64_t> lengths = array.lengths();
  return {lengths.begin(), lengths.end()};
}

void add_saved(StateArrays& list, const StageView& view, Synapse& synapse, const SynapseArray& of) {
  StateArray array = {array_name(view.stage(), of), file_type_of(of.dtype), lengths_of(of),
                      StateArray::Numbers::finite};
  array.is_state = false;
  if (of.name == std::string_view("weight")) array.layouts = view->kind->layouts(view);
  array.check = [&synapse, name = of.name](std::span<const std::byte> values) {
    synapse.check_values(*synapse.find_array(name), values.data());
  };
  array.read = [&synapse, name = of.name, bytes = array.bytes()](void* values) { synapse.read(name, values, bytes); };
  array.write = [&synapse, name = of.name, bytes = array.bytes()](const void* values) {
    synapse.write(name, values, bytes);
  };
  list.arrays.push_back(std::move(array));
}

StateArray saved_inputs(const Stage& stage, Buffer& words, int64_t n_inputs) {
  const std::span<const int64_t> lengths = words.shape().all();
  PackedRows rows = {};
  rows.n_rows = lengths[0] * lengths[1];
  rows.n_neurons = n_inputs;
  StateArray array = {stage.name + ".state.inputs",
                      files::Dtype::u32,
                      {lengths[0], lengths[1], rows.n_words()},
                      StateArray::Numbers::any};
  array.of_rows = true;
  array.check = [rows, name = array.name](std::span<const std::byte> stored) { rows.check(stored, name); };
  array.read = [&words](void* values) { words.download(0, values, words.view().bytes); };
  array.write = [&words](const void* values) { words.upload(0, values, words.view().bytes); };
  return array;
}

}  // namespace

SynapseParts::SynapseParts(StageMaker& maker, FunctionRef<Ref<Synapse>()> make, FunctionRef<Synapse&(Synapse&)> use)
    : StageParts(maker.stage()),
      is_owner_(maker.parts().design.owner_of_weights(maker.stage().index()) == maker.stage().index()),
      learns_(maker.gradient().learns),
      trains_(maker.gradient().trains),
      synapse_(owned(maker, make)),
      used_(is_owner_ ? synapse_.get() : &use(*synapse_)),
      is_fused_(used_->shape().history_steps == 0 && !is_masked(maker) && is_read_by_neurons(maker.stage()) &&
                !maker.parts().in_cycle(maker.stage().index()) && !maker.keeps(kept_arrays::output) &&
                !maker.keeps(kept_arrays::grad_output)),
      monitor_(maker, *synapse_, trains_) {
  if (is_fused_) return;
  x_ = is_read_by_neurons(maker.stage()) ? maker.passed_on_array(maker.number(), stage()->output, kept_arrays::output)
                                         : maker.array(maker.number(), stage()->output, kept_arrays::output);
  // Rows that are not active in the layer stay as they are, and the gradients of the synapse read them.
  if (maker.gradient().has_backward) grad_x_ = maker.array(maker.number(), stage()->output, kept_arrays::grad_output);
  const int64_t n_before = used_->shape().history_steps;
  if (n_before == 0) return;
  const NetworkRules& rules = stage().rules();
  const auto make_words = [&](int64_t n_steps) {
    return maker.parts().make_sequence(SYNFIRE_DTYPE_BITS, n_steps, rules.batch, used_->n_inputs());
  };
  last_inputs_ = make_words(n_before);
  if (!maker.parts().in_cycle(stage().index())) {
    history_ = make_words(n_before);
    return;
  }
  inputs_ = make_words(n_before + rules.n_steps);
  history_ = Ref<Buffer>(maker.parts().part(*inputs_, 0, n_before));
  if (maker.gradient().passes)
    grad_inputs_ = maker.parts().make_sequence(maker.number(), rules.n_steps, rules.batch, used_->n_inputs());
}

Ref<Synapse> SynapseParts::owned(StageMaker& maker, FunctionRef<Ref<Synapse>()> make) {
  const size_t owner = maker.parts().design.owner_of_weights(maker.stage().index());
  if (owner != maker.stage().index()) return Ref<Synapse>(static_cast<Synapse*>(maker.parts().stages[owner]->object()));
  Ref<Synapse> made;
  maker.count_as(&PartBytes::synapses, [&] { made = make(); });
  return made;
}

// ---- recording ------------------------------------------------------------------------------------------------------

void SynapseParts::add_reset(OperationList& list, const operations::RowRange& rows) const {
  if (!last_inputs_) return;
  OperationList clear = operations::clear_last_steps(*last_inputs_, rows.first_row, rows.n_rows);
  std::move(clear.begin(), clear.end(), std::back_inserter(list));
}

// A backward reads the steps before those of its own replay, which the forward has replaced in the state by then.
void SynapseParts::begin_forward(StageRecorder& recorder) {
  if (!last_inputs_) return;
  recorder.append([&] { return operations::copy({last_inputs_.get(), 0, history_.get(), 0, 0}); });
}

void SynapseParts::forward(StageRecorder& recorder) {
  if (is_fused_) return;
  const StageRecorder::Read input = recorder.read();
  Buffer *from = input_of(input), *history = history_.get(), *next = last_inputs_.get();
  if (inputs_) {
    from = &pack(recorder, *from);
    history = recorder.part(*inputs_, *recorder.step(), used_->shape().history_steps);
    next = nullptr;
  }
  operations::record_synapse_forward(
      recorder.graph(), *used_,
      {recorder.flow(stage()->output).n_steps, recorder.rules().batch, from, recorder.written(), recorder.n_active(),
       input.kept.mask, input.kept.scale, input.kept.mask_channels, history, next, !recorder.trains()});
}

Buffer& SynapseParts::pack(StageRecorder& recorder, Buffer& input) const {
  Buffer& words = *recorder.part(*inputs_, used_->shape().history_steps + *recorder.step(), 1);
  recorder.append([&]() -> OperationList {
    if (input.dtype() == SYNFIRE_DTYPE_BITS) return operations::copy({&input, 0, &words, 0, 0});
    return operations::convert_spikes({{1, recorder.rules().batch, used_->n_inputs()}, &input, &words});
  });
  return words;
}

void SynapseParts::end_forward(StageRecorder& recorder) {
  if (!inputs_) return;
  const NetworkRules& rules = recorder.rules();
  recorder.append([&] {
    return operations::synapse_history(
        *used_, {rules.n_steps, rules.batch, recorder.part(*inputs_, used_->shape().history_steps, rules.n_steps),
                 history_.get(), last_inputs_.get(), recorder.n_active()});
  });
}

void SynapseParts::begin_backward(StageRecorder& recorder) {
  if (grad_inputs_) recorder.append([&] { return OperationList{operations::Fill{grad_inputs_->view(), 0}}; });
}

void SynapseParts::backward(StageRecorder& recorder) {
  if (is_fused_) return;
  if (inputs_) return record_input_gradient_of_step(recorder);
  record_gradients(recorder, learns_ && !recorder.step(), recorder.gradient());
}

// Gradients of weights are one product over all steps.
void SynapseParts::end_backward(StageRecorder& recorder) {
  if (learns_) record_gradients(recorder, true, {nullptr, false});
}

void SynapseParts::record_input_gradient_of_step(StageRecorder& recorder) const {
  const StageRecorder::Gradient before = recorder.gradient();
  if (!before.array) return;
  const int64_t step = *recorder.step();
  recorder.append([&] {
    return operations::synapse_backward_of_step(
        *used_,
        {recorder.rules().n_steps, recorder.rules().batch, grad_x_.get(), nullptr, grad_inputs_.get(),
         recorder.n_active(), false, true, nullptr, nullptr},
        step);
  });
  operations::record_scale_add(recorder.graph(),
                               {recorder.part(*grad_inputs_, step, 1), before.array, 1, before.add ? 1.0 : 0.0});
}

void SynapseParts::record_gradients(StageRecorder& recorder, bool of_weights,
                                    const StageRecorder::Gradient& before) const {
  if (!of_weights && !before.array) return;
  const StageRecorder::Read input = recorder.read();
  const bool reads_again = before.array && used_->kind().input_gradient_reads_input;
  const bool adds = of_weights && recorder.adds_to_weights(stage().index());
  operations::record_synapse_backward(
      recorder.graph(), *used_,
      {recorder.flow(stage()->output).n_steps, recorder.rules().batch, recorder.output_gradient(),
       of_weights || reads_again ? input_of(input) : nullptr, before.array, recorder.n_active(), adds, before.add,
       input.kept.mask, input.kept.scale, input.kept.mask_channels, history_.get()});
}

void SynapseParts::give(operations::ForwardRequest& request, StageRecorder& recorder) {
  request.synapse = used_;
  request.synapse_input = input_of(recorder.read_edge(stage().index(), 0));
  request.n_active = recorder.n_active();
}

void SynapseParts::give(operations::BackwardRequest& request, StageRecorder& recorder) {
  const StageRecorder::Gradient before = recorder.gradient_of(stage().index(), 0);
  request.grad_synapse_input = before.array;
  request.add_input_gradient = before.add;
  request.add_synapse_gradients = learns_ && recorder.adds_to_weights(stage().index());
}

// ---- between replays ------------------------------------------------------------------------------------------------

void SynapseParts::train(Trainer& trainer) {
  if (!is_owner_ || !trains_) return;
  for (const SynapseArray& array : synapse_->arrays())
    if (array.trained) add_trained(trainer, array.name);
}

void SynapseParts::add_trained(Trainer& trainer, const char* name) {
  members_.add_array(trainer, stage().stage(), *synapse_, name);
  const SynapseArray& array = *synapse_->find_array(name);
  trainer.name_member(array_name(stage().stage(), array), [lengths = lengths_of(array)] { return lengths; });
}

// No values of such stages can change but factors and "frozen".
bool SynapseParts::take_value(const char*, double) {
  take_values();
  return true;
}

std::optional<Rounding> SynapseParts::rounding() const {
  const bool is_exact = synapse_->reads_spikes() || synapse_->reads_counts();
  return is_owner_ && is_exact ? synapse_->rounding(-1) : std::nullopt;
}

void SynapseParts::list_state(std::vector<CarriedState>& list) const {
  if (!last_inputs_) return;
  const std::span<const int64_t> lengths = last_inputs_->shape().all();
  list.push_back({last_inputs_->view(), last_inputs_->dtype(), lengths[0] * lengths[1], lengths[2]});
}

void SynapseParts::list_saved(StateArrays& list) const {
  if (last_inputs_) list.arrays.push_back(saved_inputs(stage().stage(), *last_inputs_, used_->n_inputs()));
  if (!is_owner_) return;
  for (const SynapseArray& array : synapse_->arrays()) add_saved(list, stage(), *synapse_, array);
}

// ---- shared weights -------------------------------------------------------------------------------------------------

std::optional<size_t> weights_of_stage(const StageView& view, const std::string& name) {
  return name.empty() ? std::nullopt : view.design().find_if(name);
}

StageView owner_of(const StageView& view) {
  return view.design().view(view.design().owner_of_weights(view.index()));
}

// ---- masks ----------------------------------------------------------------------------------------------------------

std::string mask_name(const Stage& stage) {
  return stage.name + ".mask";
}

void check_mask(std::span<const uint8_t> mask, std::span<const int64_t> weight_lengths) {
  int64_t n_weights = 1;
  for (const int64_t one : weight_lengths) n_weights *= one;
  if (mask.size() != static_cast<uint64_t>(n_weights))
    fail_argument("SYN-SYNAPSE-MASK", "length is %llu; the mask of weights %s has %lld bytes",
                  static_cast<unsigned long long>(mask.size()), lengths_text(weight_lengths).c_str(),
                  static_cast<long long>(n_weights));
  for (uint64_t i = 0; i < mask.size(); ++i)
    if (mask[i] > 1)
      fail_argument("SYN-SYNAPSE-MASK", "mask[%llu] is %u; allowed are 0 and 1", static_cast<unsigned long long>(i),
                    static_cast<unsigned>(mask[i]));
}

void fail_mask(const Stage& stage, const std::string& owner) {
  fail_argument("SYN-NETWORK-VALUE", "stage \"%s\" uses the weights of stage \"%s\", which has the mask too",
                stage.name.c_str(), owner.c_str());
}

void check_awaits_nothing(const StageView& view) {
  if (view->awaits.empty()) return;
  fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-AWAITS",
       "stage \"%s\" reads stage \"%.64s\", which has not been added; how many weights it has follows from that",
       view->name.c_str(), view->awaits.front().name.c_str());
}

namespace {

const char* text_of(Elements elements) {
  return elements == Elements::spikes ? "spikes" : "numbers";
}

}  // namespace

void check_owner(const StageView& view, const StageView& owner) {
  const Stage& stage = view.stage();
  if (owner->kind != stage.kind)
    fail_argument("SYN-NETWORK-VALUE",
                  "\"weights_of\" of stage \"%s\" is \"%s\", which is of kind %s; a stage of kind %s is needed",
                  stage.name.c_str(), owner->name.c_str(), owner->kind->traits.name, stage.kind->traits.name);
  if (owner->kind->weights_of(owner))
    fail_argument("SYN-NETWORK-VALUE",
                  "\"weights_of\" of stage \"%s\" is \"%s\", which has no weights of its own; name the stage that has",
                  stage.name.c_str(), owner->name.c_str());
  check_awaits_nothing(owner);
}

StageView checked_owner(const StageView& view, const std::string& weights_of) {
  if (weights_of.empty()) return view;
  const StageView owner = view.design().view(view.design().find(weights_of.c_str()));
  check_owner(view, owner);
  return owner;
}

void check_shared_input(const StageView& view, const StageView& owner) {
  const Stage& stage = view.stage();
  const Flow mine = view.flow(), others = owner.flow();
  if ((mine.elements == Elements::spikes) != (others.elements == Elements::spikes))
    fail_argument("SYN-NETWORK-SHAPE",
                  "stage \"%s\" reads %s and uses the weights of stage \"%s\", which reads %s; both must be the same",
                  stage.name.c_str(), text_of(mine.elements), owner->name.c_str(), text_of(others.elements));
  for (const ValueSpec& spec : stage.kind->traits.values)
    if (stage.at(spec) != spec.initial)
      fail_argument("SYN-NETWORK-VALUE",
                    "\"%s\" of stage \"%s\" is %g; the stage uses the weights of stage \"%s\", whose values count",
                    spec.name, stage.name.c_str(), stage.at(spec), owner->name.c_str());
}

void check_shared_weights(const StageView& view, const StageView& owner, const Flow& own_output) {
  check_owner(view, owner);
  const Flow mine = view.flow(), others = owner.flow();
  if (mine.n_features() != others.n_features() || own_output.n_features() != owner->output.n_features())
    fail_argument(
        "SYN-NETWORK-SHAPE",
        "stage \"%s\" with %lld inputs and %lld outputs uses the weights of stage \"%s\", which has %lld inputs "
        "and %lld outputs; both must be the same",
        view->name.c_str(), static_cast<long long>(mine.n_features()), static_cast<long long>(own_output.n_features()),
        owner->name.c_str(), static_cast<long long>(others.n_features()),
        static_cast<long long>(owner->output.n_features()));
  check_shared_input(view, owner);
}

}  // namespace synfire::network

// A synapse: weights between its input and the neurons that read it.
#include "stage_kinds.hpp"

#include <network/constant_names.hpp>
#include <network/stage_key_values.hpp>
#include <network/stage_recorder.hpp>
#include <network/state_arrays.hpp>

#include <neurons/passes/backward.hpp>
#include <neurons/passes/forward.hpp>
#include <synapses/dense/dense.hpp>
#include <synapses/dense/dense_spec.hpp>
#include <synapses/passes/synapse_passes.hpp>
#include <synapses/synapse.hpp>

namespace synfire::network {

using namespace synfire::core;

namespace {

constexpr ChoiceSpec synapse_choices[] = {{"n_outputs"}};

constexpr ValueSpec synapse_values[] = {
    {"bias", 1, 0, 1, value::whole, value::fixed},
    {"frozen", 0, 0, 1, value::whole, value::fixed, value::on_training},
    {"gradient_bits", 0, 0, 32, value::whole, value::fixed, value::on_training},
    {"initialization", 0, 0, SYNFIRE_INITIALIZATION_ZERO, value::whole, value::fixed, value::on_none, value::always,
     &names::initializations},
    {"gain", 1, value::above_0, 1e30, value::any, value::fixed, value::on_none},
    {"seed", 0, 0, value::most_whole, value::whole, value::fixed},
    {"learning_rate_factor", 1, 0, value::largest, value::any, value::fixed, value::on_training},
    {"weight_decay_factor", 1, 0, value::largest, value::any, value::fixed, value::on_training},
    {"bias_learning_rate_factor", 1, 0, value::largest, value::any, value::fixed, value::on_training},
    {"bias_weight_decay_factor", 0, 0, value::largest, value::any, value::fixed, value::on_training},
};

struct SynapseSettings final : SettingsOf<SynapseSettings> {
  explicit SynapseSettings(int64_t its_outputs) : n_outputs(its_outputs) {}
  int64_t n_outputs;
  std::vector<uint8_t> mask = {};  // [N, K], or empty
  bool mask_in_file = false;       // of a stage that is being read
};

std::string weights_name(const Stage& stage) {
  return stage.name + ".weights";
}
std::string array_name(const Stage& stage, const SynapseArray& array) {
  return stage.name + "." + array.file_name;
}
std::string mask_name(const Stage& stage) {
  return stage.name + ".mask";
}

bool reads_values(const StageView& view) {
  return view.flow().elements == Elements::values;
}

synfire_synapse_desc synapse_desc(const StageView& view) {
  const Stage& stage = view.stage();
  const auto& settings = stage.as<SynapseSettings>();
  const Flow input = view.flow();
  synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
  desc.input_kind = reads_values(view) ? SYNFIRE_INPUT_VALUES : SYNFIRE_INPUT_SPIKES;
  desc.n_inputs = input.n_features();
  desc.n_outputs = settings.n_outputs;
  desc.dtype = view.rules().dtype;
  desc.bias = stage.whole("bias");
  desc.frozen = stage.whole("frozen");
  desc.gradient_bits = stage.whole("gradient_bits");
  desc.initialization = stage.whole("initialization");
  desc.gain = stage.value("gain");
  desc.seed = stage.seed;
  desc.mask = settings.mask.empty() ? nullptr : settings.mask.data();
  desc.mask_length = settings.mask.size();
  return desc;
}

// With dropout, the product is an operation of its own, which applies the mask; else it is a part of the neurons' own.
class SynapseParts final : public StageParts, private Product {
 public:
  explicit SynapseParts(StageMaker& maker)
      : StageParts(maker.stage()),
        learns_(maker.gradient().learns),
        is_masked_(maker.parts().stages[maker.stage().edge().from]->kept().mask != nullptr) {
    const synfire_synapse_desc desc = synapse_desc(maker.stage());
    const operations::DenseSpec spec(desc);
    maker.count_as(&PartBytes::synapses, [&] {
      synapse_ = Ref<Synapse>::adopt(maker.is_planned() ? new operations::DenseSynapse(maker.context(), spec, nullptr)
                                                        : operations::make_dense(maker.context(), spec, desc.mask));
    });
    if (!is_masked_) return;
    x_ = maker.sequence(maker.number(), desc.n_outputs);
    if (maker.gradient().has_backward) grad_x_ = maker.sequence(maker.number(), desc.n_outputs);
  }

  Object* object() const noexcept override { return synapse_.get(); }
  Buffer* array(Port) const noexcept override { return x_.get(); }
  Buffer* gradient(Port) const noexcept override { return grad_x_.get(); }
  Product* product() noexcept override { return is_masked_ ? nullptr : this; }

  void forward(StageRecorder& recorder) override {
    if (!is_masked_) return;
    const StageRecorder::Read input = recorder.read();
    operations::record_synapse_forward(recorder.graph(), *synapse_,
                                       {recorder.rules().n_steps, recorder.rules().batch, input.array, x_.get(),
                                        recorder.n_active(), input.kept.mask, input.kept.scale});
  }
  void backward(StageRecorder& recorder) override {
    if (!is_masked_) return;
    const StageRecorder::Read input = recorder.read();
    const StageRecorder::Gradient before = recorder.gradient();
    operations::record_synapse_backward(
        recorder.graph(), *synapse_,
        {recorder.rules().n_steps, recorder.rules().batch, recorder.output_gradient(), learns_ ? input.array : nullptr,
         before.array, recorder.n_active(), false, before.add, input.kept.mask, input.kept.scale});
  }

  void train(Trainer& trainer) override {
    if (!learns_) return;
    const Stage& own = stage().stage();
    add_trained(trainer, "weight", {own.value("learning_rate_factor"), own.value("weight_decay_factor")});
    if (own.flag("bias"))
      add_trained(trainer, "bias", {own.value("bias_learning_rate_factor"), own.value("bias_weight_decay_factor")});
  }
  void wait() const override { synapse_->order().wait(); }
  std::optional<Rounding> rounding() const override {
    return synapse_->reads_spikes() ? synapse_->rounding(-1) : std::nullopt;
  }
  void list_saved(StateArrays& list) const override {
    for (const SynapseArray& array : synapse_->arrays()) add_saved(list, array);
  }

 private:
  void give(operations::ForwardRequest& request, StageRecorder& recorder) override {
    request.synapse = synapse_.get();
    request.synapse_input = recorder.read_edge(stage().index(), 0).array;
    request.n_active = recorder.n_active();
  }
  void give(operations::BackwardRequest& request, StageRecorder& recorder) override {
    const StageRecorder::Gradient before = recorder.gradient_of(stage().index(), 0);
    request.grad_synapse_input = before.array;
    request.add_input_gradient = before.add;
  }

  void add_trained(Trainer& trainer, const char* name, const operations::MemberFactors& factors) const {
    trainer.optimizer().add_array(*synapse_, name, factors);
    const SynapseArray& array = *synapse_->find_array(name);
    trainer.name_member(array_name(stage().stage(), array), [lengths = lengths_of(array)] { return lengths; });
  }
  void add_saved(StateArrays& list, const SynapseArray& of) const {
    StateArray array = {array_name(stage().stage(), of), file_type_of(of.dtype), lengths_of(of),
                        StateArray::Numbers::finite};
    array.read = [&synapse = *synapse_, name = of.name, bytes = array.bytes()](void* values) {
      synapse.read(name, values, bytes);
    };
    array.write = [&synapse = *synapse_, name = of.name, bytes = array.bytes()](const void* values) {
      synapse.write(name, values, bytes);
    };
    list.arrays.push_back(std::move(array));
  }
  static std::vector<int64_t> lengths_of(const SynapseArray& array) {
    const std::span<const int64_t> lengths = array.lengths();
    return {lengths.begin(), lengths.end()};
  }

  const bool learns_, is_masked_;
  Ref<Synapse> synapse_;
  Ref<Buffer> x_, grad_x_;  // [T, B, N], of a product that is an operation of its own
};

class SynapseStage final : public StageKind {
 public:
  constexpr SynapseStage()
      : StageKind({.name = "synapse",
                   .noun = "a synapse",
                   .choices = synapse_choices,
                   .values = synapse_values,
                   .reads = signal::input | signal::spikes | signal::masked,
                   .makes = signal::product,
                   .one_reader = true,
                   .draws_for = purpose::weights}) {}

  std::unique_ptr<StageSettings> settings(Choices choices) const override {
    return std::make_unique<SynapseSettings>(choices[0]);
  }
  void begin(const NetworkRules& rules, Stage& stage) const override {
    check_size(rules, stage.as<SynapseSettings>().n_outputs, "n_outputs");
  }
  Flow shape(const StageView& view) const override {
    Flow flow = {view.rules().n_steps, view.rules().batch};
    flow.channels = view->as<SynapseSettings>().n_outputs;
    return flow;
  }
  void check(const StageView& view) const override {
    in_stage(view.stage(), [&] { operations::DenseSpec{synapse_desc(view)}; });
  }
  bool learns(const Stage& stage) const override { return !stage.flag("frozen"); }

  std::string describe(const Stage& stage) const override {
    return std::string(stage.flag("frozen") ? "frozen" : "")
        .append(stage.as<SynapseSettings>().mask.empty() ? "" : " masked");
  }
  int64_t n_learnt(const StageView& view) const override {
    return view->width() * view.flow().n_features() + (view->flag("bias") ? view->width() : 0);
  }

  void write(const StageView& view, StageKeyValues& words) const override {
    write_choice(words, 0);
    // A file holds the number that a default stands for.
    words.values[static_cast<size_t>(view->find_spec("gradient_bits") - synapse_values)] =
        operations::DenseSpec(synapse_desc(view)).gradient_bits;
    if (!view->as<SynapseSettings>().mask.empty()) words.after_seed.add_whole("has_mask", 1);
  }
  void read(Stage& stage, KeyValueReader& words, const Context&) const override {
    take_choice(words);
    auto settings = std::make_unique<SynapseSettings>(stage.width());
    settings->mask_in_file = words.take_whole("has_mask", 1, 0) == 1;
    stage.settings = std::move(settings);
  }
  void write_tensors(const StageView& view, files::SafetensorsWriter& writer) const override {
    const std::vector<uint8_t>& mask = view->as<SynapseSettings>().mask;
    if (mask.empty()) return;
    const int64_t shape[] = {view->width(), view.flow().n_features()};
    writer.add(mask_name(view.stage()), files::Dtype::u8, shape, std::as_bytes(std::span(mask)));
  }
  void read_tensors(Design& design, size_t index, const Stage& read,
                    const files::SafetensorsFile& file) const override {
    const StageView view = design.view(index);
    const int64_t shape[] = {view->width(), view.flow().n_features()};
    // Limits a width to the weights of the file.
    file.bytes(weights_name(view.stage()), file_type_of(design.rules().dtype), shape);
    if (!read.as<SynapseSettings>().mask_in_file) return;
    const auto bytes = file.bytes(mask_name(view.stage()), files::Dtype::u8, shape);
    set_mask(design, view->name.c_str(), reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  // A default stands for a number. Version 0.2 wrote 24 for every synapse, and of values it had no effect there.
  void compare_value(const StageView& here, const StageView& there, const ValueSpec& spec) const override {
    if (spec.name != std::string_view("gradient_bits")) return StageKind::compare_value(here, there, spec);
    if (here->at(spec) == 0 && reads_values(here) && there->at(spec) == 24) return;
    compare_whole(here.stage(), "\"gradient_bits\"", operations::DenseSpec(synapse_desc(here)).gradient_bits,
                  operations::DenseSpec(synapse_desc(there)).gradient_bits);
  }
  void compare_rest(const Stage& here, const Stage& there, bool) const override {
    if (here.as<SynapseSettings>().mask != there.as<SynapseSettings>().mask)
      fail_argument("SYN-NETWORK-OTHER", "the mask of stage \"%s\" is not that of the file", here.name.c_str());
  }

  std::unique_ptr<StageParts> make(StageMaker& maker) const override { return std::make_unique<SynapseParts>(maker); }
};

constexpr SynapseStage the_synapse;

}  // namespace

const StageKind& synapse_kind = the_synapse;

size_t add_synapse(Design& design, const char* name, int64_t n_outputs, const Reads& reads) {
  return design.add(synapse_kind, name, {&n_outputs, 1}, reads);
}

void set_mask(Design& design, const char* name, const uint8_t* mask, uint64_t length) {
  const size_t index = design.find(name, synapse_kind);
  const StageView view = design.view(index);
  const int64_t n_inputs = view.flow().n_features(), n_outputs = view->width();
  if (length != static_cast<uint64_t>(n_inputs * n_outputs))
    fail_argument("SYN-SYNAPSE-MASK", "length is %llu; the mask of %lld outputs and %lld inputs has %lld bytes",
                  static_cast<unsigned long long>(length), static_cast<long long>(n_outputs),
                  static_cast<long long>(n_inputs), static_cast<long long>(n_inputs * n_outputs));
  for (uint64_t i = 0; i < length; ++i)
    if (mask[i] > 1)
      fail_argument("SYN-SYNAPSE-MASK", "mask[%llu] is %u; allowed are 0 and 1", static_cast<unsigned long long>(i),
                    static_cast<unsigned>(mask[i]));
  static_cast<SynapseSettings&>(design.settings(index)).mask.assign(mask, mask + length);
}

}  // namespace synfire::network

// A synapse: weights between its input and the neurons that read it.
#include "stage_kinds.hpp"
#include "synapse_parts.hpp"

#include <network/constant_names.hpp>
#include <network/stage_key_values.hpp>
#include <network/state_arrays.hpp>

#include <synapses/conv2d/conv2d.hpp>

namespace synfire::network {

using namespace synfire::core;

namespace {

constexpr ChoiceSpec synapse_choices[] = {{"n_outputs", nullptr, true, "weights_of"},
                                          {"weights_of", nullptr, false, nullptr, true}};

constexpr ValueSpec synapse_values[] = {
    {"bias", 1, 0, 1, value::whole, value::fixed},
    {"frozen", 0, 0, 1, value::whole, value::changes, value::on_training},
    {"gradient_bits", 0, 0, 32, value::whole, value::fixed, value::on_training},
    {"initialization", 0, 0, SYNFIRE_INITIALIZATION_ZERO, value::whole, value::fixed, value::on_none, value::always,
     &names::initializations},
    {"gain", 1, value::above_0, 1e30, value::any, value::fixed, value::on_none},
    {"seed", 0, 0, value::most_whole, value::whole, value::fixed},
    {"learning_rate_factor", 1, 0, value::largest, value::any, value::changes, value::on_training},
    {"weight_decay_factor", 1, 0, value::largest, value::any, value::changes, value::on_training},
    {"bias_learning_rate_factor", 1, 0, value::largest, value::any, value::changes, value::on_training},
    {"bias_weight_decay_factor", 0, 0, value::largest, value::any, value::changes, value::on_training},
    {"weight_bits", 0, 0, 24, value::whole, value::fixed, value::on_results, value::if_changed},
    {"no_self_connections", 0, 0, 1, value::whole, value::fixed, value::on_results, value::if_changed},
};

struct SynapseSettings final : SettingsOf<SynapseSettings> {
  SynapseSettings(int64_t its_outputs, std::string owner) : n_outputs(its_outputs), weights_of(std::move(owner)) {}
  int64_t n_outputs;
  std::string weights_of;          // the stage whose weights it uses, or empty
  std::vector<uint8_t> mask = {};  // [N, K], or empty
  bool mask_in_file = false;       // of a stage that is being read
};

std::string weights_name(const Stage& stage) {
  return stage.name + ".weights";
}
bool reads_counts(const StageView& view) {
  return view.flow().elements == Elements::counts;
}
// Counts are numbers to a stage that uses the weights of one that reads numbers.
bool adds_counts(const StageView& view) {
  return reads_counts(owner_of(view));
}

int32_t input_kind_of(const StageView& view) {
  if (view.flow().elements == Elements::spikes) return SYNFIRE_INPUT_SPIKES;
  return adds_counts(view) ? SYNFIRE_INPUT_COUNTS : SYNFIRE_INPUT_VALUES;
}

synfire_synapse_desc synapse_desc(const StageView& view) {
  const Stage& stage = view.stage();
  const auto& settings = stage.as<SynapseSettings>();
  const Flow input = view.flow();
  synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
  desc.input_kind = input_kind_of(view);
  desc.n_inputs = input.n_features();
  desc.n_outputs = settings.n_outputs;
  desc.dtype = view.rules().dtype;
  desc.bias = stage.whole("bias");
  desc.frozen = stage.is_built_frozen() ? 1 : 0;
  desc.gradient_bits = stage.whole("gradient_bits");
  desc.initialization = stage.whole("initialization");
  desc.gain = stage.value("gain");
  desc.seed = stage.seed;
  desc.mask = settings.mask.empty() ? nullptr : settings.mask.data();
  desc.mask_length = settings.mask.size();
  desc.weight_bits = stage.whole("weight_bits");
  desc.no_self_connections = stage.whole("no_self_connections");
  if (desc.input_kind == SYNFIRE_INPUT_COUNTS) desc.count_scale = input.count_scale;
  return desc;
}

class SynapseStage final : public StageKind {
 public:
  constexpr SynapseStage()
      : StageKind(
            {.name = "synapse",
             .noun = "a synapse",
             .choices = synapse_choices,
             .values = synapse_values,
             .reads = signal::input | signal::spikes | signal::v | signal::masked | signal::readout | signal::combined,
             .makes = signal::product,
             .awaits = Awaits::shaped,
             .takes_steps = true,
             .reads_before = true,
             .draws_for = purpose::weights}) {}

  // Without a number of outputs, it has that of the stage whose weights it uses.
  std::unique_ptr<StageSettings> settings(const Design& design, Choices choices) const override {
    if (choices[1] == 0) return std::make_unique<SynapseSettings>(choices[0], std::string());
    const Stage& owner = design.stages()[static_cast<size_t>(choices[1] - 1)];
    return std::make_unique<SynapseSettings>(choices[0] == 0 ? owner.width() : choices[0], owner.name);
  }
  void begin(const NetworkRules& rules, Stage& stage) const override {
    check_size(rules, stage.as<SynapseSettings>().n_outputs, "n_outputs");
  }
  Flow shape(const StageView& view) const override {
    Flow flow = {view.flow().n_steps, view.rules().batch};
    flow.channels = view->as<SynapseSettings>().n_outputs;
    return flow;
  }
  void check(const StageView& view) const override {
    const auto& settings = view->as<SynapseSettings>();
    if (!settings.weights_of.empty()) {
      const StageView owner = view.design().view(view.design().find(settings.weights_of.c_str()));
      check_shared_weights(view, owner, view->output);
      if (!settings.mask.empty()) fail_mask(view.stage(), settings.weights_of);
      if (adds_counts(owner) && !reads_counts(view))
        fail_argument(
            "SYN-NETWORK-SHAPE",
            "stage \"%s\" reads values and uses the weights of stage \"%s\", which reads counts; both must be the same",
            view->name.c_str(), owner->name.c_str());
      if (adds_counts(owner) && owner.flow().count_scale != view.flow().count_scale)
        fail_argument(
            "SYN-NETWORK-SHAPE",
            "stage \"%s\" reads counts of %g each and uses the weights of stage \"%s\", which reads counts of "
            "%g each; both must be the same",
            view->name.c_str(), static_cast<double>(view.flow().count_scale), owner->name.c_str(),
            static_cast<double>(owner.flow().count_scale));
    } else {
      in_stage(view.stage(), [&] { operations::dense_matrix_of(synapse_desc(view)); });
    }
  }
  bool takes_counts(const StageView& view) const override { return adds_counts(view); }
  bool has_weights(const StageView& view) const override { return !weights_of(view); }
  bool learns(const StageView& view) const override { return !owner_of(view)->is_built_frozen(); }
  std::optional<size_t> weights_of(const StageView& view) const override {
    return weights_of_stage(view, view->as<SynapseSettings>().weights_of);
  }

  std::string describe(const StageView& view) const override {
    const Stage& stage = view.stage();
    if (const std::string& owner = stage.as<SynapseSettings>().weights_of; !owner.empty()) return "weights of " + owner;
    const int bits = stage.whole("weight_bits");
    return std::string(stage.flag("frozen") ? "frozen" : "")
        .append(stage.as<SynapseSettings>().mask.empty() ? "" : " masked")
        .append(stage.flag("no_self_connections") ? " no self-connections" : "")
        .append(bits == 0 || bits == 24 ? ""
                : bits == 16            ? " 16 bits"
                                        : " 8 bits");
  }
  // PyTorch has [N, K], and maps in the order channels, height, width.
  std::vector<ArrayLayout> layouts(const StageView& view) const override {
    const int64_t n_outputs = view->width(), n_inputs = view.flow().n_features();
    std::vector<ArrayLayout> list = {{"oi", {n_outputs, n_inputs}, {n_outputs, n_inputs}, {n_inputs, 1}}};
    StageView before = view.input();
    while (!before->output.is_map() && before->kind->hands_on(before.stage())) before = before.input();
    const Flow& map = before->output;
    if (map.is_map() && map.n_features() == n_inputs)
      list.push_back({"chw-flatten",
                      {n_outputs, n_inputs},
                      {n_outputs, map.height, map.width, map.channels},
                      {n_inputs, map.width, 1, map.height * map.width}});
    return list;
  }
  int64_t n_learnt(const StageView& view) const override {
    if (weights_of(view)) return 0;
    return view->width() * view.flow().n_features() + (view->flag("bias") ? view->width() : 0);
  }

  void write(const StageView& view, StageKeyValues& words) const override {
    write_choice(words, 0);
    const std::string& owner = view->as<SynapseSettings>().weights_of;
    if (!owner.empty()) return words.before_seed.add("weights_of", owner);
    // A file holds the number that a default stands for.
    words.values[static_cast<size_t>(view->find_spec("gradient_bits") - synapse_values)] =
        operations::dense_matrix_of(synapse_desc(view)).gradient_bits;
    if (!view->as<SynapseSettings>().mask.empty()) words.after_seed.add_whole("has_mask", 1);
  }
  void read(Stage& stage, KeyValueReader& words, const Context&) const override {
    take_choice(words);
    auto settings = std::make_unique<SynapseSettings>(stage.width(), words.take("weights_of", ""));
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
    if (weights_of(view)) return;
    const int64_t shape[] = {view->width(), view.flow().n_features()};
    // Limits a width to the weights of the file.
    file.bytes(weights_name(view.stage()), file_type_of(design.rules().dtype), shape);
    if (!read.as<SynapseSettings>().mask_in_file) return;
    const auto bytes = file.bytes(mask_name(view.stage()), files::Dtype::u8, shape);
    set_mask(design, view->name.c_str(), reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  // A default stands for a number. Version 0.2 wrote 24 for every synapse, and of values it had no effect there.
  void compare_value(const StageView& here, const StageView& there, const ValueSpec& spec) const override {
    if (spec.name == std::string_view("weight_bits")) {
      const auto bits = [&](const StageView& view) { return view->at(spec) == 0 ? 24 : view->whole("weight_bits"); };
      return compare_whole(here.stage(), "\"weight_bits\"", bits(here), bits(there));
    }
    if (spec.name != std::string_view("gradient_bits")) return StageKind::compare_value(here, there, spec);
    const bool reads_values = here.flow().elements != Elements::spikes;
    if (here->at(spec) == 0 && reads_values && there->at(spec) == 24) return;
    compare_whole(here.stage(), "\"gradient_bits\"", operations::dense_matrix_of(synapse_desc(here)).gradient_bits,
                  operations::dense_matrix_of(synapse_desc(there)).gradient_bits);
  }
  void compare_rest(const Stage& here, const Stage& there, bool) const override {
    if (here.as<SynapseSettings>().mask != there.as<SynapseSettings>().mask)
      fail_argument("SYN-NETWORK-OTHER", "the mask of stage \"%s\" is not that of the file", here.name.c_str());
  }

  bool needs_new_format(const StageView& view) const override { return weights_of(view).has_value(); }
  void compare_choice(const Stage& here, const Stage& there) const override {
    const std::string &one = here.as<SynapseSettings>().weights_of, &other = there.as<SynapseSettings>().weights_of;
    if (one != other) fail_other(here, "weights_of", one.empty() ? "none" : one, other.empty() ? "none" : other);
  }

  std::unique_ptr<StageParts> make(StageMaker& maker) const override {
    return std::make_unique<SynapseParts>(maker, [&]() -> Ref<Synapse> {
      const synfire_synapse_desc desc = synapse_desc(maker.stage());
      return Ref<Synapse>::adopt(maker.is_planned() ? operations::make_empty_dense(maker.context(), desc)
                                                    : operations::make_any_dense(maker.context(), desc));
    });
  }
};

constexpr SynapseStage the_synapse;

}  // namespace

const StageKind& synapse_kind = the_synapse;

size_t add_synapse(Design& design, const char* name, int64_t n_outputs, const Reads& reads) {
  const int64_t choices[] = {n_outputs, 0};
  return design.add(synapse_kind, name, choices, reads);
}

void set_mask(Design& design, const char* name, const uint8_t* mask, uint64_t length) {
  const size_t named = design.find(name);
  if (design.stages()[named].kind == &conv2d_kind) return set_kernel_mask(design, named, {mask, length});
  const size_t index = design.find(name, synapse_kind);
  const StageView view = design.view(index);
  if (synapse_kind.weights_of(view)) fail_mask(view.stage(), view->as<SynapseSettings>().weights_of);
  check_awaits_nothing(view);
  const int64_t lengths[] = {view->width(), view.flow().n_features()};
  check_mask({mask, length}, lengths);
  static_cast<SynapseSettings&>(design.settings(index)).mask.assign(mask, mask + length);
}

}  // namespace synfire::network

// Scale: a one-to-one synapse, with a weight for each output, for each channel, or for all.
#include "combined.hpp"
#include "stage_kinds.hpp"
#include "synapse_parts.hpp"

#include <network/constant_names.hpp>
#include <network/stage_key_values.hpp>

#include <synapses/one_to_one/one_to_one.hpp>

namespace synfire::network {

using namespace synfire::core;

namespace {

constexpr const char* scope_list[] = {"neuron", "channel", "layer"};
constexpr ConstantNames scopes{scope_list};

constexpr ChoiceSpec scale_choices[] = {{"scope", &scopes, false}, {"weights_of", nullptr, false, nullptr, true}};

constexpr ValueSpec scale_values[] = {
    {"bias", 0, 0, 1, value::whole, value::fixed},
    {"frozen", 0, 0, 1, value::whole, value::changes, value::on_training},
    {"gradient_bits", 0, 0, 32, value::whole, value::fixed, value::on_training},
    {"initial_weight", 1, -value::largest, value::largest, value::any, value::fixed, value::on_none},
    {"learning_rate_factor", 1, 0, value::largest, value::any, value::changes, value::on_training},
    {"weight_decay_factor", 1, 0, value::largest, value::any, value::changes, value::on_training},
    {"bias_learning_rate_factor", 1, 0, value::largest, value::any, value::changes, value::on_training},
    {"bias_weight_decay_factor", 0, 0, value::largest, value::any, value::changes, value::on_training},
};

struct ScaleSettings final : SettingsOf<ScaleSettings> {
  ScaleSettings(int32_t its_scope, std::string owner) : scope(its_scope), weights_of(std::move(owner)) {}
  int32_t scope;           // SYNFIRE_SCOPE_*
  std::string weights_of;  // the stage whose weights it uses, or empty
};

synfire_one_to_one_desc scale_desc(const StageView& view) {
  const Stage& stage = view.stage();
  const Flow input = view.flow();
  synfire_one_to_one_desc desc = SYNFIRE_ONE_TO_ONE_DESC_INIT;
  desc.input_kind = input.elements == Elements::spikes ? SYNFIRE_INPUT_SPIKES : SYNFIRE_INPUT_VALUES;
  desc.channels = input.channels;
  desc.height = input.height;
  desc.width = input.width;
  desc.scope = stage.as<ScaleSettings>().scope;
  desc.dtype = view.rules().dtype;
  desc.bias = stage.whole("bias");
  desc.frozen = stage.is_built_frozen() ? 1 : 0;
  desc.gradient_bits = stage.whole("gradient_bits");
  desc.initial_weight = stage.value("initial_weight");
  return desc;
}

class ScaleKind final : public StageKind {
 public:
  constexpr ScaleKind()
      : StageKind({.name = "scale",
                   .noun = "a scale",
                   .choices = scale_choices,
                   .values = scale_values,
                   .reads = combinable,
                   .makes = signal::combined | signal::readout,
                   .awaits = Awaits::unshaped,
                   .takes_steps = true,
                   .reads_before = true,
                   .is_new = true}) {}

  std::unique_ptr<StageSettings> settings(const Design& design, Choices choices) const override {
    std::string owner = choices[1] == 0 ? "" : design.stages()[static_cast<size_t>(choices[1] - 1)].name;
    return std::make_unique<ScaleSettings>(static_cast<int32_t>(choices[0]), std::move(owner));
  }
  uint32_t makes(const StageView& view) const override { return combined_of(view); }
  Flow shape(const StageView& view) const override {
    Flow flow = view.flow();
    flow.elements = Elements::values;
    flow.bound = 1;
    flow.count_scale = 1;
    return flow;
  }
  void check(const StageView& view) const override {
    const auto& settings = view->as<ScaleSettings>();
    if (settings.weights_of.empty()) {
      if (view->value("initial_weight") == 0)
        fail_argument("SYN-NETWORK-VALUE", "\"initial_weight\" of stage \"%s\" is 0; another number is needed",
                      view->name.c_str());
      return in_stage(view.stage(), [&] { operations::OneToOneSpec{scale_desc(view)}; });
    }
    const StageView owner = view.design().view(view.design().find(settings.weights_of.c_str()));
    check_shared_weights(view, owner, view->output);
    const Flow mine = view.flow(), others = owner.flow();
    if (mine.channels != others.channels || settings.scope != 0)
      fail_argument(
          "SYN-NETWORK-SHAPE",
          "stage \"%s\" has %lld channels%s and uses the weights of stage \"%s\", which has %lld; its channels "
          "must be the same, and its scope is that of the other",
          view->name.c_str(), static_cast<long long>(mine.channels),
          settings.scope != 0 ? " and a scope of its own" : "", owner->name.c_str(),
          static_cast<long long>(others.channels));
  }
  bool has_weights(const StageView& view) const override { return !weights_of(view); }
  bool learns(const StageView& view) const override { return !owner_of(view)->is_built_frozen(); }
  std::optional<size_t> weights_of(const StageView& view) const override {
    return weights_of_stage(view, view->as<ScaleSettings>().weights_of);
  }
  std::optional<StageOutput> output(const StageView& view) const override { return combined_output(view); }

  std::string describe(const StageView& view) const override {
    const auto& settings = view->as<ScaleSettings>();
    if (!settings.weights_of.empty()) return "weights of " + settings.weights_of;
    return std::string("for each ").append(scope_list[settings.scope]).append(view->flag("frozen") ? ", frozen" : "");
  }
  int64_t n_learnt(const StageView& view) const override {
    if (weights_of(view)) return 0;
    return operations::OneToOneSpec{scale_desc(view)}.n_entries() * (view->flag("bias") ? 2 : 1);
  }

  void write(const StageView& view, StageKeyValues& words) const override {
    const auto& settings = view->as<ScaleSettings>();
    words.before_seed.add_whole("scope", static_cast<uint64_t>(settings.scope));
    if (!settings.weights_of.empty()) words.before_seed.add("weights_of", settings.weights_of);
  }
  void read(Stage& stage, KeyValueReader& words, const Context&) const override {
    const auto scope = static_cast<int32_t>(words.take_whole("scope", SYNFIRE_SCOPE_LAYER));
    stage.settings = std::make_unique<ScaleSettings>(scope, words.take("weights_of", ""));
  }
  void compare_choice(const Stage& here, const Stage& there) const override {
    const auto &one = here.as<ScaleSettings>(), &other = there.as<ScaleSettings>();
    compare_whole(here, "the scope", one.scope, other.scope);
    if (one.weights_of != other.weights_of)
      fail_other(here, "weights_of", one.weights_of.empty() ? "none" : one.weights_of,
                 other.weights_of.empty() ? "none" : other.weights_of);
  }

  std::unique_ptr<StageParts> make(StageMaker& maker) const override {
    return std::make_unique<SynapseParts>(maker, [&]() -> Ref<Synapse> {
      return Ref<Synapse>::adopt(
          new operations::OneToOneSynapse(maker.context(), operations::OneToOneSpec(scale_desc(maker.stage()))));
    });
  }
};

constexpr ScaleKind the_scale;

}  // namespace

const StageKind& scale_kind = the_scale;

}  // namespace synfire::network

// A synapse with delays of connections, inputs or outputs, whose product neurons read. It keeps the last spikes of its
// input.
#include "stage_kinds.hpp"
#include "synapse_parts.hpp"

#include <network/constant_names.hpp>
#include <network/stage_key_values.hpp>
#include <network/state_arrays.hpp>

#include <synapses/delayed/delayed.hpp>

#include <algorithm>
#include <string_view>

namespace synfire::network {

using namespace synfire::core;

namespace {

constexpr ChoiceSpec delayed_choices[] = {{"n_outputs"}, {"max_delay"}};

constexpr std::string_view width_name = "width";

constexpr const char* owners_of_delays[] = {"connections", "inputs", "outputs"};
constexpr ConstantNames owner_names{owners_of_delays};

constexpr ValueSpec delayed_values[] = {
    {"delays_of", SYNFIRE_DELAYS_OF_CONNECTIONS, 0, SYNFIRE_DELAYS_OF_OUTPUTS, value::whole, value::fixed,
     value::on_results, value::if_changed, &owner_names},
    {"learn_delays", 0, 0, 1, value::whole, value::fixed},
    {"width", 0, 0, operations::largest_width, value::any, value::changes, value::on_training, value::always, nullptr,
     "delay_width"},
    {"bias", 1, 0, 1, value::whole, value::fixed},
    {"frozen", 0, 0, 1, value::whole, value::changes, value::on_training},
    {"gradient_bits", 0, 0, 32, value::whole, value::fixed, value::on_training},
    {"initialization", 0, 0, SYNFIRE_INITIALIZATION_ZERO, value::whole, value::fixed, value::on_none, value::always,
     &names::initializations},
    {"gain", 1, value::above_0, 1e30, value::any, value::fixed, value::on_none},
    {"seed", 0, 0, value::most_whole, value::whole, value::fixed},
    {"weight_bits", 0, 0, 24, value::whole, value::fixed},
    {"learning_rate_factor", 1, 0, value::largest, value::any, value::changes, value::on_training},
    {"weight_decay_factor", 1, 0, value::largest, value::any, value::changes, value::on_training},
    {"bias_learning_rate_factor", 1, 0, value::largest, value::any, value::changes, value::on_training},
    {"bias_weight_decay_factor", 0, 0, value::largest, value::any, value::changes, value::on_training},
    {"delay_learning_rate_factor", 1, 0, value::largest, value::any, value::changes, value::on_training},
    {"delay_weight_decay_factor", 0, 0, value::largest, value::any, value::changes, value::on_training},
};

struct DelayedSettings final : SettingsOf<DelayedSettings> {
  DelayedSettings(int64_t outputs, int64_t delay) : n_outputs(outputs), max_delay(delay) {}
  int64_t n_outputs, max_delay;
};

synfire_delayed_desc delayed_desc(const StageView& view) {
  const Stage& stage = view.stage();
  synfire_delayed_desc desc = SYNFIRE_DELAYED_DESC_INIT;
  desc.dtype = view.rules().dtype;
  desc.n_inputs = view.flow().n_features();
  desc.n_outputs = stage.as<DelayedSettings>().n_outputs;
  desc.max_delay = static_cast<int32_t>(stage.as<DelayedSettings>().max_delay);
  desc.delays_of = stage.whole("delays_of");
  desc.learn_delays = stage.whole("learn_delays");
  desc.width = stage.value(width_name);
  desc.bias = stage.whole("bias");
  desc.frozen = stage.is_built_frozen() ? 1 : 0;
  desc.gradient_bits = stage.whole("gradient_bits");
  desc.initialization = stage.whole("initialization");
  desc.gain = stage.value("gain");
  desc.seed = stage.seed;
  desc.weight_bits = stage.whole("weight_bits");
  return desc;
}

// The longest delay that any stage may have; the owners of the delays may allow less.
constexpr int64_t longest_of_any = operations::longest_delay(operations::DelaysOf::inputs);

void check_longest(const Stage& stage, int64_t most, const char* why) {
  const int64_t max_delay = stage.as<DelayedSettings>().max_delay;
  if (max_delay < 1 || max_delay > most)
    fail_argument("SYN-NETWORK-VALUE", "max_delay of stage \"%s\" is %lld; 1 to %lld are allowed%s", stage.name.c_str(),
                  static_cast<long long>(max_delay), static_cast<long long>(most), why);
}

operations::DelayedSpec spec_of_delays(const StageView& view) {
  return operations::DelayedSpec(delayed_desc(view));
}

class DelayedParts final : public SynapseParts {
 public:
  using SynapseParts::SynapseParts;

  // Other values leave a width alone that was written to the synapse.
  bool take_value(const char* name, double) override {
    if (width_name == name)
      write_width();
    else
      SynapseParts::take_values();
    return true;
  }
  void take_values() override {
    write_width();
    SynapseParts::take_values();
  }

 private:
  void write_width() const {
    const operations::DelayedSpec spec = spec_of_delays(stage());
    if (!spec.learns) return;
    const auto write = [&](auto width) { synapse().write("width", &width, sizeof width); };
    if (spec.dtype() == SYNFIRE_DTYPE_F64)
      write(spec.width);
    else
      write(static_cast<float>(spec.width));
  }
};

class DelayedKind final : public StageKind {
 public:
  constexpr DelayedKind()
      : StageKind({.name = "delayed",
                   .noun = "a synapse with delays",
                   .choices = delayed_choices,
                   .values = delayed_values,
                   .reads = signal::input | signal::spikes | signal::combined,
                   .makes = signal::product,
                   .awaits = Awaits::shaped,
                   .takes_steps = true,
                   .reads_before = true,
                   .draws_for = purpose::weights,
                   .is_new = true}) {}

  std::unique_ptr<StageSettings> settings(const Design&, Choices choices) const override {
    return std::make_unique<DelayedSettings>(choices[0], choices[1]);
  }
  void begin(const NetworkRules& rules, Stage& stage) const override {
    const auto& settings = stage.as<DelayedSettings>();
    check_size(rules, settings.n_outputs, "n_outputs");
    check_longest(stage, longest_of_any, "");
  }
  Flow shape(const StageView& view) const override {
    Flow flow = {view.flow().n_steps, view.rules().batch};
    flow.channels = view->as<DelayedSettings>().n_outputs;
    return flow;
  }
  void check(const StageView& view) const override {
    if (view.flow().elements != Elements::spikes)
      fail_argument("SYN-NETWORK-SHAPE", "stage \"%s\" reads stage \"%s\", which gives %s; delays are of spikes",
                    view->name.c_str(), view.input()->name.c_str(),
                    view.flow().elements == Elements::counts ? "counts" : "values");
    if (view.flow().n_steps != view.rules().n_steps)
      fail_argument("SYN-NETWORK-SHAPE", "stage \"%s\" reads stage \"%s\", which has one step; delays need all steps",
                    view->name.c_str(), view.input()->name.c_str());
    if (view->whole("delays_of") == SYNFIRE_DELAYS_OF_CONNECTIONS)
      check_longest(view.stage(), operations::longest_delay(operations::DelaysOf::connections),
                    " with delays of connections; those of inputs and of outputs may be longer (\"delays_of\")");
    NetworkRules longer = view.rules();
    longer.n_steps += view->as<DelayedSettings>().max_delay;
    check_size(longer, std::max(view.flow().n_features(), view->width()), "the width of a synapse with delays");
    in_stage(view.stage(), [&] { spec_of_delays(view); });
  }
  bool has_weights(const StageView&) const override { return true; }
  bool learns(const StageView& view) const override { return !view->is_built_frozen(); }

  std::string describe(const StageView& view) const override {
    std::string text = view->flag("frozen") ? "frozen, delays to " : "delays to ";
    text.append(std::to_string(view->as<DelayedSettings>().max_delay));
    const int32_t of = view->whole("delays_of");
    if (of != SYNFIRE_DELAYS_OF_CONNECTIONS) text.append(" of ").append(owners_of_delays[of]);
    return text.append(view->flag("learn_delays") ? ", learnt" : "");
  }
  int64_t n_learnt(const StageView& view) const override {
    const int64_t n_weights = view->width() * view.flow().n_features();
    return (view->flag("learn_delays") ? 2 : 1) * n_weights + (view->flag("bias") ? view->width() : 0);
  }

  void write(const StageView& view, StageKeyValues& words) const override {
    words.before_seed.add_whole("max_delay", static_cast<uint64_t>(view->as<DelayedSettings>().max_delay));
  }
  void read(Stage& stage, KeyValueReader& words, const Context&) const override {
    stage.settings = std::make_unique<DelayedSettings>(
        stage.width(), static_cast<int64_t>(words.take_whole("max_delay", longest_of_any)));
  }
  // Limits a width to the weights of the file.
  void read_tensors(Design& design, size_t index, const Stage&, const files::SafetensorsFile& file) const override {
    const StageView view = design.view(index);
    const int64_t shape[] = {view->width(), view.flow().n_features()};
    file.bytes(view->name + ".weights", file_type_of(design.rules().dtype), shape);
  }
  void compare_choice(const Stage& here, const Stage& there) const override {
    compare_whole(here, "max_delay", here.as<DelayedSettings>().max_delay, there.as<DelayedSettings>().max_delay);
  }

  std::unique_ptr<StageParts> make(StageMaker& maker) const override {
    return std::make_unique<DelayedParts>(maker, [&]() -> Ref<Synapse> {
      const synfire_delayed_desc desc = delayed_desc(maker.stage());
      return Ref<Synapse>::adopt(
          maker.is_planned() ? new operations::DelayedSynapse(maker.context(), operations::DelayedSpec(desc), nullptr)
                             : operations::make_delayed(maker.context(), desc));
    });
  }
};

constexpr DelayedKind the_delayed;

}  // namespace

const StageKind& delayed_kind = the_delayed;

}  // namespace synfire::network

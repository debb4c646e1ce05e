// A population code, whose activities are read as the product of a synapse.
#include "combined.hpp"
#include "stage_kinds.hpp"
#include "synapse_parts.hpp"

#include <network/stage_key_values.hpp>

#include <synapses/population/population.hpp>

namespace synfire::network {

using namespace synfire::core;

namespace {

constexpr ChoiceSpec population_choices[] = {{"n_cells", nullptr, true, "weights_of"},
                                             {"weights_of", nullptr, false, nullptr, true}};

constexpr ValueSpec population_values[] = {
    {"lower", -3, -value::largest, value::largest, value::any, value::fixed, value::on_none},
    {"upper", 3, -value::largest, value::largest, value::any, value::fixed, value::on_none},
    {"sigma", 0, 0, value::largest, value::any, value::fixed, value::on_none},
    {"frozen", 0, 0, 1, value::whole, value::changes, value::on_training},
    {"learning_rate_factor", 1, 0, value::largest, value::any, value::changes, value::on_training},
    {"weight_decay_factor", 0, 0, value::largest, value::any, value::changes, value::on_training},
    {"sigma_learning_rate_factor", 1, 0, value::largest, value::any, value::changes, value::on_training},
    {"sigma_weight_decay_factor", 0, 0, value::largest, value::any, value::changes, value::on_training},
};

struct PopulationSettings final : SettingsOf<PopulationSettings> {
  PopulationSettings(int64_t cells, std::string owner) : n_cells(cells), weights_of(std::move(owner)) {}
  int64_t n_cells;         // of each input; of a stage with weights
  std::string weights_of;  // the stage whose mu and sigma it uses, or empty
};

// The code of a stage on its own map, with the cells of the owner of the weights.
operations::PopulationSpec spec_of(const StageView& view, const Stage& owner) {
  const Flow input = view.flow();
  synfire_population_desc desc = SYNFIRE_POPULATION_DESC_INIT;
  desc.dtype = view.rules().dtype;
  desc.channels = input.channels;
  desc.n_cells = owner.as<PopulationSettings>().n_cells;
  desc.height = input.height;
  desc.width = input.width;
  desc.lower = owner.value("lower");
  desc.upper = owner.value("upper");
  desc.sigma = owner.value("sigma");
  desc.frozen = owner.is_built_frozen() ? 1 : 0;
  return operations::PopulationSpec(desc);
}

class PopulationKind final : public StageKind {
 public:
  constexpr PopulationKind()
      : StageKind({.name = "population",
                   .noun = "a population code",
                   .choices = population_choices,
                   .values = population_values,
                   .reads = combinable,
                   .makes = signal::product,
                   .is_new = true}) {}

  std::unique_ptr<StageSettings> settings(const Design& design, Choices choices) const override {
    std::string owner = choices[1] == 0 ? "" : design.stages()[static_cast<size_t>(choices[1] - 1)].name;
    if (!owner.empty() && choices[0] != 0)
      fail_argument("SYN-NETWORK-VALUE",
                    "n_cells is %lld; the stage uses the cells of stage \"%s\", and can have none of its own",
                    static_cast<long long>(choices[0]), owner.c_str());
    return std::make_unique<PopulationSettings>(choices[0], std::move(owner));
  }
  Flow shape(const StageView& view) const override {
    const StageView owner = checked_owner(view, view->as<PopulationSettings>().weights_of);
    Flow flow = {view.flow().n_steps, view.rules().batch};
    in_stage(view.stage(), [&] {
      const Flow output = spec_of(view, owner.stage()).shape.output;
      flow.height = output.height;
      flow.width = output.width;
      flow.channels = output.channels;
    });
    check_size(view.rules(), flow.n_features(), "the number of outputs");
    return flow;
  }
  void check(const StageView& view) const override {
    if (!(view->value("lower") < view->value("upper")))
      fail_argument("SYN-NETWORK-VALUE",
                    "\"lower\" and \"upper\" of stage \"%s\" are %g and %g; the first one must be "
                    "below the second",
                    view->name.c_str(), view->value("lower"), view->value("upper"));
    const StageView owner = checked_owner(view, view->as<PopulationSettings>().weights_of);
    in_stage(view.stage(), [&] { spec_of(view, owner.stage()); });
    if (owner.index() != view.index()) check_shared_weights(view, owner, view->output);
  }
  bool reads_numbers(const StageView&) const override { return true; }
  bool has_weights(const StageView& view) const override { return !weights_of(view); }
  bool learns(const StageView& view) const override { return !owner_of(view)->is_built_frozen(); }
  std::optional<size_t> weights_of(const StageView& view) const override {
    return weights_of_stage(view, view->as<PopulationSettings>().weights_of);
  }

  std::string describe(const StageView& view) const override {
    const auto& settings = view->as<PopulationSettings>();
    if (!settings.weights_of.empty()) return "weights of " + settings.weights_of;
    return std::to_string(settings.n_cells)
        .append(settings.n_cells == 1 ? " cell each" : " cells each")
        .append(view->flag("frozen") ? ", frozen" : "");
  }
  int64_t n_learnt(const StageView& view) const override {
    return weights_of(view) ? 0 : 2 * view->output.n_features();
  }

  void write(const StageView& view, StageKeyValues& words) const override {
    const auto& settings = view->as<PopulationSettings>();
    if (!settings.weights_of.empty()) return words.before_seed.add("weights_of", settings.weights_of);
    words.before_seed.add_whole("n_cells", static_cast<uint64_t>(settings.n_cells));
  }
  void read(Stage& stage, KeyValueReader& words, const Context&) const override {
    std::string owner = words.take("weights_of", "");
    const int64_t n_cells = owner.empty() ? static_cast<int64_t>(words.take_whole("n_cells", INT64_MAX)) : 0;
    stage.settings = std::make_unique<PopulationSettings>(n_cells, std::move(owner));
  }
  void compare_choice(const Stage& here, const Stage& there) const override {
    const auto &one = here.as<PopulationSettings>(), &other = there.as<PopulationSettings>();
    compare_whole(here, "n_cells", one.n_cells, other.n_cells);
    if (one.weights_of != other.weights_of)
      fail_other(here, "weights_of", one.weights_of.empty() ? "none" : one.weights_of,
                 other.weights_of.empty() ? "none" : other.weights_of);
  }

  std::unique_ptr<StageParts> make(StageMaker& maker) const override {
    return std::make_unique<SynapseParts>(maker, [&]() -> Ref<Synapse> {
      const StageView view = maker.stage();
      return Ref<Synapse>::adopt(new operations::PopulationSynapse(maker.context(), spec_of(view, view.stage())));
    });
  }
};

constexpr PopulationKind the_population;

}  // namespace

const StageKind& population_kind = the_population;

}  // namespace synfire::network

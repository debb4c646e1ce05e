// An optimizer: the step that ends each batch of training, over all that the network's stages train.
#include "stage_kinds.hpp"

#include <network/constant_names.hpp>
#include <network/stage_key_values.hpp>
#include <network/stage_recorder.hpp>
#include <network/state_arrays.hpp>

#include <optimizer/optimizer.hpp>

#include <cstdio>

namespace synfire::network {

using namespace synfire::core;

namespace {

constexpr const char* optimizer_kind_list[] = {"sgd", "adam", "adamw"};
constexpr ConstantNames optimizer_kinds{optimizer_kind_list};
constexpr const char* schedule_list[] = {"constant", "cosine", "step"};
constexpr ConstantNames schedules{schedule_list};

constexpr ChoiceSpec optimizer_choices[] = {{"kind", &optimizer_kinds}};

constexpr ValueSpec optimizer_values[] = {
    {"learning_rate", 1e-3, 0, value::largest, value::any, value::changes},
    {"weight_decay", 0, 0, value::largest, value::any, value::changes},
    {"clip_norm", 0, 0, value::largest, value::any, value::changes},
    {"momentum", 0, 0, value::largest, value::any, value::fixed},
    {"nesterov", 0, 0, 1, value::whole, value::fixed},
    {"beta1", 0.9, value::above_0, value::below_one, value::any, value::fixed},
    {"beta2", 0.999, value::above_0, value::below_one, value::any, value::fixed},
    {"epsilon", 1e-8, value::above_0, value::largest, value::any, value::fixed},
    {"batches_per_step", 1, 1, 0x1p20, value::whole, value::fixed, value::on_results, value::if_changed},
    {"schedule", 0, 0, SYNFIRE_SCHEDULE_STEP, value::whole, value::changes, value::on_results, value::if_changed,
     &schedules},
    {"warmup_steps", 0, 0, value::most_whole, value::whole, value::changes, value::on_results, value::if_changed},
    {"schedule_steps", 0, 0, value::most_whole, value::whole, value::changes, value::on_results, value::if_changed},
    {"schedule_factor", 0, 0, 1, value::any, value::changes, value::on_results, value::if_changed},
};

// The values of a step, which graphs note.
constexpr const char* step_values[] = {"learning_rate", "weight_decay",   "clip_norm",      "schedule",
                                       "warmup_steps",  "schedule_steps", "schedule_factor"};

struct OptimizerSettings final : SettingsOf<OptimizerSettings> {
  explicit OptimizerSettings(int32_t its_kind) : kind(its_kind) {}
  int32_t kind;  // SYNFIRE_OPTIMIZER_KIND_*
};

int32_t kind_of_optimizer(const Stage& stage) {
  return stage.as<OptimizerSettings>().kind;
}

synfire_optimizer_desc optimizer_desc(const Stage& stage) {
  synfire_optimizer_desc desc = SYNFIRE_OPTIMIZER_DESC_INIT;
  desc.kind = kind_of_optimizer(stage);
  desc.nesterov = stage.whole("nesterov");
  desc.learning_rate = stage.value("learning_rate");
  desc.weight_decay = stage.value("weight_decay");
  desc.momentum = stage.value("momentum");
  desc.beta1 = stage.value("beta1");
  desc.beta2 = stage.value("beta2");
  desc.epsilon = stage.value("epsilon");
  desc.clip_norm = stage.value("clip_norm");
  desc.batches_per_step = static_cast<uint32_t>(stage.value("batches_per_step"));
  return desc;
}

void check_schedule(const Stage& stage) {
  if (!stage.flag("schedule") || stage.flag("schedule_steps")) return;
  fail_argument("SYN-NETWORK-SCHEDULE",
                "the schedule of stage \"%s\" is %s, but \"schedule_steps\" is 0; it needs at least 1",
                stage.name.c_str(), schedule_list[stage.whole("schedule")]);
}

class OptimizerParts final : public StageParts {
 public:
  explicit OptimizerParts(StageMaker& maker) : StageParts(maker.stage()) {
    maker.count_as(&PartBytes::optimizer, [&] {
      optimizer_ = Ref<operations::Optimizer>::adopt(
          new operations::Optimizer(maker.context(), operations::OptimizerSpec(optimizer_desc(own()))));
    });
    maker.parts().optimizer = optimizer_;
  }
  void finish(StageMaker& maker) override {
    check_schedule(own());
    Trainer trainer(*optimizer_);
    maker.count_as(&PartBytes::optimizer, [&] {
      for (const std::unique_ptr<StageParts>& one : maker.parts().stages) one->train(trainer);
      if (optimizer_->members().empty())
        fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-INCOMPLETE",
             "stage \"%s\" has nothing to train: all synapses are frozen, and no parameter of neurons is trained",
             own().name.c_str());
      optimizer_->seal();
    });
    members_ = trainer.take_members();
  }

  Object* object() const noexcept override { return optimizer_.get(); }

  void forward(StageRecorder&) override {}
  void step(StageRecorder& recorder) override {
    operations::record_optimizer_step(recorder.graph(), *optimizer_, {0, 0, 0});
    for (const char* const name : step_values) {
      recorder.note(name, name);
      // 0 is a value here, but in a request it means the optimiser's own value.
      recorder.graph().set_value(recorder.graph().last_operation(), name, own().value(name));
    }
  }

  void check_batches(uint64_t n_batches) const override {
    if (own().whole("schedule") != SYNFIRE_SCHEDULE_COSINE) return;
    uint64_t taken = 0, accumulated = 0;
    optimizer_->read(itself, "step_count", &taken, sizeof taken);
    optimizer_->read(itself, "accumulated_batches", &accumulated, sizeof accumulated);
    const uint64_t steps = (accumulated + n_batches) / optimizer_->spec().rates.batches_per_step;
    const double end = own().value("warmup_steps") + own().value("schedule_steps");
    if (static_cast<double>(taken) + static_cast<double>(steps) <= end) return;
    fail_argument(
        "SYN-NETWORK-SCHEDULE",
        "the schedule of stage \"%s\" ends after %.0f steps; %llu were taken, and %llu batches more would take "
        "%llu. More \"schedule_steps\", or the schedule SYNFIRE_SCHEDULE_CONSTANT, allow that",
        own().name.c_str(), end, static_cast<unsigned long long>(taken), static_cast<unsigned long long>(n_batches),
        static_cast<unsigned long long>(steps));
  }

  void list_saved(StateArrays& list) const override {
    using Numbers = StateArray::Numbers;
    const std::string& name = own().name;
    add_saved(list, itself, "step_count", name, files::Dtype::u64, {}, Numbers::any);
    add_saved(list, itself, "skipped", name, files::Dtype::u64, {}, Numbers::any);
    add_saved(list, itself, "beta1_power", name, files::Dtype::f64, {}, Numbers::from_0_to_1);
    add_saved(list, itself, "beta2_power", name, files::Dtype::f64, {}, Numbers::from_0_to_1);
    const uint64_t most_batches = optimizer_->spec().rates.batches_per_step - 1;
    if (most_batches > 0) {
      add_saved(list, itself, "accumulated_batches", name, files::Dtype::u64, {}, Numbers::any);
      list.arrays.back().most = most_batches;
    }
    const int n_moments = optimizer_->spec().n_moments();
    for (size_t i = 0; i < members_.size(); ++i) {
      const auto add_moment = [&](const char* known_as, Numbers numbers) {
        add_saved(list, static_cast<int32_t>(i), known_as, name + "." + members_[i].name,
                  file_type_of(optimizer_->members()[i].dtype), members_[i].shape(), numbers);
      };
      if (n_moments == 1) add_moment("momentum", Numbers::finite);
      if (n_moments == 2) {
        add_moment("moment1", Numbers::finite);
        add_moment("moment2", Numbers::from_0);
      }
      if (most_batches > 0) add_moment("accumulated", Numbers::any);
    }
  }

 private:
  static constexpr int32_t itself = -1;

  const Stage& own() const noexcept { return stage().stage(); }

  void add_saved(StateArrays& list, int32_t member, const char* known_as, const std::string& prefix, files::Dtype dtype,
                 std::vector<int64_t>&& shape, StateArray::Numbers numbers) const {
    StateArray array = {prefix + "." + known_as, dtype, std::move(shape), numbers};
    const uint64_t bytes = array.bytes();
    operations::Optimizer& optimizer = *optimizer_;
    array.read = [&optimizer, member, known_as, bytes](void* values) {
      optimizer.read(member, known_as, values, bytes);
    };
    array.write = [&optimizer, member, known_as, bytes](const void* values) {
      optimizer.write(member, known_as, values, bytes);
    };
    list.arrays.push_back(std::move(array));
  }

  Ref<operations::Optimizer> optimizer_;
  std::vector<Trainer::Member> members_;
};

class OptimizerKind final : public StageKind {
 public:
  constexpr OptimizerKind()
      : StageKind({.name = "optimizer",
                   .noun = "an optimizer",
                   .choices = optimizer_choices,
                   .values = optimizer_values,
                   .reads = signal::objective,
                   .most_inputs = most_stages,
                   .reads_all = true,
                   .can_end = true,
                   .of_training = true,
                   .role = Role::trains}) {}

  std::unique_ptr<StageSettings> settings(const Design&, Choices choices) const override {
    return std::make_unique<OptimizerSettings>(static_cast<int32_t>(choices[0]));
  }
  void begin(const NetworkRules&, Stage& stage) const override {
    check_choice(kind_of_optimizer(stage), "kind", SYNFIRE_OPTIMIZER_KIND_ADAMW,
                 "SYNFIRE_OPTIMIZER_KIND_SGD (0), _ADAM (1) and _ADAMW (2)");
    if (kind_of_optimizer(stage) == SYNFIRE_OPTIMIZER_KIND_ADAMW) stage.at(*stage.find_spec("weight_decay")) = 1e-2;
  }
  // With a loss of the program's own, a network may have readouts alone.
  uint32_t reads(const NetworkRules& rules) const override {
    return rules.own_loss == OwnLoss::none ? traits.reads : traits.reads | signal::readout;
  }
  Flow shape(const StageView&) const override { return {}; }
  // Until the network is built, values of the schedule may be set one after the other.
  void check(const StageView& view) const override {
    in_stage(view.stage(), [&] { operations::OptimizerSpec{optimizer_desc(view.stage())}; });
    if (view->is_built) check_schedule(view.stage());
  }
  void check_copy(const StageView& view) const override {
    check(view);
    check_schedule(view.stage());
  }

  std::string describe(const StageView& view) const override {
    const Stage& stage = view.stage();
    char text[128];
    std::snprintf(text, sizeof text, "%s, rate %g%s%s", optimizer_kind_list[kind_of_optimizer(stage)],
                  stage.value("learning_rate"), stage.flag("schedule") ? ", " : "",
                  stage.flag("schedule") ? schedule_list[stage.whole("schedule")] : "");
    return text;
  }

  void write(const StageView& view, StageKeyValues& words) const override {
    write_choice(words, kind_of_optimizer(view.stage()));
  }
  void read(Stage& stage, KeyValueReader& words, const Context&) const override {
    stage.settings = std::make_unique<OptimizerSettings>(take_choice(words));
  }
  void compare_choice(const Stage& here, const Stage& there) const override {
    compare_whole(here, "the kind", kind_of_optimizer(here), kind_of_optimizer(there));
  }

  std::unique_ptr<StageParts> make(StageMaker& maker) const override { return std::make_unique<OptimizerParts>(maker); }
};

constexpr OptimizerKind the_optimizer;

}  // namespace

const StageKind& optimizer_kind = the_optimizer;

size_t add_optimizer(Design& design, const char* name, int32_t kind, double learning_rate, const Reads& reads) {
  const InitialValue values[] = {{"learning_rate", learning_rate}};
  const size_t n_values = learning_rate == 0 ? 0 : 1;
  const int64_t choices[] = {kind};
  return design.add(optimizer_kind, name, choices, reads, std::span(values).first(n_values));
}

}  // namespace synfire::network

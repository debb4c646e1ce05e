// A readout: spikes or V of neurons, reduced over the steps, or as they are at every step.
#include "stage_kinds.hpp"

#include <network/constant_names.hpp>
#include <network/stage_key_values.hpp>
#include <network/stage_recorder.hpp>

#include <operations/reduce/reduce.hpp>

#include <algorithm>
#include <cstdio>

namespace synfire::network {

using namespace synfire::core;

namespace {

constexpr const char* reduction_list[] = {"sum", "mean", "max", "last", "steps"};
constexpr ConstantNames reductions{reduction_list};

constexpr ChoiceSpec readout_choices[] = {{"reduction", &reductions}, {"of_spikes", nullptr, false}};

struct ReadoutSettings final : SettingsOf<ReadoutSettings> {
  ReadoutSettings(int32_t its_reduction, bool reads_spikes) : reduction(its_reduction), of_spikes(reads_spikes) {}
  int32_t reduction;  // SYNFIRE_READOUT_*
  bool of_spikes;     // not of V
};

bool is_of_steps(const Stage& stage) {
  return stage.as<ReadoutSettings>().reduction == SYNFIRE_READOUT_STEPS;
}

class ReadoutParts final : public StageParts {
 public:
  explicit ReadoutParts(StageMaker& maker) : StageParts(maker.stage()) {
    const StageView& view = maker.stage();
    if (is_of_steps(view.stage())) return;
    const auto scores = [&] {
      return maker.parts().make(maker.number(), {view.rules().batch, view->width()}, maker.parts().passed_on());
    };
    if (view.is_read()) readout_ = scores();
    if (maker.gradient().has_backward) grad_readout_ = scores();
  }

  Buffer* array(Port) const noexcept override { return readout_.get(); }
  Buffer* gradient(Port) const noexcept override { return grad_readout_.get(); }

  void forward(StageRecorder& recorder) override {
    Buffer* const destination = recorder.written();
    if (!destination) return;  // nothing reads it in this graph
    recorder.append([&] {
      return operations::reduce({reduction(), operations::Axis::steps, recorder.extents(stage().flow()),
                                 recorder.read().array, destination, lengths(recorder), recorder.n_active()});
    });
  }
  void backward(StageRecorder& recorder) override {
    if (!grad_readout_) return;  // that of what it reads is the readout's
    const StageRecorder::Gradient before = recorder.gradient();
    recorder.append([&] {
      return operations::reduce_backward({reduction(), operations::Axis::steps, recorder.extents(stage().flow()),
                                          recorder.output_gradient(),
                                          reduction() == operations::Reduction::max ? recorder.read().array : nullptr,
                                          lengths(recorder), recorder.n_active(), before.array, before.add});
    });
  }

 private:
  // One step before all of the network's has no length.
  Buffer* lengths(const StageRecorder& recorder) const noexcept {
    return stage().flow().n_steps == recorder.rules().n_steps ? recorder.lengths() : nullptr;
  }
  operations::Reduction reduction() const {
    return static_cast<operations::Reduction>(stage()->as<ReadoutSettings>().reduction);
  }

  Ref<Buffer> readout_, grad_readout_;  // [B, C]
};

class ReadoutKind final : public StageKind {
 public:
  constexpr ReadoutKind()
      : StageKind({.name = "readout",
                   .noun = "a readout",
                   .choices = readout_choices,
                   .reads = signal::spikes | signal::v | signal::combined,
                   .makes = signal::readout,
                   .can_end = true}) {}

  std::unique_ptr<StageSettings> settings(const Design&, Choices choices) const override {
    return std::make_unique<ReadoutSettings>(static_cast<int32_t>(choices[0]), choices[1] != 0);
  }
  Port port(Choices choices, std::optional<Port> named, const Stage& from) const override {
    check_flag(static_cast<int32_t>(std::clamp<int64_t>(choices[1], -1, INT32_MAX)), "SYN-NETWORK-FLAG", "of_spikes");
    if (named && *named == Port::v && choices[1] != 0)
      fail_argument("SYN-NETWORK-READOUT", "of_spikes is 1, and the readout reads V");
    if (choices[1] != 0 && from.makes == signal::v) fail_silent(from);
    return named.value_or(port_of(choices[1] != 0 || (from.makes & signal::v) == 0));
  }
  void begin(const NetworkRules&, Stage& stage) const override {
    // A port that is named decides.
    for (const Edge& input : stage.inputs) stage.as<ReadoutSettings>().of_spikes = input.port == Port::output;
    check_choice(stage.as<ReadoutSettings>().reduction, "reduction", SYNFIRE_READOUT_STEPS,
                 "SYNFIRE_READOUT_SUM (0), _MEAN (1), _MAX (2), _LAST (3) and _STEPS (4)");
  }
  Flow shape(const StageView& view) const override {
    Flow flow = view.flow();
    flow.elements = Elements::values;
    flow.bound = 1;
    flow.count_scale = 1;
    if (!is_of_steps(view.stage())) flow.n_steps = 1;
    return flow;
  }
  void check(const StageView& view) const override {
    const Stage& before = view.input().stage();
    if (view->as<ReadoutSettings>().of_spikes && before.makes == signal::v) fail_silent(before);
  }
  bool hands_on(const Stage& stage) const override { return is_of_steps(stage); }
  bool reads_numbers(const StageView& view) const override { return is_of_steps(view.stage()); }
  std::optional<StageOutput> output(const StageView& view) const override {
    return StageOutput{Port::output, {view.rules().dtype, view->output.n_steps, view->width()}};
  }

  std::string describe(const StageView& view) const override {
    const Stage& stage = view.stage();
    constexpr const char* names[] = {"sum", "mean", "maximum", "last", "every step"};
    const auto& settings = stage.as<ReadoutSettings>();
    std::string name = names[settings.reduction];
    if (view.input()->makes == signal::combined) return name;
    return name + (settings.of_spikes ? " of spikes" : " of v");
  }
  std::string shape_text(const StageView& view) const override {
    if (is_of_steps(view.stage())) return StageKind::shape_text(view);
    char text[64];
    std::snprintf(text, sizeof text, "[%lld, %lld]", static_cast<long long>(view.rules().batch),
                  static_cast<long long>(view->width()));
    return text;
  }

  void write(const StageView& view, StageKeyValues& words) const override {
    const auto& settings = view->as<ReadoutSettings>();
    write_choice(words, settings.reduction);
    words.before_seed.add_whole("of_spikes", settings.of_spikes ? 1 : 0);
  }
  void read(Stage& stage, KeyValueReader& words, const Context&) const override {
    const int32_t reduction = take_choice(words);
    const bool of_spikes = words.take_whole("of_spikes", 1) == 1;
    stage.settings = std::make_unique<ReadoutSettings>(reduction, of_spikes);
    for (Edge& input : stage.inputs) input.port = port_of(of_spikes);
  }
  void compare_choice(const Stage& here, const Stage& there) const override {
    const auto &one = here.as<ReadoutSettings>(), &other = there.as<ReadoutSettings>();
    compare_whole(here, "the reduction", one.reduction, other.reduction);
    compare_whole(here, "of_spikes", one.of_spikes ? 1 : 0, other.of_spikes ? 1 : 0);
  }

  std::unique_ptr<StageParts> make(StageMaker& maker) const override { return std::make_unique<ReadoutParts>(maker); }

  [[noreturn]] static void fail_silent(const Stage& neurons) {
    fail_argument("SYN-NETWORK-READOUT", "of_spikes is 1; the neurons of stage \"%s\" never fire",
                  neurons.name.c_str());
  }
  static Port port_of(bool of_spikes) noexcept { return of_spikes ? Port::output : Port::v; }
};

constexpr ReadoutKind the_readout;

}  // namespace

const StageKind& readout_kind = the_readout;

size_t add_readout(Design& design, const char* name, int32_t reduction, bool of_spikes, const Reads& reads) {
  const int64_t choices[] = {reduction, of_spikes ? 1 : 0};
  return design.add(readout_kind, name, choices, reads);
}

}  // namespace synfire::network

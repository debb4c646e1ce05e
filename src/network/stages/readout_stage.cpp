// A readout: spikes or V of neurons, reduced over the steps, or as they are at every step.
#include "stage_kinds.hpp"

#include <network/constant_names.hpp>
#include <network/kept_arrays.hpp>
#include <network/stage_key_values.hpp>
#include <network/stage_recorder.hpp>
#include <network/state_arrays.hpp>

#include <neurons/state/state_rows.hpp>
#include <operations/last_steps/last_steps.hpp>
#include <operations/reduce/reduce.hpp>
#include <operations/running_reduce/running_reduce.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <vector>

namespace synfire::network {

using namespace synfire::core;

namespace {

constexpr const char* reduction_list[] = {"sum", "mean", "max", "last", "steps"};
constexpr ConstantNames reductions{reduction_list};

constexpr ChoiceSpec readout_choices[] = {{"reduction", &reductions}, {"of_spikes", nullptr, false}};

// Where a file and a network differ in it, the program chooses.
constexpr ValueSpec readout_values[] = {
    {"continues", 0, 0, 1, value::whole, value::fixed, value::on_none, value::if_changed},
};

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
    const int64_t batch = view.rules().batch, width = view->width();
    const auto scores = [&](std::string_view name) {
      const int32_t memory = maker.keeps(name) ? SYNFIRE_MEMORY_DEVICE : maker.parts().passed_on();
      return maker.parts().make(maker.number(), {batch, width}, memory);
    };
    if (view.is_read() || maker.keeps(kept_arrays::output)) readout_ = scores(kept_arrays::output);
    if (maker.gradient().has_backward) grad_readout_ = scores(kept_arrays::grad_output);
    if (!view->flag("continues")) return;
    totals_ = maker.parts().make(SYNFIRE_DTYPE_F64, {1, batch, width});
    n_steps_ = maker.parts().make(SYNFIRE_DTYPE_U64, {1, batch, width});
  }

  Buffer* array(Port) const noexcept override { return readout_.get(); }
  Buffer* gradient(Port) const noexcept override { return grad_readout_.get(); }

  void add_reset(OperationList& list, const operations::RowRange& rows) const override {
    if (!totals_) return;
    for (const Buffer* const state : {totals_.get(), n_steps_.get()}) {
      OperationList clear = operations::clear_last_steps(*state, rows.first_row, rows.n_rows);
      std::move(clear.begin(), clear.end(), std::back_inserter(list));
    }
  }

  void forward(StageRecorder& recorder) override {
    Buffer* const destination = recorder.written();
    if (!destination) return;  // nothing reads it in this graph
    if (totals_ && recorder.kind() == GraphKind::inference)
      return recorder.append([&] {
        return operations::running_reduce({reduction(), recorder.extents(stage().flow()), recorder.read().array,
                                           totals_.get(), n_steps_.get(), destination});
      });
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

  void list_state(std::vector<CarriedState>& list) const override {
    if (!totals_) return;
    for (const Buffer* const state : {totals_.get(), n_steps_.get()})
      list.push_back({state->view(), state->dtype(), stage().rules().batch, stage()->width()});
  }
  void list_saved(StateArrays& list) const override {
    if (!totals_) return;
    Buffer &totals = *totals_, &n_steps = *n_steps_;
    const int64_t batch = stage().rules().batch, width = stage()->width();
    StateArray array = {stage()->name + ".state.total", files::Dtype::f64, {batch, width}, StateArray::Numbers::any};
    array.of_rows = array.may_lack = true;
    array.read = [&totals](void* values) { totals.download(0, values, totals.view().bytes); };
    array.write = [&totals](const void* values) { totals.upload(0, values, totals.view().bytes); };
    list.arrays.push_back(std::move(array));
    // One number of a row in a file stands for those of its elements.
    array = {stage()->name + ".state.n_steps", files::Dtype::u64, {batch}, StateArray::Numbers::any};
    array.of_rows = array.may_lack = true;
    array.read = [&n_steps, batch, width](void* values) {
      std::vector<uint64_t> all(static_cast<size_t>(batch * width));
      n_steps.download(0, all.data(), n_steps.view().bytes);
      for (int64_t b = 0; b < batch; ++b)
        std::memcpy(static_cast<uint64_t*>(values) + b, &all[static_cast<size_t>(b * width)], sizeof(uint64_t));
    };
    array.write = [&n_steps, batch, width](const void* values) {
      std::vector<uint64_t> all(static_cast<size_t>(batch * width));
      for (int64_t i = 0; i < batch * width; ++i)
        std::memcpy(&all[static_cast<size_t>(i)], static_cast<const uint64_t*>(values) + i / width, sizeof(uint64_t));
      n_steps.upload(0, all.data(), n_steps.view().bytes);
    };
    list.arrays.push_back(std::move(array));
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
  Ref<Buffer> totals_, n_steps_;        // [1, B, C], of all replays since a reset; null: it does not continue
};

class ReadoutKind final : public StageKind {
 public:
  constexpr ReadoutKind()
      : StageKind({.name = "readout",
                   .noun = "a readout",
                   .choices = readout_choices,
                   .values = readout_values,
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
    const int32_t reduction = view->as<ReadoutSettings>().reduction;
    if (view->flag("continues") && !can_continue(reduction))
      fail_argument(
          "SYN-NETWORK-VALUE",
          "\"continues\" of stage \"%s\" is 1; only a sum, a mean or a maximum continues, and the readout is of "
          "%s",
          view->name.c_str(), reduction == SYNFIRE_READOUT_LAST ? "the last step" : "every step");
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
    if (view.input()->makes != signal::combined) name.append(settings.of_spikes ? " of spikes" : " of v");
    return name.append(stage.flag("continues") ? ", continues" : "");
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
  static bool can_continue(int32_t reduction) noexcept {
    return reduction == SYNFIRE_READOUT_SUM || reduction == SYNFIRE_READOUT_MEAN || reduction == SYNFIRE_READOUT_MAX;
  }
  static Port port_of(bool of_spikes) noexcept { return of_spikes ? Port::output : Port::v; }
};

constexpr ReadoutKind the_readout;

}  // namespace

const StageKind& readout_kind = the_readout;

void continue_readouts(Design& design) {
  for (size_t i = 0; i < design.stages().size(); ++i) {
    const Stage& stage = design.stages()[i];
    if (stage.kind == &readout_kind && ReadoutKind::can_continue(stage.as<ReadoutSettings>().reduction))
      design.set_value(stage.name.c_str(), "continues", 1, false);
  }
}

size_t add_readout(Design& design, const char* name, int32_t reduction, bool of_spikes, const Reads& reads) {
  const int64_t choices[] = {reduction, of_spikes ? 1 : 0};
  return design.add(readout_kind, name, choices, reads);
}

}  // namespace synfire::network

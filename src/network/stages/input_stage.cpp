// The input of a network: rows of spikes or values, or of rates, from which spikes are drawn.
#include "stage_kinds.hpp"

#include <network/constant_names.hpp>
#include <network/data_checks.hpp>
#include <network/stage_key_values.hpp>
#include <network/stage_recorder.hpp>

#include <base/dtype.hpp>
#include <operations/encode/encode_bernoulli.hpp>
#include <operations/replace_nonfinite/replace_nonfinite.hpp>

#include <span>

namespace synfire::network {

using namespace synfire::core;

namespace {

constexpr const char* input_kind_list[] = {"spikes", "values", "rates"};
constexpr ConstantNames input_kinds{input_kind_list};

constexpr ChoiceSpec input_choices[] = {{"kind", &input_kinds}, {"n_features"}};

constexpr ValueSpec input_values[] = {
    {"dtype", 0, 0, SYNFIRE_DTYPE_U64, value::whole, value::fixed, value::on_results, value::always, &names::dtypes},
    {"seed", 0, 0, value::most_whole, value::whole, value::fixed},
    {"per_step", 0, 0, 1, value::whole, value::fixed},
    {"pinned", 0, 0, 1, value::whole, value::fixed, value::on_none},
    {"any_number", 0, 0, 1, value::whole, value::changes, value::on_none, value::if_changed},
    {"replace_nonfinite", 0, 0, 1, value::whole, value::fixed, value::on_none, value::if_changed},
};

struct InputSettings final : SettingsOf<InputSettings> {
  InputSettings(int32_t its_kind, int64_t its_features) : kind(its_kind), n_features(its_features) {}
  int32_t kind;  // SYNFIRE_NETWORK_INPUT_*
  int64_t n_features;
};

int32_t kind_of_input(const Stage& stage) {
  return stage.as<InputSettings>().kind;
}
bool is_of_rates(const Stage& stage) {
  return kind_of_input(stage) == SYNFIRE_NETWORK_INPUT_RATES;
}

RowShape row_of_input(const StageView& view) {
  const bool is_one_step = is_of_rates(view.stage()) && !view->flag("per_step");
  return {view->whole("dtype"), is_one_step ? 1 : view.rules().n_steps, view->width(), !is_one_step};
}

class InputParts final : public StageParts {
 public:
  explicit InputParts(StageMaker& maker) : StageParts(maker.stage()) {
    Parts& parts = maker.parts();
    const Stage& stage = maker.stage().stage();
    if (is_of_rates(stage)) drawn_ = maker.sequence(SYNFIRE_DTYPE_BITS, stage.width());
    const RowShape row = row_of_input(maker.stage());
    const int64_t batch = parts.rules().batch;
    constexpr int32_t pinned = SYNFIRE_MEMORY_PINNED;
    array_ = parts.make_sequence(row.dtype, row.n_steps, batch, row.width, pinned);
    if (stage.flag("replace_nonfinite")) {
      finite_ = parts.make_sequence(row.dtype, row.n_steps, batch, row.width);
      n_replaced_ = maker.one(SYNFIRE_DTYPE_U64, pinned);
      if (parts.design.has(Role::scores)) {
        n_replaced_in_batches_ = maker.one(SYNFIRE_DTYPE_U64);
        parts.n_replaced_in_batches.push_back(n_replaced_in_batches_);
      }
    }
    parts.inputs.push_back({maker.stage().index(), row, array_, n_replaced_});
  }

  void offer(FunctionRef<void(const char*, const Ref<Buffer>&)> each) const override {
    if (n_replaced_) each("n_replaced", n_replaced_);
  }

  void forward(StageRecorder& recorder) override {
    const Stage& input = stage().stage();
    Buffer* array = recorder.infers() ? array_.get() : recorder.data(DataRole::inputs);
    if (input.flag("replace_nonfinite")) array = &replace_nonfinite(recorder, *array);
    if (is_of_rates(input)) {
      operations::record_encode_bernoulli(recorder.graph(), {recorder.extents(input.width()), input.flag("per_step"),
                                                             array, drawn_.get(), recorder.seed(), recorder.offset()});
      recorder.note_draws(static_cast<uint64_t>(recorder.rules().n_steps));
      array = drawn_.get();
    }
    recorder.hand_on(*array);
  }

 private:
  // Replaces numbers that are not finite. A batch is the network's own and changed in place; the program's input stays
  // as it is, and the inference graph reads a copy.
  Buffer& replace_nonfinite(StageRecorder& recorder, Buffer& array) const {
    const bool infers = recorder.infers();
    const RowShape row = row_of_input(stage());
    Buffer& count = infers ? *n_replaced_ : *n_replaced_in_batches_;
    Buffer& destination = infers ? *finite_ : array;
    recorder.append([&] {
      return operations::replace_nonfinite(
          {!infers, row.n_steps, row.width, recorder.rules().batch, &array, &count, &destination});
    });
    return destination;
  }

  Ref<Buffer> array_;  // that the inference graph reads, page-locked
  Ref<Buffer> drawn_;  // spikes of rates, [T, B, K]
  // With "replace_nonfinite": the inference graph's input, u64 [1] page-locked, u64 [1].
  Ref<Buffer> finite_, n_replaced_, n_replaced_in_batches_;
};

class InputKind final : public StageKind {
 public:
  constexpr InputKind()
      : StageKind({.name = "input",
                   .noun = "an input",
                   .choices = input_choices,
                   .values = input_values,
                   .makes = signal::input,
                   .draws_for = purpose::rates}) {}

  std::unique_ptr<StageSettings> settings(Choices choices) const override {
    return std::make_unique<InputSettings>(static_cast<int32_t>(choices[0]), choices[1]);
  }
  void begin(const NetworkRules& rules, Stage& stage) const override {
    const auto& settings = stage.as<InputSettings>();
    check_choice(settings.kind, "kind", SYNFIRE_NETWORK_INPUT_RATES,
                 "SYNFIRE_NETWORK_INPUT_SPIKES (0), _VALUES (1) and _RATES (2)");
    check_size(rules, settings.n_features, "n_features");
    const bool f64 = settings.kind == SYNFIRE_NETWORK_INPUT_VALUES && rules.dtype == SYNFIRE_DTYPE_F64;
    stage.at(*stage.find_spec("dtype")) = settings.kind == SYNFIRE_NETWORK_INPUT_SPIKES ? SYNFIRE_DTYPE_BITS
                                          : f64                                         ? SYNFIRE_DTYPE_F64
                                                                                        : SYNFIRE_DTYPE_F32;
  }
  Flow shape(const StageView& view) const override {
    const auto& settings = view->as<InputSettings>();
    Flow flow = {view.rules().n_steps, view.rules().batch};
    flow.channels = settings.n_features;
    flow.elements = settings.kind == SYNFIRE_NETWORK_INPUT_VALUES ? Elements::values : Elements::spikes;
    return flow;
  }
  void check(const StageView& view) const override {
    const Stage& stage = view.stage();
    const int32_t kind = kind_of_input(stage), dtype = stage.whole("dtype");
    const std::span<const int32_t> allowed = kind == SYNFIRE_NETWORK_INPUT_SPIKES ? std::span(spike_dtypes)
                                             : kind == SYNFIRE_NETWORK_INPUT_VALUES
                                                 ? number_dtypes_beside(view.rules().dtype)
                                                 : std::span(f32_number_dtypes);
    if (!is_among(allowed, dtype))
      fail_argument("SYN-NETWORK-DTYPE", "\"dtype\" of stage \"%s\" is %s; %s is needed", stage.name.c_str(),
                    name_of_dtype(dtype),
                    kind == SYNFIRE_NETWORK_INPUT_SPIKES ? "a format of spikes" : names_of_dtypes(allowed).c_str());
    if (stage.flag("replace_nonfinite") && !is_number(dtype))
      fail_argument("SYN-NETWORK-VALUE",
                    "\"replace_nonfinite\" of stage \"%s\" is 1, and its \"dtype\" %s; %s is needed",
                    stage.name.c_str(), name_of_dtype(dtype), names_of_dtypes(number_dtypes).c_str());
    if (stage.flag("per_step") && !is_of_rates(stage))
      fail_argument("SYN-NETWORK-VALUE", "\"per_step\" of stage \"%s\" is 1; only an input of rates has it",
                    stage.name.c_str());
  }
  Draws draws(const Stage& stage) const override { return is_of_rates(stage) ? Draws::always : Draws::never; }

  std::string describe(const Stage& stage) const override {
    return std::string(input_kind_list[kind_of_input(stage)]) + " in " + name_of_dtype(stage.whole("dtype"));
  }

  void list_data(const StageView& view, std::vector<DataNeed>& needs) const override {
    needs.push_back({view.index(), DataRole::inputs, row_of_input(view), view->flag("pinned")});
  }
  void check_elements(const StageView& view, DataRole role, const Buffer& inputs, DataFinder& finder) const override {
    const Stage& stage = view.stage();
    if (role != DataRole::inputs || stage.flag("any_number")) return;
    const RowShape row = row_of_input(view);
    const bool or_not_finite = stage.flag("replace_nonfinite");
    const auto check = [&](const operations::AllowedElements& allowed, const char* rule, const char* needed,
                           const char* otherwise) {
      const std::optional<int64_t> found = finder.find(inputs, row, allowed);
      if (found)
        fail_argument(rule, "%s; %s (with the value \"any_number\" of stage \"%s\", %s)",
                      DataFinder::found_text("inputs", inputs, row, *found).c_str(), needed, stage.name.c_str(),
                      otherwise);
    };
    switch (kind_of_input(stage)) {
      case SYNFIRE_NETWORK_INPUT_SPIKES:
        if (is_packed(row.dtype)) return;
        return check(operations::allowed_spikes(row.dtype, or_not_finite), "SYN-NETWORK-SPIKE",
                     "a spike is 1, and no spike is 0", "all that is not 0 counts as 1");
      case SYNFIRE_NETWORK_INPUT_RATES:
        return check(operations::allowed_rates(row.dtype, or_not_finite), "SYN-NETWORK-RATE", "rates are from 0 to 1",
                     "less than 0 and NaN count as 0, more than 1 as 1");
      default:
        if (or_not_finite) return;
        return check(operations::allowed_finite(row.dtype), "SYN-NETWORK-INPUT", "values are finite",
                     "they are taken as they are, and with \"replace_nonfinite\" they are replaced by 0 and counted");
    }
  }

  void write(const StageView& view, StageKeyValues& words) const override {
    write_choice(words, kind_of_input(view.stage()));
  }
  void read(Stage& stage, KeyValueReader& words, const Context&) const override {
    stage.settings = std::make_unique<InputSettings>(take_choice(words), stage.width());
  }
  void compare_choice(const Stage& here, const Stage& there) const override {
    compare_whole(here, "the kind", kind_of_input(here), kind_of_input(there));
  }

  std::unique_ptr<StageParts> make(StageMaker& maker) const override { return std::make_unique<InputParts>(maker); }
};

constexpr InputKind the_input;

}  // namespace

const StageKind& input_kind = the_input;

size_t add_input(Design& design, const char* name, int32_t kind, int64_t n_features, const Reads& reads) {
  const int64_t choices[] = {kind, n_features};
  return design.add(input_kind, name, choices, reads);
}

}  // namespace synfire::network

// The input of a network: rows of spikes or values, or of rates, from which spikes are drawn.
#include "stage_kinds.hpp"

#include <network/constant_names.hpp>
#include <network/data_checks.hpp>
#include <network/stage_key_values.hpp>
#include <network/stage_recorder.hpp>

#include <base/dtype.hpp>
#include <operations/combine/combine.hpp>
#include <operations/encode/encode_bernoulli.hpp>
#include <operations/replace_nonfinite/replace_nonfinite.hpp>

#include <span>

namespace synfire::network {

using namespace synfire::core;

namespace {

constexpr const char* input_kind_list[] = {"spikes", "values", "rates", "counts"};
constexpr ConstantNames input_kinds{input_kind_list};

// The number of features is that of a map, if there is one.
constexpr ChoiceSpec input_choices[] = {{"kind", &input_kinds},      {"n_features", nullptr, true, "channels"},
                                        {"n_steps", nullptr, false}, {"height", nullptr, false},
                                        {"width", nullptr, false},   {"channels", nullptr, false},
                                        {"bound", nullptr, false}};

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
  int32_t kind;        // SYNFIRE_NETWORK_INPUT_*
  int64_t n_features;  // 0: those of the map
  bool one_step = false;
  int64_t height = 1, width = 1, channels = 0;  // without channels: no map
  int64_t bound = 0;                            // of counts
  int64_t n_steps = 0;                          // as given: 0, or 1, or T

  bool has_map() const noexcept { return channels != 0; }
};

int32_t kind_of_input(const Stage& stage) {
  return stage.as<InputSettings>().kind;
}
bool is_of_counts(const Stage& stage) {
  return kind_of_input(stage) == SYNFIRE_NETWORK_INPUT_COUNTS;
}
bool is_of_rates(const Stage& stage) {
  return kind_of_input(stage) == SYNFIRE_NETWORK_INPUT_RATES;
}

RowShape row_of_input(const StageView& view) {
  const bool is_one_step = (is_of_rates(view.stage()) && !view->flag("per_step")) || view->as<InputSettings>().one_step;
  return {view->whole("dtype"), is_one_step ? 1 : view.rules().n_steps, view->width(), !is_one_step};
}

class InputParts final : public StageParts {
 public:
  explicit InputParts(StageMaker& maker) : StageParts(maker.stage()) {
    Parts& parts = maker.parts();
    const Stage& stage = maker.stage().stage();
    if (is_of_rates(stage)) drawn_ = maker.passed_on_sequence(SYNFIRE_DTYPE_BITS, stage.width());
    const RowShape row = row_of_input(maker.stage());
    const int64_t batch = parts.rules().batch;
    constexpr int32_t pinned = SYNFIRE_MEMORY_PINNED;
    array_ = parts.make_sequence(row.dtype, row.n_steps, batch, row.width, pinned);
    if (stage.flag("replace_nonfinite")) {
      finite_ = parts.make_sequence(row.dtype, row.n_steps, batch, row.width, parts.passed_on());
      n_replaced_ = maker.one(SYNFIRE_DTYPE_U64, pinned);
      if (parts.design.has(Role::scores)) {
        n_replaced_in_batches_ = maker.one(SYNFIRE_DTYPE_U64);
        parts.n_replaced_in_batches.push_back(n_replaced_in_batches_);
      }
    }
    parts.inputs.push_back({maker.stage().index(), row, array_, n_replaced_});
    const int32_t made = is_of_rates(stage) ? SYNFIRE_DTYPE_BITS : row.dtype;
    const size_t index = maker.stage().index();
    if (is_of_counts(stage)) {
      if (parts.design.wants_counts(index)) counts_ = maker.array(SYNFIRE_DTYPE_U8, stage.output);
      if (parts.design.wants_counts_as_numbers(index)) numbers_ = maker.array(maker.number(), stage.output);
    } else if (parts.design.wants_numbers(index, Port::output) && (made != maker.number() || parts.has_own_loss())) {
      // The frame is the program's, who may write the next one before the backward of this one.
      numbers_ = maker.array(maker.number(), stage.output);
    }
  }

  Buffer* counts() const noexcept override { return counts_.get(); }

  void offer(FunctionRef<void(const char*, const Ref<Buffer>&)> each) const override {
    if (n_replaced_) each("n_replaced", n_replaced_);
  }

  void forward(StageRecorder& recorder) override {
    const Stage& input = stage().stage();
    Buffer* array = recorder.has_batch() ? recorder.data(DataRole::inputs) : array_.get();
    if (input.flag("replace_nonfinite")) array = &replace_nonfinite(recorder, *array);
    if (is_of_rates(input)) {
      operations::record_encode_bernoulli(recorder.graph(), {recorder.extents(input.width()), input.flag("per_step"),
                                                             array, drawn_.get(), recorder.seed(), recorder.offset()});
      recorder.note_draws(static_cast<uint64_t>(recorder.rules().n_steps));
      array = drawn_.get();
    }
    // A readout of every step may make it an output.
    Buffer* const numbers = recorder.written() ? recorder.written() : numbers_.get();
    if (counts_) convert(recorder, *array, *counts_);
    if (numbers) convert(recorder, *array, *numbers);
    recorder.hand_on(numbers ? *numbers : *array);
  }

 private:
  // Replaces numbers that are not finite. A batch is the network's own and changed in place; the program's input stays
  // as it is, and the inference graph reads a copy.
  Buffer& replace_nonfinite(StageRecorder& recorder, Buffer& array) const {
    const bool of_frame = !recorder.has_batch();
    const RowShape row = row_of_input(stage());
    Buffer& count = of_frame ? *n_replaced_ : *n_replaced_in_batches_;
    Buffer& destination = of_frame ? *finite_ : array;
    recorder.append([&] {
      return operations::replace_nonfinite(
          {!of_frame, row.n_steps, row.width, recorder.rules().batch, &array, &count, &destination});
    });
    return destination;
  }

  // Counts of which none is above the bound, also as numbers; and other inputs whose readers need numbers.
  void convert(StageRecorder& recorder, Buffer& array, Buffer& to) const {
    Buffer* const sources[] = {&array};
    const int32_t bounds[] = {is_of_counts(stage().stage()) ? stage()->output.bound : 0};
    recorder.append([&] {
      return operations::combine(
          {operations::CombineKind::sum, recorder.extents(stage()->output), sources, {}, bounds, &to});
    });
  }

  Ref<Buffer> array_;    // of a frame, page-locked
  Ref<Buffer> drawn_;    // spikes of rates, [T, B, K]
  Ref<Buffer> numbers_;  // what is handed on in place of the program's type
  Ref<Buffer> counts_;   // u8, for those that take counts as they are
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

  std::unique_ptr<StageSettings> settings(const Design&, Choices choices) const override {
    auto settings = std::make_unique<InputSettings>(static_cast<int32_t>(choices[0]), choices[1]);
    settings->n_steps = choices[2];
    settings->height = choices[3] == 0 ? 1 : choices[3];
    settings->width = choices[4] == 0 ? 1 : choices[4];
    settings->channels = choices[5];
    settings->bound = choices[6];
    return settings;
  }
  void begin(const NetworkRules& rules, Stage& stage) const override {
    auto& settings = stage.as<InputSettings>();
    check_choice(settings.kind, "kind", SYNFIRE_NETWORK_INPUT_COUNTS,
                 "SYNFIRE_NETWORK_INPUT_SPIKES (0), _VALUES (1), _RATES (2) and _COUNTS (3)");
    check_map(settings);
    check_size(rules, settings.n_features, "n_features");
    check_steps(rules, stage, settings);
    check_bound(stage, settings);
    const bool f64 = settings.kind == SYNFIRE_NETWORK_INPUT_VALUES && rules.dtype == SYNFIRE_DTYPE_F64;
    stage.at(*stage.find_spec("dtype")) = settings.kind == SYNFIRE_NETWORK_INPUT_SPIKES   ? SYNFIRE_DTYPE_BITS
                                          : settings.kind == SYNFIRE_NETWORK_INPUT_COUNTS ? SYNFIRE_DTYPE_U8
                                          : f64                                           ? SYNFIRE_DTYPE_F64
                                                                                          : SYNFIRE_DTYPE_F32;
  }
  Flow shape(const StageView& view) const override {
    const auto& settings = view->as<InputSettings>();
    Flow flow = {settings.one_step ? 1 : view.rules().n_steps, view.rules().batch};
    flow.height = settings.height;
    flow.width = settings.width;
    flow.channels = settings.has_map() ? settings.channels : settings.n_features;
    flow.elements = settings.kind == SYNFIRE_NETWORK_INPUT_VALUES   ? Elements::values
                    : settings.kind == SYNFIRE_NETWORK_INPUT_COUNTS ? Elements::counts
                                                                    : Elements::spikes;
    if (settings.kind == SYNFIRE_NETWORK_INPUT_COUNTS) flow.bound = static_cast<int32_t>(settings.bound);
    return flow;
  }
  void check(const StageView& view) const override {
    const Stage& stage = view.stage();
    const int32_t kind = kind_of_input(stage), dtype = stage.whole("dtype");
    constexpr int32_t count_dtypes[] = {SYNFIRE_DTYPE_U8};
    const std::span<const int32_t> allowed =
        kind == SYNFIRE_NETWORK_INPUT_SPIKES   ? std::span(spike_dtypes)
        : kind == SYNFIRE_NETWORK_INPUT_COUNTS ? std::span<const int32_t>(count_dtypes)
        : kind == SYNFIRE_NETWORK_INPUT_VALUES ? number_dtypes_beside(view.rules().dtype)
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

  std::string describe(const StageView& view) const override {
    const Stage& stage = view.stage();
    if (is_of_counts(stage)) return "counts to " + std::to_string(stage.output.bound);
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
                      finder.found_text("inputs", inputs, row, *found).c_str(), needed, stage.name.c_str(), otherwise);
    };
    switch (kind_of_input(stage)) {
      case SYNFIRE_NETWORK_INPUT_SPIKES:
        if (is_packed(row.dtype)) return;
        return check(operations::allowed_spikes(row.dtype, or_not_finite), "SYN-NETWORK-SPIKE",
                     "a spike is 1, and no spike is 0", "all that is not 0 counts as 1");
      case SYNFIRE_NETWORK_INPUT_COUNTS:
        return check(operations::allowed_counts(stage.output.bound), "SYN-NETWORK-COUNT",
                     ("counts are from 0 to " + std::to_string(stage.output.bound)).c_str(), "more counts as this");
      case SYNFIRE_NETWORK_INPUT_RATES:
        return check(operations::allowed_rates(row.dtype, or_not_finite), "SYN-NETWORK-RATE", "rates are from 0 to 1",
                     "less than 0 and NaN count as 0, more than 1 as 1");
      default:
        if (or_not_finite) return;
        return check(operations::allowed_finite(row.dtype), "SYN-NETWORK-INPUT", "values are finite",
                     "they are taken as they are, and with \"replace_nonfinite\" they are replaced by 0 and counted");
    }
  }

  bool needs_new_format(const StageView& view) const override {
    const auto& settings = view->as<InputSettings>();
    return settings.kind == SYNFIRE_NETWORK_INPUT_COUNTS || settings.one_step || settings.has_map();
  }
  void write(const StageView& view, StageKeyValues& words) const override {
    write_choice(words, kind_of_input(view.stage()));
    const auto& settings = view->as<InputSettings>();
    const auto add = [&](const char* name, int64_t number) {
      words.before_seed.add_whole(name, static_cast<uint64_t>(number));
    };
    if (settings.kind == SYNFIRE_NETWORK_INPUT_COUNTS) add("bound", settings.bound);
    if (settings.one_step) add("input_steps", 1);
    if (!settings.has_map()) return;
    add("map_height", settings.height);
    add("map_width", settings.width);
    add("map_channels", settings.channels);
  }
  // The number of steps of a network may change; an input of one step keeps it.
  void read(Stage& stage, KeyValueReader& words, const Context&) const override {
    auto settings = std::make_unique<InputSettings>(take_choice(words), stage.width());
    const auto take = [&](const char* name, int64_t absent) {
      return static_cast<int64_t>(words.take_whole(name, INT64_MAX, static_cast<uint64_t>(absent)));
    };
    settings->bound = take("bound", 0);
    settings->one_step = words.take_whole("input_steps", 1, 0) == 1;
    settings->height = take("map_height", 1);
    settings->width = take("map_width", 1);
    settings->channels = take("map_channels", 0);
    stage.settings = std::move(settings);
  }
  void compare_choice(const Stage& here, const Stage& there) const override {
    const auto &one = here.as<InputSettings>(), &other = there.as<InputSettings>();
    compare_whole(here, "the kind", one.kind, other.kind);
    compare_whole(here, "the bound", one.bound, other.bound);
    if (one.one_step != other.one_step) {
      const auto text = [](bool is_one) { return is_one ? "1" : "that of the network"; };
      fail_other(here, "the number of steps", text(one.one_step), text(other.one_step));
    }
    compare_whole(here, "the height", one.height, other.height);
    compare_whole(here, "the width of the map", one.width, other.width);
    compare_whole(here, "the number of channels", one.channels, other.channels);
  }

  std::unique_ptr<StageParts> make(StageMaker& maker) const override { return std::make_unique<InputParts>(maker); }

 private:
  static void check_map(InputSettings& settings) {
    if (!settings.has_map() && settings.height == 1 && settings.width == 1) return;
    int64_t n_features = 0;
    const bool fits = settings.height >= 1 && settings.width >= 1 && settings.channels >= 1;
    if (fits && (__builtin_mul_overflow(settings.height, settings.width, &n_features) ||
                 __builtin_mul_overflow(n_features, settings.channels, &n_features)))
      fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-NETWORK-OVERFLOW",
           "height, width and channels are %lld, %lld and %lld; their product cannot be addressed",
           static_cast<long long>(settings.height), static_cast<long long>(settings.width),
           static_cast<long long>(settings.channels));
    if (!fits || (settings.n_features != 0 && settings.n_features != n_features))
      fail_argument(
          "SYN-NETWORK-SHAPE",
          "height, width and channels are %lld, %lld and %lld and n_features is %lld; each must be at least 1, "
          "and n_features their product or absent",
          static_cast<long long>(settings.height), static_cast<long long>(settings.width),
          static_cast<long long>(settings.channels), static_cast<long long>(settings.n_features));
    settings.n_features = n_features;
  }
  static void check_steps(const NetworkRules& rules, const Stage& stage, InputSettings& settings) {
    if (settings.n_steps == 1 && settings.kind != SYNFIRE_NETWORK_INPUT_RATES) settings.one_step = true;
    if (settings.n_steps != 0 && settings.n_steps != rules.n_steps && !settings.one_step)
      fail_argument("SYN-NETWORK-VALUE", "\"n_steps\" of stage \"%s\" is %lld; it can be 1, except of rates, or %lld",
                    stage.name.c_str(), static_cast<long long>(settings.n_steps),
                    static_cast<long long>(rules.n_steps));
  }
  static void check_bound(const Stage& stage, const InputSettings& settings) {
    const bool has_bound = settings.kind == SYNFIRE_NETWORK_INPUT_COUNTS;
    if (has_bound ? settings.bound < 1 || settings.bound > 255 : settings.bound != 0)
      fail_argument("SYN-COUNT-BOUND", "\"bound\" of stage \"%s\" is %lld; %s", stage.name.c_str(),
                    static_cast<long long>(settings.bound),
                    has_bound ? "counts have one from 1 to 255" : "only an input of counts has one");
  }
};

constexpr InputKind the_input;

}  // namespace

const StageKind& input_kind = the_input;

size_t add_input(Design& design, const char* name, int32_t kind, int64_t n_features, const Reads& reads) {
  const int64_t choices[] = {kind, n_features, 0, 0, 0, 0, 0};
  return design.add(input_kind, name, choices, reads);
}

}  // namespace synfire::network

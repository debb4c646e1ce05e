// A loss: the result of a readout, compared with labels or targets of a data set.
#include "stage_kinds.hpp"

#include <network/constant_names.hpp>
#include <network/data_checks.hpp>
#include <network/stage_key_values.hpp>
#include <network/stage_recorder.hpp>

#include <operations/loss/loss.hpp>

#include <cmath>
#include <cstring>

namespace synfire::network {

using namespace synfire::core;

namespace {

constexpr const char* loss_kind_list[] = {"cross_entropy", "mean_squared_error"};
constexpr ConstantNames loss_kinds{loss_kind_list};

constexpr ChoiceSpec loss_choices[] = {{"kind", &loss_kinds}};

constexpr ValueSpec loss_values[] = {
    {"targets", 0, 0, 1, value::whole, value::fixed},
    {"per_step", 0, 0, 1, value::whole, value::fixed},
    {"ignores_label", 0, 0, 1, value::whole, value::fixed},
    {"ignored_label", 0, 0, 4294967295.0, value::whole, value::fixed},
    {"label_smoothing", 0, 0, 1, value::any, value::changes},
    {"gradient_scale", 1, -value::largest, value::largest, value::any, value::changes},
    {"weight", 1, -value::largest, value::largest, value::any, value::changes, value::on_training, value::if_changed},
    {"any_number", 0, 0, 1, value::whole, value::changes, value::on_none, value::if_changed},
};

struct LossSettings final : SettingsOf<LossSettings> {
  explicit LossSettings(int32_t its_kind) : kind(its_kind) {}
  int32_t kind;                           // SYNFIRE_LOSS_*
  std::vector<float> class_weights = {};  // or empty
  bool weights_in_file = false;           // of a stage that is being read
};

bool is_cross_entropy(const Stage& stage) {
  return stage.as<LossSettings>().kind == SYNFIRE_LOSS_CROSS_ENTROPY;
}
std::string class_weights_name(const Stage& stage) {
  return stage.name + ".class_weights";
}

RowShape row_of_loss(const StageView& view) {
  const bool per_step = view->flag("per_step"), targets = view->flag("targets");
  return {targets ? view.rules().dtype : SYNFIRE_DTYPE_U32, per_step ? view.rules().n_steps : 1,
          targets ? view.flow().n_features() : 1, per_step};
}

// The scale of the gradient in a graph: two values of the stage are factors of it.
double gradient_scale_of(const Stage& stage) {
  return stage.value("gradient_scale") * stage.value("weight");
}

class LossParts final : public StageParts {
 public:
  explicit LossParts(StageMaker& maker) : StageParts(maker.stage()) {
    const StageView& view = maker.stage();
    const LossSettings& settings = view->as<LossSettings>();
    loss_ = maker.one(SYNFIRE_DTYPE_F64);
    divisor_ = maker.one(SYNFIRE_DTYPE_F64);
    n_counted_ = maker.one(SYNFIRE_DTYPE_U32);
    if (!view->flag("targets")) n_correct_ = maker.one(SYNFIRE_DTYPE_U32);
    const Flow scores = view.flow();
    maker.parts().scores.push_back(
        {view.index(), loss_, divisor_, n_correct_, n_counted_, scores.batch * scores.n_steps});
    if (settings.class_weights.empty()) return;
    class_weights_ = maker.parts().make(SYNFIRE_DTYPE_F32, {static_cast<int64_t>(settings.class_weights.size())});
    class_weights_->upload(0, settings.class_weights.data(), settings.class_weights.size() * sizeof(float));
  }

  // The sums are recorded after the gradient, if there is one.
  void forward(StageRecorder& recorder) override {
    if (recorder.has_batch() && !recorder.has_backward()) record_sums(recorder);
  }
  void backward(StageRecorder& recorder) override {
    const StageRecorder::Gradient gradient = recorder.gradient();
    operations::LossRequest request = request_of(recorder);
    request.gradient = gradient.array;
    request.rules.add_gradient = gradient.add;
    operations::record_loss(recorder.graph(), request);
    note_values(recorder, request);
    record_sums(recorder);
  }

 private:
  operations::LossRequest request_of(StageRecorder& recorder) const {
    const Stage& loss = stage().stage();
    const Flow scores = stage().flow();
    operations::LossRequest request = {};
    request.extents = {scores.n_steps, scores.batch, scores.n_features()};
    request.rules.kind = static_cast<operations::LossKind>(loss.as<LossSettings>().kind);
    request.rules.per_step = loss.flag("per_step");
    request.rules.ignores_label = loss.flag("ignores_label");
    request.rules.ignored_label = static_cast<uint32_t>(loss.value("ignored_label"));
    request.source = recorder.read().array;
    request.labels = recorder.data(DataRole::labels);
    request.targets = recorder.data(DataRole::targets);
    request.lengths = recorder.lengths();
    request.n_active = recorder.n_active();
    request.sample_weights = recorder.sample_weights();
    request.class_weights = class_weights_.get();
    request.label_smoothing = loss.value("label_smoothing");
    return request;
  }
  void note_values(StageRecorder& recorder, const operations::LossRequest& request) const {
    if (request.rules.kind == operations::LossKind::cross_entropy) recorder.note("label_smoothing", "label_smoothing");
    if (!request.gradient) return;
    for (const char* const name : {"gradient_scale", "weight"}) recorder.note(name, "gradient_scale");
    recorder.graph().set_value(recorder.graph().last_operation(), "gradient_scale", gradient_scale_of(stage().stage()));
  }
  void record_sums(StageRecorder& recorder) const {
    operations::LossRequest request = request_of(recorder);
    request.rules.sum = request.rules.accumulate = true;
    request.loss = loss_.get();
    request.divisor = divisor_.get();
    request.n_correct = n_correct_.get();
    request.n_counted = n_counted_.get();
    operations::record_loss(recorder.graph(), request);
    note_values(recorder, request);
  }

  Ref<Buffer> loss_, divisor_, n_correct_, n_counted_;  // f64, f64, u32, u32
  Ref<Buffer> class_weights_;                           // f32 [C]
};

class LossKind final : public StageKind {
 public:
  constexpr LossKind()
      : StageKind({.name = "loss",
                   .noun = "a loss",
                   .choices = loss_choices,
                   .values = loss_values,
                   .reads = signal::readout,
                   .makes = signal::objective,
                   .can_end = true,
                   .of_training = true,
                   .role = Role::scores}) {}

  std::unique_ptr<StageSettings> settings(const Design&, Choices choices) const override {
    return std::make_unique<LossSettings>(static_cast<int32_t>(choices[0]));
  }
  void begin(const NetworkRules&, Stage& stage) const override {
    check_choice(stage.as<LossSettings>().kind, "kind", SYNFIRE_LOSS_MEAN_SQUARED_ERROR,
                 "SYNFIRE_LOSS_CROSS_ENTROPY (0) and SYNFIRE_LOSS_MEAN_SQUARED_ERROR (1)");
    if (!is_cross_entropy(stage)) stage.at(*stage.find_spec("targets")) = 1;
  }
  Flow shape(const StageView&) const override { return {}; }
  void check(const StageView& view) const override {
    const Stage& stage = view.stage();
    if (stage.value("label_smoothing") != 0 && !is_cross_entropy(stage))
      fail_argument("SYN-NETWORK-VALUE", "\"label_smoothing\" of stage \"%s\" is %g; only a cross-entropy has one",
                    stage.name.c_str(), stage.value("label_smoothing"));
    if (stage.flag("targets") && stage.flag("ignores_label"))
      fail_argument("SYN-NETWORK-VALUE", "\"ignores_label\" of stage \"%s\" is 1; with \"targets\" there are no labels",
                    stage.name.c_str());
    if (!std::isfinite(gradient_scale_of(stage)))
      fail_argument("SYN-NETWORK-VALUE",
                    "\"gradient_scale\" and \"weight\" of stage \"%s\" are %g and %g; their product must be finite",
                    stage.name.c_str(), stage.value("gradient_scale"), stage.value("weight"));
    const Stage& readout = view.input().stage();
    if (stage.flag("per_step") && !readout.kind->hands_on(readout) && view.flow().n_steps != view.rules().n_steps)
      fail_argument("SYN-NETWORK-VALUE",
                    "\"per_step\" of stage \"%s\" is 1; it needs a readout of every step (SYNFIRE_READOUT_STEPS)",
                    stage.name.c_str());
  }
  bool begins_gradient(const Stage&) const override { return true; }
  double recorded_value(const Stage& stage, const char* name) const override {
    const std::string_view wanted = name;
    return wanted == "gradient_scale" || wanted == "weight" ? gradient_scale_of(stage) : stage.value(wanted);
  }

  std::string describe(const StageView& view) const override {
    const Stage& stage = view.stage();
    return is_cross_entropy(stage) ? "cross-entropy" : "mean squared error";
  }

  void list_data(const StageView& view, std::vector<DataNeed>& needs) const override {
    needs.push_back({view.index(), view->flag("targets") ? DataRole::targets : DataRole::labels, row_of_loss(view)});
  }
  void check_elements(const StageView& view, DataRole role, const Buffer& array, DataFinder& finder) const override {
    if (role == DataRole::labels) check_labels(view, array, finder);
    if (role == DataRole::targets)
      check_finite(view, array, "targets", "SYN-NETWORK-TARGET", row_of_loss(view), finder);
    if (role == DataRole::sample_weights)
      check_finite(view, array, "sample_weights", "SYN-NETWORK-WEIGHT", weight_row(), finder);
  }

  void write(const StageView& view, StageKeyValues& words) const override {
    write_choice(words, view->as<LossSettings>().kind);
    if (!view->as<LossSettings>().class_weights.empty()) words.after_seed.add_whole("has_class_weights", 1);
  }
  void read(Stage& stage, KeyValueReader& words, const Context&) const override {
    auto settings = std::make_unique<LossSettings>(take_choice(words));
    settings->weights_in_file = words.take_whole("has_class_weights", 1, 0) == 1;
    stage.settings = std::move(settings);
  }
  void write_tensors(const StageView& view, files::SafetensorsWriter& writer) const override {
    const std::vector<float>& weights = view->as<LossSettings>().class_weights;
    if (weights.empty()) return;
    const int64_t shape[] = {static_cast<int64_t>(weights.size())};
    writer.add(class_weights_name(view.stage()), files::Dtype::f32, shape, std::as_bytes(std::span(weights)));
  }
  void read_tensors(Design& design, size_t index, const Stage& read,
                    const files::SafetensorsFile& file) const override {
    if (!read.as<LossSettings>().weights_in_file) return;
    const StageView view = design.view(index);
    const int64_t shape[] = {view.flow().n_features()};
    const auto bytes = file.bytes(class_weights_name(view.stage()), files::Dtype::f32, shape);
    std::vector<float> weights(bytes.size() / sizeof(float));
    std::memcpy(weights.data(), bytes.data(), bytes.size());
    set_class_weights(design, view->name.c_str(), weights.data(), weights.size());
  }
  void compare_choice(const Stage& here, const Stage& there) const override {
    compare_whole(here, "the kind", here.as<LossSettings>().kind, there.as<LossSettings>().kind);
  }
  void compare_rest(const Stage& here, const Stage& there, bool) const override {
    if (here.as<LossSettings>().class_weights != there.as<LossSettings>().class_weights)
      fail_argument("SYN-NETWORK-OTHER", "the class weights of stage \"%s\" are not those of the file",
                    here.name.c_str());
  }

  std::unique_ptr<StageParts> make(StageMaker& maker) const override { return std::make_unique<LossParts>(maker); }

 private:
  static void check_labels(const StageView& view, const Buffer& labels, DataFinder& finder) {
    const RowShape row = row_of_loss(view);
    const auto n_classes = static_cast<uint64_t>(view.flow().n_features());
    const bool has_ignored = view->flag("ignores_label");
    const auto ignored = static_cast<uint32_t>(view->value("ignored_label"));
    const std::optional<int64_t> found =
        finder.find(labels, row, operations::allowed_labels(n_classes, has_ignored ? &ignored : nullptr));
    if (!found) return;
    const std::string also = has_ignored ? ", and " + std::to_string(ignored) + ", which is ignored" : std::string();
    fail_argument("SYN-NETWORK-LABEL", "%s; the labels of %llu classes are 0 to %llu%s",
                  finder.found_text("labels", labels, row, *found).c_str(), static_cast<unsigned long long>(n_classes),
                  static_cast<unsigned long long>(n_classes - 1), also.c_str());
  }
  static void check_finite(const StageView& view, const Buffer& array, const char* name, const char* rule,
                           const RowShape& row, DataFinder& finder) {
    if (view->flag("any_number")) return;
    const std::optional<int64_t> found = finder.find(array, row, operations::allowed_finite(row.dtype));
    if (found)
      fail_argument(rule, "%s; it must be finite, or the value \"any_number\" of stage \"%s\" be 1",
                    finder.found_text(name, array, row, *found).c_str(), view->name.c_str());
  }
};

constexpr LossKind the_loss;

}  // namespace

const StageKind& loss_kind = the_loss;

size_t add_loss(Design& design, const char* name, int32_t kind, const Reads& reads) {
  const int64_t choices[] = {kind};
  return design.add(loss_kind, name, choices, reads);
}

void set_class_weights(Design& design, const char* name, const float* weights, uint64_t n_weights) {
  const size_t index = design.find(name, loss_kind);
  const int64_t n_classes = design.view(index).flow().n_features();
  if (n_weights != static_cast<uint64_t>(n_classes))
    fail_argument("SYN-NETWORK-CLASSES", "n_weights is %llu; the network has %lld classes",
                  static_cast<unsigned long long>(n_weights), static_cast<long long>(n_classes));
  for (uint64_t i = 0; i < n_weights; ++i)
    if (!std::isfinite(weights[i]))
      fail_argument("SYN-NETWORK-CLASSES", "weights[%llu] is %g; it must be finite", static_cast<unsigned long long>(i),
                    static_cast<double>(weights[i]));
  static_cast<LossSettings&>(design.settings(index)).class_weights.assign(weights, weights + n_weights);
}

}  // namespace synfire::network

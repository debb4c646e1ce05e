// Turns requests into checked operations.
#include "loss.hpp"
#include "loss_arguments.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>
#include <graph/operands.hpp>
#include <operations/spikes/spike_views.hpp>

namespace synfire::operations {

using namespace synfire::core;

void Loss::operands(Loss& op, OperandVisitor visit) {
  const auto does = [&](LossEntry one) { return op.entry == LossEntry::all || op.entry == one; };
  visit({"desc.labels", op.labels, Access::read});
  visit({"desc.lengths", op.lengths, Access::read});
  visit({"desc.n_active", op.n_active, Access::read});
  visit({"desc.sample_weights", op.sample_weights, Access::read});
  visit({"desc.class_weights", op.class_weights, Access::read});
  if (does(LossEntry::samples)) {
    visit({"desc.source", op.source, Access::read});
    visit({"desc.targets", op.targets, Access::read});
    visit({"desc.losses", op.losses, Access::write});
    visit({"desc.predictions", op.predictions, Access::write});
    visit({"desc.gradient", op.gradient, op.rules.add_gradient ? Access::update : Access::write});
  }
  const auto written_by = [&](LossEntry one) { return op.entry == one ? Access::write : Access::read; };
  visit({"the largest share of a loss", op.parts.largest_share, written_by(LossEntry::share_maxima)});
  visit({"the shares of a loss", op.parts.shares, written_by(LossEntry::share_sums)});
  visit({"the largest of the losses", op.parts.largest, written_by(LossEntry::samples)});
  visit({"the sum of the losses", op.parts.losses,
         op.entry == LossEntry::sums ? Access::update : written_by(LossEntry::samples)});
  visit({"the losses of the samples", op.parts.of_samples, written_by(LossEntry::samples)});
  visit({"desc.scratch", op.scratch, Access::scratch});
  if (!does(LossEntry::finish)) return;
  const Access total = op.rules.accumulate ? Access::update : Access::write;
  visit({"desc.loss", op.loss, total});
  visit({"desc.n_correct", op.n_correct, total});
  visit({"desc.n_counted", op.n_counted, total});
  visit({"desc.divisor", op.divisor, total});
}

OperationLabel label(const Loss& op) {
  return {nullptr, std::string(op.rules.kind == LossKind::cross_entropy ? "cross-entropy " : "mean squared error ")
                       .append(shape_text(op.extents))};
}

namespace {

// ---- what is refused ------------------------------------------------------------------------------------------------

Extents checked(Extents e) {
  constexpr const char* rule = "SYN-LOSS-SHAPE";
  check_length(rule, "n_steps", e.n_steps, Zero::means_one);
  check_length(rule, "batch", e.batch, Zero::means_one);
  check_length(rule, "n_classes", e.n_neurons);
  if (e.n_steps == 0) e.n_steps = 1;
  if (e.batch == 0) e.batch = 1;
  constexpr int64_t most_classes = 0x7FFFFFFF, most_samples = 0xFFFFFFFF;
  if (e.n_neurons > most_classes)
    fail_argument(rule, "desc.n_classes is %lld; at most 2^31 - 1 classes are allowed",
                  static_cast<long long>(e.n_neurons));
  int64_t samples = 0;
  if (__builtin_mul_overflow(e.n_steps, e.batch, &samples) || samples > most_samples)
    fail_argument(rule,
                  "desc.n_steps is %lld and desc.batch %lld; at most 2^32 - 1 samples are allowed, so that u32 can "
                  "count them",
                  static_cast<long long>(e.n_steps), static_cast<long long>(e.batch));
  if (!is_addressable({samples, e.n_neurons}))
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-LOSS-OVERFLOW",
         "desc.n_steps %lld times desc.batch %lld times desc.n_classes %lld elements cannot be addressed",
         static_cast<long long>(e.n_steps), static_cast<long long>(e.batch), static_cast<long long>(e.n_neurons));
  return e;
}

void check_buffers(const LossRequest& request) {
  if (!request.labels == !request.targets)
    fail_argument("SYN-LOSS-TARGET", "desc.labels and desc.targets are %s; exactly one of them is needed",
                  request.labels ? "both given" : "both null");
  if (!request.labels && request.n_correct)
    fail_argument("SYN-LOSS-LABELS", "desc.n_correct is given with desc.targets; it needs desc.labels to compare with");
  if (!request.labels && request.rules.ignores_label)
    fail_argument("SYN-LOSS-LABELS", "desc.ignores_label is 1 with desc.targets; it needs desc.labels");
  if (!request.loss && !request.losses && !request.n_correct && !request.n_counted && !request.predictions &&
      !request.gradient && !request.divisor)
    fail_argument("SYN-LOSS-OUTPUT",
                  "all outputs are null; at least one of desc.loss, losses, n_correct, n_counted, predictions, "
                  "gradient and divisor is needed");
}

void check_numbers(const LossRequest& request) {
  const double smoothing = request.label_smoothing;
  if (!(smoothing >= 0 && smoothing <= 1))
    fail_argument("SYN-LOSS-SMOOTHING", "desc.label_smoothing is %g; a number from 0 to 1 is needed", smoothing);
  if (smoothing != 0 && request.rules.kind != LossKind::cross_entropy)
    fail_argument("SYN-LOSS-SMOOTHING", "desc.label_smoothing is %g; only a cross-entropy has one", smoothing);
  check_scalar(request.gradient_scale, "desc.gradient_scale");
}

// ---- views ----------------------------------------------------------------------------------------------------------

class Views {
 public:
  explicit Views(const Extents& extents) : e_(extents) {}

  View source(const Buffer& buffer) const {
    static constexpr auto allowed = and_dtype(number_dtypes, SYNFIRE_DTYPE_U32);
    check_type(buffer, "desc.source", allowed);
    return array_view(buffer, "desc.source", {e_.n_steps, e_.batch, e_.n_neurons});
  }
  View optional(const Buffer* buffer, const char* name, int32_t dtype, std::initializer_list<int64_t> lengths) const {
    if (!buffer) return {};
    check_type(*buffer, name, dtype);
    return array_view(*buffer, name, lengths);
  }
  View total(const Buffer* buffer, const char* name) const {
    if (!buffer) return {};
    check_type(*buffer, name, arithmetic_dtypes);
    return array_view(*buffer, name, {1});
  }

 private:
  const Extents& e_;
};

}  // namespace

OperationList loss(const LossRequest& request) {
  const Extents e = checked(request.extents);
  check_buffers(request);
  check_numbers(request);
  const Views views(e);
  Loss op = {};
  op.extents = e;
  op.rules = request.rules;
  op.source = views.source(*request.source);
  const bool f64 = op.source.dtype == SYNFIRE_DTYPE_F64;
  const int32_t number = f64 ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32;
  const int64_t target_steps = request.rules.per_step ? e.n_steps : 1;
  const auto u32 = SYNFIRE_DTYPE_U32, f32 = SYNFIRE_DTYPE_F32;
  op.labels = views.optional(request.labels, "desc.labels", u32, {target_steps, e.batch});
  op.targets = views.optional(request.targets, "desc.targets", number, {target_steps, e.batch, e.n_neurons});
  op.lengths = views.optional(request.lengths, "desc.lengths", u32, {1, e.batch});
  op.n_active = views.optional(request.n_active, "desc.n_active", u32, {1});
  op.sample_weights = views.optional(request.sample_weights, "desc.sample_weights", f32, {1, e.batch});
  op.class_weights = views.optional(request.class_weights, "desc.class_weights", f32, {1, e.n_neurons});
  op.loss = views.total(request.loss, "desc.loss");
  op.losses = views.optional(request.losses, "desc.losses", number, {e.n_steps, e.batch});
  op.n_correct = views.optional(request.n_correct, "desc.n_correct", u32, {1});
  op.n_counted = views.optional(request.n_counted, "desc.n_counted", u32, {1});
  op.predictions = views.optional(request.predictions, "desc.predictions", u32, {e.n_steps, e.batch});
  op.gradient = views.optional(request.gradient, "desc.gradient", number, {e.n_steps, e.batch, e.n_neurons});
  op.divisor = views.total(request.divisor, "desc.divisor");
  op.label_smoothing = request.label_smoothing;
  op.gradient_scale = request.gradient_scale == 0 ? 1 : request.gradient_scale;
  const int64_t n_samples = e.n_steps * e.batch;
  if (!loss_fits_one_block(n_samples, e.n_neurons))
    op.scratch.bytes = f64 ? loss_scratch_bytes(n_samples, sizeof(double)) : loss_sums_bytes(n_samples);
  OperationList operations = {op};
  check_overlap(operations);
  return operations;
}

void record_loss(Graph& graph, const LossRequest& request) {
  graph.record([&](Recorder& recorder) {
    const OperationList operations = loss(request);
    Loss op = *operations.front().as<Loss>();
    op.gradient_scale_value = recorder.number("gradient_scale", op.gradient_scale);
    if (op.rules.kind == LossKind::cross_entropy)
      op.label_smoothing_value = recorder.fraction("label_smoothing", op.label_smoothing);
    return OperationList{op};
  });
}

}  // namespace synfire::operations

// The kinds of stages that make one array of several: sums, AND and IAND of spikes, concatenations.
#include "combined.hpp"
#include "stage_kinds.hpp"

#include <network/kept_arrays.hpp>
#include <network/stage_key_values.hpp>
#include <network/stage_recorder.hpp>

#include <base/error.hpp>
#include <operations/combine/combine.hpp>

#include <algorithm>

namespace synfire::network {

using namespace synfire::core;

namespace {

using operations::CombineKind;

// Counts that stand for means are read as these, and beside them all are numbers.
bool reads_means(const StageView& view) {
  for (size_t i = 0; i < view->inputs.size(); ++i)
    if (view.flow(i).count_scale != 1) return true;
  return false;
}
void make_values(Flow& flow) {
  flow.elements = Elements::values;
  flow.bound = 1;
  flow.count_scale = 1;
}

class CombineParts final : public CombinedParts {
 public:
  CombineParts(StageMaker& maker, CombineKind kind) : CombinedParts(maker, dtype_of(maker)), kind_(kind) {
    if (stage()->output.elements == Elements::counts)
      counts_ = maker.array(SYNFIRE_DTYPE_U8, stage()->output, kept_arrays::output);
    if (kind_ != CombineKind::concatenate) return;
    for (size_t i = 0; i < stage()->inputs.size(); ++i) channels_.push_back(stage().flow(i).channels);
  }

  Buffer* counts() const noexcept override { return counts_.get(); }

  // Counts are made once, and then numbers of them for those that read numbers.
  void forward(StageRecorder& recorder) override {
    std::vector<Buffer*> sources;
    std::vector<int32_t> bounds;
    for (size_t i = 0; i < stage()->inputs.size(); ++i) {
      const StageRecorder::Read input = recorder.read(i);
      const bool of_counts = stage().flow(i).elements == Elements::counts && !reads_means(stage());
      sources.push_back(of_counts ? input.counts : input.array);
      bounds.push_back(of_counts ? stage().flow(i).bound : 0);
    }
    const bool has_bounds = std::ranges::any_of(bounds, [](int32_t bound) { return bound > 0; });
    Buffer *const numbers = recorder.written(), *const counts = recorder.own(counts_.get());
    recorder.append([&] {
      return operations::combine({kind_, recorder.extents(stage()->output), sources, channels_,
                                  has_bounds ? std::span<const int32_t>(bounds) : std::span<const int32_t>(),
                                  counts ? counts : numbers});
    });
    if (counts && numbers)
      recorder.append([&] { return as_numbers(recorder.flow(stage()->output), *counts, *numbers); });
  }

  // From the last input to the first, as stages are.
  void backward(StageRecorder& recorder) override {
    const bool has_other = kind_ == CombineKind::both || kind_ == CombineKind::first_alone;
    for (size_t i = stage()->inputs.size(); i-- > 0;) {
      const StageRecorder::Gradient before = recorder.gradient(i);
      if (!before.array) continue;
      Buffer* const other = has_other ? recorder.read(1 - i).array : nullptr;
      recorder.append([&] {
        return operations::combine_backward({kind_, recorder.extents(stage()->output), channels_,
                                             static_cast<int32_t>(i), before.add, recorder.output_gradient(), other,
                                             before.array});
      });
    }
  }

 private:
  // Spikes stay packed if all readers take them so, and counts are numbers too if a reader wants them; values are
  // numbers.
  static std::optional<int32_t> dtype_of(const StageMaker& maker) {
    const StageView& view = maker.stage();
    const Elements elements = view->output.elements;
    if (elements == Elements::counts && !view.design().wants_counts_as_numbers(view.index())) return std::nullopt;
    const bool packed = elements == Elements::spikes && !view.design().wants_numbers(view.index(), Port::output);
    return packed ? SYNFIRE_DTYPE_BITS : maker.number();
  }

  const CombineKind kind_;
  Ref<Buffer> counts_;  // [T, B, N]; null unless it makes counts
  std::vector<int64_t> channels_;
};

class CombineStage : public StageKind {
 public:
  uint32_t makes(const StageView& view) const override { return combined_of(view); }
  void check(const StageView&) const override {}
  bool takes_counts(const StageView& view) const override { return !reads_means(view); }
  std::optional<StageOutput> output(const StageView& view) const override { return combined_output(view); }
  std::string describe(const StageView& view) const override {
    if (view->output.elements == Elements::spikes) return "spikes";
    return view->output.elements == Elements::values ? "values" : "counts to " + std::to_string(view->output.bound);
  }

  void write(const StageView&, StageKeyValues&) const override {}
  void read(Stage&, KeyValueReader&, const Context&) const override {}

  std::unique_ptr<StageParts> make(StageMaker& maker) const override {
    return std::make_unique<CombineParts>(maker, combine_);
  }

 protected:
  constexpr CombineStage(const char* name, const char* noun, CombineKind combine, uint32_t most_inputs,
                         bool joins = false)
      : StageKind({.name = name,
                   .noun = noun,
                   .reads = combinable,
                   .makes = signal::combined | signal::readout,
                   .least_inputs = 2,
                   .most_inputs = most_inputs,
                   .joins = joins,
                   .takes_steps = true,
                   .reads_before = true,
                   .is_new = true}),
        combine_(combine) {}
  ~CombineStage() = default;

 private:
  const CombineKind combine_;
};

// An input whose shape does not follow from what is not there yet: the others will have the same.
size_t first_with_shape(const StageView& view) {
  for (size_t i = 0; i < view->inputs.size(); ++i)
    if (view.input(i)->has_shape) return i;
  fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-AWAITS",
       "the shape of stage \"%s\" follows from neurons that are not there yet; a stage with a shape is needed among "
       "those that it reads",
       view->name.c_str());
}

class SumKind final : public CombineStage {
 public:
  constexpr SumKind() : CombineStage("sum", "a sum", CombineKind::sum, operations::most_combined, true) {}

  // Spikes and counts are added to counts; with values, all are numbers.
  Flow shape(const StageView& view) const override {
    const size_t first = first_with_shape(view);
    Flow flow = view.flow(first);
    int64_t bound = 0;
    bool has_values = reads_means(view);
    for (size_t i = 0; i < view->inputs.size(); ++i) {
      if (view.input(i)->has_shape) check_same_shape(view, first, i, true);
      has_values = has_values || view.flow(i).elements == Elements::values;
      bound += view.flow(i).elements == Elements::counts ? view.flow(i).bound : 1;
    }
    if (!has_values && bound > 255)
      fail_argument(
          "SYN-COUNT-BOUND",
          "the sum of stage \"%s\" may reach %lld, counting 1 for spikes and their bounds for counts; counts are "
          "at most 255",
          view->name.c_str(), static_cast<long long>(bound));
    flow.elements = Elements::counts;
    flow.bound = static_cast<int32_t>(bound);
    if (has_values) make_values(flow);
    return flow;
  }
};

// It reads two stages with spikes.
class SpikesKind final : public CombineStage {
 public:
  constexpr SpikesKind(const char* name, const char* noun, CombineKind combine)
      : CombineStage(name, noun, combine, 2) {}

  Flow shape(const StageView& view) const override {
    for (size_t i = 0; i < 2; ++i) check_spikes(view, i);
    check_same_shape(view, 0, 1, true);
    return view.flow();
  }
};

class ConcatenateKind final : public CombineStage {
 public:
  constexpr ConcatenateKind()
      : CombineStage("concatenate", "a concatenation", CombineKind::concatenate, operations::most_combined) {}

  // Spikes beside counts become counts.
  Flow shape(const StageView& view) const override {
    Flow flow = view.flow();
    flow.channels = 0;
    for (size_t i = 0; i < view->inputs.size(); ++i) {
      check_same_shape(view, 0, i, false);
      const Flow one = view.flow(i);
      if (__builtin_add_overflow(flow.channels, one.channels, &flow.channels)) flow.channels = INT64_MAX;
      flow.elements = std::max(flow.elements, one.elements);  // values are above counts, and these above spikes
      flow.bound = std::max(flow.bound, one.bound);
    }
    int64_t n_features = 0;
    if (__builtin_mul_overflow(flow.height * flow.width, flow.channels, &n_features)) n_features = INT64_MAX;
    check_size(view.rules(), n_features, "the number of features");
    if (flow.elements != Elements::counts) flow.bound = 1;
    if (reads_means(view)) make_values(flow);
    return flow;
  }
};

constexpr SumKind the_sum;
constexpr SpikesKind the_and("and", "an AND", CombineKind::both), the_iand("iand", "an IAND", CombineKind::first_alone);
constexpr ConcatenateKind the_concatenation;

}  // namespace

const StageKind &sum_kind = the_sum, &and_kind = the_and, &iand_kind = the_iand, &concatenate_kind = the_concatenation;

}  // namespace synfire::network

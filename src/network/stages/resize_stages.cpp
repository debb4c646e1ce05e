// Maps that are copied place by place: nearest upsampling, and borders of zeros.
#include "combined.hpp"
#include "map_choices.hpp"
#include "packed_spikes.hpp"
#include "stage_kinds.hpp"

#include <network/kept_arrays.hpp>
#include <network/stage_key_values.hpp>
#include <network/stage_recorder.hpp>

#include <operations/resize/resize.hpp>

#include <cmath>

namespace synfire::network {

using namespace synfire::core;

namespace {

constexpr ChoiceSpec upsample_choices[] = {of_axis("scale"), of_axis("scale_y"), of_axis("scale_x")};
constexpr ChoiceSpec pad_choices[] = {of_axis("padding"), of_axis("left"), of_axis("right"), of_axis("top"),
                                      of_axis("bottom")};

operations::ResizeMaps maps_of(const StageView& view) {
  const Flow in = view.flow();
  return {in.n_steps, in.batch, in.channels, in.height, in.width};
}

// Counts that stand for means are read as these.
bool takes_counts_as_they_are(const StageView& view) {
  return view.flow().elements == Elements::counts && view.flow().count_scale == 1;
}
bool reads_bits(const StageView& view) {
  return view.flow().elements == Elements::spikes && !view.design().wants_numbers(view.index(), Port::output);
}

class ResizeKind;  // its functions of maps are those in which the two kinds differ

class ResizeParts final : public StageParts {
 public:
  ResizeParts(StageMaker& maker, const ResizeKind& kind);

  Buffer* array(Port) const noexcept override { return array_.get(); }
  Buffer* counts() const noexcept override { return counts_.get(); }
  Buffer* gradient(Port) const noexcept override { return gradient_.get(); }

  void forward(StageRecorder& recorder) override;
  void backward(StageRecorder& recorder) override;

 private:
  const ResizeKind& kind_;
  const PackedSpikes spikes_;
  Ref<Buffer> array_, counts_, gradient_;  // [T, B, M]; null: nothing reads it
};

class ResizeKind : public StageKind {
 public:
  uint32_t makes(const StageView& view) const override { return combined_of(view); }
  Flow shape(const StageView& view) const override {
    Flow flow = view.flow();
    in_stage(view.stage(), [&] {
      const operations::ResizeShape map = shape_of(view);
      flow.height = map.y.n_outputs;
      flow.width = map.x.n_outputs;
    });
    if (flow.elements == Elements::counts && !takes_counts_as_they_are(view)) {
      flow.elements = Elements::values;
      flow.bound = 1;
      flow.count_scale = 1;
    }
    check_size(view.rules(), flow.n_features(), "the number of features");
    return flow;
  }
  void check(const StageView&) const override {}
  bool takes_counts(const StageView& view) const override { return takes_counts_as_they_are(view); }
  bool reads_numbers(const StageView& view) const override {
    return !reads_bits(view) && !takes_counts_as_they_are(view);
  }
  std::optional<StageOutput> output(const StageView& view) const override { return combined_output(view); }
  std::unique_ptr<StageParts> make(StageMaker& maker) const override {
    return std::make_unique<ResizeParts>(maker, *this);
  }

  virtual operations::ResizeShape shape_of(const StageView& view) const = 0;
  virtual OperationList forward(const StageView& view, const operations::ResizeBuffers& buffers) const = 0;
  virtual OperationList backward(const StageView& view, const operations::ResizeGradients& buffers) const = 0;

 protected:
  constexpr ResizeKind(const char* name, const char* noun, std::span<const ChoiceSpec> choices)
      : StageKind({.name = name,
                   .noun = noun,
                   .choices = choices,
                   .reads = combinable,
                   .makes = signal::combined | signal::readout,
                   .reads_before = true,
                   .is_new = true}) {}
  ~ResizeKind() = default;
};

// ---- parts ----------------------------------------------------------------------------------------------------------

ResizeParts::ResizeParts(StageMaker& maker, const ResizeKind& kind)
    : StageParts(maker.stage()), kind_(kind), spikes_(maker, reads_bits(maker.stage())) {
  const Flow& flow = stage()->output;
  const bool of_counts = flow.elements == Elements::counts;
  if (of_counts) counts_ = maker.array(SYNFIRE_DTYPE_U8, flow, kept_arrays::output);
  if (!of_counts || maker.parts().design.wants_counts_as_numbers(stage().index()))
    array_ = maker.array(reads_bits(stage()) ? SYNFIRE_DTYPE_BITS : maker.number(), flow, kept_arrays::output);
  if (maker.gradient().has_backward) gradient_ = maker.array(maker.number(), flow, kept_arrays::grad_output);
}

void ResizeParts::forward(StageRecorder& recorder) {
  const StageRecorder::Read input = recorder.read();
  Buffer* const numbers = recorder.written();
  Buffer& source = counts_ ? *input.counts : spikes_.pack(recorder, *input.array);
  recorder.append([&] { return kind_.forward(stage(), {&source, counts_ ? counts_.get() : numbers}); });
  if (counts_ && numbers) recorder.append([&] { return as_numbers(stage()->output, *counts_, *numbers); });
}

void ResizeParts::backward(StageRecorder& recorder) {
  const StageRecorder::Gradient before = recorder.gradient();
  if (!before.array) return;
  recorder.append([&] { return kind_.backward(stage(), {recorder.output_gradient(), before.array, before.add}); });
}

// ---- upsampling -----------------------------------------------------------------------------------------------------

struct UpsampleSettings final : SettingsOf<UpsampleSettings> {
  operations::UpsampleScales scales = {};
};

class UpsampleKind final : public ResizeKind {
 public:
  constexpr UpsampleKind() : ResizeKind("upsample", "an upsampled map", upsample_choices) {}

  std::unique_ptr<StageSettings> settings(const Design&, Choices choices) const override {
    auto settings = std::make_unique<UpsampleSettings>();
    const AxisNumbers scale = axis_numbers(choices, 0, 2);
    settings->scales = {scale.y, scale.x};
    return settings;
  }
  std::string describe(const StageView& view) const override {
    const operations::UpsampleScales scales = scales_of(view);
    return std::to_string(scales.y) + "x" + std::to_string(scales.x);
  }
  void write(const StageView& view, StageKeyValues& words) const override {
    words.before_seed.add_whole("scale_y", static_cast<uint64_t>(scales_of(view).y));
    words.before_seed.add_whole("scale_x", static_cast<uint64_t>(scales_of(view).x));
  }
  void read(Stage& stage, KeyValueReader& words, const Context&) const override {
    auto settings = std::make_unique<UpsampleSettings>();
    settings->scales.y = static_cast<int64_t>(words.take_whole("scale_y", INT64_MAX));
    settings->scales.x = static_cast<int64_t>(words.take_whole("scale_x", INT64_MAX));
    stage.settings = std::move(settings);
  }
  void compare_choice(const Stage& here, const Stage& there) const override {
    const operations::UpsampleScales one = here.as<UpsampleSettings>().scales,
                                     other = there.as<UpsampleSettings>().scales;
    compare_whole(here, "scale_y", one.y, other.y);
    compare_whole(here, "scale_x", one.x, other.x);
  }

  operations::ResizeShape shape_of(const StageView& view) const override {
    return operations::upsampled_shape(maps_of(view), scales_of(view));
  }
  OperationList forward(const StageView& view, const operations::ResizeBuffers& buffers) const override {
    return operations::upsample(maps_of(view), scales_of(view), buffers);
  }
  OperationList backward(const StageView& view, const operations::ResizeGradients& buffers) const override {
    return operations::upsample_backward(maps_of(view), scales_of(view), buffers);
  }

 private:
  static operations::UpsampleScales scales_of(const StageView& view) { return view->as<UpsampleSettings>().scales; }
};

// ---- borders --------------------------------------------------------------------------------------------------------

struct PadSettings final : SettingsOf<PadSettings> {
  operations::PadBorders borders = {};
};

struct BorderNumber {
  const char* name;
  int64_t operations::PadBorders::*of;
};
constexpr BorderNumber border_numbers[] = {{"left", &operations::PadBorders::left},
                                           {"right", &operations::PadBorders::right},
                                           {"top", &operations::PadBorders::top},
                                           {"bottom", &operations::PadBorders::bottom}};

class PadKind final : public ResizeKind {
 public:
  constexpr PadKind() : ResizeKind("pad", "a map with a border", pad_choices) {}

  std::unique_ptr<StageSettings> settings(const Design&, Choices choices) const override {
    auto settings = std::make_unique<PadSettings>();
    const int64_t all = choices[0] == not_given ? 0 : choices[0];
    for (size_t i = 0; i < std::size(border_numbers); ++i)
      settings->borders.*border_numbers[i].of = choices[i + 1] == not_given ? all : choices[i + 1];
    return settings;
  }
  std::string describe(const StageView& view) const override {
    std::string text;
    for (const BorderNumber& number : border_numbers)
      text.append(text.empty() ? "" : ", ")
          .append(number.name)
          .append(" ")
          .append(std::to_string(borders_of(view).*number.of));
    return text;
  }
  // Borders may be negative.
  void write(const StageView& view, StageKeyValues& words) const override {
    for (const BorderNumber& number : border_numbers)
      words.before_seed.add_number(number.name, static_cast<double>(borders_of(view).*number.of));
  }
  void read(Stage& stage, KeyValueReader& words, const Context&) const override {
    auto settings = std::make_unique<PadSettings>();
    for (const BorderNumber& number : border_numbers) {
      const double given = words.take_number(number.name);
      if (!(std::fabs(given) <= value::most_whole) || given != std::floor(given))
        words.fail(number.name, text_of(given), "an integer");
      settings->borders.*number.of = static_cast<int64_t>(given);
    }
    stage.settings = std::move(settings);
  }
  void compare_choice(const Stage& here, const Stage& there) const override {
    for (const BorderNumber& number : border_numbers)
      compare_whole(here, number.name, here.as<PadSettings>().borders.*number.of,
                    there.as<PadSettings>().borders.*number.of);
  }

  operations::ResizeShape shape_of(const StageView& view) const override {
    return operations::padded_shape(maps_of(view), borders_of(view));
  }
  OperationList forward(const StageView& view, const operations::ResizeBuffers& buffers) const override {
    return operations::pad(maps_of(view), borders_of(view), buffers);
  }
  OperationList backward(const StageView& view, const operations::ResizeGradients& buffers) const override {
    return operations::pad_backward(maps_of(view), borders_of(view), buffers);
  }

 private:
  static operations::PadBorders borders_of(const StageView& view) { return view->as<PadSettings>().borders; }
};

constexpr UpsampleKind the_upsampling;
constexpr PadKind the_border;

}  // namespace

const StageKind &upsample_kind = the_upsampling, &pad_kind = the_border;

}  // namespace synfire::network

// Pools of maps: maxima, sums and means of windows. Sums of spikes and counts are counts if a byte holds them. So are
// their means in f32: what a synapse reads are the sums, times 1 / window, and all others read numbers.
#include "combined.hpp"
#include "map_choices.hpp"
#include "packed_spikes.hpp"
#include "stage_kinds.hpp"

#include <network/constant_names.hpp>
#include <network/kept_arrays.hpp>
#include <network/stage_key_values.hpp>
#include <network/stage_recorder.hpp>

#include <operations/pool/pool.hpp>

namespace synfire::network {

using namespace synfire::core;

namespace {

using operations::PoolKind;
using operations::PoolWindows;

constexpr const char* pool_kind_list[] = {"max", "sum", "mean"};
constexpr ConstantNames pool_kinds{pool_kind_list};

constexpr ChoiceSpec pool_choices[] = {{"kind", &pool_kinds},   of_axis("window"),  of_axis("window_height"),
                                       of_axis("window_width"), of_axis("stride"),  of_axis("stride_y"),
                                       of_axis("stride_x"),     of_axis("padding"), of_axis("padding_y"),
                                       of_axis("padding_x")};

struct PoolSettings final : SettingsOf<PoolSettings> {
  PoolWindows windows = {};  // without what the input has; 0: the default
};

// The numbers of a file.
struct PoolNumber {
  const char* name;
  int64_t PoolWindows::*of;
};
constexpr PoolNumber pool_numbers[] = {
    {"window_height", &PoolWindows::kernel_height}, {"window_width", &PoolWindows::kernel_width},
    {"stride_y", &PoolWindows::stride_y},           {"stride_x", &PoolWindows::stride_x},
    {"padding_y", &PoolWindows::padding_y},         {"padding_x", &PoolWindows::padding_x}};

PoolKind kind_of(const StageView& view) {
  return static_cast<PoolKind>(view->as<PoolSettings>().windows.kind);
}

constexpr int32_t largest_count = 255;

// ---- what it reads --------------------------------------------------------------------------------------------------

bool is_of_integers(const StageView& view) {
  const Flow in = view.flow();
  return in.elements == Elements::spikes || (in.elements == Elements::counts && in.count_scale == 1);
}

PoolWindows windows_of(const StageView& view) {
  const Flow in = view.flow();
  PoolWindows windows = view->as<PoolSettings>().windows;
  windows.n_steps = in.n_steps;
  windows.batch = in.batch;
  windows.channels = in.channels;
  windows.height = in.height;
  windows.width = in.width;
  windows.count_bound = is_of_integers(view) ? in.bound : 1;
  return windows;
}

// The largest sum of integers.
int64_t sum_bound(const StageView& view) {
  const int64_t window = operations::pool_shape(windows_of(view)).window();
  return window > largest_count ? window : window * view.flow().bound;
}

bool makes_counts(const StageView& view) {
  const bool in_f32 = view.rules().dtype == SYNFIRE_DTYPE_F32;
  if (!is_of_integers(view)) return false;
  if (kind_of(view) == PoolKind::max) return view.flow().elements == Elements::counts;
  return (kind_of(view) == PoolKind::sum || in_f32) && sum_bound(view) <= largest_count;
}

// Integers are read as they are stored, unless an f64 network takes what a byte does not hold, or the readers of
// maxima of spikes take numbers.
bool reads_integers(const StageView& view) {
  if (!is_of_integers(view)) return false;
  if (makes_counts(view)) return true;
  if (kind_of(view) == PoolKind::max) return !view.design().wants_numbers(view.index(), Port::output);
  return view.rules().dtype == SYNFIRE_DTYPE_F32;
}

// ---- parts ----------------------------------------------------------------------------------------------------------

class PoolParts final : public StageParts {
 public:
  explicit PoolParts(StageMaker& maker)
      : StageParts(maker.stage()), reads_integers_(reads_integers(maker.stage())), spikes_(maker, reads_integers_) {
    const Design& design = maker.parts().design;
    const size_t index = stage().index();
    const Flow& flow = stage()->output;
    const bool of_counts = flow.elements == Elements::counts, is_mean = flow.count_scale != 1;
    const bool as_counts = of_counts && (!is_mean || design.wants_counts(index)),
               as_numbers = !of_counts || design.wants_counts_as_numbers(index);
    if (as_counts) counts_ = maker.array(SYNFIRE_DTYPE_U8, flow, kept_arrays::output);
    if (as_numbers) {
      const bool packed = flow.elements == Elements::spikes && reads_integers_;
      array_ = maker.array(packed ? SYNFIRE_DTYPE_BITS : maker.number(), flow, kept_arrays::output);
    }
    if (!maker.gradient().has_backward) return;
    if (as_numbers || !is_mean) gradient_ = maker.array(maker.number(), flow, kept_arrays::grad_output);
    if (as_counts && is_mean) count_gradient_ = maker.array(maker.number(), flow, kept_arrays::grad_output);
  }

  Buffer* array(Port) const noexcept override { return array_.get(); }
  Buffer* counts() const noexcept override { return counts_.get(); }
  Buffer* gradient(Port port) const noexcept override {
    return port == Port::counts ? count_gradient_.get() : gradient_.get();
  }

  void forward(StageRecorder& recorder) override {
    Buffer& source = spikes_.pack(recorder, source_of(recorder));
    Buffer* const numbers = recorder.written();
    const bool is_mean = stage()->output.count_scale != 1;
    // The mean of one place is a sum too.
    const bool sums = kind_of(stage()) == PoolKind::mean;
    if (counts_) record(recorder, sums ? PoolKind::sum : kind_of(stage()), source, *counts_);
    if (!numbers) return;
    if (counts_ && !is_mean)
      recorder.append([&] { return as_numbers(stage()->output, *counts_, *numbers); });
    else
      record(recorder, kind_of(stage()), source, *numbers);
  }

  // The gradient of the means comes first, and then that of counts that stand for them.
  void backward(StageRecorder& recorder) override {
    const StageRecorder::Gradient before = recorder.gradient();
    if (!before.array) return;
    bool add = before.add;
    const auto record = [&](PoolKind kind, Buffer* gradient) {
      if (!gradient) return;
      Buffer* const source = kind == PoolKind::max ? &spikes_.packed(source_of(recorder)) : nullptr;
      recorder.append([&] { return operations::pool_backward({windows(kind), gradient, source, before.array, add}); });
      add = true;
    };
    record(kind_of(stage()), recorder.output_gradient());
    record(PoolKind::sum, recorder.output_gradient(Port::counts));
  }

 private:
  Buffer& source_of(const StageRecorder& recorder) const noexcept {
    const StageRecorder::Read input = recorder.read();
    return reads_integers_ && stage().flow().elements == Elements::counts ? *input.counts : *input.array;
  }
  PoolWindows windows(PoolKind kind) const {
    PoolWindows windows = windows_of(stage());
    windows.kind = static_cast<int32_t>(kind);
    return windows;
  }
  void record(StageRecorder& recorder, PoolKind kind, Buffer& from, Buffer& to) const {
    recorder.append([&] { return operations::pool({windows(kind), &from, &to}); });
  }

  const bool reads_integers_;
  const PackedSpikes spikes_;
  Ref<Buffer> array_, counts_;             // [T, B, M]; null: nothing reads it
  Ref<Buffer> gradient_, count_gradient_;  // likewise; of means and of counts that stand for them
};

// ---- the kind -------------------------------------------------------------------------------------------------------

class PoolStage final : public StageKind {
 public:
  constexpr PoolStage()
      : StageKind({.name = "pool",
                   .noun = "a pool",
                   .choices = pool_choices,
                   .reads = combinable,
                   .makes = signal::combined | signal::readout,
                   .reads_before = true,
                   .is_new = true}) {}

  std::unique_ptr<StageSettings> settings(const Design&, Choices choices) const override {
    check_choice(static_cast<int32_t>(choices[0]), "kind", SYNFIRE_POOL_MEAN,
                 "SYNFIRE_POOL_MAX (0), _SUM (1) and _MEAN (2)");
    auto settings = std::make_unique<PoolSettings>();
    PoolWindows& windows = settings->windows;
    const AxisNumbers window = axis_numbers(choices, 1, 0), stride = axis_numbers(choices, 4, 0),
                      padding = axis_numbers(choices, 7, 0);
    windows.kind = static_cast<int32_t>(choices[0]);
    windows.kernel_height = window.y;
    windows.kernel_width = window.x;
    windows.stride_y = stride.y;
    windows.stride_x = stride.x;
    windows.padding_y = padding.y;
    windows.padding_x = padding.x;
    return settings;
  }
  uint32_t makes(const StageView& view) const override { return combined_of(view); }
  Flow shape(const StageView& view) const override {
    Flow flow = view.flow();
    in_stage(view.stage(), [&] {
      const operations::PoolShape map = operations::pool_shape(windows_of(view));
      const bool in_f32 = view.rules().dtype == SYNFIRE_DTYPE_F32, is_max = kind_of(view) == PoolKind::max;
      if (is_of_integers(view) && in_f32 && !is_max) operations::check_sums_in_f32(map, flow.bound);
      flow.height = map.y.n_outputs;
      flow.width = map.x.n_outputs;
      if (makes_counts(view)) {
        flow.elements = Elements::counts;
        if (!is_max) flow.bound = static_cast<int32_t>(sum_bound(view));
        if (kind_of(view) == PoolKind::mean)
          flow.count_scale = static_cast<float>(1.0 / static_cast<double>(map.window()));
      } else if (!is_max || flow.elements != Elements::spikes) {
        flow.elements = Elements::values;
        flow.bound = 1;
        flow.count_scale = 1;
      }
    });
    check_size(view.rules(), flow.n_features(), "the number of features");
    return flow;
  }
  void check(const StageView&) const override {}
  bool reads_numbers(const StageView& view) const override { return !reads_integers(view); }
  bool takes_counts(const StageView& view) const override {
    return reads_integers(view) && view.flow().elements == Elements::counts;
  }
  std::optional<StageOutput> output(const StageView& view) const override { return combined_output(view); }

  std::string describe(const StageView& view) const override {
    const PoolWindows& windows = view->as<PoolSettings>().windows;
    const operations::PoolShape map = operations::pool_shape(windows_of(view));
    std::string text = pool_kind_list[windows.kind];
    text.append(" of ").append(std::to_string(map.y.kernel)).append("x").append(std::to_string(map.x.kernel));
    if (map.y.stride != map.y.kernel || map.x.stride != map.x.kernel)
      text.append(", stride ").append(text_of_axes(map.y.stride, map.x.stride));
    if (map.y.padding != 0 || map.x.padding != 0)
      text.append(", padding ").append(text_of_axes(map.y.padding, map.x.padding));
    const Flow& flow = view->output;
    return flow.elements == Elements::counts ? text.append(", counts to ").append(std::to_string(flow.bound)) : text;
  }

  void write(const StageView& view, StageKeyValues& words) const override {
    const PoolWindows& windows = view->as<PoolSettings>().windows;
    write_choice(words, windows.kind);
    for (const PoolNumber& number : pool_numbers)
      if (windows.*number.of != 0) words.before_seed.add_whole(number.name, static_cast<uint64_t>(windows.*number.of));
  }
  void read(Stage& stage, KeyValueReader& words, const Context&) const override {
    auto settings = std::make_unique<PoolSettings>();
    settings->windows.kind = take_choice(words);
    check_choice(settings->windows.kind, "choice", SYNFIRE_POOL_MEAN, "0, 1 and 2");
    for (const PoolNumber& number : pool_numbers)
      settings->windows.*number.of = static_cast<int64_t>(words.take_whole(number.name, INT64_MAX, 0));
    stage.settings = std::move(settings);
  }
  void compare_choice(const Stage& here, const Stage& there) const override {
    const PoolWindows &one = here.as<PoolSettings>().windows, &other = there.as<PoolSettings>().windows;
    compare_whole(here, "the kind", one.kind, other.kind);
    for (const PoolNumber& number : pool_numbers) compare_whole(here, number.name, one.*number.of, other.*number.of);
  }

  std::unique_ptr<StageParts> make(StageMaker& maker) const override { return std::make_unique<PoolParts>(maker); }
};

constexpr PoolStage the_pool;

}  // namespace

const StageKind& pool_kind = the_pool;

}  // namespace synfire::network

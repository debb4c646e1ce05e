// A convolution of maps, whose product is read as that of a synapse.
#include "map_choices.hpp"
#include "stage_kinds.hpp"
#include "synapse_parts.hpp"

#include <network/constant_names.hpp>
#include <network/stage_key_values.hpp>
#include <network/state_arrays.hpp>

#include <synapses/conv2d/conv2d.hpp>

#include <array>

namespace synfire::network {

using namespace synfire::core;

namespace {

constexpr ChoiceSpec conv2d_choices[] = {{"output_channels", nullptr, true, "weights_of"},
                                         {"weights_of", nullptr, false, nullptr, true},
                                         of_axis("kernel"),
                                         of_axis("kernel_height"),
                                         of_axis("kernel_width"),
                                         of_axis("stride"),
                                         of_axis("stride_y"),
                                         of_axis("stride_x"),
                                         of_axis("padding"),
                                         of_axis("padding_y"),
                                         of_axis("padding_x"),
                                         of_axis("dilation"),
                                         of_axis("dilation_y"),
                                         of_axis("dilation_x"),
                                         of_axis("output_padding"),
                                         of_axis("output_padding_y"),
                                         of_axis("output_padding_x"),
                                         of_axis("groups"),
                                         of_axis("transposed")};

constexpr ValueSpec conv2d_values[] = {
    {"bias", 1, 0, 1, value::whole, value::fixed},
    {"frozen", 0, 0, 1, value::whole, value::changes, value::on_training},
    {"gradient_bits", 0, 0, 32, value::whole, value::fixed, value::on_training},
    {"input_gradient_bits", 0, 0, 32, value::whole, value::fixed, value::on_training},
    {"initialization", 0, 0, SYNFIRE_INITIALIZATION_ZERO, value::whole, value::fixed, value::on_none, value::always,
     &names::initializations},
    {"gain", 1, value::above_0, 1e30, value::any, value::fixed, value::on_none},
    {"seed", 0, 0, value::most_whole, value::whole, value::fixed},
    {"learning_rate_factor", 1, 0, value::largest, value::any, value::changes, value::on_training},
    {"weight_decay_factor", 1, 0, value::largest, value::any, value::changes, value::on_training},
    {"bias_learning_rate_factor", 1, 0, value::largest, value::any, value::changes, value::on_training},
    {"bias_weight_decay_factor", 0, 0, value::largest, value::any, value::changes, value::on_training},
    {"weight_bits", 0, 0, 24, value::whole, value::fixed},
};

// The numbers of the kernel, for files.
struct KernelNumber {
  const char* name;
  int64_t synfire_conv2d_desc::*of;
};
constexpr KernelNumber kernel_numbers[] = {{"output_channels", &synfire_conv2d_desc::output_channels},
                                           {"kernel_height", &synfire_conv2d_desc::kernel_height},
                                           {"kernel_width", &synfire_conv2d_desc::kernel_width},
                                           {"stride_y", &synfire_conv2d_desc::stride_y},
                                           {"stride_x", &synfire_conv2d_desc::stride_x},
                                           {"padding_y", &synfire_conv2d_desc::padding_y},
                                           {"padding_x", &synfire_conv2d_desc::padding_x},
                                           {"dilation_y", &synfire_conv2d_desc::dilation_y},
                                           {"dilation_x", &synfire_conv2d_desc::dilation_x},
                                           {"output_padding_y", &synfire_conv2d_desc::output_padding_y},
                                           {"output_padding_x", &synfire_conv2d_desc::output_padding_x},
                                           {"groups", &synfire_conv2d_desc::groups}};

struct Conv2dSettings final : SettingsOf<Conv2dSettings> {
  std::vector<uint8_t> mask = {};                         // of the weights, or empty
  bool mask_in_file = false;                              // of a stage that is being read
  std::string weights_of = {};                            // the stage whose weights it uses, or empty
  synfire_conv2d_desc kernel = SYNFIRE_CONV2D_DESC_INIT;  // its numbers and `transposed` alone; of a stage with weights
};

const std::string& weights_of(const Stage& stage) {
  return stage.as<Conv2dSettings>().weights_of;
}

int32_t conv2d_input_kind(const StageView& view) {
  switch (view.flow().elements) {
    case Elements::spikes:
      return SYNFIRE_INPUT_SPIKES;
    case Elements::counts:
      return SYNFIRE_INPUT_COUNTS;
    default:
      return SYNFIRE_INPUT_VALUES;
  }
}

// The convolution of a stage on its own map, with the kernel of the owner of the weights.
synfire_conv2d_desc conv2d_desc(const StageView& view, const Stage& owner) {
  const Flow input = view.flow();
  synfire_conv2d_desc desc = owner.as<Conv2dSettings>().kernel;
  desc.input_kind = conv2d_input_kind(view);
  desc.channels = input.channels;
  desc.height = input.height;
  desc.width = input.width;
  if (input.elements == Elements::counts) {
    desc.count_bound = input.bound;
    desc.count_scale = input.count_scale;
  }
  desc.dtype = view.rules().dtype;
  desc.bias = owner.whole("bias");
  desc.frozen = owner.is_built_frozen() ? 1 : 0;
  desc.gradient_bits = owner.whole("gradient_bits");
  desc.input_gradient_bits = owner.whole("input_gradient_bits");
  desc.initialization = owner.whole("initialization");
  desc.gain = owner.value("gain");
  desc.seed = owner.seed;
  desc.weight_bits = owner.whole("weight_bits");
  const std::vector<uint8_t>& mask = owner.as<Conv2dSettings>().mask;
  desc.mask = mask.empty() ? nullptr : mask.data();
  desc.mask_length = mask.size();
  return desc;
}
operations::Conv2dSpec spec_of(const StageView& view) {
  return operations::Conv2dSpec(conv2d_desc(view, owner_of(view).stage()));
}

std::array<int64_t, 4> weight_lengths(const StageView& view) {
  const operations::Conv2dShape map = spec_of(view).shape;
  return {map.output_channels, map.y.kernel, map.x.kernel, map.group_inputs()};
}
class Conv2dStage final : public StageKind {
 public:
  constexpr Conv2dStage()
      : StageKind(
            {.name = "conv2d",
             .noun = "a convolution",
             .choices = conv2d_choices,
             .values = conv2d_values,
             .reads = signal::input | signal::spikes | signal::v | signal::masked | signal::readout | signal::combined,
             .makes = signal::product,
             .awaits = Awaits::unshaped,
             .takes_steps = true,
             .reads_before = true,
             .draws_for = purpose::weights,
             .is_new = true}) {}

  std::unique_ptr<StageSettings> settings(const Design& design, Choices choices) const override {
    auto settings = std::make_unique<Conv2dSettings>();
    if (choices[1] != 0) {
      settings->weights_of = design.stages()[static_cast<size_t>(choices[1] - 1)].name;
      check_no_kernel(choices, settings->weights_of);
      return settings;
    }
    synfire_conv2d_desc& kernel = settings->kernel;
    const AxisNumbers size = axis_numbers(choices, 2, 1), stride = axis_numbers(choices, 5, 1),
                      padding = axis_numbers(choices, 8, 0), dilation = axis_numbers(choices, 11, 1),
                      output_padding = axis_numbers(choices, 14, 0);
    kernel.output_channels = choices[0];
    kernel.kernel_height = size.y;
    kernel.kernel_width = size.x;
    kernel.stride_y = stride.y;
    kernel.stride_x = stride.x;
    kernel.padding_y = padding.y;
    kernel.padding_x = padding.x;
    kernel.dilation_y = dilation.y;
    kernel.dilation_x = dilation.x;
    kernel.output_padding_y = output_padding.y;
    kernel.output_padding_x = output_padding.x;
    kernel.groups = choices[17] == not_given ? 1 : choices[17];
    if (choices[18] != not_given && choices[18] != 0 && choices[18] != 1)
      fail_argument("SYN-NETWORK-FLAG", "transposed is %lld; 0 and 1 are allowed", static_cast<long long>(choices[18]));
    kernel.transposed = choices[18] == 1 ? 1 : 0;
    return settings;
  }
  Flow shape(const StageView& view) const override {
    const StageView owner = checked_owner(view, view->as<Conv2dSettings>().weights_of);
    Flow flow = {view.flow().n_steps, view.rules().batch};
    in_stage(view.stage(), [&] {
      const Flow output = operations::Conv2dSpec(conv2d_desc(view, owner.stage())).output();
      flow.height = output.height;
      flow.width = output.width;
      flow.channels = output.channels;
    });
    check_size(view.rules(), flow.n_features(), "the number of outputs");
    return flow;
  }
  void check(const StageView& view) const override {
    const StageView owner = checked_owner(view, view->as<Conv2dSettings>().weights_of);
    in_stage(view.stage(), [&] { operations::Conv2dSpec(conv2d_desc(view, owner.stage())); });
    if (owner.index() == view.index()) return;
    const Flow mine = view.flow(), others = owner.flow();
    if (mine.channels != others.channels)
      fail_argument(
          "SYN-NETWORK-SHAPE",
          "stage \"%s\" reads %lld channels of stage \"%s\" and uses the weights of stage \"%s\", which reads "
          "%lld of stage \"%s\"; both must be the same",
          view->name.c_str(), static_cast<long long>(mine.channels), view.input()->name.c_str(), owner->name.c_str(),
          static_cast<long long>(others.channels), owner.input()->name.c_str());
    check_shared_input(view, owner);
    if (mine.count_scale != others.count_scale)
      fail_argument(
          "SYN-NETWORK-SHAPE",
          "stage \"%s\" reads counts of %g each and uses the weights of stage \"%s\", which reads counts of %g "
          "each; both must be the same",
          view->name.c_str(), static_cast<double>(mine.count_scale), owner->name.c_str(),
          static_cast<double>(others.count_scale));
    if (mine.elements != others.elements || mine.bound > others.bound)
      fail_argument(
          "SYN-NETWORK-SHAPE",
          "stage \"%s\" reads %s to %d and uses the weights of stage \"%s\", which reads %s to %d; it can read "
          "no more",
          view->name.c_str(), mine.elements == Elements::counts ? "counts" : "values", mine.bound, owner->name.c_str(),
          others.elements == Elements::counts ? "counts" : "values", others.bound);
  }
  bool takes_counts(const StageView& view) const override { return view.flow().elements == Elements::counts; }
  bool has_weights(const StageView& view) const override { return !weights_of(view); }
  bool learns(const StageView& view) const override { return !owner_of(view)->is_built_frozen(); }
  std::optional<size_t> weights_of(const StageView& view) const override {
    return weights_of_stage(view, network::weights_of(view.stage()));
  }

  std::string describe(const StageView& view) const override {
    if (const std::string& owner = network::weights_of(view.stage()); !owner.empty()) return "weights of " + owner;
    const synfire_conv2d_desc& kernel = view->as<Conv2dSettings>().kernel;
    std::string text = std::to_string(kernel.kernel_height) + "x" + std::to_string(kernel.kernel_width);
    const auto add = [&](const char* name, int64_t y, int64_t x, int64_t otherwise) {
      if (y != otherwise || x != otherwise) text.append(", ").append(name).append(" ").append(text_of_axes(y, x));
    };
    add("stride", kernel.stride_y, kernel.stride_x, 1);
    add("padding", kernel.padding_y, kernel.padding_x, 0);
    add("dilation", kernel.dilation_y, kernel.dilation_x, 1);
    add("output padding", kernel.output_padding_y, kernel.output_padding_x, 0);
    if (kernel.groups > 1) text.append(", ").append(std::to_string(kernel.groups)).append(" groups");
    const int bits = view->whole("weight_bits");
    if (bits == 8 || bits == 16) text.append(bits == 8 ? ", 8 bits" : ", 16 bits");
    return text.append(kernel.transposed == 1 ? ", transposed" : "")
        .append(view->flag("frozen") ? ", frozen" : "")
        .append(view->as<Conv2dSettings>().mask.empty() ? "" : ", masked");
  }
  // PyTorch has channels before places, and those of the input first in a transposed convolution.
  std::vector<ArrayLayout> layouts(const StageView& view) const override {
    const auto [n_outputs, height, width, n_inputs] = weight_lengths(view);
    const int64_t places = height * width;
    if (view->as<Conv2dSettings>().kernel.transposed == 0)
      return {{"oihw",
               {n_outputs, n_inputs, height, width},
               {n_outputs, height, width, n_inputs},
               {n_inputs * places, width, 1, places}}};
    const int64_t n_groups = view->as<Conv2dSettings>().kernel.groups, group_outputs = n_outputs / n_groups;
    return {{"iohw",
             {n_groups * n_inputs, group_outputs, height, width},
             {n_groups, group_outputs, height, width, n_inputs},
             {n_inputs * group_outputs * places, places, width, 1, group_outputs * places}}};
  }
  int64_t n_learnt(const StageView& view) const override {
    if (weights_of(view)) return 0;
    const operations::Conv2dShape map = spec_of(view).shape;
    return map.output_channels * map.n_terms() + (view->flag("bias") ? map.output_channels : 0);
  }

  void write(const StageView& view, StageKeyValues& words) const override {
    const auto& settings = view->as<Conv2dSettings>();
    if (!settings.weights_of.empty()) return words.before_seed.add("weights_of", settings.weights_of);
    for (const KernelNumber& number : kernel_numbers)
      words.before_seed.add_whole(number.name, static_cast<uint64_t>(settings.kernel.*number.of));
    words.before_seed.add_whole("transposed", static_cast<uint64_t>(settings.kernel.transposed));
    if (!settings.mask.empty()) words.after_seed.add_whole("has_mask", 1);
    // A file holds the numbers that defaults stand for.
    for (const char* const name : {"gradient_bits", "input_gradient_bits", "weight_bits"})
      words.values[static_cast<size_t>(view->find_spec(name) - conv2d_values)] = bits_of(view, name);
  }
  void read(Stage& stage, KeyValueReader& words, const Context&) const override {
    auto settings = std::make_unique<Conv2dSettings>();
    settings->weights_of = words.take("weights_of", "");
    if (settings->weights_of.empty()) {
      for (const KernelNumber& number : kernel_numbers)
        settings->kernel.*number.of = static_cast<int64_t>(words.take_whole(number.name, INT64_MAX));
      settings->kernel.transposed = static_cast<int32_t>(words.take_whole("transposed", 1));
      settings->mask_in_file = words.take_whole("has_mask", 1, 0) == 1;
    }
    stage.settings = std::move(settings);
  }
  void write_tensors(const StageView& view, files::SafetensorsWriter& writer) const override {
    const std::vector<uint8_t>& mask = view->as<Conv2dSettings>().mask;
    if (mask.empty()) return;
    writer.add(mask_name(view.stage()), files::Dtype::u8, weight_lengths(view), std::as_bytes(std::span(mask)));
  }
  // Limits the weights to those of the file.
  void read_tensors(Design& design, size_t index, const Stage& read,
                    const files::SafetensorsFile& file) const override {
    const StageView view = design.view(index);
    if (weights_of(view)) return;
    const std::array<int64_t, 4> lengths = weight_lengths(view);
    file.bytes(view->name + ".weights", file_type_of(design.rules().dtype), lengths);
    if (!read.as<Conv2dSettings>().mask_in_file) return;
    const auto bytes = file.bytes(mask_name(view.stage()), files::Dtype::u8, lengths);
    set_kernel_mask(design, index, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  }
  void compare_rest(const Stage& here, const Stage& there, bool) const override {
    if (here.as<Conv2dSettings>().mask != there.as<Conv2dSettings>().mask)
      fail_argument("SYN-NETWORK-OTHER", "the mask of stage \"%s\" is not that of the file", here.name.c_str());
  }
  // A default stands for a number.
  void compare_value(const StageView& here, const StageView& there, const ValueSpec& spec) const override {
    if (!std::string_view(spec.name).ends_with("_bits")) return StageKind::compare_value(here, there, spec);
    // Weights of f64 have none: that the types differ is another check's.
    const auto bits = [&](const StageView& view) {
      const int number = bits_of(view, spec.name);
      return number == 0 ? 24 : number;
    };
    compare_whole(here.stage(), spec.name, bits(here), bits(there));
  }
  void compare_choice(const Stage& here, const Stage& there) const override {
    const auto &one = here.as<Conv2dSettings>(), &other = there.as<Conv2dSettings>();
    if (one.weights_of != other.weights_of)
      fail_other(here, "weights_of", one.weights_of.empty() ? "none" : one.weights_of,
                 other.weights_of.empty() ? "none" : other.weights_of);
    for (const KernelNumber& number : kernel_numbers)
      compare_whole(here, number.name, one.kernel.*number.of, other.kernel.*number.of);
    compare_whole(here, "transposed", one.kernel.transposed, other.kernel.transposed);
  }

  std::unique_ptr<StageParts> make(StageMaker& maker) const override {
    const operations::Conv2dSpec spec = spec_of(maker.stage());
    const std::vector<uint8_t>& given = maker.stage()->as<Conv2dSettings>().mask;
    const uint8_t* const mask = given.empty() ? nullptr : given.data();
    return std::make_unique<SynapseParts>(
        maker,
        [&]() -> Ref<Synapse> {
          return Ref<Synapse>::adopt(maker.is_planned() ? operations::Conv2dSynapse::make(maker.context(), spec, mask)
                                                        : operations::make_conv2d(maker.context(), spec, mask));
        },
        [&](Synapse& owner) -> Synapse& {
          auto& kernel = static_cast<operations::Conv2dSynapse&>(owner);
          const operations::Conv2dShape &own = spec.shape, &others = kernel.map();
          const bool is_same = own.y.n_inputs == others.y.n_inputs && own.x.n_inputs == others.x.n_inputs;
          return is_same ? kernel : kernel.on_map(spec);
        });
  }

 private:
  static int bits_of(const StageView& view, std::string_view name) {
    const operations::Conv2dSpec spec = spec_of(view);
    return name == "gradient_bits"         ? spec.matrix.gradient_bits
           : name == "input_gradient_bits" ? spec.input_gradient_bits
                                           : spec.matrix.weight_bits;
  }
  static void check_no_kernel(Choices choices, const std::string& owner) {
    for (size_t i = 0; i < choices.size(); ++i)
      if (i != 1 && choices[i] != conv2d_choices[i].absent)
        fail_argument("SYN-NETWORK-VALUE",
                      "\"%s\" is %lld; the stage uses the weights of stage \"%s\", whose kernel it has",
                      conv2d_choices[i].name, static_cast<long long>(choices[i]), owner.c_str());
  }
};

constexpr Conv2dStage the_conv2d;

}  // namespace

const StageKind& conv2d_kind = the_conv2d;

void set_kernel_mask(Design& design, size_t conv2d, std::span<const uint8_t> mask) {
  const StageView view = design.view(conv2d);
  if (conv2d_kind.weights_of(view)) fail_mask(view.stage(), weights_of(view.stage()));
  check_awaits_nothing(view);
  check_mask(mask, weight_lengths(view));
  static_cast<Conv2dSettings&>(design.settings(conv2d)).mask.assign(mask.begin(), mask.end());
}

}  // namespace synfire::network

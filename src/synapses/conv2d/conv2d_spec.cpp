#include "conv2d_spec.hpp"

#include <base/error.hpp>
#include <synapses/dense/dense_kernels.hpp>

#include <algorithm>
#include <limits>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// So that every index on an axis, and distances between two, fit 32 bits.
constexpr int64_t longest = int64_t{1} << 29;
// So that sizes in bytes can be computed.
constexpr int64_t most_elements = int64_t{1} << 40;
// Counts of an output add up to at most this in products, whose sums are then exact in f64.
constexpr int64_t most_counts = int64_t{1} << 30;

struct AxisFields {
  const char* axis;  // "height" or "width"
  const char *kernel_name, *stride_name, *padding_name, *dilation_name, *extra_name;
  int64_t length, kernel, stride, padding, dilation, extra;
};

int64_t or_one(int64_t value) {
  return value == 0 ? 1 : value;
}

void check_range(const char* rule, const char* name, int64_t value, int64_t least) {
  if (value < least || value > longest)
    fail_argument(rule, "desc.%s is %lld; %lld to 2^29 are allowed%s", name, static_cast<long long>(value),
                  static_cast<long long>(least), least == 1 ? " (0 means 1)" : "");
}

WindowAxis axis_of(AxisFields f, bool transposed) {
  f.length = or_one(f.length);
  f.kernel = or_one(f.kernel);
  f.stride = or_one(f.stride);
  f.dilation = or_one(f.dilation);
  check_range("SYN-CONV-MAP", f.axis, f.length, 1);
  check_range("SYN-CONV-KERNEL", f.kernel_name, f.kernel, 1);
  check_range("SYN-CONV-STRIDE", f.stride_name, f.stride, 1);
  check_range("SYN-CONV-PADDING", f.padding_name, f.padding, 0);
  check_range("SYN-CONV-DILATION", f.dilation_name, f.dilation, 1);
  check_range("SYN-CONV-PADDING", f.extra_name, f.extra, 0);
  // All of these are products and sums of numbers up to 2^29.
  const int64_t reach = f.dilation * (f.kernel - 1) + 1;
  int64_t n_outputs = 0;
  if (transposed) {
    if (f.extra >= f.stride && f.extra >= f.dilation)
      fail_argument("SYN-CONV-PADDING", "desc.%s is %lld; it must be below desc.%s (%lld) or desc.%s (%lld)",
                    f.extra_name, static_cast<long long>(f.extra), f.stride_name, static_cast<long long>(f.stride),
                    f.dilation_name, static_cast<long long>(f.dilation));
    n_outputs = (f.length - 1) * f.stride - 2 * f.padding + reach + f.extra;
    if (n_outputs < 1)
      fail_argument("SYN-CONV-KERNEL",
                    "desc.%s is %lld, and a kernel that reaches over %lld gives outputs of %lld without desc.%s = %lld "
                    "on both sides; at least 1 must remain",
                    f.axis, static_cast<long long>(f.length), static_cast<long long>(reach),
                    static_cast<long long>(n_outputs + 2 * f.padding), f.padding_name,
                    static_cast<long long>(f.padding));
  } else {
    if (f.extra != 0)
      fail_argument("SYN-CONV-PADDING", "desc.%s is %lld; it must be 0 unless desc.transposed is 1", f.extra_name,
                    static_cast<long long>(f.extra));
    const int64_t padded = f.length + 2 * f.padding;
    if (reach > padded)
      fail_argument("SYN-CONV-KERNEL",
                    "the kernel reaches over %lld (desc.%s is %lld, desc.%s %lld), but the padded map has a %s of %lld "
                    "(desc.%s is %lld, desc.%s %lld)",
                    static_cast<long long>(reach), f.kernel_name, static_cast<long long>(f.kernel), f.dilation_name,
                    static_cast<long long>(f.dilation), f.axis, static_cast<long long>(padded), f.axis,
                    static_cast<long long>(f.length), f.padding_name, static_cast<long long>(f.padding));
    n_outputs = (padded - reach) / f.stride + 1;
  }
  if (n_outputs > longest || reach > longest || f.length + 2 * f.padding > longest)
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-CONV-MAP",
         "desc.%s is %lld, which gives outputs of %lld; padded lengths, outputs and kernels reach at most 2^29", f.axis,
         static_cast<long long>(f.length), static_cast<long long>(n_outputs));
  WindowAxis axis;
  axis.n_inputs = static_cast<int32_t>(f.length);
  axis.n_outputs = static_cast<int32_t>(n_outputs);
  axis.kernel = static_cast<int32_t>(f.kernel);
  axis.stride = static_cast<int32_t>(f.stride);
  axis.padding = static_cast<int32_t>(f.padding);
  axis.dilation = static_cast<int32_t>(f.dilation);
  axis.transposed = transposed;
  return axis;
}

void check_channels(const char* name, int64_t value) {
  if (value < 1 || value > most_elements)
    fail_argument("SYN-CONV-MAP", "desc.%s is %lld; 1 to 2^40 are allowed", name, static_cast<long long>(value));
}

void check_map(const char* which, const WindowAxis& y, const WindowAxis& x, bool of_output, int64_t channels) {
  const int64_t height = of_output ? y.n_outputs : y.n_inputs, width = of_output ? x.n_outputs : x.n_inputs;
  int64_t count = 0;
  if (__builtin_mul_overflow(height * width, channels, &count) || count > most_elements)
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-CONV-MAP", "%s has %lld x %lld x %lld elements; at most 2^40 are allowed",
         which, static_cast<long long>(height), static_cast<long long>(width), static_cast<long long>(channels));
}

Conv2dShape shape_of(const synfire_conv2d_desc& desc) {
  check_flag(desc.transposed, "SYN-SYNAPSE-FLAG", "desc.transposed");
  check_channels("channels", desc.channels);
  check_channels("output_channels", desc.output_channels);
  Conv2dShape shape;
  const bool transposed = desc.transposed == 1;
  shape.y = axis_of({"height", "kernel_height", "stride_y", "padding_y", "dilation_y", "output_padding_y", desc.height,
                     desc.kernel_height, desc.stride_y, desc.padding_y, desc.dilation_y, desc.output_padding_y},
                    transposed);
  shape.x = axis_of({"width", "kernel_width", "stride_x", "padding_x", "dilation_x", "output_padding_x", desc.width,
                     desc.kernel_width, desc.stride_x, desc.padding_x, desc.dilation_x, desc.output_padding_x},
                    transposed);
  shape.channels = desc.channels;
  shape.output_channels = desc.output_channels;
  shape.groups = or_one(desc.groups);
  if (shape.groups < 1 || shape.channels % shape.groups != 0 || shape.output_channels % shape.groups != 0)
    fail_argument("SYN-CONV-GROUPS",
                  "desc.groups is %lld, desc.channels %lld and desc.output_channels %lld; groups must be positive and "
                  "divide both",
                  static_cast<long long>(desc.groups), static_cast<long long>(desc.channels),
                  static_cast<long long>(desc.output_channels));
  check_map("the input", shape.y, shape.x, false, shape.channels);
  check_map("the output", shape.y, shape.x, true, shape.output_channels);
  return shape;
}

Elements elements_of(int32_t input_kind) {
  switch (input_kind) {
    case SYNFIRE_INPUT_SPIKES:
      return Elements::spikes;
    case SYNFIRE_INPUT_VALUES:
      return Elements::values;
    case SYNFIRE_INPUT_COUNTS:
      return Elements::counts;
    default:
      fail_argument("SYN-SYNAPSE-INPUT-KIND",
                    "desc.input_kind is %d; allowed are SYNFIRE_INPUT_SPIKES (0), _VALUES (1) and _COUNTS (2)",
                    input_kind);
  }
}

int32_t bound_of(const synfire_conv2d_desc& desc) {
  if (desc.count_bound < 0 || desc.count_bound > 255)
    fail_argument("SYN-CONV-COUNTS", "desc.count_bound is %d; 1 to 255 are allowed (0 means 255)", desc.count_bound);
  if (desc.input_kind != SYNFIRE_INPUT_COUNTS) return 1;
  return desc.count_bound == 0 ? 255 : desc.count_bound;
}

float scale_of(const char* rule, int32_t input_kind, float count_scale) {
  if (count_scale == 0) return 1;
  if (input_kind != SYNFIRE_INPUT_COUNTS && count_scale != 1)
    fail_argument(rule, "desc.count_scale is %g; it must be 0 or 1 unless the input is counts",
                  static_cast<double>(count_scale));
  if (!(count_scale > 0) || count_scale > 1)
    fail_argument(rule, "desc.count_scale is %g; it must be above 0 and at most 1 (0 means 1)",
                  static_cast<double>(count_scale));
  return count_scale;
}

int input_bits_of(const synfire_conv2d_desc& desc) {
  const int bits = desc.input_gradient_bits;
  if (bits != 0 && bits != 16 && bits != 24 && bits != 32)
    fail_argument("SYN-CONV-INPUT-GRADIENT-BITS",
                  "desc.input_gradient_bits is %d; allowed are 16, 24, 32 and 0 for the default", bits);
  return bits == 0 ? 24 : bits;
}

// The matrix [output channels, K]. Its own checks see only the fields that both descriptors have.
DenseSpec matrix_of(const synfire_conv2d_desc& desc, const Conv2dShape& shape, int32_t count_bound) {
  int64_t n_terms = 0;
  const int64_t most = most_counts / count_bound;
  if (__builtin_mul_overflow(int64_t{shape.y.kernel} * shape.x.kernel, shape.group_inputs(), &n_terms) ||
      n_terms > std::min(most, int64_t{1} << 29))
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-CONV-INPUTS",
         "a kernel of %d x %d meets %lld channels; an output may have at most 2^29 inputs, and 2^30 counts (of up to "
         "%d each)",
         shape.y.kernel, shape.x.kernel, static_cast<long long>(shape.group_inputs()), count_bound);
  synfire_synapse_desc matrix = SYNFIRE_SYNAPSE_DESC_INIT;
  matrix.input_kind = desc.input_kind == SYNFIRE_INPUT_VALUES ? SYNFIRE_INPUT_VALUES : SYNFIRE_INPUT_SPIKES;
  matrix.n_inputs = n_terms;
  matrix.n_outputs = shape.output_channels;
  matrix.dtype = desc.dtype;
  matrix.bias = desc.bias;
  matrix.frozen = desc.frozen;
  matrix.gradient_bits = desc.gradient_bits == 0 ? 32 : desc.gradient_bits;
  matrix.initialization = desc.initialization;
  matrix.gain = desc.gain;
  matrix.seed = desc.seed;
  matrix.mask = desc.mask;
  matrix.mask_length = desc.mask_length;
  matrix.weight_bits = desc.weight_bits;
  return DenseSpec(matrix);
}

constexpr int32_t largest_count = 255;

// The matrix of a dense synapse of counts, of whose fields the checks of dense synapses see all but one.
DenseSpec counts_matrix_of(const synfire_synapse_desc& desc) {
  synfire_synapse_desc matrix = desc;
  matrix.input_kind = SYNFIRE_INPUT_SPIKES;
  matrix.count_scale = 1;
  const DenseSpec spec(matrix);
  if (spec.n_inputs > most_counts / largest_count)
    fail_argument("SYN-SYNAPSE-INPUTS", "desc.n_inputs is %lld; 1 to %lld are allowed with counts",
                  static_cast<long long>(spec.n_inputs), static_cast<long long>(most_counts / largest_count));
  if (spec.n_outputs > most_elements)
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-SYNAPSE-OVERFLOW",
         "desc.n_outputs is %lld; at most 2^40 are allowed with counts", static_cast<long long>(spec.n_outputs));
  return spec;
}

Conv2dShape one_place_of(const DenseSpec& matrix) {
  Conv2dShape shape;
  shape.channels = matrix.n_inputs;
  shape.output_channels = matrix.n_outputs;
  return shape;
}

// Products by tensor cores, in tiles of 64 channels and 32 outputs, are at least this many times as fast as those of
// threads that have an element each, and compute those that meet no output too.
constexpr double times_as_fast = 16;

// The part of the products of an input place, computed in tiles, that a kernel has.
double part_of_tiles(const Conv2dShape& shape) {
  const int64_t outputs = shape.n_taps() * shape.output_channels;
  return static_cast<double>(outputs) / static_cast<double>(DenseSpec::padded(outputs)) *
         (static_cast<double>(shape.channels) / static_cast<double>(DenseSpec::padded_columns(shape.channels)));
}

// The taps by which byte planes of the rows are arranged, for maps of any size.
int64_t taps_of(const Conv2dShape& shape, int input_gradient_bits, const DenseSpec& matrix) {
  const bool fits = matrix.has_grid() && shape.groups == 1 && input_gradient_bits < 32 &&
                    shape.output_channels <= cuda::most_tensor_outputs / shape.n_taps();
  return fits && times_as_fast * part_of_tiles(shape) >= 1 ? shape.n_taps() : 0;
}

}  // namespace

Conv2dSpec::Conv2dSpec(const synfire_synapse_desc& desc)
    : is_dense(true),
      elements(Elements::counts),
      count_bound(largest_count),
      count_scale(scale_of("SYN-SYNAPSE-COUNTS", desc.input_kind, desc.count_scale)),
      input_gradient_bits(24),
      matrix(counts_matrix_of(desc)) {
  shape = one_place_of(matrix);
  matrix.n_taps = taps_of(shape, input_gradient_bits, matrix);
}

Conv2dSpec::Conv2dSpec(const synfire_conv2d_desc& desc)
    : shape(shape_of(desc)),
      elements(elements_of(desc.input_kind)),
      count_bound(bound_of(desc)),
      count_scale(scale_of("SYN-CONV-COUNTS", desc.input_kind, desc.count_scale)),
      input_gradient_bits(input_bits_of(desc)),
      matrix(matrix_of(desc, shape, count_bound)) {
  matrix.n_taps = taps_of(shape, input_gradient_bits, matrix);
}

// Only some taps of a strided kernel meet an output at an input place.
bool Conv2dSpec::has_input_rows() const {
  const int64_t places = shape.input_places();
  const double meet = std::min(1.0, static_cast<double>(shape.places()) / static_cast<double>(places));
  return matrix.n_taps != 0 && places <= std::numeric_limits<uint32_t>::max() &&
         times_as_fast * part_of_tiles(shape) * meet >= 1;
}

Flow Conv2dSpec::input() const {
  Flow flow;
  flow.height = shape.y.n_inputs;
  flow.width = shape.x.n_inputs;
  flow.channels = shape.channels;
  flow.elements = elements;
  flow.bound = count_bound;
  flow.count_scale = count_scale;
  return flow;
}

Flow Conv2dSpec::output() const {
  Flow flow;
  flow.height = shape.y.n_outputs;
  flow.width = shape.x.n_outputs;
  flow.channels = shape.output_channels;
  return flow;
}

}  // namespace synfire::operations

// The object and the kind: the operations that a pass asks for.
#include "conv2d.hpp"

#include <base/error.hpp>
#include <base/make_room.hpp>
#include <operations/keep_inputs/keep_inputs.hpp>
#include <synapses/dense/dense.hpp>

#include <algorithm>
#include <cstdio>
#include <limits>

namespace synfire::operations {

using namespace synfire::core;

// ---- the object -----------------------------------------------------------------------------------------------------

namespace {

// Loops take 32 columns at a time.
constexpr uint64_t slack_bytes = 32 * sizeof(double);

SynapseShape shape_of(const Conv2dSpec& spec) {
  return {spec.input(),
          spec.output(),
          spec.matrix.dtype,
          spec.matrix.frozen,
          spec.matrix.gradient_bits,
          spec.matrix.weight_bits,
          spec.matrix.masked};
}

}  // namespace

Conv2dSynapse::Conv2dSynapse(Context& context, const SynapseKind& kind, const Conv2dSpec& spec,
                             std::initializer_list<int64_t> weight_lengths, const uint8_t* mask)
    : MatrixSynapse(context, kind, shape_of(spec), spec.matrix, weight_lengths, mask,
                    static_cast<double>(spec.count_scale), slack_bytes),
      conv_(spec) {}

Conv2dSynapse::Conv2dSynapse(Conv2dSynapse& lender, const Conv2dSpec& spec)
    : MatrixSynapse(*lender.context(), lender.kind(), shape_of(spec), spec.matrix, lender),
      conv_(spec),
      lender_(&lender) {}

Conv2dSynapse& Conv2dSynapse::on_map(const Conv2dSpec& spec) {
  make_room(on_maps_, 1);
  return *on_maps_.emplace_back(Ref<Conv2dSynapse>::adopt(new Conv2dSynapse(*this, spec)));
}

Conv2dSynapse* Conv2dSynapse::make(Context& context, const Conv2dSpec& spec, const uint8_t* mask) {
  const Conv2dShape& map = spec.shape;
  if (spec.is_dense)
    return new Conv2dSynapse(context, dense_of_counts_kind, spec, {map.output_channels, map.channels}, mask);
  return new Conv2dSynapse(context, conv2d_kind, spec,
                           {map.output_channels, map.y.kernel, map.x.kernel, map.group_inputs()}, mask);
}

Conv2dSynapse* make_conv2d(Context& context, const Conv2dSpec& spec, const uint8_t* mask) {
  Ref<Conv2dSynapse> synapse = Ref<Conv2dSynapse>::adopt(Conv2dSynapse::make(context, spec, mask));
  synapse->initialize();
  synapse->retain();
  return synapse.get();
}

DenseSpec dense_matrix_of(const synfire_synapse_desc& desc) {
  return desc.input_kind == SYNFIRE_INPUT_COUNTS ? Conv2dSpec(desc).matrix : DenseSpec(desc);
}
Synapse* make_any_dense(Context& context, const synfire_synapse_desc& desc) {
  if (desc.input_kind == SYNFIRE_INPUT_COUNTS) return make_conv2d(context, Conv2dSpec(desc), desc.mask);
  return make_dense(context, DenseSpec(desc), desc.mask);
}
Synapse* make_empty_dense(Context& context, const synfire_synapse_desc& desc) {
  if (desc.input_kind == SYNFIRE_INPUT_COUNTS) {
    Conv2dSpec spec(desc);
    spec.matrix.no_self_connections = false;  // the mask has memory, and no contents
    return Conv2dSynapse::make(context, spec, nullptr);
  }
  DenseSpec spec(desc);
  spec.no_self_connections = false;
  return new DenseSynapse(context, spec, nullptr);
}

// ---- operations -----------------------------------------------------------------------------------------------------

namespace {

Conv2dSynapse& synapse_of(const SynapsePass& pass) {
  return static_cast<Conv2dSynapse&>(*pass.use.synapse);
}

Extents input_extents(const SynapsePass& pass) {
  return {pass.n_steps, pass.batch, pass.use.synapse->n_inputs()};
}

View scratch(int32_t dtype, int64_t count, int64_t times = 1) {
  View view;
  view.dtype = dtype;
  int64_t elements = 0;
  if (__builtin_mul_overflow(count, times, &elements) ||
      __builtin_mul_overflow(static_cast<uint64_t>(elements), bytes_of_dtype(dtype), &view.bytes))
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-SYNAPSE-OVERFLOW", "the scratch memory of a gradient cannot be addressed");
  return view;
}

// Bits [T, B, n_inputs] of spikes that are stored otherwise.
View converted_input(const Conv2dSpec& spec, const View& input, const Extents& e) {
  if (!spec.is_exact() || spec.elements != Elements::spikes || input.dtype == SYNFIRE_DTYPE_BITS) return {};
  return scratch(SYNFIRE_DTYPE_BITS, e.n_steps * e.batch, e.words_per_row());
}

// Patches are made for a few steps at a time, so that they stay in a GPU's cache.
constexpr int64_t most_patch_bytes = int64_t{32} << 20;
int64_t steps_for(int64_t n_steps, int64_t bytes_of_step) {
  return std::clamp<int64_t>(most_patch_bytes / std::max<int64_t>(bytes_of_step, 1), 1, n_steps);
}

// The number of the inputs that dropout keeps among the transient arrays of a list.
constexpr int32_t transient_inputs = 1;

// Returns what an operation reads: the input, or, with dropout, what an entry before it makes of it.
View kept_input(const SynapsePass& pass, const Extents& e, OperationList& operations) {
  if (!pass.kept.mask) return pass.input;
  const KeepInputs keep =
      keep_inputs(transient_inputs, e, pass.kept.mask, pass.input, pass.use.synapse->reads_spikes());
  operations.push_back(keep);
  return keep.kept;
}

// Returns true if places are rows in this pass, and then asks for the memory of how many of them count.
template <class Op>
bool plan_rows(Op& op) {
  const Conv2dSpec& spec = op.synapse->conv();
  if (op.synapse->on_host() || !has_rows(op)) return false;
  const int64_t batch = op.extents.batch, places = spec.shape.places();
  if (batch > std::numeric_limits<uint32_t>::max() / places)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-SYNAPSE-ROWS",
         "desc.batch is %lld, and a row of the output has %lld places; on CUDA a step has less than 2^32 places",
         static_cast<long long>(batch), static_cast<long long>(places));
  if (op.n_active || op.layer_active) op.active_places = scratch(SYNFIRE_DTYPE_U32, 1);
  return true;
}

// Enough places for a GPU whose tensor cores take thousands at once, of one image at least.
constexpr int64_t most_gradient_patch_bytes = int64_t{128} << 20;

// Asks for the memory of places as rows, where the gradient of an input has them.
void plan_rows(Conv2dInputGradient& op) {
  const Conv2dSpec& spec = op.synapse->conv();
  if (op.synapse->on_host() || !has_rows(op)) return;
  const Extents& e = op.extents;
  const int64_t places = spec.shape.input_places(), of_place = 3 * spec.matrix.rows_planes_length();
  const int64_t images = std::max<int64_t>(most_gradient_patch_bytes / (places * of_place), 1);
  op.images_at_once = std::min(images, e.batch);
  op.steps_at_once = std::clamp<int64_t>(images / e.batch, 1, e.n_steps);
  op.planes = op.synapse->kernel().rows_planes();
  const int64_t n_rows = op.steps_at_once * op.images_at_once * places;
  op.patches = scratch(SYNFIRE_DTYPE_U8, DenseSpec::padded_columns(n_rows), of_place);
  op.patch_grid = scratch(SYNFIRE_DTYPE_U32, n_rows);
  if (op.n_active || op.layer_active)
    op.active_places = scratch(SYNFIRE_DTYPE_U32, (e.batch + op.images_at_once - 1) / op.images_at_once);
}

// 64 bits hold sums of numbers on a grid of 32 bits times counts; sums of products of values are in two parts.
void check_places(const Conv2dSpec& spec, int64_t n_steps, int64_t batch) {
  if (!spec.matrix.has_grid()) return;
  const int64_t most = spec.has_values()                 ? (int64_t{1} << 31) - 1
                       : spec.matrix.gradient_bits == 24 ? ((int64_t{1} << 40) - 1) / spec.count_bound
                                                         : ((int64_t{1} << 32) - 1) / spec.count_bound;
  const int64_t places = spec.shape.places();
  if (n_steps * batch > most / places)
    fail(
        SYNFIRE_ERROR_UNSUPPORTED, "SYN-SYNAPSE-ROWS",
        "desc.n_steps is %lld and desc.batch %lld, and a row of the output has %lld places; gradients of these weights "
        "are computed over at most %lld places",
        static_cast<long long>(n_steps), static_cast<long long>(batch), static_cast<long long>(places),
        static_cast<long long>(most));
}

// A sum over this many products of numbers on 24-bit grids cannot overflow 64 bits. With 32 bits there are two parts.
void check_outputs(const Conv2dSpec& spec) {
  constexpr int64_t largest_product = int64_t{0x7F7F7F} * 0x7F7F7F;
  constexpr int64_t most = std::numeric_limits<int64_t>::max() / largest_product;
  const int64_t outputs = spec.shape.n_taps() * spec.shape.group_outputs();
  if (spec.matrix.has_grid() && outputs > most)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-SYNAPSE-GRADIENT-OUTPUTS",
         "%lld outputs may read an input; gradients of inputs are computed over at most %lld, except in f64",
         static_cast<long long>(outputs), static_cast<long long>(most));
}

std::string label_text(const Conv2dSynapse& synapse, const Extents& e) {
  const Conv2dShape& map = synapse.map();
  char text[192];
  std::snprintf(text, sizeof text, "[%lld, %lld, %d x %d x %lld] to %d x %d x %lld", static_cast<long long>(e.n_steps),
                static_cast<long long>(e.batch), map.y.n_inputs, map.x.n_inputs, static_cast<long long>(map.channels),
                map.y.n_outputs, map.x.n_outputs, static_cast<long long>(map.output_channels));
  return text;
}

// ---- the kind -------------------------------------------------------------------------------------------------------

constexpr const char* array_names[] = {"weight", "bias"};

int64_t row_operations(const Synapse& synapse) {
  const Conv2dShape& map = static_cast<const Conv2dSynapse&>(synapse).map();
  return map.n_outputs() * map.n_terms();
}

void check_gradients(const Synapse& synapse, int64_t n_steps, int64_t batch, bool of_arrays, bool of_input) {
  const Conv2dSpec& spec = static_cast<const Conv2dSynapse&>(synapse).conv();
  if (of_arrays) check_places(spec, n_steps, batch);
  if (of_input) check_outputs(spec);
}

OperationList product(const SynapsePass& pass, const View& output) {
  Conv2dSynapse &synapse = synapse_of(pass), &kernel = synapse.kernel();
  const Extents e = input_extents(pass);
  OperationList operations;
  const View input = kept_input(pass, e, operations);
  Conv2dProduct op = {&synapse,
                      e,
                      input,
                      output,
                      pass.n_active,
                      pass.layer_active,
                      kernel.table(),
                      kernel.bias(),
                      kernel.grid(),
                      kernel.bias_on_grid(),
                      converted_input(synapse.conv(), input, e),
                      {}};
  const Conv2dSpec& spec = synapse.conv();
  op.scale = pass.kept.scale;
  if (plan_rows(op)) {
    const int64_t places = e.batch * spec.shape.places(), of_place = (spec.matrix.n_inputs + 31) / 32;
    op.planes = kernel.table_planes();
    if (spec.elements == Elements::counts) {
      op.steps_at_once = steps_for(e.n_steps, places * of_place * 32);
      op.patches = scratch(SYNFIRE_DTYPE_U8, DenseSpec::padded_columns(op.steps_at_once * places), of_place * 32);
    } else {
      op.steps_at_once = steps_for(e.n_steps, places * of_place * 4);
      op.patches = scratch(SYNFIRE_DTYPE_U32, op.steps_at_once, places * of_place);
    }
  }
  op.host_places = host_places_of(synapse.context()->device(), op);
  operations.push_back(op);
  return operations;
}

OperationList gradients(const SynapsePass& pass, const View& grad_output, bool add) {
  Conv2dSynapse& synapse = synapse_of(pass);
  const Conv2dSpec& spec = synapse.conv();
  const Extents e = input_extents(pass);
  Conv2dWeightGradient op = {};
  op.synapse = &synapse;
  op.extents = e;
  op.grad_output = grad_output;
  OperationList operations;
  op.input = kept_input(pass, e, operations);
  op.n_active = pass.n_active;
  op.layer_active = pass.layer_active;
  op.weight_gradient = synapse.kernel().weight_gradient();
  op.bias_gradient = synapse.kernel().bias_gradient();
  op.mask = synapse.kernel().mask();
  op.scale = pass.kept.scale;
  op.add = add;
  if (spec.matrix.has_grid()) {
    const Conv2dSumLengths lengths = sum_lengths(spec, synapse.on_host());
    op.largest = scratch(SYNFIRE_DTYPE_U32, lengths.largest);
    op.total = scratch(SYNFIRE_DTYPE_U64, lengths.total);
    op.converted = converted_input(spec, op.input, e);
    const int64_t n_rows = e.n_steps * e.batch;
    if (synapse.on_host()) {
      op.grad_on_grid = scratch(SYNFIRE_DTYPE_U32, n_rows * spec.shape.places(), spec.matrix.table_pitch());
      op.gradient_grid = scratch(SYNFIRE_DTYPE_U32, spec.matrix.table_pitch());
    }
    if (plan_rows(op)) {
      const int64_t places = e.batch * spec.shape.places(), pitch = spec.matrix.packed_pitch(),
                    of_place = DenseSpec::padded_columns(spec.matrix.n_outputs) * (spec.matrix.gradient_bits / 8);
      const bool counts = spec.elements == Elements::counts;
      op.steps_at_once = steps_for(e.n_steps, places * (of_place + (counts ? pitch : pitch / 8)));
      const int64_t n_words = DenseSpec::even_words(op.steps_at_once * places);
      op.grad_on_grid = scratch(SYNFIRE_DTYPE_U8, n_words * 32, of_place);
      op.patches = counts ? scratch(SYNFIRE_DTYPE_U8, n_words * 32, pitch) : scratch(SYNFIRE_DTYPE_U32, n_words, pitch);
    }
    if (spec.has_values() && (synapse.on_host() || pass.input.dtype != SYNFIRE_DTYPE_F32))
      op.input_on_grid = scratch(SYNFIRE_DTYPE_U32, n_rows, e.n_neurons);
  }
  op.host_places = host_places_of(synapse.context()->device(), op);
  operations.push_back(op);
  return operations;
}

OperationList input_gradient(const SynapsePass& pass, const View& grad_output, const View& grad_input, bool add) {
  Conv2dSynapse& synapse = synapse_of(pass);
  const Extents e = input_extents(pass);
  Conv2dInputGradient op = {&synapse,
                            e,
                            grad_output,
                            grad_input,
                            pass.n_active,
                            pass.layer_active,
                            synapse.kernel().rows(),
                            synapse.kernel().grid(),
                            add,
                            {},
                            {},
                            {},
                            {},
                            pass.kept};
  if (synapse.spec().has_grid()) {
    op.grad_on_grid = scratch(SYNFIRE_DTYPE_U32, e.n_steps * e.batch, synapse.n_outputs());
    op.row_grid = scratch(SYNFIRE_DTYPE_U32, e.n_steps * e.batch);
    if (!synapse.on_host()) op.row_largest = scratch(SYNFIRE_DTYPE_U64, e.n_steps * e.batch);
    plan_rows(op);
  }
  op.host_places = host_places_of(synapse.context()->device(), op);
  return {op};
}

OperationList derive(Synapse& synapse) {
  return {make_prepare(static_cast<Conv2dSynapse&>(synapse))};
}

// Outputs of a channel have the same weights.
std::optional<Rounding> rounding(Synapse& synapse, int64_t first, int64_t count) {
  auto& conv = static_cast<Conv2dSynapse&>(synapse);
  const int64_t channels = conv.map().output_channels;
  if (count != 1) return rounding_of_rows(conv, 0, channels);
  std::optional<Rounding> found = rounding_of_rows(conv, first % channels, 1);
  if (found) found->output = first;
  return found;
}

}  // namespace

const SynapseKind conv2d_kind = {"conv2d", array_names, true,           true,   row_operations, check_gradients,
                                 product,  gradients,   input_gradient, derive, rounding,       read_integers_of};
const SynapseKind dense_of_counts_kind = {"dense",        array_names,     true,     true,
                                          row_operations, check_gradients, product,  gradients,
                                          input_gradient, derive,          rounding, read_integers_of};

Conv2dSumLengths sum_lengths(const Conv2dSpec& spec, bool on_host) {
  const Conv2dShape& map = spec.shape;
  const int64_t outputs = map.output_channels, terms = map.n_terms();
  const int64_t of_host =
      spec.has_values() ? outputs * (2 * spec.matrix.rows_pitch() + 1) : (terms + 1) * spec.matrix.table_pitch();
  if (!on_host && spec.has_rows()) return {outputs, outputs * (spec.matrix.packed_pitch() + 1)};
  return {outputs + (spec.has_values() ? map.channels : 0),
          on_host ? of_host : outputs * (terms + 1) * (spec.has_values() ? 2 : 1)};
}

OperationLabel label(const Conv2dProduct& op) {
  return {nullptr, label_text(*op.synapse, op.extents)};
}
OperationLabel label(const Conv2dWeightGradient& op) {
  return {nullptr, label_text(*op.synapse, op.extents)};
}
OperationLabel label(const Conv2dInputGradient& op) {
  return {nullptr, label_text(*op.synapse, op.extents)};
}

}  // namespace synfire::operations

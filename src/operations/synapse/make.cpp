// Creates synapses, and turns requests into checked operations.
#include "initial_weights.hpp"
#include "synapse.hpp"

#include <base/error.hpp>
#include <base/host_memory.hpp>
#include <base/view_checks.hpp>
#include <graph/eager_calls.hpp>
#include <graph/operands.hpp>
#include <operations/reduce/reduce.hpp>
#include <operations/spikes/spike_views.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// ---- arguments ------------------------------------------------------------------------------------------------------

Extents input_extents(const SynapseSpec& spec, int64_t n_steps, int64_t batch) {
  return checked_extents({n_steps, batch, spec.n_inputs});
}

std::string text_of(int32_t dtype, const Extents& e) {
  return std::string(name_of_dtype(dtype)).append(" ").append(shape_text(e));
}

// Numbers [T, B, n] in the type of the synapse.
View numbers(const SynapseSpec& spec, const Buffer& buffer, const char* name, const Extents& e, bool on_host) {
  if (buffer.dtype() != spec.dtype)
    fail_argument("SYN-BUFFER-TYPE", "%s holds %s; %s is needed", name, name_of_dtype(buffer.dtype()),
                  name_of_dtype(spec.dtype));
  return stepped(buffer, name, {e.n_steps, e.batch, e.n_neurons}, text_of(spec.dtype, e), on_host);
}

View input_view(const SynapseSpec& spec, const Buffer& buffer, const char* name, const Extents& e, bool on_host) {
  if (spec.input == InputKind::spikes) return spike_view(buffer, name, e, on_host);
  const int32_t dtype = buffer.dtype();
  const bool fits = spec.dtype == SYNFIRE_DTYPE_F64
                        ? dtype == SYNFIRE_DTYPE_F64
                        : dtype == SYNFIRE_DTYPE_F32 || dtype == SYNFIRE_DTYPE_F16 || dtype == SYNFIRE_DTYPE_BF16;
  if (!fits)
    fail_argument("SYN-BUFFER-TYPE", "%s holds %s; %s is needed", name, name_of_dtype(dtype),
                  spec.dtype == SYNFIRE_DTYPE_F64 ? "f64" : "f32, f16 or bf16");
  return stepped(buffer, name, {e.n_steps, e.batch, e.n_neurons}, text_of(dtype, e), on_host);
}

Kept kept_views(const SynapseSpec& spec, const Buffer* mask, const Buffer* scale, const Extents& e, bool on_host) {
  if (!mask != !scale)
    fail_argument("SYN-SYNAPSE-DROPOUT", "desc.%s is null, but desc.%s is not; dropout needs both",
                  mask ? "input_scale" : "input_mask", mask ? "input_mask" : "input_scale");
  if (!mask) return {};
  if (mask->dtype() != SYNFIRE_DTYPE_BITS)
    fail_argument("SYN-BUFFER-TYPE", "desc.input_mask holds %s; bits are needed", name_of_dtype(mask->dtype()));
  if (scale->dtype() != spec.dtype)
    fail_argument("SYN-BUFFER-TYPE", "desc.input_scale holds %s; %s is needed", name_of_dtype(scale->dtype()),
                  name_of_dtype(spec.dtype));
  return {spike_view(*mask, "desc.input_mask", {1, e.batch, e.n_neurons}, on_host),
          stepped(*scale, "desc.input_scale", {1, 1}, std::string(name_of_dtype(spec.dtype)).append(" [1]"), on_host)};
}

View scratch(int32_t dtype, int64_t count) {
  View view;
  view.dtype = dtype;
  if (__builtin_mul_overflow(static_cast<uint64_t>(count), bytes_of_dtype(dtype), &view.bytes))
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-SYNAPSE-OVERFLOW", "the scratch memory of a gradient cannot be addressed");
  return view;
}

// Sums of this many gradients of 32 bits cannot overflow 64.
constexpr int64_t most_rows = int64_t{1} << 31;

void check_rows(const Extents& e) {
  if (e.n_steps * e.batch >= most_rows)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-SYNAPSE-ROWS",
         "desc.n_steps is %lld and desc.batch %lld; gradients of weights are computed over less than 2^31 rows",
         static_cast<long long>(e.n_steps), static_cast<long long>(e.batch));
}

// A sum over this many outputs of products of numbers on 24-bit grids cannot overflow 64 bits.
constexpr int64_t largest_product = int64_t{0x7F7F7F} * 0x7F7F7F;
constexpr int64_t most_outputs = std::numeric_limits<int64_t>::max() / largest_product;
static_assert(most_outputs == 132'106);

void check_outputs(const SynapseSpec& spec) {
  if (spec.has_grid() && spec.n_outputs > most_outputs)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-SYNAPSE-GRADIENT-OUTPUTS",
         "the synapse has %lld outputs; gradients of inputs are computed over at most %lld, except in f64",
         static_cast<long long>(spec.n_outputs), static_cast<long long>(most_outputs));
}

// ---- scratch memory on CUDA -----------------------------------------------------------------------------------------

// Spikes that are not bits become bits [T, B, K], and values of another type than the synapse's, or of which some are
// dropped, numbers [T, B, K].
View converted_input(const SynapseSpec& spec, const View& input, const Kept& kept, const Extents& e) {
  const int64_t n_rows = e.n_steps * e.batch;
  if (spec.is_exact())
    return input.dtype == SYNFIRE_DTYPE_BITS ? View{} : scratch(SYNFIRE_DTYPE_U32, n_rows * e.words_per_row());
  const bool as_stored = input.dtype == spec.dtype && spec.input == InputKind::values && !kept.mask;
  return as_stored ? View{} : scratch(spec.dtype, n_rows * e.n_neurons);
}

void plan_scratch(SynapseWeightGradient& op) {
  const SynapseSpec& spec = op.synapse->spec();
  const Extents& e = op.extents;
  if (!spec.is_exact()) {
    op.converted = converted_input(spec, op.input, op.kept, e);
    return;
  }
  const int64_t n_rows = e.n_steps * e.batch, n_words = SynapseSpec::even_words(n_rows);
  const int64_t outputs = SynapseSpec::padded_columns(spec.n_outputs), inputs = spec.packed_pitch();
  op.converted = scratch(SYNFIRE_DTYPE_U32, n_rows * e.words_per_row());
  op.packed = scratch(SYNFIRE_DTYPE_U32, n_words * inputs);
  op.grad_on_grid = scratch(SYNFIRE_DTYPE_U8, n_words * 32 * outputs * (spec.gradient_bits / 8));
  op.total = scratch(SYNFIRE_DTYPE_U64, outputs * (inputs + 1) + outputs / 2);
}

// ---- operations -----------------------------------------------------------------------------------------------------

SynapseForward product(Synapse& synapse, const Extents& e, const View& input, const View& output, const View& n_active,
                       const Kept& kept, bool on_host) {
  SynapseForward op = {&synapse,
                       e,
                       input,
                       output,
                       n_active,
                       synapse.table(),
                       synapse.bias(),
                       synapse.grid(),
                       synapse.bias_on_grid(),
                       synapse.table_planes(),
                       {},
                       kept};
  if (!on_host) op.converted = converted_input(synapse.spec(), op.input, op.kept, e);
  op.host_places = host_places_of(synapse.context()->device(), op);
  return op;
}

SynapseWeightGradient weight_gradient(Synapse& synapse, const Extents& e, const View& grad_output, const View& input,
                                      const View& n_active, const Kept& kept, bool add, bool on_host) {
  const SynapseSpec& spec = synapse.spec();
  synapse.prepare_gradients();
  SynapseWeightGradient op = {&synapse,
                              e,
                              grad_output,
                              input,
                              n_active,
                              synapse.weight_gradient(),
                              synapse.bias_gradient(),
                              synapse.mask(),
                              add,
                              {},
                              {},
                              {},
                              {},
                              {},
                              {},
                              kept};
  if (!on_host) {
    plan_scratch(op);
    return op;
  }
  op.host_places = host_places_of(synapse.context()->device(), op);
  if (!spec.is_exact()) return op;
  const int64_t pitch = spec.table_pitch();
  op.grad_on_grid = scratch(SYNFIRE_DTYPE_U32, e.n_steps * e.batch * pitch);
  op.partial = scratch(SYNFIRE_DTYPE_U32, spec.n_inputs * pitch);
  op.total = scratch(SYNFIRE_DTYPE_U64, (spec.n_inputs + 1) * pitch);
  op.gradient_grid = scratch(SYNFIRE_DTYPE_U32, 2 * pitch);
  return op;
}

SynapseInputGradient input_gradient(Synapse& synapse, const Extents& e, const View& grad_output, const View& grad_input,
                                    const View& n_active, const Kept& kept, bool add, bool on_host) {
  check_outputs(synapse.spec());
  SynapseInputGradient op = {
      &synapse, e,  grad_output, grad_input, n_active, synapse.rows(), synapse.grid(), synapse.rows_planes(),
      add,      {}, {},          kept};
  if (!synapse.spec().has_grid()) return op;
  op.grad_on_grid = on_host ? scratch(SYNFIRE_DTYPE_U32, e.n_steps * e.batch * synapse.spec().table_pitch())
                            : scratch(SYNFIRE_DTYPE_U8, 3 * SynapseSpec::padded_columns(e.n_steps * e.batch) *
                                                            synapse.spec().table_pitch());
  op.row_grid = scratch(SYNFIRE_DTYPE_U32, e.n_steps * e.batch);
  return op;
}

std::string label_text(const Synapse& synapse, const Extents& e) {
  char text[128];
  std::snprintf(text, sizeof text, "[%lld, %lld, %lld] to %lld", static_cast<long long>(e.n_steps),
                static_cast<long long>(e.batch), static_cast<long long>(e.n_neurons),
                static_cast<long long>(synapse.spec().n_outputs));
  return text;
}

}  // namespace

OperationLabel label(const PrepareSynapse& op) {
  return {nullptr, op.synapse->spec().shape_text(true)};
}
OperationLabel label(const SynapseForward& op) {
  return {nullptr, label_text(*op.synapse, op.extents)};
}
OperationLabel label(const SynapseWeightGradient& op) {
  return {nullptr, label_text(*op.synapse, op.extents)};
}
OperationLabel label(const SynapseInputGradient& op) {
  return {nullptr, label_text(*op.synapse, op.extents)};
}

PrepareSynapse make_prepare(Synapse& synapse) {
  return {&synapse,       synapse.weights(), synapse.bias(),         synapse.mask(),         synapse.table(),
          synapse.rows(), synapse.grid(),    synapse.bias_on_grid(), synapse.table_planes(), synapse.rows_planes()};
}

OperationList synapse_forward(Synapse& synapse, const SynapseForwardRequest& request, bool on_host) {
  const SynapseSpec& spec = synapse.spec();
  const Extents e = input_extents(spec, request.n_steps, request.batch);
  const Extents outputs = checked_extents({e.n_steps, e.batch, spec.n_outputs});
  const View input = input_view(spec, *request.input, "desc.input", e, on_host);
  const View output = numbers(spec, *request.output, "desc.output", outputs, on_host);
  const Kept kept = kept_views(spec, request.input_mask, request.input_scale, e, on_host);
  OperationList operations = {
      product(synapse, e, input, output, n_active_view(request.n_active, on_host), kept, on_host)};
  check_overlap(operations);
  return operations;
}

void record_synapse_forward(Graph& graph, Synapse& synapse, const SynapseForwardRequest& request) {
  graph.record([&](Recorder& recorder) { return synapse_forward(synapse, request, recorder.on_host()); });
}

OperationList synapse_backward(Synapse& synapse, const SynapseBackwardRequest& request, bool on_host) {
  const SynapseSpec& spec = synapse.spec();
  if (!request.input && !request.grad_input)
    fail_argument("SYN-SYNAPSE-NOTHING",
                  "desc.input and desc.grad_input are null; input is needed for the gradients of weights and bias, "
                  "grad_input for that of the input");
  const Extents e = input_extents(spec, request.n_steps, request.batch);
  if (request.input) check_rows(e);
  if (request.grad_input) check_outputs(spec);
  const Extents outputs = checked_extents({e.n_steps, e.batch, spec.n_outputs});
  const View grad_output = numbers(spec, *request.grad_output, "desc.grad_output", outputs, on_host);
  const View n_active = n_active_view(request.n_active, on_host);
  const Kept kept = kept_views(spec, request.input_mask, request.input_scale, e, on_host);
  OperationList operations;
  if (request.input) {
    const View input = input_view(spec, *request.input, "desc.input", e, on_host);
    operations.emplace_back(
        weight_gradient(synapse, e, grad_output, input, n_active, kept, request.add_gradients, on_host));
  }
  if (request.grad_input) {
    const View grad_input = numbers(spec, *request.grad_input, "desc.grad_input", e, on_host);
    operations.emplace_back(
        input_gradient(synapse, e, grad_output, grad_input, n_active, kept, request.add_input_gradient, on_host));
  }
  check_overlap(operations);
  return operations;
}

void record_synapse_backward(Graph& graph, Synapse& synapse, const SynapseBackwardRequest& request) {
  graph.record([&](Recorder& recorder) { return synapse_backward(synapse, request, recorder.on_host()); });
}

// ---- as a part of a layer's passes ----------------------------------------------------------------------------------

void check_chain(const Synapse& synapse, const Extents& extents, int32_t arithmetic) {
  const SynapseSpec& spec = synapse.spec();
  if (spec.n_outputs != extents.n_neurons)
    fail_argument("SYN-SYNAPSE-CHAIN", "desc.synapse has %lld outputs; the layer has %lld neurons",
                  static_cast<long long>(spec.n_outputs), static_cast<long long>(extents.n_neurons));
  if (spec.dtype != arithmetic)
    fail_argument("SYN-SYNAPSE-CHAIN", "desc.synapse is of %s; %s is needed, the type of the layer's arithmetic",
                  name_of_dtype(spec.dtype), name_of_dtype(arithmetic));
}

namespace {

Extents input_extents(const SynapseOfLayer& part) {
  return input_extents(part.synapse.spec(), part.extents.n_steps, part.extents.batch);
}

View input_view(const SynapseOfLayer& part, const Extents& e) {
  return input_view(part.synapse.spec(), *part.input, part.input_name, e, part.on_host);
}

}  // namespace

SynapseForward product_of(const SynapseOfLayer& part, const View& x) {
  const Extents e = input_extents(part);
  SynapseForward op =
      product(part.synapse, e, input_view(part, e), x, n_active_view(part.n_active, part.on_host), {}, part.on_host);
  op.layer_active = part.layer_active;
  return op;
}

SynapseWeightGradient weight_gradient_of(const SynapseOfLayer& part, const View& grad_x, bool add) {
  const Extents e = input_extents(part);
  check_rows(e);
  SynapseWeightGradient op = weight_gradient(part.synapse, e, grad_x, input_view(part, e),
                                             n_active_view(part.n_active, part.on_host), {}, add, part.on_host);
  op.layer_active = part.layer_active;
  return op;
}

SynapseInputGradient input_gradient_of(const SynapseOfLayer& part, const View& grad_x, const Buffer& grad_input,
                                       bool add) {
  const Extents e = input_extents(part);
  const View out = numbers(part.synapse.spec(), grad_input, "desc.grad_synapse_input", e, part.on_host);
  SynapseInputGradient op =
      input_gradient(part.synapse, e, grad_x, out, n_active_view(part.n_active, part.on_host), {}, add, part.on_host);
  op.layer_active = part.layer_active;
  return op;
}

// ---- objects --------------------------------------------------------------------------------------------------------

namespace {

void prepare(Synapse& synapse) {
  const Operation operation = make_prepare(synapse);
  Device& device = synapse.context()->device();
  device.execute({&operation, 1}, nullptr);
  device.synchronize();
}

template <class R>
void upload_initial_weights(Synapse& synapse) {
  const SynapseSpec& spec = synapse.spec();
  Device& device = synapse.context()->device();
  require_host_memory(spec.weight_bytes(), Paging::pageable);
  device.upload(synapse.weights().data, initial_weights<R>(spec).data(), spec.weight_bytes());
  if (spec.has_bias) device.upload(synapse.bias().data, initial_biases<R>(spec).data(), spec.bias_bytes());
}

template <class R>
void check_finite(const char* name, const void* values, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes / sizeof(R); ++i) {
    R value;
    std::memcpy(&value, static_cast<const char*>(values) + i * sizeof(R), sizeof(R));
    if (!std::isfinite(value))
      fail_argument("SYN-SYNAPSE-FINITE", "values[%llu] of \"%s\" is %g; it must be finite",
                    static_cast<unsigned long long>(i), name, static_cast<double>(value));
  }
}

}  // namespace

Synapse* make_synapse(Context& context, const SynapseSpec& spec, const uint8_t* mask) {
  Ref<Synapse> synapse = Ref<Synapse>::adopt(new Synapse(context, spec, mask));
  if (spec.dtype == SYNFIRE_DTYPE_F64)
    upload_initial_weights<double>(*synapse);
  else
    upload_initial_weights<float>(*synapse);
  prepare(*synapse);
  synapse->retain();
  return synapse.get();
}

void write_synapse(Synapse& synapse, const char* name, const void* values, uint64_t bytes) {
  const View found = synapse.find(name, values, bytes);
  if (synapse.spec().dtype == SYNFIRE_DTYPE_F64)
    check_finite<double>(name, values, bytes);
  else
    check_finite<float>(name, values, bytes);
  synapse.order().wait();
  if (synapse.counts(found)) synapse.mark_written();
  synapse.context()->device().upload(found.data, values, bytes);
  prepare(synapse);
}

}  // namespace synfire::operations

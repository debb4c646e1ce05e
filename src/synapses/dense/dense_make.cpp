// The operations of the kind for a pass through the synapse.
#include "dense.hpp"

#include <base/error.hpp>

#include <cstdio>
#include <limits>

namespace synfire::operations {

using namespace synfire::core;

namespace {

DenseSynapse& dense_of(const SynapsePass& pass) {
  return static_cast<DenseSynapse&>(*pass.use.synapse);
}

Extents input_extents(const DenseSynapse& synapse, const SynapsePass& pass) {
  return {pass.n_steps, pass.batch, synapse.spec().n_inputs};
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

void check_rows(int64_t n_steps, int64_t batch) {
  if (n_steps * batch >= most_rows)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-SYNAPSE-ROWS",
         "desc.n_steps is %lld and desc.batch %lld; gradients of weights are computed over less than 2^31 rows",
         static_cast<long long>(n_steps), static_cast<long long>(batch));
}

// A sum over this many outputs of products of numbers on 24-bit grids cannot overflow 64 bits.
constexpr int64_t largest_product = int64_t{0x7F7F7F} * 0x7F7F7F;
constexpr int64_t most_outputs = std::numeric_limits<int64_t>::max() / largest_product;
static_assert(most_outputs == 132'106);

void check_outputs(const DenseSpec& spec) {
  if (spec.has_grid() && spec.n_outputs > most_outputs)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-SYNAPSE-GRADIENT-OUTPUTS",
         "the synapse has %lld outputs; gradients of inputs are computed over at most %lld, except in f64",
         static_cast<long long>(spec.n_outputs), static_cast<long long>(most_outputs));
}

// ---- scratch memory on CUDA -----------------------------------------------------------------------------------------

// Spikes in other formats become bits [T, B, K]; values of another type, or with dropped ones, numbers [T, B, K].
View converted_input(const DenseSpec& spec, const View& input, const Kept& kept, const Extents& e) {
  const int64_t n_rows = e.n_steps * e.batch;
  if (spec.is_exact())
    return input.dtype == SYNFIRE_DTYPE_BITS ? View{} : scratch(SYNFIRE_DTYPE_U32, n_rows * e.words_per_row());
  const bool as_stored = input.dtype == spec.dtype && spec.input == InputKind::values && !kept.mask;
  return as_stored ? View{} : scratch(spec.dtype, n_rows * e.n_neurons);
}

void plan_scratch(DenseWeightGradient& op) {
  const DenseSpec& spec = op.synapse->spec();
  const Extents& e = op.extents;
  if (!spec.has_grid()) {
    op.converted = converted_input(spec, op.input, op.kept, e);
    return;
  }
  const int64_t n_rows = e.n_steps * e.batch, n_words = DenseSpec::even_words(n_rows);
  const int64_t outputs = DenseSpec::padded_columns(spec.n_outputs);
  op.grad_on_grid = scratch(SYNFIRE_DTYPE_U8, n_words * 32 * outputs * (spec.gradient_bits / 8));
  const SumArrayBytes bytes = sum_array_bytes(spec, false);
  op.total = scratch(SYNFIRE_DTYPE_U64, static_cast<int64_t>((bytes.total + bytes.largest + 7) / 8));
  if (spec.has_values()) {
    op.converted = converted_input(spec, op.input, op.kept, e);
    op.input_on_grid = scratch(SYNFIRE_DTYPE_U8, n_words * 32 * DenseSpec::padded_columns(spec.n_inputs) * 3);
    return;
  }
  op.converted = scratch(SYNFIRE_DTYPE_U32, n_rows * e.words_per_row());
  op.packed = scratch(SYNFIRE_DTYPE_U32, n_words * spec.packed_pitch());
}

// ---- operations -----------------------------------------------------------------------------------------------------

DenseProduct product(DenseSynapse& synapse, const Extents& e, const View& input, const View& output,
                     const View& n_active, const Kept& kept) {
  DenseProduct op = {&synapse,
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
  if (!synapse.on_host()) op.converted = converted_input(synapse.spec(), op.input, op.kept, e);
  op.host_places = host_places_of(synapse.context()->device(), op);
  return op;
}

DenseWeightGradient weight_gradient(DenseSynapse& synapse, const Extents& e, const View& grad_output, const View& input,
                                    const View& n_active, const Kept& kept, bool add) {
  const DenseSpec& spec = synapse.spec();
  DenseWeightGradient op = {};
  op.synapse = &synapse;
  op.extents = e;
  op.grad_output = grad_output;
  op.input = input;
  op.n_active = n_active;
  op.weight_gradient = synapse.weight_gradient();
  op.bias_gradient = synapse.bias_gradient();
  op.mask = synapse.mask();
  op.add = add;
  op.kept = kept;
  if (!synapse.on_host()) {
    plan_scratch(op);
    return op;
  }
  op.host_places = host_places_of(synapse.context()->device(), op);
  if (!spec.has_grid()) return op;
  const int64_t n_rows = e.n_steps * e.batch, outputs = spec.table_pitch(), inputs = spec.rows_pitch();
  const SumArrayBytes bytes = sum_array_bytes(spec, true);
  op.largest = scratch(SYNFIRE_DTYPE_U32, static_cast<int64_t>(bytes.largest / 4));
  op.total = scratch(SYNFIRE_DTYPE_U64, static_cast<int64_t>(bytes.total / 8));
  op.grad_on_grid = scratch(SYNFIRE_DTYPE_U32, n_rows * outputs);
  op.gradient_grid = scratch(SYNFIRE_DTYPE_U32, outputs + (spec.has_values() ? inputs : 0));
  if (spec.has_values())
    op.input_on_grid = scratch(SYNFIRE_DTYPE_U32, n_rows * inputs);
  else
    op.partial = scratch(SYNFIRE_DTYPE_U32, spec.n_inputs * outputs);
  return op;
}

DenseInputGradient input_gradient(DenseSynapse& synapse, const Extents& e, const View& grad_output,
                                  const View& grad_input, const View& n_active, const Kept& kept, bool add) {
  check_outputs(synapse.spec());
  DenseInputGradient op = {
      &synapse, e,  grad_output, grad_input, n_active, synapse.rows(), synapse.grid(), synapse.rows_planes(),
      add,      {}, {},          kept};
  if (!synapse.spec().has_grid()) return op;
  op.grad_on_grid = synapse.on_host() ? scratch(SYNFIRE_DTYPE_U32, e.n_steps * e.batch * synapse.spec().table_pitch())
                                      : scratch(SYNFIRE_DTYPE_U8, 3 * DenseSpec::padded_columns(e.n_steps * e.batch) *
                                                                      synapse.spec().table_pitch());
  op.row_grid = scratch(SYNFIRE_DTYPE_U32, e.n_steps * e.batch);
  return op;
}

std::string label_text(const DenseSynapse& synapse, const Extents& e) {
  char text[128];
  std::snprintf(text, sizeof text, "[%lld, %lld, %lld] to %lld", static_cast<long long>(e.n_steps),
                static_cast<long long>(e.batch), static_cast<long long>(e.n_neurons),
                static_cast<long long>(synapse.spec().n_outputs));
  return text;
}

}  // namespace

OperationLabel label(const DenseProduct& op) {
  return {nullptr, label_text(*op.synapse, op.extents)};
}
OperationLabel label(const DenseWeightGradient& op) {
  return {nullptr, label_text(*op.synapse, op.extents)};
}
OperationLabel label(const DenseInputGradient& op) {
  return {nullptr, label_text(*op.synapse, op.extents)};
}

SumArrayBytes sum_array_bytes(const DenseSpec& spec, bool on_host) {
  const int64_t n_maxima = spec.n_outputs + (spec.has_values() ? spec.n_inputs : 0);
  int64_t n_totals = 0;
  if (spec.has_values())
    n_totals = spec.n_outputs * (2 * spec.rows_pitch() + 1);
  else if (on_host)
    n_totals = (spec.n_inputs + 1) * spec.table_pitch();
  else
    n_totals = spec.n_outputs * (spec.packed_pitch() + 1);
  return {static_cast<uint64_t>(n_maxima) * sizeof(uint32_t), static_cast<uint64_t>(n_totals) * sizeof(int64_t)};
}

// ---- the kind -------------------------------------------------------------------------------------------------------

namespace {

constexpr const char* array_names[] = {"weight", "bias"};

int64_t row_operations(const Synapse& synapse) {
  return synapse.n_inputs() * synapse.n_outputs();
}

void check_gradients(const Synapse& synapse, int64_t n_steps, int64_t batch, bool of_arrays, bool of_input) {
  if (of_arrays) check_rows(n_steps, batch);
  if (of_input) check_outputs(static_cast<const DenseSynapse&>(synapse).spec());
}

OperationList product_of(const SynapsePass& pass, const View& output) {
  DenseSynapse& synapse = dense_of(pass);
  DenseProduct op = product(synapse, input_extents(synapse, pass), pass.input, output, pass.n_active, pass.kept);
  op.layer_active = pass.layer_active;
  return {op};
}

OperationList gradients_of(const SynapsePass& pass, const View& grad_output, bool add) {
  DenseSynapse& synapse = dense_of(pass);
  DenseWeightGradient op =
      weight_gradient(synapse, input_extents(synapse, pass), grad_output, pass.input, pass.n_active, pass.kept, add);
  op.layer_active = pass.layer_active;
  return {op};
}

OperationList input_gradient_of(const SynapsePass& pass, const View& grad_output, const View& grad_input, bool add) {
  DenseSynapse& synapse = dense_of(pass);
  DenseInputGradient op =
      input_gradient(synapse, input_extents(synapse, pass), grad_output, grad_input, pass.n_active, pass.kept, add);
  op.layer_active = pass.layer_active;
  return {op};
}

OperationList derive(Synapse& synapse) {
  return {make_prepare(static_cast<DenseSynapse&>(synapse))};
}

}  // namespace

const SynapseKind dense_kind = {"dense",           array_names,     true,        true,
                                row_operations,    check_gradients, product_of,  gradients_of,
                                input_gradient_of, derive,          rounding_of, read_integers_of};

}  // namespace synfire::operations

// The object and the kind: a descriptor's checks, and the operations that a pass asks for.
#include "one_to_one.hpp"

#include <base/dtype.hpp>
#include <base/error.hpp>
#include <base/host_memory.hpp>

#include <synfire/model/grid.hpp>

#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

namespace synfire::operations {

using namespace synfire::core;

// ---- the object -----------------------------------------------------------------------------------------------------

namespace {

// So that sizes in bytes and the extents of operations can be computed.
constexpr int64_t most_neurons = int64_t{1} << 40;

Flow checked_map(const synfire_one_to_one_desc& desc) {
  const int64_t height = desc.height == 0 ? 1 : desc.height, width = desc.width == 0 ? 1 : desc.width;
  int64_t neurons = 0;
  if (height < 1 || width < 1 || desc.channels < 1 || __builtin_mul_overflow(height, width, &neurons) ||
      __builtin_mul_overflow(neurons, desc.channels, &neurons) || neurons > most_neurons)
    fail_argument(
        "SYN-SYNAPSE-MAP",
        "desc.height, desc.width and desc.channels are %lld, %lld and %lld; each must be at least 1 (0 means 1 "
        "for the first two), and their product at most 2^40",
        static_cast<long long>(desc.height), static_cast<long long>(desc.width), static_cast<long long>(desc.channels));
  Flow map;
  map.height = height;
  map.width = width;
  map.channels = desc.channels;
  return map;
}

Scope scope_of(int32_t scope) {
  switch (scope) {
    case SYNFIRE_SCOPE_NEURON:
      return Scope::neuron;
    case SYNFIRE_SCOPE_CHANNEL:
      return Scope::channel;
    case SYNFIRE_SCOPE_LAYER:
      return Scope::layer;
    default:
      fail_argument("SYN-SYNAPSE-SCOPE",
                    "desc.scope is %d; allowed are SYNFIRE_SCOPE_NEURON (0), _CHANNEL (1) and _LAYER (2)", scope);
  }
}

}  // namespace

OneToOneSpec::OneToOneSpec(const synfire_one_to_one_desc& desc) : shape{checked_map(desc), {}, desc.dtype, false, 0} {
  if (desc.input_kind != SYNFIRE_INPUT_SPIKES && desc.input_kind != SYNFIRE_INPUT_VALUES)
    fail_argument("SYN-SYNAPSE-INPUT-KIND",
                  "desc.input_kind is %d; allowed are SYNFIRE_INPUT_SPIKES (0) and SYNFIRE_INPUT_VALUES (1)",
                  desc.input_kind);
  scope = scope_of(desc.scope);
  check_dtype("SYN-SYNAPSE-DTYPE", desc.dtype, arithmetic_dtypes);
  if (desc.gradient_bits != 0 && desc.gradient_bits != 24 && desc.gradient_bits != 32)
    fail_argument("SYN-SYNAPSE-GRADIENT-BITS", "desc.gradient_bits is %d; allowed are 24, 32 and 0 for 32",
                  desc.gradient_bits);
  check_flag(desc.bias, "SYN-SYNAPSE-FLAG", "desc.bias");
  check_flag(desc.frozen, "SYN-SYNAPSE-FLAG", "desc.frozen");
  initial_weight = desc.initial_weight == 0 ? 1.0 : desc.initial_weight;
  const double largest = desc.dtype == SYNFIRE_DTYPE_F64 ? std::numeric_limits<double>::max()
                                                         : static_cast<double>(std::numeric_limits<float>::max());
  if (!(std::fabs(initial_weight) <= largest))
    fail_argument("SYN-SYNAPSE-WEIGHT", "desc.initial_weight is %g; it must be finite in %s", initial_weight,
                  name_of_dtype(desc.dtype));
  shape.output = shape.input;
  shape.input.elements = desc.input_kind == SYNFIRE_INPUT_SPIKES ? Elements::spikes : Elements::values;
  shape.frozen = desc.frozen == 1;
  has_bias = desc.bias == 1;
  gradient_bits = desc.gradient_bits == 0 ? 32 : desc.gradient_bits;
  shape.gradient_bits = gradient_bits;
}

uint64_t OneToOneSpec::array_bytes() const {
  return static_cast<uint64_t>(n_entries()) * bytes_of_dtype(shape.dtype) * (has_bias ? 2 : 1);
}

OneToOneSynapse::OneToOneSynapse(Context& context, const OneToOneSpec& spec)
    : Synapse(context, one_to_one_kind, spec.shape, 2), spec_(spec) {
  device().require(SYNFIRE_MEMORY_DEVICE, spec_.array_bytes());
  const int64_t n_entries = spec_.n_entries();
  add_array("weight", "weights", true, {n_entries});
  if (spec_.has_bias) add_array("bias", "bias", true, {n_entries});
  const auto upload = [&]<class R>(R value) {
    require_host_memory(static_cast<uint64_t>(n_entries) * sizeof(R), Paging::pageable);
    const std::vector<R> weights(static_cast<size_t>(n_entries), value);
    device().upload(weight().data, weights.data(), weights.size() * sizeof(R));
  };
  if (dtype() == SYNFIRE_DTYPE_F64)
    upload(spec_.initial_weight);
  else
    upload(static_cast<float>(spec_.initial_weight));
}

// ---- the kind -------------------------------------------------------------------------------------------------------

namespace {

constexpr const char* array_names[] = {"weight", "bias"};

OneToOneSynapse& synapse_of(const SynapsePass& pass) {
  return static_cast<OneToOneSynapse&>(*pass.use.synapse);
}

Extents extents_of(const SynapsePass& pass) {
  return {pass.n_steps, pass.batch, pass.use.synapse->n_inputs()};
}

int64_t row_operations(const Synapse& synapse) {
  return synapse.n_inputs();
}

void check_gradients(const Synapse& synapse, int64_t n_steps, int64_t batch, bool of_arrays, bool) {
  // Sums of this many integers of 32 bits cannot overflow 64.
  constexpr int64_t most_terms = int64_t{1} << 31;
  const int64_t n_shares = static_cast<const OneToOneSynapse&>(synapse).spec().n_shares();
  if (of_arrays && n_steps * batch > (most_terms - 1) / n_shares)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-SYNAPSE-ROWS",
         "desc.n_steps is %lld and desc.batch %lld, and %lld elements of a row have the same weight; gradients of "
         "weights "
         "are computed over less than 2^31 of them",
         static_cast<long long>(n_steps), static_cast<long long>(batch), static_cast<long long>(n_shares));
}

OperationList product(const SynapsePass& pass, const View& output) {
  OneToOneSynapse& synapse = synapse_of(pass);
  return {OneToOneProduct{&synapse, extents_of(pass), pass.input, output, pass.n_active, pass.layer_active,
                          synapse.weight(), synapse.bias()}};
}

View scratch(int32_t dtype, int64_t count) {
  View view;
  view.dtype = dtype;
  view.bytes = static_cast<uint64_t>(count) * bytes_of_dtype(dtype);
  return view;
}

OperationList gradients(const SynapsePass& pass, const View& grad_output, bool add) {
  OneToOneSynapse& synapse = synapse_of(pass);
  const OneToOneSpec& spec = synapse.spec();
  OneToOneGradient op = {};
  op.synapse = &synapse;
  op.extents = extents_of(pass);
  op.grad_output = grad_output;
  op.input = pass.input;
  op.n_active = pass.n_active;
  op.layer_active = pass.layer_active;
  op.weight_gradient = synapse.weight_gradient();
  op.bias_gradient = synapse.bias_gradient();
  op.add = add;
  if (spec.has_contributions()) {
    const int64_t n_arrays = spec.has_bias ? 2 : 1;
    const RowSumShape shape = {pass.batch, spec.n_neurons(), spec.n_entries()};
    op.contributions = scratch(SYNFIRE_DTYPE_F32, n_arrays * pass.batch * spec.n_neurons());
    op.largest = scratch(SYNFIRE_DTYPE_U32, n_arrays * shape.array_length());
    op.totals = scratch(SYNFIRE_DTYPE_U64, n_arrays * shape.array_length());
    if (!synapse.on_host()) op.arrived = scratch(SYNFIRE_DTYPE_U32, n_arrays * shape.n_tiles());
  } else if (spec.is_exact()) {
    op.largest = scratch(SYNFIRE_DTYPE_U32, spec.n_entries());
    op.totals = scratch(SYNFIRE_DTYPE_U64, 2 * spec.n_entries());
  } else {
    const int64_t n_terms = pass.n_steps * pass.batch * spec.n_shares();
    op.blocks =
        scratch(synapse.dtype(), 2 * ((n_terms + model::block_length - 1) / model::block_length) * spec.n_entries());
  }
  return {op};
}

OperationList input_gradient(const SynapsePass& pass, const View& grad_output, const View& grad_input, bool add) {
  OneToOneSynapse& synapse = synapse_of(pass);
  return {OneToOneInputGradient{&synapse, extents_of(pass), grad_output, grad_input, pass.n_active, pass.layer_active,
                                synapse.weight(), add}};
}

// Products read the arrays.
OperationList derive(Synapse&) {
  return {};
}

std::string label_text(const Extents& e) {
  char text[96];
  std::snprintf(text, sizeof text, "[%lld, %lld, %lld]", static_cast<long long>(e.n_steps),
                static_cast<long long>(e.batch), static_cast<long long>(e.n_neurons));
  return text;
}

}  // namespace

const SynapseKind one_to_one_kind = {"one_to_one", array_names, false,          false,  row_operations, check_gradients,
                                     product,      gradients,   input_gradient, derive, nullptr,        nullptr};

RowSums row_sums_of(const OneToOneGradient& op, int which) {
  const OneToOneSpec& spec = op.synapse->spec();
  RowSums sums = {};
  sums.shape = {op.extents.batch, spec.n_neurons(), spec.n_entries()};
  sums.n_active = static_cast<const uint32_t*>(op.n_active.data);
  sums.layer_active = static_cast<const int64_t*>(op.layer_active.data);
  // An array that the entry does not use is null.
  const auto part = [which]<class E>(const View& view, E*& to, int64_t length) {
    if (view) to = static_cast<E*>(view.data) + which * length;
  };
  const float* contributions = nullptr;
  part(op.contributions, contributions, op.extents.row());
  sums.contributions = contributions;
  part(op.largest, sums.largest, sums.shape.array_length());
  part(op.totals, sums.totals, sums.shape.array_length());
  part(op.arrived, sums.n_arrived, sums.shape.n_tiles());
  sums.output = static_cast<float*>((which == 0 ? op.weight_gradient : op.bias_gradient).data);
  sums.add = op.add;
  return sums;
}

OperationLabel label(const OneToOneProduct& op) {
  return {nullptr, label_text(op.extents)};
}
OperationLabel label(const OneToOneGradient& op) {
  return {nullptr, label_text(op.extents)};
}
OperationLabel label(const OneToOneInputGradient& op) {
  return {nullptr, label_text(op.extents)};
}

}  // namespace synfire::operations

// The object and the kind: a descriptor's checks, and the operations that a pass asks for.
#include "population.hpp"

#include <base/dtype.hpp>
#include <base/error.hpp>
#include <base/host_memory.hpp>

#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

namespace synfire::operations {

using namespace synfire::core;

// ---- the object -----------------------------------------------------------------------------------------------------

namespace {

// So that sizes in bytes and the extents of operations can be computed.
constexpr int64_t most_outputs = int64_t{1} << 40;
// Pairs of a multiplication and an addition that a cell takes; most of them are those of the exponential.
constexpr int64_t operations_of_cell = 16;

Flow checked_inputs(const synfire_population_desc& desc) {
  const int64_t height = desc.height == 0 ? 1 : desc.height, width = desc.width == 0 ? 1 : desc.width;
  int64_t outputs = 0;
  if (height < 1 || width < 1 || desc.channels < 1 || desc.n_cells < 1 ||
      __builtin_mul_overflow(height, width, &outputs) || __builtin_mul_overflow(outputs, desc.channels, &outputs) ||
      __builtin_mul_overflow(outputs, desc.n_cells, &outputs) || outputs > most_outputs)
    fail_argument("SYN-SYNAPSE-MAP",
                  "desc.height, desc.width, desc.channels and desc.n_cells are %lld, %lld, %lld and %lld; each must be "
                  "at least 1 (0 means 1 for the first two), and their product at most 2^40",
                  static_cast<long long>(desc.height), static_cast<long long>(desc.width),
                  static_cast<long long>(desc.channels), static_cast<long long>(desc.n_cells));
  Flow map;
  map.height = height;
  map.width = width;
  map.channels = desc.channels;
  map.elements = Elements::values;
  return map;
}

double largest_of(int32_t dtype) {
  return dtype == SYNFIRE_DTYPE_F64 ? std::numeric_limits<double>::max()
                                    : static_cast<double>(std::numeric_limits<float>::max());
}
double smallest_of(int32_t dtype) {
  return dtype == SYNFIRE_DTYPE_F64 ? std::numeric_limits<double>::min()
                                    : static_cast<double>(std::numeric_limits<float>::min());
}

}  // namespace

PopulationSpec::PopulationSpec(const synfire_population_desc& desc)
    : shape{checked_inputs(desc), {}, desc.dtype, false, 32}, n_cells(desc.n_cells) {
  check_dtype("SYN-SYNAPSE-DTYPE", desc.dtype, arithmetic_dtypes);
  check_flag(desc.frozen, "SYN-SYNAPSE-FLAG", "desc.frozen");
  const bool has_range = desc.lower != 0 || desc.upper != 0;
  lower = has_range ? desc.lower : -3;
  upper = has_range ? desc.upper : 3;
  const double largest = largest_of(desc.dtype);
  if (!(std::fabs(lower) <= largest && std::fabs(upper) <= largest && lower < upper && upper - lower <= largest))
    fail_argument(
        "SYN-SYNAPSE-RANGE",
        "desc.lower and desc.upper are %g and %g; both and their difference must be finite in %s, and the first "
        "one must be below the second (0 and 0 mean -3 and 3)",
        desc.lower, desc.upper, name_of_dtype(desc.dtype));
  sigma = desc.sigma == 0 ? (upper - lower) / static_cast<double>(n_cells > 1 ? n_cells - 1 : 1) : desc.sigma;
  if (!(sigma >= smallest_of(desc.dtype) && sigma <= largest))
    fail_argument(
        "SYN-SYNAPSE-SIGMA",
        "sigma is %g; it must be a normal number of %s above 0 (0 in desc.sigma means the distance between the "
        "cells)",
        sigma, name_of_dtype(desc.dtype));
  shape.output = shape.input;
  shape.output.channels = desc.channels * n_cells;
  shape.output.elements = Flow().elements;
  shape.frozen = desc.frozen == 1;
}

double PopulationSpec::mu(int64_t cell) const {
  if (n_cells == 1) return lower + (upper - lower) / 2;
  return lower + (upper - lower) * (static_cast<double>(cell) / static_cast<double>(n_cells - 1));
}

uint64_t PopulationSpec::array_bytes() const {
  return 2 * static_cast<uint64_t>(n_outputs()) * bytes_of_dtype(shape.dtype);
}

PopulationSynapse::PopulationSynapse(Context& context, const PopulationSpec& spec)
    : Synapse(context, population_kind, spec.shape, 2), spec_(spec) {
  device().require(SYNFIRE_MEMORY_DEVICE, spec_.array_bytes());
  add_array("mu", "mu", true, {spec_.n_inputs(), spec_.n_cells});
  add_array("sigma", "sigma", true, {spec_.n_inputs(), spec_.n_cells});
  const auto upload = [&]<class R>(R width) {
    const auto count = static_cast<size_t>(spec_.n_outputs());
    require_host_memory(uint64_t{count} * sizeof(R), Paging::pageable);
    std::vector<R> numbers(count, width);
    device().upload(sigma().data, numbers.data(), count * sizeof(R));
    for (size_t n = 0; n < count; ++n) numbers[n] = static_cast<R>(spec_.mu(static_cast<int64_t>(n) % spec_.n_cells));
    device().upload(mu().data, numbers.data(), count * sizeof(R));
  };
  if (dtype() == SYNFIRE_DTYPE_F64)
    upload(spec_.sigma);
  else
    upload(static_cast<float>(spec_.sigma));
}

// ---- the kind -------------------------------------------------------------------------------------------------------

namespace {

constexpr const char* array_names[] = {"mu", "sigma"};

PopulationSynapse& synapse_of(const SynapsePass& pass) {
  return static_cast<PopulationSynapse&>(*pass.use.synapse);
}

Extents extents_of(const SynapsePass& pass) {
  return {pass.n_steps, pass.batch, pass.use.synapse->n_inputs()};
}

int64_t row_operations(const Synapse& synapse) {
  return synapse.n_outputs() * operations_of_cell;
}

void check_gradients(const Synapse&, int64_t, int64_t batch, bool of_arrays, bool) {
  if (of_arrays && batch > most_row_sum_terms)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-SYNAPSE-ROWS",
         "desc.batch is %lld; gradients of mu and sigma are computed over less than 2^32 rows",
         static_cast<long long>(batch));
}

OperationList product(const SynapsePass& pass, const View& output) {
  PopulationSynapse& synapse = synapse_of(pass);
  return {PopulationProduct{&synapse, extents_of(pass), pass.input, output, pass.n_active, pass.layer_active,
                            synapse.mu(), synapse.sigma()}};
}

View scratch(int32_t dtype, int64_t count) {
  View view;
  view.dtype = dtype;
  view.bytes = static_cast<uint64_t>(count) * bytes_of_dtype(dtype);
  return view;
}

OperationList gradients(const SynapsePass& pass, const View& grad_output, bool add) {
  PopulationSynapse& synapse = synapse_of(pass);
  const int64_t n_outputs = synapse.n_outputs();
  PopulationGradient op = {};
  op.synapse = &synapse;
  op.extents = extents_of(pass);
  op.grad_output = grad_output;
  op.input = pass.input;
  op.n_active = pass.n_active;
  op.layer_active = pass.layer_active;
  op.mu = synapse.mu();
  op.sigma = synapse.sigma();
  op.mu_gradient = synapse.mu_gradient();
  op.sigma_gradient = synapse.sigma_gradient();
  op.add = add;
  op.contributions = scratch(synapse.dtype(), 2 * pass.batch * n_outputs);
  if (synapse.dtype() == SYNFIRE_DTYPE_F64) return {op};
  const RowSumShape shape = {pass.batch, n_outputs, n_outputs};
  op.largest = scratch(SYNFIRE_DTYPE_U32, 2 * shape.array_length());
  op.totals = scratch(SYNFIRE_DTYPE_U64, 2 * shape.array_length());
  if (!synapse.on_host()) op.arrived = scratch(SYNFIRE_DTYPE_U32, 2 * shape.n_tiles());
  return {op};
}

OperationList input_gradient(const SynapsePass& pass, const View& grad_output, const View& grad_input, bool add) {
  PopulationSynapse& synapse = synapse_of(pass);
  return {PopulationInputGradient{&synapse, extents_of(pass), grad_output, pass.input, grad_input, pass.n_active,
                                  pass.layer_active, synapse.mu(), synapse.sigma(), add}};
}

// Products read the arrays.
OperationList derive(Synapse&) {
  return {};
}

std::string label_text(const Extents& e, const PopulationSynapse& synapse) {
  char text[120];
  std::snprintf(text, sizeof text, "[%lld, %lld, %lld], %lld cells each", static_cast<long long>(e.n_steps),
                static_cast<long long>(e.batch), static_cast<long long>(e.n_neurons),
                static_cast<long long>(synapse.spec().n_cells));
  return text;
}

}  // namespace

const SynapseKind population_kind = {"population",    array_names, false,     false,          row_operations,
                                     check_gradients, product,     gradients, input_gradient, derive,
                                     nullptr,         nullptr,     true};

RowSums row_sums_of(const PopulationGradient& op, int which) {
  const int64_t n_outputs = op.synapse->n_outputs();
  RowSums sums = {};
  sums.shape = {op.extents.batch, n_outputs, n_outputs};
  sums.n_active = static_cast<const uint32_t*>(op.n_active.data);
  sums.layer_active = static_cast<const int64_t*>(op.layer_active.data);
  // An array that the entry does not use is null.
  const auto part = [which]<class E>(const View& view, E*& to, int64_t length) {
    if (view) to = static_cast<E*>(view.data) + which * length;
  };
  const float* contributions = nullptr;
  part(op.contributions, contributions, op.extents.batch * n_outputs);
  sums.contributions = contributions;
  part(op.largest, sums.largest, sums.shape.array_length());
  part(op.totals, sums.totals, sums.shape.array_length());
  part(op.arrived, sums.n_arrived, sums.shape.n_tiles());
  sums.output = static_cast<float*>((which == 0 ? op.mu_gradient : op.sigma_gradient).data);
  sums.add = op.add;
  return sums;
}

OperationLabel label(const PopulationProduct& op) {
  return {nullptr, label_text(op.extents, *op.synapse)};
}
OperationLabel label(const PopulationGradient& op) {
  return {nullptr, label_text(op.extents, *op.synapse)};
}
OperationLabel label(const PopulationInputGradient& op) {
  return {nullptr, label_text(op.extents, *op.synapse)};
}

}  // namespace synfire::operations

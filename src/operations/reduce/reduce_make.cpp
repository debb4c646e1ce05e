// Turns requests about reductions into checked operations.
#include "reduce.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>
#include <graph/operands.hpp>
#include <operations/spikes/spike_views.hpp>

#include <synfire/model/reduction.hpp>

#include <cstdio>

namespace synfire::operations {

using namespace synfire::core;

namespace {

const char* name_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return "sum";
    case Reduction::mean:
      return "mean";
    case Reduction::max:
      return "maximum";
    default:
      return "last";
  }
}

std::string text_of(Reduction reduction, Axis axis, const Extents& e) {
  return std::string(name_of(reduction))
      .append(axis == Axis::steps ? " over the steps of " : " over the batch of ")
      .append(shape_text(e));
}

bool is_whole(int32_t dtype) {
  return !is_number(dtype);
}

View source_view(const Buffer& buffer, const Extents& e) {
  static constexpr auto allowed = and_dtype(spike_dtypes, SYNFIRE_DTYPE_U32);
  check_type(buffer, "desc.source", allowed);
  if (buffer.dtype() != SYNFIRE_DTYPE_U32) return spike_view(buffer, "desc.source", e);
  return stepped(buffer, "desc.source", {e.n_steps, e.batch, e.n_neurons}, "u32 " + shape_text(e));
}

// The reduced array, or its gradient: [B, N], or [T, N] with a pitch.
View reduced_view(const Buffer& buffer, const char* name, Axis axis, const Extents& e) {
  const int32_t dtype = buffer.dtype();
  check_type(buffer, name, arithmetic_dtypes);
  const int64_t rows = axis == Axis::steps ? e.batch : e.n_steps;
  char text[80];
  std::snprintf(text, sizeof text, "%s [%lld, %lld]", name_of_dtype(dtype), static_cast<long long>(rows),
                static_cast<long long>(e.n_neurons));
  if (axis == Axis::steps) return stepped(buffer, name, {1, rows, e.n_neurons}, text);
  return stepped(buffer, name, {rows, e.n_neurons}, text);
}

// f64 goes with f64 only; integers and spikes go with either type.
void check_types(const Buffer& numbers, const char* name, const Buffer& reduced, const char* reduced_name) {
  if (is_whole(numbers.dtype())) return;
  if ((numbers.dtype() == SYNFIRE_DTYPE_F64) != (reduced.dtype() == SYNFIRE_DTYPE_F64))
    fail_argument("SYN-REDUCE-TYPE", "%s holds %s and %s %s; f64 goes with f64 only", name,
                  name_of_dtype(numbers.dtype()), reduced_name, name_of_dtype(reduced.dtype()));
}

View scratch(bool needed, uint64_t bytes) {
  View view;
  view.bytes = needed ? bytes : 0;
  return view;
}

uint64_t columns_of(Axis axis, const Extents& e) {
  return static_cast<uint64_t>((axis == Axis::steps ? e.batch : e.n_steps) * e.n_neurons);
}

}  // namespace

View lengths_view(const Buffer* buffer, const Extents& e) {
  if (!buffer) return {};
  check_type(*buffer, "desc.lengths", SYNFIRE_DTYPE_U32);
  char text[40];
  std::snprintf(text, sizeof text, "u32 [%lld]", static_cast<long long>(e.batch));
  return stepped(*buffer, "desc.lengths", {1, e.batch}, text);
}

View n_active_view(const Buffer* buffer) {
  if (!buffer) return {};
  check_type(*buffer, "desc.n_active", SYNFIRE_DTYPE_U32);
  return stepped(*buffer, "desc.n_active", {1, 1}, "u32 [1]");
}

View gradient_view(const Buffer& buffer, const char* name, const Extents& e) {
  check_type(buffer, name, number_dtypes);
  return stepped(buffer, name, {e.n_steps, e.batch, e.n_neurons},
                 std::string(name_of_dtype(buffer.dtype())).append(" ").append(shape_text(e)));
}

OperationLabel label(const Reduce& op) {
  return {nullptr, text_of(op.reduction, op.axis, op.extents)};
}
OperationLabel label(const ReduceBackward& op) {
  return {nullptr, text_of(op.reduction, op.axis, op.extents)};
}

OperationList reduce(const ReduceRequest& request) {
  const Extents e = checked_extents(request.extents);
  const View source = source_view(*request.source, e);
  const View destination = reduced_view(*request.destination, "desc.destination", request.axis, e);
  check_types(*request.source, "desc.source", *request.destination, "desc.destination");
  const int64_t length = request.axis == Axis::steps ? e.n_steps : e.batch;
  const int64_t n_chunks = (length + model::reduction_chunk - 1) / model::reduction_chunk;
  const bool in_parts = !request.source->on_host() && n_chunks > 1 && request.reduction != Reduction::last;
  Reduce op = {request.reduction,
               request.axis,
               e,
               source,
               destination,
               lengths_view(request.lengths, e),
               n_active_view(request.n_active),
               scratch(in_parts, static_cast<uint64_t>(n_chunks) * columns_of(request.axis, e) * sizeof(uint64_t)),
               {}};
  op.host_places = host_places_of(request.source->context()->device(), op);
  OperationList operations = {op};
  check_overlap(operations);
  return operations;
}

OperationList reduce_backward(const ReduceBackwardRequest& request) {
  const Extents e = checked_extents(request.extents);
  const bool max = request.reduction == Reduction::max;
  if (max && !request.source)
    fail_argument("SYN-REDUCE-SOURCE", "desc.source is null; the gradient of a maximum needs it");
  const View grad = reduced_view(*request.grad_destination, "desc.grad_destination", request.axis, e);
  const View grad_source = gradient_view(*request.grad_source, "desc.grad_source", e);
  check_types(*request.grad_source, "desc.grad_source", *request.grad_destination, "desc.grad_destination");
  View source;
  if (max) {
    source = source_view(*request.source, e);
    check_types(*request.source, "desc.source", *request.grad_destination, "desc.grad_destination");
  }
  OperationList operations = {
      ReduceBackward{request.reduction, request.axis, e, grad, source, lengths_view(request.lengths, e),
                     n_active_view(request.n_active), grad_source, request.accumulate,
                     scratch(max && !request.grad_source->on_host(), columns_of(request.axis, e) * sizeof(int64_t))}};
  check_overlap(operations);
  return operations;
}

}  // namespace synfire::operations

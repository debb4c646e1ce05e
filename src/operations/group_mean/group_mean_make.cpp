// Turns requests into checked operations.
#include "group_mean.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>
#include <graph/operands.hpp>

#include <cstdio>

namespace synfire::operations {

using namespace synfire::core;

namespace {

template <class Request>
void check_groups(const Request& request) {
  constexpr const char* rule = "SYN-GROUP-SHAPE";
  constexpr int64_t most = int64_t{1} << 24;  // f32 has the number of elements exactly
  check_length(rule, "n_steps", request.n_steps);
  check_length(rule, "n_groups", request.n_groups);
  check_length(rule, "group_size", request.group_size);
  check_length(rule, "batch", request.batch, Zero::means_one);
  if (request.group_size > most)
    fail_argument(rule, "desc.group_size is %lld; at most 2^24 is allowed", static_cast<long long>(request.group_size));
  if (!is_addressable({request.n_steps, request.batch == 0 ? 1 : request.batch, request.n_groups, request.group_size}))
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-GROUP-OVERFLOW",
         "desc.n_steps %lld times desc.batch %lld times desc.n_groups %lld times desc.group_size %lld elements cannot "
         "be addressed",
         static_cast<long long>(request.n_steps), static_cast<long long>(request.batch),
         static_cast<long long>(request.n_groups), static_cast<long long>(request.group_size));
}

// An array with `size` numbers for each group.
template <class Request>
View numbers_of(const Request& request, const Buffer& buffer, const char* name, int64_t size) {
  check_type(buffer, name, number_dtypes);
  return array_view(buffer, name, {request.n_steps, request.batch == 0 ? 1 : request.batch, request.n_groups * size});
}

void check_widths(const View& a, const char* a_name, const View& b, const char* b_name) {
  if ((a.dtype == SYNFIRE_DTYPE_F64) != (b.dtype == SYNFIRE_DTYPE_F64))
    fail_argument("SYN-GROUP-TYPE", "%s holds %s and %s %s; f64 goes with f64 only", a_name, name_of_dtype(a.dtype),
                  b_name, name_of_dtype(b.dtype));
}

std::string text_of(const View& groups, int64_t size) {
  char text[120];
  std::snprintf(text, sizeof text, "[%lld, %lld, %lld] of %lld", static_cast<long long>(groups.shape[0]),
                static_cast<long long>(groups.shape[1]), static_cast<long long>(groups.shape[2]),
                static_cast<long long>(size));
  return text;
}

}  // namespace

OperationLabel label(const GroupMean& op) {
  return {nullptr, text_of(op.destination, op.size)};
}
OperationLabel label(const GroupMeanBackward& op) {
  return {nullptr, text_of(op.grad_destination, op.size)};
}

OperationList group_mean(const GroupMeanRequest& request) {
  check_groups(request);
  const GroupMean op = {request.group_size, numbers_of(request, *request.source, "desc.source", request.group_size),
                        numbers_of(request, *request.destination, "desc.destination", 1)};
  check_widths(op.source, "desc.source", op.destination, "desc.destination");
  OperationList operations = {op};
  check_overlap(operations);
  return operations;
}

OperationList group_mean_backward(const GroupMeanBackwardRequest& request) {
  check_groups(request);
  const GroupMeanBackward op = {request.group_size, request.accumulate,
                                numbers_of(request, *request.grad_destination, "desc.grad_destination", 1),
                                numbers_of(request, *request.grad_source, "desc.grad_source", request.group_size)};
  check_widths(op.grad_destination, "desc.grad_destination", op.grad_source, "desc.grad_source");
  OperationList operations = {op};
  check_overlap(operations);
  return operations;
}

}  // namespace synfire::operations

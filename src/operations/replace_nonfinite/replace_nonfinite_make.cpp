#include "replace_nonfinite.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>
#include <graph/operands.hpp>

#include <cstdio>

namespace synfire::operations {

using namespace synfire::core;

namespace {

void check_lengths(const ReplaceNonfiniteRequest& request) {
  constexpr const char* rule = "SYN-REPLACE-SHAPE";
  check_length(rule, "n_steps", request.n_steps, Zero::means_one);
  check_length(rule, "n_elements", request.n_elements);
  check_length(rule, "batch", request.batch, Zero::means_one);
}

void check_size(int64_t n_steps, int64_t batch, int64_t n_elements) {
  if (!is_addressable({n_steps, batch, n_elements}))
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-REPLACE-OVERFLOW",
         "desc.n_steps %lld times desc.batch %lld times desc.n_elements %lld elements cannot be addressed",
         static_cast<long long>(n_steps), static_cast<long long>(batch), static_cast<long long>(n_elements));
}

void check_types(const ReplaceNonfiniteRequest& request) {
  check_type(*request.source, "desc.source", number_dtypes);
  if (request.destination->dtype() != request.source->dtype())
    fail_argument("SYN-REPLACE-TYPE", "desc.source holds %s and desc.destination %s; both must be the same",
                  name_of_dtype(request.source->dtype()), name_of_dtype(request.destination->dtype()));
  check_type(*request.count, "desc.count", SYNFIRE_DTYPE_U64);
}

}  // namespace

OperationLabel label(const ReplaceNonfinite& op) {
  char text[120];
  std::snprintf(text, sizeof text, "[%lld, %lld, %lld] of %s", static_cast<long long>(op.source.shape[0]),
                static_cast<long long>(op.source.shape[1]), static_cast<long long>(op.source.shape[2]),
                name_of_dtype(op.source.dtype));
  return {nullptr, text};
}

OperationList replace_nonfinite(const ReplaceNonfiniteRequest& request) {
  check_lengths(request);
  const int64_t n_steps = request.n_steps == 0 ? 1 : request.n_steps, batch = request.batch == 0 ? 1 : request.batch;
  check_size(n_steps, batch, request.n_elements);
  check_types(request);
  OperationList operations = {ReplaceNonfinite{
      request.accumulate, array_view(*request.source, "desc.source", {n_steps, batch, request.n_elements}),
      array_view(*request.count, "desc.count", {1}),
      array_view(*request.destination, "desc.destination", {n_steps, batch, request.n_elements})}};
  check_overlap(operations);
  return operations;
}

}  // namespace synfire::operations

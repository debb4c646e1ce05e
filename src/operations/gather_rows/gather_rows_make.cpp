#include "gather_rows.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>
#include <graph/operands.hpp>

#include <cstdio>

namespace synfire::operations {

using namespace synfire::core;

namespace {

void check_lengths(const GatherRowsRequest& request) {
  constexpr const char* rule = "SYN-GATHER-SHAPE";
  check_length(rule, "n_rows", request.n_rows);
  check_length(rule, "n_steps", request.n_steps, Zero::means_one);
  check_length(rule, "n_elements", request.n_elements);
  check_length(rule, "batch", request.batch, Zero::means_one);
}

void check_size(int64_t rows, const char* name, int64_t n_steps, int64_t n_elements) {
  if (!is_addressable({rows, n_steps, n_elements}))
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-GATHER-OVERFLOW",
         "desc.%s %lld times desc.n_steps %lld times desc.n_elements %lld elements cannot be addressed", name,
         static_cast<long long>(rows), static_cast<long long>(n_steps), static_cast<long long>(n_elements));
}

View u32_array(const Buffer& buffer, const char* name, int64_t count) {
  check_type(buffer, name, SYNFIRE_DTYPE_U32);
  return array_view(buffer, name, {1, count});
}

}  // namespace

OperationLabel label(const GatherRows& op) {
  char text[160];
  std::snprintf(text, sizeof text, "[%lld, %lld, %lld] of %lld rows", static_cast<long long>(op.destination.shape[0]),
                static_cast<long long>(op.destination.shape[1]), static_cast<long long>(op.destination.shape[2]),
                static_cast<long long>(op.source.shape[0]));
  return {nullptr, text};
}

OperationList gather_rows(const GatherRowsRequest& request) {
  check_lengths(request);
  const int64_t batch = request.batch == 0 ? 1 : request.batch;
  int64_t n_steps = request.n_steps == 0 ? 1 : request.n_steps, n_elements = request.n_elements;
  check_size(request.n_rows, "n_rows", n_steps, n_elements);
  check_size(batch, "batch", n_steps, n_elements);
  const int32_t dtype = request.source->dtype();
  if (request.destination->dtype() != dtype)
    fail_argument("SYN-GATHER-TYPE", "desc.source holds %s and desc.destination %s; both must be the same",
                  name_of_dtype(dtype), name_of_dtype(request.destination->dtype()));
  // Packed spikes have words in place of elements or steps.
  if (dtype == SYNFIRE_DTYPE_BITS) n_elements = (n_elements + 31) / 32;
  if (dtype == SYNFIRE_DTYPE_TIME_BITS) n_steps = (n_steps + 31) / 32;
  OperationList operations = {
      GatherRows{array_view(*request.source, "desc.source", {request.n_rows, n_steps, n_elements}),
                 u32_array(*request.indices, "desc.indices", batch),
                 request.n_active ? u32_array(*request.n_active, "desc.n_active", 1) : View{},
                 array_view(*request.destination, "desc.destination", {n_steps, batch, n_elements}),
                 request.lengths ? u32_array(*request.lengths, "desc.lengths", batch) : View{}}};
  check_overlap(operations);
  return operations;
}

}  // namespace synfire::operations

#include "gather_rows.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>
#include <graph/operands.hpp>

#include <cstdio>

namespace synfire::operations {

using namespace synfire::core;

namespace {

void check_lengths(const GatherRowsRequest& request) {
  const auto check = [](int64_t value, const char* name, int64_t least, const char* note) {
    if (value < least)
      fail_argument("SYN-GATHER-SHAPE", "desc.%s is %lld; at least 1 is needed%s", name, static_cast<long long>(value),
                    note);
  };
  check(request.n_rows, "n_rows", 1, "");
  check(request.n_steps, "n_steps", 0, " (0 means 1)");
  check(request.n_elements, "n_elements", 1, "");
  check(request.batch, "batch", 0, " (0 means 1)");
}

void check_size(int64_t rows, const char* name, int64_t n_steps, int64_t n_elements) {
  // 2^59 elements of f64 are 2^62 bytes; 2^40 leaves room to round up to whole words and steps.
  constexpr int64_t largest = (int64_t{1} << 59) - (int64_t{1} << 40);
  int64_t elements = 0;
  if (__builtin_mul_overflow(rows, n_steps, &elements) || __builtin_mul_overflow(elements, n_elements, &elements) ||
      elements > largest)
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-GATHER-OVERFLOW",
         "desc.%s %lld times desc.n_steps %lld times desc.n_elements %lld elements cannot be addressed", name,
         static_cast<long long>(rows), static_cast<long long>(n_steps), static_cast<long long>(n_elements));
}

// An array with these lengths, slowest first; packed spikes have words in place of steps or elements.
View array(const Buffer& buffer, const char* name, std::initializer_list<int64_t> lengths, bool on_host) {
  std::string text = name_of_dtype(buffer.dtype());
  text.append(" ").append(lengths_text({lengths.begin(), lengths.size()}));
  if (is_packed(buffer.dtype())) text.append(" words");
  return stepped(buffer, name, lengths, text, on_host);
}

View u32_array(const Buffer& buffer, const char* name, int64_t count, bool on_host) {
  if (buffer.dtype() != SYNFIRE_DTYPE_U32)
    fail_argument("SYN-BUFFER-TYPE", "%s holds %s; u32 is needed", name, name_of_dtype(buffer.dtype()));
  return array(buffer, name, {1, count}, on_host);
}

}  // namespace

OperationLabel label(const GatherRows& op) {
  char text[160];
  std::snprintf(text, sizeof text, "[%lld, %lld, %lld] of %lld rows", static_cast<long long>(op.destination.shape[0]),
                static_cast<long long>(op.destination.shape[1]), static_cast<long long>(op.destination.shape[2]),
                static_cast<long long>(op.source.shape[0]));
  return {nullptr, text};
}

OperationList gather_rows(const GatherRowsRequest& request, bool on_host) {
  check_lengths(request);
  const int64_t batch = request.batch == 0 ? 1 : request.batch;
  int64_t n_steps = request.n_steps == 0 ? 1 : request.n_steps, n_elements = request.n_elements;
  check_size(request.n_rows, "n_rows", n_steps, n_elements);
  check_size(batch, "batch", n_steps, n_elements);
  const int32_t dtype = request.source->dtype();
  if (request.destination->dtype() != dtype)
    fail_argument("SYN-GATHER-TYPE", "desc.source holds %s and desc.destination %s; both must be the same",
                  name_of_dtype(dtype), name_of_dtype(request.destination->dtype()));
  if (dtype == SYNFIRE_DTYPE_BITS) n_elements = (n_elements + 31) / 32;
  if (dtype == SYNFIRE_DTYPE_TIME_BITS) n_steps = (n_steps + 31) / 32;
  OperationList operations = {
      GatherRows{array(*request.source, "desc.source", {request.n_rows, n_steps, n_elements}, on_host),
                 u32_array(*request.indices, "desc.indices", batch, on_host),
                 request.n_active ? u32_array(*request.n_active, "desc.n_active", 1, on_host) : View{},
                 array(*request.destination, "desc.destination", {n_steps, batch, n_elements}, on_host),
                 request.lengths ? u32_array(*request.lengths, "desc.lengths", batch, on_host) : View{}}};
  check_overlap(operations);
  return operations;
}

}  // namespace synfire::operations

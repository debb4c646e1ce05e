#include "spike_operations.hpp"

#include "array_checks.hpp"
#include "error.hpp"
#include "operands.hpp"

#include <cstdio>

namespace synfire::core {
namespace {

Extents checked(Extents extents) {
  const auto check = [](int64_t value, const char* name, int64_t least, const char* note) {
    if (value < least)
      fail_argument("SYN-SPIKES-SHAPE", "desc.%s is %lld; at least 1 is needed%s", name, static_cast<long long>(value),
                    note);
  };
  check(extents.n_steps, "n_steps", 1, "");
  check(extents.n_neurons, "n_neurons", 1, "");
  check(extents.batch, "batch", 0, " (0 means 1)");
  if (extents.batch == 0) extents.batch = 1;
  // 2^59 elements of f64 are 2^62 bytes; 2^40 leaves room to round up to whole words and steps.
  constexpr int64_t largest = (int64_t{1} << 59) - (int64_t{1} << 40);
  int64_t elements = 0;
  if (__builtin_mul_overflow(extents.n_steps, extents.batch, &elements) ||
      __builtin_mul_overflow(elements, extents.n_neurons, &elements) || elements > largest)
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-SPIKES-OVERFLOW",
         "desc.n_steps %lld times desc.batch %lld times desc.n_neurons %lld elements cannot be addressed",
         static_cast<long long>(extents.n_steps), static_cast<long long>(extents.batch),
         static_cast<long long>(extents.n_neurons));
  return extents;
}

// Spikes [T, B, N] in any format.
Array spikes(const Buffer& buffer, const char* name, const Extents& e, bool host_device) {
  const int64_t time_words = (e.n_steps + 31) / 32;
  char text[128];
  switch (buffer.dtype()) {
    case SYNFIRE_DTYPE_BITS:
      return stepped(buffer, name, e.n_steps, e.batch * e.words_per_row(),
                     words_text("bits", e.n_steps, e.batch, e.words_per_row()), host_device);
    case SYNFIRE_DTYPE_TIME_BITS:
      return stepped(buffer, name, time_words, e.row(),
                     words_text("time-packed bits", time_words, e.batch, e.n_neurons), host_device);
    case SYNFIRE_DTYPE_U32:
    case SYNFIRE_DTYPE_U64:
      fail_argument("SYN-BUFFER-TYPE",
                    "%s holds %s; spikes in f32, f64, f16, bf16, u8, bits or time-packed bits are needed", name,
                    name_of_dtype(buffer.dtype()));
    default:
      std::snprintf(text, sizeof text, "%s [%lld, %lld, %lld]", name_of_dtype(buffer.dtype()),
                    static_cast<long long>(e.n_steps), static_cast<long long>(e.batch),
                    static_cast<long long>(e.n_neurons));
      return stepped(buffer, name, e.n_steps, e.row(), text, host_device);
  }
}

// Where no word crosses from one batch row to the next, [B, N] is one long row.
Extents folded(const Extents& extents, bool neuron_packed) {
  if (neuron_packed && extents.n_neurons % 32 != 0) return extents;
  return {extents.n_steps, 1, extents.row()};
}

}  // namespace

OperationList convert_spikes(const ConvertSpikesRequest& request, bool host_device) {
  const Extents extents = checked(request.extents);
  OperationList operations = {ConvertSpikesOperation{folded(extents, request.source->dtype() == SYNFIRE_DTYPE_BITS ||
                                                         request.destination->dtype() == SYNFIRE_DTYPE_BITS),
                                     spikes(*request.source, "desc.source", extents, host_device),
                                     spikes(*request.destination, "desc.destination", extents, host_device)}};
  check_overlap(operations);
  return operations;
}

OperationList count_spikes(const CountSpikesRequest& request, bool host_device) {
  const Extents e = checked(request.extents);
  const Buffer& counts = *request.counts;
  const bool neurons = request.kind == CountKind::per_neuron, steps = request.kind == CountKind::per_step;
  if (counts.dtype() != SYNFIRE_DTYPE_U32 && counts.dtype() != SYNFIRE_DTYPE_U64)
    fail_argument("SYN-BUFFER-TYPE", "desc.counts holds %s; u32 or u64 is needed", name_of_dtype(counts.dtype()));
  const int64_t largest = neurons ? e.n_steps : steps ? e.row() : e.n_steps * e.row();
  if (counts.dtype() == SYNFIRE_DTYPE_U32 && largest > 0xFFFFFFFF)
    fail_argument("SYN-COUNT-RANGE", "desc.counts holds u32; a count of this shape may reach %lld, u64 is needed",
                  static_cast<long long>(largest));
  const int64_t length = neurons ? e.row() : steps ? e.n_steps : 1;
  char text[128];
  if (neurons)
    std::snprintf(text, sizeof text, "%s [%lld, %lld]", name_of_dtype(counts.dtype()), static_cast<long long>(e.batch),
                  static_cast<long long>(e.n_neurons));
  else
    std::snprintf(text, sizeof text, "%s [%lld]", name_of_dtype(counts.dtype()), static_cast<long long>(length));
  OperationList operations = {CountSpikesOperation{request.kind, folded(e, request.spikes->dtype() == SYNFIRE_DTYPE_BITS),
                                   spikes(*request.spikes, "desc.spikes", e, host_device),
                                   stepped(counts, "desc.counts", 1, length, text, host_device)}};
  check_overlap(operations);
  return operations;
}

}  // namespace synfire::core

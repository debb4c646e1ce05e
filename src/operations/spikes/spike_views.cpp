#include "spike_views.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>

#include <cstdio>

namespace synfire::operations {

using namespace synfire::core;

Extents checked_extents(Extents extents) {
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

View spike_view(const Buffer& buffer, const char* name, const Extents& e, bool on_host) {
  const int64_t time_words = (e.n_steps + 31) / 32;
  char text[128];
  switch (buffer.dtype()) {
    case SYNFIRE_DTYPE_BITS:
      return stepped(buffer, name, {e.n_steps, e.batch, e.words_per_row()}, packed_text(buffer.dtype(), e), on_host);
    case SYNFIRE_DTYPE_TIME_BITS:
      return stepped(buffer, name, {time_words, e.batch, e.n_neurons}, packed_text(buffer.dtype(), e), on_host);
    case SYNFIRE_DTYPE_U32:
    case SYNFIRE_DTYPE_U64:
      fail_argument("SYN-BUFFER-TYPE",
                    "%s holds %s; spikes in f32, f64, f16, bf16, u8, bits or time-packed bits are needed", name,
                    name_of_dtype(buffer.dtype()));
    default:
      std::snprintf(text, sizeof text, "%s [%lld, %lld, %lld]", name_of_dtype(buffer.dtype()),
                    static_cast<long long>(e.n_steps), static_cast<long long>(e.batch),
                    static_cast<long long>(e.n_neurons));
      return stepped(buffer, name, {e.n_steps, e.batch, e.n_neurons}, text, on_host);
  }
}

std::string shape_text(const Extents& e) {
  char text[80];
  std::snprintf(text, sizeof text, "[%lld, %lld, %lld]", static_cast<long long>(e.n_steps),
                static_cast<long long>(e.batch), static_cast<long long>(e.n_neurons));
  return text;
}

}  // namespace synfire::operations

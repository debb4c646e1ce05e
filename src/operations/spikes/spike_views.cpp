#include "spike_views.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>

#include <cstdio>

namespace synfire::operations {

using namespace synfire::core;

Extents checked_extents(Extents extents) {
  constexpr const char* rule = "SYN-SPIKES-SHAPE";
  check_length(rule, "n_steps", extents.n_steps);
  check_length(rule, "n_neurons", extents.n_neurons);
  check_length(rule, "batch", extents.batch, Zero::means_one);
  if (extents.batch == 0) extents.batch = 1;
  if (!is_addressable({extents.n_steps, extents.batch, extents.n_neurons}))
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

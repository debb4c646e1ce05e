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

View spike_view(const Buffer& buffer, const char* name, const Extents& e) {
  check_type(buffer, name, spike_dtypes);
  const int32_t dtype = buffer.dtype();
  if (dtype == SYNFIRE_DTYPE_BITS)
    return stepped(buffer, name, {e.n_steps, e.batch, e.words_per_row()}, packed_text(dtype, e));
  if (dtype == SYNFIRE_DTYPE_TIME_BITS)
    return stepped(buffer, name, {(e.n_steps + 31) / 32, e.batch, e.n_neurons}, packed_text(dtype, e));
  return array_view(buffer, name, {e.n_steps, e.batch, e.n_neurons});
}

std::string shape_text(const Extents& e) {
  char text[80];
  std::snprintf(text, sizeof text, "[%lld, %lld, %lld]", static_cast<long long>(e.n_steps),
                static_cast<long long>(e.batch), static_cast<long long>(e.n_neurons));
  return text;
}

}  // namespace synfire::operations

// Turns requests into checked operations.
#include "combine.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>
#include <graph/operands.hpp>
#include <operations/spikes/spike_views.hpp>

#include <algorithm>
#include <string>

namespace synfire::operations {

using namespace synfire::core;

namespace {

constexpr const char *type_rule = "SYN-COMBINE-TYPE", *channel_rule = "SYN-COMBINE-CHANNELS";

Extents checked_shape(Extents extents) {
  constexpr const char* rule = "SYN-COMBINE-SHAPE";
  check_length(rule, "n_steps", extents.n_steps);
  check_length(rule, "n_neurons", extents.n_neurons);
  check_length(rule, "batch", extents.batch, Zero::means_one);
  if (extents.batch == 0) extents.batch = 1;
  if (!is_addressable({extents.n_steps, extents.batch, extents.n_neurons}))
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-COMBINE-OVERFLOW",
         "desc.n_steps %lld times desc.batch %lld times desc.n_neurons %lld elements cannot be addressed",
         static_cast<long long>(extents.n_steps), static_cast<long long>(extents.batch),
         static_cast<long long>(extents.n_neurons));
  return extents;
}

// The sum of all channels of a concatenation; 0 for other kinds, which have none.
int64_t checked_channels(CombineKind kind, std::span<const int64_t> channels, size_t n_sources, const char* needed,
                         int64_t n_neurons) {
  if (kind != CombineKind::concatenate) {
    if (!channels.empty())
      fail_argument(channel_rule, "desc.n_channels is %llu; only a concatenation has channels",
                    static_cast<unsigned long long>(channels.size()));
    return 0;
  }
  if (channels.size() != n_sources)
    fail_argument(channel_rule, "desc.n_channels is %llu; a concatenation needs %s",
                  static_cast<unsigned long long>(channels.size()), needed);
  int64_t all = 0;
  for (size_t k = 0; k < channels.size(); ++k) {
    if (channels[k] < 1)
      fail_argument(channel_rule, "desc.channels[%llu] is %lld; at least 1 is needed",
                    static_cast<unsigned long long>(k), static_cast<long long>(channels[k]));
    if (__builtin_add_overflow(all, channels[k], &all)) all = n_neurons + 1;
    all = std::min(all, n_neurons + 1);  // enough to refuse it
  }
  if (all > n_neurons || n_neurons % all != 0) {
    std::string text;
    for (const int64_t one : channels) text.append(text.empty() ? "" : " + ").append(std::to_string(one));
    fail_argument(channel_rule, "desc.n_neurons is %lld; it must be a multiple of the channels of all sources, %s",
                  static_cast<long long>(n_neurons), text.c_str());
  }
  return all;
}

std::string name_of_source(size_t k) {
  return std::string("desc.sources[").append(std::to_string(k)).append("]");
}

void check_count(CombineKind kind, size_t count) {
  const bool two = kind == CombineKind::both || kind == CombineKind::first_alone;
  if (two ? count != 2 : count < 1 || count > static_cast<size_t>(most_combined))
    fail_argument("SYN-COMBINE-COUNT", "desc.n_sources is %llu; %s", static_cast<unsigned long long>(count),
                  two ? "AND and IAND have 2" : "1 to 16 are allowed");
}

void check_bounds(const CombineRequest& request) {
  constexpr const char* rule = "SYN-COMBINE-BOUND";
  if (request.bounds.empty()) return;
  if (request.bounds.size() != request.sources.size())
    fail_argument(rule, "desc.n_bounds is %llu and desc.n_sources %llu; both must be the same, or n_bounds 0",
                  static_cast<unsigned long long>(request.bounds.size()),
                  static_cast<unsigned long long>(request.sources.size()));
  for (size_t k = 0; k < request.bounds.size(); ++k) {
    const int32_t bound = request.bounds[k], dtype = request.sources[k]->dtype();
    if (bound < 0 || bound > 255)
      fail_argument(rule, "desc.bounds[%llu] is %d; counts have a bound from 1 to 255, and other sources 0",
                    static_cast<unsigned long long>(k), bound);
    if (bound > 0 && dtype != SYNFIRE_DTYPE_U8)
      fail_argument(type_rule, "desc.bounds[%llu] is %d, but %s holds %s; counts are u8",
                    static_cast<unsigned long long>(k), bound, name_of_source(k).c_str(), name_of_dtype(dtype));
    if (bound > 0 && (request.kind == CombineKind::both || request.kind == CombineKind::first_alone))
      fail_argument(type_rule, "desc.bounds[%llu] is %d; AND and IAND take spikes, not counts",
                    static_cast<unsigned long long>(k), bound);
  }
}

int32_t bound_of(const CombineRequest& request, size_t k) {
  return request.bounds.empty() ? 0 : request.bounds[k];
}

void check_types(const CombineRequest& request) {
  const int32_t to = request.destination->dtype();
  const bool sum = request.kind == CombineKind::sum, joined = request.kind == CombineKind::concatenate;
  check_type(*request.destination, "desc.destination", spike_dtypes);
  if (sum && is_packed(to))
    fail_argument(type_rule, "desc.destination holds %s; a sum is written as counts in u8, or as numbers",
                  name_of_dtype(to));
  int32_t largest = 0;
  for (size_t k = 0; k < request.sources.size(); ++k) {
    const int32_t from = request.sources[k]->dtype();
    check_type(*request.sources[k], name_of_source(k).c_str(), spike_dtypes);
    if ((sum || joined) && is_number(from) && is_number(to) && (from == SYNFIRE_DTYPE_F64) != (to == SYNFIRE_DTYPE_F64))
      fail_argument(type_rule, "%s holds %s and desc.destination %s; numbers in f64 go with f64 only",
                    name_of_source(k).c_str(), name_of_dtype(from), name_of_dtype(to));
    if (joined && is_packed(to) && bound_of(request, k) > 0)
      fail_argument(type_rule, "%s holds counts and desc.destination %s; counts are written in u8, or as numbers",
                    name_of_source(k).c_str(), name_of_dtype(to));
    largest += std::max(bound_of(request, k), 1);
  }
  if (sum && to == SYNFIRE_DTYPE_U8 && largest > 255)
    fail_argument("SYN-COUNT-BOUND",
                  "the sum of desc.sources may reach %d, counting 1 for spikes and desc.bounds for counts; counts are "
                  "at most 255 (a destination of numbers takes any sum)",
                  largest);
}

std::string text_of(const Extents& e, int32_t dtype) {
  return std::string(name_of_dtype(dtype)).append(" ").append(shape_text(e));
}

View numbers_view(const Buffer& buffer, const char* name, const Extents& e) {
  check_type(buffer, name, number_dtypes);
  return array_view(buffer, name, {e.n_steps, e.batch, e.n_neurons});
}

}  // namespace

OperationLabel label(const Combine& op) {
  static constexpr const char* names[] = {"sum", "AND", "IAND", "concatenation"};
  return {nullptr, std::string(names[static_cast<int>(op.kind)])
                       .append(" of ")
                       .append(std::to_string(op.n_sources))
                       .append(", ")
                       .append(text_of(op.extents, op.destination.dtype))};
}

OperationLabel label(const CombineBackward& op) {
  return {nullptr, text_of(op.extents, op.grad_source.dtype)};
}

OperationList combine(const CombineRequest& request) {
  const Extents e = checked_shape(request.extents);
  check_count(request.kind, request.sources.size());
  const int64_t all = checked_channels(request.kind, request.channels, request.sources.size(),
                                       "one entry for each source", e.n_neurons);
  check_bounds(request);
  check_types(request);
  Combine op = {};
  op.kind = request.kind;
  op.extents = e;
  op.n_sources = static_cast<int32_t>(request.sources.size());
  for (size_t k = 0; k < request.sources.size(); ++k) {
    Extents own = e;
    if (all > 0) {
      op.channels[k] = request.channels[k];
      own.n_neurons = e.n_neurons / all * request.channels[k];
    }
    op.bounds[k] = static_cast<uint8_t>(std::max(bound_of(request, k), 1));
    op.sources[k] = spike_view(*request.sources[k], name_of_source(k).c_str(), own);
  }
  op.destination = spike_view(*request.destination, "desc.destination", e);
  OperationList operations = {op};
  check_overlap(operations);
  return operations;
}

OperationList combine_backward(const CombineBackwardRequest& request) {
  const Extents e = checked_shape(request.extents);
  const bool two = request.kind == CombineKind::both || request.kind == CombineKind::first_alone;
  const size_t n_channels = request.channels.size();
  if (request.kind == CombineKind::concatenate && (n_channels < 2 || n_channels > static_cast<size_t>(most_combined)))
    fail_argument(channel_rule,
                  "desc.n_channels is %llu; a concatenation needs one entry for each of its 2 to 16 sources",
                  static_cast<unsigned long long>(n_channels));
  const int64_t all = checked_channels(request.kind, request.channels, n_channels, "", e.n_neurons);
  const int n_sources = two ? 2 : n_channels > 0 ? static_cast<int>(n_channels) : most_combined;
  if (request.source < 0 || request.source >= n_sources)
    fail_argument("SYN-COMBINE-SOURCE", "desc.source is %d; a number from 0 to %d is needed", request.source,
                  n_sources - 1);
  if (two != (request.other != nullptr))
    fail_argument("SYN-COMBINE-OTHER",
                  two ? "desc.other is null; the gradient of AND and of IAND needs the other source"
                      : "desc.other is given; only the gradient of AND and of IAND reads it");
  CombineBackward op = {};
  op.kind = request.kind;
  op.extents = e;
  op.source = request.source;
  op.add = request.accumulate;
  if (all > 0) {
    const auto source = static_cast<size_t>(request.source);
    op.all_channels = all;
    op.channels = request.channels[source];
    for (size_t k = 0; k < source; ++k) op.first_channel += request.channels[k];
    op.extents.n_neurons = e.n_neurons / all * op.channels;
  }
  op.grad_destination = numbers_view(*request.grad_destination, "desc.grad_destination", e);
  if (request.other) op.other = spike_view(*request.other, "desc.other", e);
  op.grad_source = numbers_view(*request.grad_source, "desc.grad_source", op.extents);
  if ((op.grad_destination.dtype == SYNFIRE_DTYPE_F64) != (op.grad_source.dtype == SYNFIRE_DTYPE_F64))
    fail_argument(type_rule, "desc.grad_destination holds %s and desc.grad_source %s; f64 goes with f64 only",
                  name_of_dtype(op.grad_destination.dtype), name_of_dtype(op.grad_source.dtype));
  OperationList operations = {op};
  check_overlap(operations);
  return operations;
}

}  // namespace synfire::operations

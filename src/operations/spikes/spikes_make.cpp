// Turns requests about spikes into checked operations.
#include "convert_spikes.hpp"
#include "count_spikes.hpp"
#include "spike_views.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>
#include <graph/operands.hpp>

#include <cstdio>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// If no word crosses from one batch row to the next, [B, N] is one long row.
Extents folded(const Extents& extents, bool neuron_packed) {
  if (neuron_packed && extents.n_neurons % 32 != 0) return extents;
  return {extents.n_steps, 1, extents.row()};
}

}  // namespace

OperationLabel label(const ConvertSpikes& op) {
  return {nullptr, std::string(name_of_dtype(op.source.dtype))
                       .append(" to ")
                       .append(name_of_dtype(op.destination.dtype))
                       .append(" ")
                       .append(shape_text(op.extents))};
}

OperationLabel label(const CountSpikes& op) {
  return {nullptr, shape_text(op.extents)};
}

OperationList convert_spikes(const ConvertSpikesRequest& request) {
  const Extents extents = checked_extents(request.extents);
  OperationList operations = {ConvertSpikes{folded(extents, request.source->dtype() == SYNFIRE_DTYPE_BITS ||
                                                                request.destination->dtype() == SYNFIRE_DTYPE_BITS),
                                            spike_view(*request.source, "desc.source", extents),
                                            spike_view(*request.destination, "desc.destination", extents)}};
  check_overlap(operations);
  return operations;
}

OperationList count_spikes(const CountSpikesRequest& request) {
  const Extents e = checked_extents(request.extents);
  const Buffer& counts = *request.counts;
  const bool neurons = request.kind == CountKind::per_neuron, steps = request.kind == CountKind::per_step;
  static constexpr int32_t allowed[] = {SYNFIRE_DTYPE_U32, SYNFIRE_DTYPE_U64};
  check_type(counts, "desc.counts", allowed);
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
  OperationList operations = {CountSpikes{request.kind, folded(e, request.spikes->dtype() == SYNFIRE_DTYPE_BITS),
                                          spike_view(*request.spikes, "desc.spikes", e),
                                          neurons ? stepped(counts, "desc.counts", {1, e.batch, e.n_neurons}, text)
                                                  : stepped(counts, "desc.counts", {1, length}, text)}};
  check_overlap(operations);
  return operations;
}

}  // namespace synfire::operations

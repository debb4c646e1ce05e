// The functions of synfire.h for conversions and counts of spikes.
#include "operands.hpp"

#include <operations/spikes/convert_spikes.hpp>
#include <operations/spikes/count_spikes.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

operations::ConvertSpikesRequest request_of(const Operands<synfire_convert_spikes_desc>& given) {
  return {{given.desc.n_steps, given.desc.batch, given.desc.n_neurons}, given.source.get(), given.destination.get()};
}

operations::CountSpikesRequest request_of(const Operands<synfire_count_spikes_desc>& given) {
  if (given.desc.kind < SYNFIRE_COUNT_PER_NEURON || given.desc.kind > SYNFIRE_COUNT_TOTAL)
    core::fail_argument("SYN-COUNT-KIND",
                        "desc.kind is %d; allowed are SYNFIRE_COUNT_PER_NEURON (0), _PER_STEP (1) and _TOTAL (2)",
                        given.desc.kind);
  return {static_cast<operations::CountKind>(given.desc.kind),
          {given.desc.n_steps, given.desc.batch, given.desc.n_neurons},
          given.spikes.get(),
          given.counts.get()};
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_convert_spikes(synfire_context context, const synfire_convert_spikes_desc* desc,
                                                   synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const Operands<synfire_convert_spikes_desc> conversion(desc, *owner);
    return run_or_captured(
        core::run_now(*owner, operations::convert_spikes(request_of(conversion), owner->device().is_host()), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_convert_spikes(synfire_graph graph,
                                                                const synfire_convert_spikes_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const Operands<synfire_convert_spikes_desc> conversion(desc, *target->context());
    target->record([&](core::Recorder& recorder) {
      return operations::convert_spikes(request_of(conversion), recorder.on_host());
    });
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_count_spikes(synfire_context context, const synfire_count_spikes_desc* desc,
                                                 synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const Operands<synfire_count_spikes_desc> count(desc, *owner);
    return run_or_captured(
        core::run_now(*owner, operations::count_spikes(request_of(count), owner->device().is_host()), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_count_spikes(synfire_graph graph,
                                                              const synfire_count_spikes_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const Operands<synfire_count_spikes_desc> count(desc, *target->context());
    target->record(
        [&](core::Recorder& recorder) { return operations::count_spikes(request_of(count), recorder.on_host()); });
    return SYNFIRE_OK;
  });
}

}  // extern "C"

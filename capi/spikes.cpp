// The functions of synfire.h for conversions and counts of spikes.
#include "calls.hpp"

#include <operations/spikes/convert_spikes.hpp>
#include <operations/spikes/count_spikes.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

operations::ConvertSpikesRequest request_of(const Operands<synfire_convert_spikes_desc>& given) {
  return {{given.desc.n_steps, given.desc.batch, given.desc.n_neurons}, given.source.get(), given.destination.get()};
}

operations::CountSpikesRequest request_of(const Operands<synfire_count_spikes_desc>& given) {
  return {static_cast<operations::CountKind>(given.desc.kind),
          {given.desc.n_steps, given.desc.batch, given.desc.n_neurons},
          given.spikes.get(),
          given.counts.get()};
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_convert_spikes(synfire_context context, const synfire_convert_spikes_desc* desc,
                                                   synfire_stream stream) noexcept {
  return run_now(__func__, context, desc, stream,
                 [](const auto& given) { return operations::convert_spikes(request_of(given)); });
}

synfire_status SYNFIRE_CALL synfire_graph_record_convert_spikes(synfire_graph graph,
                                                                const synfire_convert_spikes_desc* desc) noexcept {
  return record(__func__, graph, desc, [](const auto& given) { return operations::convert_spikes(request_of(given)); });
}

synfire_status SYNFIRE_CALL synfire_count_spikes(synfire_context context, const synfire_count_spikes_desc* desc,
                                                 synfire_stream stream) noexcept {
  return run_now(__func__, context, desc, stream,
                 [](const auto& given) { return operations::count_spikes(request_of(given)); });
}

synfire_status SYNFIRE_CALL synfire_graph_record_count_spikes(synfire_graph graph,
                                                              const synfire_count_spikes_desc* desc) noexcept {
  return record(__func__, graph, desc, [](const auto& given) { return operations::count_spikes(request_of(given)); });
}

}  // extern "C"

// The functions of synfire.h for conversions and counts of spikes. As in synfire.cpp: check, look up, call, translate.
#include "pins.hpp"

#include <operations/spikes/convert_spikes.hpp>
#include <operations/spikes/count_spikes.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

// The two buffers of a conversion or a count of spikes.
class PinnedConvertSpikes {
 public:
  PinnedConvertSpikes(const synfire_convert_spikes_desc* descriptor, const core::Context& context)
      : desc_(read_descriptor(descriptor, "desc")),
        source_(required(desc_.source, "desc.source", context)),
        destination_(required(desc_.destination, "desc.destination", context)) {
    check_reserved(desc_.reserved, "desc.reserved");
  }
  operations::ConvertSpikesRequest request() const {
    return {{desc_.n_steps, desc_.batch, desc_.n_neurons}, source_.get(), destination_.get()};
  }

 private:
  synfire_convert_spikes_desc desc_;
  PinnedBuffer source_, destination_;
};

class PinnedCountSpikes {
 public:
  PinnedCountSpikes(const synfire_count_spikes_desc* descriptor, const core::Context& context)
      : desc_(read_descriptor(descriptor, "desc")),
        spikes_(required(desc_.spikes, "desc.spikes", context)),
        counts_(required(desc_.counts, "desc.counts", context)) {
    if (desc_.kind < SYNFIRE_COUNT_PER_NEURON || desc_.kind > SYNFIRE_COUNT_TOTAL)
      core::fail_argument("SYN-COUNT-KIND",
                          "desc.kind is %d; allowed are SYNFIRE_COUNT_PER_NEURON (0), _PER_STEP (1) and _TOTAL (2)",
                          desc_.kind);
  }
  operations::CountSpikesRequest request() const {
    return {static_cast<operations::CountKind>(desc_.kind),
            {desc_.n_steps, desc_.batch, desc_.n_neurons},
            spikes_.get(),
            counts_.get()};
  }

 private:
  synfire_count_spikes_desc desc_;
  PinnedBuffer spikes_, counts_;
};

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_convert_spikes(synfire_context context, const synfire_convert_spikes_desc* desc,
                                                   synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const PinnedConvertSpikes conversion(desc, *owner);
    return run_or_captured(
        core::run_now(*owner, operations::convert_spikes(conversion.request(), owner->device().is_host()), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_convert_spikes(synfire_graph graph,
                                                                const synfire_convert_spikes_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const PinnedConvertSpikes conversion(desc, *target->context());
    target->record(
        [&](core::Recorder& recorder) { return operations::convert_spikes(conversion.request(), recorder.on_host()); });
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_count_spikes(synfire_context context, const synfire_count_spikes_desc* desc,
                                                 synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const PinnedCountSpikes count(desc, *owner);
    return run_or_captured(
        core::run_now(*owner, operations::count_spikes(count.request(), owner->device().is_host()), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_count_spikes(synfire_graph graph,
                                                              const synfire_count_spikes_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const PinnedCountSpikes count(desc, *target->context());
    target->record(
        [&](core::Recorder& recorder) { return operations::count_spikes(count.request(), recorder.on_host()); });
    return SYNFIRE_OK;
  });
}

}  // extern "C"

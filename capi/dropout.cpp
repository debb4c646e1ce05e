// The functions of synfire.h for masks of dropout. As in synfire.cpp: check, look up, call, translate.
#include "pins.hpp"

#include <operations/dropout/dropout.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

// The two buffers of a mask.
class PinnedDropout {
 public:
  PinnedDropout(const synfire_dropout_desc* descriptor, const core::Context& context)
      : desc_(read_descriptor(descriptor, "desc")),
        mask_(required(desc_.mask, "desc.mask", context)),
        scale_(required(desc_.scale, "desc.scale", context)) {
    check_reserved(desc_.reserved, "desc.reserved");
  }
  operations::DropoutRequest request() const {
    return {desc_.n_neurons, desc_.batch, desc_.probability, mask_.get(), scale_.get(), desc_.seed, desc_.offset};
  }

 private:
  synfire_dropout_desc desc_;
  PinnedBuffer mask_, scale_;
};

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_dropout(synfire_context context, const synfire_dropout_desc* desc,
                                            synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const PinnedDropout drawn(desc, *owner);
    return run_or_captured(
        core::run_now(*owner, operations::dropout(drawn.request(), owner->device().is_host()), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_dropout(synfire_graph graph,
                                                         const synfire_dropout_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const PinnedDropout drawn(desc, *target->context());
    operations::record_dropout(*target, drawn.request());
    return SYNFIRE_OK;
  });
}

}  // extern "C"

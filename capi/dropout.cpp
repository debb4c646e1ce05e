// The functions of synfire.h for masks of dropout.
#include "operands.hpp"

#include <operations/dropout/dropout.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

operations::DropoutRequest request_of(const Operands<synfire_dropout_desc>& given) {
  return {given.desc.n_neurons, given.desc.batch, given.desc.probability, given.mask.get(),
          given.scale.get(),    given.desc.seed,  given.desc.offset};
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_dropout(synfire_context context, const synfire_dropout_desc* desc,
                                            synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const Operands<synfire_dropout_desc> drawn(desc, *owner);
    return run_or_captured(
        core::run_now(*owner, operations::dropout(request_of(drawn), owner->device().is_host()), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_dropout(synfire_graph graph,
                                                         const synfire_dropout_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const Operands<synfire_dropout_desc> drawn(desc, *target->context());
    operations::record_dropout(*target, request_of(drawn));
    return SYNFIRE_OK;
  });
}

}  // extern "C"

// The functions of synfire.h for masks of dropout.
#include "calls.hpp"

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
  return run_now(__func__, context, desc, stream,
                 [](const auto& given) { return operations::dropout(request_of(given)); });
}

synfire_status SYNFIRE_CALL synfire_graph_record_dropout(synfire_graph graph,
                                                         const synfire_dropout_desc* desc) noexcept {
  return record_with(__func__, graph, desc, [](core::Graph& target, const auto& given) {
    operations::record_dropout(target, request_of(given));
  });
}

}  // extern "C"

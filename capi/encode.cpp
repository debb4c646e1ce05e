// The functions of synfire.h for encodings of rates as spikes.
#include "operands.hpp"

#include <operations/encode/encode_bernoulli.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

operations::EncodeBernoulliRequest request_of(const Operands<synfire_encode_bernoulli_desc>& given) {
  return {{given.desc.n_steps, given.desc.batch, given.desc.n_neurons},
          given.desc.rates_per_step == 1,
          given.rates.get(),
          given.spikes.get(),
          given.desc.seed,
          given.desc.offset};
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_encode_bernoulli(synfire_context context, const synfire_encode_bernoulli_desc* desc,
                                                     synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const Operands<synfire_encode_bernoulli_desc> encoding(desc, *owner);
    return run_or_captured(
        core::run_now(*owner, operations::encode_bernoulli(request_of(encoding), owner->device().is_host()), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_encode_bernoulli(synfire_graph graph,
                                                                  const synfire_encode_bernoulli_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const Operands<synfire_encode_bernoulli_desc> encoding(desc, *target->context());
    operations::record_encode_bernoulli(*target, request_of(encoding));
    return SYNFIRE_OK;
  });
}

}  // extern "C"

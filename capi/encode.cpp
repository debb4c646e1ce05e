// The functions of synfire.h for encodings of rates as spikes.
#include "calls.hpp"

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
  return run_now(__func__, context, desc, stream,
                 [](const auto& given) { return operations::encode_bernoulli(request_of(given)); });
}

synfire_status SYNFIRE_CALL synfire_graph_record_encode_bernoulli(synfire_graph graph,
                                                                  const synfire_encode_bernoulli_desc* desc) noexcept {
  return record_with(__func__, graph, desc, [](core::Graph& target, const auto& given) {
    operations::record_encode_bernoulli(target, request_of(given));
  });
}

}  // extern "C"

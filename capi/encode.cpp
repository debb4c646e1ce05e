// The functions of synfire.h for encodings of rates as spikes. As in synfire.cpp: check, look up, call, translate.
#include "pins.hpp"

#include <operations/encode/encode_bernoulli.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

// The two buffers of an encoding.
class PinnedEncodeBernoulli {
 public:
  PinnedEncodeBernoulli(const synfire_encode_bernoulli_desc* descriptor, const core::Context& context)
      : desc_(read_descriptor(descriptor, "desc")),
        rates_(required(desc_.rates, "desc.rates", context)),
        spikes_(required(desc_.spikes, "desc.spikes", context)) {
    if (desc_.rates_per_step != 0 && desc_.rates_per_step != 1)
      core::fail_argument("SYN-ENCODE-RATES",
                          "desc.rates_per_step is %d; allowed are 0 (rates [B, N]) and 1 (rates [T, B, N])",
                          desc_.rates_per_step);
  }
  operations::EncodeBernoulliRequest request() const {
    return {{desc_.n_steps, desc_.batch, desc_.n_neurons},
            desc_.rates_per_step == 1,
            rates_.get(),
            spikes_.get(),
            desc_.seed,
            desc_.offset};
  }

 private:
  synfire_encode_bernoulli_desc desc_;
  PinnedBuffer rates_, spikes_;
};

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_encode_bernoulli(synfire_context context, const synfire_encode_bernoulli_desc* desc,
                                                     synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const PinnedEncodeBernoulli encoding(desc, *owner);
    return run_or_captured(
        core::run_now(*owner, operations::encode_bernoulli(encoding.request(), owner->device().is_host()), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_encode_bernoulli(synfire_graph graph,
                                                                  const synfire_encode_bernoulli_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const PinnedEncodeBernoulli encoding(desc, *target->context());
    operations::record_encode_bernoulli(*target, encoding.request());
    return SYNFIRE_OK;
  });
}

}  // extern "C"

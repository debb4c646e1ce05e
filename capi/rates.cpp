// The functions of synfire.h for rate losses.
#include "calls.hpp"

#include <operations/rate_loss/rate_loss.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

operations::RateLossRequest request_of(const Operands<synfire_rate_loss_desc>& given) {
  return {{given.desc.n_steps, given.desc.batch, given.desc.n_neurons},
          given.desc.whole_layer == 1,
          given.spikes.get(),
          given.lengths.get(),
          given.n_active.get(),
          given.loss.get(),
          given.grad_spike_seq.get(),
          given.desc.accumulate_loss == 1,
          given.desc.accumulate == 1,
          given.desc.target,
          given.desc.strength};
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_rate_loss(synfire_context context, const synfire_rate_loss_desc* desc,
                                              synfire_stream stream) noexcept {
  return run_now(__func__, context, desc, stream,
                 [](const auto& given) { return operations::rate_loss(request_of(given)); });
}

synfire_status SYNFIRE_CALL synfire_graph_record_rate_loss(synfire_graph graph,
                                                           const synfire_rate_loss_desc* desc) noexcept {
  return record_with(__func__, graph, desc, [](core::Graph& target, const auto& given) {
    operations::record_rate_loss(target, request_of(given));
  });
}

}  // extern "C"

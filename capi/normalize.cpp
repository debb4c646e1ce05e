// The functions of synfire.h for batch normalisation and its gradients.
#include "calls.hpp"

#include <operations/normalize/normalize.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

template <class Desc>
operations::NormalizeMaps maps_of(const Operands<Desc>& given) {
  return {given.desc.mode,   given.desc.n_steps, given.desc.channels, given.desc.batch,
          given.desc.height, given.desc.width,   given.lengths.get(), given.n_active.get()};
}

core::OperationList normalize_of(const Operands<synfire_normalize_desc>& given) {
  return operations::normalize({maps_of(given), given.desc.epsilon, given.desc.momentum, given.source.get(),
                                given.destination.get(), given.gamma.get(), given.beta.get(), given.running_mean.get(),
                                given.running_variance.get(), given.saved.get(), given.factor.get(),
                                given.addend.get()});
}

core::OperationList normalize_backward_of(const Operands<synfire_normalize_backward_desc>& given) {
  return operations::normalize_backward({maps_of(given), given.desc.add_gradients == 1, given.desc.accumulate == 1,
                                         given.grad_destination.get(), given.saved.get(), given.source.get(),
                                         given.gamma.get(), given.grad_source.get(), given.grad_gamma.get(),
                                         given.grad_beta.get()});
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_normalize(synfire_context context, const synfire_normalize_desc* desc,
                                              synfire_stream stream) noexcept {
  return run_now(__func__, context, desc, stream, normalize_of);
}

synfire_status SYNFIRE_CALL synfire_normalize_backward(synfire_context context,
                                                       const synfire_normalize_backward_desc* desc,
                                                       synfire_stream stream) noexcept {
  return run_now(__func__, context, desc, stream, normalize_backward_of);
}

synfire_status SYNFIRE_CALL synfire_graph_record_normalize(synfire_graph graph,
                                                           const synfire_normalize_desc* desc) noexcept {
  return record(__func__, graph, desc, normalize_of);
}

synfire_status SYNFIRE_CALL synfire_graph_record_normalize_backward(
    synfire_graph graph, const synfire_normalize_backward_desc* desc) noexcept {
  return record(__func__, graph, desc, normalize_backward_of);
}

}  // extern "C"

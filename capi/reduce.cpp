// The functions of synfire.h for reductions and their gradients.
#include "calls.hpp"

#include <operations/reduce/reduce.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

operations::ReduceRequest request_of(const Operands<synfire_reduce_desc>& given) {
  return {static_cast<operations::Reduction>(given.desc.reduction),
          static_cast<operations::Axis>(given.desc.axis),
          {given.desc.n_steps, given.desc.batch, given.desc.n_neurons},
          given.source.get(),
          given.destination.get(),
          given.lengths.get(),
          given.n_active.get()};
}

operations::ReduceBackwardRequest request_of(const Operands<synfire_reduce_backward_desc>& given) {
  return {static_cast<operations::Reduction>(given.desc.reduction),
          static_cast<operations::Axis>(given.desc.axis),
          {given.desc.n_steps, given.desc.batch, given.desc.n_neurons},
          given.grad_destination.get(),
          given.source.get(),
          given.lengths.get(),
          given.n_active.get(),
          given.grad_source.get(),
          given.desc.accumulate == 1};
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_reduce(synfire_context context, const synfire_reduce_desc* desc,
                                           synfire_stream stream) noexcept {
  return run_now(__func__, context, desc, stream,
                 [](const auto& given) { return operations::reduce(request_of(given)); });
}

synfire_status SYNFIRE_CALL synfire_reduce_backward(synfire_context context, const synfire_reduce_backward_desc* desc,
                                                    synfire_stream stream) noexcept {
  return run_now(__func__, context, desc, stream,
                 [](const auto& given) { return operations::reduce_backward(request_of(given)); });
}

synfire_status SYNFIRE_CALL synfire_graph_record_reduce(synfire_graph graph, const synfire_reduce_desc* desc) noexcept {
  return record(__func__, graph, desc, [](const auto& given) { return operations::reduce(request_of(given)); });
}

synfire_status SYNFIRE_CALL synfire_graph_record_reduce_backward(synfire_graph graph,
                                                                 const synfire_reduce_backward_desc* desc) noexcept {
  return record(__func__, graph, desc,
                [](const auto& given) { return operations::reduce_backward(request_of(given)); });
}

}  // extern "C"

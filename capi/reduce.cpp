// The functions of synfire.h for reductions and their gradients.
#include "operands.hpp"

#include <operations/reduce/reduce.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

void check_reduction(int32_t reduction, int32_t axis) {
  if (reduction < SYNFIRE_REDUCE_SUM || reduction > SYNFIRE_REDUCE_LAST)
    core::fail_argument("SYN-REDUCE-KIND",
                        "desc.reduction is %d; allowed are SYNFIRE_REDUCE_SUM (0), _MEAN (1), _MAX (2) and _LAST (3)",
                        reduction);
  if (axis != SYNFIRE_AXIS_STEPS && axis != SYNFIRE_AXIS_BATCH)
    core::fail_argument("SYN-REDUCE-AXIS",
                        "desc.axis is %d; allowed are SYNFIRE_AXIS_STEPS (0) and SYNFIRE_AXIS_BATCH (1)", axis);
}

operations::ReduceRequest request_of(const Operands<synfire_reduce_desc>& given) {
  check_reduction(given.desc.reduction, given.desc.axis);
  return {static_cast<operations::Reduction>(given.desc.reduction),
          static_cast<operations::Axis>(given.desc.axis),
          {given.desc.n_steps, given.desc.batch, given.desc.n_neurons},
          given.source.get(),
          given.destination.get(),
          given.lengths.get(),
          given.n_active.get()};
}

operations::ReduceBackwardRequest request_of(const Operands<synfire_reduce_backward_desc>& given) {
  check_reduction(given.desc.reduction, given.desc.axis);
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
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const Operands<synfire_reduce_desc> reduction(desc, *owner);
    return run_or_captured(
        core::run_now(*owner, operations::reduce(request_of(reduction), owner->device().is_host()), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_reduce_backward(synfire_context context, const synfire_reduce_backward_desc* desc,
                                                    synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const Operands<synfire_reduce_backward_desc> gradient(desc, *owner);
    return run_or_captured(
        core::run_now(*owner, operations::reduce_backward(request_of(gradient), owner->device().is_host()), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_reduce(synfire_graph graph, const synfire_reduce_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const Operands<synfire_reduce_desc> reduction(desc, *target->context());
    target->record(
        [&](core::Recorder& recorder) { return operations::reduce(request_of(reduction), recorder.on_host()); });
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_reduce_backward(synfire_graph graph,
                                                                 const synfire_reduce_backward_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const Operands<synfire_reduce_backward_desc> gradient(desc, *target->context());
    target->record([&](core::Recorder& recorder) {
      return operations::reduce_backward(request_of(gradient), recorder.on_host());
    });
    return SYNFIRE_OK;
  });
}

}  // extern "C"

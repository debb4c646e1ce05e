// The functions of synfire.h for reductions and their gradients. As in synfire.cpp: check, look up, call, translate.
#include "pins.hpp"

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

class PinnedReduce {
 public:
  PinnedReduce(const synfire_reduce_desc* descriptor, const core::Context& context)
      : desc_(read_descriptor(descriptor, "desc")),
        source_(required(desc_.source, "desc.source", context)),
        destination_(required(desc_.destination, "desc.destination", context)),
        lengths_(optional(desc_.lengths, "desc.lengths", context)),
        n_active_(optional(desc_.n_active, "desc.n_active", context)) {
    check_reserved(desc_.reserved, "desc.reserved");
    check_reduction(desc_.reduction, desc_.axis);
  }
  operations::ReduceRequest request() const {
    return {static_cast<operations::Reduction>(desc_.reduction),
            static_cast<operations::Axis>(desc_.axis),
            {desc_.n_steps, desc_.batch, desc_.n_neurons},
            source_.get(),
            destination_.get(),
            lengths_.get(),
            n_active_.get()};
  }

 private:
  synfire_reduce_desc desc_;
  PinnedBuffer source_, destination_, lengths_, n_active_;
};

class PinnedReduceBackward {
 public:
  PinnedReduceBackward(const synfire_reduce_backward_desc* descriptor, const core::Context& context)
      : desc_(read_descriptor(descriptor, "desc")),
        grad_destination_(required(desc_.grad_destination, "desc.grad_destination", context)),
        source_(optional(desc_.source, "desc.source", context)),
        lengths_(optional(desc_.lengths, "desc.lengths", context)),
        n_active_(optional(desc_.n_active, "desc.n_active", context)),
        grad_source_(required(desc_.grad_source, "desc.grad_source", context)) {
    check_reduction(desc_.reduction, desc_.axis);
    if (desc_.accumulate != 0 && desc_.accumulate != 1)
      core::fail_argument("SYN-REDUCE-ACCUMULATE", "desc.accumulate is %d; allowed are 0 (write) and 1 (add)",
                          desc_.accumulate);
  }
  operations::ReduceBackwardRequest request() const {
    return {static_cast<operations::Reduction>(desc_.reduction),
            static_cast<operations::Axis>(desc_.axis),
            {desc_.n_steps, desc_.batch, desc_.n_neurons},
            grad_destination_.get(),
            source_.get(),
            lengths_.get(),
            n_active_.get(),
            grad_source_.get(),
            desc_.accumulate == 1};
  }

 private:
  synfire_reduce_backward_desc desc_;
  PinnedBuffer grad_destination_, source_, lengths_, n_active_, grad_source_;
};

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_reduce(synfire_context context, const synfire_reduce_desc* desc,
                                           synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const PinnedReduce reduction(desc, *owner);
    return run_or_captured(
        core::run_now(*owner, operations::reduce(reduction.request(), owner->device().is_host()), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_reduce_backward(synfire_context context, const synfire_reduce_backward_desc* desc,
                                                    synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const PinnedReduceBackward gradient(desc, *owner);
    return run_or_captured(
        core::run_now(*owner, operations::reduce_backward(gradient.request(), owner->device().is_host()), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_reduce(synfire_graph graph, const synfire_reduce_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const PinnedReduce reduction(desc, *target->context());
    target->record(
        [&](core::Recorder& recorder) { return operations::reduce(reduction.request(), recorder.on_host()); });
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_reduce_backward(synfire_graph graph,
                                                                 const synfire_reduce_backward_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const PinnedReduceBackward gradient(desc, *target->context());
    target->record(
        [&](core::Recorder& recorder) { return operations::reduce_backward(gradient.request(), recorder.on_host()); });
    return SYNFIRE_OK;
  });
}

}  // extern "C"

// The functions of synfire.h for losses.
#include "operands.hpp"

#include <operations/loss/loss.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

operations::LossRequest request_of(const Operands<synfire_loss_desc>& given) {
  if (given.desc.kind != SYNFIRE_LOSS_CROSS_ENTROPY && given.desc.kind != SYNFIRE_LOSS_MEAN_SQUARED_ERROR)
    core::fail_argument("SYN-LOSS-KIND",
                        "desc.kind is %d; allowed are 0 (SYNFIRE_LOSS_CROSS_ENTROPY) and 1 "
                        "(SYNFIRE_LOSS_MEAN_SQUARED_ERROR)",
                        given.desc.kind);
  return {{given.desc.n_steps, given.desc.batch, given.desc.n_classes},
          {static_cast<operations::LossKind>(given.desc.kind), given.desc.targets_per_step == 1,
           given.desc.ignores_label == 1, given.desc.ignored_label, given.desc.sum == 1, given.desc.accumulate == 1,
           given.desc.add_gradient == 1},
          given.source.get(),
          given.labels.get(),
          given.targets.get(),
          given.lengths.get(),
          given.n_active.get(),
          given.sample_weights.get(),
          given.class_weights.get(),
          given.loss.get(),
          given.losses.get(),
          given.n_correct.get(),
          given.n_counted.get(),
          given.predictions.get(),
          given.gradient.get(),
          given.desc.label_smoothing,
          given.desc.gradient_scale,
          given.divisor.get()};
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_loss(synfire_context context, const synfire_loss_desc* desc,
                                         synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const Operands<synfire_loss_desc> loss(desc, *owner);
    return run_or_captured(
        core::run_now(*owner, operations::loss(request_of(loss), owner->device().is_host()), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_loss(synfire_graph graph, const synfire_loss_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const Operands<synfire_loss_desc> loss(desc, *target->context());
    operations::record_loss(*target, request_of(loss));
    return SYNFIRE_OK;
  });
}

}  // extern "C"

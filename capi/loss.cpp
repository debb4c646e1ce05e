// The functions of synfire.h for losses. As in synfire.cpp: check, look up, call, translate.
#include "pins.hpp"

#include <operations/loss/loss.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

// The buffers of a loss.
class PinnedLoss {
 public:
  PinnedLoss(const synfire_loss_desc* descriptor, const core::Context& context)
      : desc_(read_descriptor(descriptor, "desc")),
        source_(required(desc_.source, "desc.source", context)),
        labels_(optional(desc_.labels, "desc.labels", context)),
        targets_(optional(desc_.targets, "desc.targets", context)),
        lengths_(optional(desc_.lengths, "desc.lengths", context)),
        n_active_(optional(desc_.n_active, "desc.n_active", context)),
        sample_weights_(optional(desc_.sample_weights, "desc.sample_weights", context)),
        class_weights_(optional(desc_.class_weights, "desc.class_weights", context)),
        loss_(optional(desc_.loss, "desc.loss", context)),
        losses_(optional(desc_.losses, "desc.losses", context)),
        n_correct_(optional(desc_.n_correct, "desc.n_correct", context)),
        n_counted_(optional(desc_.n_counted, "desc.n_counted", context)),
        predictions_(optional(desc_.predictions, "desc.predictions", context)),
        gradient_(optional(desc_.gradient, "desc.gradient", context)) {
    if (desc_.kind != SYNFIRE_LOSS_CROSS_ENTROPY && desc_.kind != SYNFIRE_LOSS_MEAN_SQUARED_ERROR)
      core::fail_argument("SYN-LOSS-KIND",
                          "desc.kind is %d; allowed are 0 (SYNFIRE_LOSS_CROSS_ENTROPY) and 1 "
                          "(SYNFIRE_LOSS_MEAN_SQUARED_ERROR)",
                          desc_.kind);
    check_flag(desc_.targets_per_step, "targets_per_step");
    check_flag(desc_.ignores_label, "ignores_label");
    check_flag(desc_.sum, "sum");
    check_flag(desc_.accumulate, "accumulate");
    check_flag(desc_.add_gradient, "add_gradient");
  }
  operations::LossRequest request() const {
    return {{desc_.n_steps, desc_.batch, desc_.n_classes},
            {static_cast<operations::LossKind>(desc_.kind), desc_.targets_per_step == 1, desc_.ignores_label == 1,
             desc_.ignored_label, desc_.sum == 1, desc_.accumulate == 1, desc_.add_gradient == 1},
            source_.get(),
            labels_.get(),
            targets_.get(),
            lengths_.get(),
            n_active_.get(),
            sample_weights_.get(),
            class_weights_.get(),
            loss_.get(),
            losses_.get(),
            n_correct_.get(),
            n_counted_.get(),
            predictions_.get(),
            gradient_.get(),
            desc_.label_smoothing,
            desc_.gradient_scale};
  }

 private:
  static void check_flag(int32_t value, const char* name) {
    if (value != 0 && value != 1)
      core::fail_argument("SYN-LOSS-FLAG", "desc.%s is %d; allowed are 0 and 1", name, value);
  }

  synfire_loss_desc desc_;
  PinnedBuffer source_, labels_, targets_, lengths_, n_active_, sample_weights_, class_weights_;
  PinnedBuffer loss_, losses_, n_correct_, n_counted_, predictions_, gradient_;
};

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_loss(synfire_context context, const synfire_loss_desc* desc,
                                         synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const PinnedLoss loss(desc, *owner);
    return run_or_captured(core::run_now(*owner, operations::loss(loss.request(), owner->device().is_host()), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_loss(synfire_graph graph, const synfire_loss_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const PinnedLoss loss(desc, *target->context());
    operations::record_loss(*target, loss.request());
    return SYNFIRE_OK;
  });
}

}  // extern "C"

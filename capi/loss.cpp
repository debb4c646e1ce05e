// The functions of synfire.h for losses.
#include "calls.hpp"

#include <operations/loss/loss.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

operations::LossRequest request_of(const Operands<synfire_loss_desc>& given) {
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
  return run_now(__func__, context, desc, stream,
                 [](const auto& given) { return operations::loss(request_of(given)); });
}

synfire_status SYNFIRE_CALL synfire_graph_record_loss(synfire_graph graph, const synfire_loss_desc* desc) noexcept {
  return record_with(__func__, graph, desc, [](core::Graph& target, const auto& given) {
    operations::record_loss(target, request_of(given));
  });
}

}  // extern "C"

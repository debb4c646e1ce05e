#include "rate_loss.hpp"
#include "rates.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>
#include <graph/operands.hpp>
#include <operations/reduce/reduce.hpp>
#include <operations/spikes/spike_views.hpp>

namespace synfire::operations {

using namespace synfire::core;

namespace {

View loss_view(const Buffer* buffer) {
  if (!buffer) return {};
  check_type(*buffer, "desc.loss", arithmetic_dtypes);
  return stepped(*buffer, "desc.loss", {1, 1}, std::string(name_of_dtype(buffer->dtype())).append(" [1]"));
}

View scratch(int64_t bytes) {
  View view;
  view.dtype = SYNFIRE_DTYPE_U64;
  view.bytes = static_cast<uint64_t>(bytes);
  return view;
}

}  // namespace

OperationLabel label(const RateLoss& op) {
  return {nullptr, std::string(op.whole_layer ? "layer " : "neurons ").append(shape_text(op.extents))};
}

OperationList rate_loss(const RateLossRequest& request) {
  const Extents e = checked_extents(request.extents);
  check_scalar(request.target, "desc.target");
  check_scalar(request.strength, "desc.strength");
  if (!request.loss && !request.grad)
    fail_argument("SYN-RATE-OUTPUT", "desc.loss and desc.grad_spike_seq are null; at least one of them is needed");
  OperationList operations = {
      RateLoss{e, request.whole_layer, spike_view(*request.spikes, "desc.spikes", e), lengths_view(request.lengths, e),
               n_active_view(request.n_active), loss_view(request.loss),
               request.grad ? gradient_view(*request.grad, "desc.grad_spike_seq", e) : View{}, request.add_loss,
               request.add_grad, request.target, request.strength,
               scratch(e.n_neurons * static_cast<int64_t>(sizeof(uint64_t))), scratch(RateWork::bytes(e.n_neurons))}};
  check_overlap(operations);
  return operations;
}

void record_rate_loss(Graph& graph, const RateLossRequest& request) {
  graph.record([&](Recorder& recorder) {
    const OperationList operations = rate_loss(request);
    RateLoss op = *operations.front().as<RateLoss>();
    op.target_value = recorder.number("target", request.target);
    op.strength_value = recorder.number("strength", request.strength);
    return OperationList{op};
  });
}

}  // namespace synfire::operations

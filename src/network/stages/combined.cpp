#include "combined.hpp"

#include <network/kept_arrays.hpp>

#include <base/error.hpp>
#include <operations/combine/combine.hpp>

namespace synfire::network {

using namespace synfire::core;

uint32_t combined_of(const StageView& view) {
  for (size_t i = 0; i < view->inputs.size(); ++i)
    if (view.edge(i).from == not_added || (view.input(i)->makes & signal::readout) == 0) return signal::combined;
  return signal::readout;
}

std::optional<StageOutput> combined_output(const StageView& view) {
  if ((view->makes & signal::readout) == 0) return std::nullopt;
  return StageOutput{Port::output, {view.rules().dtype, view->output.n_steps, view->width()}};
}

std::string text_of(const Flow& flow) {
  std::string text = "[";
  text.append(std::to_string(flow.n_steps)).append(", ").append(std::to_string(flow.batch)).append(", ");
  if (flow.is_map())
    text.append(std::to_string(flow.height)).append("x").append(std::to_string(flow.width)).append("x");
  return text.append(std::to_string(flow.channels)).append("]");
}

void check_same_shape(const StageView& view, size_t one, size_t other, bool with_channels) {
  const Flow a = view.flow(one), b = view.flow(other);
  if (a.n_steps == b.n_steps && a.height == b.height && a.width == b.width &&
      (!with_channels || a.channels == b.channels))
    return;
  fail_argument("SYN-NETWORK-SHAPE",
                "stage \"%s\" reads %s of stage \"%s\" and %s of stage \"%s\"; %s must be the same", view->name.c_str(),
                text_of(a).c_str(), view.input(one)->name.c_str(), text_of(b).c_str(), view.input(other)->name.c_str(),
                with_channels ? "both" : "all but the channels");
}

void check_spikes(const StageView& view, size_t i) {
  const Elements elements = view.flow(i).elements;
  if (elements == Elements::spikes) return;
  fail_argument("SYN-NETWORK-SPIKES", "stage \"%s\" of kind %s reads %s of stage \"%s\"; spikes are needed",
                view->name.c_str(), view->kind->traits.name, elements == Elements::counts ? "counts" : "values",
                view.input(i)->name.c_str());
}

OperationList as_numbers(const Flow& flow, Buffer& counts, Buffer& numbers) {
  Buffer* const sources[] = {&counts};
  const int32_t bounds[] = {flow.bound};
  return operations::combine(
      {operations::CombineKind::sum, {flow.n_steps, flow.batch, flow.n_features()}, sources, {}, bounds, &numbers});
}

CombinedParts::CombinedParts(StageMaker& maker, std::optional<int32_t> dtype) : StageParts(maker.stage()) {
  if (dtype) array_ = maker.array(*dtype, stage()->output, kept_arrays::output);
  if (maker.gradient().has_backward) gradient_ = maker.array(maker.number(), stage()->output, kept_arrays::grad_output);
}

}  // namespace synfire::network

#include "ranges.hpp"

#include <core/layer.hpp>
#include <core/text.hpp>

#include <cstdio>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define SYNFIRE_HAVE_NVTX 1
#endif

namespace synfire::cuda {

constinit std::atomic<void*> range_domain{nullptr};

#if SYNFIRE_HAVE_NVTX

namespace {

nvtxDomainHandle_t domain() noexcept {
  return static_cast<nvtxDomainHandle_t>(range_domain.load(std::memory_order_relaxed));
}

struct Name {
  const char* kind;
  const char* detail;
  const core::Layer* layer = nullptr;
};
Name model_of(const char* kind, const core::Layer* layer) {
  return {kind, layer->spec().model->name, layer};
}
struct NameOf {
  Name operator()(const core::ForwardOperation& op) const { return model_of("forward ", op.layer); }
  Name operator()(const core::BackwardOperation& op) const { return model_of("backward ", op.layer); }
  Name operator()(const core::ResetStateOperation& op) const { return model_of("reset state ", op.layer); }
  Name operator()(const core::ReduceOperation&) const { return {"sum of gradients", ""}; }
  Name operator()(const core::CopyOperation&) const { return {"copy", ""}; }
  Name operator()(const core::FillOperation&) const { return {"fill", ""}; }
  Name operator()(const core::ConvertSpikesOperation&) const { return {"convert spikes", ""}; }
  Name operator()(const core::CountSpikesOperation&) const { return {"count spikes", ""}; }
  Name operator()(const core::ScaleAddOperation&) const { return {"scale and add", ""}; }
  Name operator()(const core::WriteBytesOperation&) const { return {"snapshot", ""}; }
  Name operator()(const core::GuardedCopyOperation&) const { return {"restore", ""}; }
  Name operator()(const core::SetParametersOperation& op) const { return model_of("set parameters ", op.layer); }
  Name operator()(const core::UpdateParameterOperation& op) const { return model_of("update parameter ", op.layer); }
  Name operator()(const core::NativeOperation& op) const { return {"native ", op.name.c_str()}; }
};

}  // namespace

void start_ranges() noexcept {
  if (!domain()) range_domain.store(nvtxDomainCreateA("Synfire"), std::memory_order_relaxed);
}

bool Range::push(const char* text) noexcept {
  nvtxEventAttributes_t attributes = {};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = text;
  nvtxDomainRangePushEx(domain(), &attributes);
  return true;
}

void Range::pop() noexcept {
  nvtxDomainRangePop(domain());
}

Range::Range(const core::Operation& operation, const core::LayerNumbers* numbers) noexcept {
  if (!listened()) return;
  const Name name = std::visit(NameOf{}, operation);
  char raw[96], text[sizeof raw];
  if (numbers && name.layer)  // a long name of an added model leaves room for the number
    std::snprintf(raw, sizeof raw, "%s%.48s %zu", name.kind, name.detail, numbers->of(name.layer));
  else
    std::snprintf(raw, sizeof raw, "%s%s", name.kind, name.detail);
  core::copy_printable(raw, text, sizeof text);  // a long name of a native node may have been cut inside a character
  open_ = push(text);
}

#else

void start_ranges() noexcept {}
bool Range::push(const char*) noexcept {
  return false;
}
void Range::pop() noexcept {}
Range::Range(const core::Operation&, const core::LayerNumbers*) noexcept {}

#endif

}  // namespace synfire::cuda

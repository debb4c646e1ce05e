#include "ranges.hpp"

#include <base/replayed.hpp>

#include <string>

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

Range::Range(const core::Operation& operation, const core::ReplayedNumbers* numbers) noexcept {
  if (!listened()) return;
  try {
    const core::OperationLabel label = operation.label();
    std::string text = operation.kind().name;
    if (label.object) {
      text.append(" ").append(label.object->short_name());
      if (numbers) text.append(" ").append(std::to_string(numbers->of(label.object)));
    }
    if (!label.known_as.empty()) text.append(" ").append(label.known_as);
    open_ = push(text.c_str());
  } catch (...) {  // the profile lacks this range
  }
}

#else

void start_ranges() noexcept {}
bool Range::push(const char*) noexcept {
  return false;
}
void Range::pop() noexcept {}
Range::Range(const core::Operation&, const core::ReplayedNumbers*) noexcept {}

#endif

}  // namespace synfire::cuda

// Scopes on the caller's thread: the library's context is current inside, the caller's is restored afterwards.
#ifndef SYNFIRE_BACKENDS_CUDA_SCOPE_HPP
#define SYNFIRE_BACKENDS_CUDA_SCOPE_HPP

#include "api.hpp"

namespace synfire::cuda {

// Makes a device's context current, if it is not.
class CurrentContext {
 public:
  explicit CurrentContext(DriverContext* wanted, bool needed = true) noexcept {
    if (!needed) return;
    api().context_get_current(&previous_);
    if (previous_ == wanted) return;
    api().context_set_current(wanted);
    changed_ = true;
  }
  ~CurrentContext() {
    if (changed_) api().context_set_current(previous_);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  DriverContext* previous_ = nullptr;
  bool changed_ = false;
};

// Calls that allocate, free or synchronise in this scope do not disturb stream captures.
class RelaxedCapture {
 public:
  RelaxedCapture() noexcept { api().exchange_capture_mode(&mode_); }
  ~RelaxedCapture() { api().exchange_capture_mode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace synfire::cuda

#endif

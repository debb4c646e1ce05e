// Being a guest on the caller's thread: our context is current inside a scope, the caller's afterwards.
#ifndef SYNFIRE_CUDA_SCOPE_HPP
#define SYNFIRE_CUDA_SCOPE_HPP

#include "api.hpp"

namespace synfire::cuda {

// Makes a device's context current for the scope's lifetime, where that is needed.
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

// Allocating, freeing and synchronising calls inside this scope disturb nobody's stream capture.
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

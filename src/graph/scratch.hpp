// Scratch memory of the operations of a graph or of an eager call, which use it one after the other.
#ifndef SYNFIRE_GRAPH_SCRATCH_HPP
#define SYNFIRE_GRAPH_SCRATCH_HPP

#include <base/device.hpp>

namespace synfire::core {

class Scratch {
 public:
  Scratch() = default;
  ~Scratch() {
    if (data_) device_->release(SYNFIRE_MEMORY_DEVICE, data_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // One of these is called once; both throw OUT_OF_MEMORY. Memory for replays is touched now, so that none of them
  // waits for its pages; what serves a single call is not.
  void provide_for_replays(Device& device, uint64_t bytes) {
    if (bytes == 0 || data_) return;
    data_ = device.allocate(SYNFIRE_MEMORY_DEVICE, bytes);
    device_ = &device;
  }
  void provide_once(Device& device, uint64_t bytes) {
    data_ = device.allocate_scratch(bytes);
    device_ = &device;
  }
  void* get() const noexcept { return data_; }

 private:
  Device* device_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace synfire::core

#endif

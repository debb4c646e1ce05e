// The copies of a graph's pinned buffers for replays in flight, one set per slot. Slot 0 is the buffers' own memory.
// The graph decides which replay uses which slot.
#ifndef SYNFIRE_GRAPH_SLOTS_HPP
#define SYNFIRE_GRAPH_SLOTS_HPP

#include "operation.hpp"

#include <base/buffer.hpp>

#include <vector>

namespace synfire::core {

// The buffers that have a copy in each slot: all but those that operations only share (Transfer::shared).
std::vector<Ref<Buffer>> buffers_with_slots(const OperationList& operations, const std::vector<Ref<Buffer>>& buffers);

class Slots {
 public:
  // Copies every pinned buffer with its contents. Buffers that overlap still overlap in the copies.
  Slots(Device& device, const std::vector<Ref<Buffer>>& buffers, uint32_t n_slots);
  ~Slots();
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  // The address in a slot for this address of pinned memory; the address itself if it is in no buffer of the graph.
  void* address(void* data, uint32_t slot) const noexcept;
  void take_over(const Slots& other, const Buffer& buffer, uint32_t n_slots) noexcept;
  OperationList relocated(OperationList operations, uint32_t slot) const;

 private:
  struct Region {
    char* begin;
    char* end;
    std::vector<char*> copies;  // of slots 1, 2 ...
    std::vector<void*> allocations;
  };
  void release() noexcept;

  Device& device_;
  std::vector<Region> regions_;
};

}  // namespace synfire::core

#endif

// The copies of a graph's pinned buffers that replays in flight read and write, one set per slot. Slot 0 is the
// buffers' own memory; the others are memory of the graph. Which replay has which slot is the graph's business.
#ifndef SYNFIRE_GRAPH_SLOTS_HPP
#define SYNFIRE_GRAPH_SLOTS_HPP

#include "operation.hpp"

#include <base/buffer.hpp>

#include <vector>

namespace synfire::core {

class Slots {
 public:
  // Copies of every pinned buffer among these, with what it holds now. Buffers that overlap stay overlapping.
  Slots(Device& device, const std::vector<Ref<Buffer>>& buffers, uint32_t n_slots);
  ~Slots();
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  // Where a slot keeps what lies at this address of pinned memory; the address itself when no buffer of the graph has
  // it.
  void* address(void* data, uint32_t slot) const noexcept;
  // Copies what another set of slots, with as many of them, holds for a buffer.
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

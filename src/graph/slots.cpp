#include "slots.hpp"

#include "address_index.hpp"
#include "operands.hpp"

#include <algorithm>
#include <cstring>

namespace synfire::core {

std::vector<Ref<Buffer>> buffers_with_slots(const OperationList& operations, const std::vector<Ref<Buffer>>& buffers) {
  AddressIndex numbers;
  numbers.make_room(buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) numbers.set(buffers[i].get(), static_cast<uint32_t>(i));
  enum : uint8_t { shared = 1, otherwise = 2 };
  std::vector<uint8_t> uses(buffers.size());
  for_each_operand(operations, [&](const Operand<const View>& operand) {
    const Buffer* const buffer = buffer_of(operand.view);
    const uint32_t number = buffer ? numbers.find(buffer) : AddressIndex::none;
    if (number != AddressIndex::none) uses[number] |= operand.transfer == Transfer::shared ? shared : otherwise;
  });
  std::vector<Ref<Buffer>> slotted;
  for (const Ref<Buffer>& buffer : buffers)
    if (uses[numbers.find(buffer.get())] != shared) slotted.push_back(buffer);
  return slotted;
}

Slots::Slots(Device& device, const std::vector<Ref<Buffer>>& buffers, uint32_t n_slots) : device_(device) {
  if (n_slots < 2) return;
  for (const Ref<Buffer>& buffer : buffers) {
    const View& array = buffer->view();
    if (array.memory != SYNFIRE_MEMORY_PINNED) continue;
    char* const begin = static_cast<char*>(array.data);
    regions_.push_back({begin, begin + array.bytes, {}, {}});
  }
  std::sort(regions_.begin(), regions_.end(), [](const Region& a, const Region& b) { return a.begin < b.begin; });
  std::vector<Region> merged;
  for (Region& region : regions_) {
    if (!merged.empty() && region.begin < merged.back().end)
      merged.back().end = std::max(merged.back().end, region.end);
    else
      merged.push_back(std::move(region));
  }
  regions_ = std::move(merged);
  // Copies keep the address's offset from a multiple of 256, and so its alignment.
  constexpr uintptr_t alignment = 256;
  uint64_t all_bytes = 0;
  for (const Region& region : regions_)
    if (__builtin_add_overflow(all_bytes, static_cast<uint64_t>(region.end - region.begin) + alignment, &all_bytes))
      all_bytes = UINT64_MAX;
  if (__builtin_mul_overflow(all_bytes, n_slots - 1, &all_bytes)) all_bytes = UINT64_MAX;
  device.require(SYNFIRE_MEMORY_PINNED, all_bytes);
  try {
    for (Region& region : regions_) {
      const auto bytes = static_cast<uint64_t>(region.end - region.begin);
      const uintptr_t offset = reinterpret_cast<uintptr_t>(region.begin) % alignment;
      region.allocations.reserve(n_slots);
      region.copies.reserve(n_slots);
      for (uint32_t slot = 1; slot < n_slots; ++slot) {
        region.allocations.push_back(device.allocate(SYNFIRE_MEMORY_PINNED, bytes + alignment));
        region.copies.push_back(static_cast<char*>(region.allocations.back()) +
                                offset);  // allocated on such a multiple
        std::memcpy(region.copies.back(), region.begin, bytes);
      }
    }
  } catch (...) {
    release();
    throw;
  }
}

Slots::~Slots() {
  release();
}

void Slots::release() noexcept {
  for (Region& region : regions_)
    for (void* allocation : region.allocations) device_.release(SYNFIRE_MEMORY_PINNED, allocation);
  regions_.clear();
}

void* Slots::address(void* data, uint32_t slot) const noexcept {
  if (slot == 0) return data;
  char* const at = static_cast<char*>(data);
  for (const Region& region : regions_)
    if (at >= region.begin && at < region.end) return region.copies[slot - 1] + (at - region.begin);
  return data;
}

void Slots::take_over(const Slots& other, const Buffer& buffer, uint32_t n_slots) noexcept {
  const View& array = buffer.view();
  if (array.memory != SYNFIRE_MEMORY_PINNED) return;
  for (uint32_t slot = 1; slot < n_slots; ++slot)
    std::memmove(address(array.data, slot), other.address(array.data, slot), array.bytes);
}

OperationList Slots::relocated(OperationList operations, uint32_t slot) const {
  if (slot == 0) return operations;
  for (Operation& operation : operations)
    for_each_operand(operation, [&](const Operand<View>& operand) {
      View& array = operand.view;
      if (operand.transfer == Transfer::shared) return;
      if (array.memory == SYNFIRE_MEMORY_PINNED) array.data = address(array.data, slot);
    });
  return operations;
}

}  // namespace synfire::core

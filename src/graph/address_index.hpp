// Numbers by address, such as an object's place in a list. Room is made beforehand, so that setting a number cannot
// fail.
#ifndef SYNFIRE_GRAPH_ADDRESS_INDEX_HPP
#define SYNFIRE_GRAPH_ADDRESS_INDEX_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

namespace synfire::core {

class AddressIndex {
 public:
  static constexpr uint32_t none = UINT32_MAX;

  uint32_t find(const void* address) const noexcept {
    return entries_.empty() ? none : place(entries_, address)->number;
  }
  // Makes room for more addresses. Throws bad_alloc.
  void make_room(size_t n_more) {
    size_t size = entries_.empty() ? 16 : entries_.size();
    while (size < 2 * (n_addresses_ + n_more)) size *= 2;
    if (size == entries_.size()) return;
    std::vector<Entry> larger(size);
    for (const Entry& entry : entries_)
      if (entry.address) *place(larger, entry.address) = entry;
    entries_.swap(larger);
  }
  // Sets the number of an address, within the room that was made.
  void set(const void* address, uint32_t number) noexcept {
    Entry& entry = *place(entries_, address);
    if (!entry.address) ++n_addresses_;
    entry = {address, number};
  }

 private:
  struct Entry {
    const void* address = nullptr;
    uint32_t number = none;
  };
  // The entry of the address, or a free one: the table is at most half full.
  template <class Entries>
  static auto place(Entries& entries, const void* address) noexcept -> decltype(entries.data()) {
    const size_t mask = entries.size() - 1;
    size_t at = (reinterpret_cast<uintptr_t>(address) * uint64_t{0x9E3779B97F4A7C15}) >> 32 & mask;
    while (entries[at].address && entries[at].address != address) at = (at + 1) & mask;
    return &entries[at];
  }

  std::vector<Entry> entries_;  // a power of two
  size_t n_addresses_ = 0;
};

}  // namespace synfire::core

#endif

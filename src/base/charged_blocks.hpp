// Blocks of memory that do not come from the heap, and what each of them is charged to: memory of a GPU and page-locked
// memory, which have no room for a header.
#ifndef SYNFIRE_BASE_CHARGED_BLOCKS_HPP
#define SYNFIRE_BASE_CHARGED_BLOCKS_HPP

#include "account.hpp"
#include "mutex.hpp"

#include <map>
#include <mutex>

namespace synfire::core {

class ChargedBlocks {
 public:
  ChargedBlocks() = default;
  ChargedBlocks(const ChargedBlocks&) = delete;
  ChargedBlocks& operator=(const ChargedBlocks&) = delete;

  // Charges a new block to what is current on this thread. Throws if there is no memory for the entry.
  void add(const void* data, MemoryKind memory, uint64_t bytes) {
    const Charge charge = Charge::current();
    const std::lock_guard lock(mutex_);
    blocks_.insert_or_assign(data, Block{charge, memory, static_cast<int64_t>(bytes)});
    charge.account().charge(memory, charge.tag(), static_cast<int64_t>(bytes));
  }
  // After fork() the entries may be half changed, and nobody asks any more.
  void remove(const void* data) noexcept {
    Charge charge;  // released without the lock
    const EnteredScope lock(mutex_);
    if (!lock) return;
    const auto found = blocks_.find(data);
    if (found == blocks_.end()) return;
    const Block& block = found->second;
    block.charge.account().charge(block.memory, block.charge.tag(), -block.bytes);
    charge = block.charge;
    blocks_.erase(found);
  }

 private:
  struct Block {
    Charge charge;
    MemoryKind memory;
    int64_t bytes;
  };
  Mutex mutex_;
  std::map<const void*, Block> blocks_;  // holds nothing for blocks that are gone
};

}  // namespace synfire::core

#endif

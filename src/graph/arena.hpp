// Memory for the transient arrays of replays. Graphs whose replays run one after the other may share one arena: what
// they share beside it, such as the state of a layer, must keep them in order. The memory never moves. Where a plan
// needs more than there is, it gets another block, and the old one lives on while a replay uses it.
#ifndef SYNFIRE_GRAPH_ARENA_HPP
#define SYNFIRE_GRAPH_ARENA_HPP

#include <base/device.hpp>
#include <base/mutex.hpp>

#include <mutex>

namespace synfire::core {

class ArenaBlock {
 public:
  // Throws OUT_OF_MEMORY. The memory is touched now, so that no replay waits for its pages.
  ArenaBlock(Device& device, uint64_t bytes)
      : device_(device), bytes_(bytes), data_(device.allocate(SYNFIRE_MEMORY_DEVICE, bytes)) {}
  ~ArenaBlock() { device_.release(SYNFIRE_MEMORY_DEVICE, data_); }
  ArenaBlock(const ArenaBlock&) = delete;
  ArenaBlock& operator=(const ArenaBlock&) = delete;

  uint64_t bytes() const noexcept { return bytes_; }
  void* data() const noexcept { return data_; }

 private:
  Device& device_;
  const uint64_t bytes_;
  void* const data_;
};

class Arena {
 public:
  explicit Arena(Device& device) noexcept : device_(device) {}

  // A block of at least this size; none for 0 bytes. Throws OUT_OF_MEMORY.
  std::shared_ptr<ArenaBlock> provide(uint64_t bytes) {
    if (bytes == 0) return nullptr;
    const std::lock_guard lock(mutex_);
    std::shared_ptr<ArenaBlock> block = newest_.lock();
    if (block && block->bytes() >= bytes) return block;
    block = std::make_shared<ArenaBlock>(device_, bytes);
    newest_ = block;
    return block;
  }

 private:
  Device& device_;
  Mutex mutex_;
  std::weak_ptr<ArenaBlock> newest_;
};

}  // namespace synfire::core

#endif

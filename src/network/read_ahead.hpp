// Reads blocks ahead of their use: windows of blocks, one after the other, into a ring of places in memory, on threads
// of its own or, without them, on the thread that needs a block. It knows neither files nor rows.
#ifndef SYNFIRE_NETWORK_READ_AHEAD_HPP
#define SYNFIRE_NETWORK_READ_AHEAD_HPP

#include <base/account.hpp>
#include <base/mutex.hpp>
#include <platform/worker_thread.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>

namespace synfire::network {

// A block has the number of its window, from 0 on, and its place there.
struct BlockNumber {
  uint64_t window;
  uint32_t block;
};

// A reader reads from it. Both are called on any of its threads, several at once.
class BlockSource {
 public:
  virtual uint32_t blocks_of(uint64_t window) const noexcept = 0;
  // Reads a block into its place of the ring (ReadAhead::place_of()). What it throws, wait() passes on.
  virtual void read(const BlockNumber& number) = 0;

 protected:
  ~BlockSource() = default;
};

class ReadAhead {
 public:
  static constexpr uint32_t most_threads = 64;

  // Room for this many windows of at most `window_blocks` blocks. Makes fewer threads if the system refuses one.
  ReadAhead(BlockSource& source, uint32_t n_windows, uint32_t window_blocks, uint32_t n_threads);
  // Ends the threads.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // The rest is for one thread at a time.
  // Returns when nothing is being read. Nothing is, until begin().
  void stop();
  // Stops, forgets all blocks, and reads from this window on.
  void begin(uint64_t window);
  // True if the window has room, and blocks of it can be waited for.
  bool has_room(uint64_t window) const noexcept { return window < end_; }
  // Makes room: windows before this one are not needed any more.
  void release_before(uint64_t window);
  // Returns when the block is in its place. Throws what its reading has thrown.
  void wait(const BlockNumber& number);
  // Returns when nobody reads it any more, for a block that is not needed.
  void finish(const BlockNumber& number);
  uint64_t place_of(const BlockNumber& number) const noexcept {
    return number.window % n_windows_ * window_blocks_ + number.block;
  }
  // True in a child after fork(), which lacks the threads: another one must take its place.
  bool is_from_before_fork() const noexcept;

 private:
  struct Place {
    std::atomic<uint64_t> holds{0};  // 1 + the number of the window whose block it has, or could not be read
    std::exception_ptr failure;
  };

  static void work(void* self);
  bool claim(BlockNumber& number) noexcept;
  void read(const BlockNumber& number) noexcept;
  void change_end(uint64_t end);

  BlockSource& source_;
  const uint32_t n_windows_, window_blocks_;
  const uint32_t process_;  // core::fork_generation() at its creation
  const core::Charge charge_;
  const std::unique_ptr<Place[]> places_;
  const std::unique_ptr<core::WorkerThread[]> threads_;
  uint32_t n_started_ = 0;
  uint64_t end_ = 0;  // the first window without room

  core::Mutex mutex_;  // of these:
  BlockNumber next_ = {0, 0};
  uint64_t claimed_end_ = 0;  // as end_
  bool ending_ = false;
  uint32_t n_reading_ = 0;

  std::atomic<uint32_t> work_{0};      // counts what threads without a block wait for
  std::atomic<uint32_t> progress_{0};  // counts blocks that were read
};

}  // namespace synfire::network

#endif

// An object that replays compute with, one at a time, such as a layer. Its replays run in the order of one stream, and
// changes by the host since the last launch are brought to the device before the next one.
#ifndef SYNFIRE_BASE_REPLAYED_HPP
#define SYNFIRE_BASE_REPLAYED_HPP

#include "context.hpp"
#include "mutex.hpp"
#include "replayer.hpp"

#include <atomic>
#include <string>
#include <vector>

namespace synfire::core {

class Replayed : public Child {
 public:
  Replayed* replayed() noexcept final { return this; }

  // Printable names for pictures and profilers: its kind, "lif" of "layer", and its shape, "f32 [16, 1, 128]".
  virtual std::string short_name() const = 0;
  virtual std::string shape_text() const = 0;
  const char* noun() const noexcept { return name_.noun; }

  // ---- order
  // Called before work on a stream; a null replayer is an eager call, which is complete when it returns. Throws
  // WRONG_ORDER while a replay on another stream may be running or is being launched. Takes no lock while only one
  // stream is used. A launch publishes its stream before it reads stream_ (Exclusive), and a move writes stream_ before
  // it reads the launches, so at least one of two threads sees the other.
  void order_on(const Replayer* replayer, StreamId stream) {
    if (stream_.load(std::memory_order_seq_cst) != stream) [[unlikely]]
      move_to(replayer, stream);
  }
  void add_replayer(Replayer& replayer);
  void remove_replayer(Replayer& replayer) noexcept;
  // Used if a launch is the computation itself: only one thread at a time runs replays with the object, and their
  // callbacks may launch others. Returns false if another thread is running one.
  bool enter() noexcept {
    const void* const here = this_thread();
    if (owner_.load(std::memory_order_relaxed) != here) {
      const void* nobody = nullptr;
      if (!owner_.compare_exchange_strong(nobody, here, std::memory_order_acquire, std::memory_order_relaxed))
        return false;
    }
    ++entered_;
    return true;
  }
  void leave() noexcept {
    if (--entered_ == 0) owner_.store(nullptr, std::memory_order_release);
  }
  [[noreturn]] void fail_entered() const;

  // ---- changes by the host
  bool has_changed() const noexcept {
    return uploaded_version_.load(std::memory_order_relaxed) != version_.load(std::memory_order_acquire);
  }
  void refresh(synfire_stream stream) {
    if (has_changed()) upload_changes(stream);
  }
  // Waits for replays in flight if there are changes. Called before a refresh that no stream orders after them.
  void settle() {
    if (has_changed()) wait_for_replays();
  }

 protected:
  // Its names in errors: the rule of launches that are out of order, and "layer".
  struct Name {
    const char* rule;
    const char* noun;
  };
  Replayed(ObjectType type, Context& context, const Name& name) noexcept : Child(type, context), name_(name) {}

  // Ends with set_uploaded().
  virtual void upload_changes(synfire_stream stream) = 0;
  // Waits until every replay with the object that was launched before this call is done.
  void wait_for_replays();

  // The version that the host has set, and the one that the device has or will have in stream order.
  uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }
  uint64_t uploaded_version() const noexcept {
    return uploaded_version_.load(std::memory_order_relaxed) & ~upload_again_bit;
  }
  void count_change() noexcept { version_.fetch_add(1, std::memory_order_release); }
  void set_uploaded(uint64_t version) noexcept { uploaded_version_.store(version, std::memory_order_relaxed); }
  // Makes the next refresh upload even if nothing has changed.
  void upload_again() noexcept { uploaded_version_.fetch_or(upload_again_bit, std::memory_order_relaxed); }

 private:
  void move_to(const Replayer* replayer, StreamId stream);
  // An address unique to the calling thread.
  static const void* this_thread() noexcept {
    static thread_local const char here = 0;
    return &here;
  }

  static constexpr uint64_t upload_again_bit = uint64_t{1} << 63;

  const Name name_;
  Mutex replayers_mutex_;  // the list, and changes of stream_
  std::vector<Replayer*> replayers_;
  // If launches compute: the thread that runs replays with this object and how often it entered (read by it alone).
  std::atomic<const void*> owner_{nullptr};
  int entered_ = 0;

  // Members that every launch reads, in one cache line. They come last, so that members of a derived class share it.
  alignas(64) std::atomic<StreamId> stream_{&contexts_own_stream};  // of all work in flight
  std::atomic<uint64_t> version_{1};
  std::atomic<uint64_t> uploaded_version_{upload_again_bit};  // and whether it must be uploaded again
};

}  // namespace synfire::core

#endif

// A tape: what a forward leaves for its backwards, and the versions of its inputs, by which a backward knows whether
// the tape is still valid. Each recorded forward has its own tape; the eager forwards of a layer share one.
#ifndef SYNFIRE_LAYER_TAPE_HPP
#define SYNFIRE_LAYER_TAPE_HPP

#include "layer_spec.hpp"

#include <base/buffer.hpp>
#include <base/mutex.hpp>

namespace synfire::core {

class Layer;

enum class TapeMode : int32_t {
  recompute = SYNFIRE_TAPE_RECOMPUTE,
  none = SYNFIRE_TAPE_NONE,
  store = SYNFIRE_TAPE_STORE,
  store_narrow = SYNFIRE_TAPE_STORE_NARROW,
};

// What a backward must know of a tape: its input, and how to obtain H.
struct TapeShape {
  Buffer* x = nullptr;  // null: there is none
  TapeMode mode = TapeMode::none;
  bool in_place = false;  // H lies over X

  int32_t kind() const noexcept { return static_cast<int32_t>(mode) | (in_place ? 256 : 0); }
};

// The versions that a tape was made from: a backward is refused if they have changed.
struct TapeStamp {
  uint64_t parameters = 0;  // the version that the forward used
  uint64_t x = 0;           // the version of the input's contents that it read
  uint32_t n_left = 0;      // how often the tape had been left before
  uint32_t n_forwards = 0;  // of the layer before
};

// Throws STALE_TAPE.
[[noreturn]] void fail_no_tape();

class Tape final : public Child {
 public:
  Tape(Context& context, const LayerSpec& spec) noexcept : Child(ObjectType::tape, context), spec_(spec) {}

  // ---- memory
  // Allocates what a mode needs and is not there yet. Throws OUT_OF_MEMORY.
  void provide(TapeMode mode, bool in_place);
  View checkpoints() noexcept;
  // H of all steps: memory of the tape, or X itself; empty in modes that do not store H.
  View stored_h(TapeMode mode, bool in_place, const View& x) noexcept;
  View spikes(TapeMode mode) noexcept;

  // ---- what it was made of
  // For a forward or backward that is enqueued now with this X.
  TapeStamp stamp(const Layer& layer, const Buffer* x) const noexcept;
  // A forward will leave the tape in this shape, so a backward can be recorded. Keeps no reference to X.
  void expect(const TapeShape& shape) noexcept;
  // A forward has left the tape. Lock-free as long as X and the mode stay the same.
  void leave(const TapeShape& shape, const TapeStamp& made_of);
  // Invalidates the tape, which may be partly written or is no longer needed, and drops the reference to X.
  void spoil() noexcept;
  // The shape in which the tape was left, with a reference to X; none if it was never left or is invalidated.
  using Held = std::pair<TapeShape, Ref<Buffer>>;
  Held left() const;
  // The shape in which the next forward will leave it; if the X of that forward is gone, the shape in which it was
  // left.
  Held expected() const;
  // Throws STALE_TAPE unless the parameters, and X if it is read again, are unchanged.
  void check(const Layer& layer, bool reads_input) const;
  // The same for a backward that was recorded for a tape of this shape: no lock, no reference.
  void check(const Layer& layer, const TapeShape& wanted, bool reads_input) const;

 private:
  ~Tape() override = default;
  void dispose() noexcept override;
  void replace(const TapeShape& shape);
  View own(void* data, std::initializer_list<int64_t> lengths, int32_t dtype) noexcept;

  // Read by launches.
  std::atomic<Buffer*> x_{nullptr};  // null: never left, or invalidated
  std::atomic<uint64_t> parameters_{0};
  std::atomic<uint64_t> x_version_{0};
  std::atomic<int32_t> kind_{-1};
  std::atomic<uint32_t> n_left_{0};

  const LayerSpec spec_;
  void *checkpoints_ = nullptr, *stored_h_ = nullptr, *narrow_h_ = nullptr, *narrow_spikes_ = nullptr;
  mutable Mutex mutex_;  // what follows
  TapeShape left_, expected_;
  Ref<Buffer> left_x_;
  WeakRef<Buffer> expected_x_;
};

}  // namespace synfire::core

#endif

// A tape: what a forward leaves for its backwards, in memory of its own, and what it was made of, by which a backward
// knows whether it is still worth anything. Each recorded forward has one, and the eager forwards of a layer have one
// together.
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

// A tape as a backward must know it: of which input, and how H is found.
struct TapeShape {
  Buffer* x = nullptr;  // null: there is none
  TapeMode mode = TapeMode::none;
  bool in_place = false;  // H lies over X

  int32_t kind() const noexcept { return static_cast<int32_t>(mode) | (in_place ? 256 : 0); }
};

// What a tape was made of: a backward reads the same, or must be refused.
struct TapeStamp {
  uint64_t parameters = 0;  // the version of them that the forward computed with
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
  // What a mode needs, unless it is there. Throws OUT_OF_MEMORY.
  void provide(TapeMode mode, bool in_place);
  View checkpoints() noexcept;
  // H of all steps: memory of the tape, or X itself; not given in modes that keep none.
  View stored_h(TapeMode mode, bool in_place, const View& x) noexcept;
  View spikes(TapeMode mode) noexcept;

  // ---- what it was made of
  // Of a forward or backward that is enqueued now with this X.
  TapeStamp stamp(const Layer& layer, const Buffer* x) const noexcept;
  // A forward will leave it so: a backward can be recorded. Keeps no reference to X.
  void expect(const TapeShape& shape) noexcept;
  // A forward has left it. Lock-free while X and the mode stay the same.
  void leave(const TapeShape& shape, const TapeStamp& made_of);
  // What may have been written in part, or is needed no more, is worth nothing: lets go of X.
  void spoil() noexcept;
  // As it was left, with a reference that keeps X; none when it was never left or is spoilt.
  using Held = std::pair<TapeShape, Ref<Buffer>>;
  Held left() const;
  // As the next forward will leave it; when the X of that forward is gone, as it was left.
  Held expected() const;
  // Throws STALE_TAPE unless it was left with the parameters and, where it is read, the X of now.
  void check(const Layer& layer, bool reads_input) const;
  // The same for a backward that was recorded for a tape of this shape: no lock, no reference.
  void check(const Layer& layer, const TapeShape& wanted, bool reads_input) const;

 private:
  ~Tape() override = default;
  void dispose() noexcept override;
  void replace(const TapeShape& shape);
  View own(void* data, std::initializer_list<int64_t> lengths, int32_t dtype) noexcept;

  // Looked at by launches.
  std::atomic<Buffer*> x_{nullptr};  // null: it was never left, or is spoilt
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

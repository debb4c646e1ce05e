// A tape: the data that a forward leaves for its backwards, and the versions of its inputs, which tell whether it is
// still valid. Each recorded forward has its own tape; the eager forwards of a layer share one.
#ifndef SYNFIRE_NEURONS_TAPE_HPP
#define SYNFIRE_NEURONS_TAPE_HPP

#include "layer_spec.hpp"

#include <base/buffer.hpp>
#include <base/mutex.hpp>
#include <synapses/synapse.hpp>

namespace synfire::core {

class Layer;

enum class TapeMode : int32_t {
  recompute = SYNFIRE_TAPE_RECOMPUTE,
  none = SYNFIRE_TAPE_NONE,
  store = SYNFIRE_TAPE_STORE,
  store_narrow = SYNFIRE_TAPE_STORE_NARROW,
};

// A synapse from the layer's own spikes to its X, which reads those of `delay` steps before.
struct Recurrence {
  Synapse* synapse = nullptr;
  int64_t delay = 0;
};

// The inputs of a tape, and how a backward obtains H.
struct TapeShape {
  Buffer* x = nullptr;  // or the input of the synapse; null: there is no tape
  TapeMode mode = TapeMode::none;
  bool in_place = false;       // H is stored in the memory of X
  Synapse* synapse = nullptr;  // that makes X of its input, or null
  Buffer* n_active = nullptr;  // of the synapse, or null
  Recurrence recurrent = {};

  bool reads(const Buffer* buffer) const noexcept { return buffer && (x == buffer || n_active == buffer); }
  void rebind(Buffer& before, Buffer& now) noexcept {
    if (x == &before) x = &now;
    if (n_active == &before) n_active = &now;
  }
  bool same_input(const TapeShape& other) const noexcept {
    return x == other.x && synapse == other.synapse && n_active == other.n_active &&
           recurrent.synapse == other.recurrent.synapse;
  }
  int32_t kind() const noexcept {
    return static_cast<int32_t>(mode) | (in_place ? 256 : 0) | static_cast<int32_t>(recurrent.delay << 9);
  }
};

// The needs of a backward besides dL/dX.
struct TapeUse {
  bool parameter_gradients = false;
  bool synapse_gradients = false;  // of weights and bias, unless the synapse is frozen
};

// The versions that a tape was made from: a backward is refused if they have changed.
struct TapeStamp {
  uint64_t parameters = 0;  // the version that the forward used
  uint64_t x = 0;           // the version of the input's contents that it read, and of n_active
  uint64_t weights = 0;     // the version of the synapses' weights
  uint32_t n_left = 0;      // how often the tape had been left before
  uint32_t n_forwards = 0;  // of the layer before
};

// The version of the contents of a tape's input and of its n_active.
inline uint64_t version_of_input(const Buffer* x, const Buffer* n_active) noexcept {
  return (x ? x->version() : 0) + (n_active ? n_active->version() : 0);
}

// The version of the weights of both synapses of a tape.
inline uint64_t version_of_weights(const Synapse* synapse, const Synapse* recurrent) noexcept {
  return (synapse ? synapse->version() : 0) + (recurrent ? recurrent->version() : 0);
}

struct TapeInputs {
  Ref<Buffer> x;
  Ref<Synapse> synapse, recurrent;
  Ref<Buffer> n_active;

  TapeInputs() = default;
  explicit TapeInputs(const TapeShape& shape) noexcept
      : x(shape.x), synapse(shape.synapse), recurrent(shape.recurrent.synapse), n_active(shape.n_active) {}
};

[[noreturn]] void fail_no_tape();

class Tape final : public Child {
 public:
  Tape(Context& context, const LayerSpec& spec) noexcept : Child(ObjectType::tape, context), spec_(spec) {}

  // ---- memory
  // Allocates the memory that a mode needs and that is missing. Throws OUT_OF_MEMORY.
  void provide(const TapeShape& shape, bool keeps_x);
  // V before every 32nd step or, with a recurrent synapse, before each.
  View checkpoints(const TapeShape& shape) noexcept;
  // H of all steps: memory of the tape, or the caller's X; empty if the mode does not store H.
  View stored_h(const TapeShape& shape, const View& x) noexcept;
  // Beside an H of 16 bits: time-packed words or, with a recurrent synapse, a word for each step.
  View spikes(const TapeShape& shape) noexcept;
  View kept_x() noexcept;
  // The packed spikes that a recurrent synapse reads, those of the history first: [D + T, B, words].
  View recurrent_spikes() noexcept;

  // ---- what it was made of
  // For a forward or backward that is enqueued now with this X. Defined in layer.hpp.
  TapeStamp stamp(const Layer& layer, const TapeShape& shape) const noexcept;
  // A forward will leave the tape in this shape, so a backward can be recorded. Keeps no reference to X.
  void expect(const TapeShape& shape) noexcept;
  // A forward has left the tape. Lock-free as long as X and the mode stay the same.
  void leave(const TapeShape& shape, const TapeStamp& made_of) {
    n_left_.store(n_left_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    parameters_.store(made_of.parameters, std::memory_order_relaxed);
    if (x_.load(std::memory_order_relaxed) != shape.x || kind_.load(std::memory_order_relaxed) != shape.kind() ||
        synapse_.load(std::memory_order_relaxed) != shape.synapse ||
        recurrent_.load(std::memory_order_relaxed) != shape.recurrent.synapse ||
        n_active_.load(std::memory_order_relaxed) != shape.n_active) [[unlikely]]
      replace(shape);
    x_version_.store(made_of.x, std::memory_order_relaxed);
    weights_.store(made_of.weights, std::memory_order_relaxed);
  }
  // Invalidates the tape, which may be partly written or no longer needed, and drops the reference to X.
  void spoil() noexcept;
  // The shape in which the tape was left, with a reference to X; none if it was never left or is invalidated.
  using Held = std::pair<TapeShape, TapeInputs>;
  Held left() const;
  // The shape in which the next forward will leave it or, if the X of that forward is gone, in which it was left.
  Held expected() const;
  // Throws STALE_TAPE unless the parameters, and X if it is read again, are unchanged.
  void check(const Layer& layer, bool reads_input) const;
  // As check(), for a backward recorded for a tape of this shape: no lock, no reference.
  void check(const Layer& layer, const TapeShape& wanted, bool reads_input) const;

 private:
  ~Tape() override = default;
  void dispose() noexcept override;
  void replace(const TapeShape& shape);
  void expect_locked(const TapeShape& shape) noexcept;
  View own(void* data, std::initializer_list<int64_t> lengths, int32_t dtype) noexcept;

  std::atomic<Buffer*> x_{nullptr};  // null: never left, or invalidated
  std::atomic<Synapse*> synapse_{nullptr}, recurrent_{nullptr};
  std::atomic<Buffer*> n_active_{nullptr};
  std::atomic<uint64_t> parameters_{0};
  std::atomic<uint64_t> x_version_{0};
  std::atomic<uint64_t> weights_{0};
  std::atomic<int32_t> kind_{-1};
  std::atomic<uint32_t> n_left_{0};

  const LayerSpec spec_;
  void *checkpoints_ = nullptr, *stored_h_ = nullptr, *narrow_h_ = nullptr, *narrow_spikes_ = nullptr;
  void* kept_x_ = nullptr;
  void *step_checkpoints_ = nullptr, *recurrent_spikes_ = nullptr, *step_spikes_ = nullptr;  // with a recurrent synapse
  mutable Mutex mutex_;                                                                      // what follows
  TapeShape left_, expected_;
  TapeInputs left_inputs_;
  WeakRef<Buffer> expected_x_, expected_n_active_;
  WeakRef<Synapse> expected_synapse_, expected_recurrent_;
};

}  // namespace synfire::core

#endif

// What a graph must know of the layers whose passes it replays: the tapes that its forwards leave and its backwards
// read, and which parameters it updates.
#ifndef SYNFIRE_LAYER_GRAPH_TAPES_HPP
#define SYNFIRE_LAYER_GRAPH_TAPES_HPP

#include "layer.hpp"

#include <graph/address_index.hpp>
#include <graph/graph.hpp>

#include <optional>

namespace synfire::core {

class alignas(64) GraphTapes final : public KeeperOf<GraphTapes> {
 public:
  // The keeper of the graph that records the operation.
  static GraphTapes& of(Recorder& recorder) { return recorder.keeper<GraphTapes>(); }

  explicit GraphTapes(const Graph& graph) noexcept : graph_(graph) {}
  ~GraphTapes() override;

  // ---- what an operation tells while it is made
  // Under Layer::lock_parameters(): it updates this parameter of a layer, which counts such operations.
  void updates(const Recorder& recorder, Layer& layer, uint32_t parameter);
  // It is a forward that leaves a tape of this shape. Returns the tape, or null for inference.
  Tape* leaves(const Recorder& recorder, Layer& layer, const TapeShape& shape);
  // It is a backward of the forward with this number, or of the newest. Returns the tape that it reads. Throws
  // STALE_TAPE if there is none, and INVALID_ARGUMENT if the number is not that of a forward of this layer in this
  // graph.
  Tape& reads(Recorder& recorder, Layer& layer, std::optional<uint32_t> forward, const TapeUse& use);

  // ---- as the graph's keeper
  void commit() noexcept override;
  void drop() noexcept override;
  void instantiate() override;
  void plan(std::span<const uint8_t> enabled) noexcept override;
  void rebind(Buffer& before, Buffer& now) noexcept override;
  void check() const override;
  void before(uint32_t operation) override;
  void stamp() noexcept;
  void leave(bool captured);
  void spoil() noexcept;

 private:
  // A recorded forward, with or without a tape. The graph keeps its buffers alive.
  struct Forward {
    Layer* layer;
    uint32_t operation;
    Ref<Tape> tape;  // null for inference
    TapeShape left;
    uint32_t layer_number = 0;
    uint32_t previous = AddressIndex::none;  // the forward of the layer before it
    TapeStamp stamp = {};                    // in the launch that runs its list on this thread now
  };
  // A recorded backward, and the recorded forward whose tape it reads: none if that forward runs outside the graph.
  struct Backward {
    Layer* layer;
    uint32_t operation;
    std::optional<size_t> forward;  // an index into the recorded forwards
    Ref<Tape> tape;
    TapeShape shape;  // of it
    bool reads_input;
    uint32_t layer_number = 0;
    bool from_before = false;  // its forward is disabled now
    TapeStamp stamp = {};      // of a tape from before the replay, as the forward's
  };
  // An update of a parameter.
  struct Update {
    Layer* layer;
    uint32_t operation;
    uint32_t parameter;
    uint32_t layer_number = 0;
    uint32_t previous = AddressIndex::none;  // the update of the layer before it
  };
  // By the number of a layer: its newest forward and update. And what plan() knows of it.
  struct OfLayer {
    uint32_t forward = AddressIndex::none, update = AddressIndex::none;
    uint32_t left = AddressIndex::none;     // its last entry of leaves_
    uint32_t updated = AddressIndex::none;  // its entry of updated_
    OperationSpan updates = {};
  };

  // What must hold when a replay begins, and what it leaves, given the operations that are enabled.
  struct Need {
    Layer* layer;
    Tape* tape;
    TapeShape shape;
    bool reads_input;
    // Why the replay itself makes the tape stale before it is read: its forward is disabled and a parameter or the
    // weights are updated; or it was rebound to an X that an operation in between writes.
    enum class Stale { no, updated, overwritten } stale;
  };
  struct Left {
    Layer* layer;
    Tape* tape;  // null: for inference
    TapeShape shape;
    size_t forward;  // that leaves it
    bool last;       // of the replay's forwards of the layer
    // What to add to a stamp from before the replay to make it that of what the forward read: the changes that are
    // counted when the replay has been launched, less those made after the forward. X may be moved by the choice of a
    // slot too, so that x_changes may be negative (modulo 2^64).
    uint64_t x_changes, weight_changes, parameter_changes;
    TapeStamp stamp = {};
  };
  struct Updated {
    Layer* layer;
    uint32_t parameters;  // a bit for each
  };

  void make_room_for_layer();
  uint32_t number_of(Layer& layer) noexcept;
  const Forward* find_forward(const Layer& layer, std::optional<uint32_t> operation) const noexcept;
  const Update* find_update(const Layer& layer, const Forward* after) const noexcept;
  bool is_overwritten(const Forward& forward) const noexcept;
  uint64_t x_changes_of(const Forward& forward) const noexcept;
  static TapeStamp stamp_of(const Layer& layer, const Tape* tape, const TapeShape& shape) noexcept {
    return tape ? tape->stamp(layer, shape) : TapeStamp{0, 0, 0, 0, layer.n_forwards()};
  }
  void stamp_operations() noexcept;

  // What every launch reads, in one cache line.
  bool observed_ = false;  // callbacks run during launches, and may change what a tape depends on
  std::vector<Updated> updated_;
  std::vector<Left> leaves_;

  std::vector<Need> needs_;
  const Graph& graph_;
  std::vector<Forward> forwards_;
  std::vector<Backward> backwards_;
  std::vector<Update> updates_;
  AddressIndex layers_at_;  // where of_layers_ has a layer
  std::vector<OfLayer> of_layers_;
  // Notes about the operation that is being made.
  std::optional<Forward> new_forward_;
  std::optional<Backward> new_backward_;
  std::vector<Update> new_updates_;
};

}  // namespace synfire::core

#endif

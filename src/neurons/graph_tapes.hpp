// The layers whose passes a graph replays: the tapes of its forwards and backwards, and the parameters that it updates.
#ifndef SYNFIRE_NEURONS_GRAPH_TAPES_HPP
#define SYNFIRE_NEURONS_GRAPH_TAPES_HPP

#include "layer.hpp"

#include <graph/address_index.hpp>
#include <graph/graph.hpp>

#include <optional>

namespace synfire::core {

class alignas(64) GraphTapes final : public KeeperOf<GraphTapes> {
 public:
  static GraphTapes& of(Recorder& recorder) { return recorder.keeper<GraphTapes>(); }

  explicit GraphTapes(const Graph& graph) noexcept : graph_(graph) {}
  ~GraphTapes() override;

  // ---- called while an operation is made
  // The operation updates this parameter of a layer. Called under Layer::lock_parameters().
  void updates(const Recorder& recorder, Layer& layer, uint32_t parameter);
  // The operation is a forward that leaves a tape of this shape. Returns the tape, or null for inference.
  Tape* leaves(const Recorder& recorder, Layer& layer, const TapeShape& shape);
  // The operation is a backward of the forward with this number, or of the newest; returns the tape that it reads.
  // Throws STALE_TAPE if there is none, INVALID_ARGUMENT if the number is not a forward of this layer in this graph.
  // With a tape, it is the forward that leaves that one, in this graph or in another.
  Tape& reads(Recorder& recorder, Layer& layer, std::optional<uint32_t> forward, const TapeUse& use,
              Tape* of_forward = nullptr);
  // The tape of the newest forward of the layer, or null.
  Tape* newest(const Layer& layer) const noexcept;

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
  // A recorded forward. The graph keeps its buffers alive.
  struct Forward {
    Layer* layer;
    uint32_t operation;
    Ref<Tape> tape;  // null for inference
    TapeShape left;
    uint32_t layer_number = 0;
    uint32_t previous = AddressIndex::none;  // the forward of the layer before it
    TapeStamp stamp = {};                    // in the current launch on this thread
  };
  // A recorded backward, and the recorded forward whose tape it reads; none if that forward runs outside the graph.
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
  struct Update {
    Layer* layer;
    uint32_t operation;
    uint32_t parameter;
    uint32_t layer_number = 0;
    uint32_t previous = AddressIndex::none;  // the update of the layer before it
  };
  // The newest forward and update of a layer, and what plan() knows of it.
  struct OfLayer {
    uint32_t forward = AddressIndex::none, update = AddressIndex::none;
    uint32_t left = AddressIndex::none;     // its last entry of leaves_
    uint32_t updated = AddressIndex::none;  // its entry of updated_
    OperationSpan updates = {};
  };

  // The conditions at the start of a replay and its results, for the operations that are enabled.
  struct Need {
    Layer* layer;
    Tape* tape;
    TapeShape shape;
    bool reads_input;
    // The replay itself makes the tape stale before it is read: its forward is disabled and a parameter or the weights
    // are updated, or it was rebound to an X that an operation in between writes.
    enum class Stale { no, updated, overwritten } stale;
  };
  struct Left {
    Layer* layer;
    Tape* tape;  // null: for inference
    TapeShape shape;
    size_t forward;  // that leaves it
    bool last;       // of the replay's forwards of the layer
    // Turns a stamp from before the replay into that of the data that the forward read: the changes that count once the
    // replay is launched, less those after the forward. Slots may move X, so x_changes may be negative (mod 2^64).
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
  const Forward* find_forward(const Layer& layer, const Tape& leaves) const noexcept;
  const Update* find_update(const Layer& layer, const Forward* after) const noexcept;
  bool is_overwritten(const Forward& forward) const noexcept;
  uint64_t x_changes_of(const Forward& forward) const noexcept;
  static TapeStamp stamp_of(const Layer& layer, const Tape* tape, const TapeShape& shape) noexcept {
    return tape ? tape->stamp(layer, shape) : TapeStamp{0, 0, 0, 0, layer.n_forwards()};
  }
  void stamp_operations() noexcept;

  // Members that every launch reads, in one cache line.
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
  std::optional<Forward> new_forward_;
  std::optional<Backward> new_backward_;
  std::vector<Update> new_updates_;
};

}  // namespace synfire::core

#endif

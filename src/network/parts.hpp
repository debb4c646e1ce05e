// The parts of a network: what its design comes to on a context, and the graphs over them. All parts are objects as a
// program would make them by hand, and all graphs are recorded with the operations that synfire.h offers (record.cpp).
#ifndef SYNFIRE_NETWORK_PARTS_HPP
#define SYNFIRE_NETWORK_PARTS_HPP

#include "data_set.hpp"
#include "design.hpp"
#include "held_graphs.hpp"
#include "kept_state.hpp"

#include <layer/layer.hpp>
#include <operations/optimizer/optimizer.hpp>
#include <synapses/synapse.hpp>

#include <memory>
#include <optional>
#include <string_view>

namespace synfire::network {

class PlanningDevice;

// A synapse and its neurons, with the arrays around them. Null: nothing reads it, or nothing trains it.
struct Pair {
  size_t synapse_stage, neurons_stage;
  std::optional<size_t> dropout_stage;
  Ref<core::Synapse> synapse;
  Ref<core::Layer> layer;
  Ref<Buffer> mask, scale;             // of dropout
  Ref<Buffer> x, grad_x;               // with dropout, where the product is an operation of its own
  Ref<Buffer> spikes, v_seq;           // [T, B, N]
  Ref<Buffer> grad_spikes, grad_v;     // [T, B, N]
  std::vector<Ref<Buffer>> gradients;  // of trained parameters
  bool has_rate = false;               // the rates of the neurons are drawn to a target
  bool trains_synapse = false;
  bool has_backward = false;     // it or a pair before is trained
  bool passes_gradient = false;  // a pair before is trained

  int64_t n_neurons() const noexcept { return layer->spec().extents.n_neurons; }
};

// A graph, and its operations that the network changes between replays.
struct RecordedGraph {
  // A number of an operation: a value of a stage, or the "offset" or the "seed" of one that draws random numbers.
  struct Value {
    size_t stage;
    const char* name;
    int32_t operation;
    const char* known_as;
    uint64_t per_replay;  // by how much a replay advances it

    bool is_offset() const noexcept { return std::string_view("offset") == name; }
    bool is_seed() const noexcept { return std::string_view("seed") == name; }
  };
  Ref<core::Graph> graph;  // null: not recorded
  std::vector<Value> values;
  int64_t n_rows = 0;  // of the data set

  void set(const core::Graph::Hold& hold, size_t stage, std::string_view name, double value) const;
  // The next replay draws the random numbers, and the rows, of the first one again.
  void begin_again(const core::Graph::Hold& hold) const;
};

// What a stage draws random numbers from in a graph: training continues where it stood, and the others begin again,
// with numbers of their own.
inline uint64_t drawn_seed(const Stage& stage, GraphKind kind) noexcept {
  constexpr uint64_t of_evaluation = uint64_t{1} << 63;
  return stage.seed ^ (kind == GraphKind::training ? 0 : of_evaluation);
}

// Bytes of memory by what they are for.
struct PartBytes {
  uint64_t synapses, layers, buffers, optimizer, graphs, pinned;

  uint64_t device() const noexcept { return synapses + layers + buffers + optimizer + graphs; }
};

struct Parts {
  // Makes everything but the graphs, which are recorded below. With a planning device, which must be that of the
  // context, arrays have addresses only.
  Parts(core::Context& where, const Design& what, PlanningDevice* planning = nullptr);

  core::Context& context;
  const Design& design;
  PlanningDevice* planned;
  PartBytes bytes = {};  // counted by the planning device

  std::vector<Pair> pairs;
  Ref<Buffer> input_spikes;                // of rates [T, B, K]
  Ref<Buffer> inference_input;             // page-locked
  Ref<Buffer> inference_output;            // page-locked
  Ref<Buffer> finite_input;                // what the inference graph reads, with "replace_nonfinite"
  Ref<Buffer> n_replaced;                  // u64 [1], page-locked: of a replay of that graph
  Ref<Buffer> n_replaced_in_batches;       // u64 [1]: a sum over the replays of a call, of the others
  Ref<Buffer> readout, grad_readout;       // [B, C]
  Ref<Buffer> class_weights;               // f32 [C]
  Ref<Buffer> loss, n_correct, n_counted;  // sums over the replays of a call: f64, u32, u32
  Ref<Buffer> indices, n_active;           // of the batch
  DataSet batch;                           // one batch, time-major; what the graphs have asked for
  Ref<operations::Optimizer> optimizer;    // null: nothing is trained
  RecordedGraph inference, training, evaluation;
  core::OperationList resets;  // of the states of all layers, as one operation
  std::unique_ptr<KeptState> kept;
  std::vector<uint64_t> training_start;  // Offsets, until there is a training graph
  std::vector<uint64_t> offsets_before;  // Offsets before a call that trains, which needs no memory therefore
  int64_t training_start_rows = 0;       // 0: of any

  // One row of the inference graph's output.
  RowShape output_row() const;
  const RecordedGraph& graph(GraphKind kind) const noexcept {
    return kind == GraphKind::inference ? inference : kind == GraphKind::training ? training : evaluation;
  }
  // Where a run stands: the "offset" of each stage that draws random numbers, and, behind the last stage, the number of
  // the next batch.
  using Offsets = std::vector<uint64_t>;
  // Of the training: what its graph has counted, or where it is to begin.
  Offsets offsets(const HeldGraphs& held) const {
    return training.graph ? offsets_of(GraphKind::training, held) : training_start;
  }
  Offsets offsets_of(GraphKind kind, const HeldGraphs& held) const;
  void read_offsets(GraphKind kind, const HeldGraphs& held, Offsets& offsets) const;
  // The training goes on from there.
  void set_offsets(const HeldGraphs& held, const Offsets& offsets) const;
  uint64_t next_batch(const HeldGraphs& held) const;  // offsets().back(), without memory
  // Of the rows that the next batch counts in.
  int64_t training_rows() const noexcept { return training.graph ? training.n_rows : training_start_rows; }
  // Each records and instantiates a graph, which takes the place of one that was there.
  void record_inference();
  uint32_t graph_slots() const noexcept;  // of the inference graph
  void reserve_slots();
  void record_training(const DataSet& data, const Offsets& offsets);
  void record_evaluation(const DataSet& data);

  // A new array: spikes in a format, or numbers [T, B, N].
  Ref<Buffer> make(int32_t dtype, std::initializer_list<int64_t> lengths, int32_t memory = SYNFIRE_MEMORY_DEVICE);
  Ref<Buffer> make_sequence(int32_t dtype, int64_t n_steps, int64_t n_rows, int64_t width,
                            int32_t memory = SYNFIRE_MEMORY_DEVICE);

  const NetworkRules& rules() const noexcept { return design.rules(); }
  // The type of numbers: f32, or f64.
  int32_t number() const noexcept { return rules().dtype; }
  const Stage& stage(size_t index) const noexcept { return design.stages()[index]; }
  // The pair of a synapse's stage or of one of neurons, or null.
  const Pair* find_pair(size_t stage_index) const noexcept;
};

// Makes all parts and records all graphs on a device that only counts. Throws what making them would throw.
PartBytes plan(const Design& design, const core::Device& on);

}  // namespace synfire::network

#endif

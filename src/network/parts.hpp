// The parts of a network on a context: objects and graphs as a program would make them by hand with synfire.h
// (record.cpp).
#ifndef SYNFIRE_NETWORK_PARTS_HPP
#define SYNFIRE_NETWORK_PARTS_HPP

#include "cycles.hpp"
#include "data_set.hpp"
#include "design.hpp"
#include "frame_tape.hpp"
#include "held_graphs.hpp"
#include "kept_state.hpp"
#include "random_seed.hpp"
#include "stage_parts.hpp"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>

namespace synfire::network {

class PlanningDevice;

// A graph, and its operations that the network changes between replays.
struct RecordedGraph {
  // A number of an operation: a value of a stage, or the "offset" or "seed" of its random numbers.
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
  RowBlocks blocks;    // likewise

  void set(const core::Graph::Hold& hold, size_t stage, std::string_view name, double value) const;
  // The next replay draws the random numbers and the rows of the first one again.
  void begin_again(const core::Graph::Hold& hold) const;
};

struct PartBytes {
  uint64_t synapses, layers, buffers, optimizer, graphs, pinned;
  uint64_t arena;  // of the graphs' bytes

  uint64_t device() const noexcept { return synapses + layers + buffers + optimizer + graphs; }
};

// How far gradients reach. All members are false where no gradient arrives: without an optimizer, or where no loss
// follows.
struct GradientPlan {
  bool learns;        // something of the stage is trained
  bool passes;        // something that the stage reads, or before, is trained
  bool has_backward;  // one of the two
  bool trains;        // weights of the stage are trained, by itself or by one that uses them
};

// Arrays that the inference graph reads and writes.
struct NetworkInput {
  size_t stage;
  RowShape row;
  Ref<Buffer> array;       // page-locked
  Ref<Buffer> n_replaced;  // u64 [1], page-locked: of a replay, with "replace_nonfinite"
};
struct NetworkOutput {
  size_t stage;
  RowShape row;
  Ref<Buffer> array;  // page-locked
  Edge from;          // the array that is written there
};

// An array of a frame that the program writes before the backward graph of a loss of its own.
struct FrameArray {
  size_t stage;
  DataRole role;  // labels or targets; outputs: the gradient of an output
  RowShape row;
  Ref<Buffer> array;  // page-locked
};

// Sums of one loss over the replays of a call.
struct Score {
  size_t stage;
  Ref<Buffer> loss, divisor, n_correct, n_counted;  // f64, f64, u32, u32; n_correct is null without labels
  int64_t n_samples;                                // of a batch, at most
  uint64_t counted = 0, correct = 0;                // of the call so far
};

struct Parts {
  // Makes all parts but the graphs. With a planning device, which must be the context's, arrays have addresses only.
  Parts(core::Context& where, const Design& what, PlanningDevice* planning = nullptr);

  core::Context& context;
  const Design& design;
  PlanningDevice* planned;
  PartBytes bytes = {};  // counted by the planning device

  const std::vector<DataNeed> data_needs;
  const std::vector<GradientPlan> gradients;  // of each stage
  const Cycles cycles;
  // The longest delay at which the spikes of each stage are read. Their array and its gradient have as many steps
  // before the first.
  const std::vector<int32_t> delays;
  std::vector<std::unique_ptr<StageParts>> stages;  // of each stage
  std::vector<NetworkInput> inputs;
  std::vector<NetworkOutput> outputs;
  std::vector<FrameArray> frame;  // with a loss of the program's own
  std::shared_ptr<FrameTape> frame_tape = std::make_shared<FrameTape>();
  std::vector<Score> scores;
  std::vector<Ref<Buffer>> rate_losses;            // f64 [1]: sums over the replays of a call
  std::vector<Ref<Buffer>> n_replaced_in_batches;  // u64 [1]: sums over the replays of a call, but those that infer
  Ref<Buffer> indices, n_active;                   // of the batch
  DataSet batch;                                   // one batch, time-major; what the graphs have asked for
  Ref<operations::Optimizer> optimizer;            // null: nothing is trained
  // All graphs share it. The layers' states keep their replays in order.
  std::shared_ptr<core::Arena> arena;
  std::shared_ptr<core::ArenaBlock> arena_block;
  std::array<RecordedGraph, std::size(graph_kinds)> graphs;
  core::OperationList resets;  // of the states of all stages, as one operation
  std::unique_ptr<KeptState> kept;
  std::vector<uint64_t> training_start;  // Offsets, until there is a training graph
  std::vector<uint64_t> offsets_before;  // Offsets before a call that trains, which needs no memory therefore
  int64_t training_start_rows = 0;       // 0: of any
  RowBlocks training_start_blocks;

  const RecordedGraph& graph(GraphKind kind) const noexcept { return graphs[static_cast<size_t>(kind)]; }
  RecordedGraph& graph(GraphKind kind) noexcept { return graphs[static_cast<size_t>(kind)]; }
  bool has_graph(GraphKind kind) const noexcept { return graph(kind).graph.get() != nullptr; }
  // The position of a run: the "offset" of each stage that draws random numbers, and, after the last stage, the number
  // of the next batch.
  using Offsets = std::vector<uint64_t>;
  // The position of the training: counted by its graph, or the one at which it begins.
  Offsets offsets(const HeldGraphs& held) const {
    return has_graph(GraphKind::training) ? offsets_of(GraphKind::training, held) : training_start;
  }
  Offsets offsets_of(GraphKind kind, const HeldGraphs& held) const;
  void read_offsets(GraphKind kind, const HeldGraphs& held, Offsets& offsets) const;
  void set_offsets(const HeldGraphs& held, const Offsets& offsets) const;
  uint64_t next_batch(const HeldGraphs& held) const;  // offsets().back(), without memory
  // The number of rows among which the next batch is counted.
  int64_t training_rows() const noexcept {
    return has_graph(GraphKind::training) ? graph(GraphKind::training).n_rows : training_start_rows;
  }
  // The order of the rows in which it is counted.
  const RowBlocks& training_blocks() const noexcept {
    return has_graph(GraphKind::training) ? graph(GraphKind::training).blocks : training_start_blocks;
  }
  // Each records and instantiates a graph, which replaces the one before.
  void record_inference();
  uint32_t graph_slots() const noexcept;  // of the inference graph
  void reserve_slots();
  void record_training(const DataSet& data, const Offsets& offsets);
  void record_evaluation(const DataSet& data);
  // The two graphs around a loss of the program's own.
  void record_own_loss();

  // A new array: spikes in a format, or numbers [T, B, N].
  Ref<Buffer> make(int32_t dtype, std::initializer_list<int64_t> lengths, int32_t memory = SYNFIRE_MEMORY_DEVICE);
  Ref<Buffer> make_sequence(int32_t dtype, int64_t n_steps, int64_t n_rows, int64_t width,
                            int32_t memory = SYNFIRE_MEMORY_DEVICE);
  // Steps of an array [steps, B, N] in memory of its own, as a buffer, which keeps the array alive. What is written to
  // one of the two counts in the version of that one alone.
  Buffer* part(Buffer& whole, int64_t first_step, int64_t n_steps);
  // Memory for a copy of what an input hands on, of which parts can be read; time-packed spikes are packed by neurons.
  Buffer& import(size_t index, const Buffer& array);
  bool in_cycle(size_t index) const noexcept { return cycles.has[index] != 0; }
  // True if parts of the arrays of a stage are read or written: they need memory of their own.
  bool is_divided(size_t index) const;
  // True if an output of the inference graph is copied from an array with memory of its own.
  bool is_copied(const NetworkOutput& output) const;
  // Calls the function with each buffer for programs, by each of its names.
  void offer(core::FunctionRef<void(const std::string&, const Ref<Buffer>&)> each) const;

  // True if there are two graphs around a loss of the program's own.
  bool has_own_loss() const noexcept { return rules().own_loss != OwnLoss::none && design.is_trainable(); }
  // The memory of arrays that only the graphs read. Of the two around a loss of the program's own, the second one reads
  // what the first one has written.
  int32_t passed_on() const noexcept { return has_own_loss() ? SYNFIRE_MEMORY_DEVICE : SYNFIRE_MEMORY_TRANSIENT; }

  const NetworkRules& rules() const noexcept { return design.rules(); }
  int32_t number() const noexcept { return rules().dtype; }
  const Stage& stage(size_t index) const noexcept { return design.stages()[index]; }
  // The seed from which a stage draws random numbers in a graph: training continues where it stopped, and the others
  // begin again, with numbers of their own. After the last stage: that of the order of the training rows.
  uint64_t seed(size_t index, GraphKind kind) const noexcept {
    if (index == stages.size()) return rules().order_seed;
    const Stage& drawing = stage(index);
    return kind == GraphKind::training || kind == GraphKind::forward
               ? drawing.seed
               : random_seed(drawing.seed, drawing.name, purpose::evaluation);
  }

 private:
  void make_outputs();
  void make_frame();
  void check_kept() const;

  std::map<std::tuple<Buffer*, int64_t, int64_t>, Ref<Buffer>> parts_;  // by their arrays, which live as long
  std::map<size_t, Ref<Buffer>> imports_;                               // by the inputs
};

class StageMaker {
 public:
  StageMaker(Parts& parts, const StageView& stage) noexcept : parts_(parts), stage_(stage) {}

  Parts& parts() const noexcept { return parts_; }
  const StageView& stage() const noexcept { return stage_; }
  core::Context& context() const noexcept { return parts_.context; }
  bool is_planned() const noexcept { return parts_.planned != nullptr; }
  int32_t number() const noexcept { return parts_.number(); }
  const GradientPlan& gradient() const noexcept { return parts_.gradients[stage_.index()]; }

  // Counts device memory that the body allocates as that of synapses, layers or the optimizer; other memory as arrays.
  template <class Body>
  void count_as(uint64_t PartBytes::*kind, Body body) const {
    const uint64_t before = allocated();
    if (kind == &PartBytes::layers)
      core::charged_to_new_account(SYNFIRE_TAG_LAYER, body);
    else
      core::charged_as(kind == &PartBytes::synapses ? SYNFIRE_TAG_SYNAPSE : SYNFIRE_TAG_OPTIMIZER, body);
    parts_.bytes.*kind += allocated() - before;
  }
  // [T, B, width], or of such a flow: one that programs may read after a replay, unless they have given that up; one
  // that only the graphs read (Parts::passed_on()); and one number.
  // Those that the stage keeps under this name have memory of their own.
  Ref<Buffer> sequence(int32_t dtype, int64_t width, std::string_view name = {}) const {
    return sequence_in(keeps(name) ? SYNFIRE_MEMORY_DEVICE : read_later(), dtype, width);
  }
  Ref<Buffer> passed_on_sequence(int32_t dtype, int64_t width) const { return sequence_in(passed_on(), dtype, width); }
  Ref<Buffer> array(int32_t dtype, const core::Flow& flow, std::string_view name = {}) const {
    return array_in(keeps(name) ? SYNFIRE_MEMORY_DEVICE : read_later(), dtype, flow);
  }
  Ref<Buffer> passed_on_array(int32_t dtype, const core::Flow& flow, std::string_view name = {}) const {
    return array_in(keeps(name) ? SYNFIRE_MEMORY_DEVICE : passed_on(), dtype, flow);
  }
  // The same of spikes and of their gradient, with steps before the first that are read with a delay.
  Ref<Buffer> delayed_sequence(int32_t dtype, int64_t width, std::string_view name = {}) const {
    const int64_t n_steps = parts_.rules().n_steps + parts_.delays[stage_.index()];
    return parts_.make_sequence(dtype, n_steps, parts_.rules().batch, width,
                                keeps(name) ? SYNFIRE_MEMORY_DEVICE : read_later());
  }
  // True if the program has asked for this array of the stage (kept_arrays.hpp).
  bool keeps(std::string_view name) const noexcept { return !name.empty() && stage_->keeps(name); }
  Ref<Buffer> one(int32_t dtype, int32_t memory = SYNFIRE_MEMORY_DEVICE) const {
    return parts_.make(dtype, {1}, memory);
  }

 private:
  int32_t read_later() const {
    const bool transient = parts_.rules().transient_arrays && !parts_.is_divided(stage_.index());
    return transient ? SYNFIRE_MEMORY_TRANSIENT : SYNFIRE_MEMORY_DEVICE;
  }
  int32_t passed_on() const { return parts_.is_divided(stage_.index()) ? SYNFIRE_MEMORY_DEVICE : parts_.passed_on(); }
  Ref<Buffer> sequence_in(int32_t memory, int32_t dtype, int64_t width) const {
    return parts_.make_sequence(dtype, parts_.rules().n_steps, parts_.rules().batch, width, memory);
  }
  Ref<Buffer> array_in(int32_t memory, int32_t dtype, const core::Flow& flow) const {
    return parts_.make_sequence(dtype, flow.n_steps, flow.batch, flow.n_features(), memory);
  }
  uint64_t allocated() const noexcept;

  Parts& parts_;
  const StageView stage_;
};

// Makes all parts and records all graphs on a device that only counts. Throws the same errors.
PartBytes plan(const Design& design, const core::Device& on);

}  // namespace synfire::network

#endif

// A graph of a network while its stages record themselves in turn. A stage asks for its arrays and knows no neighbour.
#ifndef SYNFIRE_NETWORK_STAGE_RECORDER_HPP
#define SYNFIRE_NETWORK_STAGE_RECORDER_HPP

#include "parts.hpp"

#include <neurons/tape.hpp>

#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace synfire::network {

class StageRecorder {
 public:
  // The value of an edge: an array, or a product that the reader computes.
  struct Read {
    Buffer* array;
    DropoutArrays kept;
    Product* product;
    Buffer* counts;  // u8, for those that take counts as they are; others read them as numbers
  };
  // The place of a gradient. Null: nothing before is trained.
  struct Gradient {
    Buffer* array;
    bool add;  // to what readers that were recorded later have written
  };

  StageRecorder(Parts& parts, GraphKind kind);

  // ---- the graph and the stage
  core::Graph& graph() const noexcept { return *graph_; }
  GraphKind kind() const noexcept { return kind_; }
  // True if its results are learnt from.
  bool trains() const noexcept { return kind_ != GraphKind::inference && kind_ != GraphKind::evaluation; }
  // True if it reads rows of a data set; otherwise it reads a frame of the program's, of which every row counts.
  bool has_batch() const noexcept { return kind_ == GraphKind::training || kind_ == GraphKind::evaluation; }
  const Parts& parts() const noexcept { return parts_; }
  const NetworkRules& rules() const noexcept { return parts_.rules(); }
  // The step of a cycle that is recorded; none: all steps at once.
  std::optional<int64_t> step() const noexcept { return step_; }
  // Steps of an array that has more than those of the network.
  Buffer* part(Buffer& whole, int64_t first_step, int64_t n_steps) const {
    return parts_.part(whole, first_step, n_steps);
  }
  // An array of the stage, or the step of it.
  Buffer* own(Buffer* array) const { return steps_of(array, {number(), Port::counts}); }
  core::Extents extents(int64_t width) const noexcept { return {step_ ? 1 : rules().n_steps, rules().batch, width}; }
  core::Extents extents(const core::Flow& flow) const noexcept {
    return {step_ ? 1 : flow.n_steps, flow.batch, flow.n_features()};
  }
  core::Flow flow(core::Flow whole) const noexcept {
    if (step_) whole.n_steps = 1;
    return whole;
  }
  // True if a backward of this stage follows.
  bool has_backward() const noexcept { return trains() && parts_.gradients[index_].has_backward; }
  template <class Make>
  void append(Make make) {
    graph_->record([&](core::Recorder&) { return make(); });
  }
  // Notes that the operation recorded last has this value of the stage, under this name.
  void note(const char* name, const char* known_as) { note(name, known_as, 0); }
  // Notes that it draws random numbers: a replay advances "offset" by this number.
  void note_draws(uint64_t per_replay);
  uint64_t seed() const noexcept { return parts_.seed(index_, kind_); }
  uint64_t offset() const noexcept { return trains() ? (*offsets_)[index_] : 0; }

  // ---- the batch; null where there is none
  Buffer* data(DataRole role) const noexcept;
  Buffer* lengths() const noexcept { return lengths_; }
  Buffer* sample_weights() const noexcept { return sample_weights_; }
  // The tapes of the stage's steps, which its forward adds and its backward reads.
  std::vector<Ref<core::Tape>>& tapes() noexcept { return tapes_[index_]; }
  // Null for a frame.
  Buffer* n_active() const noexcept { return has_batch() ? parts_.n_active.get() : nullptr; }

  // ---- what flows; of arrays with all steps, those that the edge reads
  Read read(size_t i = 0) const { return read_edge(index_, i); }
  // The same for stage `reader`, for a product that is computed after it.
  Read read_edge(size_t reader, size_t i) const;
  // The array that this stage writes at a port: its own, or an output that is page-locked.
  Buffer* written(Port port = Port::output) const { return steps_of(array_at(index_, port), {number(), port}); }
  // Gives readers of the stage this array in this graph.
  void hand_on(Buffer& array) noexcept { handed_on_[index_][0] = &array; }

  // ---- gradients, from the last reader to the first
  // The place of the gradient of an input. The first call for an array says to write it, later ones to add to it.
  Gradient gradient(size_t i = 0) { return gradient_of(index_, i); }
  Gradient gradient_of(size_t reader, size_t i);
  // The gradient of its output; null if no reader has written one.
  Buffer* output_gradient(Port port = Port::output) const;
  // output_gradient() to write to, for a term of its own.
  Gradient own_gradient(Port port = Port::output);
  // Fills the gradient of spikes that are read with a delay with 0: readers add to parts of it.
  void clear_gradient();
  // True if gradients of the weights that a stage uses are added to what a use that was recorded later has written.
  bool adds_to_weights(size_t user) {
    return std::exchange(has_weight_gradients_[parts_.design.owner_of_weights(user)], uint8_t{1}) != 0;
  }

 private:
  friend class Recording;
  void note(const char* name, const char* known_as, uint64_t per_replay);
  uint32_t number() const noexcept { return static_cast<uint32_t>(index_); }
  Buffer* array_at(size_t stage, Port port) const noexcept;
  // The steps of an array of a source that an edge reads now; null: there is no array.
  Buffer* steps_of(Buffer* array, const Edge& source) const;
  bool has_gradient(size_t stage, Port port) const noexcept {
    const auto at = static_cast<size_t>(port);
    return has_gradient_[stage][at] || (step_ && has_step_gradient_[stage][at]);
  }
  Gradient begin_gradient(const Edge& source);

  Parts& parts_;
  const GraphKind kind_;
  const Parts::Offsets* offsets_ = nullptr;
  Ref<core::Graph> graph_;
  std::vector<RecordedGraph::Value> values_;
  size_t index_ = 0;  // of the stage that records itself
  Buffer* lengths_ = nullptr;
  Buffer* sample_weights_ = nullptr;
  std::vector<std::array<Buffer*, n_ports>> handed_on_;  // of each stage, in place of its own arrays
  std::vector<std::array<bool, n_ports>> has_gradient_;  // whether a reader has written it
  std::optional<int64_t> step_;
  std::vector<std::array<bool, n_ports>> has_step_gradient_;  // of the step
  // The tapes of the steps, for each stage of neurons in a cycle.
  std::vector<std::vector<Ref<core::Tape>>> tapes_;
  std::vector<uint8_t> has_weight_gradients_;  // of each stage, likewise
};

}  // namespace synfire::network

#endif

// The design of a network: its stages with their names, shapes and values, and their edges. It is checked completely as
// it grows, and takes no memory of a device; parts.hpp makes its parts. Without edges with a delay, which may come from
// later stages, stages are in topological order.
#ifndef SYNFIRE_NETWORK_DESIGN_HPP
#define SYNFIRE_NETWORK_DESIGN_HPP

#include "stage_kind.hpp"

#include <base/error.hpp>
#include <ranks/communicator.hpp>

#include <synfire/synfire.h>

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace synfire::network {

// A value that a stage from elsewhere lacks: Design::add_copy() gives it its default.
inline constexpr double absent_value = std::numeric_limits<double>::quiet_NaN();
// The limit keeps files from describing networks that cannot be saved or take long to build.
inline constexpr size_t most_stages = 4096;
inline constexpr size_t most_values = 256;            // that a program gives a stage when it adds it: more than any has
inline constexpr int64_t most_delay = 65535;          // steps
inline constexpr int64_t most_recorded_steps = 4096;  // of a network with a cycle, which is recorded step by step

// A program may compute gradients itself, between two more graphs: the first goes on with the state, or begins anew.
enum class OwnLoss : int32_t {
  none = SYNFIRE_OWN_LOSS_NONE,
  continues = SYNFIRE_OWN_LOSS_CONTINUES,
  starts = SYNFIRE_OWN_LOSS_STARTS
};

// Settings of the network as a whole.
struct NetworkRules {
  int64_t n_steps, batch;
  uint64_t seed;        // from which stages draw (random_seed.hpp)
  uint64_t order_seed;  // of the training rows
  int32_t dtype;        // of the arithmetic: f32 or f64
  bool drop_last;
  uint32_t n_slots;
  bool transient_arrays;  // between the stages
  OwnLoss own_loss;
  core::Ref<ranks::Communicator> ranks = {};  // that train it together; null: this program alone

  explicit NetworkRules(const synfire_network_desc& desc);
  // The network is trained by these ranks together. Throws INVALID_ARGUMENT or UNSUPPORTED if that is not possible.
  void divide_among(ranks::Communicator& communicator);
};

// Throws INVALID_ARGUMENT or OUT_OF_MEMORY unless [T, B, width] can be addressed.
void check_size(const NetworkRules& rules, int64_t width, const char* name);
// Throws INVALID_ARGUMENT unless the value is one of the constants from 0 to `most`.
void check_choice(int32_t value, const char* name, int32_t most, const char* allowed);

// An input of a new stage: an earlier stage by its number, at a port or, without one, where the kind reads; or the
// spikes of neurons that are added later, by their name.
struct StageInput {
  StageInput(uint32_t number, std::optional<Port> named = std::nullopt, int32_t steps = 0) noexcept
      : from(number), port(named), delay(steps) {}
  StageInput(std::string awaited, int32_t steps) noexcept
      : from(not_added), port(Port::output), delay(steps), later(std::move(awaited)) {}

  uint32_t from;
  std::optional<Port> port;
  int32_t delay;
  std::string later = {};
};
// None: the stage before, or nothing if the kind reads nothing or the stage is the first.
using Reads = std::optional<std::vector<StageInput>>;

struct InitialValue {
  const char* name;
  double value;
};

class Design {
 public:
  explicit Design(const NetworkRules& rules) : rules_(rules) {}

  const NetworkRules& rules() const noexcept { return rules_; }
  const std::vector<Stage>& stages() const noexcept { return stages_; }

  // ---- growing; all throw INVALID_ARGUMENT, WRONG_ORDER or OUT_OF_MEMORY, and change nothing then

  // Returns the stage's number. Values are of the kind or further ones of the stage, in any order.
  size_t add(const StageKind& kind, const char* name, Choices choices, const Reads& reads,
             std::span<const InitialValue> values = {});
  // Adds a stage of another design with these inputs. Without a seed, it gets that of a new stage.
  size_t add_copy(const Stage& from, std::vector<Edge>&& inputs, std::vector<Awaited>&& awaits,
                  std::optional<uint64_t> seed);
  // Changes settings of a stage. The body checks its change.
  StageSettings& settings(size_t index) noexcept { return *stages_[index].settings; }
  void built() noexcept;
  // Notes that the program has asked for arrays of stages, by their names in these, which can keep them
  // (kept_arrays.hpp).
  void keep(std::span<std::pair<size_t, std::string>> arrays);
  // Takes changeable values, and seeds that the caller has not set, from a design with at least the same stages.
  void take_changes(const Design& from);
  // Returns the stage's number. Throws also for unknown names, and WRONG_ORDER for a value that is fixed once built.
  size_t set_value(const char* stage, const char* name, double value, bool is_built);
  double get_value(const char* stage, const char* name) const;
  void put_back(size_t index, Stage&& before) noexcept { stages_[index] = std::move(before); }
  // True if it can be built. The second function throws WRONG_ORDER if stages are missing.
  bool is_complete() const noexcept;
  void check_complete() const;
  void check_reads_all(size_t index) const;

  // ---- stages
  std::optional<size_t> find_if(std::string_view name) const;  // none: there is no such stage
  size_t find(const char* name) const;
  size_t find(const char* name, const StageKind& kind) const;
  StageView view(size_t index) const noexcept;
  // True if a reader of the stage at this port needs numbers of the network's type, even of spikes.
  bool wants_numbers(size_t index, Port port) const noexcept;
  // True if a reader of a stage that makes counts takes them as they are, or as numbers.
  bool wants_counts(size_t index) const { return has_reader_of_counts(index, true); }
  bool wants_counts_as_numbers(size_t index) const { return has_reader_of_counts(index, false); }
  // True if a stage has this value by its kind, and not as a further one.
  bool has_value(size_t index, const char* name) const noexcept;
  [[noreturn]] void fail_unknown_value(size_t index, const char* name) const;
  // The readers of a stage: `from` is the reader.
  std::span<const Edge> readers(size_t index) const noexcept { return readers_[index]; }
  bool is_read(size_t index, Port port) const noexcept;
  // True if the array that this edge of a stage reads has other readers.
  bool has_other_readers(Edge edge) const noexcept;
  // The array that an edge reads, beyond stages that pass on their input; the delay is that of the whole way.
  Edge source(Edge edge) const noexcept;
  // The longest delay at which the spikes of a stage are read.
  int32_t longest_delay(size_t index) const noexcept;

  // ---- the network as a whole
  bool has(Role role) const noexcept { return first_[static_cast<size_t>(role)].has_value(); }
  bool is_trainable() const noexcept { return has(Role::trains); }
  // The first stage with this role, which must exist.
  const Stage& first(Role role) const noexcept { return stages_[*first_[static_cast<size_t>(role)]]; }
  // True if every stage reads the one before and nothing else.
  bool is_chain() const noexcept;
  // The stage itself, or that whose weights it uses.
  size_t owner_of_weights(size_t index) const;
  std::vector<DataNeed> data_needs() const;
  std::vector<size_t> outputs() const;
  // The outputs whose gradient a program computes: readouts without a loss, in a network with a loss of the program's.
  std::vector<size_t> outputs_with_own_loss() const;

 private:
  size_t place(Stage&& stage);
  // Gives the stages that await the last one their input, and those that follow from it their shape.
  void connect();
  void shape_again(size_t index);
  void check_cycles() const;
  bool has_reader_of_counts(size_t index, bool as_they_are) const;
  std::vector<Edge> edges_of(const StageKind& kind, Choices choices, const Reads& reads) const;
  void check_edges(const Stage& stage) const;
  void check_delay(const Stage& stage, const Edge& edge, const Stage& before) const;
  void drop_last() noexcept;
  // Takes the last stage back if the body throws.
  template <class Body>
  void keep_if(Body body);
  // Checks a changed stage, and takes the change back if a check throws.
  template <class Change>
  void change(size_t index, Change change);
  void check(size_t index);
  void give_values(size_t index, std::span<const InitialValue> values);

  NetworkRules rules_;
  std::vector<Stage> stages_;
  std::vector<std::vector<Edge>> readers_;
  std::optional<size_t> first_[n_roles];                // stages by their roles
  std::map<std::string, size_t, std::less<>> numbers_;  // of the stages, by their names
};

// A stage in its design, valid as long as the design, also while that grows.
class StageView {
 public:
  StageView(const Design& design, size_t index) noexcept : design_(&design), index_(index) {}

  const Design& design() const noexcept { return *design_; }
  const NetworkRules& rules() const noexcept { return design_->rules(); }
  size_t index() const noexcept { return index_; }
  const Stage& stage() const noexcept { return design_->stages()[index_]; }
  const Stage* operator->() const noexcept { return &stage(); }
  const Edge& edge(size_t i = 0) const noexcept { return stage().inputs[i]; }
  // The stage that it reads, with the shape of the read port.
  StageView input(size_t i = 0) const noexcept { return {*design_, edge(i).from}; }
  // Without channels if the stage is not there yet, or has no shape yet.
  core::Flow flow(size_t i = 0) const noexcept {
    if (edge(i).from == not_added)
      return {.n_steps = rules().n_steps, .batch = rules().batch, .elements = core::Elements::spikes};
    core::Flow flow = input(i)->output;
    if (edge(i).port == Port::v) flow.elements = core::Elements::values;
    return flow;
  }
  // True if a stage reads it at this port.
  bool is_read(Port port = Port::output) const noexcept { return design_->is_read(index_, port); }

 private:
  const Design* design_;
  size_t index_;
};

inline StageView Design::view(size_t index) const noexcept {
  return {*this, index};
}

inline size_t Design::owner_of_weights(size_t index) const {
  return stages_[index].kind->weights_of(view(index)).value_or(index);
}

// Adds the stage to texts about a field of a descriptor.
template <class Body>
void in_stage(const Stage& stage, Body body) {
  try {
    body();
  } catch (core::Failure& failure) {
    failure.text = std::string("stage \"").append(stage.name).append("\": ").append(failure.text);
    throw;
  }
}

// Adds the stage to texts about its array of a data set, if several stages need an array of the role.
template <class Body>
void in_stage_of(const Design& design, const DataNeed& need, Body body) {
  int n_stages = 0;
  for (const DataNeed& other : design.data_needs()) n_stages += other.role == need.role ? 1 : 0;
  if (n_stages > 1)
    in_stage(design.stages()[need.stage], body);
  else
    body();
}

}  // namespace synfire::network

#endif

// The design of a network: its stages in the order in which they were added, with their names, widths and values. It is
// checked completely as it grows, and takes no memory of a device; parts.hpp makes the parts of it.
#ifndef SYNFIRE_NETWORK_DESIGN_HPP
#define SYNFIRE_NETWORK_DESIGN_HPP

#include <layer/loaded.hpp>

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

enum class StageKind { input, dropout, synapse, neurons, readout, loss, optimizer };
inline constexpr int n_stage_kinds = 7;
const char* name_of(StageKind kind) noexcept;

// A number of a stage that the caller may set by name.
struct ValueSpec {
  // What it acts on: all results, those of training, or none (where memory lies, where weights begin).
  enum class Effect { on_results, on_training, on_none };

  const char* name;
  double initial;
  double low, high;  // both allowed
  bool whole;        // a whole number
  bool changes;      // also after the network was built
  Effect effect = Effect::on_results;
};

// The value of a neuron's parameter, or of a row of ValueSpec.
struct NamedValue {
  std::string name;
  double value;
};

// A parameter of neurons that the optimiser trains.
struct TrainedParameter {
  std::string name;
  bool per_neuron;
  double rate_factor, decay_factor, lower, upper;  // no bound: infinite; that of the parameter's kind: NaN
};

struct Stage {
  StageKind kind = StageKind::input;
  std::string name = {};
  int64_t width = 0;       // inputs, outputs or neurons that it hands on; 0 of a loss and an optimiser
  int32_t choice = 0;      // SYNFIRE_NETWORK_INPUT_*, _MODEL_*, _READOUT_*, _LOSS_* or _OPTIMIZER_KIND_*
  bool of_spikes = false;  // a readout: of spikes, not of V
  bool has_rate = false;   // neurons: their rates are drawn to a target, also with a strength of 0 for now
  uint64_t seed = 0;
  bool seed_is_set = false;                 // by the caller; otherwise a file may bring another one
  std::vector<double> values = {};          // one for each row of specs_of()
  std::vector<NamedValue> parameters = {};  // of neurons, that were set
  std::vector<TrainedParameter> trained = {};
  std::vector<uint8_t> mask = {};         // of a synapse, [N, K], or empty
  std::vector<float> class_weights = {};  // of a loss, or empty
  // Of neurons: the model and the surrogate, if they were loaded at run time.
  core::Ref<core::LoadedModel> model = {};
  core::Ref<core::LoadedSurrogate> surrogate = {};

  // A value of the table, by its name.
  double value(std::string_view wanted) const;
  int32_t whole(std::string_view of) const { return static_cast<int32_t>(value(of)); }
  bool flag(std::string_view of) const { return value(of) != 0; }
};

// The values that stages of this kind have.
std::span<const ValueSpec> specs_of(StageKind kind) noexcept;

// A value that a stage from elsewhere does not have: Design::add_copy() gives it its default.
inline constexpr double absent_value = std::numeric_limits<double>::quiet_NaN();
// More are refused: so that a file cannot make a network that nobody can save, nor one that takes long to build.
inline constexpr size_t most_stages = 4096;

// What holds for all stages.
struct NetworkRules {
  int64_t n_steps, batch;
  uint64_t seed;
  int32_t dtype;  // of the arithmetic: f32 or f64
  bool drop_last;
  uint32_t n_slots;

  explicit NetworkRules(const synfire_network_desc& desc);
};

class Design {
 public:
  explicit Design(const NetworkRules& rules) : rules_(rules) {}

  const NetworkRules& rules() const noexcept { return rules_; }
  const std::vector<Stage>& stages() const noexcept { return stages_; }
  // All throw INVALID_ARGUMENT or OUT_OF_MEMORY, and change nothing then.
  void add_input(const char* name, int32_t kind, int64_t n_features);
  void add_dropout(const char* name, double probability);
  void add_synapse(const char* name, int64_t n_outputs);
  void add_neurons(const char* name, int32_t model);
  void add_readout(const char* name, int32_t reduction, bool of_spikes);
  void add_loss(const char* name, int32_t kind);
  void add_optimizer(const char* name, int32_t kind, double learning_rate);
  void train_parameter(const char* name, TrainedParameter&& parameter);
  // The lengths are compared with the shapes before anything is read.
  void set_mask(const char* name, const uint8_t* mask, uint64_t length);
  void set_class_weights(const char* name, const float* weights, uint64_t n_weights);
  // Adds a stage as it was in another design: all of it but the mask and the class weights. Without a seed, it gets
  // that of a new stage.
  void add_copy(const Stage& from, std::optional<uint64_t> seed);
  // The network is built: rates that are drawn to a target now can be later.
  void keep_rates() noexcept;
  // Takes the values that can change, the parameters of neurons, and the seeds that the caller has not set, of what
  // draws random numbers in every replay, from a design with the same stages or more.
  void take_changes(const Design& from);
  // Returns the stage's number. Throws INVALID_ARGUMENT for unknown names too, and WRONG_ORDER for a value that a built
  // network cannot change.
  size_t set_value(const char* stage, const char* name, double value, bool is_built);
  double get_value(const char* stage, const char* name) const;
  // Undoes changes of a stage's values.
  void put_back(size_t index, Stage&& before) noexcept { stages_[index] = std::move(before); }
  // Whether it can be built; the second throws WRONG_ORDER if stages are missing.
  bool is_complete() const noexcept;
  void check_complete() const;

  // ---- stages
  std::optional<size_t> find_if(std::string_view name) const;  // none: there is no such stage
  size_t find(const char* name) const;
  size_t find(const char* name, StageKind kind) const;
  // Whether a stage has this value by its kind, and not as a parameter of its neurons.
  bool has_value(size_t index, const char* name) const noexcept;
  // Its only stage of a kind, or null.
  const Stage* only(StageKind kind) const noexcept;
  const Stage& input() const noexcept { return stages_.front(); }
  bool is_trainable() const noexcept { return only(StageKind::optimizer) != nullptr; }
  // The stage before, which hands on what stage `index` takes in.
  const Stage& before(size_t index) const noexcept { return stages_[index - 1]; }
  bool never_fires(const Stage& neurons) const;
  // Whether replays of the stage draw random numbers.
  static bool draws(const Stage& stage) noexcept;

  // ---- descriptors of the parts
  synfire_synapse_desc synapse_desc(size_t index) const;
  synfire_layer_desc layer_desc(size_t index) const;
  synfire_optimizer_desc optimizer_desc(const Stage& stage) const;

 private:
  Stage& add(StageKind kind, const char* name, int32_t choice, int64_t width);
  void drop_last() noexcept;
  template <class Check>
  void keep_if(Check check);
  // Runs the checks of a stage that was added or changed, and takes it back if one throws.
  template <class Change>
  void change(size_t index, Change change);
  void copy_parameters(Stage& stage, const Stage& from) const;
  void check(size_t index) const;
  void check_parameters(size_t index) const;
  int64_t synapse_inputs(size_t index) const;
  bool takes_values(size_t index) const;
  [[noreturn]] void fail_unknown_value(const Stage& stage, const char* name) const;

  NetworkRules rules_;
  std::vector<Stage> stages_;
  std::map<std::string, size_t, std::less<>> numbers_;  // of the stages, by their names
};

}  // namespace synfire::network

#endif

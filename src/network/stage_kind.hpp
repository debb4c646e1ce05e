// A kind of stage, as a design, its file and its pictures know it. stages/<kind>.cpp has the one object of each kind,
// and stages/stage_kinds.cpp lists them. Nothing else names a kind.
#ifndef SYNFIRE_NETWORK_STAGE_KIND_HPP
#define SYNFIRE_NETWORK_STAGE_KIND_HPP

#include "array_layout.hpp"
#include "data_needs.hpp"
#include "stage.hpp"

#include <files/safetensors_file.hpp>
#include <files/safetensors_writer.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace synfire::core {
class Context;
}  // namespace synfire::core

namespace synfire::network {

class DataFinder;
class Design;
class StageMaker;
class StageParts;
class StageView;
class KeyValueReader;
struct NetworkRules;
struct StageKeyValues;

// Kinds of what edges carry. A stage may read another if that one makes a signal that this one reads.
namespace signal {
enum : uint32_t {
  input = 1,       // what a network gets: spikes or values
  spikes = 2,      // of neurons
  v = 4,           // of neurons
  masked = 8,      // input or spikes, with a mask of what counts
  product = 16,    // X of neurons
  readout = 32,    // of the steps of spikes or V
  objective = 64,  // what training minimises
  combined = 128   // of one array or several: spikes, counts or values
};
}  // namespace signal

// The part of a kind in the network as a whole.
enum class Role : int32_t {
  none,
  scores,  // it compares with a data set: the network can be evaluated
  trains   // it changes what is learnt: the network can be trained
};
inline constexpr size_t n_roles = 3;

// An array that inference writes.
struct StageOutput {
  Port port;
  RowShape row;
};

// The name of a port, by which a reader can ask for it.
struct PortName {
  const char* name;
  Port port;
};

// The choices of a new stage, in the order of those of its kind.
using Choices = std::span<const int64_t>;

enum class Draws { never, in_training, always };

// A stage may read neurons that are added later, with a delay, or not.
enum class Awaits {
  never,
  shaped,   // its output has a shape that does not depend on them
  unshaped  // its output has no shape until they are there
};

struct KindTraits {
  const char* name;  // "synapse"
  const char* noun;  // "a synapse"
  std::span<const ChoiceSpec> choices = {};
  std::span<const ValueSpec> values = {};
  uint32_t reads = 0;           // signals; 0: it reads nothing
  uint32_t reads_if_named = 0;  // further ones, of stages that are named
  uint32_t makes = 0;
  std::span<const PortName> ports = {};  // none: its output alone, which has no name
  uint32_t least_inputs = 0, most_inputs = 1;
  bool reads_all = false;       // by default, all stages that it can read
  bool reads_products = false;  // its own operation computes the product of a synapse that nothing else reads
  Awaits awaits = Awaits::never;
  bool joins = false;         // its inputs have one shape, so that those without one yet may be among them
  bool takes_steps = false;   // a graph can record it step by step, so it can be in a cycle
  bool reads_before = false;  // it can read spikes with a delay
  bool can_end = false;       // nothing needs to read it
  bool of_training = false;   // inference does without it, and so may a network that loads a file
  Role role = Role::none;
  std::string_view draws_for = {};  // the purpose for which it draws random numbers (random_seed.hpp)
  bool is_new = false;              // version 1 of the format of files does not know it
};

class StageKind {
 public:
  const KindTraits traits;

  StageKind(const StageKind&) = delete;
  StageKind& operator=(const StageKind&) = delete;

  // ---- the design; functions throw INVALID_ARGUMENT or OUT_OF_MEMORY

  // The settings of a new stage, not checked yet.
  virtual std::unique_ptr<StageSettings> settings(const Design&, Choices) const { return nullptr; }
  // The port at which a new stage reads another one; none: no port is named.
  virtual Port port(Choices, std::optional<Port> named, const Stage& /*from*/) const {
    return named.value_or(Port::output);
  }
  // Begins a new stage: checks its settings, and sets the initial values that depend on them.
  virtual void begin(const NetworkRules&, Stage&) const {}
  virtual core::Flow shape(const StageView& stage) const = 0;
  // Brings derived settings up to date after settings or values have changed.
  virtual void settle(Stage&) const {}
  virtual void check(const StageView& stage) const = 0;
  // Checks a stage from a file or from another design, also for what check() takes for granted.
  virtual void check_copy(const StageView& stage) const { check(stage); }
  // The signals that stages read; those that this stage makes and, if fewer than its kind, the reason.
  virtual uint32_t reads(const NetworkRules&) const { return traits.reads; }
  virtual uint32_t makes(const StageView&) const { return traits.makes; }
  virtual const char* why_not(const Stage&) const { return ""; }
  // True if nothing needs to read it.
  bool can_end(const Stage& stage) const noexcept { return traits.can_end || (stage.makes & signal::readout) != 0; }
  // Names of numbers that the stage has beside the kind's values.
  virtual std::vector<std::string> further_names(const StageView&) const { return {}; }
  virtual bool has_further(const StageView&, std::string_view /*name*/) const { return false; }
  virtual void set_further(const StageView&, Stage& /*changed*/, const char* /*name*/, double) const {}
  virtual double get_further(const StageView&, const char* /*name*/) const { return 0; }
  // True if two names mean the same number, such as a parameter and its reciprocal.
  virtual bool is_same_further(const StageView&, const char* /*one*/, const char* /*other*/) const { return false; }
  virtual void built(Stage&) const noexcept {}
  // Takes changeable settings from the stage of a file, beside the kind's values.
  virtual void take_changes(Stage&, const Stage& /*from*/) const {}

  // ---- what the network must know of a stage
  virtual Draws draws(const Stage&) const { return Draws::never; }
  // True if its output is the array that it reads, and its readers apply what it makes of it.
  virtual bool hands_on(const Stage&) const { return false; }
  // It reads numbers of the network's type, even if these are spikes.
  virtual bool reads_numbers(const StageView&) const { return false; }
  // True if it reads counts as they are, in u8; others read them as numbers.
  virtual bool takes_counts(const StageView&) const { return false; }
  // True if an optimizer changes something of it.
  virtual bool learns(const StageView&) const { return false; }
  // The earlier stage whose weights this one uses; none: it has its own, if any.
  virtual std::optional<size_t> weights_of(const StageView&) const { return std::nullopt; }
  // True if it writes a gradient of its output, or of its input, without a reader that does.
  virtual bool begins_gradient(const Stage&) const { return false; }
  // The names of arrays that the stage can keep for programs (kept_arrays.hpp).
  virtual std::vector<std::string_view> keepable(const StageView& view) const;
  // True if it has weights of its own to monitor.
  virtual bool has_weights(const StageView&) const { return false; }
  // The output of inference if nothing but training reads the stage.
  virtual std::optional<StageOutput> output(const StageView&) const { return std::nullopt; }

  // ---- the summary
  virtual std::string describe(const StageView& view) const = 0;
  virtual std::string shape_text(const StageView& view) const;
  virtual int64_t n_learnt(const StageView&) const { return 0; }

  // ---- data sets
  virtual void list_data(const StageView&, std::vector<DataNeed>&) const {}
  // Throws INVALID_ARGUMENT for the first invalid element.
  virtual void check_elements(const StageView&, DataRole, const Buffer&, DataFinder&) const {}

  // The number that a graph has of a value that a stage has noted.
  virtual double recorded_value(const Stage& stage, const char* name) const { return stage.value(name); }

  // ---- files
  // True if version 1 of the format has no words for the stage.
  virtual bool needs_new_format(const StageView&) const { return traits.is_new; }
  virtual void write(const StageView& view, StageKeyValues& words) const = 0;
  virtual void read(Stage& stage, KeyValueReader& words, const core::Context& context) const = 0;
  // Tensors that belong to the design. read_tensors() gets the stage as read() has left it.
  virtual void write_tensors(const StageView&, files::SafetensorsWriter&) const {}
  virtual void read_tensors(Design&, size_t /*index*/, const Stage&, const files::SafetensorsFile&) const {}
  // The layouts that its weights may have in files of other tools.
  virtual std::vector<ArrayLayout> layouts(const StageView&) const { return {}; }
  // All throw INVALID_ARGUMENT with the first difference (stage_words.hpp): in the choice of a kind, in a value, then
  // in the rest that no value has. Differences in training count only if the network here can be trained.
  virtual void compare_choice(const Stage& /*here*/, const Stage& /*there*/) const {}
  virtual void compare_value(const StageView& here, const StageView& there, const ValueSpec& spec) const;
  virtual void compare_rest(const Stage& /*here*/, const Stage& /*there*/, bool /*is_trained*/) const {}

  // ---- parts
  virtual std::unique_ptr<StageParts> make(StageMaker& maker) const = 0;

 protected:
  explicit constexpr StageKind(const KindTraits& its) : traits(its) {}
  ~StageKind() = default;
};

}  // namespace synfire::network

#endif

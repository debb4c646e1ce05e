// A stage of a network's design: its name, values and edges. Its kind (stage_kind.hpp) gives their meaning.
#ifndef SYNFIRE_NETWORK_STAGE_HPP
#define SYNFIRE_NETWORK_STAGE_HPP

#include "stage_value.hpp"

#include <base/flow.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace synfire::network {

class StageKind;

// A place where a stage is read: its output (the spikes of neurons), or the V of neurons. No edge has the port
// `counts`: it is that of the gradient of counts that stand for means, beside the gradient of the means.
enum class Port : int32_t { output, v, counts };
inline constexpr size_t n_ports = 3;

// The number of a stage that is not there yet.
inline constexpr uint32_t not_added = UINT32_MAX;

// An input of a stage. Without a delay, it comes from an earlier stage.
struct Edge {
  uint32_t from;  // a stage, or not_added
  Port port = Port::output;
  int32_t delay = 0;  // in steps

  friend bool operator==(const Edge&, const Edge&) = default;
};

// An input of a stage, by its place among them, that comes from a stage that is not there yet.
struct Awaited {
  size_t input;
  std::string name;
};

// Settings that are not numbers: a struct in the kind's own file, derived from SettingsOf<itself>.
struct StageSettings {
  virtual ~StageSettings() = default;
  virtual std::unique_ptr<StageSettings> copy() const = 0;
};
template <class Settings>
struct SettingsOf : StageSettings {
  std::unique_ptr<StageSettings> copy() const override {
    return std::make_unique<Settings>(static_cast<const Settings&>(*this));
  }
};

struct Stage {
  const StageKind* kind = nullptr;
  std::string name = {};
  std::unique_ptr<StageSettings> settings = {};  // null: the kind has none
  std::vector<Edge> inputs = {};
  std::vector<Awaited> awaits = {};
  core::Flow output = {};           // without channels: it hands nothing on, or has no shape yet
  bool has_shape = true;            // false: the shape of its output follows from what it awaits
  uint32_t makes = 0;               // the signals that it makes
  uint64_t seed = 0;                // of a kind that draws random numbers
  bool seed_is_set = false;         // by the caller; otherwise a file may bring another one
  std::vector<double> values = {};  // one for each row of the kind's values
  bool is_built = false;
  bool was_frozen = false;             // when it was built: it has no gradients and no moments
  bool freezes = false;                // of a file: it was frozen after it was built
  std::vector<std::string> kept = {};  // the arrays that the program has asked for, by their names in the stage

  Stage() = default;
  Stage(const Stage& other)
      : kind(other.kind),
        name(other.name),
        settings(other.settings ? other.settings->copy() : nullptr),
        inputs(other.inputs),
        awaits(other.awaits),
        output(other.output),
        has_shape(other.has_shape),
        makes(other.makes),
        seed(other.seed),
        seed_is_set(other.seed_is_set),
        values(other.values),
        is_built(other.is_built),
        was_frozen(other.was_frozen),
        freezes(other.freezes),
        kept(other.kept) {}
  Stage(Stage&&) noexcept = default;
  Stage& operator=(const Stage& other) { return *this = Stage(other); }
  Stage& operator=(Stage&&) noexcept = default;
  ~Stage() = default;

  int64_t width() const noexcept { return output.n_features(); }
  template <class Settings>
  const Settings& as() const noexcept {
    return static_cast<const Settings&>(*settings);
  }
  template <class Settings>
  Settings& as() noexcept {
    return static_cast<Settings&>(*settings);
  }

  double value(std::string_view wanted) const;
  int32_t whole(std::string_view of) const { return static_cast<int32_t>(value(of)); }
  bool flag(std::string_view of) const { return value(of) != 0; }
  // True if it has no gradients and no moments; "frozen" may have changed since.
  bool is_built_frozen() const { return is_built ? was_frozen : flag("frozen"); }
  bool keeps(std::string_view array) const noexcept;
  const ValueSpec* find_spec(std::string_view wanted) const noexcept;
  double& at(const ValueSpec& spec) noexcept;
  double at(const ValueSpec& spec) const noexcept;
};

// Throws INVALID_ARGUMENT unless the stage may have this value.
void check_value(const Stage& stage, const ValueSpec& spec, double value);

}  // namespace synfire::network

#endif

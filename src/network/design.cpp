#include "design.hpp"

#include <base/dtype.hpp>
#include <base/error.hpp>
#include <base/make_room.hpp>
#include <base/text.hpp>
#include <graph/graph.hpp>
#include <layer/layer_spec.hpp>
#include <layer/parameter_bounds.hpp>
#include <operations/optimizer/optimizer.hpp>
#include <synapses/dense/dense_spec.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace synfire::network {

using namespace synfire::core;

// ---- values ---------------------------------------------------------------------------------------------------------

namespace {

constexpr double largest = std::numeric_limits<double>::max(), most_whole = 0x1p53, below_one = 1.0 - 0x1p-53;
constexpr double above_0 = std::numeric_limits<double>::min();  // a 0 would stand for a default in a descriptor
constexpr bool whole = true, fixed = false, changes = true;
using enum ValueSpec::Effect;

constexpr ValueSpec of_input[] = {
    {"dtype", 0, 0, SYNFIRE_DTYPE_U64, whole, fixed},
    {"seed", 0, 0, most_whole, whole, fixed},
    {"per_step", 0, 0, 1, whole, fixed},
    {"pinned", 0, 0, 1, whole, fixed, on_none},
    {"any_number", 0, 0, 1, whole, changes, on_none},
    {"replace_nonfinite", 0, 0, 1, whole, fixed, on_none},
};
constexpr ValueSpec of_dropout[] = {
    {"probability", 0, 0, below_one, false, changes},
    {"seed", 0, 0, most_whole, whole, fixed},
};
constexpr ValueSpec of_synapse[] = {
    {"bias", 1, 0, 1, whole, fixed},
    {"frozen", 0, 0, 1, whole, fixed, on_training},
    {"gradient_bits", 24, 24, 32, whole, fixed, on_training},
    {"initialization", 0, 0, SYNFIRE_INITIALIZATION_ZERO, whole, fixed, on_none},
    {"gain", 1, above_0, 1e30, false, fixed, on_none},
    {"seed", 0, 0, most_whole, whole, fixed},
    {"learning_rate_factor", 1, 0, largest, false, fixed, on_training},
    {"weight_decay_factor", 1, 0, largest, false, fixed, on_training},
    {"bias_learning_rate_factor", 1, 0, largest, false, fixed, on_training},
    {"bias_weight_decay_factor", 0, 0, largest, false, fixed, on_training},
};
constexpr ValueSpec of_neurons[] = {
    {"dtype", 0, 0, SYNFIRE_DTYPE_U64, whole, fixed},
    {"reset", 0, 0, SYNFIRE_RESET_SOFT, whole, fixed},
    {"surrogate", 0, 0, 0x7FFFFFFF, whole, fixed, on_training},
    {"detach_reset", 0, 0, 1, whole, fixed, on_training},
    {"undecayed_input", 0, 0, 1, whole, fixed},
    {"tape", 0, 0, SYNFIRE_TAPE_STORE_NARROW, whole, fixed, on_training},
    {"rate_target", 0, -largest, largest, false, changes, on_training},
    {"rate_strength", 0, -largest, largest, false, changes, on_training},
    {"rate_of_layer", 0, 0, 1, whole, fixed, on_training},
};
constexpr ValueSpec of_loss[] = {
    {"targets", 0, 0, 1, whole, fixed},
    {"per_step", 0, 0, 1, whole, fixed},
    {"ignores_label", 0, 0, 1, whole, fixed},
    {"ignored_label", 0, 0, 4294967295.0, whole, fixed},
    {"label_smoothing", 0, 0, 1, false, changes},
    {"gradient_scale", 1, -largest, largest, false, changes},
    {"any_number", 0, 0, 1, whole, changes, on_none},
};
constexpr ValueSpec of_optimizer[] = {
    {"learning_rate", 1e-3, 0, largest, false, changes},
    {"weight_decay", 0, 0, largest, false, changes},
    {"clip_norm", 0, 0, largest, false, changes},
    {"momentum", 0, 0, largest, false, fixed},
    {"nesterov", 0, 0, 1, whole, fixed},
    {"beta1", 0.9, above_0, below_one, false, fixed},
    {"beta2", 0.999, above_0, below_one, false, fixed},
    {"epsilon", 1e-8, above_0, largest, false, fixed},
};

constexpr const char* kind_names[] = {"input", "dropout", "synapse", "neurons", "readout", "loss", "optimizer"};
static_assert(std::size(kind_names) == n_stage_kinds);

constexpr std::string_view seed_name = "seed";

const ValueSpec* find_spec(const Stage& stage, std::string_view name) {
  for (const ValueSpec& spec : specs_of(stage.kind))
    if (name == spec.name) return &spec;
  return nullptr;
}

size_t row_of(const Stage& stage, const ValueSpec& spec) {
  return static_cast<size_t>(&spec - specs_of(stage.kind).data());
}

// "a whole number from 0 to 1".
std::string range_text(const ValueSpec& spec) {
  char text[96];
  if (spec.low == -largest) return "a finite number";
  const int length = std::snprintf(text, sizeof text, "a %snumber", spec.whole ? "whole " : "");
  const std::string low =
      spec.low == above_0 ? " above 0" : " from " + std::to_string(static_cast<int>(spec.low)) + " on";
  std::string range(text, static_cast<size_t>(length));
  range.append(low);
  if (spec.high == largest) return range.append(", finite");
  if (spec.high == below_one) return range.append(", less than 1");
  std::snprintf(text, sizeof text, ", at most %.10g", spec.high);
  return range.append(text);
}

void check_value(const Stage& stage, const ValueSpec& spec, double value) {
  if (std::isfinite(value) && value >= spec.low && value <= spec.high && (!spec.whole || value == std::floor(value)))
    return;
  fail_argument("SYN-NETWORK-VALUE", "\"%s\" of stage \"%s\" is %g; %s is needed", spec.name, stage.name.c_str(), value,
                range_text(spec).c_str());
}

void check_choice(int32_t value, const char* name, int32_t most, const char* allowed) {
  if (value < 0 || value > most) fail_argument("SYN-NETWORK-KIND", "%s is %d; allowed are %s", name, value, allowed);
}

// Sequences [T, B, width] of 8 bytes can be addressed, with room to round up.
void check_size(const NetworkRules& rules, int64_t width, const char* name) {
  if (width < 1)
    fail_argument("SYN-NETWORK-WIDTH", "%s is %lld; at least 1 is needed", name, static_cast<long long>(width));
  constexpr int64_t most = int64_t{1} << 57;
  int64_t elements = 0;
  if (width > most || __builtin_mul_overflow(rules.n_steps, rules.batch, &elements) ||
      __builtin_mul_overflow(elements, width, &elements) || elements > most)
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-NETWORK-OVERFLOW",
         "%s is %lld; %lld steps of %lld batch rows of it cannot be addressed", name, static_cast<long long>(width),
         static_cast<long long>(rules.n_steps), static_cast<long long>(rules.batch));
}

bool is_one_of(int32_t value, std::initializer_list<int32_t> allowed) {
  return std::find(allowed.begin(), allowed.end(), value) != allowed.end();
}

}  // namespace

const char* name_of(StageKind kind) noexcept {
  return kind_names[static_cast<size_t>(kind)];
}

std::span<const ValueSpec> specs_of(StageKind kind) noexcept {
  switch (kind) {
    case StageKind::input:
      return of_input;
    case StageKind::dropout:
      return of_dropout;
    case StageKind::synapse:
      return of_synapse;
    case StageKind::neurons:
      return of_neurons;
    case StageKind::loss:
      return of_loss;
    case StageKind::optimizer:
      return of_optimizer;
    case StageKind::readout:
      break;
  }
  return {};
}

double Stage::value(std::string_view wanted) const {
  const ValueSpec* const spec = find_spec(*this, wanted);
  return spec ? values[row_of(*this, *spec)] : 0;
}

// ---- rules ----------------------------------------------------------------------------------------------------------

NetworkRules::NetworkRules(const synfire_network_desc& desc)
    : n_steps(desc.n_steps),
      batch(desc.batch == 0 ? 1 : desc.batch),
      seed(desc.seed),
      dtype(desc.dtype),
      drop_last(desc.drop_last == 1),
      n_slots(desc.n_slots) {
  if (n_steps < 1)
    fail_argument("SYN-NETWORK-STEPS", "desc.n_steps is %lld; at least 1 is needed", static_cast<long long>(n_steps));
  constexpr int64_t most_rows = 0xFFFFFFFF;
  if (batch < 1 || batch > most_rows)
    fail_argument("SYN-NETWORK-BATCH", "desc.batch is %lld; 1 to 2^32 - 1 are allowed (0 means 1)",
                  static_cast<long long>(desc.batch));
  if (dtype != SYNFIRE_DTYPE_F32 && dtype != SYNFIRE_DTYPE_F64)
    fail_argument("SYN-NETWORK-DTYPE", "desc.dtype is %d; allowed are SYNFIRE_DTYPE_F32 (0) and SYNFIRE_DTYPE_F64 (1)",
                  dtype);
  if (desc.drop_last != 0 && desc.drop_last != 1)
    fail_argument("SYN-NETWORK-FLAG", "desc.drop_last is %d; allowed are 0 and 1", desc.drop_last);
  if (n_slots > Graph::most_slots && n_slots != Graph::shared_slots)
    fail_argument("SYN-GRAPH-SLOT-COUNT", "desc.n_slots is %u; allowed are 0 (default) to %u, and SYNFIRE_SLOTS_SHARED",
                  n_slots, Graph::most_slots);
  check_size(*this, 1, "a stage's width");
}

// ---- adding stages --------------------------------------------------------------------------------------------------

namespace {

// What may come first (as -1) and after each kind.
bool may_follow(int before, StageKind next) {
  switch (next) {
    case StageKind::input:
      return before == -1;
    case StageKind::dropout:
      return before == static_cast<int>(StageKind::input) || before == static_cast<int>(StageKind::neurons);
    case StageKind::synapse:
      return before == static_cast<int>(StageKind::input) || before == static_cast<int>(StageKind::dropout) ||
             before == static_cast<int>(StageKind::neurons);
    default:
      return before == static_cast<int>(next) - 1;
  }
}

std::string allowed_after(int before) {
  std::string text;
  for (int kind = 0; kind < n_stage_kinds; ++kind)
    if (may_follow(before, static_cast<StageKind>(kind)))
      text.append(text.empty() ? "" : " or ").append(kind_names[kind]);
  return text.empty() ? "nothing" : text;
}

void check_name(const char* name) {
  constexpr size_t longest = 64;
  const std::string_view wanted = name;
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  };
  if (wanted.empty() || wanted.size() > longest || !std::all_of(wanted.begin(), wanted.end(), is_allowed))
    fail_argument("SYN-NETWORK-NAME",
                  "name is \"%.80s\"; 1 to %zu letters (A to Z, a to z), digits, dots, underscores and hyphens are "
                  "needed",
                  name, longest);
}

}  // namespace

Stage& Design::add(StageKind kind, const char* name, int32_t choice, int64_t width) {
  const int last = stages_.empty() ? -1 : static_cast<int>(stages_.back().kind);
  if (!may_follow(last, kind))
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-CHAIN", "a stage of kind %s cannot %s%s%s; %s can", name_of(kind),
         last < 0 ? "come first" : "follow stage \"", last < 0 ? "" : stages_.back().name.c_str(), last < 0 ? "" : "\"",
         allowed_after(last).c_str());
  if (is_one_of(static_cast<int32_t>(kind),
                {static_cast<int32_t>(StageKind::dropout), static_cast<int32_t>(StageKind::synapse)}) &&
      stages_.back().kind == StageKind::neurons && never_fires(stages_.back()))
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-CHAIN",
         "a stage of kind %s cannot follow stage \"%s\", whose neurons never fire; readout can", name_of(kind),
         stages_.back().name.c_str());
  check_name(name);
  if (const std::optional<size_t> other = find_if(name))
    fail_argument("SYN-NETWORK-NAME", "name is \"%s\"; a stage of kind %s has it already", name,
                  name_of(stages_[*other].kind));
  if (stages_.size() == most_stages)
    fail_argument("SYN-NETWORK-STAGES", "the network has %zu stages; stage \"%s\" would be one too many", most_stages,
                  name);
  Stage stage = {kind, name, width, choice};
  stage.seed = rules_.seed + stages_.size();
  for (const ValueSpec& spec : specs_of(kind)) stage.values.push_back(spec.initial);
  make_room(stages_, 1);
  numbers_.emplace(stage.name, stages_.size());
  stages_.push_back(std::move(stage));
  return stages_.back();
}

void Design::drop_last() noexcept {
  numbers_.erase(stages_.back().name);
  stages_.pop_back();
}

namespace {

// Keeps what was loaded at run time alive as long as the stage has its id.
void hold_loaded(Stage& stage) {
  if (stage.kind != StageKind::neurons) return;
  stage.model = find_model(stage.choice).loaded;
  stage.surrogate = find_surrogate(stage.whole("surrogate")).loaded;
}

}  // namespace

// Runs the checks of a stage, and takes back what changed if one throws.
template <class Change>
void Design::change(size_t index, Change change) {
  Stage before = stages_[index];
  try {
    change(stages_[index]);
    hold_loaded(stages_[index]);
    check(index);
  } catch (...) {
    stages_[index] = std::move(before);
    throw;
  }
}

// Takes the last stage back unless its checks pass.
template <class Check>
void Design::keep_if(Check check) {
  try {
    check();
  } catch (...) {
    drop_last();
    throw;
  }
}

void Design::add_input(const char* name, int32_t kind, int64_t n_features) {
  check_choice(kind, "kind", SYNFIRE_NETWORK_INPUT_RATES,
               "SYNFIRE_NETWORK_INPUT_SPIKES (0), _VALUES (1) and _RATES (2)");
  check_size(rules_, n_features, "n_features");
  Stage& stage = add(StageKind::input, name, kind, n_features);
  stage.values[0] = kind == SYNFIRE_NETWORK_INPUT_SPIKES                                        ? SYNFIRE_DTYPE_BITS
                    : kind == SYNFIRE_NETWORK_INPUT_VALUES && rules_.dtype == SYNFIRE_DTYPE_F64 ? SYNFIRE_DTYPE_F64
                                                                                                : SYNFIRE_DTYPE_F32;
  keep_if([&] { check(stages_.size() - 1); });
}

void Design::add_dropout(const char* name, double probability) {
  Stage& stage = add(StageKind::dropout, name, 0, stages_.empty() ? 0 : stages_.back().width);
  keep_if([&] {
    check_value(stage, of_dropout[0], probability);
    stage.values[0] = probability;
  });
}

void Design::add_synapse(const char* name, int64_t n_outputs) {
  check_size(rules_, n_outputs, "n_outputs");
  add(StageKind::synapse, name, 0, n_outputs);
  keep_if([&] { check(stages_.size() - 1); });
}

void Design::add_neurons(const char* name, int32_t model) {
  hold_loaded(add(StageKind::neurons, name, model, stages_.empty() ? 0 : stages_.back().width));
  keep_if([&] { check(stages_.size() - 1); });
}

void Design::add_readout(const char* name, int32_t reduction, bool of_spikes) {
  check_choice(reduction, "reduction", SYNFIRE_READOUT_STEPS,
               "SYNFIRE_READOUT_SUM (0), _MEAN (1), _MAX (2), _LAST (3) and _STEPS (4)");
  Stage& stage = add(StageKind::readout, name, reduction, stages_.empty() ? 0 : stages_.back().width);
  stage.of_spikes = of_spikes;
  keep_if([&] { check(stages_.size() - 1); });
}

void Design::add_loss(const char* name, int32_t kind) {
  check_choice(kind, "kind", SYNFIRE_LOSS_MEAN_SQUARED_ERROR,
               "SYNFIRE_LOSS_CROSS_ENTROPY (0) and SYNFIRE_LOSS_MEAN_SQUARED_ERROR (1)");
  Stage& stage = add(StageKind::loss, name, kind, 0);
  if (kind == SYNFIRE_LOSS_MEAN_SQUARED_ERROR) stage.values[0] = 1;
  keep_if([&] { check(stages_.size() - 1); });
}

void Design::add_optimizer(const char* name, int32_t kind, double learning_rate) {
  check_choice(kind, "kind", SYNFIRE_OPTIMIZER_KIND_ADAMW, "SYNFIRE_OPTIMIZER_KIND_SGD (0), _ADAM (1) and _ADAMW (2)");
  Stage& stage = add(StageKind::optimizer, name, kind, 0);
  keep_if([&] {
    check_value(stage, of_optimizer[0], learning_rate);
    if (learning_rate != 0) stage.values[0] = learning_rate;
    if (kind == SYNFIRE_OPTIMIZER_KIND_ADAMW) stage.values[1] = 1e-2;
    check(stages_.size() - 1);
  });
}

// ---- changing stages ------------------------------------------------------------------------------------------------

std::optional<size_t> Design::find_if(std::string_view name) const {
  const auto at = numbers_.find(name);
  return at == numbers_.end() ? std::nullopt : std::optional(at->second);
}

size_t Design::find(const char* name) const {
  if (const std::optional<size_t> found = find_if(name)) return *found;
  std::vector<std::string_view> known;
  std::string list;
  for (const Stage& stage : stages_) {
    known.emplace_back(stage.name);
    list.append(list.empty() ? "\"" : ", \"").append(stage.name).append("\"");
  }
  fail_argument("SYN-NETWORK-STAGE", "stage is \"%.64s\"%s; the network has %.512s", name,
                suggestion(name, known).c_str(), list.empty() ? "none" : list.c_str());
}

size_t Design::find(const char* name, StageKind kind) const {
  const size_t index = find(name);
  if (stages_[index].kind != kind)
    fail_argument("SYN-NETWORK-STAGE", "stage \"%s\" is of kind %s; one of kind %s is needed", name,
                  name_of(stages_[index].kind), name_of(kind));
  return index;
}

bool Design::has_value(size_t index, const char* name) const noexcept {
  return find_spec(stages_[index], name) != nullptr;
}

// An input, a synapse and neurons are among the first stages, if they are there at all; the others are the last three.
const Stage* Design::only(StageKind kind) const noexcept {
  const bool is_late = kind >= StageKind::readout;
  for (size_t i = is_late && stages_.size() > 3 ? stages_.size() - 3 : 0; i < stages_.size(); ++i)
    if (stages_[i].kind == kind) return &stages_[i];
  return nullptr;
}

bool Design::draws(const Stage& stage) noexcept {
  return stage.kind == StageKind::dropout ||
         (stage.kind == StageKind::input && stage.choice == SYNFIRE_NETWORK_INPUT_RATES);
}

bool Design::never_fires(const Stage& neurons) const {
  return find_model(neurons.choice == SYNFIRE_MODEL_DEFAULT ? SYNFIRE_MODEL_LIF : neurons.choice)->never_fires;
}

namespace {

ParameterSet parameters_of(const LayerSpec& spec) {
  return {*spec.model, *spec.surrogate, 1, spec.undecayed_input};
}

}  // namespace

void Design::train_parameter(const char* name, TrainedParameter&& parameter) {
  const size_t index = find(name, StageKind::neurons);
  const ParameterSet set = parameters_of(LayerSpec(layer_desc(index)));
  const ParameterName wanted = set.find(parameter.name, "parameter");
  set.gradient_row(wanted, "parameter");
  for (const TrainedParameter& other : stages_[index].trained)
    if (set.find(other.name).index == wanted.index)
      fail_argument("SYN-NETWORK-TRAINED", "parameter is \"%s\" of stage \"%s\", which is trained already",
                    parameter.name.c_str(), name);
  for (const double* const factor : {&parameter.rate_factor, &parameter.decay_factor})
    if (!std::isfinite(*factor) || *factor < 0)
      fail_argument("SYN-NETWORK-VALUE", "%s is %g; a finite number of at least 0 is needed",
                    factor == &parameter.rate_factor ? "learning_rate_factor" : "weight_decay_factor", *factor);
  const ParameterBounds bounds = trained_bounds(set, wanted, {parameter.lower, parameter.upper});
  if (!(bounds.lower <= bounds.upper))
    fail_argument("SYN-NETWORK-VALUE", "lower is %g%s and upper %g%s; no number is between them", bounds.lower,
                  std::isnan(parameter.lower) ? " (the default)" : "", bounds.upper,
                  std::isnan(parameter.upper) ? " (the default)" : "");
  stages_[index].trained.push_back(std::move(parameter));
}

void Design::set_mask(const char* name, const uint8_t* mask, uint64_t length) {
  const size_t index = find(name, StageKind::synapse);
  const int64_t n_inputs = before(index).width, n_outputs = stages_[index].width;
  if (length != static_cast<uint64_t>(n_inputs * n_outputs))
    fail_argument("SYN-SYNAPSE-MASK", "length is %llu; the mask of %lld outputs and %lld inputs has %lld bytes",
                  static_cast<unsigned long long>(length), static_cast<long long>(n_outputs),
                  static_cast<long long>(n_inputs), static_cast<long long>(n_inputs * n_outputs));
  for (uint64_t i = 0; i < length; ++i)
    if (mask[i] > 1)
      fail_argument("SYN-SYNAPSE-MASK", "mask[%llu] is %u; allowed are 0 and 1", static_cast<unsigned long long>(i),
                    static_cast<unsigned>(mask[i]));
  stages_[index].mask.assign(mask, mask + length);
}

void Design::set_class_weights(const char* name, const float* weights, uint64_t n_weights) {
  const size_t index = find(name, StageKind::loss);
  const int64_t n_classes = before(index).width;
  if (n_weights != static_cast<uint64_t>(n_classes))
    fail_argument("SYN-NETWORK-CLASSES", "n_weights is %llu; the network has %lld classes",
                  static_cast<unsigned long long>(n_weights), static_cast<long long>(n_classes));
  for (uint64_t i = 0; i < n_weights; ++i)
    if (!std::isfinite(weights[i]))
      fail_argument("SYN-NETWORK-CLASSES", "weights[%llu] is %g; it must be finite", static_cast<unsigned long long>(i),
                    static_cast<double>(weights[i]));
  stages_[index].class_weights.assign(weights, weights + n_weights);
}

void Design::fail_unknown_value(const Stage& stage, const char* name) const {
  std::vector<std::string> known;
  for (const ValueSpec& spec : specs_of(stage.kind)) known.emplace_back(spec.name);
  if (stage.kind == StageKind::neurons) {
    const ParameterSet set = parameters_of(LayerSpec(layer_desc(static_cast<size_t>(&stage - stages_.data()))));
    for (uint32_t i = 0; i < set.size(); ++i) {
      known.emplace_back(set.spec(i).name);
      if (set.spec(i).reciprocal_name) known.emplace_back(set.spec(i).reciprocal_name);
    }
  }
  std::string list;
  for (const std::string& one : known) list.append(list.empty() ? "\"" : ", \"").append(one).append("\"");
  const std::vector<std::string_view> names(known.begin(), known.end());
  fail_argument("SYN-NETWORK-VALUE", "name is \"%.64s\"%s; stage \"%s\" has %s", name, suggestion(name, names).c_str(),
                stage.name.c_str(), list.empty() ? "no values" : list.c_str());
}

namespace {

// Whether the neurons have a parameter of this name.
bool has_parameter(const ParameterSet& set, std::string_view name) {
  for (uint32_t i = 0; i < set.size(); ++i)
    if (name == set.spec(i).name || (set.spec(i).reciprocal_name && name == set.spec(i).reciprocal_name)) return true;
  return false;
}

}  // namespace

size_t Design::set_value(const char* stage_name, const char* name, double value, bool is_built) {
  const size_t index = find(stage_name);
  const Stage& stage = stages_[index];
  if (const ValueSpec* const spec = find_spec(stage, name)) {
    check_value(stage, *spec, value);
    if (is_built && !spec->changes)
      fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-BUILT",
           "\"%s\" of stage \"%s\" cannot change any more: the network is built", name, stage_name);
    change(index, [&](Stage& changed) {
      if (seed_name == name) {
        changed.seed = static_cast<uint64_t>(value);
        changed.seed_is_set = true;
      }
      changed.values[row_of(changed, *spec)] = value;
    });
    return index;
  }
  if (stage.kind != StageKind::neurons || !has_parameter(parameters_of(LayerSpec(layer_desc(index))), name))
    fail_unknown_value(stage, name);
  change(index, [&](Stage& changed) {
    const ParameterSet set = parameters_of(LayerSpec(layer_desc(index)));
    const uint32_t wanted = set.find(name).index;
    std::erase_if(changed.parameters, [&](const NamedValue& other) { return set.find(other.name).index == wanted; });
    changed.parameters.push_back({name, value});
  });
  return index;
}

double Design::get_value(const char* stage_name, const char* name) const {
  const size_t index = find(stage_name);
  const Stage& stage = stages_[index];
  if (seed_name == name && find_spec(stage, name)) return static_cast<double>(stage.seed);
  if (const ValueSpec* const spec = find_spec(stage, name)) return stage.values[row_of(stage, *spec)];
  if (stage.kind != StageKind::neurons) fail_unknown_value(stage, name);
  const ParameterSet set = parameters_of(LayerSpec(layer_desc(index)));
  if (!has_parameter(set, name)) fail_unknown_value(stage, name);
  const ParameterName wanted = set.find(name);
  double value = set.spec(wanted.index).default_value;
  for (const NamedValue& one : stage.parameters) {
    const ParameterName other = set.find(one.name);
    if (other.index == wanted.index) value = other.reciprocal ? 1.0 / one.value : one.value;
  }
  return wanted.reciprocal ? 1.0 / value : value;
}

// ---- stages of another design ---------------------------------------------------------------------------------------

void Design::add_copy(const Stage& from, std::optional<uint64_t> seed) {
  const char* const name = from.name.c_str();
  switch (from.kind) {
    case StageKind::input:
      add_input(name, from.choice, from.width);
      break;
    case StageKind::dropout:
      add_dropout(name, 0);
      break;
    case StageKind::synapse:
      add_synapse(name, from.width);
      break;
    case StageKind::neurons:
      add_neurons(name, from.choice);
      break;
    case StageKind::readout:
      add_readout(name, from.choice, from.of_spikes);
      break;
    case StageKind::loss:
      add_loss(name, from.choice);
      break;
    case StageKind::optimizer:
      add_optimizer(name, from.choice, 0);
      break;
  }
  keep_if([&] {
    Stage& stage = stages_.back();
    if (stage.width != from.width)
      fail_argument("SYN-NETWORK-WIDTH", "stage \"%s\" has a width of %lld; what comes before it gives it %lld", name,
                    static_cast<long long>(from.width), static_cast<long long>(stage.width));
    const std::span<const ValueSpec> specs = specs_of(stage.kind);
    for (size_t i = 0; i < specs.size(); ++i) {
      if (std::isnan(from.values[i])) continue;  // absent_value
      check_value(stage, specs[i], from.values[i]);
      stage.values[i] = from.values[i];
    }
    hold_loaded(stage);
    if (seed) stage.seed = *seed;
    stage.has_rate = from.has_rate;
    if (!from.parameters.empty()) copy_parameters(stage, from);
    check(stages_.size() - 1);
    for (TrainedParameter parameter : from.trained) train_parameter(name, std::move(parameter));
  });
}

void Design::copy_parameters(Stage& stage, const Stage& from) const {
  const ParameterSet set = parameters_of(LayerSpec(layer_desc(static_cast<size_t>(&stage - stages_.data()))));
  uint32_t seen = 0;
  for (const NamedValue& one : from.parameters) {
    if (!has_parameter(set, one.name)) fail_unknown_value(stage, one.name.c_str());
    const uint32_t bit = uint32_t{1} << set.find(one.name).index;
    if ((seen & bit) != 0)
      fail_argument("SYN-PARAMETER-TWICE", "\"%s\" of stage \"%s\" is given twice", one.name.c_str(),
                    stage.name.c_str());
    seen |= bit;
  }
  stage.parameters = from.parameters;
}

void Design::keep_rates() noexcept {
  for (Stage& stage : stages_) stage.has_rate |= stage.kind == StageKind::neurons && stage.value("rate_strength") != 0;
}

void Design::take_changes(const Design& from) {
  std::vector<Stage> next = stages_;
  for (size_t i = 0; i < next.size(); ++i) {
    const std::span<const ValueSpec> specs = specs_of(next[i].kind);
    for (size_t k = 0; k < specs.size(); ++k)
      // A value without an effect here says which data the network accepts. The program chooses that, not the file.
      if (specs[k].changes && specs[k].effect != on_none) next[i].values[k] = from.stages_[i].values[k];
    next[i].parameters = from.stages_[i].parameters;
    if (draws(next[i]) && !next[i].seed_is_set) next[i].seed = from.stages_[i].seed;
  }
  stages_.swap(next);
}

// ---- checks ---------------------------------------------------------------------------------------------------------

namespace {

// Texts about a descriptor's field say of which stage.
template <class Body>
void in_stage(const Stage& stage, Body body) {
  try {
    body();
  } catch (Failure& failure) {
    failure.text = std::string("stage \"").append(stage.name).append("\": ").append(failure.text);
    throw;
  }
}

void check_input(const Stage& stage, int32_t arithmetic) {
  const int32_t dtype = stage.whole("dtype");
  const bool f64 = arithmetic == SYNFIRE_DTYPE_F64;
  bool fits = false;
  switch (stage.choice) {
    case SYNFIRE_NETWORK_INPUT_SPIKES:
      fits = dtype != SYNFIRE_DTYPE_U32 && dtype != SYNFIRE_DTYPE_U64;
      break;
    case SYNFIRE_NETWORK_INPUT_VALUES:
      fits = f64 ? dtype == SYNFIRE_DTYPE_F64
                 : is_one_of(dtype, {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16});
      break;
    default:
      fits = is_one_of(dtype, {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16});
  }
  if (!fits)
    fail_argument("SYN-NETWORK-DTYPE", "\"dtype\" of stage \"%s\" is %s; %s is needed", stage.name.c_str(),
                  name_of_dtype(dtype),
                  stage.choice == SYNFIRE_NETWORK_INPUT_SPIKES          ? "a format of spikes"
                  : stage.choice == SYNFIRE_NETWORK_INPUT_VALUES && f64 ? "f64"
                                                                        : "f32, f16 or bf16");
  if (stage.flag("replace_nonfinite") &&
      !is_one_of(dtype, {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16}))
    fail_argument("SYN-NETWORK-VALUE",
                  "\"replace_nonfinite\" of stage \"%s\" is 1, and its \"dtype\" %s; f32, f64, f16 or bf16 is needed",
                  stage.name.c_str(), name_of_dtype(dtype));
  if (stage.flag("per_step") && stage.choice != SYNFIRE_NETWORK_INPUT_RATES)
    fail_argument("SYN-NETWORK-VALUE", "\"per_step\" of stage \"%s\" is 1; only an input of rates has it",
                  stage.name.c_str());
}

}  // namespace

void Design::check_parameters(size_t index) const {
  const Stage& stage = stages_[index];
  const LayerSpec spec(layer_desc(index));
  ParameterSet set = parameters_of(spec);
  const double most = spec.dtype == SYNFIRE_DTYPE_F64 ? largest : std::numeric_limits<float>::max();
  for (const NamedValue& one : stage.parameters) {
    const ParameterName name = set.find(one.name);
    set.set(name.index, set.checked(name, {&one.value, 1}));
  }
  if (!stage.parameters.empty()) set.check_constants(set.find(stage.parameters.back().name), most);
  for (const TrainedParameter& one : stage.trained) set.find(one.name);
  if (spec.model->never_fires)
    for (const char* const name : {"rate_target", "rate_strength"})
      if (stage.value(name) != 0)
        fail_argument("SYN-NETWORK-VALUE", "\"%s\" is %g; the neurons never fire, 0 is needed", name,
                      stage.value(name));
  if (stage.whole("tape") == SYNFIRE_TAPE_NONE)
    fail_argument("SYN-NETWORK-VALUE", "\"tape\" is 1 (SYNFIRE_TAPE_NONE), with which no training is possible");
  if (stage.whole("tape") == SYNFIRE_TAPE_STORE_NARROW && !spec.is_narrow())
    fail_argument("SYN-NETWORK-VALUE", "\"tape\" is 3 (SYNFIRE_TAPE_STORE_NARROW), which only f16 and bf16 have");
  if (spec.arithmetic() != rules_.dtype)
    fail_argument("SYN-NETWORK-DTYPE", "\"dtype\" is %s; the network computes in %s", name_of_dtype(spec.dtype),
                  name_of_dtype(rules_.dtype));
}

void Design::check(size_t index) const {
  const Stage& stage = stages_[index];
  switch (stage.kind) {
    case StageKind::input:
      return check_input(stage, rules_.dtype);
    case StageKind::synapse:
      return in_stage(stage, [&] { operations::DenseSpec{synapse_desc(index)}; });
    case StageKind::neurons:
      return in_stage(stage, [&] { check_parameters(index); });
    case StageKind::readout:
      if (stage.of_spikes && never_fires(before(index)))
        fail_argument("SYN-NETWORK-READOUT", "of_spikes is 1; the neurons of stage \"%s\" never fire",
                      before(index).name.c_str());
      return;
    case StageKind::loss:
      if (stage.value("label_smoothing") != 0 && stage.choice != SYNFIRE_LOSS_CROSS_ENTROPY)
        fail_argument("SYN-NETWORK-VALUE", "\"label_smoothing\" of stage \"%s\" is %g; only a cross-entropy has one",
                      stage.name.c_str(), stage.value("label_smoothing"));
      if (stage.flag("targets") && stage.flag("ignores_label"))
        fail_argument("SYN-NETWORK-VALUE",
                      "\"ignores_label\" of stage \"%s\" is 1; with \"targets\" there are no labels",
                      stage.name.c_str());
      if (stage.flag("per_step") && before(index).choice != SYNFIRE_READOUT_STEPS)
        fail_argument("SYN-NETWORK-VALUE",
                      "\"per_step\" of stage \"%s\" is 1; it needs a readout of every step (SYNFIRE_READOUT_STEPS)",
                      stage.name.c_str());
      return;
    case StageKind::optimizer:
      return in_stage(stage, [&] { operations::OptimizerSpec{optimizer_desc(stage)}; });
    case StageKind::dropout:
      return;
  }
}

bool Design::is_complete() const noexcept {
  return only(StageKind::neurons) && stages_.back().kind != StageKind::dropout &&
         stages_.back().kind != StageKind::synapse;
}

void Design::check_complete() const {
  if (is_complete()) return;
  if (!only(StageKind::neurons))
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-INCOMPLETE",
         "the network has no neurons; an input, a synapse and neurons are needed at least");
  fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-INCOMPLETE",
       "the network ends with stage \"%s\" of kind %s; it can end with neurons, a readout, a loss or an optimizer",
       stages_.back().name.c_str(), name_of(stages_.back().kind));
}

// ---- descriptors ----------------------------------------------------------------------------------------------------

int64_t Design::synapse_inputs(size_t index) const {
  return before(index).width;
}

bool Design::takes_values(size_t index) const {
  while (stages_[index].kind == StageKind::dropout || stages_[index].kind == StageKind::synapse) --index;
  return stages_[index].kind == StageKind::input && stages_[index].choice == SYNFIRE_NETWORK_INPUT_VALUES;
}

synfire_synapse_desc Design::synapse_desc(size_t index) const {
  const Stage& stage = stages_[index];
  synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
  desc.input_kind = takes_values(index) ? SYNFIRE_INPUT_VALUES : SYNFIRE_INPUT_SPIKES;
  desc.n_inputs = synapse_inputs(index);
  desc.n_outputs = stage.width;
  desc.dtype = rules_.dtype;
  desc.bias = stage.whole("bias");
  desc.frozen = stage.whole("frozen");
  desc.gradient_bits = stage.whole("gradient_bits");
  desc.initialization = stage.whole("initialization");
  desc.gain = stage.value("gain");
  desc.seed = stage.seed;
  desc.mask = stage.mask.empty() ? nullptr : stage.mask.data();
  desc.mask_length = stage.mask.size();
  return desc;
}

synfire_layer_desc Design::layer_desc(size_t index) const {
  const Stage& stage = stages_[index];
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  desc.model = stage.choice;
  desc.n_steps = rules_.n_steps;
  desc.n_neurons = stage.width;
  desc.batch = rules_.batch;
  desc.dtype = stage.whole("dtype") == 0 ? rules_.dtype : stage.whole("dtype");
  desc.reset = stage.whole("reset");
  desc.surrogate = stage.whole("surrogate");
  desc.detach_reset = stage.whole("detach_reset");
  desc.undecayed_input = stage.whole("undecayed_input");
  return desc;
}

synfire_optimizer_desc Design::optimizer_desc(const Stage& stage) const {
  synfire_optimizer_desc desc = SYNFIRE_OPTIMIZER_DESC_INIT;
  desc.kind = stage.choice;
  desc.nesterov = stage.whole("nesterov");
  desc.learning_rate = stage.value("learning_rate");
  desc.weight_decay = stage.value("weight_decay");
  desc.momentum = stage.value("momentum");
  desc.beta1 = stage.value("beta1");
  desc.beta2 = stage.value("beta2");
  desc.epsilon = stage.value("epsilon");
  desc.clip_norm = stage.value("clip_norm");
  return desc;
}

}  // namespace synfire::network

#include "design.hpp"

#include "cycles.hpp"
#include "random_seed.hpp"
#include "stages/stage_kinds.hpp"

#include <base/dtype.hpp>
#include <base/error.hpp>
#include <base/make_room.hpp>
#include <base/text.hpp>
#include <graph/graph.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace synfire::network {

using namespace synfire::core;

// ---- values ---------------------------------------------------------------------------------------------------------

namespace {

constexpr std::string_view seed_name = "seed", frozen_value = "frozen";

// "an integer from 0 on, at most 1".
std::string range_text(const ValueSpec& spec) {
  char text[96];
  if (spec.low == -value::largest) return "a finite number";
  const std::string low =
      spec.low == value::above_0 ? " above 0" : " from " + std::to_string(static_cast<int>(spec.low)) + " on";
  std::string range = spec.whole ? "an integer" : "a number";
  range.append(low);
  if (spec.high == value::largest) return range.append(", finite");
  if (spec.high == value::below_one) return range.append(", less than 1");
  std::snprintf(text, sizeof text, ", at most %.10g", spec.high);
  return range.append(text);
}

}  // namespace

const ValueSpec* Stage::find_spec(std::string_view wanted) const noexcept {
  for (const ValueSpec& spec : kind->traits.values)
    if (wanted == spec.name) return &spec;
  return nullptr;
}

bool Stage::keeps(std::string_view array) const noexcept {
  return std::ranges::find(kept, array) != kept.end();
}

double& Stage::at(const ValueSpec& spec) noexcept {
  return values[static_cast<size_t>(&spec - kind->traits.values.data())];
}
double Stage::at(const ValueSpec& spec) const noexcept {
  return values[static_cast<size_t>(&spec - kind->traits.values.data())];
}

double Stage::value(std::string_view wanted) const {
  const ValueSpec* const spec = find_spec(wanted);
  return spec ? at(*spec) : 0;
}

void check_value(const Stage& stage, const ValueSpec& spec, double value) {
  if (std::isfinite(value) && value >= spec.low && value <= spec.high && (!spec.whole || value == std::floor(value)))
    return;
  fail_argument("SYN-NETWORK-VALUE", "\"%s\" of stage \"%s\" is %g; %s is needed", spec.name, stage.name.c_str(), value,
                range_text(spec).c_str());
}

// "[T, B, N]", or "[T, B, H, W, C]" of a map.
std::string StageKind::shape_text(const StageView& view) const {
  const core::Flow& output = view->output;
  if (output.n_features() == 0) return {};
  std::string text = "[";
  text.append(std::to_string(output.n_steps)).append(", ").append(std::to_string(output.batch)).append(", ");
  if (output.is_map())
    text.append(std::to_string(output.height)).append(", ").append(std::to_string(output.width)).append(", ");
  return text.append(std::to_string(output.channels)).append("]");
}

// ---- rules ----------------------------------------------------------------------------------------------------------

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

NetworkRules::NetworkRules(const synfire_network_desc& desc)
    : n_steps(desc.n_steps),
      batch(desc.batch == 0 ? 1 : desc.batch),
      seed(desc.seed),
      order_seed(random_seed(desc.seed, "", purpose::order)),
      dtype(desc.dtype),
      drop_last(desc.drop_last == 1),
      n_slots(desc.n_slots),
      transient_arrays(desc.transient_arrays == 1),
      own_loss(static_cast<OwnLoss>(desc.own_loss)) {
  if (n_steps < 1)
    fail_argument("SYN-NETWORK-STEPS", "desc.n_steps is %lld; at least 1 is needed", static_cast<long long>(n_steps));
  constexpr int64_t most_rows = 0xFFFFFFFF;
  if (batch < 1 || batch > most_rows)
    fail_argument("SYN-NETWORK-BATCH", "desc.batch is %lld; 1 to 2^32 - 1 are allowed (0 means 1)",
                  static_cast<long long>(desc.batch));
  check_dtype("SYN-NETWORK-DTYPE", dtype, arithmetic_dtypes);
  check_flag(desc.drop_last, "SYN-NETWORK-FLAG", "desc.drop_last");
  check_flag(desc.transient_arrays, "SYN-NETWORK-FLAG", "desc.transient_arrays");
  if (transient_arrays && own_loss != OwnLoss::none)
    fail_argument("SYN-NETWORK-FLAG",
                  "desc.transient_arrays is 1, but the graphs around a loss of the program's own (desc.own_loss) pass "
                  "arrays on to each other; 0 is needed");
  if (n_slots > Graph::most_slots && n_slots != Graph::shared_slots)
    fail_argument("SYN-GRAPH-SLOT-COUNT", "desc.n_slots is %u; allowed are 0 (default) to %u, and SYNFIRE_SLOTS_SHARED",
                  n_slots, Graph::most_slots);
  check_choice(desc.own_loss, "desc.own_loss", SYNFIRE_OWN_LOSS_STARTS,
               "SYNFIRE_OWN_LOSS_NONE (0), _CONTINUES (1) and _STARTS (2)");
  check_size(*this, 1, "a stage's width");
}

void NetworkRules::divide_among(ranks::Communicator& communicator) {
  const int32_t n_ranks = communicator.place().size;
  if (batch < n_ranks)
    fail_argument("SYN-NETWORK-RANKS",
                  "desc.batch is %lld, and desc.communicator has %d ranks; each needs a row at least",
                  static_cast<long long>(batch), n_ranks);
  if (own_loss != OwnLoss::none)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-NETWORK-RANKS",
         "desc.own_loss is %d with desc.communicator; 0 is needed, because the ranks join what the network's own "
         "losses find",
         static_cast<int>(own_loss));
  if (dtype != SYNFIRE_DTYPE_F32)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-NETWORK-ORDERED",
         "desc.dtype is %s with desc.communicator; f32 is needed, because sums over rows in f64 have an order",
         name_of_dtype(dtype));
  ranks = core::Ref<ranks::Communicator>(&communicator);
}

// ---- growing --------------------------------------------------------------------------------------------------------

namespace {

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

// The kinds that may read these signals; without signals, those that read nothing.
std::string readers_of(uint32_t signals) {
  std::string text;
  for (const StageKind* const kind : all_kinds())
    if (signals == 0 ? kind->traits.reads == 0 : (kind->traits.reads & signals) != 0)
      text.append(text.empty() ? "" : " or ").append(kind->traits.name);
  return text.empty() ? "nothing" : text;
}

[[noreturn]] void fail_first(const StageKind& kind) {
  fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-CHAIN", "a stage of kind %s cannot come first; %s can", kind.traits.name,
       readers_of(0).c_str());
}

[[noreturn]] void fail_follow(const StageKind& kind, const Stage& before, uint32_t makes, const std::string& why) {
  const std::string allowed = makes == 0 ? "nothing" : readers_of(makes);
  fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-CHAIN", "a stage of kind %s cannot follow stage \"%s\"%s; %s can",
       kind.traits.name, before.name.c_str(), why.c_str(), allowed.c_str());
}

void check_edge(const NetworkRules& rules, const StageKind& kind, const Stage& before, Port port) {
  const uint32_t reads = kind.reads(rules) | kind.traits.reads_if_named, of_kind = before.kind->traits.makes,
                 makes = before.makes;
  if ((reads & of_kind) == 0) fail_follow(kind, before, of_kind, "");
  if (port == Port::v && (reads & of_kind & signal::v) == 0)
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-CHAIN", "a stage of kind %s cannot read the V of stage \"%s\"",
         kind.traits.name, before.name.c_str());
  const std::string why = before.kind->why_not(before);
  if ((reads & makes) == 0) fail_follow(kind, before, makes, why.empty() ? why : ", " + why);
  if (port == Port::output && (reads & makes & ~signal::v) == 0)
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-CHAIN",
         "a stage of kind %s cannot read the spikes of stage \"%s\", %s; it can read its port \"v\"", kind.traits.name,
         before.name.c_str(), why.c_str());
}

// "\"a\", \"b\" and \"c\"".
std::string names_of(const std::vector<Stage>& stages, std::span<const uint32_t> of) {
  std::string text;
  for (size_t i = 0; i < of.size(); ++i)
    text.append(i == 0 ? "\"" : i + 1 == of.size() ? " and \"" : ", \"").append(stages[of[i]].name).append("\"");
  return text;
}

}  // namespace

// Checks the delay of an input that is there.
void Design::check_delay(const Stage& stage, const Edge& edge, const Stage& before) const {
  const StageKind& kind = *stage.kind;
  if (edge.delay == 0) return;
  if (edge.delay < 0 || edge.delay > most_delay)
    fail_argument("SYN-NETWORK-DELAY", "stage \"%s\" reads stage \"%s\" with a delay of %d; 0 to %lld are allowed",
                  stage.name.c_str(), before.name.c_str(), edge.delay, static_cast<long long>(most_delay));
  if ((before.makes & signal::spikes) == 0 || edge.port != Port::output)
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-DELAY",
         "stage \"%s\" reads %s of stage \"%s\" of kind %s with a delay; only spikes of neurons can be read so",
         stage.name.c_str(), edge.port == Port::v ? "V" : "the output", before.name.c_str(), before.kind->traits.name);
  if (!kind.traits.reads_before)
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-DELAY",
         "stage \"%s\" of kind %s reads stage \"%s\" with a delay of %d; stages of its kind read without one",
         stage.name.c_str(), kind.traits.name, before.name.c_str(), edge.delay);
  NetworkRules longer = rules_;
  longer.n_steps += edge.delay;
  check_size(longer, before.width(), "the width of a stage that is read with a delay");
}

void Design::check_edges(const Stage& stage) const {
  const StageKind& kind = *stage.kind;
  if (stage.inputs.empty() && kind.traits.reads != 0) fail_first(kind);
  if (stage.inputs.size() > kind.traits.most_inputs || stage.inputs.size() < kind.traits.least_inputs)
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-CHAIN", "a stage of kind %s reads %zu stages; at %s %u are %s",
         kind.traits.name, stage.inputs.size(), stage.inputs.size() < kind.traits.least_inputs ? "least" : "most",
         stage.inputs.size() < kind.traits.least_inputs ? kind.traits.least_inputs : kind.traits.most_inputs,
         stage.inputs.size() < kind.traits.least_inputs ? "needed" : "allowed");
  for (size_t i = 0; i < stage.inputs.size(); ++i) {
    const Edge& edge = stage.inputs[i];
    if (edge.from == not_added) continue;
    if (edge.from >= stages_.size())
      fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-CHAIN", "a stage of kind %s reads stage %u, which is not before it",
           kind.traits.name, edge.from);
    const Stage& before = stages_[edge.from];
    check_edge(rules_, kind, before, edge.port);
    check_delay(stage, edge, before);
    if (!before.has_shape && !kind.traits.joins)
      fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-AWAITS",
           "a stage of kind %s reads stage \"%s\", whose shape follows from neurons that are not there yet; until they "
           "are, a sum can read it",
           kind.traits.name, before.name.c_str());
    const auto here = stage.inputs.begin() + static_cast<ptrdiff_t>(i);
    if (std::find(stage.inputs.begin(), here, edge) != here)
      fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-CHAIN", "a stage of kind %s reads stage \"%s\" twice",
           kind.traits.name, before.name.c_str());
    if (kind.traits.role != Role::scores) continue;
    for (const Edge& reader : readers_[edge.from])
      if (stages_[reader.from].kind->traits.role == Role::scores)
        fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-CHAIN",
             "a stage of kind %s cannot read stage \"%s\", which stage \"%s\" of the same kind reads", kind.traits.name,
             before.name.c_str(), stages_[reader.from].name.c_str());
  }
  for (const Awaited& one : stage.awaits) {
    if (kind.traits.awaits == Awaits::never)
      fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-AWAITS",
           "stage \"%s\" of kind %s reads \"%.64s\", which is not there yet; a synapse, a convolution or a scale can",
           stage.name.c_str(), kind.traits.name, one.name.c_str());
    const int32_t delay = stage.inputs[one.input].delay;
    if (delay < 1 || delay > most_delay)
      fail_argument("SYN-NETWORK-DELAY",
                    "stage \"%s\" reads \"%.64s\", which is not there yet, with a delay of %d; 1 to %lld are allowed",
                    stage.name.c_str(), one.name.c_str(), delay, static_cast<long long>(most_delay));
  }
  if (kind.traits.role == Role::trains && has(Role::trains))
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-CHAIN", "the network has stage \"%s\" of kind %s; one is allowed",
         first(Role::trains).name.c_str(), kind.traits.name);
}

// A new, unchecked stage with its edges and the initial values of its kind.
size_t Design::place(Stage&& stage) {
  const StageKind& kind = *stage.kind;
  kind.begin(rules_, stage);
  check_edges(stage);
  check_name(stage.name.c_str());
  if (const std::optional<size_t> other = find_if(stage.name))
    fail_argument("SYN-NETWORK-NAME", "name is \"%s\"; a stage of kind %s has it already", stage.name.c_str(),
                  stages_[*other].kind->traits.name);
  const size_t index = stages_.size();
  if (index == most_stages)
    fail_argument("SYN-NETWORK-STAGES", "the network has %zu stages; stage \"%s\" would be one too many", most_stages,
                  stage.name.c_str());
  if (!kind.traits.draws_for.empty()) stage.seed = random_seed(rules_.seed, stage.name, kind.traits.draws_for);
  make_room(stages_, 1);
  make_room(readers_, 1);
  for (const Edge& edge : stage.inputs)
    if (edge.from != not_added) make_room(readers_[edge.from], stage.inputs.size());
  numbers_.emplace(stage.name, index);
  for (const Edge& edge : stage.inputs)
    if (edge.from != not_added) readers_[edge.from].push_back({static_cast<uint32_t>(index), edge.port, edge.delay});
  std::optional<size_t>& role = first_[static_cast<size_t>(kind.traits.role)];
  if (!role) role = index;
  stages_.push_back(std::move(stage));
  readers_.emplace_back();
  keep_if([&] {
    Stage& placed = stages_[index];
    placed.has_shape = placed.awaits.empty() || kind.traits.awaits != Awaits::unshaped;
    placed.output =
        placed.has_shape ? kind.shape(view(index)) : core::Flow{.n_steps = rules_.n_steps, .batch = rules_.batch};
    stages_[index].makes = kind.makes(view(index));
  });
  return index;
}

void Design::drop_last() noexcept {
  const size_t index = stages_.size() - 1;
  for (const Edge& edge : stages_.back().inputs)
    if (edge.from != not_added) readers_[edge.from].pop_back();
  std::optional<size_t>& role = first_[static_cast<size_t>(stages_.back().kind->traits.role)];
  if (role == index) role.reset();
  numbers_.erase(stages_.back().name);
  readers_.pop_back();
  stages_.pop_back();
}

template <class Body>
void Design::keep_if(Body body) {
  try {
    body();
  } catch (...) {
    drop_last();
    throw;
  }
}

template <class Change>
void Design::change(size_t index, Change change) {
  Stage before = stages_[index];
  try {
    change(stages_[index]);
    check(index);
  } catch (...) {
    stages_[index] = std::move(before);
    throw;
  }
}

// A stage that awaits others is checked when they are there.
void Design::check(size_t index) {
  stages_[index].kind->settle(stages_[index]);
  if (stages_[index].awaits.empty()) stages_[index].kind->check(view(index));
}

// ---- stages that await the last one ---------------------------------------------------------------------------------

void Design::connect() {
  const auto last = static_cast<uint32_t>(stages_.size() - 1);
  const auto is_last = [&](const Awaited& one) { return one.name == stages_[last].name; };
  if (std::ranges::none_of(stages_, [&](const Stage& stage) { return std::ranges::any_of(stage.awaits, is_last); }))
    return;
  std::vector<std::pair<size_t, Stage>> before;
  std::vector<bool> changed(stages_.size());
  try {
    for (size_t i = 0; i < last; ++i) {
      Stage& stage = stages_[i];
      const bool awaits = std::ranges::any_of(stage.awaits, is_last);
      const bool follows =
          std::ranges::any_of(stage.inputs, [&](const Edge& edge) { return edge.from < i && changed[edge.from]; });
      if (!awaits && !follows) continue;
      changed[i] = true;
      before.emplace_back(i, stage);
      for (const Awaited& one : before.back().second.awaits) {
        if (!is_last(one)) continue;
        Edge& edge = stage.inputs[one.input];
        edge.from = last;
        readers_[last].push_back({static_cast<uint32_t>(i), edge.port, edge.delay});
        check_edge(rules_, *stage.kind, stages_[last], edge.port);
        check_delay(stage, edge, stages_[last]);
      }
      std::erase_if(stage.awaits, is_last);
      if (stage.awaits.empty()) shape_again(i);
    }
    check_cycles();
  } catch (...) {
    for (auto& [i, stage] : before) stages_[i] = std::move(stage);
    readers_[last].clear();
    throw;
  }
}

void Design::shape_again(size_t index) {
  Stage& stage = stages_[index];
  const core::Flow shape = stage.kind->shape(view(index)), assumed = stage.output;
  const std::string before = stage.kind->shape_text(view(index));
  stage.output = shape;
  const bool is_same = shape.height == assumed.height && shape.width == assumed.width &&
                       shape.channels == assumed.channels && shape.elements == assumed.elements;
  const bool had_shape = std::exchange(stage.has_shape, true);
  if (!is_same && had_shape)
    fail_argument("SYN-NETWORK-SHAPE", "stage \"%s\" had the shape %s and has %s with what it awaited",
                  stage.name.c_str(), before.c_str(), stage.kind->shape_text(view(index)).c_str());
  stage.makes = stage.kind->makes(view(index));
  check(index);
}

void Design::check_cycles() const {
  const Cycles cycles(*this);
  for (const std::vector<uint32_t>& unit : cycles.units) {
    if (cycles.has[unit.front()] == 0) continue;
    for (const uint32_t index : unit)
      if (!stages_[index].kind->traits.takes_steps)
        fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-CYCLE",
             "stages %s are a cycle, which is computed step by step; stage \"%s\" of kind %s takes all steps at once",
             names_of(stages_, unit).c_str(), stages_[index].name.c_str(), stages_[index].kind->traits.name);
    if (rules_.n_steps > most_recorded_steps)
      fail_argument(
          "SYN-NETWORK-CYCLE",
          "the network has %lld steps, and stages %s are a cycle, which is recorded step by step; at most %lld "
          "steps are allowed",
          static_cast<long long>(rules_.n_steps), names_of(stages_, unit).c_str(),
          static_cast<long long>(most_recorded_steps));
  }
}

namespace {

void assign(Stage& stage, const ValueSpec& spec, double value) {
  check_value(stage, spec, value);
  if (seed_name == spec.name) {
    stage.seed = static_cast<uint64_t>(value);
    stage.seed_is_set = true;
  }
  stage.at(spec) = value;
}

Stage new_stage(const StageKind& kind, const char* name, std::unique_ptr<StageSettings> settings,
                std::vector<Edge>&& inputs, std::vector<Awaited>&& awaits) {
  Stage stage;
  stage.kind = &kind;
  stage.name = name;
  stage.settings = std::move(settings);
  stage.inputs = std::move(inputs);
  stage.awaits = std::move(awaits);
  for (const ValueSpec& spec : kind.traits.values) stage.values.push_back(spec.initial);
  return stage;
}

}  // namespace

// Without stages that are named: all that it can read, or the stage before.
std::vector<Edge> Design::edges_of(const StageKind& kind, Choices choices, const Reads& reads) const {
  std::vector<Edge> edges;
  const auto read = [&](uint32_t from, std::optional<Port> named, int32_t delay = 0) {
    const bool is_there = from < stages_.size();
    edges.push_back({from, is_there ? kind.port(choices, named, stages_[from]) : named.value_or(Port::output), delay});
  };
  if (reads) {
    for (const StageInput& input : *reads) read(input.from, input.port, input.delay);
    return edges;
  }
  if (kind.traits.reads == 0) return edges;
  if (kind.traits.reads_all)
    for (uint32_t i = 0; i < stages_.size(); ++i)
      if ((stages_[i].makes & kind.reads(rules_)) != 0) read(i, std::nullopt);
  if (!edges.empty() || stages_.empty()) return edges;
  const uint32_t signals = stages_.back().kind->traits.makes;
  if ((signals & kind.reads(rules_)) == 0 && (signals & kind.traits.reads_if_named) != 0)
    fail_follow(kind, stages_.back(), signals, " unless it names that stage");
  read(static_cast<uint32_t>(stages_.size() - 1), std::nullopt);
  return edges;
}

size_t Design::add(const StageKind& kind, const char* name, Choices choices, const Reads& reads,
                   std::span<const InitialValue> values) {
  std::vector<Awaited> awaits;
  for (size_t i = 0; reads && i < reads->size(); ++i)
    if ((*reads)[i].from == not_added) awaits.push_back({i, (*reads)[i].later});
  const size_t index =
      place(new_stage(kind, name, kind.settings(*this, choices), edges_of(kind, choices, reads), std::move(awaits)));
  keep_if([&] {
    give_values(index, values);
    connect();
  });
  return index;
}

// The values of the kind come first: they decide which further ones the stage has.
void Design::give_values(size_t index, std::span<const InitialValue> values) {
  Stage& stage = stages_[index];
  for (const InitialValue& one : values)
    if (const ValueSpec* const spec = stage.find_spec(one.name)) assign(stage, *spec, one.value);
  check(index);
  std::vector<const char*> further;
  for (const InitialValue& one : values) {
    if (stage.find_spec(one.name)) continue;
    if (!stage.kind->has_further(view(index), one.name)) fail_unknown_value(index, one.name);
    for (const char* const other : further)
      if (stage.kind->is_same_further(view(index), one.name, other))
        fail_argument("SYN-NETWORK-VALUE", "\"%s\" and \"%s\" of stage \"%s\" are the same number, given twice", other,
                      one.name, stage.name.c_str());
    further.push_back(one.name);
    stage.kind->set_further(view(index), stage, one.name, one.value);
  }
  if (!further.empty()) check(index);
}

size_t Design::add_copy(const Stage& from, std::vector<Edge>&& inputs, std::vector<Awaited>&& awaits,
                        std::optional<uint64_t> seed) {
  const size_t index = place(new_stage(*from.kind, from.name.c_str(), from.settings ? from.settings->copy() : nullptr,
                                       std::move(inputs), std::move(awaits)));
  keep_if([&] {
    Stage& stage = stages_[index];
    if (stage.has_shape && stage.width() != from.width())
      fail_argument("SYN-NETWORK-WIDTH", "stage \"%s\" has a width of %lld; what comes before it gives it %lld",
                    stage.name.c_str(), static_cast<long long>(from.width()), static_cast<long long>(stage.width()));
    for (const ValueSpec& spec : stage.kind->traits.values) {
      if (std::isnan(from.at(spec))) continue;  // absent_value
      check_value(stage, spec, from.at(spec));
      stage.at(spec) = from.at(spec);
    }
    if (seed) stage.seed = *seed;
    stage.freezes = from.freezes;
    stage.kind->settle(stage);
    if (stage.awaits.empty()) stage.kind->check_copy(view(index));
    connect();
  });
  return index;
}

// ---- stages ---------------------------------------------------------------------------------------------------------

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

size_t Design::find(const char* name, const StageKind& kind) const {
  const size_t index = find(name);
  if (stages_[index].kind != &kind)
    fail_argument("SYN-NETWORK-STAGE", "stage \"%s\" is of kind %s; one of kind %s is needed", name,
                  stages_[index].kind->traits.name, kind.traits.name);
  return index;
}

bool Design::has_value(size_t index, const char* name) const noexcept {
  return stages_[index].find_spec(name) != nullptr;
}

bool Design::is_read(size_t index, Port port) const noexcept {
  return std::ranges::find(readers_[index], port, &Edge::port) != readers_[index].end();
}

bool Design::wants_numbers(size_t index, Port port) const noexcept {
  return std::ranges::any_of(readers_[index], [&](const Edge& reader) {
    const Stage& stage = stages_[reader.from];
    return reader.port == port && (stage.kind->reads_numbers(view(reader.from)) ||
                                   (stage.kind->hands_on(stage) && wants_numbers(reader.from, Port::output)));
  });
}

bool Design::has_reader_of_counts(size_t index, bool as_they_are) const {
  return std::ranges::any_of(readers_[index], [&](const Edge& reader) {
    const StageKind& kind = *stages_[reader.from].kind;
    if (!kind.hands_on(stages_[reader.from])) return kind.takes_counts(view(reader.from)) == as_they_are;
    // An output of a stage that hands them on is numbers.
    const bool is_output = !as_they_are && kind.output(view(reader.from));
    return is_output || has_reader_of_counts(reader.from, as_they_are);
  });
}

bool Design::has_other_readers(Edge edge) const noexcept {
  while (readers_[edge.from].size() == 1 && stages_[edge.from].kind->hands_on(stages_[edge.from]))
    edge = stages_[edge.from].inputs.front();
  return readers_[edge.from].size() > 1;
}

Edge Design::source(Edge edge) const noexcept {
  while (stages_[edge.from].kind->hands_on(stages_[edge.from])) {
    const int32_t delay = edge.delay;
    edge = stages_[edge.from].inputs.front();
    edge.delay += delay;
  }
  return edge;
}

int32_t Design::longest_delay(size_t index) const noexcept {
  int32_t longest = 0;
  for (const Edge& reader : readers_[index]) longest = std::max(longest, reader.delay);
  return longest;
}

// ---- the network as a whole -----------------------------------------------------------------------------------------

bool Design::is_chain() const noexcept {
  for (size_t i = 0; i < stages_.size(); ++i) {
    const std::vector<Edge>& inputs = stages_[i].inputs;
    if (i == 0 ? !inputs.empty() : inputs.size() != 1 || inputs[0].from != i - 1 || inputs[0].delay != 0) return false;
  }
  return true;
}

std::vector<DataNeed> Design::data_needs() const {
  std::vector<DataNeed> needs;
  for (size_t i = 0; i < stages_.size(); ++i) stages_[i].kind->list_data(view(i), needs);
  return needs;
}

std::vector<size_t> Design::outputs() const {
  std::vector<size_t> list;
  for (size_t i = 0; i < stages_.size(); ++i) {
    const bool is_inside = std::ranges::any_of(
        readers_[i], [&](const Edge& reader) { return !stages_[reader.from].kind->traits.of_training; });
    if (!is_inside && stages_[i].kind->output(view(i))) list.push_back(i);
  }
  return list;
}

std::vector<size_t> Design::outputs_with_own_loss() const {
  if (rules_.own_loss == OwnLoss::none) return {};
  std::vector<size_t> list = outputs();
  std::erase_if(list, [&](size_t index) {
    return (stages_[index].makes & signal::readout) == 0 ||
           std::ranges::any_of(readers_[index], [&](const Edge& reader) {
             return stages_[reader.from].kind->traits.role == Role::scores;
           });
  });
  return list;
}

bool Design::is_complete() const noexcept {
  if (std::ranges::any_of(stages_, [](const Stage& stage) { return !stage.awaits.empty(); })) return false;
  const auto can_end = [](const Stage& stage) { return stage.kind->can_end(stage); };
  if (std::ranges::none_of(stages_, can_end)) return false;
  for (size_t i = 0; i < stages_.size(); ++i)
    if (readers_[i].empty() && !can_end(stages_[i])) return false;
  return true;
}

namespace {

// "neurons, a readout or a loss".
std::string possible_ends() {
  std::vector<const char*> ends;
  for (const StageKind* const kind : all_kinds())
    if (kind->traits.can_end) ends.push_back(kind->traits.noun);
  std::string text;
  for (size_t i = 0; i < ends.size(); ++i)
    text.append(i == 0 ? "" : i + 1 == ends.size() ? " or " : ", ").append(ends[i]);
  return text;
}

}  // namespace

// A stage that reads all losses by default has no other choice: training minimises them all.
void Design::check_reads_all(size_t index) const {
  const StageKind& kind = *stages_[index].kind;
  std::vector<bool> is_read(stages_.size());
  for (const Edge& edge : stages_[index].inputs) is_read[edge.from] = true;
  for (size_t i = 0; i < stages_.size(); ++i) {
    if ((stages_[i].makes & kind.traits.reads & signal::objective) != 0 && !is_read[i])
      fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-INCOMPLETE",
           "stage \"%s\" of kind %s does not read stage \"%s\"; it reads all stages of kind %s, which come before it",
           stages_[index].name.c_str(), kind.traits.name, stages_[i].name.c_str(), stages_[i].kind->traits.name);
  }
}

void Design::check_complete() const {
  for (size_t i = 0; i < stages_.size(); ++i)
    if (stages_[i].kind->traits.reads_all) check_reads_all(i);
  if (is_complete()) return;
  for (const Stage& stage : stages_)
    if (!stage.awaits.empty())
      fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-INCOMPLETE",
           "stage \"%s\" reads stage \"%.64s\", which has not been added", stage.name.c_str(),
           stage.awaits.front().name.c_str());
  const auto can_end = [](const Stage& stage) { return stage.kind->can_end(stage); };
  if (std::ranges::none_of(stages_, can_end))
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-INCOMPLETE", "%s", least_network);
  for (size_t i = 0; i < stages_.size(); ++i)
    if (readers_[i].empty() && !can_end(stages_[i]))
      fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-INCOMPLETE",
           "nothing reads stage \"%s\" of kind %s; a network can end with %s", stages_[i].name.c_str(),
           stages_[i].kind->traits.name, possible_ends().c_str());
}

// ---- values of stages -----------------------------------------------------------------------------------------------

void Design::fail_unknown_value(size_t index, const char* name) const {
  const Stage& stage = stages_[index];
  for (const ChoiceSpec& choice : stage.kind->traits.choices)
    if (std::string_view(choice.name) == name)
      fail_argument("SYN-NETWORK-VALUE", "\"%s\" of stage \"%s\" is chosen once, when the stage is added", name,
                    stage.name.c_str());
  std::vector<std::string> known;
  for (const ValueSpec& spec : stage.kind->traits.values) known.emplace_back(spec.name);
  for (std::string& further : stage.kind->further_names(view(index))) known.push_back(std::move(further));
  std::string list;
  for (const std::string& one : known) list.append(list.empty() ? "\"" : ", \"").append(one).append("\"");
  std::vector<std::string_view> names(known.begin(), known.end());
  std::string choices;
  for (const ChoiceSpec& choice : stage.kind->traits.choices) {
    names.emplace_back(choice.name);
    choices.append(choices.empty() ? "; it is added with \"" : ", \"").append(choice.name).append("\"");
  }
  fail_argument("SYN-NETWORK-VALUE", "name is \"%.64s\"%s; stage \"%s\" has %s%s", name,
                suggestion(name, names).c_str(), stage.name.c_str(), list.empty() ? "no values" : list.c_str(),
                choices.c_str());
}

size_t Design::set_value(const char* stage_name, const char* name, double value, bool is_built) {
  const size_t index = find(stage_name);
  const Stage& stage = stages_[index];
  if (const ValueSpec* const spec = stage.find_spec(name)) {
    check_value(stage, *spec, value);
    if (is_built && !spec->changes)
      fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-BUILT",
           "\"%s\" of stage \"%s\" cannot change any more: the network is built", name, stage_name);
    if (frozen_value == name && value == 0 && stage.is_built && stage.was_frozen)
      fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-FROZEN",
           "stage \"%s\" was frozen when the network was built, so it has no gradients and no moments; build it with "
           "\"frozen\" 0, and freeze it then",
           stage_name);
    change(index, [&](Stage& changed) { assign(changed, *spec, value); });
    return index;
  }
  if (!stage.kind->has_further(view(index), name)) fail_unknown_value(index, name);
  change(index, [&](Stage& changed) { changed.kind->set_further(view(index), changed, name, value); });
  return index;
}

double Design::get_value(const char* stage_name, const char* name) const {
  const size_t index = find(stage_name);
  const Stage& stage = stages_[index];
  if (const ValueSpec* const spec = stage.find_spec(name))
    return seed_name == name ? static_cast<double>(stage.seed) : stage.at(*spec);
  if (!stage.kind->has_further(view(index), name)) fail_unknown_value(index, name);
  return stage.kind->get_further(view(index), name);
}

void Design::keep(std::span<std::pair<size_t, std::string>> arrays) {
  for (const auto& [index, array] : arrays) make_room(stages_[index].kept, arrays.size());
  for (auto& [index, array] : arrays)
    if (!stages_[index].keeps(array)) stages_[index].kept.push_back(std::move(array));
}

void Design::built() noexcept {
  for (Stage& stage : stages_) {
    stage.was_frozen = stage.is_built_frozen();
    stage.is_built = true;
    stage.kind->built(stage);
  }
}

void Design::take_changes(const Design& from) {
  std::vector<Stage> next = stages_;
  for (size_t i = 0; i < next.size(); ++i) {
    const Stage& other = from.stages_[i];
    for (const ValueSpec& spec : next[i].kind->traits.values)
      // A value without an effect here describes the data that the network accepts: the program's choice.
      if (spec.changes && spec.effect != ValueSpec::Effect::on_none) next[i].at(spec) = other.at(spec);
    if (other.freezes) next[i].at(*next[i].find_spec("frozen")) = 1;
    next[i].kind->take_changes(next[i], other);
    if (!next[i].seed_is_set) next[i].seed = other.seed;
  }
  stages_.swap(next);
  rules_.order_seed = from.rules_.order_seed;
}

}  // namespace synfire::network

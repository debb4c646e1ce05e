#include "saved.hpp"

#include "stage_key_values.hpp"
#include "stages/stage_kinds.hpp"

#include <base/dtype.hpp>
#include <base/error.hpp>
#include <base/text.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

namespace synfire::network {

using core::fail_argument;

namespace {

constexpr std::string_view network_key = "synfire.network", stage_key = "synfire.stage.";
constexpr uint64_t version_of_chains = 1, newest_version = 2;
constexpr uint64_t any = UINT64_MAX;
constexpr std::string_view seed_word = "seed", inputs_word = "inputs", no_inputs = "none", own_loss_word = "own_loss",
                           frozen_word = "frozen", freezes_word = "frozen_now";

std::string key_of_stage(size_t index) {
  return std::string(stage_key) + std::to_string(index);
}

// ---- writing --------------------------------------------------------------------------------------------------------

// The stages that one reads, by their numbers, each with the name of a port that is not its output, or with a delay:
// "2,5.v,7-1".
std::string text_of_inputs(const Design& design, const Stage& stage) {
  std::string text;
  for (const Edge& edge : stage.inputs) {
    text.append(text.empty() ? "" : ",").append(std::to_string(edge.from));
    if (edge.delay != 0) text.append("-").append(std::to_string(edge.delay));
    if (edge.port == Port::output) continue;
    for (const PortName& one : design.stages()[edge.from].kind->traits.ports)
      if (one.port == edge.port) text.append(".").append(one.name);
  }
  return text.empty() ? std::string(no_inputs) : text;
}

std::string text_of_stage(const StageView& view, uint64_t version) {
  const Stage& stage = view.stage();
  StageKeyValues own;
  own.values = stage.values;
  const bool freezes = stage.flag(frozen_word) && !stage.is_built_frozen();
  if (freezes) own.values[static_cast<size_t>(stage.find_spec(frozen_word) - stage.kind->traits.values.data())] = 0;
  stage.kind->write(view, own);
  KeyValueWriter words;
  words.add("kind", stage.kind->traits.name);
  words.add("name", stage.name);
  if (stage.width() != 0) words.add_whole("width", static_cast<uint64_t>(stage.width()));
  if (version > version_of_chains) words.add(inputs_word, text_of_inputs(view.design(), stage));
  words.add_all(own.before_seed);
  words.add_whole(seed_word, stage.seed);
  words.add_all(own.after_seed);
  const std::span<const ValueSpec> specs = stage.kind->traits.values;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].name == seed_word) continue;
    if (specs[i].in_files == ValueSpec::InFiles::always || own.values[i] != specs[i].initial)
      words.add_number(specs[i].word(), own.values[i]);
  }
  if (freezes) words.add_whole(freezes_word, 1);
  words.add_all(own.after_values);
  return words.text();
}

// The lowest version of the format for the design. Version 1 has no edges: each stage reads the one before.
uint64_t version_of(const Design& design) {
  bool needs_new = !design.is_chain() || design.rules().own_loss != OwnLoss::none;
  for (size_t i = 0; i < design.stages().size(); ++i)
    needs_new = needs_new || design.stages()[i].kind->needs_new_format(design.view(i));
  return needs_new ? newest_version : version_of_chains;
}

}  // namespace

void write_metadata(files::SafetensorsWriter& writer, const Design& design, const Position& position) {
  const NetworkRules& rules = design.rules();
  const std::vector<Stage>& stages = design.stages();
  if (stages.size() > most_stages)
    fail_argument("SYN-NETWORK-FILE", "the network has %zu stages; a file has at most %zu", stages.size(),
                  static_cast<size_t>(most_stages));
  KeyValueWriter words;
  const uint64_t version = version_of(design);
  words.add_whole("version", version);
  words.add("dtype", core::name_of_dtype(rules.dtype));
  words.add_whole("n_steps", static_cast<uint64_t>(rules.n_steps));
  words.add_whole("batch", static_cast<uint64_t>(rules.batch));
  words.add_whole(seed_word, rules.order_seed);
  words.add_whole("drop_last", rules.drop_last ? 1 : 0);
  words.add_whole("n_slots", rules.n_slots);
  words.add_whole("n_stages", stages.size());
  words.add_whole("n_rows", static_cast<uint64_t>(position.n_rows));
  words.add_whole("next_batch", position.next_batch);
  if (position.blocks != RowBlocks{}) {
    words.add_whole("block_rows", position.blocks.block_rows);
    words.add_whole("window_blocks", position.blocks.window_blocks);
  }
  if (rules.own_loss != OwnLoss::none) words.add_whole(own_loss_word, static_cast<uint64_t>(rules.own_loss));
  writer.set_metadata(network_key, words.text());
  for (size_t i = 0; i < stages.size(); ++i) {
    std::string text = text_of_stage(design.view(i), version);
    KeyValueWriter offsets;
    if (position.training[i] != 0) offsets.add_whole("offset", position.training[i]);
    if (position.inference[i] != 0) offsets.add_whole("inference_offset", position.inference[i]);
    if (position.forward[i] != 0) offsets.add_whole("forward_offset", position.forward[i]);
    if (!offsets.text().empty()) text.append(" ").append(offsets.text());
    writer.set_metadata(key_of_stage(i), text);
  }
}

// ---- reading --------------------------------------------------------------------------------------------------------

namespace {

const std::string& metadata_of(const files::SafetensorsFile& file, const std::string& key) {
  const auto at = file.metadata().find(key);
  if (at == file.metadata().end())
    fail_argument("SYN-NETWORK-FILE", "the file has no metadata \"%s\", which the file of a network has", key.c_str());
  return at->second;
}

NetworkRules read_rules(KeyValueReader& words, uint64_t version) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  const std::string dtype = words.take("dtype", core::name_of_dtype(desc.dtype));
  const auto* const at = std::ranges::find(core::arithmetic_dtypes, dtype,
                                           [](int32_t one) -> std::string { return core::name_of_dtype(one); });
  if (at == core::arithmetic_dtypes.end()) words.fail("dtype", dtype, "f32 or f64");
  desc.dtype = *at;
  desc.n_steps = static_cast<int64_t>(words.take_whole("n_steps", INT64_MAX));
  desc.batch = static_cast<int64_t>(words.take_whole("batch", INT64_MAX, 0));
  desc.seed = words.take_whole(seed_word, any, 0);
  desc.drop_last = static_cast<int32_t>(words.take_whole("drop_last", 1, 0));
  desc.n_slots = static_cast<uint32_t>(words.take_whole("n_slots", UINT32_MAX, 0));
  if (version > version_of_chains)
    desc.own_loss = static_cast<int32_t>(words.take_whole(own_loss_word, SYNFIRE_OWN_LOSS_STARTS, 0));
  NetworkRules rules(desc);
  rules.order_seed = desc.seed;
  return rules;
}

const StageKind& read_kind(KeyValueReader& words) {
  const std::string text = words.take("kind");
  if (const StageKind* const kind = find_kind(text)) return *kind;
  words.fail("kind", text, "a kind of stage");
}

struct ReadStage {
  Stage stage;
  std::vector<Awaited> awaits;
  std::optional<uint64_t> seed;
  uint64_t offset, inference_offset, forward_offset;
};

template <class Whole>
bool is_whole(std::string_view text, Whole& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// An input of a stage: "5", "5.v" of an earlier stage that has such a port, or "5-1" of any stage, with a delay.
std::optional<Edge> edge_of(const Design& design, std::string_view text, uint64_t n_stages) {
  const size_t dash = std::min(text.find('-'), text.size()), dot = std::min(text.find('.'), text.size());
  uint32_t from = 0;
  if (dash != text.size()) {
    int32_t delay = 0;
    const bool is_edge = is_whole(text.substr(0, dash), from) && is_whole(text.substr(dash + 1), delay) &&
                         from < n_stages && delay >= 1 && delay <= most_delay;
    return is_edge ? std::optional(Edge{from, Port::output, delay}) : std::nullopt;
  }
  if (!is_whole(text.substr(0, dot), from) || from >= design.stages().size()) return std::nullopt;
  if (dot == text.size()) return Edge{from};
  for (const PortName& one : design.stages()[from].kind->traits.ports)
    if (text.substr(dot + 1) == one.name && one.port != Port::output) return Edge{from, one.port};
  return std::nullopt;
}

std::vector<Edge> read_inputs(const Design& design, KeyValueReader& words, uint64_t n_stages) {
  const std::string text = words.take(inputs_word);
  std::vector<Edge> inputs;
  if (text == no_inputs) return inputs;
  for (std::string_view rest = text;;) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::optional<Edge> edge = edge_of(design, rest.substr(0, comma), n_stages);
    if (!edge)
      words.fail(inputs_word, text, "a list of earlier stages, with the ports that they have, or of any with a delay,");
    inputs.push_back(*edge);
    if (comma == rest.size()) return inputs;
    rest.remove_prefix(comma + 1);
  }
}

// The inputs that are not there yet get the number of none, and are awaited by their names.
std::vector<Awaited> awaited_of(std::vector<Edge>& inputs, size_t index, const files::SafetensorsFile& file) {
  std::vector<Awaited> awaits;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].from < index) continue;
    const std::string key = key_of_stage(inputs[i].from);
    awaits.push_back({i, KeyValueReader(key, metadata_of(file, key)).take("name")});
    inputs[i].from = not_added;
  }
  return awaits;
}

ReadStage read_stage(const Design& design, uint64_t version, const files::SafetensorsFile& file, size_t index,
                     uint64_t n_stages, const core::Context& context) {
  const std::string key = key_of_stage(index);
  KeyValueReader words(key, metadata_of(file, key));
  ReadStage read = {};
  Stage& stage = read.stage;
  stage.kind = &read_kind(words);
  stage.name = words.take("name");
  stage.output.channels = static_cast<int64_t>(words.take_whole("width", INT64_MAX, 0));
  if (version > version_of_chains)
    stage.inputs = read_inputs(design, words, n_stages);
  else if (index > 0)
    stage.inputs.push_back({static_cast<uint32_t>(index - 1)});
  // A word that a file lacks has its default: the file may be of a version that does not know it.
  if (words.has(seed_word)) read.seed = words.take_whole(seed_word, any);
  for (const ValueSpec& spec : stage.kind->traits.values)
    stage.values.push_back(spec.name != seed_word && words.has(spec.word()) ? words.take_number(spec.word())
                                                                            : absent_value);
  if (stage.find_spec(frozen_word)) stage.freezes = words.take_whole(freezes_word, 1, 0) == 1;
  const std::vector<Edge> inputs = stage.inputs;
  stage.kind->read(stage, words, context);
  if (version > version_of_chains && stage.inputs != inputs)
    fail_argument("SYN-NETWORK-FILE", "metadata \"%s\" have inputs at other ports than the stage reads", key.c_str());
  read.offset = words.take_whole("offset", any, 0);
  read.inference_offset = words.take_whole("inference_offset", any, 0);
  if (version > version_of_chains) read.forward_offset = words.take_whole("forward_offset", any, 0);
  words.end();
  read.awaits = awaited_of(stage.inputs, index, file);
  return read;
}

// In a file, stages in a wrong order are wrong data.
template <class Body>
void as_argument(Body body) {
  try {
    body();
  } catch (core::Failure& failure) {
    if (failure.status == SYNFIRE_ERROR_WRONG_ORDER) failure.status = SYNFIRE_ERROR_INVALID_ARGUMENT;
    failure.text = "in the file, " + failure.text;
    throw;
  }
}

// Other programs' metadata have other names.
void check_keys(const files::SafetensorsFile& file, uint64_t n_stages) {
  constexpr std::string_view ours = "synfire.";
  std::set<std::string, std::less<>> known = {std::string(network_key)};
  for (size_t i = 0; i < n_stages; ++i) known.insert(key_of_stage(i));
  for (const auto& [key, value] : file.metadata()) {
    if (key.starts_with(ours) && !known.contains(key))
      fail_argument("SYN-NETWORK-FILE", "the file has metadata %s, which this version of the format does not know",
                    core::quoted(key, 80).c_str());
  }
}

// Tensors of stages that await others are read when all are there.
void read_into(SavedNetwork& saved, uint64_t version, const files::SafetensorsFile& file, size_t index,
               uint64_t n_stages, std::vector<std::pair<size_t, Stage>>& await, const core::Context& context) {
  ReadStage read = read_stage(saved.design, version, file, index, n_stages, context);
  const bool awaits = !read.awaits.empty();
  as_argument([&] {
    saved.design.add_copy(read.stage, std::vector<Edge>(read.stage.inputs), std::move(read.awaits), read.seed);
  });
  if (awaits)
    await.emplace_back(index, std::move(read.stage));
  else
    read.stage.kind->read_tensors(saved.design, index, read.stage, file);
  saved.position.training.push_back(read.offset);
  saved.position.inference.push_back(read.inference_offset);
  saved.position.forward.push_back(read.forward_offset);
}

}  // namespace

SavedNetwork read_metadata(const files::SafetensorsFile& file, const core::Context& context) {
  KeyValueReader words(network_key, metadata_of(file, std::string(network_key)));
  const uint64_t version = words.take_whole("version", any);
  if (version < version_of_chains || version > newest_version)
    fail_argument("SYN-NETWORK-FILE",
                  "the file has version %llu of the format; this library reads versions %llu to %llu",
                  static_cast<unsigned long long>(version), static_cast<unsigned long long>(version_of_chains),
                  static_cast<unsigned long long>(newest_version));
  SavedNetwork saved = {Design(read_rules(words, version)), {}};
  const uint64_t n_stages = words.take_whole("n_stages", most_stages);
  Position& position = saved.position;
  constexpr uint64_t most_rows = 0xFFFFFFFF;
  position.n_rows = static_cast<int64_t>(words.take_whole("n_rows", most_rows, 0));
  position.next_batch = words.take_whole("next_batch", any, 0);
  position.blocks.block_rows = words.take_whole("block_rows", UINT32_MAX, 0);
  position.blocks.window_blocks = words.take_whole("window_blocks", UINT32_MAX, 0);
  words.end();
  std::vector<std::pair<size_t, Stage>> await;
  for (size_t i = 0; i < n_stages; ++i) read_into(saved, version, file, i, n_stages, await, context);
  as_argument([&] { saved.design.check_complete(); });
  for (const auto& [index, stage] : await) {
    if (saved.design.stages()[index].width() != stage.width())
      fail_argument("SYN-NETWORK-WIDTH", "in the file, stage \"%s\" has a width of %lld; what it reads gives it %lld",
                    stage.name.c_str(), static_cast<long long>(stage.width()),
                    static_cast<long long>(saved.design.stages()[index].width()));
    stage.kind->read_tensors(saved.design, index, stage, file);
  }
  check_keys(file, n_stages);
  return saved;
}

// ---- without stages of training -------------------------------------------------------------------------------------

std::vector<size_t> add_copies(Design& design, const Design& from, core::FunctionRef<bool(const Stage&)> wants) {
  std::vector<size_t> copied;
  std::vector<std::optional<uint32_t>> numbers(from.stages().size());  // of the stages in the copy
  for (size_t i = 0; i < from.stages().size(); ++i) {
    const Stage& stage = from.stages()[i];
    std::vector<Edge> inputs;
    std::vector<Awaited> awaits;
    for (const Edge& edge : stage.inputs) {
      // Only training has stages that are not wanted, and neurons are none of them.
      if (edge.from >= i) awaits.push_back({inputs.size(), from.stages()[edge.from].name});
      if (edge.from >= i || numbers[edge.from])
        inputs.push_back({edge.from >= i ? not_added : *numbers[edge.from], edge.port, edge.delay});
    }
    if (!wants(stage) || inputs.empty() != stage.inputs.empty()) continue;
    numbers[i] = static_cast<uint32_t>(design.stages().size());
    design.add_copy(stage, std::move(inputs), std::move(awaits), stage.seed);
    copied.push_back(i);
  }
  return copied;
}

SavedNetwork as_in(const SavedNetwork& saved, const Design& network) {
  SavedNetwork reduced = {Design(saved.design.rules()), {}};
  const bool has_fewer = network.stages().size() < saved.design.stages().size();
  const auto wants = [&](const Stage& stage) {
    return !has_fewer || !stage.kind->traits.of_training || network.find_if(stage.name).has_value();
  };
  reduced.position.next_batch = saved.position.next_batch;
  reduced.position.blocks = saved.position.blocks;
  reduced.position.n_rows = saved.position.n_rows;
  for (const size_t i : add_copies(reduced.design, saved.design, wants)) {
    reduced.position.training.push_back(saved.position.training[i]);
    reduced.position.inference.push_back(saved.position.inference[i]);
    reduced.position.forward.push_back(saved.position.forward[i]);
  }
  return reduced;
}

// ---- comparing ------------------------------------------------------------------------------------------------------

void fail_other(const Stage& stage, std::string_view what, const std::string& here, const std::string& there) {
  fail_argument("SYN-NETWORK-OTHER", "%.*s of stage \"%s\" is %s in the network and %s in the file",
                static_cast<int>(what.size()), what.data(), stage.name.c_str(), here.c_str(), there.c_str());
}

void compare_number(const Stage& stage, std::string_view what, double here, double there) {
  if (here != there) fail_other(stage, what, text_of(here), text_of(there));
}

void StageKind::compare_value(const StageView& here, const StageView& there, const ValueSpec& spec) const {
  compare_number(here.stage(), std::string("\"").append(spec.name).append("\""), here->at(spec), there->at(spec));
}

namespace {

class Comparison {
 public:
  Comparison(const Design& network, const Design& file) : network_(network), file_(file) {}

  void run() const {
    const size_t n_here = network_.stages().size(), n_there = file_.stages().size();
    for (size_t i = 0; i < std::max(n_here, n_there); ++i) {
      if (n_here > n_there) check_has(file_, "the file", network_.stages()[i], "network", i);
      if (n_here < n_there) check_has(network_, "the network", file_.stages()[i], "file", i);
      compare(network_.view(i), file_.view(i));
    }
    compare_rules(network_.rules(), file_.rules());
  }

 private:
  // One of them has fewer stages than the other, which has this one as number `index`.
  static void check_has(const Design& one, const char* what, const Stage& stage, const char* other, size_t index) {
    const bool is_at_end = index == one.stages().size();
    if (!is_at_end && one.find_if(stage.name)) return;
    std::string after;
    if (!is_at_end)
      after.append("; its stage ").append(std::to_string(index)).append(" is \"").append(one.stages()[index].name);
    fail_argument("SYN-NETWORK-OTHER", "%s has no stage \"%s\" of kind %s, which the %s has%s%s", what,
                  stage.name.c_str(), stage.kind->traits.name, other, after.c_str(), is_at_end ? "" : "\"");
  }
  void compare(const StageView& here_view, const StageView& there_view) const {
    const Stage &here = here_view.stage(), &there = there_view.stage();
    const StageKind& kind = *here.kind;
    if (here.name != there.name || here.kind != there.kind)
      fail_argument(
          "SYN-NETWORK-OTHER", "stage %zu is \"%s\" of kind %s in the network and \"%s\" of kind %s in the file",
          here_view.index(), here.name.c_str(), kind.traits.name, there.name.c_str(), there.kind->traits.name);
    compare_whole(here, "the width", here.width(), there.width());
    kind.compare_choice(here, there);
    if (here.inputs != there.inputs)
      fail_argument("SYN-NETWORK-OTHER", "stage \"%s\" reads other stages in the network than in the file",
                    here.name.c_str());
    const Draws draws = kind.draws(here);
    if (here.seed_is_set && (draws == Draws::always || (draws == Draws::in_training && network_.is_trainable())))
      compare_whole(here, "\"seed\"", here.seed, there.seed);
    compare_values(here_view, there_view);
    kind.compare_rest(here, there, network_.is_trainable());
  }

  void compare_values(const StageView& here, const StageView& there) const {
    if (network_.is_trainable() && here->find_spec(frozen_word))
      compare_whole(here.stage(), "\"frozen\" when it was built,", here->is_built_frozen() ? 1 : 0,
                    there->is_built_frozen() ? 1 : 0);
    for (const ValueSpec& spec : here->kind->traits.values) {
      if (spec.changes || spec.name == seed_word || spec.effect == ValueSpec::Effect::on_none) continue;
      if (spec.effect == ValueSpec::Effect::on_training && !network_.is_trainable()) continue;
      here->kind->compare_value(here, there, spec);
    }
  }

  void compare_rules(const NetworkRules& here, const NetworkRules& there) const {
    const auto fail_rule = [](const char* name, const std::string& one, const std::string& other) {
      fail_argument("SYN-NETWORK-OTHER", "%s is %s in the network and %s in the file", name, one.c_str(),
                    other.c_str());
    };
    if (here.dtype != there.dtype)
      fail_rule("dtype", core::name_of_dtype(here.dtype), core::name_of_dtype(there.dtype));
    if (!network_.is_trainable()) return;
    // Version 0.2 drew the order from the network's seed itself.
    if (here.order_seed != there.order_seed && here.seed != there.order_seed)
      fail_rule("the seed of the order of rows", text_of(here.order_seed), text_of(there.order_seed));
    if (here.drop_last != there.drop_last)
      fail_rule("drop_last", here.drop_last ? "1" : "0", there.drop_last ? "1" : "0");
  }

  const Design& network_;
  const Design& file_;
};

}  // namespace

void check_same(const Design& network, const Design& file) {
  Comparison(network, file).run();
}

}  // namespace synfire::network

#include "saved.hpp"

#include "words.hpp"

#include <base/dtype.hpp>
#include <base/error.hpp>
#include <base/text.hpp>
#include <layer/parameters.hpp>

#include <algorithm>
#include <cstring>
#include <set>

namespace synfire::network {

using core::fail_argument;

namespace {

constexpr std::string_view network_key = "synfire.network", stage_key = "synfire.stage.";
constexpr uint64_t format_version = 1;
constexpr uint64_t most_stages = 4096;  // checks of names take time
constexpr uint64_t any = UINT64_MAX;
constexpr std::string_view seed_word = "seed", surrogate_name = "surrogate", loaded_surrogate_name = "loaded_surrogate",
                           parameter_prefix = "parameter.", trained_prefix = "trained.";

constexpr int32_t dtypes[] = {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64};

int32_t model_of(const Stage& neurons) {
  return neurons.choice == SYNFIRE_MODEL_DEFAULT ? SYNFIRE_MODEL_LIF : neurons.choice;
}

std::string key_of_stage(size_t index) {
  return std::string(stage_key) + std::to_string(index);
}

// ---- writing --------------------------------------------------------------------------------------------------------

void write_trained(WordWriter& words, const TrainedParameter& trained) {
  std::string value = trained.per_neuron ? "neuron" : "layer";
  for (const double number : {trained.rate_factor, trained.decay_factor, trained.lower, trained.upper})
    value.append(",").append(text_of(number));
  words.add(std::string(trained_prefix) + trained.name, value);
}

std::string text_of_stage(const Stage& stage) {
  WordWriter words;
  words.add("kind", name_of(stage.kind));
  words.add("name", stage.name);
  if (stage.width != 0) words.add_whole("width", static_cast<uint64_t>(stage.width));
  if (stage.kind == StageKind::neurons)
    words.add("model", core::find_model(model_of(stage))->name);
  else
    words.add_whole("choice", static_cast<uint64_t>(stage.choice));
  if (stage.kind == StageKind::readout) words.add_whole("of_spikes", stage.of_spikes ? 1 : 0);
  words.add_whole(seed_word, stage.seed);
  if (stage.has_rate) words.add_whole("has_rate", 1);
  if (!stage.mask.empty()) words.add_whole("has_mask", 1);
  if (!stage.class_weights.empty()) words.add_whole("has_class_weights", 1);
  const std::span<const ValueSpec> specs = specs_of(stage.kind);
  // Ids of what was loaded at run time mean nothing to another process.
  for (size_t i = 0; i < specs.size(); ++i)
    if (specs[i].name != seed_word)
      words.add_number(specs[i].name, stage.surrogate && specs[i].name == surrogate_name ? 0 : stage.values[i]);
  if (stage.surrogate) words.add(loaded_surrogate_name, stage.surrogate->row().name);
  for (const NamedValue& one : stage.parameters) words.add_number(std::string(parameter_prefix) + one.name, one.value);
  for (const TrainedParameter& one : stage.trained) write_trained(words, one);
  return words.text();
}

}  // namespace

std::string weights_name(const Stage& synapse) {
  return synapse.name + ".weights";
}
std::string mask_name(const Stage& synapse) {
  return synapse.name + ".mask";
}
std::string class_weights_name(const Stage& loss) {
  return loss.name + ".class_weights";
}

void write_metadata(files::SafetensorsWriter& writer, const Design& design, const Position& position) {
  const NetworkRules& rules = design.rules();
  const std::vector<Stage>& stages = design.stages();
  if (stages.size() > most_stages)
    fail_argument("SYN-NETWORK-FILE", "the network has %zu stages; a file has at most %zu", stages.size(),
                  static_cast<size_t>(most_stages));
  WordWriter words;
  words.add_whole("version", format_version);
  words.add("dtype", core::name_of_dtype(rules.dtype));
  words.add_whole("n_steps", static_cast<uint64_t>(rules.n_steps));
  words.add_whole("batch", static_cast<uint64_t>(rules.batch));
  words.add_whole(seed_word, rules.seed);
  words.add_whole("drop_last", rules.drop_last ? 1 : 0);
  words.add_whole("n_slots", rules.n_slots);
  words.add_whole("n_stages", stages.size());
  words.add_whole("n_rows", static_cast<uint64_t>(position.n_rows));
  words.add_whole("next_batch", position.next_batch);
  writer.set_metadata(network_key, words.text());
  for (size_t i = 0; i < stages.size(); ++i) {
    std::string text = text_of_stage(stages[i]);
    WordWriter offsets;
    if (position.training[i] != 0) offsets.add_whole("offset", position.training[i]);
    if (position.inference[i] != 0) offsets.add_whole("inference_offset", position.inference[i]);
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

NetworkRules read_rules(WordReader& words) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  const std::string dtype = words.take("dtype");
  const auto* const at =
      std::ranges::find(dtypes, dtype, [](int32_t one) -> std::string { return core::name_of_dtype(one); });
  if (at == std::end(dtypes)) words.fail("dtype", dtype, "f32 or f64");
  desc.dtype = *at;
  desc.n_steps = static_cast<int64_t>(words.take_whole("n_steps", INT64_MAX));
  desc.batch = static_cast<int64_t>(words.take_whole("batch", INT64_MAX));
  desc.seed = words.take_whole(seed_word, any);
  desc.drop_last = static_cast<int32_t>(words.take_whole("drop_last", 1));
  desc.n_slots = static_cast<uint32_t>(words.take_whole("n_slots", UINT32_MAX));
  return NetworkRules(desc);
}

StageKind read_kind(WordReader& words) {
  const std::string text = words.take("kind");
  for (int kind = 0; kind < n_stage_kinds; ++kind)
    if (text == name_of(static_cast<StageKind>(kind))) return static_cast<StageKind>(kind);
  words.fail("kind", text, "a kind of stage");
}

TrainedParameter read_trained(const WordReader& words, const WordReader::Word& word) {
  const std::string key = std::string(trained_prefix) + word.key;
  std::vector<std::string_view> parts;
  for (std::string_view rest = word.value; parts.size() < 6;) {
    const size_t comma = std::min(rest.find(','), rest.size());
    parts.push_back(rest.substr(0, comma));
    if (comma == rest.size()) break;
    rest.remove_prefix(comma + 1);
  }
  if (parts.size() != 5 || (parts[0] != "neuron" && parts[0] != "layer"))
    words.fail(key, word.value, "\"neuron\" or \"layer\", two factors and two bounds");
  const auto number = [&](size_t i) { return words.number(key, parts[i]); };
  return {word.key, parts[0] == "neuron", number(1), number(2), number(3), number(4)};
}

int32_t read_model(WordReader& words, const core::Context& context) {
  const std::string text = words.take("model");
  if (const core::FoundModel model = core::find_model(text, context)) return model->id;
  fail_argument("SYN-NETWORK-FILE",
                "the file has neurons of model %s, which this library does not have, nor was it loaded into this "
                "context; it has %s",
                core::quoted(text, 64).c_str(), core::model_names());
}

// 0 if the words name none.
int32_t read_surrogate(WordReader& words, const core::Context& context) {
  const std::string text = words.take(loaded_surrogate_name, "");
  if (text.empty()) return 0;
  if (const core::FoundSurrogate surrogate = core::find_surrogate(text, context)) return surrogate->id;
  fail_argument("SYN-NETWORK-FILE", "the file has the surrogate %s, which was not loaded into this context",
                core::quoted(text, 64).c_str());
}

struct ReadStage {
  Stage stage;
  bool has_mask, has_class_weights;
  uint64_t offset, inference_offset;
};

ReadStage read_stage(const files::SafetensorsFile& file, size_t index, const core::Context& context) {
  const std::string key = key_of_stage(index);
  WordReader words(key, metadata_of(file, key));
  ReadStage read = {};
  Stage& stage = read.stage;
  stage.kind = read_kind(words);
  stage.name = words.take("name");
  stage.width = static_cast<int64_t>(words.take_whole("width", INT64_MAX, 0));
  stage.choice = stage.kind == StageKind::neurons ? read_model(words, context)
                                                  : static_cast<int32_t>(words.take_whole("choice", INT32_MAX));
  if (stage.kind == StageKind::readout) stage.of_spikes = words.take_whole("of_spikes", 1) == 1;
  stage.seed = words.take_whole(seed_word, any);
  if (stage.kind == StageKind::neurons) stage.has_rate = words.take_whole("has_rate", 1, 0) == 1;
  if (stage.kind == StageKind::synapse) read.has_mask = words.take_whole("has_mask", 1, 0) == 1;
  if (stage.kind == StageKind::loss) read.has_class_weights = words.take_whole("has_class_weights", 1, 0) == 1;
  // Files of versions that did not know a value that acts on no result lack it.
  for (const ValueSpec& spec : specs_of(stage.kind)) {
    const bool is_absent = spec.effect == ValueSpec::Effect::on_none && !words.has(spec.name);
    stage.values.push_back(spec.name == seed_word || is_absent ? spec.initial : words.take_number(spec.name));
  }
  if (stage.kind == StageKind::neurons) {
    if (const int32_t surrogate = read_surrogate(words, context); surrogate != 0)
      for (size_t i = 0; i < stage.values.size(); ++i)
        if (specs_of(stage.kind)[i].name == surrogate_name) stage.values[i] = surrogate;
    for (WordReader::Word word; !(word = words.take_first(parameter_prefix)).key.empty();)
      stage.parameters.push_back({word.key, words.number(std::string(parameter_prefix) + word.key, word.value)});
    for (WordReader::Word word; !(word = words.take_first(trained_prefix)).key.empty();)
      stage.trained.push_back(read_trained(words, word));
  }
  read.offset = words.take_whole("offset", most_counted, 0);
  read.inference_offset = words.take_whole("inference_offset", most_counted, 0);
  words.end();
  return read;
}

// So that a width is at most what the file has weights for.
void check_weights(const files::SafetensorsFile& file, const Design& design) {
  const Stage& synapse = design.stages().back();
  const int64_t shape[] = {synapse.width, design.before(design.stages().size() - 1).width};
  const bool f64 = design.rules().dtype == SYNFIRE_DTYPE_F64;
  file.bytes(weights_name(synapse), f64 ? files::Dtype::f64 : files::Dtype::f32, shape);
}

void read_mask(const files::SafetensorsFile& file, Design& design, const std::string& name) {
  const size_t index = design.find(name.c_str(), StageKind::synapse);
  const int64_t shape[] = {design.stages()[index].width, design.before(index).width};
  const auto bytes = file.bytes(mask_name(design.stages()[index]), files::Dtype::u8, shape);
  design.set_mask(name.c_str(), reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

void read_class_weights(const files::SafetensorsFile& file, Design& design, const std::string& name) {
  const size_t index = design.find(name.c_str(), StageKind::loss);
  const int64_t shape[] = {design.before(index).width};
  const auto bytes = file.bytes(class_weights_name(design.stages()[index]), files::Dtype::f32, shape);
  std::vector<float> weights(bytes.size() / sizeof(float));
  std::memcpy(weights.data(), bytes.data(), bytes.size());
  design.set_class_weights(name.c_str(), weights.data(), weights.size());
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

// Metadata of others have other names.
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

void read_into(SavedNetwork& saved, const files::SafetensorsFile& file, size_t index, const core::Context& context) {
  const ReadStage read = read_stage(file, index, context);
  as_argument([&] { saved.design.add_copy(read.stage); });
  if (read.stage.kind == StageKind::synapse) check_weights(file, saved.design);
  if (read.has_mask) read_mask(file, saved.design, read.stage.name);
  if (read.has_class_weights) read_class_weights(file, saved.design, read.stage.name);
  saved.position.training.push_back(read.offset);
  saved.position.inference.push_back(read.inference_offset);
}

}  // namespace

SavedNetwork read_metadata(const files::SafetensorsFile& file, const core::Context& context) {
  WordReader words(network_key, metadata_of(file, std::string(network_key)));
  const uint64_t version = words.take_whole("version", any);
  if (version != format_version)
    fail_argument("SYN-NETWORK-FILE", "the file has version %llu of the format; this library reads version %llu",
                  static_cast<unsigned long long>(version), static_cast<unsigned long long>(format_version));
  SavedNetwork saved = {Design(read_rules(words)), {}};
  const uint64_t n_stages = words.take_whole("n_stages", most_stages);
  Position& position = saved.position;
  constexpr uint64_t most_rows = 0xFFFFFFFF;
  position.n_rows = static_cast<int64_t>(words.take_whole("n_rows", most_rows));
  position.next_batch = words.take_whole("next_batch", most_counted);
  words.end();
  for (size_t i = 0; i < n_stages; ++i) read_into(saved, file, i, context);
  as_argument([&] { saved.design.check_complete(); });
  check_keys(file, n_stages);
  return saved;
}

// ---- comparing ------------------------------------------------------------------------------------------------------

namespace {

class Comparison {
 public:
  Comparison(const Design& network, const Design& file) : network_(network), file_(file) {}

  void run() const {
    const size_t n_here = network_.stages().size(), n_there = file_.stages().size();
    for (size_t i = 0; i < std::max(n_here, n_there); ++i) {
      if (i == n_here && file_.stages()[i].kind >= StageKind::loss) break;
      if (i == n_here || i == n_there) {
        const bool here = i < n_here;
        fail_argument("SYN-NETWORK-OTHER", "%s has no stage \"%s\" of kind %s, which the %s has",
                      here ? "the file" : "the network", (here ? network_ : file_).stages()[i].name.c_str(),
                      name_of((here ? network_ : file_).stages()[i].kind), here ? "network" : "file");
      }
      compare(network_.stages()[i], file_.stages()[i], i);
    }
    compare_rules(network_.rules(), file_.rules());
  }

 private:
  [[noreturn]] static void fail(const Stage& stage, std::string_view what, const std::string& here,
                                const std::string& there) {
    fail_argument("SYN-NETWORK-OTHER", "%.*s of stage \"%s\" is %s in the network and %s in the file",
                  static_cast<int>(what.size()), what.data(), stage.name.c_str(), here.c_str(), there.c_str());
  }
  template <class Number>
  static void compare_whole(const Stage& stage, std::string_view what, Number here, Number there) {
    if (here != there) fail(stage, what, std::to_string(here), std::to_string(there));
  }
  static void compare_number(const Stage& stage, std::string_view what, double here, double there) {
    if (here != there) fail(stage, what, text_of(here), text_of(there));
  }

  void compare(const Stage& here, const Stage& there, size_t index) const {
    if (here.name != there.name || here.kind != there.kind)
      fail_argument("SYN-NETWORK-OTHER",
                    "stage %zu is \"%s\" of kind %s in the network and \"%s\" of kind %s in the file", index,
                    here.name.c_str(), name_of(here.kind), there.name.c_str(), name_of(there.kind));
    compare_whole(here, "the width", here.width, there.width);
    if (here.kind == StageKind::neurons) {
      const core::FoundModel model = core::find_model(model_of(here)), other = core::find_model(model_of(there));
      if (std::strcmp(model->name, other->name) != 0) fail(here, "the model", model->name, other->name);
    } else {
      compare_whole(here, here.kind == StageKind::readout ? "the reduction" : "the kind", here.choice, there.choice);
    }
    compare_whole(here, "of_spikes", here.of_spikes ? 1 : 0, there.of_spikes ? 1 : 0);
    // What draws random numbers in every replay.
    if ((here.kind == StageKind::input && here.choice == SYNFIRE_NETWORK_INPUT_RATES) ||
        (here.kind == StageKind::dropout && network_.is_trainable()))
      compare_whole(here, "\"seed\"", here.seed, there.seed);
    compare_values(here, there);
    if (here.mask != there.mask)
      fail_argument("SYN-NETWORK-OTHER", "the mask of stage \"%s\" is not that of the file", here.name.c_str());
    if (here.class_weights != there.class_weights)
      fail_argument("SYN-NETWORK-OTHER", "the class weights of stage \"%s\" are not those of the file",
                    here.name.c_str());
    if (network_.is_trainable()) compare_training(here, there);
  }

  void compare_values(const Stage& here, const Stage& there) const {
    const std::span<const ValueSpec> specs = specs_of(here.kind);
    for (size_t i = 0; i < specs.size(); ++i) {
      const ValueSpec& spec = specs[i];
      if (spec.changes || spec.name == seed_word || spec.effect == ValueSpec::Effect::on_none) continue;
      if (spec.effect == ValueSpec::Effect::on_training && !network_.is_trainable()) continue;
      compare_number(here, std::string("\"").append(spec.name).append("\""), here.values[i], there.values[i]);
    }
  }

  static void compare_training(const Stage& here, const Stage& there) {
    if (there.has_rate && !here.has_rate)
      fail_argument("SYN-NETWORK-OTHER",
                    "\"rate_strength\" of stage \"%s\" was 0 when the network was built, and not in the file",
                    here.name.c_str());
    compare_whole(here, "the number of trained parameters", here.trained.size(), there.trained.size());
    for (size_t i = 0; i < here.trained.size(); ++i) {
      const TrainedParameter &one = here.trained[i], &other = there.trained[i];
      const std::string of = "trained parameter \"" + one.name + "\"";
      if (one.name != other.name) fail(here, "trained parameter " + std::to_string(i), one.name, other.name);
      compare_whole(here, "per_neuron of " + of, one.per_neuron ? 1 : 0, other.per_neuron ? 1 : 0);
      compare_number(here, "the learning_rate_factor of " + of, one.rate_factor, other.rate_factor);
      compare_number(here, "the weight_decay_factor of " + of, one.decay_factor, other.decay_factor);
      compare_number(here, "the lower bound of " + of, one.lower, other.lower);
      compare_number(here, "the upper bound of " + of, one.upper, other.upper);
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
    if (here.seed != there.seed) fail_rule("seed", text_of(here.seed), text_of(there.seed));
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

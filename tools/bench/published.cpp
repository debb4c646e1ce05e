// published.cpp - the descriptions of published networks, their inputs and their graphs.
//
// SPDX-License-Identifier: MIT
#include "published.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <sstream>

#include "inputs.hpp"

#include "../../docs/examples/zoo/zoo.h"

extern "C" {
zoo_describe vggsnn, dvs_gesture_net, sew_resnet18, nir_nmnist, neurobench_dvs;
}

namespace synfire_bench {
namespace {

constexpr std::uint64_t seed_of_inputs = 13;

template <zoo_describe Describe>
void describe(synfire_network network, int side, int divisor) {
  Describe(network, {side, divisor});
}

// 12C5-MP2-64C5-MP2-10 with LIF after each pool, as in tutorials of snnTorch.
void mnist_conv(synfire_network network, int side, int divisor) {
  constexpr const char* lif = "model=lif tau=2 surrogate=atan detach_reset=1";
  stage(network, "input", "image", "", "kind=spikes height=%d width=%d channels=1", side, side);
  for (int i = 0; i < 2; ++i) {
    stage(network, "conv2d", text("conv%d", i), "", "output_channels=%d kernel=5",
          channels({side, divisor}, i == 0 ? 12 : 64));
    stage(network, "pool", text("pool%d", i), "", "kind=max window=2");
    stage(network, "neurons", text("lif%d", i), "", "%s", lif);
  }
  stage(network, "flatten", "flat", "", "");
  dense(network, "classes", "", 10, lif);
  stage(network, "readout", "rates", "", "reduction=mean of_spikes=1");
  classify(network, "rates");
}

constexpr Published list[] = {
    {"vggsnn", describe<vggsnn>, 48, 10, 16},
    {"dvsgesture", describe<dvs_gesture_net>, 128, 16, 16},
    {"sew18", describe<sew_resnet18>, 224, 4, 32},
    {"nmnist-nir", describe<nir_nmnist>, 34, 16, 1},
    {"neurobench-dvs", describe<neurobench_dvs>, 32, 100, 16},
    {"mnist-conv", mnist_conv, 28, 50, 128},
};

std::string text_of(synfire_status (*write)(void* from, char* text, std::uint64_t* bytes), void* from,
                    const char* call) {
  std::uint64_t bytes = 0;
  check(write(from, nullptr, &bytes), call);
  std::string text(bytes, '\0');
  check(write(from, text.data(), &bytes), call);
  text.resize(bytes - 1);  // without the null
  return text;
}

// A copy of the network without its loss and its optimiser, and with other steps and batch rows.
Owned<synfire_network> for_inference(const Machine& machine, synfire_network network, std::uint64_t steps,
                                     std::uint64_t batch) {
  std::uint64_t bytes = 0;
  check(synfire_network_save_to_memory(network, nullptr, &bytes), "synfire_network_save_to_memory");
  std::vector<char> file(bytes);
  check(synfire_network_save_to_memory(network, file.data(), &bytes), "synfire_network_save_to_memory");
  synfire_network_file_desc desc = SYNFIRE_NETWORK_FILE_DESC_INIT;
  desc.inference = 1;
  desc.n_slots = SYNFIRE_SLOTS_SHARED;  // replays are launched without waiting
  desc.n_steps = static_cast<std::int64_t>(steps);
  desc.batch = static_cast<std::int64_t>(batch);
  synfire_network made = nullptr;
  check(synfire_network_create_from_memory(machine.context(), file.data(), bytes, &desc, &made),
        "synfire_network_create_from_memory");
  return Owned<synfire_network>(made);
}

// Random elements of an input: spikes, counts, or numbers from 0 to 1.
std::vector<char> random_input(const synfire_buffer_desc& desc, double percent) {
  const std::uint64_t count = desc.n_elements;
  const auto as_bytes = [](const auto& elements) {
    const char* const begin = reinterpret_cast<const char*>(elements.data());
    return std::vector<char>(begin, begin + elements.size() * sizeof elements[0]);
  };
  if (desc.dtype == SYNFIRE_DTYPE_BITS) {
    const std::vector<float> numbers = random_numbers(count * 32, 0, 100, seed_of_inputs);
    std::vector<std::uint32_t> words(count);
    for (std::uint64_t i = 0; i < count * 32; ++i)
      if (static_cast<double>(numbers[i]) < percent) words[i / 32] |= std::uint32_t{1} << i % 32;
    return as_bytes(words);
  }
  if (desc.dtype == SYNFIRE_DTYPE_U8) {
    std::vector<std::uint8_t> counts(count);
    const std::vector<float> numbers = random_numbers(count, 0, 256, seed_of_inputs);
    std::transform(numbers.begin(), numbers.end(), counts.begin(),
                   [](float number) { return static_cast<std::uint8_t>(number); });
    return as_bytes(counts);
  }
  if (desc.dtype == SYNFIRE_DTYPE_F32) return as_bytes(random_numbers(count, 0, 1, seed_of_inputs));
  throw CallFailed("networks are measured with inputs of packed spikes, u8 or f32");
}

}  // namespace

std::span<const Published> published_networks() {
  return list;
}

bool is_network_file(std::string_view name) {
  return name.ends_with(".safetensors");
}

PublishedNetwork::PublishedNetwork(const Machine& machine, const Published& published, const NetworkChoice& choice,
                                   bool training)
    : steps_(choice.steps != 0 ? choice.steps : published.steps),
      batch_(choice.batch != 0 ? choice.batch : published.batch) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = static_cast<std::int64_t>(training ? steps_ : 1);
  desc.batch = static_cast<std::int64_t>(training ? batch_ : 1);
  desc.transient_arrays = choice.transient ? 1 : 0;
  synfire_network network = nullptr;
  check(synfire_network_create(machine.context(), &desc, &network), "synfire_network_create");
  network_.reset(network);
  published.describe(network, choice.side != 0 ? static_cast<int>(choice.side) : published.side,
                     static_cast<int>(choice.divisor));
  for (const StageLine& line : stages())
    if (choice.weight_bits != 0 && (line.kind == "conv2d" || line.kind == "synapse"))
      check(synfire_network_set_value(network, line.name.c_str(), "weight_bits", choice.weight_bits),
            "synfire_network_set_value");
  check(synfire_network_build(network), "synfire_network_build");
  if (!training) network_ = for_inference(machine, network, steps_, batch_);
  begin(machine, choice.input_percent, training);
}

PublishedNetwork::PublishedNetwork(const Machine& machine, const std::string& file, const NetworkChoice& choice,
                                   bool training) {
  synfire_network_file_desc desc = SYNFIRE_NETWORK_FILE_DESC_INIT;
  desc.inference = training ? 0 : 1;
  desc.n_slots = SYNFIRE_SLOTS_SHARED;
  desc.n_steps = static_cast<std::int64_t>(choice.steps);
  desc.batch = static_cast<std::int64_t>(choice.batch);
  synfire_network network = nullptr;
  check(synfire_network_create_from_file(machine.context(), file.c_str(), &desc, &network),
        "synfire_network_create_from_file");
  network_.reset(network);
  const std::string text = summary();
  std::istringstream numbers(text.substr(text.find(" parameters, ") + std::string_view(" parameters, ").size()));
  std::string word;
  numbers >> steps_ >> word >> word >> batch_;  // "16 steps of 2 rows"
  begin(machine, choice.input_percent, training);
}

std::string PublishedNetwork::summary() const {
  return text_of(
      [](void* from, char* text, std::uint64_t* bytes) {
        return synfire_network_write_summary(static_cast<synfire_network>(from), text, bytes);
      },
      network_.get(), "synfire_network_write_summary");
}

// The lines between the titles and "1642 parameters, 16 steps of 2 rows in f32".
std::vector<PublishedNetwork::StageLine> PublishedNetwork::stages() const {
  std::istringstream summary(this->summary());
  std::vector<StageLine> lines;
  std::string line;
  std::getline(summary, line);
  while (std::getline(summary, line) && line.find(" parameters, ") == std::string::npos) {
    std::istringstream words(line);
    StageLine& stage = lines.emplace_back();
    words >> stage.name >> stage.kind;
    const std::size_t begin = line.find('['), end = line.find(']');
    if (begin < end && end < line.size()) stage.shape = line.substr(begin + 1, end - begin - 1);
  }
  return lines;
}

Owned<synfire_buffer> PublishedNetwork::buffer(const std::string& name) const {
  synfire_buffer found = nullptr;
  check(synfire_network_get_buffer(network_.get(), name.c_str(), &found), "synfire_network_get_buffer");
  return Owned<synfire_buffer>(found);
}

void PublishedNetwork::begin(const Machine& machine, double input_percent, bool training) {
  std::istringstream shape(stages().front().shape);  // "10, 16, 48, 48, 2": steps, batch rows and a map
  std::size_t position = 0;
  for (std::string length; std::getline(shape >> std::ws, length, ','); ++position)
    if (position >= 2) input_.append(input_.empty() ? "" : "x").append(length);
  const Owned<synfire_buffer> input = buffer("input");
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  check(synfire_buffer_get_desc(input.get(), &desc), "synfire_buffer_get_desc");
  const double percent = std::isnan(input_percent) ? 10 : input_percent;
  if (training) {
    set_data(machine, desc, percent);
  } else {
    const std::vector<char> elements = random_input(desc, percent);
    check(synfire_buffer_upload(input.get(), 0, elements.data(), elements.size()), "synfire_buffer_upload");
  }
  synfire_graph graph = nullptr;
  check(synfire_network_get_graph(network_.get(),
                                  training ? SYNFIRE_NETWORK_GRAPH_TRAINING : SYNFIRE_NETWORK_GRAPH_INFERENCE, &graph),
        "synfire_network_get_graph");
  graph_.reset(graph);
}

// As many rows as a batch has, so that every replay reads all of them.
void PublishedNetwork::set_data(const Machine& machine, const synfire_buffer_desc& input, double input_percent) {
  const auto make = [&](std::int32_t dtype, const void* elements, std::uint64_t count, std::uint64_t bytes) {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.dtype = dtype;
    desc.n_elements = count;
    synfire_buffer made = nullptr;
    check(synfire_buffer_create(machine.context(), &desc, &made), "synfire_buffer_create");
    Owned<synfire_buffer> owned(made);
    check(synfire_buffer_upload(made, 0, elements, bytes), "synfire_buffer_upload");
    return owned;
  };
  const std::vector<char> elements = random_input(input, input_percent);
  const Owned<synfire_buffer> rows = make(input.dtype, elements.data(), input.n_elements, elements.size());
  std::vector<std::uint32_t> classes(batch_);
  for (std::uint32_t i = 0; i < batch_; ++i) classes[i] = i % 2;
  const Owned<synfire_buffer> labels = make(SYNFIRE_DTYPE_U32, classes.data(), batch_, batch_ * sizeof classes[0]);
  check(synfire_network_set_data(network_.get(), SYNFIRE_DATA_TRAINING, static_cast<std::int64_t>(batch_), rows.get(),
                                 labels.get(), nullptr, nullptr, nullptr),
        "synfire_network_set_data");
}

std::vector<std::string> PublishedNetwork::operations() const {
  std::istringstream dot(text_of(
      [](void* from, char* text, std::uint64_t* bytes) {
        return synfire_graph_write_dot(static_cast<synfire_graph>(from), text, bytes);
      },
      graph_.get(), "synfire_graph_write_dot"));
  std::vector<std::string> names;
  for (std::string line; std::getline(dot, line);) {
    const std::string_view key = " [label=\"";
    const std::size_t at = line.find(key);
    if (at == std::string::npos) continue;
    std::string name = line.substr(at + key.size(), line.find('"', at + key.size()) - at - key.size());
    for (std::size_t end = 0; (end = name.find("\\n")) != std::string::npos;) name.replace(end, 2, ", ");
    names.push_back(std::move(name));
  }
  return names;
}

void PublishedNetwork::enable(std::size_t operation, bool enabled) const {
  check(synfire_graph_set_enabled(graph_.get(), static_cast<std::int32_t>(operation), enabled ? 1 : 0),
        "synfire_graph_set_enabled");
}

namespace {

constexpr std::string_view backward_begins = ": backward, ", forward_begins = ": forward, ";

// "lif layer 3" of "7: backward, lif layer 3, f32 [4, 2, 9]".
std::string layer_in(const std::string& name, std::string_view begins) {
  const std::size_t at = name.find(begins);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + begins.size();
  return name.substr(begin, name.find(',', begin) - begin);
}

}  // namespace

// A launch says what is missing: "..., and operation 7, which writes it, is disabled", or that the X of a backward was
// written after its forward.
std::vector<std::size_t> PublishedNetwork::enable_with_needs(std::size_t operation) const {
  const std::vector<std::string> names = operations();
  std::vector<std::size_t> enabled;
  const auto add = [&](std::size_t other) {
    if (std::find(enabled.begin(), enabled.end(), other) != enabled.end()) return;
    enable(other, true);
    enabled.push_back(other);
  };
  add(operation);
  for (;;) {
    std::uint64_t ticket = 0;
    const synfire_status status = synfire_graph_launch(graph_.get(), nullptr, &ticket);
    if (status == SYNFIRE_OK) {
      check(synfire_graph_wait(graph_.get(), ticket, SYNFIRE_WAIT_SPIN, -1), "synfire_graph_wait");
      enabled.erase(enabled.begin());
      return enabled;
    }
    std::string text(1024, '\0');
    synfire_last_error(text.data(), text.size(), nullptr);
    const std::size_t before = enabled.size();
    const std::string_view key = "and operation ";
    if (const std::size_t at = text.find(key);
        text.find("SYN-TRANSIENT-DISABLED") != std::string::npos && at != std::string::npos)
      add(std::stoul(text.substr(at + key.size())));
    if (status == SYNFIRE_ERROR_STALE_TAPE)
      for (std::size_t i = 0; i < before; ++i)
        for (std::size_t other = 0; other < enabled[i]; ++other)
          if (const std::string layer = layer_in(names[enabled[i]], backward_begins);
              !layer.empty() && layer == layer_in(names[other], forward_begins))
            add(other);
    if (enabled.size() == before) check(status, "synfire_graph_launch");
  }
}

double PublishedNetwork::device_mib() const {
  synfire_network_memory memory = SYNFIRE_NETWORK_MEMORY_INIT;
  check(synfire_network_query_memory(network_.get(), &memory), "synfire_network_query_memory");
  return static_cast<double>(memory.device_bytes) / 1048576;
}

double PublishedNetwork::spike_rate() const {
  double spikes = 0, neurons = 0;
  for (const StageLine& line : stages()) {
    if (line.kind != "neurons") continue;
    synfire_buffer found = nullptr;
    // A network has no such array where one operation computes several stages, or where arrays are transient.
    if (synfire_network_get_buffer(network_.get(), (line.name + ".spikes").c_str(), &found) < 0) continue;
    const Owned<synfire_buffer> owned(found);
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    check(synfire_buffer_get_desc(found, &desc), "synfire_buffer_get_desc");
    if (desc.dtype != SYNFIRE_DTYPE_BITS) continue;
    std::vector<std::uint32_t> words(desc.n_elements);
    check(synfire_buffer_download(found, 0, words.data(), words.size() * sizeof words[0]), "synfire_buffer_download");
    for (const std::uint32_t word : words) spikes += std::popcount(word);
    double of_stage = 1, length = 0;
    std::istringstream shape(line.shape);
    while (shape >> length) {
      of_stage *= length;
      shape.ignore(1);
    }
    neurons += of_stage;
  }
  return neurons > 0 ? spikes / neurons : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace synfire_bench

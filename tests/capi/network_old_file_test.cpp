// Files and version 0.2.0: its file is read and saved as it was, byte for byte; a network that it could have made is
// saved in its words, so that it reads the file; what is newer is in a file only where it is used.
#include "network_file.hpp"
#include "network_file_0_2.hpp"

namespace synfire_test {
namespace {

File file_of_0_2() {
  FileParts parts(File(8));
  parts.header = header_of_0_2;
  const std::string_view digits = tensors_of_0_2;
  const auto value = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    parts.data.push_back(static_cast<char>(value(digits[i]) * 16 + value(digits[i + 1])));
  return parts.whole();
}

class NetworkOldFile : public testing::Test {
 protected:
  Context context = make_context(1);

  Network stages() const {
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.n_steps = 3;
    desc.batch = 2;
    desc.seed = 7;
    synfire_network made = nullptr;
    require_ok(synfire_network_create(context, &desc, &made));
    Network network(made);
    const auto set = [&](const char* stage, const char* name, double value) {
      require_ok(synfire_network_set_value(network, stage, name, value));
    };
    require_ok(synfire_network_add_input(network, "input", SYNFIRE_NETWORK_INPUT_RATES, 5));
    require_ok(synfire_network_add_dropout(network, "drop", 0.25));
    require_ok(synfire_network_add_synapse(network, "s0", 4));
    set("s0", "gain", 2);
    std::vector<uint8_t> mask(20, 1);
    mask[3] = mask[11] = 0;
    require_ok(synfire_network_set_mask(network, "s0", mask.data(), mask.size()));
    require_ok(synfire_network_add_neurons(network, "n0", SYNFIRE_MODEL_LIF));
    set("n0", "rate_target", 0.2);
    set("n0", "rate_strength", 0.5);
    set("n0", "v_threshold", 0.5);
    require_ok(synfire_network_train_parameter(network, "n0", "tau", 1, 0.5, 0, 1.1, infinity_of_double));
    require_ok(synfire_network_add_synapse(network, "s1", 3));
    set("s1", "gain", 2);
    set("s1", "seed", 101);
    require_ok(synfire_network_add_neurons(network, "n1", SYNFIRE_MODEL_LI));
    require_ok(synfire_network_add_readout(network, "readout", SYNFIRE_READOUT_MEAN, 0));
    require_ok(synfire_network_add_loss(network, "loss", SYNFIRE_LOSS_CROSS_ENTROPY));
    set("loss", "label_smoothing", 0.125);
    const float weights[] = {1, 2, 0.5F};
    require_ok(synfire_network_set_class_weights(network, "loss", weights, 3));
    require_ok(synfire_network_add_optimizer(network, "optimizer", SYNFIRE_OPTIMIZER_KIND_ADAMW, 0.01));
    set("optimizer", "clip_norm", 0.5);
    return network;
  }
  Network trained() const {
    Network network = stages();
    require_ok(synfire_network_build(network));
    std::vector<float> rates(25);
    for (size_t i = 0; i < rates.size(); ++i) rates[i] = static_cast<float>(i * 7 % 16) / 16;
    const std::vector<uint32_t> labels = {0, 1, 2, 0, 1};
    const Buffer inputs = make_buffer_of(context, rates),
                 classes = buffer_of_bytes(context, SYNFIRE_DTYPE_U32, 5, labels.data(), 20);
    require_ok(synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, 5, inputs, classes, nullptr, nullptr, nullptr));
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    require_ok(synfire_network_train(network, 4, &result));
    return network;
  }
};

// The keys of a header, the words of metadata by their keys, and the tensors with their types and shapes: all but the
// numbers that a training gives.
std::string form_of(const std::string& header) {
  std::string form;
  for (size_t at = 0; at < header.size(); ++at) {
    form += header[at];
    const auto follows = [&](std::string_view key) { return form.ends_with(key); };
    if (!follows("seed=") && !follows("inference_offset=")) continue;
    while (at + 1 < header.size() && header[at + 1] >= '0' && header[at + 1] <= '9') ++at;
  }
  form.erase(form.find_last_not_of(' ') + 1);
  return form;
}

TEST_F(NetworkOldFile, IsWrittenInItsWords) {
  EXPECT_EQ(form_of(FileParts(saved(trained())).header), form_of(header_of_0_2));
}

TEST_F(NetworkOldFile, IsReadAndWrittenAgain) {
  const File file = file_of_0_2();
  EXPECT_EQ(saved(created(context, file)), file);
  const Network network = stages();
  require_ok(synfire_network_build(network));
  require_ok(load(network, file));
  EXPECT_EQ(saved(network), file);
}

// 0.2 refuses words that it does not know. It reads all of these files but those that it could not have written.
TEST_F(NetworkOldFile, NewerValuesAreInAFileOnlyIfChanged) {
  struct Newer {
    const char *stage, *name, *word;
  };
  const Newer all[] = {{"input", "any_number", " pinned=0 any_number=1"},
                       {"input", "replace_nonfinite", " pinned=0 replace_nonfinite=1"},
                       {"loss", "any_number", " gradient_scale=1 any_number=1"}};
  for (const Newer& newer : all) {
    const Network network = stages();
    require_ok(synfire_network_set_value(network, newer.stage, newer.name, 1));
    require_ok(synfire_network_build(network));
    const File file = saved(network);
    const std::string header = FileParts(file).header;
    EXPECT_NE(header.find(newer.word), std::string::npos) << header;
    const Network again = created(context, file);
    double value = 0;
    require_ok(synfire_network_get_value(again, newer.stage, newer.name, &value));
    EXPECT_EQ(value, 1) << newer.name;
    EXPECT_EQ(saved(again), file);
  }
  const std::string header = FileParts(saved(trained())).header;
  for (const char* const name : {"any_number", "replace_nonfinite"})
    EXPECT_EQ(header.find(name), std::string::npos) << header;
  // Versions between 0.2 and this one always wrote them.
  const File between = FileParts(file_of_0_2())
                           .replace(" pinned=0", " pinned=0 any_number=0 replace_nonfinite=0")
                           .replace(" gradient_scale=1", " gradient_scale=1 any_number=0")
                           .whole();
  EXPECT_EQ(saved(created(context, between)), file_of_0_2());
}

}  // namespace
}  // namespace synfire_test

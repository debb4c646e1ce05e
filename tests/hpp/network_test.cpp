// Networks in C++: their parts, which outlive them, data from vectors, wrong names and orders.
#include <gtest/gtest.h>
#include <synfire/synfire.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <thread>

namespace {

constexpr int inputs = 5, rows = 7, batch = 3;

class Networks : public testing::Test {
 protected:
  const synfire::Context context{synfire::context_desc(
      std::getenv("SYNFIRE_TEST_BACKEND") != nullptr && std::string(std::getenv("SYNFIRE_TEST_BACKEND")) == "cuda"
          ? SYNFIRE_BACKEND_CUDA
          : SYNFIRE_BACKEND_HOST)};

  synfire::Network stages() const {
    synfire::Network network(context, synfire::network_desc(synfire::steps{4}, SYNFIRE_DTYPE_F32, batch));
    network.add_input("rates", SYNFIRE_NETWORK_INPUT_RATES, inputs);
    network.add_synapse("first", 6);
    network.add_neurons("hidden", SYNFIRE_MODEL_LIF);
    network.add_synapse("second", 2);
    network.add_neurons("potentials", SYNFIRE_MODEL_LI);
    network.add_readout("scores", SYNFIRE_READOUT_MEAN);
    network.add_loss("loss", SYNFIRE_LOSS_CROSS_ENTROPY);
    network.add_optimizer("adam", SYNFIRE_OPTIMIZER_KIND_ADAM);
    return network;
  }
  synfire::Network built() const {
    synfire::Network network = stages();
    network.build();
    std::vector<float> rates;
    std::vector<std::uint32_t> labels;
    for (int i = 0; i < rows * inputs; ++i) rates.push_back(static_cast<float>(i % 4) / 4);
    for (std::uint32_t row = 0; row < rows; ++row) labels.push_back(row % 2);
    synfire::set_data(context, network, SYNFIRE_DATA_TRAINING, rates, labels);
    synfire::set_data(context, network, SYNFIRE_DATA_EVALUATION, rates, labels);
    return network;
  }
};

std::vector<float> array(const synfire::Synapse& synapse, const char* name, std::size_t size) {
  std::vector<float> values(size);
  synfire::read(synapse, name, values);
  return values;
}

void expect_refused(synfire_status status, std::initializer_list<const char*> words,
                    const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const synfire::error& refused) {
    EXPECT_EQ(refused.status(), status) << refused.what();
    for (const char* const word : words) EXPECT_NE(std::string(refused.what()).find(word), std::string::npos) << word;
  }
}

TEST_F(Networks, PartsAreTheirOwn) {
  synfire::Network network = built();
  const synfire::Synapse first = network.synapse("first"), second = network.synapse("second");
  const std::vector<float> before = array(first, "weight", 6 * inputs);
  EXPECT_EQ(network.train().n_batches, 3U);
  EXPECT_NE(array(first, "weight", 6 * inputs), before);
  EXPECT_EQ(array(first, "weights", 6 * inputs), array(first, "weight", 6 * inputs)) << "the name that files have";
  // Weights that are written by hand are those of the next evaluation: without any, both classes are as likely.
  synfire::write(second, "weights", std::vector<float>(12));
  synfire::write(second, "bias", std::vector<float>(2));
  const synfire_network_result result = network.evaluate();
  EXPECT_NEAR(result.loss, std::log(2.0), 1e-6);
  EXPECT_EQ(synfire::accuracy(result), static_cast<double>(result.n_correct) / rows);
  EXPECT_EQ(synfire::accuracy(synfire_network_result{}), 0);

  synfire::Layer hidden = network.layer("hidden");
  EXPECT_EQ(hidden.desc().n_neurons, 6);
  EXPECT_EQ(hidden.desc().batch, batch);
  hidden.set_parameter("tau", 5);
  EXPECT_EQ(network.value("hidden", "tau"), 5);
  std::vector<std::uint64_t> count(1);
  synfire::read(network.optimizer("adam"), -1, "step_count", count);
  EXPECT_EQ(count[0], 3U);
  const synfire::Buffer input = network.buffer("input");
  EXPECT_EQ(input.dtype(), SYNFIRE_DTYPE_F32);
  EXPECT_EQ(input.size(), static_cast<std::size_t>(batch * inputs));
  EXPECT_TRUE(input.host_visible());
}

// A branch that cannot be is refused, and named.
TEST_F(Networks, BranchesAreChecked) {
  using synfire::Stage;
  synfire::Network network = stages();
  const auto refused = [&](std::initializer_list<const char*> words, const Stage& stage) {
    expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, words, [&] { add_stage(network, stage); });
  };
  refused({"SYN-NETWORK-READS", "later"}, Stage("sum", "a").reads("hidden").reads("later"));
  refused({"SYN-NETWORK-SHAPE", "[4, 3, 6]", "[4, 3, 5]"}, Stage("sum", "a").reads("hidden").reads("rates"));
  refused({"SYN-COUNT-BOUND", "256"}, Stage("input", "a").set("kind", "counts").set("n_features", 2).set("bound", 256));
  synfire::Network open(context, synfire::network_desc(synfire::steps{4}, SYNFIRE_DTYPE_F32, batch));
  open.add_input("rates", SYNFIRE_NETWORK_INPUT_RATES, inputs);
  open.add_synapse("first", 6);
  expect_refused(SYNFIRE_ERROR_WRONG_ORDER, {"SYN-NETWORK-INCOMPLETE"}, [&] { open.build(); });
  open.add_neurons("hidden", SYNFIRE_MODEL_LIF);
  add_stage(open, Stage("input", "c").set("kind", "counts").set("n_features", 6).set("bound", 255));
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, {"SYN-COUNT-BOUND", "256"},
                 [&] { add_stage(open, Stage("sum", "a").reads("hidden").reads("c")); });
  // A head more than the network has.
  synfire::Network more = stages();
  add_stage(more, Stage("readout", "extra").reads("hidden").set("reduction", "sum"));
  more.build();
  network.build();
  const std::vector<unsigned char> file = save_to_memory(more);
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, {"SYN-NETWORK-OTHER", "extra"},
                 [&] { load_from_memory(network, file); });
}

// Rows in vectors: each has its output, whatever rows are beside it.
TEST_F(Networks, TakesAndGivesVectors) {
  synfire::Network network = built();
  std::vector<float> rates(static_cast<std::size_t>(rows * inputs));
  for (std::size_t i = 0; i < rates.size(); ++i) rates[i] = static_cast<float>(i % 5) / 5;
  std::vector<std::uint32_t> labels;
  for (std::uint32_t row = 0; row < rows; ++row) labels.push_back(row % 2);
  const std::vector<float> all = infer(context, network, rates);
  ASSERT_EQ(all.size(), static_cast<std::size_t>(rows * 2));
  const std::vector<float> first = infer(context, network, std::vector<float>(rates.begin(), rates.begin() + inputs));
  EXPECT_EQ(first, std::vector<float>(all.begin(), all.begin() + 2));
  EXPECT_EQ(evaluate(context, network, rates, labels).n_counted, static_cast<std::uint64_t>(rows));
  const auto refused = [&](auto call) {
    expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, {"SYN-NETWORK-DATA", "34"}, call);
  };
  rates.pop_back();
  refused([&] { infer(context, network, rates); });
  refused([&] { evaluate(context, network, rates, labels); });
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, {"SYN-NETWORK-DATA", "whole rows of 5"},
                 [&] { infer(context, network, std::vector<float>()); });
  rates.push_back(0);
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, {"f64"}, [&] { synfire::infer<double>(context, network, rates); });
}

// Arrays of other files, frozen stages and schedules: the wrong ones are refused, and change nothing.
TEST_F(Networks, TuningIsChecked) {
  using synfire::array_source;
  synfire::Network network = built(), other = stages();
  other.set_value("adam", "schedule", SYNFIRE_SCHEDULE_COSINE);
  other.set_value("adam", "schedule_steps", 2);
  other.build();
  const std::vector<unsigned char> before = save_to_memory(network), file = save_to_memory(other);
  const auto refused = [&](std::initializer_list<const char*> words, std::vector<synfire_array_source> sources) {
    expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, words, [&] { load_arrays(network, file, std::move(sources)); });
  };
  refused({"SYN-NETWORK-ARRAY", "did you mean \"first.weights\""}, {array_source("first.weights", "first.weight")});
  refused({"SYN-FILE-TENSOR", "did you mean \"first.bias\""}, {array_source("first.bios", "first.bias")});
  refused({"SYN-FILE-SHAPE", "[6, 5]", "[2, 6]"}, {array_source("first.weights", "second.weights")});
  refused({"SYN-FILE-DTYPE", "U64"}, {array_source("adam.step_count", "first.bias")});
  refused({"SYN-NETWORK-LAYOUT", "\"oi\""}, {array_source("first.weights", nullptr, "io")});
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, {"SYN-FILE"},
                 [&] { load_arrays(network, std::vector<unsigned char>(100), {array_source("first.bias")}); });
  network.set_value("first", "frozen", 1);
  network.set_value("first", "frozen", 0);
  EXPECT_EQ(save_to_memory(network), before);
  const auto loaded = load_arrays(
      network, file, {array_source("first.weights", nullptr, "oi"), array_source("second.bias", "first.bias")}, true);
  EXPECT_EQ(loaded[0].is_loaded, 1);
  EXPECT_EQ(loaded[1].is_loaded, 0);
  load_from_memory(network, file);  // with its schedule
  network.train(2);
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, {"SYN-NETWORK-SCHEDULE", "2 were taken"}, [&] { network.train(1); });
  // The best weights of another network.
  synfire::Network more = stages();
  add_stage(more, synfire::Stage("readout", "extra").reads("hidden").set("reduction", "sum"));
  more.build();
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, {"SYN-NETWORK-OTHER", "extra"},
                 [&] { load_from_memory(network, save_to_memory(more)); });
}

// Described by names, with arrays for its stages, it is the network of the other functions.
TEST_F(Networks, StagesAreDescribedByNames) {
  using synfire::Stage;
  synfire::Network network(context, synfire::network_desc(synfire::steps{4}, SYNFIRE_DTYPE_F32, batch));
  add_stage(network, Stage("input", "rates").set("kind", "rates").set("n_features", inputs));
  add_stage(network, Stage("synapse", "first").set("n_outputs", 6));
  add_stage(network, Stage("neurons", "hidden").reads("first").set("model", "lif").set("tau", 2.0));
  add_stage(network, Stage("synapse", "second").reads("hidden", "spikes").set("n_outputs", 2));
  add_stage(network, Stage("neurons", "potentials").set("model", SYNFIRE_MODEL_LI));
  add_stage(network, Stage("readout", "scores").set("reduction", std::string("mean")));
  add_stage(network, Stage("loss", "loss").set("kind", "cross_entropy"));
  add_stage(network, Stage("optimizer", "adam").set("kind", "adam").set("learning_rate", 0.001));
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, {"SYN-NETWORK-READS", "itself"},
                 [&] { add_stage(network, Stage("readout", "early").reads("early").set("reduction", "mean")); });
  EXPECT_EQ(synfire::dot(network), synfire::dot(stages()));
  network.build();
  constexpr auto n_rows = static_cast<std::uint64_t>(rows);
  auto of_labels = synfire::buffer_desc<std::uint32_t>(n_rows);
  of_labels.dtype = SYNFIRE_DTYPE_U32;
  const synfire::Buffer rows_of_inputs(context, synfire::buffer_desc<float>(n_rows * inputs)),
      labels(context, of_labels), scores(context, synfire::buffer_desc<float>(n_rows * 2));
  for (const synfire_buffer buffer : {synfire_buffer{rows_of_inputs}, synfire_buffer{labels}})
    synfire::check(synfire_buffer_fill(buffer, 0));
  const std::vector<synfire_network_array> arrays = {
      synfire::network_array("loss", SYNFIRE_ARRAY_LABELS, labels),
      synfire::network_array(nullptr, SYNFIRE_ARRAY_INPUTS, rows_of_inputs)};
  network.set_arrays(SYNFIRE_DATA_EVALUATION, rows, arrays);
  const auto [whole, losses] = evaluate(network, {"loss"});
  EXPECT_EQ(losses.front().loss, whole.loss);
  EXPECT_EQ(losses.front().n_counted, n_rows);
  network.infer_arrays(rows, {synfire::network_array("rates", SYNFIRE_ARRAY_INPUTS, rows_of_inputs),
                              synfire::network_array("scores", SYNFIRE_ARRAY_OUTPUTS, scores)});
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, {"SYN-NETWORK-ARRAY", "scores"}, [&] {
    network.set_arrays(SYNFIRE_DATA_EVALUATION, rows, {synfire::network_array("scores", SYNFIRE_ARRAY_LABELS, labels)});
  });
}

// Stages of maps that cannot be are refused, and their names stay free.
TEST_F(Networks, MapsAreChecked) {
  using synfire::Stage;
  synfire::Network network(context, synfire::network_desc(synfire::steps{2})),
      large(context, synfire::network_desc(synfire::steps{2}));
  const auto refused = [&](std::initializer_list<const char*> words, const Stage& stage) {
    expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, words, [&] { add_stage(network, stage); });
  };
  const auto conv = [] { return Stage("conv2d", "y").set("output_channels", 4); };
  add_stage(network, Stage("input", "x").set("kind", "spikes").set("height", 3).set("width", 4).set("channels", 6));
  refused({"SYN-CONV-KERNEL", "a height of 3"}, conv().set("kernel", 5));
  refused({"SYN-CONV-GROUPS", "4"}, conv().set("groups", 4));
  refused({"SYN-POOL-WINDOW", "5"}, Stage("pool", "y").set("kind", "sum").set("window", 5));
  add_stage(network, conv().set("kernel", 3));
  refused({"SYN-NETWORK-SHAPE", "3x4x6", "\"x\"", "1x2x4", "\"y\""}, Stage("sum", "z").reads("x").reads("y"));
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, {"SYN-SYNAPSE-MASK", "10"},
                 [&] { network.set_mask("y", std::vector<std::uint8_t>(10)); });
  add_stage(large, Stage("input", "x")
                       .set("kind", "counts")
                       .set("bound", 255)
                       .set("height", 300)
                       .set("width", 300)
                       .set("channels", 1));
  expect_refused(SYNFIRE_ERROR_UNSUPPORTED, {"SYN-POOL-BOUND", "2^24"},
                 [&] { add_stage(large, Stage("pool", "y").set("kind", "sum")); });
}

// V = (X + v_rest) / 2 with a v_rest for each channel. The loss is the mean of V^2 over four neurons, and a step of SGD
// takes off the sum of V / 4 over the places of a channel.
TEST_F(Networks, ChannelsHaveParametersOfTheirOwn) {
  using synfire::Stage;
  synfire::Network network(context, synfire::network_desc(synfire::steps{1}));
  add_stage(network, Stage("input", "x").set("kind", "values").set("height", 2).set("channels", 2));
  add_stage(network, Stage("neurons", "v").reads("x").set("model", "li").set("tau", 2));
  network.set_scope("v", "v_rest", SYNFIRE_SCOPE_CHANNEL);
  network.train_parameter("v", "v_rest", false, 1, 0);
  add_stage(network, Stage("readout", "out").reads("v", "v").set("reduction", "last"));
  network.add_loss("loss", SYNFIRE_LOSS_MEAN_SQUARED_ERROR);
  network.add_optimizer("sgd", SYNFIRE_OPTIMIZER_KIND_SGD, 1);
  network.build();
  synfire::Buffer x(context, synfire::buffer_desc<float>(4)), targets(context, synfire::buffer_desc<float>(4));
  x.upload(std::vector<float>{1, 2, 3, 4});
  targets.upload(std::vector<float>(4));
  network.set_arrays(SYNFIRE_DATA_TRAINING, 1,
                     {synfire::network_array("x", SYNFIRE_ARRAY_INPUTS, x),
                      synfire::network_array("loss", SYNFIRE_ARRAY_TARGETS, targets)});
  EXPECT_EQ(network.train(1).loss, 1.875);
  synfire_layer layer = nullptr;
  synfire::check(synfire_network_get_layer(network, "v", &layer));
  const synfire::Layer v(context, layer);
  std::vector<double> rest(2);
  synfire::check(synfire_layer_get_parameter(v, "v_rest", rest.data(), rest.size()));
  EXPECT_EQ(rest, (std::vector<double>{-0.5, -0.75}));
}

TEST_F(Networks, RowsStayInFiles) {
  const auto npy = [](const std::string& name, const std::string& head, const auto& elements) {
    std::string dictionary = "{'fortran_order': False, " + head + "}";
    dictionary.resize(118, ' ');
    std::string file("\x93NUMPY\1\0\x76\0", 10);
    file.append(dictionary).append(reinterpret_cast<const char*>(elements.data()), elements.size() * 4);
    std::ofstream(testing::TempDir() + name, std::ios::binary) << file;
    return testing::TempDir() + name;
  };
  synfire::Network network = built();
  const std::string of_inputs = npy("hpp_rates.npy", "'descr': '<f4', 'shape': (7, 5)", std::vector<float>(35, 0.25f)),
                    of_labels =
                        npy("hpp_labels.npy", "'descr': '<u4', 'shape': (7,)", std::vector<std::uint32_t>(7, 1));
  const std::vector<synfire_data_file> files = {
      synfire::data_file(SYNFIRE_ARRAY_INPUTS, of_inputs.c_str(), nullptr, "rates"),
      synfire::data_file(SYNFIRE_ARRAY_LABELS, of_labels.c_str())};
  open_data(network, SYNFIRE_DATA_EVALUATION, files);
  EXPECT_EQ(network.evaluate().n_counted, 7u);
  synfire_network_data_desc desc = SYNFIRE_NETWORK_DATA_DESC_INIT;
  desc.block_rows = 2;
  desc.window_blocks = 1;
  open_data(network, SYNFIRE_DATA_TRAINING, files, desc);
  EXPECT_EQ(network.train(0).epoch, 1u);
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, {"SYN-NETWORK-ARRAY", "labels"},
                 [&] { open_data(network, SYNFIRE_DATA_TRAINING, {files.front()}); });
}

// As a layer that was created with a context, however the network was made. A handle alone has none.
TEST_F(Networks, LayersMakeBuffers) {
  const synfire::Network network = built();
  const synfire::Layer hidden = network.layer("hidden");
  EXPECT_EQ(hidden.make_sequence<float>().shape(), hidden.sequence_shape());
  EXPECT_EQ(hidden.make_state<float>(SYNFIRE_MEMORY_PINNED).shape(), hidden.state_shape());
  EXPECT_EQ(hidden.make_spikes().shape(), hidden.bits_shape());
  EXPECT_EQ(hidden.make_time_bits().shape(), hidden.time_bits_shape());

  const synfire::Network loaded = synfire::network_from_memory(context, synfire::save_to_memory(network));
  EXPECT_EQ(loaded.layer("hidden").make_spikes().shape(), hidden.bits_shape());

  synfire_layer handle = nullptr;
  synfire::check(synfire_network_get_layer(network, "hidden", &handle));
  const synfire::Layer alone(handle);
  EXPECT_EQ(alone.make_spikes(context).shape(), hidden.bits_shape());
  expect_refused(SYNFIRE_ERROR_INVALID_HANDLE, {"SYN-HANDLE-NULL", "context", "from a handle"},
                 [&] { alone.make_sequence<float>(); });
  synfire::check(synfire_network_get_layer(network, "hidden", &handle));
  EXPECT_EQ(synfire::Layer(context, handle).make_spikes().shape(), hidden.bits_shape());
}

TEST_F(Networks, PartsOutliveThem) {
  synfire::Network network = built();
  const synfire::Synapse first = network.synapse("first");
  synfire::Buffer input = network.buffer("input"), output = network.buffer("output");
  synfire::Graph inference = network.graph(SYNFIRE_NETWORK_GRAPH_INFERENCE),
                 training = network.graph(SYNFIRE_NETWORK_GRAPH_TRAINING);
  network.train();
  const synfire::Optimizer adam = network.optimizer("adam");
  network.reset();
  for (int i = 0; i < 2; ++i) {
    for (float& rate : input.data<float>()) rate = 0.5F;
    inference.wait(inference.launch());
    for (const float score : output.data<float>()) EXPECT_TRUE(std::isfinite(score));
    training.wait(training.launch());
  }
  EXPECT_EQ(array(first, "bias", 6).size(), 6U);
  std::vector<std::uint64_t> count(1);
  synfire::read(adam, -1, "step_count", count);
  EXPECT_EQ(count[0], 5U);
}

TEST_F(Networks, WrongNamesAndOrders) {
  synfire::Network network = stages();
  expect_refused(SYNFIRE_ERROR_WRONG_ORDER, {"SYN-NETWORK"}, [&] { network.synapse("first"); });
  expect_refused(SYNFIRE_ERROR_WRONG_ORDER, {"SYN-NETWORK"}, [&] { network.train(); });
  expect_refused(SYNFIRE_ERROR_WRONG_ORDER, {"SYN-NETWORK"}, [&] { network.add_synapse("third", 2); });
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, {"hiden", "hidden"}, [&] { network.set_value("hiden", "tau", 3); });
  network.build();
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, {"firts", "first"}, [&] { network.synapse("firts"); });
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, {"hidden"}, [&] { network.synapse("hidden"); });
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, {"inputs", "input"}, [&] { network.buffer("inputs"); });
  expect_refused(SYNFIRE_ERROR_WRONG_ORDER, {"SYN-NETWORK"}, [&] { network.graph(SYNFIRE_NETWORK_GRAPH_TRAINING); });
  // Rows that do not fit the labels: too few, too many, and a part of one more.
  for (const std::size_t size : {9U, 11U, 15U, 0U})
    expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT,
                   {"[SYN-NETWORK-DATA]", (std::to_string(size) + " elements").c_str(), "labels 2", "are 10"}, [&] {
                     synfire::set_data(context, network, SYNFIRE_DATA_TRAINING, std::vector<float>(size),
                                       std::vector<std::uint32_t>(2));
                   });
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, {"[SYN-BUFFER-TYPE]"}, [&] {
    synfire::set_data(context, network, SYNFIRE_DATA_TRAINING, std::vector<double>(10), std::vector<std::uint32_t>(2));
  });
  EXPECT_NE(synfire::summary(network).find("hidden"), std::string::npos);
  network.reset();
  expect_refused(SYNFIRE_ERROR_INVALID_HANDLE, {"network"}, [&] { network.evaluate(); });
}

TEST_F(Networks, AreSavedAndLoaded) {
  synfire::Network network = built();
  network.train(2);
  const synfire_network_result expected = network.evaluate();
  const std::vector<unsigned char> file = synfire::save_to_memory(network);
  synfire::Network other = built();
  EXPECT_NE(other.evaluate().loss, expected.loss);
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, {"SYN-"},
                 [&] { synfire::load_from_memory(other, std::vector<unsigned char>(file.begin(), file.end() - 1)); });
  EXPECT_NE(other.evaluate().loss, expected.loss);
  synfire::load_from_memory(other, file);
  EXPECT_EQ(other.evaluate().loss, expected.loss);

  const std::string path =
      testing::TempDir() + "synfire-network-" + std::to_string(std::random_device()()) + ".safetensors";
  network.save(path.c_str());
  synfire::Network from_file = synfire::network_from_file(context, path.c_str());
  EXPECT_EQ(synfire::save_to_memory(from_file), file);
  synfire_network_file_desc desc = SYNFIRE_NETWORK_FILE_DESC_INIT;
  desc.inference = 1;
  desc.batch = 1;
  synfire::Network smaller = synfire::network_from_memory(context, file, desc);
  EXPECT_EQ(smaller.buffer("output").size(), 2U);
  desc.keep = "hidden.v hidden.monitor";
  desc.continues = 1;
  synfire::Network watched = synfire::network_from_memory(context, file, desc);
  EXPECT_GT(watched.buffer("hidden.v").size(), 0U);
  EXPECT_EQ(watched.monitor("hidden", true).n_replays, 0U);
  EXPECT_EQ(watched.value("scores", "continues"), 1);
  expect_refused(SYNFIRE_ERROR_WRONG_ORDER, {"SYN-NETWORK-NOT-KEPT", "hidden.v"}, [&] { network.buffer("hidden.v"); });
  expect_refused(SYNFIRE_ERROR_WRONG_ORDER, {"SYN-NETWORK-BUILT"}, [&] { network.keep("hidden.v"); });
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, {"SYN-NETWORK-MONITOR"}, [&] { watched.monitor("scores"); });
  desc.keep = "hidden.spike";
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, {"SYN-NETWORK-KEEP", "did you mean \"hidden.spikes\""},
                 [&] { synfire::network_from_memory(context, file, desc); });
  network.train(2);
  network.load(path.c_str());
  EXPECT_EQ(synfire::save_to_memory(network), file);
  std::remove(path.c_str());
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, {"SYN-"}, [&] { network.load(path.c_str()); });
}

// Each call of two threads is done, or refused.
TEST_F(Networks, TwoThreads) {
  synfire::Network network = built();
  const auto train = [&] {
    for (int i = 0; i < 20; ++i) {
      try {
        network.train();
      } catch (const synfire::error& refused) {
        EXPECT_EQ(refused.status(), SYNFIRE_ERROR_BUSY) << refused.what();
      }
    }
  };
  std::thread other(train);
  train();
  other.join();
  EXPECT_EQ(network.evaluate().n_counted, static_cast<std::uint64_t>(rows));
}

}  // namespace

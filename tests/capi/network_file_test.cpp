// A network that is saved, loaded and continued has the bits of one that went on: with everything that draws random
// numbers, in the middle of an epoch, whatever is loaded into what.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>

#include "network_file.hpp"

namespace synfire_test {
namespace {

StagePlan odd() {
  StagePlan plan;
  plan.n_steps = 7;
  plan.batch = 6;
  plan.sizes = {37, 19, 5};
  plan.n_rows = 25;
  return plan;
}

std::vector<StagePlan> plans() {
  std::vector<StagePlan> all;
  const auto add = [&](auto change) {
    StagePlan plan = odd();
    change(plan);
    all.push_back(plan);
  };
  add([](StagePlan&) {});
  add([](StagePlan& plan) {
    plan.dropout = 0.3;
    plan.hidden_dropout = 0.2;
    plan.train_tau = true;
    plan.rate_strength = 0.1;
    plan.clip_norm = 0.5;
    plan.lengths = plan.sample_weights = true;
  });
  add([](StagePlan& plan) {
    plan.input = SYNFIRE_NETWORK_INPUT_SPIKES;
    plan.input_dtype = SYNFIRE_DTYPE_TIME_BITS;
    plan.optimizer = SYNFIRE_OPTIMIZER_KIND_SGD;
    plan.hidden = SYNFIRE_MODEL_IZHIKEVICH;
    plan.hidden_dropout = 0.5;
    plan.drop_last = 1;
  });
  add([](StagePlan& plan) {
    plan.input = SYNFIRE_NETWORK_INPUT_VALUES;
    plan.loss = SYNFIRE_LOSS_MEAN_SQUARED_ERROR;
    plan.optimizer = SYNFIRE_OPTIMIZER_KIND_ADAMW;
    plan.decay = 0.01;
    plan.freeze_first = true;
    plan.train_tau = true;
  });
  add([](StagePlan& plan) {
    plan.dtype = SYNFIRE_DTYPE_F64;
    plan.input = SYNFIRE_NETWORK_INPUT_SPIKES;
    plan.input_dtype = SYNFIRE_DTYPE_BITS;
    plan.readout = SYNFIRE_READOUT_SUM;
    plan.last = SYNFIRE_MODEL_LIF;
    plan.of_spikes = true;
    plan.dropout = 0.1;
    plan.smoothing = 0.1;
  });
  return all;
}

class NetworkFile : public testing::Test {
 protected:
  Context context = make_context(2);

  Network build(const StagePlan& plan, bool momentum = true) const {
    Network network = make_stages(context, plan);
    if (momentum && plan.optimizer == SYNFIRE_OPTIMIZER_KIND_SGD)
      require_ok(synfire_network_set_value(network, "optimizer", "momentum", 0.9));
    require_ok(synfire_network_build(network));
    return network;
  }
  void set_training(synfire_network network, const StagePlan& plan) const {
    set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, make_data(context, plan, plan.n_rows, 3));
  }
};

TEST_F(NetworkFile, AStoppedRunGoesOnToTheBit) {
  for (const StagePlan& plan : plans())
    for (const int64_t stop : {0, 3, 4, 7}) {
      SCOPED_TRACE(testing::Message() << plan << " stopped after " << stop);
      const Network through = build(plan);
      set_training(through, plan);
      if (stop > 0) trained(through, stop);
      const File file = saved(through);
      const synfire_network_result expected = trained(through, 6);
      const File at_end = saved(through);

      // Into a network without data, into one that was trained otherwise, and into a new one.
      std::vector<Network> others;
      others.push_back(build(plan));
      EXPECT_OK(load(others.back(), file));
      EXPECT_EQ(saved(others.back()), file);
      set_training(others.back(), plan);
      others.push_back(build(plan));
      set_training(others.back(), plan);
      trained(others.back(), 5);
      EXPECT_OK(load(others.back(), file));
      others.push_back(created(context, file));
      EXPECT_EQ(saved(others.back()), file);
      set_training(others.back(), plan);
      for (const Network& other : others) {
        EXPECT_EQ(saved(other), file);
        const synfire_network_result result = trained(other, 6);
        EXPECT_EQ(result.loss, expected.loss);
        EXPECT_EQ(result.epoch, expected.epoch);
        EXPECT_EQ(result.batch, expected.batch);
        EXPECT_EQ(saved(other), at_end);
      }
    }
}

// From the backend under test to the host, and back.
TEST_F(NetworkFile, ARunGoesOnOnAnotherBackend) {
  const Context host = make_context_on(SYNFIRE_BACKEND_HOST, 3);
  for (const StagePlan& plan : plans()) {
    SCOPED_TRACE(testing::Message() << plan);
    const Network through = build(plan);
    set_training(through, plan);
    trained(through, 3);
    const Network on_host = created(host, saved(through));
    EXPECT_EQ(saved(on_host), saved(through));
    set_data(on_host, SYNFIRE_DATA_TRAINING, plan.n_rows, make_data(host, plan, plan.n_rows, 3));
    trained(on_host, 4);
    const Network back = created(context, saved(on_host));
    set_training(back, plan);
    trained(back, 2);
    trained(through, 6);
    EXPECT_EQ(saved(back), saved(through));
  }
}

// ---- other numbers of steps and rows, and networks without training
// ---------------------------------------------------

std::vector<float> inferred(synfire_context context, synfire_network network, const StagePlan& plan, int64_t n_rows) {
  const Data data = make_data(context, plan, n_rows, 9);
  const auto n = static_cast<size_t>(n_rows * plan.sizes.back());
  const Buffer outputs = make_buffer(context, SYNFIRE_DTYPE_F32, n);
  EXPECT_OK(synfire_network_infer(network, data.inputs, n_rows, outputs));
  return download<float>(outputs, n);
}

TEST_F(NetworkFile, ATrainedNetworkInfersWithOtherBatchesAndWithoutItsOptimiser) {
  StagePlan plan = plans()[2];
  plan.train_tau = false;
  const Network network = build(plan);
  set_training(network, plan);
  trained(network, 9);
  const File file = saved(network);
  const std::vector<float> expected = inferred(context, network, plan, 11);
  for (const bool inference : {false, true})
    for (const int64_t batch : {0, 1, 4, 16})
      EXPECT_TRUE(same_bits(inferred(context, created(context, file, 0, batch, inference), plan, 11), expected));
  // A network that was made by hand for inference takes the weights too, whatever it would learn with.
  StagePlan bare = plan;
  bare.batch = 2;
  bare.seed = 99;
  Network by_hand = make_stages(context, bare, false);
  require_ok(synfire_network_set_value(by_hand, "s0", "gradient_bits", 32));
  require_ok(synfire_network_set_value(by_hand, "n0", "surrogate", SYNFIRE_SURROGATE_SIGMOID));
  require_ok(synfire_network_build(by_hand));
  EXPECT_OK(load(by_hand, file));
  EXPECT_TRUE(same_bits(inferred(context, by_hand, plan, 11), expected));
  // It saves a network without an optimiser.
  const Network again = created(context, saved(by_hand));
  EXPECT_TRUE(same_bits(inferred(context, again, plan, 11), expected));
  synfire_optimizer optimizer = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-STAGE"),
               synfire_network_get_optimizer(again, "optimizer", &optimizer));
}

TEST_F(NetworkFile, WithAnotherBatchTheEpochBeginsAgain) {
  for (const int32_t drop_last : {0, 1}) {
    StagePlan plan = odd();
    plan.drop_last = drop_last;
    const Network network = build(plan);
    set_training(network, plan);
    const int64_t per_epoch = drop_last == 1 ? 4 : 5;
    trained(network, 2 * per_epoch + 3);
    StagePlan other = plan;
    other.batch = 10;
    for (const bool data_first : {true, false}) {
      const Network smaller = build(other);
      if (data_first) set_training(smaller, other);
      EXPECT_OK(load(smaller, saved(network)));
      if (!data_first) set_training(smaller, other);
      const synfire_network_result result = trained(smaller, 1);
      EXPECT_EQ(result.epoch, 2u);
      EXPECT_EQ(result.batch, 1u);
    }
    // Another number of rows: from the beginning.
    other.batch = plan.batch;
    other.n_rows = 26;
    for (const bool data_first : {true, false}) {
      const Network larger = build(other);
      if (data_first) set_training(larger, other);
      EXPECT_OK(load(larger, saved(network)));
      if (!data_first) set_training(larger, other);
      const synfire_network_result result = trained(larger, 1);
      EXPECT_EQ(result.epoch, 0u);
      EXPECT_EQ(result.batch, 1u);
    }
  }
}

// ---- loops
// ------------------------------------------------------------------------------------------------------------

class Loop {
 public:
  explicit Loop(synfire_network network) {
    synfire_graph graph = nullptr;
    require_ok(synfire_network_get_graph(network, SYNFIRE_NETWORK_GRAPH_INFERENCE, &graph));
    graph_ = Graph(graph);
    input_ = buffer(network, "input");
    output_ = buffer(network, "output");
  }
  std::vector<float> frame(const std::vector<float>& rates, size_t n_outputs) const {
    const auto write = [&](uint64_t ticket, synfire_buffer of) {
      void* memory = nullptr;
      uint64_t bytes = 0;
      require_ok(synfire_graph_get_slot(graph_, ticket, of, &memory, &bytes));
      return static_cast<float*>(memory);
    };
    std::copy(rates.begin(), rates.end(), write(0, input_));
    require_ok(synfire_buffer_mark_written(input_));
    uint64_t ticket = 0;
    require_ok(synfire_graph_launch(graph_, nullptr, &ticket));
    require_ok(synfire_graph_wait(graph_, ticket, SYNFIRE_WAIT_YIELD, -1));
    const float* const out = write(ticket, output_);
    return {out, out + n_outputs};
  }

 private:
  static Buffer buffer(synfire_network network, const char* name) {
    synfire_buffer made = nullptr;
    require_ok(synfire_network_get_buffer(network, name, &made));
    return Buffer(made);
  }
  Graph graph_;
  Buffer input_, output_;
};

// The states of neurons and the random numbers of a loop are in the file too.
TEST_F(NetworkFile, ALoopGoesOnToTheBit) {
  StagePlan plan = odd();
  plan.batch = 1;
  plan.n_steps = 1;
  plan.readout = SYNFIRE_READOUT_LAST;
  plan.hidden = SYNFIRE_MODEL_IZHIKEVICH;
  const Network network = build(plan);
  const Loop loop(network);
  Random random(4);
  const auto rates = [&] { return random.values<float>(37, 0.2, 1); };
  for (int i = 0; i < 5; ++i) loop.frame(rates(), 5);
  const File file = saved(network);
  const Network other = created(context, file, 0, 0, true);
  EXPECT_NE(saved(other), file);  // without the optimiser
  const Loop again(other);
  bool silent = true;
  for (int i = 0; i < 6; ++i) {
    const std::vector<float> input = rates(), expected = loop.frame(input, 5);
    EXPECT_TRUE(same_bits(again.frame(input, 5), expected)) << i;
    silent &= all_are(expected, 0.0F);
  }
  EXPECT_FALSE(silent);
  // With another number of rows the neurons begin anew.
  EXPECT_TRUE(same_bits(inferred(context, created(context, file, 0, 3), plan, 4), inferred(context, network, plan, 4)));
}

// ---- what else a file has
// ---------------------------------------------------------------------------------------------

TEST_F(NetworkFile, MasksClassWeightsAndChangedValuesAreInIt) {
  const StagePlan plan = plans()[1];
  Network network = make_stages(context, plan);
  std::vector<uint8_t> mask(19 * 37);
  for (size_t i = 0; i < mask.size(); ++i) mask[i] = i % 3 == 0 ? 0 : 1;
  const std::vector<float> weights = {1, 0.5F, 2, 0, 3};
  require_ok(synfire_network_set_mask(network, "s0", mask.data(), mask.size()));
  require_ok(synfire_network_set_class_weights(network, "loss", weights.data(), 5));
  require_ok(synfire_network_build(network));
  set_training(network, plan);
  trained(network, 3);
  const std::pair<const char*, const char*> changed[] = {{"optimizer", "learning_rate"}, {"optimizer", "clip_norm"},
                                                         {"drop", "probability"},        {"loss", "label_smoothing"},
                                                         {"n0", "rate_strength"},        {"n1", "tau"}};
  for (const auto& [stage, name] : changed)
    require_ok(synfire_network_set_value(network, stage, name, std::string_view("tau") == name ? 3.7 : 0));
  require_ok(synfire_network_set_value(network, "optimizer", "learning_rate", 1.0 / 3));
  const File file = saved(network);
  const Network other = created(context, file);
  EXPECT_EQ(saved(other), file);
  for (const auto& [stage, name] : changed) {
    double here = 0, there = 1;
    EXPECT_OK(synfire_network_get_value(network, stage, name, &here));
    EXPECT_OK(synfire_network_get_value(other, stage, name, &there));
    EXPECT_EQ(here, there) << stage << " " << name;
  }
  set_training(other, plan);
  // A strength that is 0 for now can be set again.
  for (const synfire_network one : {network.get(), other.get()})
    EXPECT_OK(synfire_network_set_value(one, "n0", "rate_strength", 0.2));
  trained(network, 4);
  trained(other, 4);
  EXPECT_EQ(saved(other), saved(network));
}

// A file of a version that did not know a value: the value has its default, even where that depends on the stage.
TEST_F(NetworkFile, WhatAFileLacksHasItsDefault) {
  for (const StagePlan& plan : plans()) {
    SCOPED_TRACE(testing::Message() << plan);
    const Network network = build(plan, false);
    const File file = saved(network);
    FileParts parts(file);
    int n_left_out = 0;
    for (const char* const word :
         {"probability", "rate_target", "rate_of_layer", "label_smoothing", "gradient_scale", "beta1", "epsilon",
          "per_step", "gradient_bits", "targets", "tape", "surrogate", "momentum", "drop_last", "n_slots"}) {
      const std::string key = std::string(" ") + word + "=";
      for (size_t at = parts.header.find(key); at != std::string::npos; at = parts.header.find(key, at)) {
        const size_t begin = at + key.size(), end = parts.header.find_first_of(" \"", begin);
        const std::string value = parts.header.substr(begin, end - begin);
        const bool is_set = key == " probability=" || (key == " label_smoothing=" && plan.smoothing != 0) ||
                            (key == " rate_target=" && plan.rate_strength != 0) ||
                            (key == " drop_last=" && plan.drop_last != 0);
        if (is_set) {
          at = end;
          continue;
        }
        parts.header.erase(at, end - at);
        ++n_left_out;
      }
    }
    EXPECT_GT(n_left_out, 15);
    const File older = parts.whole();
    EXPECT_EQ(saved(created(context, older)), file);
    const Network other = build(plan, false);
    EXPECT_OK(load(other, older));
    EXPECT_EQ(saved(other), file);
  }
}

// Stages that draw random numbers in every replay take their seed from the file, unless the program has set one.
TEST_F(NetworkFile, SeedsComeFromTheFile) {
  StagePlan plan = odd();
  plan.hidden_dropout = 0.4;
  const auto with_seeds = [&](std::initializer_list<std::pair<const char*, double>> seeds, int64_t steps = 0) {
    Network network = make_stages(context, plan, steps == 0);
    for (const auto& [stage, seed] : seeds) require_ok(synfire_network_set_value(network, stage, "seed", seed));
    require_ok(synfire_network_build(network));
    return network;
  };
  const Network network = with_seeds({{"input", 4321}, {"hidden.drop", 99}});
  set_training(network, plan);
  trained(network, 3);
  const File file = saved(network);

  const Network other = with_seeds({});
  const Data data = make_data(context, plan, plan.n_rows, 3);
  set_training(other, plan);
  set_data(other, SYNFIRE_DATA_EVALUATION, plan.n_rows, data);
  trained(other, 1);
  EXPECT_OK(load(other, file));
  EXPECT_EQ(saved(other), file);
  double seed = 0;
  EXPECT_OK(synfire_network_get_value(other, "hidden.drop", "seed", &seed));
  EXPECT_EQ(seed, 99);
  const auto evaluated = [](synfire_network of) {
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    require_ok(synfire_network_evaluate(of, &result));
    return result.loss;
  };
  set_data(network, SYNFIRE_DATA_EVALUATION, plan.n_rows, data);
  EXPECT_EQ(evaluated(other), evaluated(network));
  trained(network, 4);
  trained(other, 4);
  EXPECT_EQ(saved(other), saved(network));

  // Without an optimiser, in a loop.
  const Network loop = with_seeds({}, 1);
  EXPECT_OK(load(loop, file));
  const auto inferred = [&](synfire_network of) {
    const Buffer outputs = make_buffer(context, SYNFIRE_DTYPE_F32, static_cast<uint64_t>(plan.n_rows) * 5);
    require_ok(synfire_network_infer(of, data.inputs, plan.n_rows, outputs));
    return download<float>(outputs, static_cast<size_t>(plan.n_rows) * 5);
  };
  EXPECT_EQ(inferred(loop), inferred(created(context, file)));

  for (const char* const stage : {"input", "hidden.drop"}) {
    const Network set = with_seeds({{stage, 5}});
    const File before = saved(set);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-OTHER", stage, "seed"), load(set, file));
    EXPECT_EQ(saved(set), before);
    const Network same = with_seeds({{stage, stage[0] == 'i' ? 4321 : 99}});
    EXPECT_OK(load(same, file));
  }
}

// A run that is saved anywhere is loaded again, even where it counts beyond 2^53.
TEST_F(NetworkFile, PositionsOfAnySizeGoOn) {
  StagePlan plan = odd();
  plan.dropout = 0.3;
  const Network network = build(plan);
  set_training(network, plan);
  trained(network, 3);
  for (const uint64_t batch : {(uint64_t{1} << 53) - 1, (uint64_t{1} << 60) + 3}) {
    FileParts parts(saved(network));
    const size_t at = parts.header.find("next_batch="), end = parts.header.find_first_of(" \"", at);
    parts.header.replace(at, end - at, "next_batch=" + std::to_string(batch));
    EXPECT_OK(load(network, parts.whole()));
    const File file = saved(network);
    EXPECT_NE(FileParts(file).header.find("next_batch=" + std::to_string(batch)), std::string::npos);
    EXPECT_EQ(saved(created(context, file)), file);
    const synfire_network_result result = trained(network, 3);
    EXPECT_EQ(result.epoch, (batch + 3) / 5);  // 25 rows, 6 at a time
    EXPECT_EQ(result.batch, (batch + 3) % 5);
    const File later = saved(network);
    EXPECT_EQ(saved(created(context, later)), later);
    // Smaller batches: more of them in each epoch, so that the number grows.
    const Network smaller = created(context, file, 0, 1);
    set_training(smaller, plan);
    EXPECT_EQ(trained(smaller, 1).epoch, batch / 5);
    const Network again = created(context, saved(smaller));
    set_training(again, plan);
    EXPECT_EQ(trained(again, 1).batch, 2u);
  }
}

// The header as another tool may write it: keys in another order, spaces, padding, metadata of its own, and a tensor
// that no network has.
TEST_F(NetworkFile, AFileRewrittenByAnotherToolLoads) {
  const StagePlan plan = plans()[1];
  const Network network = build(plan);
  set_training(network, plan);
  trained(network, 3);
  const File file = saved(network);
  FileParts parts(file);
  // {"__metadata__":{"a":"b",...},"name":{...},...}
  std::vector<std::string> metadata, tensors;
  const auto split = [](const std::string& text, std::vector<std::string>& members) {
    int depth = 0;
    bool quoted = false;
    std::string member;
    for (const char c : text) {
      quoted ^= c == '"';
      if (!quoted) depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
      if (c == ',' && depth == 0 && !quoted) {
        members.push_back(member);
        member.clear();
      } else {
        member.push_back(c);
      }
    }
    members.push_back(member);
  };
  const size_t end = parts.header.rfind('}');
  split(parts.header.substr(1, end - 1), tensors);
  const std::string first = tensors.front();
  ASSERT_TRUE(first.starts_with("\"__metadata__\":{"));
  tensors.erase(tensors.begin());
  split(first.substr(16, first.size() - 17), metadata);
  std::reverse(metadata.begin(), metadata.end());
  std::reverse(tensors.begin(), tensors.end());
  std::string header = "{";
  for (const std::string& tensor : tensors) header.append("\n  ").append(tensor).append(" ,");
  const std::string size = std::to_string(parts.data.size()), larger = std::to_string(parts.data.size() + 3);
  header.append("\"note\":{\"shape\":[3],\"data_offsets\":[" + size + "," + larger + "],\"dtype\":\"F8_E4M3\"},");
  header.append("\"__metadata__\": {\"format\":\"pt\"");
  for (const std::string& one : metadata) header.append(", ").append(one);
  parts.header = header.append("}}").append(37, ' ');
  parts.data.append("abc");
  parts.replace("synfire.network", "\\u0073ynfire.network");
  const Network other = created(context, parts.whole());
  EXPECT_EQ(saved(other), file);
}

TEST_F(NetworkFile, FilesOnTheDisk) {
  const StagePlan plan = odd();
  const Network network = build(plan);
  const std::string path = testing::TempDir() + "synfire_n\xC3\xA9twork_" + std::to_string(backend()) + ".safetensors";
  for (int i = 0; i < 2; ++i) {  // the second replaces the first
    set_training(network, plan);
    trained(network, 2);
    EXPECT_OK(synfire_network_save(network, path.c_str()));
  }
  const File file = saved(network);
  std::vector<Network> others;
  others.push_back(build(plan));
  EXPECT_OK(synfire_network_load(others.back(), path.c_str()));
  synfire_network made = nullptr;
  EXPECT_OK(synfire_network_create_from_file(context, path.c_str(), nullptr, &made));
  others.emplace_back(made);
  for (const Network& other : others) EXPECT_EQ(saved(other), file);
#ifndef _WIN32
  std::ifstream stream(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  ASSERT_EQ(text.size(), file.size());
  EXPECT_EQ(std::memcmp(text.data(), file.data(), file.size()), 0);
  EXPECT_EQ(std::remove(path.c_str()), 0);
#endif
}

}  // namespace
}  // namespace synfire_test

// Random numbers of networks: every stream has a key of its own, from the network's seed, the name of its stage and
// what is drawn; networks of neighbouring seeds have no stream in common; files keep their seeds.
#include <algorithm>
#include <cmath>
#include <set>

#include "network_by_hand.hpp"
#include "network_file.hpp"

namespace synfire_test {
namespace {

double seed_of(synfire_network network, const char* stage) {
  double seed = -1;
  EXPECT_OK(synfire_network_get_value(network, stage, "seed", &seed));
  return seed;
}

// Without the spaces that fill up the header.
std::pair<std::string, std::string> content(const File& file) {
  FileParts parts(file);
  parts.header.erase(parts.header.find_last_not_of(' ') + 1);
  return {parts.header, parts.data};
}

class NetworkSeeds : public testing::Test {
 protected:
  Context context = make_context();

  static constexpr int64_t width = 24;
  // Rates, two dropouts and three synapses of one shape.
  Network stages(uint64_t seed) const {
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.n_steps = 4;
    desc.batch = 3;
    desc.seed = seed;
    synfire_network made = nullptr;
    require_ok(synfire_network_create(context, &desc, &made));
    Network network(made);
    require_ok(synfire_network_add_input(network, "rates", SYNFIRE_NETWORK_INPUT_RATES, width));
    require_ok(synfire_network_add_dropout(network, "drop", 0.5));
    for (const char* const letter : {"a", "b", "c"}) {
      if (letter[0] == 'b') require_ok(synfire_network_add_dropout(network, "drop2", 0.5));
      require_ok(synfire_network_add_synapse(network, letter, width));
      require_ok(synfire_network_add_neurons(network, (std::string("n") + letter).c_str(), SYNFIRE_MODEL_LIF));
    }
    require_ok(synfire_network_add_readout(network, "readout", SYNFIRE_READOUT_SUM, 1));
    return network;
  }
  std::vector<float> weights(synfire_network network, const char* stage) const {
    synfire_synapse synapse = nullptr;
    require_ok(synfire_network_get_synapse(network, stage, &synapse));
    const Synapse owned(synapse);
    std::vector<float> values(width * width + width);
    require_ok(synfire_synapse_read(synapse, "weight", values.data(), width * width * sizeof(float)));
    require_ok(synfire_synapse_read(synapse, "bias", values.data() + width * width, width * sizeof(float)));
    return values;
  }
};

TEST_F(NetworkSeeds, AreThoseThatTheNetworksPageStates) {
  for (const uint64_t seed : {uint64_t{0}, uint64_t{5}, UINT64_MAX}) {
    const Network network = stages(seed);
    const auto expected = [&](const char* name, const char* purpose) {
      return static_cast<double>(random_seed(seed, name, purpose));
    };
    EXPECT_EQ(seed_of(network, "rates"), expected("rates", "rates"));
    EXPECT_EQ(seed_of(network, "drop"), expected("drop", "dropout"));
    EXPECT_EQ(seed_of(network, "drop2"), expected("drop2", "dropout"));
    for (const char* const name : {"a", "b", "c"}) EXPECT_EQ(seed_of(network, name), expected(name, "weights"));
    EXPECT_OK(synfire_network_set_value(network, "b", "seed", 12));
    EXPECT_EQ(seed_of(network, "b"), 12);
    EXPECT_EQ(seed_of(network, "c"), expected("c", "weights")) << "other stages keep theirs";
  }
}

TEST_F(NetworkSeeds, WeightsAreThoseOfASynapseWithThatSeed) {
  const Network network = stages(9);
  require_ok(synfire_network_build(network));
  synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
  desc.n_inputs = desc.n_outputs = width;
  desc.bias = 1;
  desc.seed = random_seed(9, "b", "weights");
  synfire_synapse made = nullptr;
  require_ok(synfire_synapse_create(context, &desc, &made));
  const Synapse alone(made);
  std::vector<float> values(width * width);
  require_ok(synfire_synapse_read(alone, "weight", values.data(), values.size() * sizeof(float)));
  EXPECT_TRUE(same_bits(slice(weights(network, "b"), 0, values.size()), values));
}

// Before, the second synapse of seed s had the weights of the first of seed s + 2.
TEST_F(NetworkSeeds, NetworksOfNeighbouringSeedsHaveNoStreamInCommon) {
  std::vector<std::vector<float>> drawn;
  std::set<double> seeds;
  for (uint64_t seed = 3; seed < 9; ++seed) {
    const Network network = stages(seed);
    for (const char* const name : {"rates", "drop", "drop2", "a", "b", "c"}) seeds.insert(seed_of(network, name));
    require_ok(synfire_network_build(network));
    for (const char* const name : {"a", "b", "c"}) drawn.push_back(weights(network, name));
  }
  EXPECT_EQ(seeds.size(), 6u * 6);
  for (size_t i = 0; i < drawn.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      double of_both = 0, of_one = 0;
      for (size_t k = 0; k < drawn[i].size(); ++k) {
        EXPECT_NE(drawn[i][k], drawn[j][k]) << i << " and " << j << ", weight " << k;
        of_both += static_cast<double>(drawn[i][k]) * static_cast<double>(drawn[j][k]);
        of_one += static_cast<double>(drawn[i][k]) * static_cast<double>(drawn[i][k]);
      }
      // Independent numbers: the correlation has a standard deviation of 1/sqrt(600).
      EXPECT_LT(std::fabs(of_both / of_one), 5 / std::sqrt(600.0)) << i << " and " << j;
    }
}

// A stage that is added or removed changes the numbers of no other.
TEST_F(NetworkSeeds, FollowFromTheNameAndNotFromThePlace) {
  const Network with = stages(4);
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = 4;
  desc.seed = 4;
  synfire_network made = nullptr;
  require_ok(synfire_network_create(context, &desc, &made));
  const Network without(made);
  require_ok(synfire_network_add_input(without, "spikes", SYNFIRE_NETWORK_INPUT_SPIKES, width));
  require_ok(synfire_network_add_synapse(without, "b", width));
  require_ok(synfire_network_add_neurons(without, "n", SYNFIRE_MODEL_LIF));
  EXPECT_EQ(seed_of(without, "b"), seed_of(with, "b"));
  require_ok(synfire_network_build(with));
  require_ok(synfire_network_build(without));
  EXPECT_TRUE(same_bits(weights(with, "b"), weights(without, "b")));
}

TEST_F(NetworkSeeds, NamesAreNeverAbsentAndOnlyOnceInANetwork) {
  const Network network = stages(1);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-ARGUMENT-NULL", "name"),
               synfire_network_add_readout(network, nullptr, SYNFIRE_READOUT_SUM, 1));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-NAME"),
               synfire_network_add_loss(network, "", SYNFIRE_LOSS_CROSS_ENTROPY));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-NAME", "a", "synapse"),
               synfire_network_add_loss(network, "a", SYNFIRE_LOSS_CROSS_ENTROPY));
}

// A file holds the seeds from which the network draws, so a network of it draws the same, whatever its stages were
// called when the seeds were mixed.
TEST_F(NetworkSeeds, AFileKeepsThem) {
  StagePlan plan;
  plan.sizes = {9, 6, 3};
  plan.dropout = 0.3;
  plan.seed = 11;
  const Data data = make_data(context, plan, plan.n_rows, 3);
  const auto built = [&](uint64_t seed) {
    StagePlan other = plan;
    other.seed = seed;
    Network network = make_stages(context, other);
    require_ok(synfire_network_build(network));
    return network;
  };
  const auto learnt_by = [&](synfire_network network) {
    set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, data);
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    require_ok(synfire_network_train(network, 7, &result));
    return learnt(network, plan).words();
  };
  const File start = saved(built(11));
  const std::string header = FileParts(start).header;
  EXPECT_NE(header.find("seed=" + std::to_string(random_seed(11, "", "order")) + " drop_last"), std::string::npos);
  EXPECT_NE(header.find(" seed=" + std::to_string(random_seed(11, "input", "rates"))), std::string::npos);
  EXPECT_NE(header.find(" seed=" + std::to_string(random_seed(11, "drop", "dropout"))), std::string::npos);
  const std::vector<uint32_t> expected = learnt_by(built(11));
  EXPECT_EQ(learnt_by(created(context, start)), expected);

  // Version 0.2 drew from 11 itself and from 11 and the number of the stage. Its file goes on with these seeds, in a
  // network of its own and in one that the program has built.
  const auto replaced = [&](const File& file, uint64_t from, uint64_t to) {
    return FileParts(file).replace("seed=" + std::to_string(from) + " ", "seed=" + std::to_string(to) + " ").whole();
  };
  File old = replaced(start, random_seed(11, "", "order"), 11);
  old = replaced(old, random_seed(11, "input", "rates"), 12);
  old = replaced(old, random_seed(11, "drop", "dropout"), 13);
  const Network of_file = created(context, old), of_program = built(11);
  EXPECT_OK(load(of_program, old));
  for (const synfire_network network : {of_file.get(), of_program.get()}) {
    EXPECT_EQ(seed_of(network, "input"), 12);
    EXPECT_EQ(seed_of(network, "drop"), 13);
    EXPECT_EQ(content(saved(network)), content(old));
  }
  const std::vector<uint32_t> went_on = learnt_by(of_file);
  EXPECT_EQ(learnt_by(of_program), went_on);
  EXPECT_NE(went_on, expected);
  // Each of the three seeds has its own effect on the training.
  for (const uint64_t one : {uint64_t{11}, uint64_t{12}, uint64_t{13}})
    EXPECT_NE(learnt_by(created(context, replaced(old, one, 99))), went_on) << one;
  // A graph that was recorded before the load draws from the seeds of the file too.
  const Network recorded = built(11);
  EXPECT_EQ(learnt_by(recorded), expected);
  EXPECT_OK(load(recorded, old));
  EXPECT_EQ(learnt_by(recorded), went_on);
  // A failed load leaves the seeds: here one of another order, which is refused.
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-OTHER", "seed", "99"),
               load(recorded, replaced(old, 11, 99)));
  EXPECT_EQ(seed_of(recorded, "drop"), 13);
}

}  // namespace
}  // namespace synfire_test

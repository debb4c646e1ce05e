// gradient_bits: what 0 means for each kind of synapse and of input, that both numbers can be asked for, and what files
// and networks keep of it.
#include <cmath>

#include "network_file.hpp"

namespace synfire_test {
namespace {

synfire_synapse_info info_of(synfire_synapse synapse) {
  synfire_synapse_info info = SYNFIRE_SYNAPSE_INFO_INIT;
  EXPECT_OK(synfire_synapse_get_info(synapse, &info));
  return info;
}

class GradientBits : public testing::Test {
 protected:
  Context context = make_context();

  Synapse dense(int32_t input_kind, int32_t bits, int32_t dtype = SYNFIRE_DTYPE_F32) const {
    synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
    desc.n_inputs = 5;
    desc.n_outputs = 2;
    desc.input_kind = input_kind;
    desc.dtype = dtype;
    desc.gradient_bits = bits;
    synfire_synapse made = nullptr;
    require_ok(synfire_synapse_create(context, &desc, &made));
    return Synapse(made);
  }
  Synapse one_to_one(int32_t input_kind, int32_t bits, int32_t scope = SYNFIRE_SCOPE_LAYER) const {
    synfire_one_to_one_desc desc = SYNFIRE_ONE_TO_ONE_DESC_INIT;
    desc.channels = 5;
    desc.scope = scope;
    desc.input_kind = input_kind;
    desc.gradient_bits = bits;
    synfire_synapse made = nullptr;
    require_ok(synfire_synapse_create_one_to_one(context, &desc, &made));
    return Synapse(made);
  }
  // dL/dW of five inputs that are active one after the other, while the gradient falls by 2^-6 a step.
  std::vector<float> gradient(synfire_synapse synapse, size_t n_weights, int64_t n_outputs) const {
    constexpr int64_t n_steps = 5, n_inputs = 5;
    std::vector<float> x(n_steps * n_inputs), g(static_cast<size_t>(n_steps * n_outputs));
    for (int64_t t = 0; t < n_steps; ++t) {
      x[static_cast<size_t>(t * n_inputs + t)] = 1;
      for (int64_t n = 0; n < n_outputs; ++n)
        g[static_cast<size_t>(t * n_outputs + n)] = std::ldexp(1.2345678F, static_cast<int>(-6 * t));
    }
    const Buffer input = make_buffer_of(context, x), grad_output = make_buffer_of(context, g);
    synfire_synapse_backward_desc desc = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
    desc.n_steps = n_steps;
    desc.input = input;
    desc.grad_output = grad_output;
    require_ok(synfire_synapse_backward(synapse, &desc, nullptr));
    std::vector<float> weights(n_weights);
    require_ok(synfire_synapse_read(synapse, "weight_gradient", weights.data(), n_weights * sizeof(float)));
    return weights;
  }
};

TEST_F(GradientBits, TheDefaultIs24ForSpikesIntoADenseSynapseAnd32Elsewhere) {
  EXPECT_EQ(info_of(dense(SYNFIRE_INPUT_SPIKES, 0)).gradient_bits, 24);
  EXPECT_EQ(info_of(dense(SYNFIRE_INPUT_VALUES, 0)).gradient_bits, 32);
  EXPECT_EQ(info_of(one_to_one(SYNFIRE_INPUT_SPIKES, 0)).gradient_bits, 32);
  EXPECT_EQ(info_of(one_to_one(SYNFIRE_INPUT_VALUES, 0)).gradient_bits, 32);
}

TEST_F(GradientBits, BothCanBeAskedFor) {
  for (const int32_t input : {SYNFIRE_INPUT_SPIKES, SYNFIRE_INPUT_VALUES})
    for (const int32_t bits : {24, 32}) {
      EXPECT_EQ(info_of(dense(input, bits)).gradient_bits, bits);
      EXPECT_EQ(info_of(one_to_one(input, bits)).gradient_bits, bits);
    }
  for (const int32_t bits : {-1, 1, 16, 25, 64}) {
    synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
    desc.n_inputs = desc.n_outputs = 1;
    desc.gradient_bits = bits;
    synfire_synapse made = nullptr;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-SYNAPSE-GRADIENT-BITS", "24", "32", "0"),
                 synfire_synapse_create(context, &desc, &made));
    synfire_one_to_one_desc one = SYNFIRE_ONE_TO_ONE_DESC_INIT;
    one.channels = 1;
    one.gradient_bits = bits;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-SYNAPSE-GRADIENT-BITS", "24", "32", "0"),
                 synfire_synapse_create_one_to_one(context, &one, &made));
  }
}

// With 24 bits, an input that is active where the gradient is below 2^-24 of its largest gets 0.
TEST_F(GradientBits, TheDefaultHasTheBitsOfItsNumber) {
  const auto of_dense = [&](int32_t bits) { return gradient(dense(SYNFIRE_INPUT_SPIKES, bits), 10, 2); };
  EXPECT_TRUE(same_bits(of_dense(0), of_dense(24)));
  EXPECT_EQ(of_dense(0)[4], 0);
  EXPECT_NE(of_dense(32)[4], 0);
  const auto of_one = [&](int32_t bits) {
    return gradient(one_to_one(SYNFIRE_INPUT_SPIKES, bits, SYNFIRE_SCOPE_NEURON), 5, 5);
  };
  EXPECT_TRUE(same_bits(of_one(0), of_one(32)));
}

// ---- networks -------------------------------------------------------------------------------------------------------

Network stages(synfire_context context, int32_t input) {
  StagePlan plan;
  plan.input = input;
  plan.sizes = {6, 5, 3};
  return make_stages(context, plan);
}

TEST_F(GradientBits, OfANetworkFollowFromTheInput) {
  for (const int32_t input : {SYNFIRE_NETWORK_INPUT_RATES, SYNFIRE_NETWORK_INPUT_VALUES})
    for (const double asked : {0.0, 24.0, 32.0}) {
      const Network network = stages(context, input);
      double value = -1;
      EXPECT_OK(synfire_network_get_value(network, "s0", "gradient_bits", &value));
      EXPECT_EQ(value, 0) << "the default";
      EXPECT_OK(synfire_network_set_value(network, "s0", "gradient_bits", asked));
      require_ok(synfire_network_build(network));
      const int expected = asked != 0 ? static_cast<int>(asked) : input == SYNFIRE_NETWORK_INPUT_VALUES ? 32 : 24;
      synfire_synapse synapse = nullptr;
      require_ok(synfire_network_get_synapse(network, "s0", &synapse));
      EXPECT_EQ(info_of(Synapse(synapse)).gradient_bits, expected);
      require_ok(synfire_network_get_synapse(network, "s1", &synapse));
      EXPECT_EQ(info_of(Synapse(synapse)).gradient_bits, 24) << "spikes of neurons";
      // The file holds the number.
      const File file = saved(network);
      const std::string header = FileParts(file).header;
      EXPECT_NE(header.find(" frozen=0 gradient_bits=" + std::to_string(expected) + " "), std::string::npos) << header;
      const Network again = created(context, file);
      require_ok(synfire_network_get_synapse(again, "s0", &synapse));
      EXPECT_EQ(info_of(Synapse(synapse)).gradient_bits, expected);
      EXPECT_EQ(saved(again), file);
      // A network of the program agrees with it if it has the same number, asked for or not.
      const Network other = stages(context, input);
      require_ok(synfire_network_build(other));
      const int by_default = input == SYNFIRE_NETWORK_INPUT_VALUES ? 32 : 24;
      // 24 of values is what version 0.2 wrote for every synapse.
      if (expected == by_default || expected == 24)
        EXPECT_OK(load(other, file));
      else
        EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-OTHER", "s0", "gradient_bits", "32", "24"),
                     load(other, file));
    }
}

TEST_F(GradientBits, OfANetworkAreOneOfThree) {
  const Network network = stages(context, SYNFIRE_NETWORK_INPUT_RATES);
  for (const double wrong : {16.0, 25.0, 33.0, -24.0, 24.5})
    EXPECT_LT(synfire_network_set_value(network, "s0", "gradient_bits", wrong), 0) << wrong;
}

// A file that lacks the word has the default.
TEST_F(GradientBits, AFileMayLackThem) {
  for (const int32_t input : {SYNFIRE_NETWORK_INPUT_RATES, SYNFIRE_NETWORK_INPUT_VALUES}) {
    const Network network = stages(context, input);
    require_ok(synfire_network_build(network));
    const int expected = input == SYNFIRE_NETWORK_INPUT_VALUES ? 32 : 24;
    const File file = FileParts(saved(network)).replace(" gradient_bits=" + std::to_string(expected), "").whole();
    synfire_synapse synapse = nullptr;
    require_ok(synfire_network_get_synapse(created(context, file), "s0", &synapse));
    EXPECT_EQ(info_of(Synapse(synapse)).gradient_bits, expected);
  }
}

}  // namespace
}  // namespace synfire_test

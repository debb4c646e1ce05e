// Synapses, losses and optimisers through the C++ wrapper: descriptors that take what must be given, and a synapse in
// the place of X.
#include "support.hpp"

#include <cstdint>
#include <vector>

namespace {

using synfire::Buffer;
using synfire::neurons;
using synfire::steps;
using synfire_test::make_context;

constexpr synfire_buffer no_buffer = nullptr;

TEST(RequiredNumbers, ComeBeforeWhatHasADefault) {
  const auto synapse = synfire::synapse_desc(40, 50);
  EXPECT_EQ(synapse.n_inputs, 40);
  EXPECT_EQ(synapse.n_outputs, 50);
  EXPECT_EQ(synapse.input_kind, SYNFIRE_INPUT_SPIKES);
  const auto counts = synfire::count_spikes_desc(no_buffer, no_buffer, steps{20}, neurons{64});
  EXPECT_EQ(counts.n_steps, 20);
  EXPECT_EQ(counts.kind, SYNFIRE_COUNT_PER_NEURON);
  const auto mean =
      synfire::reduce_desc(no_buffer, no_buffer, steps{20}, neurons{3}, SYNFIRE_REDUCE_MEAN, SYNFIRE_AXIS_BATCH, 30);
  EXPECT_EQ(mean.n_neurons, 3);
  EXPECT_EQ(mean.reduction, SYNFIRE_REDUCE_MEAN);
  EXPECT_EQ(mean.axis, SYNFIRE_AXIS_BATCH);
  EXPECT_EQ(mean.batch, 30);
  const auto back = synfire::reduce_backward_desc(no_buffer, no_buffer, steps{20}, neurons{3});
  EXPECT_EQ(back.n_steps, 20);
  EXPECT_EQ(back.reduction, SYNFIRE_REDUCE_SUM);
  EXPECT_EQ(synfire::loss_desc(no_buffer, no_buffer, 3).n_classes, 3);
}

TEST(RequiredNumbers, LabelsOrTargets) {
  const synfire::Context context = make_context();
  const Buffer scores(context, synfire::buffer_desc<float>(6)), targets(context, synfire::buffer_desc<float>(6)),
      labels(context, synfire::counts_desc(2));
  const auto of_labels = synfire::loss_desc(scores, labels, 3);
  EXPECT_EQ(of_labels.labels, labels.get());
  EXPECT_EQ(of_labels.targets, no_buffer);
  const auto of_targets = synfire::loss_desc_with_targets(scores, targets, 3, SYNFIRE_LOSS_MEAN_SQUARED_ERROR);
  EXPECT_EQ(of_targets.labels, no_buffer);
  EXPECT_EQ(of_targets.targets, targets.get());
  EXPECT_EQ(of_targets.kind, SYNFIRE_LOSS_MEAN_SQUARED_ERROR);
}

// 3 steps of 2 batch rows of 4 inputs to 3 neurons.
struct Rig {
  synfire::Context context = make_context();
  synfire::Synapse synapse{context, with_bias()};
  synfire::Layer layer{context, synfire::layer_desc(SYNFIRE_MODEL_LIF, steps{3}, neurons{3}, 2)};
  Buffer input{context, synfire::buffer_desc<std::uint8_t>(24, SYNFIRE_MEMORY_PINNED)};
  Buffer x = sequence(18), spikes = sequence(18), rest = sequence(6), grad = sequence(18), grad_x = sequence(18),
         grad_input = sequence(24);

  Rig() {
    input.upload(std::vector<std::uint8_t>{1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0});
    grad.fill(1);
  }
  static synfire_synapse_desc with_bias() {
    synfire_synapse_desc desc = synfire::synapse_desc(4, 3);
    desc.bias = 1;
    desc.gain = 3;
    return desc;
  }
  Buffer sequence(std::uint64_t count) const {
    return Buffer(context, synfire::buffer_desc<float>(count, SYNFIRE_MEMORY_PINNED));
  }
  // The results of a pass.
  std::vector<std::vector<float>> results() {
    std::vector<float> weight_gradient(12);
    synfire::read(synapse, "weight_gradient", weight_gradient);
    std::vector<std::vector<float>> all{spikes.download<float>(), weight_gradient, grad_input.download<float>()};
    for (Buffer* const written : {&spikes, &grad_input}) written->fill(-1);
    synfire::write(synapse, "weight_gradient", std::vector<float>(12, -1.0F));
    return all;
  }
};

TEST(SynapseOfALayer, IsTheOperationsApart) {
  Rig rig;
  rig.synapse.forward(synfire::synapse_forward_desc(rig.input, rig.x, steps{3}, 2));
  synfire_forward_desc plain = synfire::forward_desc(rig.x, rig.spikes);
  plain.v_init = rig.rest;
  rig.layer.forward(plain);
  rig.layer.backward(synfire::backward_desc(rig.grad, rig.grad_x));
  rig.synapse.backward(synfire::synapse_backward_desc(rig.grad_x, steps{3}, 2, rig.input, rig.grad_input));
  const auto apart = rig.results();

  synfire_forward_desc forward = synfire::forward_desc(rig.synapse, rig.input, rig.spikes);
  forward.v_init = rig.rest;
  synfire_backward_desc backward = synfire::backward_desc(rig.grad);
  backward.grad_synapse_input = rig.grad_input;
  rig.layer.forward(forward);
  rig.layer.backward(backward);
  EXPECT_EQ(rig.results(), apart);

  synfire::Graph graph(rig.context);
  graph.record_forward(rig.layer, forward);
  graph.record_backward(rig.layer, backward);
  graph.instantiate();
  graph.wait(graph.launch());
  EXPECT_EQ(rig.results(), apart);
}

TEST(Conv2dSynapse, IsASynapse) {
  const Rig rig;
  synfire_conv2d_desc desc = synfire::conv2d_desc(1, 2);
  desc.width = 4;
  desc.kernel_width = 2;
  desc.weight_bits = 8;
  const std::vector<uint8_t> mask = {1, 1, 1, 1};
  desc.mask = mask.data();
  desc.mask_length = mask.size();
  synfire::Synapse synapse(rig.context, desc);
  EXPECT_EQ(synapse.info().has_mask, 1);
  EXPECT_EQ(synapse.info().kind, std::string("conv2d"));
  EXPECT_EQ(synapse.info().output_width, 3);
  EXPECT_EQ(synapse.array_info(0).shape[2], 2);
  synfire::write(synapse, "weight", std::vector<float>{1, 2, 10, 20});
  const Buffer y = rig.sequence(3 * 2 * 6);
  synapse.forward(synfire::synapse_forward_desc(rig.input, y, steps{3}, 2));
  const std::vector<float> found = y.download<float>();
  EXPECT_EQ(std::vector<float>(found.begin(), found.begin() + 6), (std::vector<float>{1, 10, 2, 20, 3, 30}));
  EXPECT_EQ(synapse.read_integers("weight", 4), (std::vector<int32_t>{32, 64, 40, 80}));
  EXPECT_EQ(synapse.read_integers("exponent", 2), (std::vector<int32_t>{-21, -18}));
}

TEST(Pool, TakesWindows) {
  const synfire::Context context = make_context();
  Buffer x(context, synfire::buffer_desc<float>(4));
  const Buffer y(context, synfire::buffer_desc<float>(2));
  x.upload(std::vector<float>{1, 3, 2, -1});
  auto desc = synfire::pool_desc(x, y, steps{1}, 1);
  desc.width = 4;
  desc.kernel_width = 2;
  synfire::pool(context, desc);
  EXPECT_EQ(y.download<float>(), (std::vector<float>{3, 2}));
}

TEST(Normalize, MovesRunningStatistics) {
  const synfire::Context context = make_context();
  Buffer y(context, synfire::buffer_desc<float>(2)), mean(context, synfire::buffer_desc<float>(1));
  const Buffer x(context, synfire::buffer_desc<float>(2)), variance(context, synfire::buffer_desc<float>(1));
  y.upload(std::vector<float>{1, 5});
  mean.upload(std::vector<float>{1});
  auto desc = synfire::normalize_desc(y, x, steps{1}, 1);
  desc.width = 2;
  desc.momentum = 0.5;
  desc.running_mean = mean;
  desc.running_variance = variance;
  synfire::normalize(context, desc);
  EXPECT_EQ(mean.download<float>(), std::vector<float>{2});
  EXPECT_EQ(variance.download<float>(), std::vector<float>{4});
  EXPECT_NEAR(x.download<float>()[1], 1, 1e-5);
}

TEST(Resize, CopiesPlaces) {
  const synfire::Context context = make_context();
  Buffer x(context, synfire::buffer_desc<float>(2));
  const Buffer y(context, synfire::buffer_desc<float>(4));
  x.upload(std::vector<float>{1, 3});
  auto upsample = synfire::upsample_desc(x, y, steps{1}, 1);
  upsample.width = 2;
  upsample.scale_y = 1;
  synfire::upsample(context, upsample);
  EXPECT_EQ(y.download<float>(), (std::vector<float>{1, 1, 3, 3}));
  auto pad = synfire::pad_desc(x, y, steps{1}, 1);
  pad.width = 2;
  pad.left = pad.right = 1;
  synfire::pad(context, pad);
  EXPECT_EQ(y.download<float>(), (std::vector<float>{0, 1, 3, 0}));
}

TEST(Events, AreBinnedInAReplay) {
  const synfire::Context context = make_context();
  const auto integers = [](std::size_t n, std::int32_t dtype) {
    synfire_buffer_desc desc = synfire::buffer_desc<float>(n);
    desc.dtype = dtype;
    return desc;
  };
  Buffer events(context, integers(2, SYNFIRE_DTYPE_U64)), event_counts(context, integers(1, SYNFIRE_DTYPE_U32));
  const Buffer counts(context, synfire::buffer_desc<float>(8)), faults(context, integers(5, SYNFIRE_DTYPE_U32));
  const std::uint64_t data[] = {3 | std::uint64_t{1} << 32, 15 | std::uint64_t{1} << 60};  // (1, off), (0, on)
  const std::uint32_t two = 2;
  synfire::check(synfire_buffer_upload(events, 0, data, sizeof data));
  synfire::check(synfire_buffer_upload(event_counts, 0, &two, sizeof two));
  auto desc = synfire::bin_events_desc(events, event_counts, counts, faults, steps{2}, 2, 1, 2);
  desc.ticks_per_step = 10;
  synfire::Graph graph(context);
  graph.record_bin_events(desc);
  graph.instantiate();
  graph.wait(graph.launch());
  EXPECT_EQ(counts.download<float>(), (std::vector<float>{0, 0, 1, 0, 0, 1, 0, 0}));
  synfire::bin_events(context, desc);
  EXPECT_EQ(counts.download<float>(), (std::vector<float>{0, 0, 1, 0, 0, 1, 0, 0}));
}

TEST(OneToOneSynapse, IsASynapse) {
  const Rig rig;
  synfire_one_to_one_desc desc = synfire::one_to_one_desc(4, SYNFIRE_INPUT_SPIKES, SYNFIRE_SCOPE_CHANNEL);
  desc.bias = 1;
  synfire::Synapse synapse(rig.context, desc);
  EXPECT_EQ(synapse.info().kind, std::string("one_to_one"));
  EXPECT_EQ(synapse.info().n_arrays, 2u);
  EXPECT_EQ(synapse.info().gradient_bits, 32);
  EXPECT_EQ(synapse.rounding(-1).has_grid, 0);
  const synfire_synapse_array_info weight = synapse.array_info(0);
  EXPECT_EQ(weight.name, std::string("weight"));
  EXPECT_EQ(weight.shape[0], 4);
  synfire::write(synapse, "weight", std::vector<float>{1, 2, 3, 4});
  const Buffer y = rig.sequence(3 * 2 * 4);
  synapse.forward(synfire::synapse_forward_desc(rig.input, y, steps{3}, 2));
  const std::vector<float> found = y.download<float>();
  EXPECT_EQ(std::vector<float>(found.begin(), found.begin() + 4), (std::vector<float>{1, 0, 3, 4}));
  synfire::Optimizer optimizer(rig.context);
  optimizer.add_array(synapse, "weight", 1, 1);
  optimizer.add_bias(synapse, 1, 0);
  optimizer.step(synfire::optimizer_step_desc());
}

TEST(Delays, AreASynapse) {
  const Rig rig;
  auto desc = synfire::delayed_desc(3, 2, 5);
  desc.learn_delays = 1;
  synfire::Synapse synapse(rig.context, desc);
  EXPECT_EQ(synapse.info().kind, std::string("delayed"));
  EXPECT_EQ(synapse.array_info(1).name, std::string("delay"));
  synfire::write(synapse, "width", std::vector<float>{0.5});
  synfire::write(synapse, "weight", std::vector<float>(6, 2));
  synfire::write(synapse, "delay", std::vector<float>{0, 0, 0, 1, 1, 1});
  Buffer x = rig.sequence(3);
  const Buffer y = rig.sequence(2);
  x.upload(std::vector<float>{1, 0, 1});
  auto forward = synfire::synapse_forward_desc(x, y, steps{1});
  forward.round_delays = 1;
  synapse.forward(forward);
  EXPECT_EQ(y.download<float>(), (std::vector<float>{4, 0}));
  synfire::Optimizer optimizer(rig.context);
  optimizer.add_array(synapse, "delay", 1, 0);
}

TEST(PopulationCode, IsASynapse) {
  const Rig rig;
  synfire::Synapse synapse(rig.context, synfire::population_desc(4, 3));
  EXPECT_EQ(synapse.info().kind, std::string("population"));
  EXPECT_EQ(synapse.info().output_channels, 12);
  EXPECT_EQ(synapse.array_info(1).name, std::string("sigma"));
  synfire::write(synapse, "mu", std::vector<float>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2});
  Buffer x = rig.sequence(4);
  const Buffer y = rig.sequence(12);
  x.upload(std::vector<float>{0, 1, 2, 0});
  synapse.forward(synfire::synapse_forward_desc(x, y, steps{1}));
  const std::vector<float> found = y.download<float>();
  EXPECT_EQ(found[0], 1);
  EXPECT_EQ(found[4], 1);
  EXPECT_EQ(found[8], 1);
  EXPECT_LT(found[2], found[1]);
  synfire::Optimizer optimizer(rig.context);
  optimizer.add_array(synapse, "sigma", 1, 0);
}

TEST(SynapseOfALayer, IsGivenWithItsInputAndWithoutX) {
  using synfire_test::throws;
  Rig rig;
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-FORWARD-SYNAPSE", "desc.synapse_input",
                     [&] { rig.layer.forward(synfire::forward_desc(rig.synapse, nullptr)); }));
  synfire_forward_desc both = synfire::forward_desc(rig.synapse, rig.input);
  both.x = rig.x;
  EXPECT_TRUE(
      throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-FORWARD-SYNAPSE", "desc.x", [&] { rig.layer.forward(both); }));
}

}  // namespace

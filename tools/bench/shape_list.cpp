// shape_list.cpp - the written list with its sources, and the drawn one.
//
// SPDX-License-Identifier: MIT
#include "shape_list.hpp"

#include <algorithm>
#include <cmath>

namespace synfire_bench {
namespace {

constexpr ShapeSource sources[] = {
    {"sj-fc", "SpikingJelly, one layer on MNIST",
     "github.com/fangwei123456/spikingjelly, activation_based/examples/lif_fc_mnist.py"},
    {"sj-fashion", "SpikingJelly, convolutions on Fashion-MNIST",
     "github.com/fangwei123456/spikingjelly, activation_based/examples/conv_fashion_mnist.py"},
    {"sj-dvsg", "SpikingJelly, tutorial \"Classify DVS Gesture\"",
     "github.com/fangwei123456/spikingjelly, activation_based/examples/classify_dvsg.py"},
    {"plif", "Fang et al. 2021, Incorporating Learnable Membrane Time Constant",
     "github.com/fangwei123456/Parametric-Leaky-Integrate-and-Fire-Spiking-Neuron, codes/models.py and README"},
    {"sew", "Fang et al. 2021, Deep Residual Learning in Spiking Neural Networks",
     "github.com/fangwei123456/Spike-Element-Wise-ResNet, imagenet/, cifar10dvs/smodels.py and origin_logs/"},
    {"spikformer", "Zhou et al. 2023, Spikformer",
     "github.com/ZK-Zhou/spikformer, cifar10/cifar10.yml and imagenet/imagenet.yml"},
    {"snntorch-5", "snnTorch, tutorial 5: MNIST", "github.com/jeshraghian/snntorch, docs/tutorials/tutorial_5.rst"},
    {"snntorch-6", "snnTorch, tutorial 6: convolutions on MNIST",
     "github.com/jeshraghian/snntorch, docs/tutorials/tutorial_6.rst"},
    {"snntorch-7", "snnTorch, tutorial 7: N-MNIST", "github.com/jeshraghian/snntorch, docs/tutorials/tutorial_7.rst"},
    {"spytorch", "Zenke, SpyTorch, tutorials 2 (Fashion-MNIST) and 4 (SHD)",
     "github.com/fzenke/spytorch, notebooks/SpyTorchTutorial2.ipynb and SpyTorchTutorial4.ipynb"},
    {"sparch", "Bittar and Garner 2022, a surrogate gradient spiking baseline for speech command recognition",
     "github.com/idiap/sparch, sparch/parsers/model_config.py, training_config.py and dataloaders/spiking_datasets.py"},
    {"sddpg", "Tang et al. 2020, mapless navigation of a robot",
     "github.com/combra-lab/spiking-ddpg-mapless-navigation, training/train_spiking_ddpg/sddpg_agent.py"},
    {"popsan", "Tang et al. 2020, Population-Coded Spiking Neural Network for Continuous Control",
     "github.com/combra-lab/pop-spiking-deep-rl, popsan_drl/popsan_sac/sac_cuda_norm.py"},
    {"breakout", "BindsNET, a network that plays Breakout",
     "github.com/BindsNET/bindsnet, examples/breakout/breakout.py"},
    {"cartpole", "Norse, a policy for CartPole", "github.com/norse/norse, norse/task/cartpole.py"},
    {"cortex", "Potjans and Diesmann 2014, a cortical microcircuit in full size",
     "github.com/nest/nest-simulator, pynest/examples/Potjans_2014/network_params.py; steps of 0.1 ms"},
    {"cuba", "Vogels and Abbott 2005, the benchmark CUBA",
     "github.com/brian-team/brian, docs_sphinx/examples-synapses_CUBA.txt; steps of 0.1 ms"},
    {"brunel", "Brunel 2000, sparsely connected excitatory and inhibitory neurons",
     "github.com/marieanselmet/cppcourse-brunel; steps of 0.1 ms"},
    {"spikegpt", "Zhu et al. 2023, SpikeGPT", "github.com/ridgerchu/SpikeGPT, train.py"},
    {"network", "networks that this project compares with other libraries",
     "synfire-bench network, docs/pages/benchmarking.md"},
    {"compared", "shapes at which SpikingJelly was measured beside this library", "tools/bench/shape_bounds.cpp"},
};

struct Listed {
  std::uint64_t batch, neurons, steps;
  std::string_view source, layer;
};

// Layers of neurons with the batch and the steps of their source. One sample instead of a batch where the source's
// arrays would take gigabytes, or where it is a control loop or a simulation.
constexpr Listed list[] = {
    {64, 10, 100, "sj-fc", "output"},
    {128, 100352, 4, "sj-fashion", "128 channels of 28 x 28"},
    {128, 25088, 4, "sj-fashion", "128 channels of 14 x 14"},
    {128, 2048, 4, "sj-fashion", "fully connected"},
    {128, 10, 4, "sj-fashion", "output"},
    {1, 2097152, 16, "sj-dvsg", "128 channels of 128 x 128, one sample"},
    {16, 131072, 16, "sj-dvsg", "128 channels of 32 x 32"},
    {16, 32768, 16, "sj-dvsg", "128 channels of 16 x 16"},
    {16, 8192, 16, "sj-dvsg", "128 channels of 8 x 8"},
    {16, 512, 16, "sj-dvsg", "fully connected"},
    {16, 110, 16, "sj-dvsg", "ten votes for each of 11 classes"},
    {16, 100352, 8, "plif", "MNIST, 128 channels of 28 x 28"},
    {16, 25088, 8, "plif", "MNIST, 128 channels of 14 x 14"},
    {16, 2048, 8, "plif", "MNIST, fully connected"},
    {16, 100, 8, "plif", "MNIST, ten votes for each of 10 classes"},
    {16, 262144, 8, "plif", "CIFAR10, 256 channels of 32 x 32"},
    {16, 65536, 8, "plif", "CIFAR10, 256 channels of 16 x 16"},
    {16, 147968, 10, "plif", "N-MNIST, 128 channels of 34 x 34"},
    {16, 36992, 10, "plif", "N-MNIST, 128 channels of 17 x 17"},
    {16, 2048, 10, "plif", "N-MNIST, fully connected"},
    {16, 100, 10, "plif", "N-MNIST, ten votes for each of 10 classes"},
    {1, 2097152, 20, "plif", "CIFAR10-DVS, 128 channels of 128 x 128, one sample"},
    {16, 131072, 20, "plif", "CIFAR10-DVS, 128 channels of 32 x 32"},
    {16, 32768, 20, "plif", "CIFAR10-DVS, 128 channels of 16 x 16"},
    {16, 512, 20, "plif", "DVS128 Gesture, fully connected"},
    {16, 110, 20, "plif", "DVS128 Gesture, ten votes for each of 11 classes"},
    {32, 802816, 4, "sew", "ResNet-18 on ImageNet, 64 channels of 112 x 112"},
    {32, 200704, 4, "sew", "ResNet-18 on ImageNet, 64 channels of 56 x 56"},
    {32, 100352, 4, "sew", "ResNet-18 on ImageNet, 128 channels of 28 x 28"},
    {32, 50176, 4, "sew", "ResNet-18 on ImageNet, 256 channels of 14 x 14"},
    {32, 25088, 4, "sew", "ResNet-18 on ImageNet, 512 channels of 7 x 7"},
    {1, 1048576, 16, "sew", "CIFAR10-DVS, 64 channels of 128 x 128, one sample"},
    {1, 65536, 16, "sew", "CIFAR10-DVS, 64 channels of 32 x 32, one sample"},
    {128, 24576, 4, "spikformer", "CIFAR10, 64 tokens of 384"},
    {128, 98304, 4, "spikformer", "CIFAR10, 64 tokens of 1536 inside a block"},
    {24, 100352, 4, "spikformer", "ImageNet, 196 tokens of 512"},
    {128, 1000, 25, "snntorch-5", "hidden"},
    {128, 10, 25, "snntorch-5", "output"},
    {128, 1728, 50, "snntorch-6", "12 channels of 12 x 12"},
    {128, 1024, 50, "snntorch-6", "64 channels of 4 x 4"},
    {128, 10, 50, "snntorch-6", "output"},
    {128, 2700, 311, "snntorch-7", "12 channels of 15 x 15"},
    {128, 800, 311, "snntorch-7", "32 channels of 5 x 5"},
    {128, 10, 311, "snntorch-7", "output"},
    {256, 100, 100, "spytorch", "Fashion-MNIST, hidden"},
    {256, 10, 100, "spytorch", "Fashion-MNIST, output"},
    {256, 200, 100, "spytorch", "SHD, hidden"},
    {256, 20, 100, "spytorch", "SHD, output"},
    {128, 128, 100, "sparch", "SHD, hidden"},
    {128, 20, 100, "sparch", "SHD, output"},
    {128, 256, 50, "sddpg", "hidden, training"},
    {1, 256, 50, "sddpg", "hidden, the robot's loop"},
    {1, 2, 50, "sddpg", "two actions, the robot's loop"},
    {100, 256, 5, "popsan", "hidden, training"},
    {100, 80, 5, "popsan", "populations of 10 for 8 actions, training"},
    {1, 256, 5, "popsan", "hidden, the robot's loop"},
    {1, 80, 5, "popsan", "populations of 10 for 8 actions, the robot's loop"},
    {1, 100, 100, "breakout", "hidden, one frame of the game"},
    {1, 4, 100, "breakout", "four actions, one frame of the game"},
    {1, 128, 40, "cartpole", "hidden, one decision"},
    {1, 77169, 10, "cortex", "all neurons, 1 ms"},
    {1, 20683, 10, "cortex", "layer 2/3, excitatory, 1 ms"},
    {1, 5834, 10, "cortex", "layer 2/3, inhibitory, 1 ms"},
    {1, 21915, 10, "cortex", "layer 4, excitatory, 1 ms"},
    {1, 1065, 10, "cortex", "layer 5, inhibitory, 1 ms"},
    {1, 2948, 1, "cortex", "layer 6, inhibitory, one step"},
    {1, 4000, 10, "cuba", "all neurons, 1 ms"},
    {1, 3200, 100, "cuba", "excitatory neurons, 10 ms"},
    {1, 12500, 10, "brunel", "all neurons, 1 ms"},
    {1, 2500, 1, "brunel", "inhibitory neurons, one step"},
    {12, 768, 1024, "spikegpt", "embedding of 768, 1024 tokens"},
    {12, 3072, 1024, "spikegpt", "four times the embedding"},
    {128, 512, 100, "network", "deep, hidden"},
    {128, 20, 100, "network", "deep, output"},
    {50, 700, 37, "network", "odd, first hidden"},
    {50, 90, 37, "network", "odd, second hidden"},
    {50, 11, 37, "network", "odd, output"},
    {1, 128, 16, "network", "control, hidden"},
    {1, 8, 16, "network", "control, output"},
    {1, 128, 1, "network", "control, hidden, one step"},
    {1, 2097152, 1, "compared", ""},
    {1, 2097152, 4, "compared", ""},
    {1, 2097152, 6, "compared", ""},
    {1, 2097152, 8, "compared", ""},
    {1, 2097152, 10, "compared", ""},
    {1, 2097152, 15, "compared", ""},
    {1, 2097152, 32, "compared", ""},
    {1, 2097151, 16, "compared", ""},
    {1, 2097150, 16, "compared", ""},
    {1, 1500001, 6, "compared", ""},
    {1, 1500001, 24, "compared", ""},
    {1, 300007, 48, "compared", ""},
    {1, 999999, 16, "compared", ""},
    {1, 100000, 25, "compared", ""},
    {256, 784, 20, "compared", ""},
    {128, 1000, 50, "compared", ""},
    {64, 6272, 10, "compared", ""},
    {64, 100, 100, "compared", ""},
    {1, 1024, 8, "compared", ""},
    {1, 16384, 8, "compared", ""},
    {1, 1024, 1024, "compared", ""},
};

// splitmix64, so that a seed gives the same shapes with every compiler and library.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t limit) { return bits() % limit; }

  // About as often between 1 and 2 as between 2 and 4, in 1 ... most: a power of two, and a part of it.
  std::uint64_t logarithmic(std::uint64_t most) {
    std::uint64_t powers = 1;
    while (most >> powers != 0) ++powers;
    const std::uint64_t low = std::uint64_t{1} << below(powers);
    return std::min(low + below(low), most);
  }

 private:
  std::uint64_t state_;
};

constexpr std::uint64_t up_to_multiple(std::uint64_t count, std::uint64_t of) {
  return (count + of - 1) / of * of;
}

}  // namespace

std::span<const ShapeSource> shape_sources() {
  return sources;
}

std::vector<PlacedShape> listed_shapes() {
  std::vector<PlacedShape> shapes;
  for (const Listed& row : list)
    shapes.push_back({{row.steps, row.batch, row.neurons}, row.source, row.layer, 0, {0, 0, 0, 0}});
  return shapes;
}

std::vector<PlacedShape> random_shapes(std::uint64_t seed, std::size_t count, std::uint64_t most_elements) {
  constexpr std::uint64_t most_steps = 400, most_batch = 300;
  Draw draw(seed);
  std::vector<PlacedShape> shapes;
  for (std::size_t i = 0; i < count; ++i) {
    PlacedShape placed{};
    placed.source = "random";
    // Every second shape is one row: there the neurons can be many.
    const std::uint64_t steps = draw.logarithmic(std::min(most_steps, most_elements)) | 1;
    const std::uint64_t batch = i % 2 == 0 ? 1 : draw.logarithmic(most_batch) | 1;
    const std::uint64_t neurons = draw.logarithmic(std::max<std::uint64_t>(1, most_elements / steps / batch));
    placed.shape = {steps, batch, neurons % 2 == 0 ? neurons - 1 : neurons};
    // A third is contiguous; otherwise up to 64 elements lie between two steps.
    placed.padding = i % 3 == 0 ? 0 : 1 + draw.below(64);
    for (std::uint64_t& offset : placed.offsets) offset = draw.below(17);
    shapes.push_back(placed);
  }
  return shapes;
}

Shape reference_of(const Shape& shape) {
  return {up_to_multiple(shape.steps, 8), 1, up_to_multiple(shape.batch * shape.neurons, 128)};
}

Shape smallest_reference_of(const Shape& shape, const Dtype& dtype, bool host) {
  const std::uint64_t neurons = !host ? 128 : dtype.id == SYNFIRE_DTYPE_F64 ? 8 : 16;
  return {up_to_multiple(shape.steps, 8), 1, neurons};
}

}  // namespace synfire_bench

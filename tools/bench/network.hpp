// network.hpp - a network of synapses and LIF layers with its arrays and graphs, ready to be replayed.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_NETWORK_HPP
#define SYNFIRE_TOOLS_BENCH_NETWORK_HPP

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "machine.hpp"

namespace synfire_bench {

/// Sizes from the input to the last layer: 128-512-20 has two synapses and two layers.
struct NetworkShape {
  std::vector<std::uint64_t> sizes;
  std::uint64_t steps = 1, batch = 1;

  std::string text() const;  ///< "128-512-20"
  std::uint64_t rows() const { return steps * batch; }
};

/// One product of a step: result [m, n] from a sum over k.
struct Product {
  enum class Operands { forward, weights, input } operands = Operands::forward;
  std::uint64_t m = 0, n = 0, k = 0;

  double multiply_adds() const { return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

/// Inference: per layer a synapse and a forward without a tape, then the mean rate of each output. Training: forwards
/// with tapes, the cross-entropy of the mean rates, all gradients.
class Network {
 public:
  struct Input {
    double rate;          ///< the share of inputs that spike
    bool values = false;  ///< f32 numbers in place of spikes
  };
  Network(const Machine& machine, const NetworkShape& shape, bool training, const Input& input, bool taus);

  /// One call of the library's recording functions.
  struct Operation {
    std::string name;
    std::vector<Product> products;
    std::function<void(synfire_graph)> record;
    bool backward = false;
  };
  const std::vector<Operation>& operations() const { return operations_; }

  /// `passes` times these operations, instantiated.
  Owned<synfire_graph> graph(const std::vector<const Operation*>& operations, std::uint64_t passes) const;
  Owned<synfire_graph> whole(std::uint64_t passes) const;

  /// The share of neurons that spiked in the last forward, over all steps, rows and layers.
  double spike_rate() const;
  double multiply_adds() const;

 private:
  struct Stage {
    std::uint64_t inputs, neurons;
    Owned<synfire_synapse> synapse;
    Owned<synfire_layer> layer;
    synfire_buffer x, spikes, grad_x, grad_spikes, grad_tau;
  };
  synfire_buffer new_buffer(std::int32_t dtype, std::uint64_t elements);
  void make_input();
  void make_stage(std::uint64_t index);
  void add(std::string name, std::vector<Product> products, bool backward, std::function<void(synfire_graph)> record);
  void add_forward(std::size_t index);
  void add_backward(std::size_t index);
  void add_readout();
  void add_optimizer();

  const Machine& machine_;
  const NetworkShape shape_;
  const bool training_, taus_;
  const Input kind_;
  std::vector<Owned<synfire_buffer>> buffers_;
  std::vector<Stage> stages_;
  Owned<synfire_optimizer> optimizer_;
  std::vector<Operation> operations_;
  synfire_buffer input_ = nullptr;
};

}  // namespace synfire_bench

#endif

// chain.hpp - a chain of layers, forward or forward and backward, as one graph and as eager calls. Its latency is
// measured.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_CHAIN_HPP
#define SYNFIRE_TOOLS_BENCH_CHAIN_HPP

#include <cstdint>
#include <vector>

#include "machine.hpp"

namespace synfire_bench {

/// The shape of a chain.
struct ChainShape {
  std::uint64_t layers = 1, steps = 8, neurons = 1024;
  bool backward = true;

  std::uint64_t operations() const { return backward ? 2 * layers : layers; }
  bool operator==(const ChainShape&) const = default;
};

/// LIF layers in f32 with sigmoid surrogates. Each reads the dense spikes of the layer before it. The backward runs in
/// the opposite direction, from dL/dS of the last layer to dL/dX of the first.
class Chain {
 public:
  Chain(const Machine& machine, const ChainShape& shape);

  const ChainShape& shape() const { return shape_; }
  synfire_graph graph() const { return graph_.get(); }
  synfire_layer first_layer() const { return layers_.front().layer.get(); }
  std::int32_t last_operation() const { return last_operation_; }

  /// The same operations in the same order, as eager calls. They are captured if `stream` is being captured.
  void run_eagerly(synfire_stream stream) const;

 private:
  struct Layer {
    Owned<synfire_layer> layer;
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  };
  synfire_buffer new_buffer(const Machine& machine);

  ChainShape shape_;
  std::vector<Owned<synfire_buffer>> buffers_;
  std::vector<Layer> layers_;
  Owned<synfire_graph> graph_;
  std::int32_t last_operation_ = -1;
};

}  // namespace synfire_bench

#endif

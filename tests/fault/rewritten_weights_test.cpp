// Operations of a graph that write the weights of a synapse, and the tapes of the layers after it.
#include "fake_cuda.hpp"

#include <backends/cuda/cuda_device.hpp>
#include <backends/host/host_device.hpp>
#include <backends/host/job_system.hpp>
#include <graph/graph.hpp>
#include <kinds/operations_for_machines.hpp>
#include <neurons/parameters/set_parameters.hpp>
#include <neurons/passes/backward.hpp>
#include <neurons/passes/forward.hpp>
#include <synapses/dense/dense.hpp>

#include <gtest/gtest.h>

#include <string_view>

namespace synfire_test {
namespace {

using namespace synfire;
using core::Ref;

template <class T>
Ref<T> taken(T* made) {
  Ref<T> reference(made);
  made->release();  // the initial reference
  return reference;
}

class RewrittenWeights : public testing::TestWithParam<bool> {
 protected:
  static constexpr int64_t n_steps = 5, n_inputs = 40, n_neurons = 9;

  void SetUp() override {
    fake::install();
    context_ = taken(new core::Context(
        GetParam() ? cuda::make_device(0, 0, operations::machine_operations) : host::make_device(1, {}), 0));
    synfire_synapse_desc described = SYNFIRE_SYNAPSE_DESC_INIT;
    described.n_inputs = n_inputs;
    described.n_outputs = n_neurons;
    synapse_ = taken(operations::make_dense(*context_, operations::DenseSpec(described), nullptr));
    synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
    desc.n_steps = n_steps;
    desc.n_neurons = n_neurons;
    layer_ = taken(new core::Layer(*context_, core::LayerSpec(desc), operations::value_sender));
    input_ = buffer(n_steps * n_inputs);
    v_final_ = buffer(n_neurons);
    grad_v_ = buffer(n_neurons);
    graph_ = taken(new core::Graph(*context_, 1));
  }
  void TearDown() override {
    graph_ = {}, layer_ = {}, synapse_ = {}, input_ = {}, v_final_ = {}, grad_v_ = {};
    context_ = {};
    while (core::drain() > 0) {
    }
  }

  Ref<core::Buffer> buffer(int64_t n) {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.n_elements = static_cast<uint64_t>(n);
    return taken(new core::Buffer(*context_, desc));
  }
  void forward() {
    operations::ForwardRequest request = {};
    request.synapse = synapse_.get();
    request.synapse_input = input_.get();
    request.v_final = v_final_.get();
    operations::record_forward(*graph_, *layer_, request);
  }
  operations::BackwardRequest backward_request() {
    operations::BackwardRequest request = {};
    request.grad_v_final = grad_v_.get();
    return request;
  }
  void backward() { operations::record_backward(*graph_, *layer_, backward_request()); }
  void rewrite() {
    graph_->record([&](core::Recorder&) { return core::OperationList{operations::make_prepare(*synapse_)}; });
  }
  void replay() { graph_->wait(graph_->launch(nullptr).ticket, core::WaitPolicy::spin, -1); }
  // The rule that a backward now breaks, or none.
  std::string_view run_backward() {
    try {
      operations::run_backward(*layer_, backward_request(), nullptr);
    } catch (const core::Failure& failure) {
      return failure.rule;
    }
    return "";
  }

  Ref<core::Context> context_;
  Ref<operations::DenseSynapse> synapse_;
  Ref<core::Layer> layer_;
  Ref<core::Buffer> input_, v_final_, grad_v_;
  Ref<core::Graph> graph_;
};

TEST_P(RewrittenWeights, BetweenForwardAndBackwardAreRefused) {
  forward();
  rewrite();
  try {
    backward();
    FAIL() << "recorded";
  } catch (const core::Failure& failure) {
    EXPECT_EQ(failure.status, SYNFIRE_ERROR_STALE_TAPE);
    EXPECT_STREQ(failure.rule, "SYN-TAPE-WEIGHTS");
  }
}

TEST_P(RewrittenWeights, MakeTheTapeOfTheirReplayStale) {
  forward();
  backward();
  rewrite();
  graph_->instantiate();
  for (int i = 0; i < 3; ++i) {
    replay();
    EXPECT_EQ(run_backward(), "SYN-TAPE-WEIGHTS");
  }
  graph_->set_enabled(2, false);
  replay();
  EXPECT_EQ(run_backward(), "");
  graph_->set_enabled(2, true);
  replay();
  EXPECT_EQ(run_backward(), "SYN-TAPE-WEIGHTS");
  graph_->set_enabled(0, false);  // the backward would read the tape of the replay before
  EXPECT_THROW(graph_->launch(nullptr), core::Failure);
}

TEST_P(RewrittenWeights, BeforeTheForwardAreThoseOfTheTape) {
  rewrite();
  forward();
  backward();
  graph_->instantiate();
  for (int i = 0; i < 3; ++i) {
    replay();
    EXPECT_EQ(run_backward(), "");
  }
  graph_->set_enabled(1, false);
  EXPECT_THROW(graph_->launch(nullptr), core::Failure);
}

INSTANTIATE_TEST_SUITE_P(Machines, RewrittenWeights, testing::Bool(),
                         [](const auto& machine) { return machine.param ? "Cuda" : "Host"; });

}  // namespace
}  // namespace synfire_test

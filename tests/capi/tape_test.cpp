// Which backward belongs to which forward, and truncated backpropagation through time: tapes, when they are stale, and
// windows that are chained forwards by the state and backwards by grad_v_final.
#include <algorithm>
#include <cmath>

#include "graph_support.hpp"
#include "heap.hpp"

namespace synfire_test {
namespace {

const Shape shape{40, 2, 37};

class Tape : public testing::Test {
 protected:
  Context context = make_context();
  Rig<float> rig{context, describe(shape, SYNFIRE_DTYPE_F32)};
  Inputs<float> inputs = random_inputs<float>(shape, 1), other_inputs = random_inputs<float>(shape, 2);

  void SetUp() override { rig.load(inputs); }

  // The backward is refused and writes nothing.
  void expect_stale() {
    rig.poison();
    const synfire_backward_desc desc = rig.backward_desc();
    EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("layer"), synfire_layer_backward(rig.layer, &desc, nullptr));
    EXPECT_TRUE(rig.untouched());
  }

  // The result of a backward for these inputs on a fresh layer.
  BackwardOutputs<float> reference(const Inputs<float>& of, const Parameters& parameters = {}) {
    Rig<float> fresh(context, describe(shape, SYNFIRE_DTYPE_F32));
    set_parameters(fresh.layer, Neuron{}, parameters);
    fresh.load(of);
    EXPECT_OK(fresh.run_forward());
    return fresh.backward();
  }

  Graph graph_of_forward(const ForwardChoice& choice = {}) {
    Graph graph = make_graph(context);
    const synfire_forward_desc desc = rig.forward_desc(choice);
    EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &desc));
    EXPECT_OK(synfire_graph_instantiate(graph));
    return graph;
  }
  Graph graph_of_backward() {
    Graph graph = make_graph(context);
    const synfire_backward_desc desc = rig.backward_desc();
    EXPECT_OK(synfire_graph_record_backward(graph, rig.layer, &desc));
    EXPECT_OK(synfire_graph_instantiate(graph));
    return graph;
  }
  void expect_launch_stale(synfire_graph graph, const char* word = "layer") {
    rig.poison();
    uint64_t ticket = 77;
    EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS(word), synfire_graph_launch(graph, nullptr, &ticket));
    EXPECT_EQ(ticket, 77u);
    EXPECT_TRUE(rig.untouched());
  }
};

// ---- Eager calls ----------------------------------------------------------------------------------------------------

TEST_F(Tape, NoForwardLeftOne) {
  expect_stale();
}

TEST_F(Tape, InferenceLeavesNone) {
  EXPECT_OK(rig.run_forward({.tape = SYNFIRE_TAPE_NONE}));
  expect_stale();
}

TEST_F(Tape, ANewerInferenceTakesItAway) {
  EXPECT_OK(rig.run_forward());
  EXPECT_OK(rig.run_forward({.tape = SYNFIRE_TAPE_NONE}));
  expect_stale();
  EXPECT_OK(rig.run_forward());
  EXPECT_TRUE(same_bits(rig.backward(), reference(inputs)));
}

TEST_F(Tape, AParameterChangeMakesItStale) {
  for (const char* const name : {"tau", "v_rest", "v_threshold", "v_reset", "alpha"}) {
    SCOPED_TRACE(name);
    EXPECT_OK(rig.run_forward());
    set_parameter(rig.layer, name, {0.875});
    expect_stale();
    EXPECT_OK(rig.run_forward());
    EXPECT_OK(rig.run_backward());
    set_parameter(rig.layer, name, std::vector<double>(37, 0.75));
    expect_stale();
  }
  Parameters parameters;
  for (std::vector<double>* values :
       {&parameters.tau, &parameters.v_rest, &parameters.v_threshold, &parameters.v_reset, &parameters.alpha})
    *values = {0.75};
  EXPECT_OK(rig.run_forward());
  EXPECT_TRUE(same_bits(rig.backward(), reference(inputs, parameters)));
}

TEST_F(Tape, ARefusedParameterChangeDoesNot) {
  EXPECT_OK(rig.run_forward());
  const double bad = -1;
  EXPECT_LT(synfire_layer_set_parameter(rig.layer, "tau", &bad, 1), 0);
  EXPECT_TRUE(same_bits(rig.backward(), reference(inputs)));
}

TEST_F(Tape, ARefusedForwardLeavesItAlone) {
  EXPECT_OK(rig.run_forward());
  synfire_forward_desc desc = rig.forward_desc();
  desc.spikes = rig.v_final;  // too small
  EXPECT_LT(synfire_layer_forward(rig.layer, &desc, nullptr), 0);
  EXPECT_TRUE(same_bits(rig.backward(), reference(inputs)));
}

TEST_F(Tape, BelongsToTheLatestForward) {
  EXPECT_OK(rig.run_forward());
  const Buffer other_x = make_buffer_of(context, other_inputs.x),
               other_v = make_buffer_of(context, other_inputs.v_init);
  synfire_forward_desc desc = rig.forward_desc();
  desc.x = other_x;
  desc.v_init = other_v;
  EXPECT_OK(synfire_layer_forward(rig.layer, &desc, nullptr));
  Inputs<float> mixed = inputs;
  mixed.x = other_inputs.x;
  mixed.v_init = other_inputs.v_init;
  EXPECT_TRUE(same_bits(rig.backward(), reference(mixed)));
}

TEST_F(Tape, ServesAnyNumberOfBackwards) {
  EXPECT_OK(rig.run_forward());
  const BackwardOutputs<float> first = rig.backward();
  EXPECT_TRUE(same_bits(rig.backward(), first));
  EXPECT_TRUE(same_bits(first, reference(inputs)));
}

TEST_F(Tape, OutlivesTheStateAndTheBuffersOfItsForward) {
  EXPECT_OK(rig.run_forward({.v_init = false}));
  Inputs<float> from_zero = inputs;
  from_zero.v_init.assign(shape.row(), 0);
  const BackwardOutputs<float> expected = reference(from_zero);
  EXPECT_TRUE(same_bits(rig.backward(), expected));
  EXPECT_OK(synfire_layer_reset_state(rig.layer, nullptr));
  EXPECT_OK(synfire_layer_write_state(rig.layer, "v", inputs.v_init.data(), shape.row() * sizeof(float)));
  EXPECT_TRUE(same_bits(rig.backward(), expected)) << "the state is not part of the tape";

  EXPECT_OK(rig.run_forward());
  upload(rig.v_init, other_inputs.v_init);
  EXPECT_TRUE(same_bits(rig.backward(), reference(inputs))) << "V_init is on the tape";
  for (Buffer* gone : {&rig.x, &rig.v_init, &rig.h_seq, &rig.v_seq}) gone->reset();
  EXPECT_OK(synfire_context_reclaim(context, nullptr));
  for (const Buffer* output : {&rig.grad_x_seq, &rig.grad_v_init}) EXPECT_OK(synfire_buffer_fill(*output, 99));
  EXPECT_OK(rig.run_backward());  // X lives as long as the tape needs it
  EXPECT_TRUE(same_bits(rig.backward_outputs(), reference(inputs)));
}

// ---- Graphs ---------------------------------------------------------------------------------------------------------

TEST_F(Tape, RecordingABackwardNeedsSomeForward) {
  const Graph graph = make_graph(context);
  const synfire_backward_desc backward = rig.backward_desc();
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("layer"), synfire_graph_record_backward(graph, rig.layer, &backward));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_instantiate(graph));  // nothing was recorded
  const synfire_forward_desc forward = rig.forward_desc();
  EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &forward));
  EXPECT_OK(synfire_graph_record_backward(graph, rig.layer, &backward));
  EXPECT_OK(synfire_graph_instantiate(graph));
  rig.poison();
  replay(graph);
  EXPECT_TRUE(same_bits(rig.backward_outputs(), reference(inputs)));
}

TEST_F(Tape, RecordingABackwardAfterAnInferenceInTheSameGraph) {
  const Graph graph = make_graph(context);
  const synfire_forward_desc taped = rig.forward_desc(), inference = rig.forward_desc({.tape = SYNFIRE_TAPE_NONE});
  const synfire_backward_desc backward = rig.backward_desc();
  EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &taped));
  EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &inference));
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("layer"), synfire_graph_record_backward(graph, rig.layer, &backward));
  EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &taped));
  EXPECT_OK(synfire_graph_record_backward(graph, rig.layer, &backward));
  EXPECT_OK(synfire_graph_instantiate(graph));
  rig.poison();
  replay(graph);
  EXPECT_TRUE(same_bits(rig.backward_outputs(), reference(inputs)));
}

TEST_F(Tape, ForwardAndBackwardInGraphsOfTheirOwn) {
  const BackwardOutputs<float> expected = reference(inputs);
  const Graph forward = graph_of_forward(), backward = graph_of_backward();
  expect_launch_stale(backward);  // recorded, but no forward ran
  replay(forward);
  for (int time = 0; time < 2; ++time) {
    rig.poison();
    replay(backward);
    EXPECT_TRUE(same_bits(rig.backward_outputs(), expected));
  }

  set_parameter(rig.layer, "tau", {3});
  expect_launch_stale(backward);
  replay(forward);
  rig.poison();
  replay(backward);
  Parameters parameters;
  parameters.tau = {3};
  EXPECT_TRUE(same_bits(rig.backward_outputs(), reference(inputs, parameters)));

  EXPECT_OK(rig.run_forward({.tape = SYNFIRE_TAPE_NONE}));  // has no effect on tapes
  rig.poison();
  replay(backward);
  EXPECT_TRUE(same_bits(rig.backward_outputs(), reference(inputs, parameters)));
}

TEST_F(Tape, AGraphsForwardServesAnEagerBackward) {
  const Graph forward = graph_of_forward();
  expect_stale();
  replay(forward);
  EXPECT_TRUE(same_bits(rig.backward(), reference(inputs)));
  const Graph inference = graph_of_forward({.tape = SYNFIRE_TAPE_NONE});
  replay(inference);
  expect_stale();
}

// It does not belong to a forward that ran later.
TEST_F(Tape, ABackwardGraphBelongsToItsForward) {
  const Graph forward = graph_of_forward(), backward = graph_of_backward();
  replay(forward);
  const Buffer other_x = make_buffer_of(context, other_inputs.x);
  synfire_forward_desc desc = rig.forward_desc();
  desc.x = other_x;
  EXPECT_OK(synfire_layer_forward(rig.layer, &desc, nullptr));
  rig.poison();
  replay(backward);
  EXPECT_TRUE(same_bits(rig.backward_outputs(), reference(inputs)));
  Inputs<float> mixed = inputs;
  mixed.x = other_inputs.x;
  EXPECT_TRUE(same_bits(rig.backward(), reference(mixed)));
}

// Whichever graph writes X, the first or a later one, and after one of them was destroyed or writes elsewhere.
TEST_F(Tape, EveryGraphThatWritesItsInputMakesItStale) {
  const Buffer source = make_buffer_of(context, inputs.x), elsewhere = make_buffer_of(context, inputs.x);
  const Graph forward = graph_of_forward(), backward = graph_of_backward();
  const auto graph_of_write = [&] {
    Graph graph = make_graph(context);
    record_copy(graph, source, rig.x);
    EXPECT_OK(synfire_graph_instantiate(graph));
    return graph;
  };
  const auto expect_to_write = [&](synfire_graph graph) {
    for (int time = 0; time < 2; ++time) {
      replay(forward);
      replay(backward);
      replay(graph);
      expect_launch_stale(backward, "x was written");
    }
  };
  Graph first = graph_of_write();
  const Graph second = graph_of_write(), third = graph_of_write();
  expect_to_write(first);
  expect_to_write(second);
  first.reset();
  EXPECT_OK(synfire_context_reclaim(context, nullptr));
  expect_to_write(third);
  const Graph fourth = graph_of_write();
  expect_to_write(fourth);

  EXPECT_OK(synfire_graph_rebind(fourth, rig.x, elsewhere));
  replay(forward);
  replay(fourth);
  replay(backward);  // X was not written
  EXPECT_OK(synfire_graph_rebind(third, rig.x, elsewhere));
  EXPECT_OK(synfire_graph_rebind(third, elsewhere, rig.x));
  EXPECT_OK(synfire_graph_rebind(fourth, elsewhere, rig.x));
  expect_to_write(third);
  expect_to_write(fourth);
}

TEST_F(Tape, AGraphWithBothNeedsNoTapeFromOutside) {
  const Graph graph = make_graph(context);
  const synfire_forward_desc forward = rig.forward_desc();
  const synfire_backward_desc backward = rig.backward_desc();
  EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &forward));
  EXPECT_OK(synfire_graph_record_backward(graph, rig.layer, &backward));
  EXPECT_OK(synfire_graph_instantiate(graph));
  replay(graph);
  set_parameter(rig.layer, "alpha", {3});
  EXPECT_OK(rig.run_forward({.tape = SYNFIRE_TAPE_NONE}));
  rig.poison();
  replay(graph);
  Parameters parameters;
  parameters.alpha = {3};
  EXPECT_TRUE(same_bits(rig.backward_outputs(), reference(inputs, parameters)));
}

// ---- Memory ---------------------------------------------------------------------------------------------------------

#if defined(SYNFIRE_TEST_KNOWS_HEAP)
TEST(TapeMemory, InferenceKeepsNotOneByte) {
  SYNFIRE_SKIP_WITHOUT_HEAP();
  if (!on_host()) GTEST_SKIP() << "device memory is not on the heap";
  const Context context = make_context();
  const Shape large{640, 4, 500};  // a tape of 20 rows: 160 KB
  const synfire_layer_desc desc = describe(large, SYNFIRE_DTYPE_F32);
  synfire_layer_memory memory = SYNFIRE_LAYER_MEMORY_INIT;
  ASSERT_OK(synfire_layer_query_memory(&desc, &memory));
  const Layer layer = make_layer(context, desc);
  const Buffer x = make_buffer(context, SYNFIRE_DTYPE_F32, large.sequence());
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.tape = SYNFIRE_TAPE_NONE;
  const uint64_t before = heap_in_use();
  EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
  const uint64_t after_first = heap_in_use();
  EXPECT_LE(after_first, before + most_cached());
  const uint64_t times = 1000 / std::min<uint64_t>(synfire_test::sample_interval(), 20);
  for (uint64_t time = 0; time < times; ++time) EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
  EXPECT_LE(heap_in_use(), before + most_cached());
  forward.tape = SYNFIRE_TAPE_RECOMPUTE;
  EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
  const uint64_t taped = heap_in_use();
  EXPECT_GE(taped - after_first, memory.tape_bytes);
  EXPECT_LE(taped - after_first, memory.tape_bytes + 16384) << "allocator overhead only";
  EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
  EXPECT_LE(heap_in_use(), taped + most_cached()) << "the second taped forward uses the same tape";
}
#endif

// ---- Windows --------------------------------------------------------------------------------------------------------

template <typename Scalar>
class Windows : public testing::Test {
 protected:
  static constexpr int64_t n_windows = 3;
  const Context context_ = make_context();

  // Every neuron, with parameters whose products round (tau is not a power of two).
  static std::vector<std::pair<Neuron, Parameters>> neurons() {
    Parameters parameters;
    parameters.tau = {3.3};
    parameters.v_rest = {0.05};
    parameters.v_threshold = {0.9};
    parameters.v_reset = {-0.1};
    parameters.alpha = {3};
    std::vector<std::pair<Neuron, Parameters>> result;
    for (const int32_t model : {SYNFIRE_MODEL_IF, SYNFIRE_MODEL_LIF})
      for (const int32_t reset : {SYNFIRE_RESET_HARD, SYNFIRE_RESET_SOFT})
        for (const bool detach : {false, true})
          result.push_back(
              {{model, reset, detach ? SYNFIRE_SURROGATE_ATAN : SYNFIRE_SURROGATE_SIGMOID, detach, false}, parameters});
    return result;
  }

  static Inputs<Scalar> window(const Inputs<Scalar>& all, const Shape& of, int64_t index) {
    const size_t first = static_cast<size_t>(index) * of.sequence();
    Inputs<Scalar> part = all;
    part.x = slice(all.x, first, of.sequence());
    part.grad_spike_seq = slice(all.grad_spike_seq, first, of.sequence());
    part.grad_v_seq = slice(all.grad_v_seq, first, of.sequence());
    return part;
  }

  Rig<Scalar> make_rig(const Neuron& neuron, const Parameters& parameters, const Shape& of) {
    Rig<Scalar> rig(context_, describe(neuron, of, dtype_of<Scalar>));
    set_parameters(rig.layer, neuron, parameters);
    return rig;
  }
};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(Windows, Scalars);

TYPED_TEST(Windows, TheStateContinuesFromCallToCall) {
  for (const int64_t n_steps : {1, 7, 32, 45}) {
    for (const auto& [neuron, parameters] : this->neurons()) {
      const Shape part{n_steps, 2, 19}, whole{n_steps * this->n_windows, 2, 19};
      SCOPED_TRACE(testing::Message() << part << ", model " << neuron.model << ", reset " << neuron.reset);
      const Inputs<TypeParam> inputs = random_inputs<TypeParam>(whole, 3);
      Rig<TypeParam> long_rig = this->make_rig(neuron, parameters, whole);
      long_rig.load(inputs);
      const uint64_t bytes = whole.row() * sizeof(TypeParam);
      EXPECT_OK(synfire_layer_write_state(long_rig.layer, "v", inputs.v_init.data(), bytes));
      const ForwardOutputs<TypeParam> at_once = long_rig.forward({.v_init = false});

      Rig<TypeParam> short_rig = this->make_rig(neuron, parameters, part);
      EXPECT_OK(synfire_layer_write_state(short_rig.layer, "v", inputs.v_init.data(), bytes));
      ForwardOutputs<TypeParam> pieces;
      for (int64_t w = 0; w < this->n_windows; ++w) {
        short_rig.load(this->window(inputs, part, w));
        const ForwardOutputs<TypeParam> out = short_rig.forward({.v_init = false});
        pieces.spikes = joined(pieces.spikes, out.spikes);
        pieces.v_seq = joined(pieces.v_seq, out.v_seq);
        pieces.h_seq = joined(pieces.h_seq, out.h_seq);
        pieces.v_final = out.v_final;
        EXPECT_TRUE(same_bits(read_state<TypeParam>(short_rig.layer, part.row()), out.v_final));
      }
      pieces.spike_bits = at_once.spike_bits;  // neither run requested bits
      EXPECT_TRUE(same_bits(pieces, at_once));
      if (this->HasFailure()) return;
    }
  }
}

TYPED_TEST(Windows, AGivenVInitLeavesTheStateAlone) {
  const Shape of{5, 2, 19};
  Rig<TypeParam> rig = this->make_rig({}, {}, of);
  const Inputs<TypeParam> inputs = random_inputs<TypeParam>(of, 4);
  rig.load(inputs);
  const std::vector<TypeParam> state = random_inputs<TypeParam>(of, 5).v_init;
  EXPECT_OK(synfire_layer_write_state(rig.layer, "v", state.data(), of.row() * sizeof(TypeParam)));
  const ForwardOutputs<TypeParam> given = rig.forward();
  EXPECT_TRUE(same_bits(read_state<TypeParam>(rig.layer, of.row()), state));
  EXPECT_TRUE(same_bits(download<TypeParam>(rig.v_init, of.row()), inputs.v_init)) << "v_init is only read";
  EXPECT_OK(synfire_layer_write_state(rig.layer, "v", inputs.v_init.data(), of.row() * sizeof(TypeParam)));
  EXPECT_TRUE(same_bits(rig.forward({.v_init = false}), given)) << "the state has the same effect as v_init";
  EXPECT_TRUE(same_bits(read_state<TypeParam>(rig.layer, of.row()), given.v_final));
}

TYPED_TEST(Windows, ResetStateIsVResetOrZero) {
  const Shape of{5, 2, 3};
  for (const int32_t reset : {SYNFIRE_RESET_HARD, SYNFIRE_RESET_SOFT}) {
    SCOPED_TRACE(reset);
    const bool hard = reset == SYNFIRE_RESET_HARD;
    Neuron neuron;
    neuron.reset = reset;
    Rig<TypeParam> rig = this->make_rig(neuron, {}, of);
    rig.load(random_inputs<TypeParam>(of, 6));
    EXPECT_TRUE(all_are(read_state<TypeParam>(rig.layer, of.row()), TypeParam(0))) << "a fresh layer";
    EXPECT_OK(rig.run_forward({.v_init = false}));
    EXPECT_FALSE(all_are(read_state<TypeParam>(rig.layer, of.row()), TypeParam(0)));
    set_parameter(rig.layer, "v_reset", {-0.25});
    EXPECT_OK(synfire_layer_reset_state(rig.layer, nullptr));
    EXPECT_TRUE(all_are(read_state<TypeParam>(rig.layer, of.row()), TypeParam(hard ? -0.25 : 0)));
    set_parameter(rig.layer, "v_reset", {-0.5, 0.125, 0.25});
    EXPECT_OK(synfire_layer_reset_state(rig.layer, nullptr));
    const std::vector<TypeParam> per_neuron = {-0.5, 0.125, 0.25, -0.5, 0.125, 0.25};
    EXPECT_TRUE(
        same_bits(read_state<TypeParam>(rig.layer, of.row()), hard ? per_neuron : std::vector<TypeParam>(of.row(), 0)));
  }
}

// The adjoint carried over a step is dL/dV[t-1] = G_H[t]·∂H/∂V, rounded to the layer's type and then added to the
// incoming dL/dV. This is the number that a window returns as grad_v_init and receives as grad_v_final. So a chain of
// windows gives the bits of one long backward, for any gradients.
TYPED_TEST(Windows, ChainedBackwardsEqualOneLongBackward) {
  for (const int64_t n_steps : {1, 5, 31, 32, 33}) {
    for (const auto& [neuron, parameters] : this->neurons()) {
      const Shape part{n_steps, 2, 19}, whole{n_steps * this->n_windows, 2, 19};
      SCOPED_TRACE(testing::Message() << part << ", model " << neuron.model << ", reset " << neuron.reset);
      const Inputs<TypeParam> inputs = random_inputs<TypeParam>(whole, 7);
      Rig<TypeParam> long_rig = this->make_rig(neuron, parameters, whole);
      long_rig.load(inputs);
      EXPECT_OK(long_rig.run_forward());
      const BackwardOutputs<TypeParam> at_once = long_rig.backward();

      // One layer per window, so that every tape lives until the backwards run.
      std::vector<Rig<TypeParam>> rigs;
      std::vector<TypeParam> v = inputs.v_init;
      for (int64_t w = 0; w < this->n_windows; ++w) {
        rigs.push_back(this->make_rig(neuron, parameters, part));
        Inputs<TypeParam> of_window = this->window(inputs, part, w);
        of_window.v_init = v;
        rigs.back().load(of_window);
        v = rigs.back().forward().v_final;
      }
      std::vector<TypeParam> grad_x_seq, grad_v = inputs.grad_v_final;
      for (int64_t w = this->n_windows; w-- > 0;) {
        Rig<TypeParam>& rig = rigs[static_cast<size_t>(w)];
        upload(rig.grad_v_final, grad_v);
        const BackwardOutputs<TypeParam> out = rig.backward();
        grad_x_seq = joined(out.grad_x_seq, grad_x_seq);
        grad_v = out.grad_v_init;
      }
      EXPECT_TRUE(same_bits(grad_x_seq, at_once.grad_x_seq));
      EXPECT_TRUE(same_bits(grad_v, at_once.grad_v_init));
      if (this->HasFailure()) return;
    }
  }
}

// One layer for all windows: just before each backward, its forward runs again from the V with which it began.
TYPED_TEST(Windows, ChainedBackwardsOfOneLayer) {
  const Shape part{20, 1, 23}, whole{60, 1, 23};
  const Neuron neuron;
  const Parameters parameters;
  const Inputs<TypeParam> inputs = random_inputs<TypeParam>(whole, 8);
  Rig<TypeParam> long_rig = this->make_rig(neuron, parameters, whole);
  long_rig.load(inputs);
  EXPECT_OK(long_rig.run_forward());
  const BackwardOutputs<TypeParam> at_once = long_rig.backward();

  Rig<TypeParam> rig = this->make_rig(neuron, parameters, part);
  std::vector<std::vector<TypeParam>> starts = {inputs.v_init};
  for (int64_t w = 0; w < this->n_windows; ++w) {
    Inputs<TypeParam> of_window = this->window(inputs, part, w);
    of_window.v_init = starts.back();
    rig.load(of_window);
    starts.push_back(rig.forward({.tape = SYNFIRE_TAPE_NONE}).v_final);
  }
  std::vector<TypeParam> grad_x_seq, grad_v = inputs.grad_v_final;
  for (int64_t w = this->n_windows; w-- > 0;) {
    Inputs<TypeParam> of_window = this->window(inputs, part, w);
    of_window.v_init = starts[static_cast<size_t>(w)];
    of_window.grad_v_final = grad_v;
    rig.load(of_window);
    EXPECT_OK(rig.run_forward());
    const BackwardOutputs<TypeParam> out = rig.backward();
    grad_x_seq = joined(out.grad_x_seq, grad_x_seq);
    grad_v = out.grad_v_init;
  }
  EXPECT_TRUE(same_bits(grad_x_seq, at_once.grad_x_seq));
  EXPECT_TRUE(same_bits(grad_v, at_once.grad_v_init));
}

}  // namespace
}  // namespace synfire_test

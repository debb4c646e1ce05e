// The second variable W of models that have one: its state, its buffers, truncated backpropagation through both
// variables, and the errors of models with one variable. The numbers themselves: gradient_test.cpp.
#include "neuron_oracle.hpp"

namespace synfire_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

ReferenceNeuron adaptive_neuron(uint64_t seed, size_t count = 1) {
  ReferenceNeuron neuron{&reference_models()[SYNFIRE_MODEL_IZHIKEVICH - 1],
                         &reference_surrogate(SYNFIRE_SURROGATE_SIGMOID)};
  Random random(seed);
  choose_parameters(neuron, count, random);
  return neuron;
}

template <typename Scalar>
class TwoVariables : public testing::Test {
 protected:
  using Rigged = FullRig<Scalar>;
  using Array = std::vector<Scalar>;

  Rigged make_rig(const Shape& shape) {
    Rigged rig(context, describe(neuron, shape, dtype_of<Scalar>));
    set_parameters(rig.layer, neuron);
    return rig;
  }
  FullInputs<Scalar> make_inputs(const Shape& shape, uint64_t seed) {
    Random random(seed);
    return NeuronOracle(neuron, shape).template drive<Scalar>(random, 0);
  }
  static Array state(synfire_layer layer, const char* name, const Shape& shape) {
    Array values(shape.row());
    EXPECT_OK(synfire_layer_read_state(layer, name, values.data(), shape.row() * sizeof(Scalar)));
    return values;
  }
  static void set_state(synfire_layer layer, const char* name, const Array& values) {
    EXPECT_OK(synfire_layer_write_state(layer, name, values.data(), values.size() * sizeof(Scalar)));
  }
  // Rows [first, first + count) of a sequence.
  static Array steps(const Array& sequence, const Shape& shape, int64_t first, int64_t count) {
    return slice(sequence, static_cast<size_t>(first) * shape.row(), static_cast<size_t>(count) * shape.row());
  }
  static Array last_step(const Array& sequence, const Shape& shape) {
    return steps(sequence, shape, shape.n_steps - 1, 1);
  }

  Context context = make_context();
  ReferenceNeuron neuron = adaptive_neuron(1);
};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(TwoVariables, Scalars);

// ---- State ----------------------------------------------------------------------------------------------------------

TYPED_TEST(TwoVariables, BothStartAtTheirResetValues) {
  const Shape shape{3, 2, 35};
  const auto rig = this->make_rig(shape);
  EXPECT_TRUE(all_are(this->state(rig.layer, "w", shape), TypeParam(0)));
  this->set_state(rig.layer, "v", std::vector<TypeParam>(shape.row(), TypeParam(0.5)));
  this->set_state(rig.layer, "w", std::vector<TypeParam>(shape.row(), TypeParam(-2)));
  EXPECT_TRUE(all_are(this->state(rig.layer, "w", shape), TypeParam(-2)));
  EXPECT_OK(synfire_layer_reset_state(rig.layer, nullptr));
  EXPECT_OK(synfire_context_synchronize(this->context));
  EXPECT_TRUE(all_are(this->state(rig.layer, "w", shape), TypeParam(0)));
  EXPECT_TRUE(all_are(this->state(rig.layer, "v", shape), static_cast<TypeParam>(this->neuron.v_reset[0])));
}

TYPED_TEST(TwoVariables, TheStateContinuesFromWindowToWindow) {
  const Shape shape{70, 2, 35}, window{35, 2, 35};
  const FullInputs<TypeParam> inputs = this->make_inputs(shape, 2);
  auto whole = this->make_rig(shape);
  whole.load(inputs);
  const FullOutputs<TypeParam> expected = whole.run();

  auto rig = this->make_rig(window);
  this->set_state(rig.layer, "v", inputs.v_init);
  this->set_state(rig.layer, "w", inputs.w_init);
  for (const int64_t first : {0, 35}) {
    upload(rig.x, this->steps(inputs.x, shape, first, 35));
    synfire_forward_desc desc = rig.forward_desc();
    desc.v_init = desc.w_init = nullptr;
    rig.poison();
    EXPECT_OK(synfire_layer_forward(rig.layer, &desc, nullptr));
    const FullOutputs<TypeParam> out = rig.outputs();
    EXPECT_TRUE(same_bits(out.v_seq, this->steps(expected.v_seq, shape, first, 35)));
    EXPECT_TRUE(same_bits(out.w_seq, this->steps(expected.w_seq, shape, first, 35)));
    EXPECT_TRUE(same_bits(out.v_final, this->last_step(out.v_seq, window)));
    EXPECT_TRUE(same_bits(out.w_final, this->last_step(out.w_seq, window)));
    EXPECT_TRUE(same_bits(this->state(rig.layer, "v", window), out.v_final));
    EXPECT_TRUE(same_bits(this->state(rig.layer, "w", window), out.w_final));
  }
}

TYPED_TEST(TwoVariables, GivenInitialValuesLeaveTheStateAlone) {
  const Shape shape{5, 2, 35};
  auto rig = this->make_rig(shape);
  const std::vector<TypeParam> v(shape.row(), TypeParam(0.25)), w(shape.row(), TypeParam(0.125));
  this->set_state(rig.layer, "v", v);
  this->set_state(rig.layer, "w", w);
  rig.load(this->make_inputs(shape, 3));
  rig.run();
  EXPECT_TRUE(same_bits(this->state(rig.layer, "v", shape), v));
  EXPECT_TRUE(same_bits(this->state(rig.layer, "w", shape), w));
}

TYPED_TEST(TwoVariables, AReplayAdvancesBoth) {
  const Shape shape{9, 1, 33};
  const FullInputs<TypeParam> inputs = this->make_inputs(shape, 4);
  std::vector<TypeParam> v[2], w[2];
  for (const int replayed : {0, 1}) {
    auto rig = this->make_rig(shape);
    rig.load(inputs);
    synfire_forward_desc desc = rig.forward_desc();
    desc.v_init = desc.w_init = nullptr;
    const Graph graph = make_graph(this->context);
    EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &desc));
    EXPECT_OK(synfire_graph_instantiate(graph));
    for (int time = 0; time < 3; ++time) {
      if (replayed) {
        replay(graph);
      } else {
        EXPECT_OK(synfire_layer_forward(rig.layer, &desc, nullptr));
      }
    }
    v[replayed] = this->state(rig.layer, "v", shape);
    w[replayed] = this->state(rig.layer, "w", shape);
  }
  EXPECT_TRUE(same_bits(v[0], v[1]));
  EXPECT_TRUE(same_bits(w[0], w[1]));
}

// ---- Truncated backpropagation --------------------------------------------------------------------------------------

TYPED_TEST(TwoVariables, ChainedWindowsEqualOneLongBackward) {
  const int64_t lengths[] = {35, 1, 20, 44};
  const Shape shape{100, 2, 35};
  for (const bool soft : {false, true}) {
    for (const bool detached : {false, true}) {
      SCOPED_TRACE(testing::Message() << (soft ? "soft" : "hard") << (detached ? " detached" : " attached"));
      this->neuron.soft_reset = soft;
      this->neuron.detach_reset = detached;
      const FullInputs<TypeParam> inputs = this->make_inputs(shape, 5);
      auto whole = this->make_rig(shape);
      whole.load(inputs);
      whole.ask({{"tau_w", false}, {"b", true}});
      const FullOutputs<TypeParam> expected = whole.run();
      const auto expected_gradients = whole.gradients();

      // Forwards: each window begins where the previous one ended. Each has its own layer, and so its own tape.
      std::vector<FullRig<TypeParam>> windows;
      std::vector<int64_t> firsts;
      int64_t first = 0;
      std::vector<TypeParam> v = inputs.v_init, w = inputs.w_init;
      for (const int64_t length : lengths) {
        FullRig<TypeParam> rig = this->make_rig({length, 2, 35});
        FullInputs<TypeParam> part;
        part.x = this->steps(inputs.x, shape, first, length);
        part.v_init = v;
        part.w_init = w;
        part.grad_spike_seq = this->steps(inputs.grad_spike_seq, shape, first, length);
        part.grad_v_seq = this->steps(inputs.grad_v_seq, shape, first, length);
        part.grad_w_seq = this->steps(inputs.grad_w_seq, shape, first, length);
        part.grad_v_final = inputs.grad_v_final;
        part.grad_w_final = inputs.grad_w_final;
        rig.load(part);
        rig.ask({{"tau_w", false}, {"b", true}});
        rig.poison();
        EXPECT_OK(rig.run_forward());
        v = rig.outputs().v_final;
        w = rig.outputs().w_final;
        windows.push_back(std::move(rig));
        firsts.push_back(first);
        first += length;
      }
      EXPECT_TRUE(same_bits(v, expected.v_final));
      EXPECT_TRUE(same_bits(w, expected.w_final));

      // Backwards: each window's final gradients are the initial gradients of the next window.
      std::vector<double> tau_w(1, 0), b(35, 0), magnitude(1, 0);
      for (size_t k = windows.size(); k-- > 0;) {
        FullRig<TypeParam>& rig = windows[k];
        synfire_backward_desc desc = rig.backward_desc();
        if (k + 1 < windows.size()) {
          desc.grad_v_final = windows[k + 1].grad_v_init;
          desc.grad_w_final = windows[k + 1].grad_w_init;
        }
        EXPECT_OK(synfire_layer_backward(rig.layer, &desc, nullptr));
        EXPECT_TRUE(
            same_bits(rig.outputs().grad_x_seq, this->steps(expected.grad_x_seq, shape, firsts[k], lengths[k])));
        const auto gradients = rig.gradients();
        tau_w[0] += static_cast<double>(gradients[0][0]);
        magnitude[0] += std::fabs(static_cast<double>(gradients[0][0]));
        for (size_t n = 0; n < 35; ++n) {
          b[n] += static_cast<double>(gradients[1][n]);
          const double of_b = std::fabs(static_cast<double>(gradients[1][n]));
          magnitude[0] = std::max(magnitude[0], of_b);  // fmax() here crashes gcc 12 for AArch64
        }
      }
      EXPECT_TRUE(same_bits(windows[0].outputs().grad_v_init, expected.grad_v_init));
      EXPECT_TRUE(same_bits(windows[0].outputs().grad_w_init, expected.grad_w_init));
      const double rounding = std::is_same_v<TypeParam, double> ? 1e-12 : 1e-5;
      EXPECT_NEAR(static_cast<double>(expected_gradients[0][0]), tau_w[0], rounding * magnitude[0]);
      for (size_t n = 0; n < 35; ++n)
        EXPECT_NEAR(static_cast<double>(expected_gradients[1][n]), b[n], rounding * magnitude[0]);
    }
  }
}

// ---- Optional buffers -----------------------------------------------------------------------------------------------

TYPED_TEST(TwoVariables, ANullGradientMeansZero) {
  const Shape shape{34, 2, 19};
  const FullInputs<TypeParam> inputs = this->make_inputs(shape, 6);
  auto rig = this->make_rig(shape);
  rig.ask({{"a", false}, {"tau", true}});
  for (unsigned mask = 0; mask < 32; ++mask) {
    SCOPED_TRACE(mask);
    FullInputs<TypeParam> zeroed = inputs;
    synfire_backward_desc desc = rig.backward_desc();
    const auto drop = [&](unsigned bit, std::vector<TypeParam>& values, synfire_buffer& field) {
      if ((mask & bit) != 0) return;
      values.assign(values.size(), 0);
      field = nullptr;
    };
    drop(1, zeroed.grad_spike_seq, desc.grad_spike_seq);
    drop(2, zeroed.grad_v_seq, desc.grad_v_seq);
    drop(4, zeroed.grad_v_final, desc.grad_v_final);
    drop(8, zeroed.grad_w_seq, desc.grad_w_seq);
    drop(16, zeroed.grad_w_final, desc.grad_w_final);
    rig.load(zeroed);
    const FullOutputs<TypeParam> zeros = rig.run();
    const auto zero_gradients = rig.gradients();
    EXPECT_OK(synfire_layer_backward(rig.layer, &desc, nullptr));
    const FullOutputs<TypeParam> nulls = rig.outputs();
    EXPECT_EQ(nulls.grad_x_seq, zeros.grad_x_seq);  // by value: the sign of a zero gradient is free
    EXPECT_EQ(nulls.grad_v_init, zeros.grad_v_init);
    EXPECT_EQ(nulls.grad_w_init, zeros.grad_w_init);
    EXPECT_EQ(rig.gradients(), zero_gradients);
    if (mask == 0) {
      EXPECT_EQ(nulls.grad_w_init, std::vector<TypeParam>(shape.row(), 0));
    }
  }
}

TYPED_TEST(TwoVariables, EveryChoiceOfOutputsGivesTheSameBits) {
  const Shape shape{34, 2, 19};
  auto rig = this->make_rig(shape);
  rig.load(this->make_inputs(shape, 7));
  const FullOutputs<TypeParam> all = rig.run();
  const auto expected_of = [](bool asked, const std::vector<TypeParam>& values) {
    return asked ? values : std::vector<TypeParam>(values.size(), static_cast<TypeParam>(nan));
  };
  for (unsigned mask = 0; mask < 16; ++mask) {
    SCOPED_TRACE(mask);
    const bool first = (mask & 1) != 0, second = (mask & 2) != 0, third = (mask & 4) != 0, fourth = (mask & 8) != 0;
    synfire_forward_desc forward = rig.forward_desc();
    if (!first) forward.v_final = nullptr;
    if (!second) forward.w_final = nullptr;
    if (!third) forward.w_seq = nullptr;
    if (!fourth) forward.v_seq = nullptr;
    rig.poison();
    EXPECT_OK(synfire_layer_forward(rig.layer, &forward, nullptr));
    const FullOutputs<TypeParam> out = rig.outputs();
    EXPECT_TRUE(same_bits(out.v_final, expected_of(first, all.v_final)));
    EXPECT_TRUE(same_bits(out.w_final, expected_of(second, all.w_final)));
    EXPECT_TRUE(same_bits(out.w_seq, expected_of(third, all.w_seq)));
    EXPECT_TRUE(same_bits(out.v_seq, expected_of(fourth, all.v_seq)));
    EXPECT_TRUE(same_bits(out.h_seq, all.h_seq));

    synfire_backward_desc backward = rig.backward_desc();
    if (!first) backward.grad_x_seq = nullptr;
    if (!second) backward.grad_v_init = nullptr;
    if (!third) backward.grad_w_init = nullptr;
    if (!first && !second && !third) {
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("grad_x_seq", "grad_v_init", "grad_w_init"),
                   synfire_layer_backward(rig.layer, &backward, nullptr));
    } else {
      EXPECT_OK(synfire_layer_backward(rig.layer, &backward, nullptr));
    }
    const FullOutputs<TypeParam> gradients = rig.outputs();
    EXPECT_TRUE(same_bits(gradients.grad_x_seq, expected_of(first, all.grad_x_seq)));
    EXPECT_TRUE(same_bits(gradients.grad_v_init, expected_of(second, all.grad_v_init)));
    EXPECT_TRUE(same_bits(gradients.grad_w_init, expected_of(third, all.grad_w_init)));
  }
}

TYPED_TEST(TwoVariables, BatchRowsAreLayersOfTheirOwn) {
  const Shape shape{34, 3, 35}, row_shape{34, 1, 35};
  this->neuron = adaptive_neuron(8, 35);
  const FullInputs<TypeParam> inputs = this->make_inputs(shape, 8);
  auto rig = this->make_rig(shape);
  rig.load(inputs);
  const FullOutputs<TypeParam> out = rig.run();
  for (size_t row = 0; row < 3; ++row) {
    const auto of_row = [&](const std::vector<TypeParam>& values) {
      std::vector<TypeParam> result;
      for (size_t first = row * 35; first < values.size(); first += 3 * 35)
        result = joined(result, slice(values, first, 35));
      return result;
    };
    auto alone = this->make_rig(row_shape);
    alone.load({of_row(inputs.x), of_row(inputs.v_init), of_row(inputs.w_init), of_row(inputs.grad_spike_seq),
                of_row(inputs.grad_v_seq), of_row(inputs.grad_v_final), of_row(inputs.grad_w_seq),
                of_row(inputs.grad_w_final)});
    const FullOutputs<TypeParam> single = alone.run();
    EXPECT_TRUE(same_bits(of_row(out.w_seq), single.w_seq));
    EXPECT_TRUE(same_bits(of_row(out.w_final), single.w_final));
    EXPECT_TRUE(same_bits(of_row(out.grad_x_seq), single.grad_x_seq));
    EXPECT_TRUE(same_bits(of_row(out.grad_w_init), single.grad_w_init));
  }
}

// ---- Refusals -------------------------------------------------------------------------------------------------------

class TwoVariableErrors : public testing::Test {
 protected:
  static constexpr Shape shape{4, 2, 7};
  Context context = make_context();
  ReferenceNeuron neuron = adaptive_neuron(1);
  FullRig<float> rig{context, describe(neuron, shape, SYNFIRE_DTYPE_F32)};
  Graph graph = make_graph(context);

  void SetUp() override {
    Random random(9);
    rig.load(NeuronOracle(neuron, shape).drive<float>(random, 0));
    EXPECT_OK(rig.run_forward());
    rig.poison();
  }

  // A pass is refused eagerly and while recording, and nothing is written.
  void expect_refused(const synfire_forward_desc& desc, std::initializer_list<std::string_view> words) {
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, words, synfire_layer_forward(rig.layer, &desc, nullptr));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, words, synfire_graph_record_forward(graph, rig.layer, &desc));
    EXPECT_TRUE(rig.untouched());
  }
  void expect_refused(const synfire_backward_desc& desc, std::initializer_list<std::string_view> words) {
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, words, synfire_layer_backward(rig.layer, &desc, nullptr));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, words, synfire_graph_record_backward(graph, rig.layer, &desc));
    EXPECT_TRUE(rig.untouched());
  }
};

TEST_F(TwoVariableErrors, OneInitialValueWithoutTheOther) {
  synfire_forward_desc desc = rig.forward_desc();
  desc.w_init = nullptr;
  expect_refused(desc, WORDS("v_init", "w_init"));
  desc = rig.forward_desc();
  desc.v_init = nullptr;
  expect_refused(desc, WORDS("v_init", "w_init"));
}

TEST_F(TwoVariableErrors, BuffersThatDoNotFit) {
  const Buffer small_row = make_buffer(context, SYNFIRE_DTYPE_F32, 13),
               small_sequence = make_buffer(context, SYNFIRE_DTYPE_F32, 55),
               doubles = make_buffer(context, SYNFIRE_DTYPE_F64, 56),
               bits = make_buffer(context, SYNFIRE_DTYPE_BITS, 56);
  for (const synfire_buffer bad : {small_row.get(), doubles.get(), bits.get()}) {
    synfire_forward_desc forward = rig.forward_desc();
    forward.w_init = bad;
    expect_refused(forward, WORDS("w_init"));
    forward = rig.forward_desc();
    forward.w_final = bad;
    expect_refused(forward, WORDS("w_final"));
    synfire_backward_desc backward = rig.backward_desc();
    backward.grad_w_final = bad;
    expect_refused(backward, WORDS("grad_w_final"));
    backward = rig.backward_desc();
    backward.grad_w_init = bad;
    expect_refused(backward, WORDS("grad_w_init"));
  }
  for (const synfire_buffer bad : {small_sequence.get(), doubles.get(), bits.get()}) {
    synfire_forward_desc forward = rig.forward_desc();
    forward.w_seq = bad;
    expect_refused(forward, WORDS("w_seq"));
    synfire_backward_desc backward = rig.backward_desc();
    backward.grad_w_seq = bad;
    expect_refused(backward, WORDS("grad_w_seq"));
  }
}

TEST_F(TwoVariableErrors, OverlappingOutputs) {
  synfire_forward_desc forward = rig.forward_desc();
  forward.w_seq = forward.v_seq;
  expect_refused(forward, WORDS("w_seq", "v_seq"));
  forward = rig.forward_desc();
  forward.w_final = forward.v_init;
  expect_refused(forward, WORDS("w_final", "v_init"));
  forward = rig.forward_desc();
  forward.v_final = forward.w_init;
  expect_refused(forward, WORDS("v_final", "w_init"));
  synfire_backward_desc backward = rig.backward_desc();
  backward.grad_w_init = backward.grad_v_init;
  expect_refused(backward, WORDS("grad_w_init", "grad_v_init"));
  backward = rig.backward_desc();
  backward.grad_w_init = backward.grad_w_final;
  expect_refused(backward, WORDS("grad_w_init", "grad_w_final"));
  backward = rig.backward_desc();
  backward.grad_x_seq = backward.grad_w_seq;
  expect_refused(backward, WORDS("grad_x_seq", "grad_w_seq"));
}

TEST_F(TwoVariableErrors, InputsMayShareABuffer) {
  synfire_forward_desc forward = rig.forward_desc();
  forward.w_init = forward.v_init;
  EXPECT_OK(synfire_layer_forward(rig.layer, &forward, nullptr));
  synfire_backward_desc backward = rig.backward_desc();
  backward.grad_w_seq = backward.grad_v_seq;
  backward.grad_w_final = backward.grad_v_final;
  EXPECT_OK(synfire_layer_backward(rig.layer, &backward, nullptr));
}

TEST_F(TwoVariableErrors, BuffersOfAnotherContextOrNoLongerThere) {
  const Context other = make_context();
  const Buffer foreign = make_buffer(other, SYNFIRE_DTYPE_F32, 56);
  Buffer gone = make_buffer(context, SYNFIRE_DTYPE_F32, 56);
  const synfire_buffer stale = gone.get();
  gone.reset();
  for (const synfire_buffer bad : {foreign.get(), stale}) {
    for (const auto& [field, name] :
         {std::pair{&synfire_forward_desc::w_init, "w_init"}, std::pair{&synfire_forward_desc::w_final, "w_final"},
          std::pair{&synfire_forward_desc::w_seq, "w_seq"}}) {
      synfire_forward_desc desc = rig.forward_desc();
      desc.*field = bad;
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS(name), synfire_layer_forward(rig.layer, &desc, nullptr));
    }
    for (const auto& [field, name] : {std::pair{&synfire_backward_desc::grad_w_seq, "grad_w_seq"},
                                      std::pair{&synfire_backward_desc::grad_w_final, "grad_w_final"},
                                      std::pair{&synfire_backward_desc::grad_w_init, "grad_w_init"}}) {
      synfire_backward_desc desc = rig.backward_desc();
      desc.*field = bad;
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS(name), synfire_layer_backward(rig.layer, &desc, nullptr));
    }
  }
  EXPECT_TRUE(rig.untouched());
}

TEST(OneVariable, HasNoW) {
  const Context context = make_context();
  const Shape shape{4, 2, 7};
  const Buffer w = make_buffer(context, SYNFIRE_DTYPE_F32, shape.sequence());
  EXPECT_OK(synfire_buffer_fill(w, 5));
  for (const ReferenceModel& model : reference_models()) {
    if (model.two_variables) continue;
    SCOPED_TRACE(model.name);
    Random random(10);
    ReferenceNeuron neuron{&model, &reference_surrogate(SYNFIRE_SURROGATE_SIGMOID)};
    choose_parameters(neuron, 1, random);
    FullRig<float> rig(context, describe(neuron, shape, SYNFIRE_DTYPE_F32));
    rig.load(NeuronOracle(neuron, shape).drive<float>(random, 0));
    const FullOutputs<float> expected = rig.run();
    rig.poison();
    const Graph graph = make_graph(context);
    for (const auto& [field, name] :
         {std::pair{&synfire_forward_desc::w_init, "w_init"}, std::pair{&synfire_forward_desc::w_final, "w_final"},
          std::pair{&synfire_forward_desc::w_seq, "w_seq"}}) {
      synfire_forward_desc desc = rig.forward_desc();
      desc.*field = w;
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS(name, model.name),
                   synfire_layer_forward(rig.layer, &desc, nullptr));
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS(name, model.name),
                   synfire_graph_record_forward(graph, rig.layer, &desc));
    }
    for (const auto& [field, name] : {std::pair{&synfire_backward_desc::grad_w_seq, "grad_w_seq"},
                                      std::pair{&synfire_backward_desc::grad_w_final, "grad_w_final"},
                                      std::pair{&synfire_backward_desc::grad_w_init, "grad_w_init"}}) {
      synfire_backward_desc desc = rig.backward_desc();
      desc.*field = w;
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS(name, model.name),
                   synfire_layer_backward(rig.layer, &desc, nullptr));
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS(name, model.name),
                   synfire_graph_record_backward(graph, rig.layer, &desc));
    }
    EXPECT_TRUE(rig.untouched());
    EXPECT_TRUE(all_are(download<float>(w, shape.sequence()), 5.0f));
    float values[14] = {};
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name", "w"),
                 synfire_layer_read_state(rig.layer, "w", values, sizeof values));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name", "w"),
                 synfire_layer_write_state(rig.layer, "w", values, sizeof values));
    EXPECT_TRUE(same_bits(rig.run(), expected));
  }
}

TEST(LayerMemory, TwoVariablesTakeTwice) {
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64}) {
    synfire_layer_memory one = SYNFIRE_LAYER_MEMORY_INIT, two = SYNFIRE_LAYER_MEMORY_INIT;
    synfire_layer_desc desc = describe(Shape{40, 2, 35}, dtype);
    desc.model = SYNFIRE_MODEL_QIF;
    EXPECT_OK(synfire_layer_query_memory(&desc, &one));
    desc.model = SYNFIRE_MODEL_IZHIKEVICH;
    EXPECT_OK(synfire_layer_query_memory(&desc, &two));
    EXPECT_EQ(two.state_bytes, 2 * one.state_bytes);
    EXPECT_EQ(two.tape_bytes, 2 * one.tape_bytes);
  }
}

}  // namespace
}  // namespace synfire_test

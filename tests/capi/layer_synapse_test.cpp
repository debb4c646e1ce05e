// Synapses as a part of a layer's forward and backward, against the same operations apart, bit for bit; and what a
// graph does with an operation that stands for several entries.
#include <functional>
#include <string>

#include "graph_support.hpp"
#include "storage_rig.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;

struct Case {
  int64_t n_steps = 37, batch = 3, n_inputs = 45, n_neurons = 19;
  int32_t dtype = SYNFIRE_DTYPE_F32, model = SYNFIRE_MODEL_LIF, tape = SYNFIRE_TAPE_RECOMPUTE;
  int32_t kind = SYNFIRE_INPUT_SPIKES, input = SYNFIRE_DTYPE_BITS;
  int64_t active = -1, layer_active = -1;  // batch rows; -1: all
  bool in_place = false, parameters = false, graph = true, grad_x = false, frozen = false, add = false;

  int32_t wide() const { return arithmetic_of(dtype); }
  Shape shape() const { return {n_steps, batch, n_neurons}; }
  size_t weights() const { return static_cast<size_t>(n_inputs * n_neurons); }
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << "type " << c.dtype << " model " << c.model << " tape " << c.tape << " kind " << c.kind << " input "
             << c.input << " active " << c.active << " layer's " << c.layer_active << " in place " << c.in_place
             << " parameters " << c.parameters << " graph " << c.graph << " grad_x " << c.grad_x << " frozen "
             << c.frozen << " add " << c.add;
}

Synapse make_synapse(synfire_context context, const Case& c, uint64_t seed = 5) {
  synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
  desc.input_kind = c.kind;
  desc.n_inputs = c.n_inputs;
  desc.n_outputs = c.n_neurons;
  desc.dtype = c.wide();
  desc.bias = 1;
  desc.gain = 8;
  desc.frozen = c.frozen ? 1 : 0;
  desc.seed = seed;
  synfire_synapse handle = nullptr;
  if (synfire_synapse_create(context, &desc, &handle) != SYNFIRE_OK) throw std::runtime_error("no synapse");
  return Synapse(handle);
}

std::vector<double> read(synfire_synapse synapse, const char* name, const Case& c, size_t count) {
  std::vector<double> values(count);
  if (c.wide() == SYNFIRE_DTYPE_F64) {
    EXPECT_OK(synfire_synapse_read(synapse, name, values.data(), count * sizeof(double)));
    return values;
  }
  std::vector<float> narrow(count);
  EXPECT_OK(synfire_synapse_read(synapse, name, narrow.data(), count * sizeof(float)));
  return {narrow.begin(), narrow.end()};
}

Layer make_layer_of(synfire_context context, const Case& c) {
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  desc.model = c.model;
  desc.n_steps = c.n_steps;
  desc.batch = c.batch;
  desc.n_neurons = c.n_neurons;
  desc.dtype = c.dtype;
  Layer layer = make_layer(context, desc);
  if (c.layer_active >= 0) {
    EXPECT_OK(synfire_layer_set_n_active(layer, c.layer_active));
  }
  return layer;
}

/// A synapse and a layer with all buffers of a forward and a backward.
class Stage {
 public:
  Stage(synfire_context context, const Case& c, uint64_t seed = 1)
      : context_(context),
        c_(c),
        synapse(make_synapse(context, c)),
        layer(make_layer_of(context, c)),
        input(sequence_of(c.input, c.n_inputs)),
        x(sequence_of(c.wide(), c.n_neurons)),
        spikes(sequence_of(c.dtype, c.n_neurons)),
        v_seq(sequence_of(c.wide(), c.n_neurons)),
        grad_spikes(sequence_of(c.dtype, c.n_neurons)),
        grad_v(sequence_of(c.wide(), c.n_neurons)),
        grad_x(sequence_of(c.wide(), c.n_neurons)),
        grad_input(sequence_of(c.wide(), c.n_inputs)),
        v_init(context, c.wide(), static_cast<size_t>(c.batch), static_cast<size_t>(c.n_neurons)),
        grad_v_init(context, c.wide(), static_cast<size_t>(c.batch), static_cast<size_t>(c.n_neurons)),
        grad_tau(context, c.wide(), 1, static_cast<size_t>(c.n_neurons)) {
    fill(seed);
  }

  void fill(uint64_t seed) {
    Random random(seed);
    std::vector<double> values(static_cast<size_t>(c_.n_steps * c_.batch * c_.n_inputs));
    for (double& value : values)
      value = c_.kind == SYNFIRE_INPUT_VALUES ? random.uniform(-2, 2) : random.uniform(0, 1) < 0.4 ? 1 : 0;
    put_input(values);
    x.put(std::vector<double>(c_.shape().sequence()));
    spikes.put(std::vector<double>(c_.shape().sequence()));
    v_seq.put(std::vector<double>(c_.shape().sequence()));
    grad_x.put(std::vector<double>(c_.shape().sequence()));
    grad_v_init.put(std::vector<double>(c_.shape().row()));
    grad_spikes.put(stored_as(c_.dtype, random.values<double>(c_.shape().sequence(), -1, 1)));
    grad_v.put(stored_as(c_.wide(), random.values<double>(c_.shape().sequence(), -1, 1)));
    grad_input.put(stored_as(c_.wide(), random.values<double>(values.size(), -1, 1)));
    v_init.put(stored_as(c_.wide(), random.values<double>(c_.shape().row(), -0.5, 0.9)));
    if (c_.active >= 0) {
      n_active = make_buffer(context_, SYNFIRE_DTYPE_U32, 1);
      upload(n_active, std::vector<uint32_t>{static_cast<uint32_t>(c_.active)});
    }
  }

  bool fires() const { return c_.model != SYNFIRE_MODEL_LI; }

  synfire_forward_desc forward() const {
    synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
    desc.tape = c_.tape;
    desc.synapse = synapse;
    desc.synapse_input = input;
    desc.n_active = n_active;
    if (fires()) desc.spikes = spikes;
    desc.v_seq = v_seq;
    desc.v_init = v_init;
    desc.in_place = c_.in_place ? 1 : 0;
    return desc;
  }
  synfire_backward_desc backward() {
    synfire_backward_desc desc = SYNFIRE_BACKWARD_DESC_INIT;
    if (fires()) desc.grad_spike_seq = grad_spikes;
    desc.grad_v_seq = grad_v;
    desc.grad_v_init = grad_v_init;
    if (c_.grad_x) desc.grad_x_seq = grad_x;
    tau_ = {"tau", grad_tau};
    if (c_.parameters) {
      desc.parameter_gradients = &tau_;
      desc.n_parameter_gradients = 1;
    }
    desc.grad_synapse_input = grad_input;
    desc.add_synapse_gradients = desc.add_input_gradient = c_.add ? 1 : 0;
    return desc;
  }

  /// The same as four operations.
  synfire_synapse_forward_desc product() const {
    synfire_synapse_forward_desc desc = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
    desc.n_steps = c_.n_steps;
    desc.batch = c_.batch;
    desc.input = input;
    desc.output = x;
    desc.n_active = n_active;
    return desc;
  }
  synfire_forward_desc forward_of_x() const {
    synfire_forward_desc desc = forward();
    desc.synapse = nullptr;
    desc.synapse_input = nullptr;
    desc.n_active = nullptr;
    desc.x = x;
    if (c_.parameters) desc.in_place = 0;  // apart, H over X leaves no gradients of parameters
    return desc;
  }
  synfire_backward_desc backward_of_x() {
    synfire_backward_desc desc = backward();
    desc.grad_x_seq = grad_x;
    desc.grad_synapse_input = nullptr;
    desc.add_synapse_gradients = desc.add_input_gradient = 0;
    return desc;
  }
  synfire_synapse_backward_desc gradients() const {
    synfire_synapse_backward_desc desc = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
    desc.n_steps = c_.n_steps;
    desc.batch = c_.batch;
    desc.grad_output = grad_x;
    if (!c_.frozen) desc.input = input;
    desc.grad_input = grad_input;
    desc.n_active = n_active;
    desc.add_gradients = desc.add_input_gradient = c_.add ? 1 : 0;
    return desc;
  }

  void record(synfire_graph graph) {
    const synfire_forward_desc fd = forward();
    ASSERT_OK(synfire_graph_record_forward(graph, layer, &fd));
    if (c_.tape == SYNFIRE_TAPE_NONE) return;
    const synfire_backward_desc bd = backward();
    ASSERT_OK(synfire_graph_record_backward(graph, layer, &bd));
  }
  void record_apart(synfire_graph graph) {
    const synfire_synapse_forward_desc pd = product();
    ASSERT_OK(synfire_graph_record_synapse_forward(graph, synapse, &pd));
    const synfire_forward_desc fd = forward_of_x();
    ASSERT_OK(synfire_graph_record_forward(graph, layer, &fd));
    if (c_.tape == SYNFIRE_TAPE_NONE) return;
    const synfire_backward_desc bd = backward_of_x();
    ASSERT_OK(synfire_graph_record_backward(graph, layer, &bd));
    const synfire_synapse_backward_desc gd = gradients();
    ASSERT_OK(synfire_graph_record_synapse_backward(graph, synapse, &gd));
  }
  void run() {
    const synfire_forward_desc fd = forward();
    ASSERT_OK(synfire_layer_forward(layer, &fd, nullptr));
    if (c_.tape == SYNFIRE_TAPE_NONE) return;
    const synfire_backward_desc bd = backward();
    ASSERT_OK(synfire_layer_backward(layer, &bd, nullptr));
  }
  void run_apart() {
    const synfire_synapse_forward_desc pd = product();
    ASSERT_OK(synfire_synapse_forward(synapse, &pd, nullptr));
    const synfire_forward_desc fd = forward_of_x();
    ASSERT_OK(synfire_layer_forward(layer, &fd, nullptr));
    if (c_.tape == SYNFIRE_TAPE_NONE) return;
    const synfire_backward_desc bd = backward_of_x();
    ASSERT_OK(synfire_layer_backward(layer, &bd, nullptr));
    const synfire_synapse_backward_desc gd = gradients();
    ASSERT_OK(synfire_synapse_backward(synapse, &gd, nullptr));
  }

  std::vector<std::vector<double>> results() const {
    std::vector<std::vector<double>> all = {spikes.get(), v_seq.get(), grad_input.get(), grad_v_init.get()};
    if (c_.parameters) all.push_back(grad_tau.get());
    if (c_.grad_x) all.push_back(grad_x.get());
    if (!c_.frozen) {
      all.push_back(read(synapse, "weight_gradient", c_, c_.weights()));
      all.push_back(read(synapse, "bias_gradient", c_, static_cast<size_t>(c_.n_neurons)));
    }
    return all;
  }

 private:
  Rows sequence_of(int32_t dtype, int64_t n) const {
    const auto n_steps = static_cast<size_t>(c_.n_steps), batch = static_cast<size_t>(c_.batch);
    const auto length = static_cast<size_t>(n);
    if (dtype == SYNFIRE_DTYPE_BITS) return Rows(context_, dtype, n_steps, batch * ((length + 31) / 32));
    return Rows(context_, dtype, dtype == SYNFIRE_DTYPE_TIME_BITS ? (n_steps + 31) / 32 : n_steps, batch * length);
  }
  void put_input(const std::vector<double>& values) {
    if (c_.kind == SYNFIRE_INPUT_VALUES) return input.put(stored_as(c_.input, values));
    Rows bytes = sequence_of(SYNFIRE_DTYPE_U8, c_.n_inputs);
    bytes.put(values);
    synfire_convert_spikes_desc desc = SYNFIRE_CONVERT_SPIKES_DESC_INIT;
    desc.n_steps = c_.n_steps;
    desc.n_neurons = c_.n_inputs;
    desc.batch = c_.batch;
    desc.source = bytes;
    desc.destination = input;
    EXPECT_OK(synfire_convert_spikes(context_, &desc, nullptr));
  }

  synfire_context context_;
  const Case c_;
  synfire_parameter_gradient tau_ = {};

 public:
  Synapse synapse;
  Layer layer;
  Rows input, x, spikes, v_seq, grad_spikes, grad_v, grad_x, grad_input, v_init, grad_v_init, grad_tau;
  Buffer n_active;
};

class LayerSynapse : public testing::Test {
 protected:
  void expect_same(const Case& c) {
    SCOPED_TRACE(testing::Message() << c);
    Stage together(context_, c), apart(context_, c);
    for (int round = 0; round < (c.add ? 2 : 1); ++round) {
      if (c.graph) {
        if (round == 0) {
          graphs_[0] = make_graph(context_);
          graphs_[1] = make_graph(context_);
          ASSERT_NO_FATAL_FAILURE(together.record(graphs_[0]));
          ASSERT_NO_FATAL_FAILURE(apart.record_apart(graphs_[1]));
          for (const Graph& graph : graphs_) ASSERT_OK(synfire_graph_instantiate(graph));
        }
        for (const Graph& graph : graphs_) replay(graph);
      } else {
        ASSERT_NO_FATAL_FAILURE(together.run());
        ASSERT_NO_FATAL_FAILURE(apart.run_apart());
      }
    }
    const auto a = together.results(), b = apart.results();
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) ASSERT_TRUE(same_bits(a[i], b[i])) << "result " << i;
    if (c.tape != SYNFIRE_TAPE_NONE && c.active != 0 && c.layer_active != 0) {
      double sum = 0;
      for (const double value : a[3]) sum += std::fabs(value);
      EXPECT_GT(sum, 0);
    }
  }

  Context context_ = make_context(2);
  Graph graphs_[2];
};

TEST_F(LayerSynapse, EveryTypeAndTapeAsApart) {
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16})
    for (const int32_t tape :
         {SYNFIRE_TAPE_RECOMPUTE, SYNFIRE_TAPE_NONE, SYNFIRE_TAPE_STORE, SYNFIRE_TAPE_STORE_NARROW})
      for (const bool parameters : {false, true})
        for (const bool graph : {false, true})
          for (const bool in_place : {false, true}) {
            if (tape == SYNFIRE_TAPE_STORE_NARROW && !is_narrow(dtype)) continue;
            if (in_place && tape != SYNFIRE_TAPE_STORE) continue;
            Case c;
            c.dtype = dtype;
            c.tape = tape;
            c.parameters = parameters;
            c.graph = graph;
            c.in_place = in_place;
            c.grad_x = !graph;
            c.add = parameters;
            expect_same(c);
          }
}

TEST_F(LayerSynapse, EveryFormatOfTheInputAsApart) {
  Case c;
  for (const int32_t format : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16,
                               SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS}) {
    c.input = format;
    expect_same(c);
  }
  c.kind = SYNFIRE_INPUT_VALUES;
  for (const int32_t type : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16}) {
    c.input = type;
    expect_same(c);
  }
  c.dtype = c.input = SYNFIRE_DTYPE_F64;
  expect_same(c);
}

TEST_F(LayerSynapse, ModelsAndFrozenSynapsesAsApart) {
  for (const int32_t model : {SYNFIRE_MODEL_LI, SYNFIRE_MODEL_PLIF, SYNFIRE_MODEL_QIF})
    for (const int32_t tape : {SYNFIRE_TAPE_RECOMPUTE, SYNFIRE_TAPE_STORE})
      for (const bool parameters : {false, true})
        for (const bool frozen : {false, true}) {
          Case c;
          c.model = model;
          c.tape = tape;
          c.parameters = parameters;
          c.frozen = frozen;
          expect_same(c);
        }
}

// Rows that are not active, in the synapse or in the layer, hold no gradient, whatever the shared memory held before.
TEST_F(LayerSynapse, InactiveRowsCountNowhere) {
  for (const int64_t active : {-1, 0, 1, 2, 9})
    for (const int32_t tape : {SYNFIRE_TAPE_RECOMPUTE, SYNFIRE_TAPE_STORE}) {
      Case c;
      c.active = active;
      c.tape = tape;
      expect_same(c);
    }
  for (const int64_t active : {-1, 1, 3})
    for (const int64_t layer_active : {0, 1, 2}) {
      Case c;
      c.active = active;
      c.layer_active = layer_active;
      c.tape = SYNFIRE_TAPE_STORE;
      Case fewer = c;  // apart, the synapse must be told
      fewer.active = active < 0 ? layer_active : std::min(active, layer_active);
      Stage together(context_, c), apart(context_, fewer);
      Case all;  // leaves numbers in memory that may be used again
      Stage before(context_, all, 7);
      ASSERT_NO_FATAL_FAILURE(before.run());
      ASSERT_NO_FATAL_FAILURE(together.run());
      ASSERT_NO_FATAL_FAILURE(apart.run_apart());
      const auto a = together.results(), b = apart.results();
      for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_bits(a[i], b[i])) << "result " << i;
    }
}

TEST_F(LayerSynapse, SeveralForwardsOfOneLayerAndSynapse) {
  Case c;
  c.tape = SYNFIRE_TAPE_RECOMPUTE;
  Case adds = c;
  adds.add = true;
  // Two windows: the second backward adds.
  std::vector<std::vector<double>> found[2];
  for (const bool together : {false, true}) {
    Stage first(context_, c, 1), second(context_, adds, 2);
    const Graph graph = make_graph(context_);
    int32_t number = 0;
    if (together) {
      synfire_forward_desc fd = first.forward();
      ASSERT_OK(synfire_graph_record_forward(graph, first.layer, &fd));
      ASSERT_OK(synfire_graph_get_last_operation(graph, &number));
      fd = second.forward();
      fd.synapse = first.synapse;
      ASSERT_OK(synfire_graph_record_forward(graph, first.layer, &fd));
      synfire_backward_desc bd = second.backward();
      bd.add_synapse_gradients = 0;
      ASSERT_OK(synfire_graph_record_backward(graph, first.layer, &bd));
      bd = first.backward();
      bd.forward = static_cast<uint32_t>(number) + 1;
      bd.add_synapse_gradients = 1;
      ASSERT_OK(synfire_graph_record_backward(graph, first.layer, &bd));
    } else {
      synfire_synapse_forward_desc pd = first.product();
      ASSERT_OK(synfire_graph_record_synapse_forward(graph, first.synapse, &pd));
      synfire_forward_desc fd = first.forward_of_x();
      ASSERT_OK(synfire_graph_record_forward(graph, first.layer, &fd));
      ASSERT_OK(synfire_graph_get_last_operation(graph, &number));
      pd = second.product();
      ASSERT_OK(synfire_graph_record_synapse_forward(graph, first.synapse, &pd));
      fd = second.forward_of_x();
      ASSERT_OK(synfire_graph_record_forward(graph, first.layer, &fd));
      synfire_backward_desc bd = second.backward_of_x();
      ASSERT_OK(synfire_graph_record_backward(graph, first.layer, &bd));
      synfire_synapse_backward_desc gd = second.gradients();
      gd.add_gradients = 0;
      ASSERT_OK(synfire_graph_record_synapse_backward(graph, first.synapse, &gd));
      bd = first.backward_of_x();
      bd.forward = static_cast<uint32_t>(number) + 1;
      ASSERT_OK(synfire_graph_record_backward(graph, first.layer, &bd));
      gd = first.gradients();
      gd.add_gradients = 1;
      ASSERT_OK(synfire_graph_record_synapse_backward(graph, first.synapse, &gd));
    }
    ASSERT_OK(synfire_graph_instantiate(graph));
    replay(graph);
    found[together ? 1 : 0] = first.results();
  }
  for (size_t i = 0; i < found[0].size(); ++i) EXPECT_TRUE(same_bits(found[0][i], found[1][i])) << "result " << i;
}

// Disabling an operation disables all of its entries, and enabling it again all of them.
TEST_F(LayerSynapse, AnOperationIsEnabledAsAWhole) {
  Case c;
  Stage stage(context_, c);
  const Graph graph = make_graph(context_);
  ASSERT_NO_FATAL_FAILURE(stage.record(graph));
  int32_t number = -1;
  ASSERT_OK(synfire_graph_get_last_operation(graph, &number));
  EXPECT_EQ(number, 1);
  ASSERT_OK(synfire_graph_instantiate(graph));
  replay(graph);
  const auto before = stage.results();
  stage.fill(2);
  const auto grad_input = stage.grad_input.get();
  ASSERT_OK(synfire_graph_set_enabled(graph, 1, 0));
  replay(graph);
  EXPECT_TRUE(same_bits(stage.grad_input.get(), grad_input));
  EXPECT_TRUE(same_bits(read(stage.synapse, "weight_gradient", c, c.weights()), before[before.size() - 2]));
  ASSERT_OK(synfire_graph_set_enabled(graph, 1, 1));
  replay(graph);
  Stage again(context_, c, 2);
  ASSERT_NO_FATAL_FAILURE(again.run_apart());
  const auto a = stage.results(), b = again.results();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_bits(a[i], b[i])) << "result " << i;
}

TEST_F(LayerSynapse, DotShowsOneNodeOfTheLayer) {
  Case c;
  Stage stage(context_, c), second(context_, c, 2);
  const Graph graph = make_graph(context_);
  ASSERT_NO_FATAL_FAILURE(stage.record(graph));
  ASSERT_NO_FATAL_FAILURE(second.record(graph));
  uint64_t bytes = 0;
  ASSERT_OK(synfire_graph_write_dot(graph, nullptr, &bytes));
  std::string dot(bytes, '\0');
  ASSERT_OK(synfire_graph_write_dot(graph, dot.data(), &bytes));
  EXPECT_NE(dot.find("0: forward, lif layer 0"), std::string::npos) << dot;
  EXPECT_NE(dot.find("1: backward, lif layer 0"), std::string::npos) << dot;
  EXPECT_NE(dot.find("synapse of 45 inputs"), std::string::npos) << dot;
  EXPECT_NE(dot.find("n0 -> n1"), std::string::npos) << dot;
  EXPECT_EQ(dot.find("n1 -> n2"), std::string::npos) << "memory that is used again is not a dependence\n" << dot;
}

TEST_F(LayerSynapse, AnotherInputIsBound) {
  Case c;
  Stage stage(context_, c, 1), other(context_, c, 2);
  const Graph graph = make_graph(context_);
  ASSERT_NO_FATAL_FAILURE(stage.record(graph));
  ASSERT_OK(synfire_graph_instantiate(graph));
  ASSERT_OK(synfire_graph_rebind(graph, stage.input, other.input));
  replay(graph);
  const synfire_synapse_forward_desc pd = [&] {
    synfire_synapse_forward_desc desc = stage.product();
    desc.input = other.input;
    return desc;
  }();
  const auto together = read(stage.synapse, "weight_gradient", c, c.weights());
  ASSERT_OK(synfire_synapse_forward(stage.synapse, &pd, nullptr));
  const synfire_forward_desc fd = stage.forward_of_x();
  ASSERT_OK(synfire_layer_forward(stage.layer, &fd, nullptr));
  const synfire_backward_desc bd = stage.backward_of_x();
  ASSERT_OK(synfire_layer_backward(stage.layer, &bd, nullptr));
  synfire_synapse_backward_desc gd = stage.gradients();
  gd.input = other.input;
  ASSERT_OK(synfire_synapse_backward(stage.synapse, &gd, nullptr));
  EXPECT_TRUE(same_bits(read(stage.synapse, "weight_gradient", c, c.weights()), together));
}

// Pinned inputs with several slots: each replay has its own.
TEST_F(LayerSynapse, SlotsOfAPinnedInput) {
  Case c;
  c.kind = SYNFIRE_INPUT_VALUES;
  c.input = SYNFIRE_DTYPE_F32;
  const auto count = static_cast<uint64_t>(c.n_steps * c.batch * c.n_inputs);
  Stage stage(context_, c);
  const Buffer frame = make_frame(context_, count);
  const Graph graph = make_slotted_graph(context_, 2);
  synfire_forward_desc fd = stage.forward();
  fd.synapse_input = frame;
  ASSERT_OK(synfire_graph_record_forward(graph, stage.layer, &fd));
  const synfire_backward_desc bd = stage.backward();
  ASSERT_OK(synfire_graph_record_backward(graph, stage.layer, &bd));
  ASSERT_OK(synfire_graph_instantiate(graph));
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Stage apart(context_, c, seed);
    const std::vector<double> values = apart.input.get();
    float* const slot = slot_of(graph, 0, frame);
    for (size_t i = 0; i < values.size(); ++i) slot[i] = static_cast<float>(values[i]);
    stage.fill(seed);
    wait(graph, launch(graph));
    ASSERT_NO_FATAL_FAILURE(apart.run_apart());
    const auto a = stage.results(), b = apart.results();
    for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_bits(a[i], b[i])) << "seed " << seed << " result " << i;
  }
}

// ---- tapes ----------------------------------------------------------------------------------------------------------

TEST_F(LayerSynapse, WeightsThatChangedMakeTheTapeStale) {
  Case c;
  Stage stage(context_, c);
  const synfire_forward_desc fd = stage.forward();
  const synfire_backward_desc bd = stage.backward();
  ASSERT_OK(synfire_layer_forward(stage.layer, &fd, nullptr));
  const Graph graph = make_graph(context_);
  ASSERT_OK(synfire_graph_record_backward(graph, stage.layer, &bd));
  ASSERT_OK(synfire_graph_instantiate(graph));
  replay(graph);
  std::vector<float> gradient(c.weights());
  ASSERT_OK(synfire_synapse_write(stage.synapse, "weight_gradient", gradient.data(), gradient.size() * 4));
  EXPECT_OK(synfire_layer_backward(stage.layer, &bd, nullptr));
  std::vector<float> bias(static_cast<size_t>(c.n_neurons), 0.25f);
  ASSERT_OK(synfire_synapse_write(stage.synapse, "bias", bias.data(), bias.size() * sizeof(float)));
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-WEIGHTS"), synfire_layer_backward(stage.layer, &bd, nullptr));
  uint64_t ticket = 0;
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-WEIGHTS"), synfire_graph_launch(graph, nullptr, &ticket));
  ASSERT_OK(synfire_layer_forward(stage.layer, &fd, nullptr));
  EXPECT_OK(synfire_layer_backward(stage.layer, &bd, nullptr));
}

TEST_F(LayerSynapse, InputsThatChangedMakeTheTapeStale) {
  Case c;
  c.active = 2;
  Stage stage(context_, c), other(context_, c, 2);
  const synfire_forward_desc fd = stage.forward();
  synfire_backward_desc bd = stage.backward();
  ASSERT_OK(synfire_layer_forward(stage.layer, &fd, nullptr));
  ASSERT_OK(synfire_buffer_mark_written(stage.input));
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-WRITTEN"), synfire_layer_backward(stage.layer, &bd, nullptr));
  bd.skip_synapse_gradients = 1;  // reads X that the tape kept
  EXPECT_OK(synfire_layer_backward(stage.layer, &bd, nullptr));
  bd.skip_synapse_gradients = 0;
  ASSERT_OK(synfire_layer_forward(stage.layer, &fd, nullptr));
  ASSERT_OK(synfire_buffer_mark_written(stage.n_active));
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-WRITTEN"), synfire_layer_backward(stage.layer, &bd, nullptr));

  ASSERT_OK(synfire_layer_forward(stage.layer, &fd, nullptr));
  const Graph graph = make_graph(context_);
  ASSERT_OK(synfire_graph_record_backward(graph, stage.layer, &bd));
  ASSERT_OK(synfire_graph_instantiate(graph));
  replay(graph);
  synfire_forward_desc another = fd;
  another.synapse = other.synapse;
  ASSERT_OK(synfire_layer_forward(stage.layer, &another, nullptr));
  uint64_t ticket = 0;
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-INPUT"), synfire_graph_launch(graph, nullptr, &ticket));
}

// A count of rows that each replay writes, as a sampler does: before the forward, but not between it and its backward.
TEST_F(LayerSynapse, ActiveRowsWrittenInTheGraph) {
  Case c;
  c.active = 3;
  Stage stage(context_, c);
  Case fewer = c;
  fewer.active = 2;
  Stage apart(context_, fewer);
  const Graph graph = make_graph(context_), wrong = make_graph(context_);
  synfire_fill_desc fill = SYNFIRE_FILL_DESC_INIT;
  fill.buffer = stage.n_active;
  fill.value = 2;
  ASSERT_OK(synfire_graph_record_fill(graph, &fill));
  ASSERT_NO_FATAL_FAILURE(stage.record(graph));
  ASSERT_OK(synfire_graph_instantiate(graph));
  for (int i = 0; i < 2; ++i) {
    replay(graph);
    const synfire_backward_desc bd = stage.backward();
    EXPECT_OK(synfire_layer_backward(stage.layer, &bd, nullptr));
  }
  ASSERT_NO_FATAL_FAILURE(apart.run_apart());
  const auto a = stage.results(), b = apart.results();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_bits(a[i], b[i])) << "result " << i;

  const synfire_forward_desc fd = stage.forward();
  ASSERT_OK(synfire_graph_record_forward(wrong, stage.layer, &fd));
  ASSERT_OK(synfire_graph_record_fill(wrong, &fill));
  const synfire_backward_desc bd = stage.backward();
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-WRITTEN"),
               synfire_graph_record_backward(wrong, stage.layer, &bd));
}

TEST_F(LayerSynapse, ATapeKeepsItsSynapseAndInput) {
  Case c;
  Stage stage(context_, c), apart(context_, c);
  const synfire_forward_desc fd = stage.forward();
  const synfire_backward_desc bd = stage.backward();
  ASSERT_OK(synfire_layer_forward(stage.layer, &fd, nullptr));
  const Graph graph = make_graph(context_);
  ASSERT_OK(synfire_graph_record_backward(graph, stage.layer, &bd));
  ASSERT_OK(synfire_graph_instantiate(graph));
  stage.synapse.reset();
  ASSERT_OK(synfire_context_reclaim(context_, nullptr));
  replay(graph);
  ASSERT_NO_FATAL_FAILURE(apart.run_apart());
  EXPECT_TRUE(same_bits(stage.grad_input.get(), apart.grad_input.get()));
}

TEST_F(LayerSynapse, NoWeightGradientsWhereTheyAreSkipped) {
  Case c;
  Stage stage(context_, c);
  const std::vector<double> before = read(stage.synapse, "weight_gradient", c, c.weights());
  const synfire_forward_desc fd = stage.forward();
  ASSERT_OK(synfire_layer_forward(stage.layer, &fd, nullptr));
  synfire_backward_desc bd = stage.backward();
  bd.skip_synapse_gradients = 1;
  ASSERT_OK(synfire_layer_backward(stage.layer, &bd, nullptr));
  EXPECT_TRUE(same_bits(read(stage.synapse, "weight_gradient", c, c.weights()), before));
  bd.grad_synapse_input = nullptr;
  bd.grad_v_init = nullptr;
  EXPECT_FAILS(refused, WORDS("SYN-BACKWARD-OUTPUT"), synfire_layer_backward(stage.layer, &bd, nullptr));
  bd.skip_synapse_gradients = 0;
  EXPECT_OK(synfire_layer_backward(stage.layer, &bd, nullptr));
}

// ---- refusals -------------------------------------------------------------------------------------------------------

TEST_F(LayerSynapse, BadForwardsAreRefused) {
  Case c;
  Stage stage(context_, c);
  const Graph graph = make_graph(context_);
  const auto expect = [&](const std::function<void(synfire_forward_desc&)>& change, synfire_status status,
                          const char* rule) {
    synfire_forward_desc desc = stage.forward();
    change(desc);
    EXPECT_FAILS(status, WORDS(rule), synfire_layer_forward(stage.layer, &desc, nullptr));
    EXPECT_FAILS(status, WORDS(rule), synfire_graph_record_forward(graph, stage.layer, &desc));
  };
  expect([&](auto& desc) { desc.x = stage.x; }, refused, "SYN-FORWARD-SYNAPSE");
  expect([&](auto& desc) { desc.synapse_input = nullptr; }, refused, "SYN-FORWARD-SYNAPSE");
  expect([&](auto& desc) { desc.synapse = nullptr, desc.x = stage.x; }, refused, "SYN-FORWARD-SYNAPSE");
  const Buffer count = make_buffer(context_, SYNFIRE_DTYPE_U32, 1);
  expect(
      [&](auto& desc) {
        desc.synapse = nullptr, desc.synapse_input = nullptr, desc.x = stage.x, desc.n_active = count;
      },
      refused, "SYN-FORWARD-SYNAPSE");
  Case wider = c;
  wider.n_neurons = 20;
  const Synapse too_wide = make_synapse(context_, wider);
  expect([&](auto& desc) { desc.synapse = too_wide; }, refused, "SYN-SYNAPSE-CHAIN");
  Case in_f64 = c;
  in_f64.dtype = SYNFIRE_DTYPE_F64;
  const Synapse of_f64 = make_synapse(context_, in_f64);
  expect([&](auto& desc) { desc.synapse = of_f64; }, refused, "SYN-SYNAPSE-CHAIN");
  expect([&](auto& desc) { desc.synapse_input = stage.x; }, refused, "SYN-BUFFER-SIZE");
  expect([&](auto& desc) { desc.n_active = stage.x; }, refused, "SYN-BUFFER-TYPE");
  expect([&](auto& desc) { desc.in_place = 1; }, refused, "SYN-FORWARD-IN-PLACE");
  const Context other = make_context();
  const Synapse foreign = make_synapse(other, c);
  expect([&](auto& desc) { desc.synapse = foreign; }, SYNFIRE_ERROR_INVALID_HANDLE, "SYN-HANDLE-FOREIGN");
  Synapse gone = make_synapse(context_, c);
  const synfire_synapse stale = gone;
  gone.reset();
  expect([&](auto& desc) { desc.synapse = stale; }, SYNFIRE_ERROR_INVALID_HANDLE, "SYN-HANDLE-STALE");
}

TEST_F(LayerSynapse, BadBackwardsAreRefused) {
  Case c;
  Stage stage(context_, c);
  synfire_forward_desc fd = stage.forward();
  ASSERT_OK(synfire_layer_forward(stage.layer, &fd, nullptr));
  const auto expect = [&](const std::function<void(synfire_backward_desc&)>& change, const char* rule) {
    synfire_backward_desc desc = stage.backward();
    change(desc);
    EXPECT_FAILS(refused, WORDS(rule), synfire_layer_backward(stage.layer, &desc, nullptr));
  };
  expect([](auto& desc) { desc.add_synapse_gradients = 2; }, "SYN-SYNAPSE-FLAG");
  expect([](auto& desc) { desc.add_input_gradient = -1; }, "SYN-SYNAPSE-FLAG");
  expect([](auto& desc) { desc.skip_synapse_gradients = 3; }, "SYN-SYNAPSE-FLAG");
  expect([](auto& desc) { desc.reserved = 1; }, "SYN-RESERVED");
  expect([&](auto& desc) { desc.grad_synapse_input = stage.grad_spikes; }, "SYN-BUFFER-SIZE");
  const synfire_synapse_forward_desc pd = stage.product();
  ASSERT_OK(synfire_synapse_forward(stage.synapse, &pd, nullptr));
  fd = stage.forward_of_x();
  ASSERT_OK(synfire_layer_forward(stage.layer, &fd, nullptr));
  expect([](auto&) {}, "SYN-BACKWARD-SYNAPSE");
  expect([](auto& desc) { desc.grad_synapse_input = nullptr, desc.skip_synapse_gradients = 1; },
         "SYN-BACKWARD-SYNAPSE");

  Case narrow = c;
  narrow.dtype = SYNFIRE_DTYPE_F16;
  Stage half(context_, narrow);
  fd = half.forward();
  ASSERT_OK(synfire_layer_forward(half.layer, &fd, nullptr));
  synfire_backward_desc bd = half.backward();
  bd.grad_x_seq = half.spikes;
  EXPECT_FAILS(refused, WORDS("SYN-BUFFER-TYPE"), synfire_layer_backward(half.layer, &bd, nullptr));
}

TEST_F(LayerSynapse, MemoryIsKnownBefore) {
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  desc.n_steps = 10;
  desc.batch = 3;
  desc.n_neurons = 7;
  desc.dtype = SYNFIRE_DTYPE_F16;
  synfire_layer_memory memory = SYNFIRE_LAYER_MEMORY_INIT;
  ASSERT_OK(synfire_layer_query_memory(&desc, &memory));
  EXPECT_EQ(memory.synapse_tape_bytes, 10u * 3 * 7 * 4);
  desc.model = SYNFIRE_MODEL_LI;
  ASSERT_OK(synfire_layer_query_memory(&desc, &memory));
  EXPECT_EQ(memory.synapse_tape_bytes, 0u);
}

}  // namespace
}  // namespace synfire_test

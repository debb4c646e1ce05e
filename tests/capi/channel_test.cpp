// Parameters by channel. A layer [B, P*C] with one number for each of C channels is a layer [B*P, C] with one for each
// neuron: all arrays have the same elements in the same order, so both have the same bits, whatever the model. And in
// networks: scopes, their files, and what they refuse.
#include <algorithm>
#include <limits>
#include <set>

#include "described_stages.hpp"
#include "network_file.hpp"
#include "recording_support.hpp"
#include "storage_rig.hpp"

namespace synfire_test {
namespace {

constexpr double nan_bound = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t n_channels = 5, n_places = 7, batch = 3, n_steps = 37, n_neurons = n_channels * n_places;
constexpr auto channels = static_cast<size_t>(n_channels);

struct Given {
  int32_t model, dtype;
  std::vector<const char*> by_channel;  // these have one number per channel, the others one for all
};

std::vector<double> values_for(const char* name, uint64_t seed) {
  const bool is_share = std::string(name) == "current_first";
  return Random(seed).values<double>(channels, is_share ? 0.1 : 1.2, is_share ? 0.9 : 3);
}

bool has_gradient(const char* name) {
  return std::string(name) != "alpha";
}

// The two layers: by channel, and per neuron with the places among the batch rows.
struct Side {
  Side(synfire_context context, const Given& given, bool is_by_channel)
      : by_channel(is_by_channel),
        rows(static_cast<size_t>(batch * n_neurons)),
        n(static_cast<size_t>(is_by_channel ? n_neurons : n_channels)) {
    synfire_layer_desc desc = describe(
        by_channel ? Shape{n_steps, batch, n_neurons} : Shape{n_steps, batch * n_places, n_channels}, given.dtype);
    desc.model = given.model;
    layer = make_layer(context, desc);
    uint64_t seed = 0;
    for (const char* const name : given.by_channel) set_parameter(layer, name, values_for(name, ++seed));
    const int32_t arithmetic = arithmetic_of(given.dtype);
    Random random(5);
    const auto sequence = [&](double low, double high) {
      arrays.emplace_back(context, given.dtype, static_cast<size_t>(n_steps), rows);
      arrays.back().put(stored_as(given.dtype, random.values<double>(static_cast<size_t>(n_steps) * rows, low, high)));
      return static_cast<synfire_buffer>(arrays.back());
    };
    arrays.reserve(8);
    forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = sequence(-0.5, 3);
    backward = SYNFIRE_BACKWARD_DESC_INIT;
    backward.grad_spike_seq = sequence(-1, 1);
    backward.grad_v_seq = sequence(-1, 1);
    for (synfire_buffer* const written : {&forward.spikes, &forward.v_seq, &backward.grad_x_seq}) {
      arrays.emplace_back(context, given.dtype, static_cast<size_t>(n_steps), rows);
      *written = arrays.back();
    }
    for (const char* const name : given.by_channel)
      if (has_gradient(name)) gradients.emplace_back(make_buffer(context, arithmetic, channels));
    size_t next = 0;
    for (const char* const name : given.by_channel)
      if (has_gradient(name)) asked.push_back({name, gradients[next++]});
    backward.parameter_gradients = asked.data(), backward.n_parameter_gradients = asked.size();
  }

  std::vector<std::vector<double>> results() const {
    std::vector<std::vector<double>> all;
    for (const Rows& array : arrays) all.push_back(array.get());
    return all;
  }
  template <class R>
  std::vector<std::vector<R>> sums() const {
    std::vector<std::vector<R>> all;
    for (const Buffer& gradient : gradients) all.push_back(download<R>(gradient, channels));
    return all;
  }

  bool by_channel;
  size_t rows, n;
  Layer layer;
  std::vector<Rows> arrays;
  std::vector<Buffer> gradients;
  std::vector<synfire_parameter_gradient> asked;
  synfire_forward_desc forward;
  synfire_backward_desc backward;
};

const std::vector<Given>& all_given() {
  static const std::vector<Given> all = {
      {SYNFIRE_MODEL_IF, SYNFIRE_DTYPE_F32, {"v_threshold"}},
      {SYNFIRE_MODEL_LIF, SYNFIRE_DTYPE_F32, {"tau", "v_threshold", "alpha"}},
      {SYNFIRE_MODEL_LIF, SYNFIRE_DTYPE_F64, {"tau", "v_rest", "v_threshold", "v_reset", "alpha"}},
      {SYNFIRE_MODEL_PLIF, SYNFIRE_DTYPE_BF16, {"tau", "v_threshold"}},
      {SYNFIRE_MODEL_QIF, SYNFIRE_DTYPE_F32, {"tau", "a0"}},
      {SYNFIRE_MODEL_EIF, SYNFIRE_DTYPE_F64, {"delta_T", "v_threshold"}},
      {SYNFIRE_MODEL_IZHIKEVICH, SYNFIRE_DTYPE_F32, {"tau_w", "v_threshold"}},
      {SYNFIRE_MODEL_LIF_EXACT, SYNFIRE_DTYPE_F16, {"tau", "gain", "v_threshold"}},
      {SYNFIRE_MODEL_CUBA_LIF, SYNFIRE_DTYPE_F32, {"tau", "tau_syn", "gain", "current_first", "alpha"}},
      {SYNFIRE_MODEL_CUBA_LIF_EXACT, SYNFIRE_DTYPE_F64, {"tau_syn", "input_gain", "v_threshold"}},
  };
  return all;
}

TEST(Channels, HaveTheBitsOfALayerWithAsManyNeurons) {
  const Context context = make_context();
  for (const Given& given : all_given()) {
    SCOPED_TRACE(testing::Message() << "model " << given.model << " dtype " << given.dtype);
    Side sides[] = {{context, given, true}, {context, given, false}};
    for (Side& side : sides) {
      ASSERT_OK(synfire_layer_forward(side.layer, &side.forward, nullptr));
      ASSERT_OK(synfire_layer_backward(side.layer, &side.backward, nullptr));
    }
    EXPECT_EQ(sides[0].results(), sides[1].results());
    if (given.dtype == SYNFIRE_DTYPE_F64)
      EXPECT_EQ(sides[0].sums<double>(), sides[1].sums<double>());
    else
      EXPECT_EQ(sides[0].sums<float>(), sides[1].sums<float>());
    const auto spikes = sides[0].results()[3];
    EXPECT_GT(std::count(spikes.begin(), spikes.end(), 1.0), 50);
  }
}

// Updates in a graph, and steps of optimisers with moments.
TEST(Channels, LearnAsNeuronsDo) {
  const Context context = make_context();
  for (const Given& given : all_given())
    for (const int32_t kind : {-1, int32_t{SYNFIRE_OPTIMIZER_KIND_SGD}, int32_t{SYNFIRE_OPTIMIZER_KIND_ADAMW}}) {
      SCOPED_TRACE(testing::Message() << "model " << given.model << " optimiser " << kind);
      Side sides[] = {{context, given, true}, {context, given, false}};
      std::vector<std::vector<double>> values[2];
      std::vector<std::vector<double>> moments[2];
      for (Side& side : sides) {
        const Graph graph = make_graph(context);
        ASSERT_OK(synfire_graph_record_forward(graph, side.layer, &side.forward));
        ASSERT_OK(synfire_graph_record_backward(graph, side.layer, &side.backward));
        Optimizer optimizer;
        if (kind < 0) {
          for (const synfire_parameter_gradient& one : side.asked)
            record_update(graph, side.layer, one.name, one.gradient, 1e-3);
        } else {
          synfire_optimizer_desc desc = SYNFIRE_OPTIMIZER_DESC_INIT;
          desc.kind = kind;
          desc.momentum = kind == SYNFIRE_OPTIMIZER_KIND_SGD ? 0.9 : 0;
          synfire_optimizer made = nullptr;
          ASSERT_OK(synfire_optimizer_create(context, &desc, &made));
          optimizer = Optimizer(made);
          for (const synfire_parameter_gradient& one : side.asked)
            ASSERT_OK(synfire_optimizer_add_parameter(optimizer, side.layer, one.name, one.gradient, 1, 0.1, nan_bound,
                                                      nan_bound));
          const synfire_optimizer_step_desc step = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
          ASSERT_OK(synfire_graph_record_optimizer_step(graph, optimizer, &step));
        }
        ASSERT_OK(synfire_graph_instantiate(graph));
        for (int step = 0; step < 3; ++step) replay(graph);
        auto& own = values[side.by_channel ? 0 : 1];
        for (const synfire_parameter_gradient& one : side.asked) {
          own.emplace_back(channels);
          ASSERT_OK(synfire_layer_get_parameter(side.layer, one.name, own.back().data(), channels));
        }
        if (kind != SYNFIRE_OPTIMIZER_KIND_SGD || given.dtype != SYNFIRE_DTYPE_F64) continue;
        // Moments have an entry for each channel, and are taken back.
        std::vector<double> momentum(channels);
        for (size_t i = 0; i < side.asked.size(); ++i) {
          ASSERT_OK(synfire_optimizer_read(optimizer, static_cast<int32_t>(i), "momentum", momentum.data(),
                                           channels * sizeof(double)));
          moments[side.by_channel ? 0 : 1].push_back(momentum);
          for (double& one : momentum) one = 0.25;
          ASSERT_OK(synfire_optimizer_write(optimizer, static_cast<int32_t>(i), "momentum", momentum.data(),
                                            channels * sizeof(double)));
        }
        replay(graph);
        for (const synfire_parameter_gradient& one : side.asked) {
          own.emplace_back(channels);
          ASSERT_OK(synfire_layer_get_parameter(side.layer, one.name, own.back().data(), channels));
        }
      }
      EXPECT_EQ(values[0], values[1]);
      EXPECT_EQ(moments[0], moments[1]);
      EXPECT_EQ(sides[0].results(), sides[1].results());
    }
}

// A step that would make a constant of one neuron too large stops for the whole channel, as its first neuron has it.
TEST(Channels, StayEqualWhereOtherParametersDiffer) {
  const Context context = make_context();
  synfire_layer_desc desc = describe(Shape{1, 1, 6}, SYNFIRE_DTYPE_F32);
  desc.model = SYNFIRE_MODEL_LIF;
  const Layer layer = make_layer(context, desc);
  set_parameter(layer, "v_rest", {1, 1e38, 1, 1e38, 1, 2});
  set_parameter(layer, "tau", {2, 3, 4});
  const Buffer gradient = make_buffer_of(context, std::vector<float>{1e6F, 1e6F, 1e6F});
  const Graph graph = make_graph(context);
  record_update(graph, layer, "tau", gradient, 1);
  ASSERT_OK(synfire_graph_instantiate(graph));
  replay(graph);
  std::vector<double> each(6), by_channel(3);
  ASSERT_OK(synfire_layer_get_parameter(layer, "tau", each.data(), 6));
  ASSERT_OK(synfire_layer_get_parameter(layer, "tau", by_channel.data(), 3));
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(each[i], by_channel[i % 3]);
  EXPECT_GT(by_channel[1], by_channel[2]);
}

TEST(Channels, AreReadBackAndSaidByTheLayer) {
  const Context context = make_context();
  synfire_layer_desc desc = describe(Shape{2, 1, 12}, SYNFIRE_DTYPE_F32);
  const Layer layer = make_layer(context, desc);
  synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
  for (const size_t count : {size_t{4}, size_t{1}, size_t{6}, size_t{12}, size_t{2}}) {
    const std::vector<double> values = Random(count).values<double>(count, 2, 5);
    set_parameter(layer, "tau", values);
    ASSERT_OK(synfire_layer_get_parameter_info(layer, 0, &info));
    EXPECT_EQ(info.length, count);
    std::vector<double> held(count), each(12);
    ASSERT_OK(synfire_layer_get_parameter(layer, "tau", held.data(), count));
    ASSERT_OK(synfire_layer_get_parameter(layer, "tau", each.data(), 12));
    EXPECT_EQ(held, values);
    for (size_t i = 0; i < 12; ++i) EXPECT_EQ(each[i], values[i % count]);
  }
}

TEST(Channels, RefuseNumbersThatDoNotDivide) {
  const Context context = make_context();
  synfire_layer_desc desc = describe(Shape{2, 1, 12}, SYNFIRE_DTYPE_F32);
  const Layer layer = make_layer(context, desc);
  set_parameter(layer, "tau", {2, 3, 4});
  const std::vector<double> values(24, 2.5);
  std::vector<double> got(12);
  for (const uint64_t count : std::initializer_list<uint64_t>{0, 5, 7, 8, 11, 24})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-PARAMETER-COUNT", "tau", "12", "divides"),
                 synfire_layer_set_parameter(layer, "tau", values.data(), count));
  for (const uint64_t count : std::initializer_list<uint64_t>{1, 2, 4, 6})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-PARAMETER-COUNT", "per channel", "3 or 12"),
                 synfire_layer_get_parameter(layer, "tau", got.data(), count));
  // The third value is out of range, and none is taken.
  const double bad[] = {2, 2, -1, 2};
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-PARAMETER-RANGE", "values[2]"),
               synfire_layer_set_parameter(layer, "tau", bad, 4));
  const double overflows[] = {2, 2, 2, 1e-300};
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-PARAMETER-OVERFLOW", "values[3]"),
               synfire_layer_set_parameter(layer, "tau", overflows, 4));
  ASSERT_OK(synfire_layer_get_parameter(layer, "tau", got.data(), 3));
  EXPECT_EQ(slice(got, 0, 3), (std::vector<double>{2, 3, 4}));
  const Buffer x = make_buffer(context, SYNFIRE_DTYPE_F32, 24), five = make_buffer(context, SYNFIRE_DTYPE_F32, 5),
               four = make_buffer(context, SYNFIRE_DTYPE_F32, 4), three = make_buffer(context, SYNFIRE_DTYPE_F32, 3);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  ASSERT_OK(synfire_layer_forward(layer, &forward, nullptr));
  synfire_parameter_gradient asked = {"tau", five};
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  backward.parameter_gradients = &asked, backward.n_parameter_gradients = 1;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-GRADIENT-LENGTH", "5", "divides 12"),
               synfire_layer_backward(layer, &backward, nullptr));
  // A gradient may have another number of channels than the parameter; an update may not.
  asked.gradient = four;
  EXPECT_OK(synfire_layer_backward(layer, &backward, nullptr));
  const Graph graph = make_graph(context);
  synfire_update_parameter_desc update = SYNFIRE_UPDATE_PARAMETER_DESC_INIT;
  update.name = "tau", update.gradient = four, update.learning_rate = 0.1;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-UPDATE-LENGTH", "4", "3"),
               synfire_graph_record_update_parameter(graph, layer, &update));
  update.gradient = three;
  ASSERT_OK(synfire_graph_record_update_parameter(graph, layer, &update));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-UPDATE-LENGTH"),
               synfire_layer_set_parameter(layer, "tau", values.data(), 4));
  EXPECT_OK(synfire_layer_set_parameter(layer, "tau", values.data(), 3));
}

// ---- networks -------------------------------------------------------------------------------------------------------

constexpr int64_t n_rows = 6;

// A convolution of maps 3 x 4 with 2 channels to 5 channels, neurons, and a readout of currents.
Network make_net(synfire_context context, int32_t of_tau = SYNFIRE_SCOPE_CHANNEL, bool per_neuron = false) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = 6;
  desc.batch = 3;
  synfire_network made = nullptr;
  require_ok(synfire_network_create(context, &desc, &made));
  Network network(made);
  require_ok(add_stage(network, "input", "in",
                       {text("kind", "spikes"), number("height", 3), number("width", 4), number("channels", 2)}));
  require_ok(add_stage(network, "conv2d", "c",
                       {number("output_channels", 5), number("kernel", 3), number("padding", 1), number("gain", 4)}));
  require_ok(add_stage(network, "neurons", "n", {text("model", "cuba_lif"), number("tau", 4), number("gain", 3)}));
  require_ok(add_stage(network, "flatten", "f"));
  require_ok(add_stage(network, "synapse", "s", {number("n_outputs", 3), number("gain", 3)}));
  require_ok(add_stage(network, "neurons", "out", {text("model", "cuba_li")}));
  require_ok(add_stage(network, "readout", "r", {text("reduction", "mean")}));
  require_ok(add_stage(network, "loss", "l", {text("kind", "cross_entropy")}));
  require_ok(add_stage(network, "optimizer", "o", {text("kind", "adam"), number("learning_rate", 0.01)}));
  require_ok(synfire_network_set_scope(network, "n", "tau", of_tau));
  require_ok(synfire_network_set_scope(network, "n", "alpha", SYNFIRE_SCOPE_CHANNEL));
  require_ok(synfire_network_set_scope(network, "n", "v_threshold", SYNFIRE_SCOPE_CHANNEL));
  require_ok(synfire_network_train_parameter(network, "n", "tau", per_neuron ? 1 : 0, 1, 0, nan_bound, nan_bound));
  require_ok(synfire_network_train_parameter(network, "n", "tau_syn", 1, 1, 0, nan_bound, nan_bound));
  require_ok(synfire_network_set_scope(network, "n", "tau_syn", SYNFIRE_SCOPE_CHANNEL));  // the last call counts
  require_ok(synfire_network_train_parameter(network, "out", "gain", 0, 1, 0, nan_bound, nan_bound));
  return network;
}

void give_data(synfire_context context, synfire_network network) {
  Random random(3);
  const size_t words = static_cast<size_t>(n_rows) * 6;
  std::vector<uint32_t> spikes, labels;
  for (size_t i = 0; i < words; ++i) spikes.push_back(static_cast<uint32_t>(random.whole(0, (1 << 24) - 1)));
  for (int64_t i = 0; i < n_rows; ++i) labels.push_back(static_cast<uint32_t>(i % 3));
  const Buffer of_spikes = make_buffer(context, SYNFIRE_DTYPE_BITS, words),
               of_labels = make_buffer(context, SYNFIRE_DTYPE_U32, labels.size());
  upload(of_spikes, spikes);
  upload(of_labels, labels);
  const StageArrays arrays = {array_of("in", SYNFIRE_ARRAY_INPUTS, of_spikes),
                              array_of("l", SYNFIRE_ARRAY_LABELS, of_labels)};
  require_ok(set_arrays(network, SYNFIRE_DATA_TRAINING, n_rows, arrays));
}

void learn(synfire_network network, int64_t steps) {
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  ASSERT_OK(synfire_network_train(network, steps, &result));
}

std::vector<double> values_of(synfire_network network, const char* stage, const char* name) {
  synfire_layer found = nullptr;
  require_ok(synfire_network_get_layer(network, stage, &found));
  const Layer layer(found);
  for (uint32_t i = 0;; ++i) {
    synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
    require_ok(synfire_layer_get_parameter_info(layer, i, &info));
    if (std::string(info.name) != name) continue;
    std::vector<double> values(info.length);
    require_ok(synfire_layer_get_parameter(layer, name, values.data(), info.length));
    return values;
  }
}

TEST(NetworkChannels, LearnOneNumberForEachChannelOfAMap) {
  const Context context = make_context();
  const Network network = make_net(context);
  ASSERT_OK(synfire_network_build(network));
  give_data(context, network);
  EXPECT_EQ(values_of(network, "n", "tau"), std::vector<double>(5, 4));
  EXPECT_EQ(values_of(network, "n", "alpha"), std::vector<double>(5, 4));
  learn(network, 3);
  const std::vector<double> tau = values_of(network, "n", "tau");
  EXPECT_EQ(std::set<double>(tau.begin(), tau.end()).size(), 5u);
  EXPECT_EQ(values_of(network, "n", "tau_syn").size(), 5u);
  EXPECT_EQ(values_of(network, "out", "gain").size(), 1u);
  EXPECT_EQ(values_of(network, "n", "v_threshold"), std::vector<double>(5, 1));

  // A file goes on with the same bits, in a network that is designed again and in one that is made of the file.
  const File file = saved(network);
  const Network again = make_net(context);
  ASSERT_OK(synfire_network_build(again));
  ASSERT_OK(load(again, file));
  give_data(context, again);
  EXPECT_EQ(values_of(again, "n", "tau"), tau);
  learn(network, 2);
  learn(again, 2);
  EXPECT_TRUE(saved(again) == saved(network));
  synfire_network made = nullptr;
  ASSERT_OK(synfire_network_create_from_memory(context, file.data(), file.size(), nullptr, &made));
  const Network of_file(made);
  EXPECT_EQ(values_of(of_file, "n", "tau"), tau);
  EXPECT_EQ(values_of(of_file, "n", "alpha"), std::vector<double>(5, 4));
  give_data(context, of_file);
  learn(of_file, 2);
  EXPECT_TRUE(saved(of_file) == saved(network));
}

TEST(NetworkChannels, OtherScopesAreOtherNetworks) {
  const Context context = make_context();
  const Network network = make_net(context), of_layer = make_net(context, SYNFIRE_SCOPE_LAYER),
                each = make_net(context, SYNFIRE_SCOPE_CHANNEL, true);
  for (const synfire_network one : {network.get(), of_layer.get(), each.get()}) ASSERT_OK(synfire_network_build(one));
  EXPECT_EQ(values_of(of_layer, "n", "tau").size(), 1u);
  EXPECT_EQ(values_of(each, "n", "tau").size(), 60u);
  const File file = saved(network);
  for (const synfire_network other : {of_layer.get(), each.get()})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-OTHER", "scope", "tau", "channel"),
                 load(other, file));
}

TEST(NetworkChannels, ComeFromAnotherFileByTheirNames) {
  const Context context = make_context();
  const Network network = make_net(context), other = make_net(context),
                each = make_net(context, SYNFIRE_SCOPE_CHANNEL, true);
  for (const synfire_network one : {network.get(), other.get(), each.get()}) ASSERT_OK(synfire_network_build(one));
  give_data(context, network);
  learn(network, 2);
  const File file = saved(network);
  const auto take = [&](synfire_network to, const char* name, int32_t leave_out) {
    synfire_array_source source = {name, nullptr, nullptr, 7, 0};
    const synfire_status status =
        synfire_network_load_arrays_from_memory(to, file.data(), file.size(), &source, 1, leave_out);
    EXPECT_EQ(source.is_loaded, status < 0 ? 7 : leave_out == 1 ? 0 : 1);
    return status;
  };
  EXPECT_OK(take(other, "n.parameter.tau", 0));
  EXPECT_EQ(values_of(other, "n", "tau"), values_of(network, "n", "tau"));
  EXPECT_OK(take(other, "n.parameter.v_rest", 0));
  // One that replays update keeps its length.
  const File before = saved(each);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-FILE-SHAPE", "n.parameter.tau", "[5]", "needs [60]"),
               take(each, "n.parameter.tau", 0));
  EXPECT_OK(take(each, "n.parameter.tau", 1));
  EXPECT_EQ(saved(each), before);
}

TEST(NetworkChannels, RefuseWhatDoesNotExist) {
  const Context context = make_context();
  const Network network = make_net(context);
  const File before = [&] {
    const Network same = make_net(context);
    require_ok(synfire_network_build(same));
    return saved(same);
  }();
  for (const int32_t scope : {-1, 3})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-VALUE", "scope"),
                 synfire_network_set_scope(network, "n", "tau", scope));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-PARAMETER-NAME", "taus"),
               synfire_network_set_scope(network, "n", "taus", SYNFIRE_SCOPE_LAYER));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-STAGE", "synapse"),
               synfire_network_set_scope(network, "s", "tau", SYNFIRE_SCOPE_LAYER));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-ARGUMENT-NULL", "parameter"),
               synfire_network_set_scope(network, "n", nullptr, SYNFIRE_SCOPE_LAYER));
  ASSERT_OK(synfire_network_build(network));
  EXPECT_TRUE(saved(network) == before);
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-NETWORK-BUILT"),
               synfire_network_set_scope(network, "n", "tau", SYNFIRE_SCOPE_LAYER));
  double value = 0;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-PER-NEURON", "alpha"),
               synfire_network_get_value(network, "n", "alpha", &value));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-PER-NEURON", "alpha"),
               synfire_network_set_value(network, "n", "alpha", 3));
}

}  // namespace
}  // namespace synfire_test

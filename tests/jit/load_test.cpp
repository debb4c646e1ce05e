// Models and surrogates that are loaded as text: the bits of the same ones built in, every variable, parameters and
// their gradients and updates, lifetimes, networks and their files, what a check reports.
#include "../../docs/examples/models/conductance_based_lif.hpp"
#include "../added/cascade.hpp"

#include "../capi/recursion_rig.hpp"
#include "texts.hpp"

namespace synfire_test {
namespace {

using synfire::model::Cascade;
using synfire::model::ConductanceBasedLif;

std::vector<synfire_layer_desc> descriptions(const Shape& shape, int32_t dtype) {
  std::vector<synfire_layer_desc> all;
  for (const int rules : {0, 1, 2, 3})
    for (const int32_t undecayed : {0, 1}) {
      synfire_layer_desc desc = describe(shape, dtype);
      desc.reset = rules & 1;
      desc.detach_reset = rules >> 1;
      desc.undecayed_input = undecayed;
      all.push_back(desc);
    }
  return all;
}

// Each pass of two layers, eager, with any tape and with parameters per neuron.
template <class Scalar>
void expect_same(synfire_context context, const synfire_layer_desc& a, const synfire_layer_desc& b) {
  Rig<Scalar> one(context, a), other(context, b);
  const Inputs<Scalar> inputs = random_inputs<Scalar>(one.shape, 5);
  one.load(inputs);
  other.load(inputs);
  for (const bool per_neuron : {false, true}) {
    if (per_neuron)
      for (synfire_layer layer : {one.layer.get(), other.layer.get()}) {
        set_parameter(layer, "tau", Random(3).values<double>(static_cast<size_t>(one.shape.n_neurons), 1.5, 6));
        set_parameter(layer, "v_rest", {0.1});
      }
    for (const int32_t tape : {SYNFIRE_TAPE_RECOMPUTE, SYNFIRE_TAPE_STORE})
      for (const Spikes spikes : {Spikes::dense, Spikes::bits, Spikes::none}) {
        ForwardChoice choice;
        choice.tape = tape;
        choice.spikes = spikes;
        EXPECT_TRUE(same_bits(one.forward(choice), other.forward(choice)));
        EXPECT_TRUE(same_bits(one.backward(), other.backward()));
      }
  }
}

TEST(Loaded, HasTheBitsOfTheBuiltInModel) {
  const Context context = make_context(2);
  const FullCompiler compiler;
  const Model twin = load_model(context, load_desc(twin_text, "twin"));
  for (const Shape& shape : {Shape{1, 1, 1}, Shape{5, 3, 37}, Shape{70, 1, 700}})
    for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64})
      for (synfire_layer_desc desc : descriptions(shape, dtype)) {
        synfire_layer_desc loaded = desc;
        loaded.model = id_of(twin);
        desc.model = SYNFIRE_MODEL_LIF;
        if (dtype == SYNFIRE_DTYPE_F64)
          expect_same<double>(context, desc, loaded);
        else
          expect_same<float>(context, desc, loaded);
      }
}

// ALIF as text: a threshold that depends on a variable, and the rules that few layers have.
TEST(Loaded, AdaptsItsThreshold) {
  const Context context = make_context();
  std::string text = text_at(source_path("include/synfire/model/alif.hpp"));
  text = replaced(text, "\"lif.hpp\"", "<synfire/model/lif.hpp>");
  text = replaced(text, "#ifndef SYNFIRE_MODEL_ALIF_HPP", "#ifndef RAISED_HPP");
  text = replaced(text, "#define SYNFIRE_MODEL_ALIF_HPP", "#define RAISED_HPP");
  text = replaced(text, "struct Alif {", "struct Raised {");
  text = replaced(text, "name = \"alif\"", "name = \"raised\"");
  const Model raised = load_model(context, load_desc(text, "raised"));
  synfire_check_report report = SYNFIRE_CHECK_REPORT_INIT;
  ASSERT_OK(synfire_model_check(raised, 1, 100, &report));
  EXPECT_LE(report.largest_error, 1e-6) << report.text;
  const Shape shape{40, 2, 35};
  for (const int rules : {0, 1, 2}) {
    SCOPED_TRACE(rules);
    std::vector<float> found[2], gradients[2];
    for (const int side : {0, 1}) {
      synfire_layer_desc desc = describe(shape, SYNFIRE_DTYPE_F32);
      desc.model = side == 0 ? SYNFIRE_MODEL_ALIF : id_of(raised);
      desc.reset = rules == 1 ? SYNFIRE_RESET_SOFT_DELAYED : SYNFIRE_RESET_SOFT;
      desc.strict_threshold = rules == 1 ? 1 : 0;
      desc.refractory_steps = rules == 2 ? 2 : 0;
      const Layer layer = make_layer(context, desc);
      const Inputs<float> inputs = random_inputs<float>(shape, 8);
      const Buffer x = make_buffer_of(context, inputs.x), grad = make_buffer_of(context, inputs.grad_spike_seq),
                   v = make_buffer(context, SYNFIRE_DTYPE_F32, shape.sequence()),
                   grad_x = make_buffer(context, SYNFIRE_DTYPE_F32, shape.sequence()),
                   grad_rho = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
      synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
      forward.x = x, forward.v_seq = v;
      ASSERT_OK(synfire_layer_forward(layer, &forward, nullptr));
      const synfire_parameter_gradient rho = {"rho", grad_rho};
      synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
      backward.grad_spike_seq = grad, backward.grad_x_seq = grad_x;
      backward.parameter_gradients = &rho, backward.n_parameter_gradients = 1;
      ASSERT_OK(synfire_layer_backward(layer, &backward, nullptr));
      ASSERT_OK(synfire_context_synchronize(context));
      found[side] = download<float>(v, shape.sequence());
      gradients[side] = joined(download<float>(grad_x, shape.sequence()), download<float>(grad_rho, 1));
    }
    EXPECT_TRUE(same_bits(found[0], found[1]));
    EXPECT_TRUE(same_bits(gradients[0], gradients[1]));
  }
}

TEST(Loaded, StoresSixteenBits) {
  const Context context = make_context();
  const Model twin = load_model(context, load_desc(twin_text, "twin"));
  const Shape shape = {11, 2, 45};
  const auto passes = [&](int32_t model, int32_t dtype) {
    synfire_layer_desc desc = describe(shape, dtype);
    desc.model = model;
    const Layer layer = make_layer(context, desc);
    // Numbers from 0.5 to 2 of either format.
    const uint32_t lowest = dtype == SYNFIRE_DTYPE_F16 ? 0x3800 : 0x3F00;
    Random random(7);
    const auto codes = [&] {
      std::vector<uint16_t> all(shape.sequence());
      for (uint16_t& code : all)
        code = static_cast<uint16_t>(lowest + random.next() % (dtype == SYNFIRE_DTYPE_F16 ? 0x800 : 0x100));
      return all;
    };
    const Buffer x = make_buffer(context, dtype, shape.sequence()), v = make_buffer(context, dtype, shape.sequence()),
                 spikes = make_buffer(context, SYNFIRE_DTYPE_U8, shape.sequence()),
                 gradient = make_buffer(context, dtype, shape.sequence());
    upload(x, codes());
    upload(gradient, codes());
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x;
    forward.spikes = spikes;
    forward.v_seq = v;
    EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
    synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
    backward.grad_spike_seq = backward.grad_x_seq = gradient;
    backward.in_place = 1;
    EXPECT_OK(synfire_layer_backward(layer, &backward, nullptr));
    std::vector<uint16_t> all = download<uint16_t>(v, shape.sequence());
    const std::vector<uint16_t> slopes = download<uint16_t>(gradient, shape.sequence());
    const std::vector<uint8_t> fired = download<uint8_t>(spikes, shape.sequence());
    EXPECT_GT(std::count(fired.begin(), fired.end(), 1), 0);
    all.insert(all.end(), slopes.begin(), slopes.end());
    all.insert(all.end(), fired.begin(), fired.end());
    return all;
  };
  for (const int32_t dtype : {SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16})
    EXPECT_EQ(passes(id_of(twin), dtype), passes(SYNFIRE_MODEL_LIF, dtype)) << dtype;
}

TEST(Loaded, TakesEverySurrogate) {
  const Context context = make_context();
  const Model twin = load_model(context, load_desc(twin_text, "twin"));
  for (int32_t surrogate = SYNFIRE_SURROGATE_SIGMOID; surrogate <= SYNFIRE_SURROGATE_RECT; ++surrogate) {
    synfire_layer_desc desc = describe({6, 2, 21}, SYNFIRE_DTYPE_F32);
    desc.surrogate = surrogate;
    desc.model = SYNFIRE_MODEL_LIF;
    synfire_layer_desc loaded = desc;
    loaded.model = id_of(twin);
    SCOPED_TRACE(surrogate);
    expect_same<float>(context, desc, loaded);
  }
}

TEST(Loaded, ThreeAndFourVariables) {
  const Context context = make_context();
  const Model three = load_file(context, source_path("docs/examples/models/conductance_based_lif.hpp")),
              cascade = load_file(context, source_path("tests/added/cascade.hpp"));
  EXPECT_EQ(info_of(three).n_states, 3);
  EXPECT_EQ(info_of(cascade).n_states, 4);
  EXPECT_EQ(info_of(cascade).n_parameters, 4);
  EXPECT_STREQ(info_of(cascade).name, "cascade");
  expect_recursion<ConductanceBasedLif, float>(context, id_of(three));
  expect_recursion<ConductanceBasedLif, double>(context, id_of(three));
  expect_recursion<Cascade, float>(context, id_of(cascade));
  expect_recursion<Cascade, double>(context, id_of(cascade));
}

// A surrogate by its primitive: the sigmoid's, to a few units in the last place.
TEST(LoadedSurrogate, IsDifferentiatedFromItsPrimitive) {
  const Context context = make_context();
  const Surrogate smooth = load_surrogate(context, load_desc(smooth_text, "smooth"));
  synfire_layer_desc desc = describe({7, 2, 33}, SYNFIRE_DTYPE_F64);
  Rig<double> sigmoid(context, desc);
  desc.surrogate = id_of(smooth);
  Rig<double> loaded(context, desc);
  const Inputs<double> inputs = random_inputs<double>(sigmoid.shape, 8);
  for (const double steepness : {4.0, 1.5}) {
    set_parameter(sigmoid.layer, "alpha", {steepness});
    set_parameter(loaded.layer, "steepness", {steepness});
    sigmoid.load(inputs);
    loaded.load(inputs);
    sigmoid.forward();
    loaded.forward();
    const auto expected = sigmoid.backward(), found = loaded.backward();
    for (size_t i = 0; i < expected.grad_x_seq.size(); ++i)
      EXPECT_NEAR(found.grad_x_seq[i], expected.grad_x_seq[i], 1e-13 * (1 + std::fabs(expected.grad_x_seq[i])));
  }
}

TEST(LoadedSurrogate, TheExampleFitsALoadedModel) {
  const Context context = make_context();
  const Model klif = load_file(context, source_path("docs/examples/models/klif.hpp"));
  const std::string path = source_path("docs/examples/models/side_lobes.hpp");
  synfire_load_desc desc = load_desc("", nullptr);
  desc.text = nullptr;
  desc.file = path.c_str();
  const Surrogate side_lobes = load_surrogate(context, desc);
  synfire_layer_desc layer = describe({9, 1, 40}, SYNFIRE_DTYPE_F32);
  layer.model = id_of(klif);
  layer.surrogate = id_of(side_lobes);
  Rig<float> rig(context, layer);
  rig.load(random_inputs<float>(rig.shape, 2));
  set_parameter(rig.layer, "sigma", {0.4});
  set_parameter(rig.layer, "relu_k", {1.5});
  const auto forward = rig.forward();
  const auto backward = rig.backward();
  EXPECT_GT(std::count(forward.spikes.begin(), forward.spikes.end(), 1.0f), 0);
  for (const float value : backward.grad_x_seq) EXPECT_TRUE(std::isfinite(value));
}

// Gradients of parameters and what graphs do with them.
TEST(Loaded, LearnsInAGraph) {
  const Context context = make_context();
  const Model twin = load_model(context, load_desc(twin_text, "twin"));
  const auto trained = [&](int32_t model, bool per_neuron) {
    const Shape shape = {12, 2, 9};
    synfire_layer_desc desc = describe(shape, SYNFIRE_DTYPE_F32);
    desc.model = model;
    Rig<float> rig(context, desc);
    rig.load(random_inputs<float>(shape, 4));
    const size_t count = per_neuron ? 9 : 1;
    set_parameter(rig.layer, "tau", std::vector<double>(count, 3.0));
    const Buffer gradient = make_buffer(context, SYNFIRE_DTYPE_F32, count);
    const Graph graph = make_graph(context);
    const synfire_forward_desc forward = rig.forward_desc();
    synfire_backward_desc backward = rig.backward_desc();
    const synfire_parameter_gradient wanted = {"tau", gradient};
    backward.parameter_gradients = &wanted;
    backward.n_parameter_gradients = 1;
    synfire_update_parameter_desc update = SYNFIRE_UPDATE_PARAMETER_DESC_INIT;
    update.name = "tau";
    update.gradient = gradient;
    update.learning_rate = 0.05;
    EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &forward));
    EXPECT_OK(synfire_graph_record_backward(graph, rig.layer, &backward));
    EXPECT_OK(synfire_graph_record_update_parameter(graph, rig.layer, &update));
    EXPECT_OK(synfire_graph_instantiate(graph));
    for (int i = 0; i < 5; ++i) replay(graph);
    std::vector<double> tau(count);
    EXPECT_OK(synfire_layer_get_parameter(rig.layer, "tau", tau.data(), count));
    return tau;
  };
  for (const bool per_neuron : {false, true}) {
    const std::vector<double> expected = trained(SYNFIRE_MODEL_LIF, per_neuron);
    EXPECT_NE(expected[0], 3.0);
    EXPECT_TRUE(same_bits(trained(id_of(twin), per_neuron), expected));
  }
}

TEST(Loaded, RefusesValuesLikeABuiltInModel) {
  const Context context = make_context();
  const Model twin = load_model(context, load_desc(twin_text, "twin"));
  synfire_layer_desc desc = describe({4, 1, 3}, SYNFIRE_DTYPE_F32);
  desc.model = id_of(twin);
  const Layer layer = make_layer(context, desc);
  const double bad = -1, tiny = 1e-300;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-PARAMETER-RANGE", "tau"),
               synfire_layer_set_parameter(layer, "tau", &bad, 1));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-PARAMETER-OVERFLOW", "tau", "twin"),
               synfire_layer_set_parameter(layer, "tau", &tiny, 1));
  synfire_layer_memory memory = SYNFIRE_LAYER_MEMORY_INIT;
  EXPECT_OK(synfire_layer_query_memory(&desc, &memory));
  synfire_layer_desc answer = SYNFIRE_LAYER_DESC_INIT;
  EXPECT_OK(synfire_layer_get_desc(layer, &answer));
  EXPECT_EQ(answer.model, id_of(twin));
}

TEST(Loaded, LayersOutliveTheHandle) {
  const Context context = make_context();
  Model twin = load_model(context, load_desc(twin_text, "twin"));
  synfire_layer_desc desc = describe({4, 1, 3}, SYNFIRE_DTYPE_F32);
  desc.model = id_of(twin);
  Rig<float> rig(context, desc);
  rig.load(random_inputs<float>(rig.shape, 2));
  const auto before = rig.forward();
  twin.reset();
  uint64_t queued = 0;
  EXPECT_OK(synfire_context_reclaim(context, &queued));
  EXPECT_EQ(queued, 1u);
  EXPECT_TRUE(same_bits(rig.forward(), before));
  // The name is free, and the next one has another id.
  const Model again = load_model(context, load_desc(twin_text, "twin"));
  EXPECT_NE(id_of(again), desc.model);
  rig.layer.reset();
  EXPECT_OK(synfire_context_reclaim(context, &queued));
  EXPECT_EQ(queued, 0u);
  synfire_layer layer = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-LAYER-MODEL"), synfire_layer_create(context, &desc, &layer));
}

TEST(Loaded, BelongsToItsContext) {
  const Context context = make_context(), other = make_context();
  const Model twin = load_model(context, load_desc(twin_text, "twin"));
  synfire_layer_desc desc = describe({4, 1, 3}, SYNFIRE_DTYPE_F32);
  desc.model = id_of(twin);
  synfire_layer layer = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("SYN-HANDLE-FOREIGN", "model"),
               synfire_layer_create(other, &desc, &layer));
  const Model second = load_model(other, load_desc(twin_text, "twin"));
  EXPECT_NE(id_of(second), id_of(twin));
}

TEST(Loaded, WorksInNetworksAndTheirFiles) {
  const Context context = make_context();
  const std::string path = std::string(SYNFIRE_TEST_CACHE) + "/network.safetensors";
  const auto add = [&](synfire_network network, int32_t model, int32_t surrogate) {
    ASSERT_OK(synfire_network_add_input(network, "x", SYNFIRE_NETWORK_INPUT_SPIKES, 8));
    ASSERT_OK(synfire_network_add_synapse(network, "weights", 4));
    ASSERT_OK(synfire_network_add_neurons(network, "neurons", model));
    ASSERT_OK(synfire_network_set_value(network, "neurons", "surrogate", surrogate));
    ASSERT_OK(synfire_network_set_value(network, "neurons", "tau", 3));
    ASSERT_OK(synfire_network_add_readout(network, "sum", SYNFIRE_READOUT_SUM, 1));
  };
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = 5;
  desc.batch = 2;
  {
    Model twin = load_model(context, load_desc(twin_text, "twin"));
    Surrogate smooth = load_surrogate(context, load_desc(smooth_text, "smooth"));
    synfire_network handle = nullptr;
    ASSERT_OK(synfire_network_create(context, &desc, &handle));
    const Network network(handle);
    add(network, id_of(twin), id_of(smooth));
    twin.reset();
    smooth.reset();
    ASSERT_OK(synfire_network_build(network));
    ASSERT_OK(synfire_network_save(network, path.c_str()));
  }
  uint64_t queued = 1;
  EXPECT_OK(synfire_context_reclaim(context, &queued));
  EXPECT_EQ(queued, 0u);
  synfire_network handle = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-FILE", "twin"),
               synfire_network_create_from_file(context, path.c_str(), nullptr, &handle));
  const Model twin = load_model(context, load_desc(twin_text, "twin"));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-FILE", "smooth"),
               synfire_network_create_from_file(context, path.c_str(), nullptr, &handle));
  const Surrogate smooth = load_surrogate(context, load_desc(smooth_text, "smooth"));
  ASSERT_OK(synfire_network_create_from_file(context, path.c_str(), nullptr, &handle));
  const Network network(handle);
  double surrogate = 0;
  EXPECT_OK(synfire_network_get_value(network, "neurons", "surrogate", &surrogate));
  EXPECT_EQ(surrogate, id_of(smooth));
}

// The model runs after a synapse and before one.
TEST(Loaded, LearnsInANetwork) {
  const Context context = make_context();
  const Model twin = load_model(context, load_desc(twin_text, "twin"));
  constexpr uint64_t n_rows = 21, n_inputs = 13;
  const auto learnt = [&](int32_t model) {
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.n_steps = 9;
    desc.batch = 7;
    synfire_network handle = nullptr;
    EXPECT_OK(synfire_network_create(context, &desc, &handle));
    const Network network(handle);
    EXPECT_OK(synfire_network_add_input(network, "rates", SYNFIRE_NETWORK_INPUT_RATES, n_inputs));
    EXPECT_OK(synfire_network_add_synapse(network, "first", 19));
    EXPECT_OK(synfire_network_add_neurons(network, "hidden", model));
    EXPECT_OK(synfire_network_add_synapse(network, "second", 3));
    EXPECT_OK(synfire_network_add_neurons(network, "outputs", model));
    EXPECT_OK(synfire_network_add_readout(network, "scores", SYNFIRE_READOUT_MEAN, 0));
    EXPECT_OK(synfire_network_add_loss(network, "loss", SYNFIRE_LOSS_CROSS_ENTROPY));
    EXPECT_OK(synfire_network_add_optimizer(network, "adam", SYNFIRE_OPTIMIZER_KIND_ADAM, 0.02));
    EXPECT_OK(synfire_network_build(network));
    std::vector<uint32_t> classes(n_rows);
    for (uint32_t i = 0; i < n_rows; ++i) classes[i] = i % 3;
    const Buffer rates = make_buffer_of(context, Random(5).values<float>(n_rows * n_inputs, 0, 0.6)),
                 labels = make_buffer(context, SYNFIRE_DTYPE_U32, n_rows);
    upload(labels, classes);
    EXPECT_OK(
        synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, n_rows, rates, labels, nullptr, nullptr, nullptr));
    std::vector<double> losses;
    for (int i = 0; i < 3; ++i) {
      synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
      EXPECT_OK(synfire_network_train(network, 2, &result));
      losses.push_back(result.loss);
    }
    return losses;
  };
  const std::vector<double> expected = learnt(SYNFIRE_MODEL_LIF);
  EXPECT_NE(expected[0], expected[2]);
  EXPECT_TRUE(same_bits(learnt(id_of(twin)), expected));
}

TEST(Loaded, IsChecked) {
  const Context context = make_context();
  const FullCompiler compiler;
  const Model twin = load_model(context, load_desc(twin_text, "twin"));
  synfire_check_report report = SYNFIRE_CHECK_REPORT_INIT;
  ASSERT_OK(synfire_model_check(twin, 1, 1000, &report));
  EXPECT_EQ(report.n_samples, 1000u);
  EXPECT_EQ(report.n_non_finite, 0u);
  EXPECT_LT(report.largest_error, 1e-6) << report.text;
  EXPECT_EQ(report.wrong_slope_reads_input, 0);
  EXPECT_EQ(report.n_loops, 8);
  EXPECT_EQ(report.n_vectorized, 8) << report.text;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-MODEL-SAMPLES"), synfire_model_check(twin, 1, 0, &report));
}

// By a compiler that vectorises nothing.
TEST(Loaded, IsCheckedWithFurtherVariables) {
  const Context context = make_context();
  synfire_check_report report = SYNFIRE_CHECK_REPORT_INIT;
  const Model cascade = load_file(context, source_path("tests/added/cascade.hpp"));
  ASSERT_OK(synfire_model_check(cascade, 2, 300, &report));
  EXPECT_LT(report.largest_error, 1e-6) << report.text;
  EXPECT_EQ(report.n_non_finite, 0u);
  const Surrogate smooth = load_surrogate(context, load_desc(smooth_text, "smooth"));
  ASSERT_OK(synfire_surrogate_check(smooth, 3, 300, &report));
  EXPECT_LT(report.largest_error, 1e-6) << report.text;
  EXPECT_EQ(report.n_non_finite, 0u);
}

// Each mistake in a formula is found.
TEST(Loaded, ACheckFindsMistakes) {
  const Context context = make_context();
  synfire_check_report report = SYNFIRE_CHECK_REPORT_INIT;
  const auto check = [&](const std::string& text) {
    const Model model = load_model(context, load_desc(text, "twin"));
    EXPECT_OK(synfire_model_check(model, 1, 200, &report));
  };
  // A product whose slope is cut off, and a slope that depends on X though the text says that none does.
  check(replaced(
      replaced(twin_text, "return fma(constants[0], v,", "return fma(constants[0], select(false, v, value_of(v)),"),
      "fma(constants[1], x, constants[2])", "fma(constants[1] * x, x, constants[2])"));
  EXPECT_GT(report.largest_error, 0.1);
  EXPECT_NE(std::string(report.text).find("H along v"), std::string::npos) << report.text;
  EXPECT_EQ(report.wrong_slope_reads_input, 1);
  // A potential that overflows.
  check(replaced(
      twin_text, "fma(constants[1], x, constants[2])",
      "exponential(exponential(exponential(fma(constants[1], x, constants[2]))) * exponential(exponential(x * x)))"));
  EXPECT_GT(report.n_non_finite, 0u);
}

// ---- kernels as text ------------------------------------------------------------------------------------------------

std::string source_of(synfire_layer layer) {
  uint64_t bytes = 0;
  EXPECT_OK(synfire_layer_source(layer, nullptr, &bytes));
  std::string text(bytes, 'x');
  uint64_t too_few = bytes - 1;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-TEXT-SIZE"),
               synfire_layer_source(layer, text.data(), &too_few));
  EXPECT_EQ(text, std::string(bytes, 'x'));
  EXPECT_OK(synfire_layer_source(layer, text.data(), &bytes));
  EXPECT_EQ(text.back(), '\0');
  text.pop_back();
  EXPECT_EQ(text.find('\0'), std::string::npos);
  return text;
}

// Any layer on any backend has a source; tests/gpu compiles and runs one.
TEST(LayerSource, IsSelfContained) {
  const Context context = make_context();
  const Model twin = load_model(context, load_desc(twin_text, "twin"));
  for (const int32_t model :
       {int32_t{SYNFIRE_MODEL_LIF}, int32_t{SYNFIRE_MODEL_IZHIKEVICH}, int32_t{SYNFIRE_MODEL_LI}, id_of(twin)})
    for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16}) {
      synfire_layer_desc desc = describe({12, 2, 33}, dtype);
      desc.model = model;
      const Layer layer = make_layer(context, desc);
      set_parameter(layer, "tau", {4.0});
      const std::string text = source_of(layer);
      for (const char* const word : {"namespace layer", "n_steps = 12", "batch = 2", "n_neurons = 33", "__global__",
                                     "inline cudaError_t forward(", "inline cudaError_t backward(", "<<<"})
        EXPECT_NE(text.find(word), std::string::npos) << word;
      // It includes the standard's integers and nothing else.
      size_t n_includes = 0;
      for (size_t at = text.find("\n#include"); at != std::string::npos; at = text.find("\n#include", at + 1)) {
        ++n_includes;
        EXPECT_EQ(text.substr(at + 1, 18), "#include <cstdint>");
      }
      EXPECT_EQ(n_includes, 1u);
      EXPECT_EQ(text.find("struct Twin {") != std::string::npos, model == id_of(twin));
    }
  synfire_layer_desc desc = describe({12, 2, 33}, SYNFIRE_DTYPE_F32);
  desc.reset = SYNFIRE_RESET_SOFT_DELAYED;
  desc.refractory_steps = 3;
  const Layer layer = make_layer(context, desc);
  const std::string text = source_of(layer);
  for (const char* const word : {"using Model = synfire::model::Ruled<synfire::model::LoadedModelType>;",
                                 "{true, false, false, true, 3}", "delayed soft reset, 3 refractory steps"})
    EXPECT_NE(text.find(word), std::string::npos) << word;
}

}  // namespace
}  // namespace synfire_test

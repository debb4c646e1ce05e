// Parameters of every model and surrogate: names, defaults, ranges, shared or per neuron, PLIF's two names for one
// value; and requests for gradients of parameters that are refused. What the gradients compute: gradient_test.cpp.
#include <cmath>

#include "neuron_oracle.hpp"

namespace synfire_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
constexpr double largest = std::numeric_limits<double>::max();

constexpr size_t n_neurons = 7;
const Shape shape{4, 2, n_neurons};

Layer make_layer_of(synfire_context context, int32_t model, int32_t surrogate = SYNFIRE_SURROGATE_DEFAULT,
                    int32_t dtype = SYNFIRE_DTYPE_F32) {
  synfire_layer_desc desc = describe(shape, dtype);
  desc.model = model;
  desc.surrogate = surrogate;
  return make_layer(context, desc);
}

std::vector<synfire_parameter_info> all_parameters(synfire_layer layer) {
  std::vector<synfire_parameter_info> all;
  synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
  while (synfire_layer_get_parameter_info(layer, static_cast<uint32_t>(all.size()), &info) == SYNFIRE_OK)
    all.push_back(info);
  return all;
}

std::vector<double> values_of(synfire_layer layer, const char* name) {
  std::vector<double> values(n_neurons);
  EXPECT_OK(synfire_layer_get_parameter(layer, name, values.data(), values.size()));
  return values;
}
double value_of(synfire_layer layer, const char* name) {
  double value = nan;
  EXPECT_OK(synfire_layer_get_parameter(layer, name, &value, 1));
  return value;
}
std::vector<std::vector<double>> all_values(synfire_layer layer) {
  std::vector<std::vector<double>> all;
  for (const synfire_parameter_info& info : all_parameters(layer)) all.push_back(values_of(layer, info.name));
  return all;
}

// ---- Names, defaults, ranges ----------------------------------------------------------------------------------------

struct Documented {
  const char* name;
  double default_value, minimum, maximum;
  bool open_range;
};

constexpr Documented any(const char* name, double default_value) {
  return {name, default_value, -largest, largest, false};
}
constexpr Documented positive(const char* name, double default_value) {
  return {name, default_value, 0, largest, true};
}

std::vector<Documented> documented_parameters(int32_t model) {
  switch (model) {
    case SYNFIRE_MODEL_IF:
      return {any("v_threshold", 1), any("v_reset", 0)};
    case SYNFIRE_MODEL_LIF:
      return {positive("tau", 2), any("v_rest", 0), any("v_threshold", 1), any("v_reset", 0)};
    case SYNFIRE_MODEL_PLIF:
      return {positive("reciprocal_tau", 0.5), any("v_rest", 0), any("v_threshold", 1), any("v_reset", 0)};
    case SYNFIRE_MODEL_QIF:
      return {positive("tau", 2), any("v_c", 0.8),       positive("a0", 1),
              any("v_rest", 0),   any("v_threshold", 1), any("v_reset", -0.1)};
    case SYNFIRE_MODEL_EIF:
      return {positive("tau", 2), positive("delta_T", 1), any("theta_rh", 0.8),
              any("v_rest", 0),   any("v_threshold", 1),  any("v_reset", -0.1)};
    default:
      return {positive("tau", 2), any("v_c", 0.8), positive("a0", 1),     any("v_rest", -0.1), positive("tau_w", 2),
              any("a", 0),        any("b", 0),     any("v_threshold", 1), any("v_reset", 0)};
  }
}

TEST(Parameters, OfEveryModelHaveTheirNamesDefaultsAndRanges) {
  const Context context = make_context();
  for (const ReferenceModel& model : reference_models()) {
    SCOPED_TRACE(model.name);
    const Layer layer = make_layer_of(context, model.id);
    const std::vector<synfire_parameter_info> found = all_parameters(layer);
    std::vector<Documented> documented = documented_parameters(model.id);
    ASSERT_EQ(found.size(), documented.size() + 1) << "and the surrogate's alpha";
    EXPECT_STREQ(found.back().name, "alpha");
    for (size_t i = 0; i < documented.size(); ++i) {
      SCOPED_TRACE(documented[i].name);
      EXPECT_STREQ(found[i].name, documented[i].name);
      EXPECT_EQ(found[i].default_value, documented[i].default_value);
      EXPECT_EQ(found[i].minimum, documented[i].minimum);
      EXPECT_EQ(found[i].maximum, documented[i].maximum);
      EXPECT_EQ(found[i].open_range, documented[i].open_range ? 1 : 0);
      EXPECT_EQ(found[i].length, 1u);
      EXPECT_EQ(value_of(layer, documented[i].name), documented[i].default_value);
    }
    synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
    info.default_value = 77;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("index"),
                 synfire_layer_get_parameter_info(layer, static_cast<uint32_t>(found.size()), &info));
    EXPECT_EQ(info.default_value, 77);
  }
}

TEST(Parameters, OfEverySurrogateHaveTheirNamesAndDefaults) {
  const Context context = make_context();
  for (const ReferenceSurrogate& surrogate : reference_surrogates()) {
    SCOPED_TRACE(surrogate.name);
    const Layer layer = make_layer_of(context, SYNFIRE_MODEL_IZHIKEVICH, surrogate.id);
    const std::vector<synfire_parameter_info> found = all_parameters(layer);
    const size_t first = documented_parameters(SYNFIRE_MODEL_IZHIKEVICH).size();
    ASSERT_EQ(found.size(), first + surrogate.parameters.size());
    for (size_t i = 0; i < surrogate.parameters.size(); ++i) {
      EXPECT_STREQ(found[first + i].name, surrogate.parameters[i].name);
      EXPECT_EQ(found[first + i].default_value, surrogate.parameters[i].default_value);
    }
  }
}

// ---- Setting --------------------------------------------------------------------------------------------------------

TEST(Parameters, AreReadBackAsTheyWereSet) {
  const Context context = make_context();
  Random random(1);
  for (const ReferenceModel& model : reference_models()) {
    const Layer layer = make_layer_of(context, model.id);
    for (size_t i = 0; const synfire_parameter_info& info : all_parameters(layer)) {
      SCOPED_TRACE(testing::Message() << model.name << " " << info.name);
      const std::vector<double> one = random.values<double>(1, 0.1, 2), many = random.values<double>(n_neurons, 0.1, 2);
      set_parameter(layer, info.name, one);
      EXPECT_EQ(value_of(layer, info.name), one[0]);
      EXPECT_EQ(values_of(layer, info.name), std::vector<double>(n_neurons, one[0])) << "one number is repeated";
      set_parameter(layer, info.name, many);
      EXPECT_EQ(values_of(layer, info.name), many);
      EXPECT_EQ(all_parameters(layer)[i].length, n_neurons);
      double single = 77;
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("count"),
                   synfire_layer_get_parameter(layer, info.name, &single, 1));
      EXPECT_EQ(single, 77);
      set_parameter(layer, info.name, one);
      EXPECT_EQ(value_of(layer, info.name), one[0]);
      EXPECT_EQ(all_parameters(layer)[i].length, 1u);
      ++i;
    }
  }
}

TEST(Parameters, RefuseAnUnknownName) {
  const Context context = make_context();
  for (const ReferenceModel& model : reference_models()) {
    SCOPED_TRACE(model.name);
    const Layer layer = make_layer_of(context, model.id);
    const auto before = all_values(layer);
    double value = 0.5;
    for (const char* const name : {"", "Tau", "tau ", "taux", "v_thresholds", "a00", "delta_t", "w", "beta"}) {
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name", "v_threshold", "v_reset", "alpha"),
                   synfire_layer_set_parameter(layer, name, &value, 1));
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name"), synfire_layer_get_parameter(layer, name, &value, 1));
      EXPECT_EQ(value, 0.5);
    }
    EXPECT_EQ(all_values(layer), before);
  }
  // A parameter name of another model is refused.
  const Layer layer = make_layer_of(context, SYNFIRE_MODEL_IF);
  const double value = 2;
  for (const char* const name : {"tau", "reciprocal_tau", "v_rest"})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name", name),
                 synfire_layer_set_parameter(layer, name, &value, 1));
  const Layer lif = make_layer_of(context, SYNFIRE_MODEL_LIF);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name", "reciprocal_tau"),
               synfire_layer_set_parameter(lif, "reciprocal_tau", &value, 1));
}

TEST(Parameters, RefuseTheWrongNumberOfValues) {
  const Context context = make_context();
  for (const ReferenceModel& model : reference_models()) {
    const Layer layer = make_layer_of(context, model.id);
    const auto before = all_values(layer);
    const std::vector<double> values(4 * n_neurons, 0.5);
    for (const synfire_parameter_info& info : all_parameters(layer)) {
      SCOPED_TRACE(testing::Message() << model.name << " " << info.name);
      for (const uint64_t count : {uint64_t{0}, uint64_t{2}, uint64_t{n_neurons - 1}, uint64_t{n_neurons + 1},
                                   uint64_t{2 * n_neurons}, std::numeric_limits<uint64_t>::max()})
        EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("count", info.name),
                     synfire_layer_set_parameter(layer, info.name, values.data(), count));
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("values"),
                   synfire_layer_set_parameter(layer, info.name, nullptr, 1));
    }
    EXPECT_EQ(all_values(layer), before);
  }
}

TEST(Parameters, RefuseValuesOutsideTheirRange) {
  const Context context = make_context();
  for (const ReferenceModel& model : reference_models()) {
    const Layer layer = make_layer_of(context, model.id);
    const auto before = all_values(layer);
    std::vector<Documented> tested = documented_parameters(model.id);
    if (model.id == SYNFIRE_MODEL_PLIF) tested.push_back(positive("tau", 2));
    for (const Documented& parameter : tested) {
      SCOPED_TRACE(testing::Message() << model.name << " " << parameter.name);
      std::vector<double> bad = {nan, infinity, -infinity};
      if (parameter.open_range) bad.insert(bad.end(), {0.0, -0.0, -1.0, -5e-324});
      for (const double value : bad) {
        SCOPED_TRACE(value);
        EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS(parameter.name),
                     synfire_layer_set_parameter(layer, parameter.name, &value, 1));
        EXPECT_NE(last_error_text().find("values[0]"), std::string::npos) << last_error_text();
        std::vector<double> values(n_neurons, 0.5);
        values[5] = value;
        EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS(parameter.name),
                     synfire_layer_set_parameter(layer, parameter.name, values.data(), values.size()));
        EXPECT_NE(last_error_text().find("values[5]"), std::string::npos) << last_error_text();
      }
    }
    EXPECT_EQ(all_values(layer), before);
    for (const synfire_parameter_info& info : all_parameters(layer)) EXPECT_EQ(info.length, 1u) << info.name;
  }
}

// Values in range whose derived constants are not representable in the layer's arithmetic: 1/tau of a tau below
// 1/FLT_MAX, a potential beyond FLT_MAX, a product of two parameters. f64 layers accept what f32 layers refuse.
TEST(Parameters, RefuseValuesThatLeaveTheArithmetic) {
  struct Beyond {
    int32_t model;
    const char* name;
    double value;
    bool f64_too;
  };
  const Beyond all[] = {
      {SYNFIRE_MODEL_LIF, "tau", 2.9e-39, false},
      {SYNFIRE_MODEL_LIF, "tau", 5e-324, true},
      {SYNFIRE_MODEL_PLIF, "tau", 2.9e-39, false},
      {SYNFIRE_MODEL_PLIF, "reciprocal_tau", 3.5e38, false},
      {SYNFIRE_MODEL_QIF, "a0", 1e39, false},
      {SYNFIRE_MODEL_EIF, "delta_T", 1e-39, false},
      {SYNFIRE_MODEL_IZHIKEVICH, "tau_w", 1e-39, false},
      {SYNFIRE_MODEL_IF, "v_threshold", 3.5e38, false},
      {SYNFIRE_MODEL_IF, "v_reset", -3.5e38, false},
      {SYNFIRE_MODEL_LIF, "v_rest", 1e300, false},
  };
  const Context context = make_context();
  for (const Beyond& beyond : all) {
    for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64}) {
      SCOPED_TRACE(testing::Message() << beyond.name << " of model " << beyond.model << ", dtype " << dtype);
      const Layer layer = make_layer_of(context, beyond.model, SYNFIRE_SURROGATE_DEFAULT, dtype);
      const auto before = all_values(layer);
      std::vector<double> values(n_neurons, 0.5);
      values[5] = beyond.value;
      if (dtype == SYNFIRE_DTYPE_F64 && !beyond.f64_too) {
        EXPECT_OK(synfire_layer_set_parameter(layer, beyond.name, &beyond.value, 1));
        EXPECT_OK(synfire_layer_set_parameter(layer, beyond.name, values.data(), values.size()));
        continue;
      }
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS(beyond.name),
                   synfire_layer_set_parameter(layer, beyond.name, &beyond.value, 1));
      EXPECT_NE(last_error_text().find("[SYN-PARAMETER-OVERFLOW]"), std::string::npos) << last_error_text();
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS(beyond.name),
                   synfire_layer_set_parameter(layer, beyond.name, values.data(), values.size()));
      EXPECT_NE(last_error_text().find("values[5]"), std::string::npos) << last_error_text();
      EXPECT_EQ(all_values(layer), before);
      for (const synfire_parameter_info& info : all_parameters(layer)) EXPECT_EQ(info.length, 1u) << info.name;
    }
  }
  // Each value is in range and harmless alone; together, v_rest/tau overflows.
  const Layer layer = make_layer_of(context, SYNFIRE_MODEL_LIF);
  const double v_rest = 1e30, tau = 1e-20;
  EXPECT_OK(synfire_layer_set_parameter(layer, "v_rest", &v_rest, 1));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("tau"), synfire_layer_set_parameter(layer, "tau", &tau, 1));
  EXPECT_EQ(value_of(layer, "tau"), 2.0);
}

TEST(Parameters, OfSurrogatesKeepToTheirRanges) {
  const Context context = make_context();
  for (const ReferenceSurrogate& surrogate : reference_surrogates()) {
    const Layer layer = make_layer_of(context, SYNFIRE_MODEL_LIF, surrogate.id);
    const auto before = all_values(layer);
    const std::vector<synfire_parameter_info> infos = all_parameters(layer);
    for (size_t i = 4; i < infos.size(); ++i) {
      const synfire_parameter_info& info = infos[i];
      SCOPED_TRACE(testing::Message() << surrogate.name << " " << info.name);
      EXPECT_LE(info.minimum, info.default_value);
      EXPECT_LE(info.default_value, info.maximum);
      std::vector<double> bad = {nan, infinity, -infinity};
      if (info.open_range != 0) bad.push_back(info.minimum);
      if (info.minimum > -largest) bad.push_back(std::nextafter(info.minimum, -infinity));
      if (info.maximum < largest) bad.push_back(std::nextafter(info.maximum, infinity));
      for (const double value : bad)
        EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS(info.name, "values"),
                     synfire_layer_set_parameter(layer, info.name, &value, 1));
      EXPECT_EQ(all_values(layer), before);
    }
  }
  for (const char* const name : {"alpha"}) {  // q_pseudo_spike divides by alpha - 1
    const Layer layer = make_layer_of(context, SYNFIRE_MODEL_LIF, SYNFIRE_SURROGATE_Q_PSEUDO_SPIKE);
    const double one = 1, more = 1.001;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS(name), synfire_layer_set_parameter(layer, name, &one, 1));
    EXPECT_OK(synfire_layer_set_parameter(layer, name, &more, 1));
  }
}

// ---- PLIF's two names for one value ---------------------------------------------------------------------------------

TEST(Plif, SettingEitherNameUpdatesBoth) {
  const Context context = make_context();
  const Layer layer = make_layer_of(context, SYNFIRE_MODEL_PLIF);
  EXPECT_EQ(value_of(layer, "tau"), 2.0);
  EXPECT_EQ(value_of(layer, "reciprocal_tau"), 0.5);
  for (const double tau : {1.0, 2.0, 3.0, 0.5, 0.3, 1e-3, 1e6}) {
    set_parameter(layer, "tau", {tau});
    EXPECT_EQ(value_of(layer, "reciprocal_tau"), 1 / tau);
    EXPECT_EQ(value_of(layer, "tau"), 1 / (1 / tau));
    set_parameter(layer, "reciprocal_tau", {tau});
    EXPECT_EQ(value_of(layer, "reciprocal_tau"), tau);
    EXPECT_EQ(value_of(layer, "tau"), 1 / tau);
  }
  const std::vector<double> taus = {0.25, 0.5, 1, 2, 4, 8, 16};
  std::vector<double> reciprocals = taus;
  for (double& value : reciprocals) value = 1 / value;
  set_parameter(layer, "tau", taus);
  EXPECT_EQ(values_of(layer, "tau"), taus);
  EXPECT_EQ(values_of(layer, "reciprocal_tau"), reciprocals);
  EXPECT_EQ(all_parameters(layer)[0].length, n_neurons);
  set_parameter(layer, "reciprocal_tau", taus);
  EXPECT_EQ(values_of(layer, "tau"), reciprocals);
}

TEST(Plif, RefusesAReciprocalBeyondTheRange) {
  const Context context = make_context();
  const Layer layer = make_layer_of(context, SYNFIRE_MODEL_PLIF);
  for (const double tau : {5e-324, 1e-310}) {  // 1/tau is infinite
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("tau"), synfire_layer_set_parameter(layer, "tau", &tau, 1));
    EXPECT_EQ(value_of(layer, "tau"), 2.0);
  }
}

// The same bits by either name, equal to LIF with that tau; also for tau < 1, where V oscillates.
TEST(Plif, ComputesWhatLifComputes) {
  const Context context = make_context();
  for (const double tau : {4.0, 1.0, 0.5, 0.625}) {
    for (const bool undecayed : {false, true}) {
      SCOPED_TRACE(testing::Message() << "tau " << tau << (undecayed ? " undecayed" : ""));
      std::optional<FullOutputs<double>> expected;
      Random random(2);
      for (const auto& [model, name] : {std::pair{SYNFIRE_MODEL_LIF, "tau"}, std::pair{SYNFIRE_MODEL_PLIF, "tau"},
                                        std::pair{SYNFIRE_MODEL_PLIF, "reciprocal_tau"}}) {
        synfire_layer_desc desc = describe(shape, SYNFIRE_DTYPE_F64);
        desc.model = model;
        desc.undecayed_input = undecayed ? 1 : 0;
        FullRig<double> rig(context, desc);
        set_parameter(rig.layer, name, {std::string(name) == "tau" ? tau : 1 / tau});
        const Inputs<double> inputs = random_inputs<double>(shape, 3);
        rig.load({inputs.x, inputs.v_init, {}, inputs.grad_spike_seq, inputs.grad_v_seq, inputs.grad_v_final, {}, {}});
        const FullOutputs<double> out = rig.run();
        if (!expected) expected = out;
        EXPECT_TRUE(same_bits(out, *expected)) << name;
      }
    }
  }
}

TEST(Plif, MakesTheTapeStaleUnderEitherName) {
  const Context context = make_context();
  FullRig<float> rig(context, [] {
    synfire_layer_desc desc = describe(shape, SYNFIRE_DTYPE_F32);
    desc.model = SYNFIRE_MODEL_PLIF;
    return desc;
  }());
  for (const char* const name : {"tau", "reciprocal_tau"}) {
    EXPECT_OK(rig.run_forward());
    set_parameter(rig.layer, name, {0.75});
    EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("layer"), rig.run_backward());
  }
}

// ---- Requests for gradients -----------------------------------------------------------------------------------------

class GradientRequests : public testing::TestWithParam<int32_t> {
 protected:
  Context context = make_context();
  const ReferenceModel& model = reference_models()[static_cast<size_t>(GetParam() - 1)];
  ReferenceNeuron neuron{&model, &reference_surrogate(SYNFIRE_SURROGATE_S2NN)};
  FullInputs<float> inputs;
  std::optional<FullRig<float>> rig;
  Graph graph = make_graph(context);
  Buffer one = make_buffer(context, SYNFIRE_DTYPE_F32, 1),
         per_neuron = make_buffer(context, SYNFIRE_DTYPE_F32, n_neurons);

  void SetUp() override {
    Random random(3);
    choose_parameters(neuron, 1, random);
    rig.emplace(context, describe(neuron, shape, SYNFIRE_DTYPE_F32));
    set_parameters(rig->layer, neuron);
    inputs = NeuronOracle(neuron, shape).drive<float>(random, 0);
    rig->load(inputs);
    EXPECT_OK(rig->run_forward());
    rig->poison();
    EXPECT_OK(synfire_buffer_fill(one, 5));
    EXPECT_OK(synfire_buffer_fill(per_neuron, 5));
  }

  // The request is refused by the eager call and while recording. Nothing is written, and the graph gets no operation.
  void expect_refused(const synfire_backward_desc& desc, std::initializer_list<std::string_view> words,
                      synfire_status expected = SYNFIRE_ERROR_INVALID_ARGUMENT) {
    EXPECT_FAILS(expected, words, synfire_layer_backward(rig->layer, &desc, nullptr));
    EXPECT_FAILS(expected, words, synfire_graph_record_backward(graph, rig->layer, &desc));
    EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_instantiate(graph));
    EXPECT_TRUE(rig->untouched());
    EXPECT_TRUE(all_are(download<float>(one, 1), 5.0f));
    EXPECT_TRUE(all_are(download<float>(per_neuron, n_neurons), 5.0f));
  }
  void expect_refused(std::vector<synfire_parameter_gradient> gradients, std::initializer_list<std::string_view> words,
                      synfire_status expected = SYNFIRE_ERROR_INVALID_ARGUMENT) {
    synfire_backward_desc desc = rig->backward_desc();
    desc.parameter_gradients = gradients.data();
    desc.n_parameter_gradients = gradients.size();
    expect_refused(desc, words, expected);
  }

  // After all refusals a correct request gives the results of a fresh layer.
  void TearDown() override {
    rig->ask({{"v_threshold", false}, {"v_reset", true}});
    const FullOutputs<float> out = rig->run();
    FullRig<float> fresh(context, describe(neuron, shape, SYNFIRE_DTYPE_F32));
    set_parameters(fresh.layer, neuron);
    fresh.load(inputs);
    fresh.ask({{"v_threshold", false}, {"v_reset", true}});
    EXPECT_TRUE(same_bits(out, fresh.run()));
    EXPECT_EQ(rig->gradients(), fresh.gradients());
  }
};
INSTANTIATE_TEST_SUITE_P(EveryModel, GradientRequests, testing::Range(1, 7), [](const auto& test) {
  return std::string(reference_models()[static_cast<size_t>(test.param - 1)].name);
});

TEST_P(GradientRequests, OfASurrogatesParameter) {
  expect_refused({{"alpha", one}}, WORDS("parameter_gradients", "alpha"));
  expect_refused({{"v_threshold", one}, {"beta", per_neuron}}, WORDS("parameter_gradients", "beta"));
}

TEST_P(GradientRequests, OfAnUnknownName) {
  expect_refused({{"taux", one}}, WORDS("parameter_gradients", "taux", "v_threshold"));
  expect_refused({{"v_reset", one}, {"", per_neuron}}, WORDS("parameter_gradients", "v_threshold"));
  if (model.parameters.empty()) expect_refused({{"tau", one}}, WORDS("parameter_gradients", "tau"));
}

TEST_P(GradientRequests, WithoutAName) {
  expect_refused({{nullptr, one}}, WORDS("parameter_gradients", "name"));
  expect_refused({{"v_reset", per_neuron}, {nullptr, one}}, WORDS("parameter_gradients", "name"));
}

TEST_P(GradientRequests, WithoutABuffer) {
  expect_refused({{"v_threshold", nullptr}}, WORDS("parameter_gradients", "gradient"), SYNFIRE_ERROR_INVALID_HANDLE);
  expect_refused({{"v_reset", per_neuron}, {"v_threshold", nullptr}}, WORDS("parameter_gradients", "gradient"),
                 SYNFIRE_ERROR_INVALID_HANDLE);
}

TEST_P(GradientRequests, WithAStaleOrForeignBuffer) {
  const Context other = make_context();
  const Buffer foreign = make_buffer(other, SYNFIRE_DTYPE_F32, 1);
  Buffer gone = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
  const synfire_buffer stale = gone.get();
  gone.reset();
  expect_refused({{"v_threshold", foreign}}, WORDS("parameter_gradients"), SYNFIRE_ERROR_INVALID_HANDLE);
  expect_refused({{"v_threshold", stale}}, WORDS("parameter_gradients"), SYNFIRE_ERROR_INVALID_HANDLE);
  expect_refused({{"v_threshold", reinterpret_cast<synfire_buffer>(rig->layer.get())}}, WORDS("parameter_gradients"),
                 SYNFIRE_ERROR_INVALID_HANDLE);
}

TEST_P(GradientRequests, OfTheWrongLength) {
  for (const size_t length : {size_t{2}, n_neurons - 1, n_neurons + 1, 2 * n_neurons}) {
    const Buffer wrong = make_buffer(context, SYNFIRE_DTYPE_F32, length);
    expect_refused({{"v_threshold", one}, {"v_reset", wrong}}, WORDS("parameter_gradients", "gradient"));
    EXPECT_TRUE(all_are(download<float>(wrong, length), 0.0f));
  }
}

TEST_P(GradientRequests, OfTheWrongType) {
  for (const int32_t dtype : {SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_BITS}) {
    const Buffer wrong = make_buffer(context, dtype, n_neurons), wrong_one = make_buffer(context, dtype, 1);
    expect_refused({{"v_threshold", wrong}}, WORDS("parameter_gradients", "gradient"));
    expect_refused({{"v_threshold", wrong_one}}, WORDS("parameter_gradients", "gradient"));
  }
}

TEST_P(GradientRequests, TooMany) {
  std::vector<Buffer> buffers;
  std::vector<synfire_parameter_gradient> gradients;
  for (size_t i = 0; i < 70; ++i) {
    buffers.push_back(make_buffer(context, SYNFIRE_DTYPE_F32, 1));
    gradients.push_back({"v_threshold", buffers.back()});
  }
  synfire_backward_desc desc = rig->backward_desc();
  desc.parameter_gradients = gradients.data();
  for (const uint64_t count : {uint64_t{70}, uint64_t{11}, std::numeric_limits<uint64_t>::max()}) {
    desc.n_parameter_gradients = count;
    expect_refused(desc, WORDS("n_parameter_gradients"));
  }
  desc.parameter_gradients = nullptr;
  desc.n_parameter_gradients = 1;
  expect_refused(desc, WORDS("parameter_gradients"));
}

TEST_P(GradientRequests, IntoMemoryOfEachOther) {
  expect_refused({{"v_threshold", one}, {"v_reset", one}}, WORDS("parameter_gradients"));
}

TEST_P(GradientRequests, IntoMemoryOfAnotherOutput) {
  const Buffer inside = make_window(context, rig->grad_x_seq, SYNFIRE_DTYPE_F32, 8, n_neurons);
  expect_refused({{"v_threshold", inside}}, WORDS("parameter_gradients", "grad_x_seq"));
}

TEST_P(GradientRequests, IntoMemoryOfAnInput) {
  const Buffer inside = make_window(context, rig->grad_v_seq, SYNFIRE_DTYPE_F32, 0, 1);
  expect_refused({{"v_threshold", inside}}, WORDS("parameter_gradients", "grad_v_seq"));
  rig->load(inputs);
}

TEST_P(GradientRequests, IntoMemoryOfTheForwardsInput) {
  const Buffer inside = make_window(context, rig->x, SYNFIRE_DTYPE_F32, 0, n_neurons);
  expect_refused({{"v_threshold", inside}}, WORDS("parameter_gradients", "x"));
  rig->load(inputs);
}

TEST_P(GradientRequests, NeedATape) {
  synfire_forward_desc forward = rig->forward_desc();
  forward.tape = SYNFIRE_TAPE_NONE;
  EXPECT_OK(synfire_layer_forward(rig->layer, &forward, nullptr));
  rig->poison();
  rig->ask({{"v_threshold", false}});
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("layer"), rig->run_backward());
}

// Names are only read during the call.
TEST_P(GradientRequests, KeepNoPointerToTheirNames) {
  std::string name = "v_threshold";
  std::vector<synfire_parameter_gradient> gradients = {{name.c_str(), one}};
  synfire_backward_desc backward = rig->backward_desc();
  backward.parameter_gradients = gradients.data();
  backward.n_parameter_gradients = 1;
  EXPECT_OK(synfire_layer_backward(rig->layer, &backward, nullptr));
  const std::vector<float> expected = download<float>(one, 1);
  const synfire_forward_desc forward = rig->forward_desc();
  EXPECT_OK(synfire_graph_record_forward(graph, rig->layer, &forward));
  EXPECT_OK(synfire_graph_record_backward(graph, rig->layer, &backward));
  name.assign("v_reset????");
  gradients[0] = {"v_reset", nullptr};
  EXPECT_OK(synfire_graph_instantiate(graph));
  EXPECT_OK(synfire_buffer_fill(one, 5));
  replay(graph);
  EXPECT_TRUE(same_bits(download<float>(one, 1), expected));
}

// A graph keeps the memory of a gradient's buffer.
TEST_P(GradientRequests, OutliveTheirHandles) {
  rig->ask({{"v_threshold", true}});
  const Graph recorded = rig->graph();
  const std::vector<synfire_parameter_gradient> none;
  rig->ask({});
  rig->layer.reset();
  EXPECT_OK(synfire_context_reclaim(context, nullptr));
  replay(recorded);
  SetUp();
}

}  // namespace
}  // namespace synfire_test

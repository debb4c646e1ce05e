// Layers: ids, extents and sizes. Parameters: defaults, values, names and counts. State: names and sizes.
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "errors.hpp"

namespace synfire_test {
namespace {

// ---- Layers ---------------------------------------------------------------------------------------------------------

class LayerErrors : public Errors {
 protected:
  // Both create and query_memory must refuse the description.
  void expect_refused(synfire_status status, std::string_view word,
                      const std::function<void(synfire_layer_desc&)>& change) {
    SCOPED_TRACE(word);
    synfire_layer_desc desc = describe(shape, SYNFIRE_DTYPE_F32);
    change(desc);
    synfire_layer layer = some_handle<synfire_layer>();
    EXPECT_FAILS(status, WORDS(word), synfire_layer_create(context, &desc, &layer));
    EXPECT_EQ(layer, nullptr);
    synfire_layer_memory memory = SYNFIRE_LAYER_MEMORY_INIT;
    EXPECT_FAILS(status, WORDS(word), synfire_layer_query_memory(&desc, &memory));
    EXPECT_EQ(memory.state_bytes, 0u);
  }
};

TEST_F(LayerErrors, UnknownIds) {
  for (const int32_t bad : {-1, 1000, std::numeric_limits<int32_t>::min()}) {
    expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, "model", [&](auto& desc) { desc.model = bad; });
    expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, "surrogate", [&](auto& desc) { desc.surrogate = bad; });
    expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, "reset", [&](auto& desc) { desc.reset = bad; });
    expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, "dtype", [&](auto& desc) { desc.dtype = bad; });
    expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, "detach_reset", [&](auto& desc) { desc.detach_reset = bad; });
    expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, "undecayed_input", [&](auto& desc) { desc.undecayed_input = bad; });
  }
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, "dtype", [&](auto& desc) { desc.dtype = SYNFIRE_DTYPE_BITS; });
  for (const uint32_t bad : {1u, 33u, 160u, 0x80000000u})
    expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, "threads_per_block",
                   [&](auto& desc) { desc.threads_per_block = bad; });
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, "undecayed_input", [&](auto& desc) {
    desc.model = SYNFIRE_MODEL_IF;  // has no input decay to disable
    desc.undecayed_input = 1;
  });
  expect_usable();
}

// Every built-in model and surrogate is named as its constant. For an unknown one, the error lists the known ones.
TEST_F(LayerErrors, NamesOfModelsAndSurrogates) {
  const char* const models[] = {"if", "lif",       "plif",     "qif",      "eif",    "izhikevich",
                                "li", "lif_exact", "li_exact", "cuba_lif", "cuba_li"};
  const char* const surrogates[] = {"sigmoid",
                                    "atan",
                                    "piecewise_quadratic",
                                    "piecewise_exp",
                                    "soft_sign",
                                    "super_spike",
                                    "erf",
                                    "piecewise_leaky_relu",
                                    "s2nn",
                                    "q_pseudo_spike",
                                    "leaky_k_relu",
                                    "fake_numerical_gradient",
                                    "log_tailed_relu",
                                    "nonzero_sign_log_abs",
                                    "squarewave_fourier_series",
                                    "rect",
                                    "multi_gaussian"};
  int32_t expected = 0, id = 0;
  for (const char* const name : models) {
    EXPECT_OK(synfire_model_id(name, &id));
    EXPECT_EQ(id, ++expected) << name;
  }
  EXPECT_EQ(id, SYNFIRE_MODEL_CUBA_LI);
  const std::pair<const char*, int32_t> further[] = {{"cuba_lif_exact", SYNFIRE_MODEL_CUBA_LIF_EXACT},
                                                     {"cuba_li_exact", SYNFIRE_MODEL_CUBA_LI_EXACT},
                                                     {"integrator", SYNFIRE_MODEL_INTEGRATOR}};
  for (const auto& [name, value] : further) {
    EXPECT_OK(synfire_model_id(name, &id));
    EXPECT_EQ(id, value) << name;
  }
  expected = 0;
  for (const char* const name : surrogates) {
    EXPECT_OK(synfire_surrogate_id(name, &id));
    EXPECT_EQ(id, ++expected) << name;
  }
  EXPECT_EQ(id, SYNFIRE_SURROGATE_MULTI_GAUSSIAN);
  EXPECT_OK(synfire_model_id("alif", &id));
  EXPECT_EQ(id, SYNFIRE_MODEL_ALIF);

  id = -7;
  for (const char* const name : {"", "LIF", "lif ", "l", "sigmoid", "no_such_thing"})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name", "lif", "izhikevich"), synfire_model_id(name, &id));
  for (const char* const name : {"", "Atan", "lif", "sigmoi"})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name", "sigmoid", "rect"), synfire_surrogate_id(name, &id));
  const std::string endless(100000, 'x');
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name"), synfire_model_id(endless.c_str(), &id));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name"), synfire_model_id(nullptr, &id));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name"), synfire_surrogate_id(nullptr, &id));
  EXPECT_EQ(id, -7);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("id"), synfire_model_id("lif", nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("id"), synfire_surrogate_id("atan", nullptr));
  expect_usable();
}

TEST_F(LayerErrors, Extents) {
  for (const int64_t bad : {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, "n_steps", [&](auto& desc) { desc.n_steps = bad; });
    expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, "n_neurons", [&](auto& desc) { desc.n_neurons = bad; });
    if (bad != 0) expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, "batch", [&](auto& desc) { desc.batch = bad; });
  }
  expect_usable();
}

TEST_F(LayerErrors, ExtentsWhoseBytesOverflow) {
  constexpr int64_t two = 2;
  const std::string_view any = "n_steps|n_neurons|batch";
  for (const Shape huge :
       {Shape{std::numeric_limits<int64_t>::max(), 1, 1}, Shape{1, std::numeric_limits<int64_t>::max(), 1},
        Shape{1, 1, std::numeric_limits<int64_t>::max()}, Shape{two << 61, 1, 1}, Shape{1, 1, two << 61},
        Shape{1, two << 61, 1}, Shape{two << 39, 1, two << 39}, Shape{two << 30, two << 30, two << 30},
        Shape{two << 20, two << 20, two << 20}, Shape{two << 31, 1, two << 31}, Shape{3, 3, two << 59}}) {
    SCOPED_TRACE(testing::Message() << huge);
    for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64})
      expect_refused(SYNFIRE_ERROR_OUT_OF_MEMORY, any, [&](auto& desc) { desc = describe(huge, dtype); });
  }
  expect_usable();
}

TEST_F(LayerErrors, ABatchOfZeroMeansOne) {
  synfire_layer_desc desc = describe(Shape{3, 0, 5}, SYNFIRE_DTYPE_F32);
  const Layer layer = make_layer(context, desc);
  EXPECT_EQ(read_state<float>(layer, 5).size(), 5u);  // exactly B·N elements are accepted
  synfire_layer_memory memory = SYNFIRE_LAYER_MEMORY_INIT;
  EXPECT_OK(synfire_layer_query_memory(&desc, &memory));
  EXPECT_EQ(memory.state_bytes, 256u);  // 5 f32, rounded up
}

TEST_F(LayerErrors, QueryTellsTheDocumentedSizes) {
  synfire_layer_desc desc = describe(Shape{100, 3, 7}, SYNFIRE_DTYPE_F64);
  synfire_layer_memory memory = SYNFIRE_LAYER_MEMORY_INIT;
  EXPECT_OK(synfire_layer_query_memory(&desc, &memory));
  EXPECT_EQ(memory.struct_size, sizeof memory);
  EXPECT_EQ(memory.checkpoint_interval, 32u);
  EXPECT_EQ(memory.state_bytes, 256u);  // 3 x 7 f64, rounded up
  EXPECT_EQ(memory.tape_bytes, 4 * 3 * 7 * sizeof(double));
  EXPECT_GT(memory.parameter_bytes, 0u);
  EXPECT_GE(memory.per_neuron_parameter_bytes, 7 * sizeof(double));
}

// ---- Parameters -----------------------------------------------------------------------------------------------------

class ParameterErrors : public Errors {
 protected:
  synfire_parameter_info info_of(uint32_t index) const {
    synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
    EXPECT_OK(synfire_layer_get_parameter_info(rig.layer, index, &info));
    return info;
  }
  double one(const char* name) const {
    double value = nan;
    EXPECT_OK(synfire_layer_get_parameter(rig.layer, name, &value, 1));
    return value;
  }
  synfire_status set(const char* name, const std::vector<double>& values) {
    return synfire_layer_set_parameter(rig.layer, name, values.data(), values.size());
  }
};

TEST_F(ParameterErrors, DocumentedDefaults) {
  const std::array<std::pair<std::string, double>, 5> lif = {
      {{"tau", 2}, {"v_rest", 0}, {"v_threshold", 1}, {"v_reset", 0}, {"alpha", 4}}};
  for (uint32_t i = 0; i < lif.size(); ++i) {
    const synfire_parameter_info info = info_of(i);
    EXPECT_EQ(info.name, lif[i].first);
    EXPECT_EQ(info.default_value, lif[i].second);
    EXPECT_EQ(one(info.name), lif[i].second);
    EXPECT_EQ(info.length, 1u);
    EXPECT_LT(info.minimum, info.maximum);
    EXPECT_EQ(info.struct_size, sizeof info);
  }
  EXPECT_EQ(info_of(0).minimum, 0);
  EXPECT_EQ(info_of(0).open_range, 1);
  synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
  info.length = 77;
  for (const uint32_t past : {5u, 6u, 0xFFFFFFFFu}) {
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("index"),
                 synfire_layer_get_parameter_info(rig.layer, past, &info));
    EXPECT_EQ(info.length, 77u);
    EXPECT_EQ(info.name, nullptr);
  }
}

TEST_F(ParameterErrors, DefaultsOfTheOtherModelAndSurrogate) {
  synfire_layer_desc desc = describe(shape, SYNFIRE_DTYPE_F64);
  desc.model = SYNFIRE_MODEL_IF;
  desc.surrogate = SYNFIRE_SURROGATE_ATAN;
  const Layer layer = make_layer(context, desc);
  const std::array<std::pair<std::string, double>, 3> expected = {{{"v_threshold", 1}, {"v_reset", 0}, {"alpha", 2}}};
  synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
  for (uint32_t i = 0; i < expected.size(); ++i) {
    ASSERT_OK(synfire_layer_get_parameter_info(layer, i, &info));
    EXPECT_EQ(info.name, expected[i].first);
    EXPECT_EQ(info.default_value, expected[i].second);
  }
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("index"), synfire_layer_get_parameter_info(layer, 3, &info));
  const double tau = 3;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name", "tau"),
               synfire_layer_set_parameter(layer, "tau", &tau, 1));
}

TEST_F(ParameterErrors, ValuesThatAreNoNumbers) {
  for (const char* const name : {"tau", "v_rest", "v_threshold", "v_reset", "alpha"}) {
    SCOPED_TRACE(name);
    EXPECT_OK(set(name, {3.25}));
    for (const double bad : {nan, infinity, -infinity}) {
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("values", name), set(name, {bad}));
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("values", name), set(name, {1, 2, bad, 4, 5}));
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("values", name), set(name, {1, 2, 3, 4, bad}));
      EXPECT_EQ(one(name), 3.25) << "the refused value was accepted";
    }
  }
  for (uint32_t i = 0; i < 5; ++i) EXPECT_EQ(info_of(i).length, 1u);
  expect_usable();
}

TEST_F(ParameterErrors, ValuesOutsideTheirRange) {
  for (const double bad : {0.0, -0.0, -1.0, -1e-300, -1e300})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("values", "tau"), set("tau", {bad}));
  EXPECT_EQ(one("tau"), 2);
  for (const double good : {0.25, 1.0, 1e-3, 1e6}) {
    EXPECT_OK(set("tau", {good}));
    EXPECT_EQ(one("tau"), good);
  }
  for (uint32_t i = 0; i < 5; ++i) {  // the documented range is the enforced one
    const synfire_parameter_info info = info_of(i);
    SCOPED_TRACE(info.name);
    const double before = one(info.name);
    const double below = info.open_range != 0 ? info.minimum : std::nextafter(info.minimum, -infinity);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("values", info.name), set(info.name, {below}));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("values", info.name),
                 set(info.name, {std::nextafter(info.maximum, infinity)}));
    EXPECT_EQ(one(info.name), before);
    const double smallest = info.open_range != 0 ? std::nextafter(info.minimum, infinity) : info.minimum;
    if (set(info.name, {smallest}) == SYNFIRE_OK) {
      EXPECT_EQ(one(info.name), smallest);
    } else {  // in range, but a derived constant such as 1/tau is not representable in the layer's type
      EXPECT_NE(last_error_text().find("[SYN-PARAMETER-OVERFLOW]"), std::string::npos) << last_error_text();
      EXPECT_EQ(one(info.name), before);
    }
    EXPECT_OK(set(info.name, {info.default_value}));
  }
  expect_usable();
}

TEST_F(ParameterErrors, NamesAndCounts) {
  double values[6] = {1, 2, 3, 4, 5, 6};
  for (const char* const name : {"", "Tau", "tau ", "tau_m", "v", "beta"}) {
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name"),
                 synfire_layer_set_parameter(rig.layer, name, values, 1));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name"),
                 synfire_layer_get_parameter(rig.layer, name, values, 1));
  }
  const std::string long_name(100000, 'x');
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name"),
               synfire_layer_set_parameter(rig.layer, long_name.c_str(), values, 1));
  for (const uint64_t bad : {uint64_t{0}, uint64_t{2}, uint64_t{4}, uint64_t{6}, uint64_t{10}, ~uint64_t{0}}) {
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("count"),
                 synfire_layer_set_parameter(rig.layer, "tau", values, bad));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("count"),
                 synfire_layer_get_parameter(rig.layer, "tau", values, bad));
  }
  EXPECT_EQ(one("tau"), 2);
  EXPECT_EQ(values[0], 1) << "a refused read wrote";

  EXPECT_OK(synfire_layer_set_parameter(rig.layer, "tau", values, 5));
  EXPECT_EQ(info_of(0).length, 5u);
  double back[5] = {};
  EXPECT_OK(synfire_layer_get_parameter(rig.layer, "tau", back, 5));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(back[i], values[i]);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("count"), synfire_layer_get_parameter(rig.layer, "tau", back, 1));
  EXPECT_OK(set("tau", {7.5}));  // back to one number
  EXPECT_EQ(info_of(0).length, 1u);
  EXPECT_OK(synfire_layer_get_parameter(rig.layer, "tau", back, 5));
  for (const double value : back) EXPECT_EQ(value, 7.5) << "one number held is repeated";
  expect_usable();
}

TEST_F(ParameterErrors, ARefusedPerNeuronValueKeepsThePerNeuronValues) {
  const std::vector<double> taus = {2, 3, 4, 5, 6};
  EXPECT_OK(set("tau", taus));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("values"), set("tau", {7, 7, 7, 7, 0}));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("values"), set("tau", {-7}));
  std::vector<double> back(5);
  EXPECT_OK(synfire_layer_get_parameter(rig.layer, "tau", back.data(), 5));
  EXPECT_EQ(back, taus);
}

// ---- State ----------------------------------------------------------------------------------------------------------

TEST_F(Errors, StateNamesAndSizes) {
  std::vector<float> written(shape.row()), values(shape.row() + 1, 9);
  for (size_t i = 0; i < written.size(); ++i) written[i] = static_cast<float>(i);
  const uint64_t bytes = written.size() * sizeof(float);
  EXPECT_OK(synfire_layer_write_state(rig.layer, "v", written.data(), bytes));
  for (const char* const name : {"", "w", "V", "v_init"}) {
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name"),
                 synfire_layer_read_state(rig.layer, name, values.data(), bytes));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name"),
                 synfire_layer_write_state(rig.layer, name, values.data(), bytes));
  }
  for (const uint64_t bad : {uint64_t{0}, bytes - 4, bytes - 1, bytes + 1, bytes + 4, ~uint64_t{0}}) {
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("bytes"),
                 synfire_layer_read_state(rig.layer, "v", values.data(), bad));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("bytes"),
                 synfire_layer_write_state(rig.layer, "v", values.data(), bad));
  }
  EXPECT_TRUE(all_are(values, 9.0f));
  EXPECT_TRUE(same_bits(read_state<float>(rig.layer, shape.row()), written));
  expect_usable();
}

}  // namespace
}  // namespace synfire_test

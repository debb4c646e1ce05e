// A library reports KLIF and the surrogate of docs/examples/models, which were added to it: ids, names,
// parameters, ranges, refusals; and the surrogate's derivative at its critical points. Gradients and forward passes are
// tested in tests/capi, as for every model of the library.
#include <cmath>
#include <limits>

#include "../capi/neuron_oracle.hpp"

namespace synfire_test {
namespace {

int32_t id_of_model(const char* name) {
  int32_t id = -1;
  EXPECT_OK(synfire_model_id(name, &id));
  return id;
}
int32_t id_of_surrogate(const char* name) {
  int32_t id = -1;
  EXPECT_OK(synfire_surrogate_id(name, &id));
  return id;
}

synfire_layer_desc klif_desc(const Shape& shape = {4, 1, 3}, int32_t dtype = SYNFIRE_DTYPE_F32) {
  synfire_layer_desc desc = describe(shape, dtype);
  desc.model = id_of_model("klif");
  desc.surrogate = id_of_surrogate("side_lobes");
  return desc;
}

TEST(Added, AreFoundByNameBehindTheBuiltInOnes) {
  EXPECT_EQ(id_of_model("klif"), 1000);
  EXPECT_EQ(id_of_surrogate("side_lobes"), 1000);
  EXPECT_EQ(id_of_model("izhikevich"), SYNFIRE_MODEL_IZHIKEVICH);
  EXPECT_EQ(id_of_surrogate("rect"), SYNFIRE_SURROGATE_RECT);
  ASSERT_TRUE(library_has_added());
  EXPECT_EQ(reference_models().size(), 7u);
  EXPECT_EQ(reference_surrogates().size(), 18u);
}

TEST(Added, AreListedByErrors) {
  int32_t id = 0;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("no_such", "lif", "klif", "1000"),
               synfire_model_id("no_such", &id));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("klif", "rect", "side_lobes"), synfire_surrogate_id("klif", &id));
  const Context context = make_context();
  synfire_layer layer = nullptr;
  synfire_layer_desc desc = klif_desc();
  desc.model = 1900;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("model", "klif"), synfire_layer_create(context, &desc, &layer));
  desc = klif_desc();
  desc.surrogate = 1001;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("surrogate", "side_lobes"),
               synfire_layer_create(context, &desc, &layer));
}

TEST(Added, ShowTheirParameters) {
  const Context context = make_context();
  const Layer layer = make_layer(context, klif_desc());
  const struct {
    const char* name;
    double default_value, minimum;
    bool open;
  } expected[] = {{"tau", 2, 0, true},
                  {"relu_k", 1, 0, true},
                  {"v_rest", 0, -std::numeric_limits<double>::max(), false},
                  {"v_threshold", 1, -std::numeric_limits<double>::max(), false},
                  {"v_reset", 0, -std::numeric_limits<double>::max(), false},
                  {"sigma", 0.5, 1e-6, false},
                  {"h", 0.15, 0, false},
                  {"s", 6, 1e-6, false}};
  uint32_t index = 0;
  synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
  for (const auto& parameter : expected) {
    ASSERT_OK(synfire_layer_get_parameter_info(layer, index++, &info));
    EXPECT_STREQ(info.name, parameter.name);
    EXPECT_EQ(info.default_value, parameter.default_value) << parameter.name;
    EXPECT_EQ(info.minimum, parameter.minimum) << parameter.name;
    EXPECT_EQ(info.open_range, parameter.open ? 1 : 0) << parameter.name;
  }
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("index"), synfire_layer_get_parameter_info(layer, index, &info));
}

TEST(Added, RefuseValuesOutOfRange) {
  const Context context = make_context();
  const Layer layer = make_layer(context, klif_desc());
  const auto refused = [&](const char* name, double value) {
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS(name), synfire_layer_set_parameter(layer, name, &value, 1));
  };
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL})
    for (const char* const name : {"tau", "relu_k", "sigma", "s"}) refused(name, bad);
  refused("h", -0.1);
  refused("sigma", 1e7);
  refused("k", 1);
  const double two[] = {1, 2};
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("relu_k"), synfire_layer_set_parameter(layer, "relu_k", two, 2));
  double k = 0;
  EXPECT_OK(synfire_layer_get_parameter(layer, "relu_k", &k, 1));
  EXPECT_EQ(k, 1);
}

// X decides on which side of the rectifier H is, so the tape must keep X as well as H.
TEST(Added, KlifReadsItsInputAgain) {
  const Context context = make_context();
  const Layer layer = make_layer(context, klif_desc());
  const Buffer x = make_buffer(context, SYNFIRE_DTYPE_F32, 12);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x, forward.h_seq = x, forward.in_place = 1, forward.tape = SYNFIRE_TAPE_STORE;
  EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("in_place", "klif"), synfire_layer_forward(layer, &forward, nullptr));
}

// With IF, H = X and dL/dX = g'(X − v_threshold) for one step under soft reset, which is the surrogate itself.
TEST(Added, SideLobesAtItsCriticalPoints) {
  const Context context = make_context();
  const double infinity = HUGE_VAL;
  const std::vector<double> at = {0.0, -0.0, 1,    -1,    0.5,      -0.5,      0.25,        -0.25,
                                  3,   -3,   1e30, -1e30, infinity, -infinity, std::nan("")};
  const Shape shape{1, 1, static_cast<int64_t>(at.size())};
  const ReferenceSurrogate& reference = reference_surrogates().back();
  for (const std::vector<double>& p :
       {std::vector<double>{0.5, 0.15, 6}, {1e-6, 1e6, 1e-6}, {1e6, 0, 1e6}, {0.3, 0.5, 2}}) {
    synfire_layer_desc desc = describe(shape, SYNFIRE_DTYPE_F32);
    desc.model = SYNFIRE_MODEL_IF, desc.reset = SYNFIRE_RESET_SOFT;
    desc.surrogate = id_of_surrogate("side_lobes");
    FullRig<float> rig(context, desc);
    set_parameter(rig.layer, "v_threshold", {0});
    for (size_t i = 0; i < 3; ++i) set_parameter(rig.layer, reference.parameters[i].name, {p[i]});
    FullInputs<float> inputs;
    for (const double x : at) inputs.x.push_back(static_cast<float>(x));
    const size_t n = at.size();
    inputs.v_init.assign(n, 0), inputs.grad_spike_seq.assign(n, 1);
    inputs.grad_v_seq.assign(n, 0), inputs.grad_v_final.assign(n, 0);
    rig.load(inputs);
    const FullOutputs<float> out = rig.run();
    const double peak = std::fabs(reference.derivative(p.data(), 0)) + (1 + p[1]) / p[0];
    for (size_t i = 0; i < n; ++i) {
      const auto got = static_cast<double>(out.grad_x_seq[i]);
      EXPECT_TRUE(std::isfinite(got)) << at[i];
      if (std::isfinite(at[i]))
        EXPECT_NEAR(got, reference.derivative(p.data(), at[i]), 1e-5 * peak) << at[i];
      else
        EXPECT_EQ(got, 0) << at[i];
    }
  }
}

// The rectifier at its critical points: below 0, at ±0, infinite, and NaN, which stays NaN.
TEST(Added, KlifRectifies) {
  const Context context = make_context();
  const std::vector<double> at = {-1, -0.0, 0.0, 0.5, -1e30, 1e30, HUGE_VAL, -HUGE_VAL, std::nan("")};
  const Shape shape{1, 1, static_cast<int64_t>(at.size())};
  synfire_layer_desc desc = klif_desc(shape, SYNFIRE_DTYPE_F64);
  desc.undecayed_input = desc.detach_reset = 1;
  FullRig<double> rig(context, desc);
  set_parameter(rig.layer, "relu_k", {0.5});
  FullInputs<double> inputs;
  inputs.x = at;
  const size_t n = at.size();
  inputs.v_init.assign(n, 0), inputs.grad_spike_seq.assign(n, 0);
  inputs.grad_v_seq.assign(n, 1), inputs.grad_v_final.assign(n, 0);
  rig.load(inputs);
  const FullOutputs<double> out = rig.run();
  const std::vector<double> expected = {0, 0, 0, 0.25, 0, 5e29, HUGE_VAL, 0};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(out.h_seq[i], expected[i]) << at[i];
    EXPECT_FALSE(std::signbit(out.h_seq[i])) << at[i];
  }
  EXPECT_TRUE(std::isnan(out.h_seq[8]));
  EXPECT_EQ(out.spikes[8], 0);
  // On the positive side dH/dX = relu_k; on the other side it is 0.
  EXPECT_EQ(out.grad_x_seq[3], 0.5);
  for (const size_t off : {0u, 1u, 2u, 4u, 7u}) EXPECT_EQ(out.grad_x_seq[off], 0) << at[off];
}

}  // namespace
}  // namespace synfire_test

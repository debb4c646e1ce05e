// Models and surrogates that are loaded as text: their bits are those of C, they are used wherever built-in ones are,
// and refusals say why. The texts and their cache are those of tests/jit.
#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "support.hpp"

namespace {

using synfire::Buffer;
using synfire::Layer;
using synfire_test::make_context;
using synfire_test::throws;

constexpr int n_steps = 40, n_neurons = 24;

const std::string klif_path = SYNFIRE_TEST_SOURCE "/docs/examples/models/klif.hpp";

std::string text_at(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The sigmoid by its smooth spike.
constexpr const char* smooth_text = R"(#include <synfire/model/dual.hpp>
#include <synfire/model/layout.hpp>

SYNFIRE_MODEL_BEGIN

struct Smooth {
  static constexpr const char* name = "smooth";
  static constexpr int n_parameters = 1;
  static constexpr int n_constants = 2;
  static constexpr ParameterSpec parameters[n_parameters] = {{"steepness", 4.0, 0.0, 1e6, true}};

  static SYNFIRE_MODEL_FN void derive(const double* values, double* constants) {
    constants[0] = values[0];
    constants[1] = 1.0;
  }
  template <class C, class X>
  static SYNFIRE_MODEL_FN auto primitive(const C* c, X x) {
    return reciprocal(c[1] + exponential(-(c[0] * x)));
  }
};

SYNFIRE_MODEL_END
)";

// In the cache of tests/jit, so that a text is compiled once for both.
synfire_load_desc cached(synfire_load_desc desc) {
  desc.cache = SYNFIRE_TEST_CACHE;
  desc.time_out = 300000000000u;
  return desc;
}

std::vector<float> noise() {
  std::vector<float> values(n_steps * n_neurons);
  std::uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = 2.0f * static_cast<float>(state >> 8) / 16777216.0f;
  }
  return values;
}

struct Answers {
  std::vector<float> spikes, grad_x, grad_k;
};

// The C ABI alone, eager.
Answers in_c() {
  const synfire::Context context = make_context();
  synfire_load_desc load = SYNFIRE_LOAD_DESC_INIT;
  load.file = klif_path.c_str();
  synfire_model model = nullptr;
  load = cached(load);
  synfire::check(synfire_model_load(context, &load, &model));
  synfire_load_info info = SYNFIRE_LOAD_INFO_INIT;
  synfire::check(synfire_model_get_info(model, &info));
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  desc.model = info.id;
  desc.n_steps = n_steps;
  desc.n_neurons = n_neurons;
  synfire_layer layer = nullptr;
  synfire::check(synfire_layer_create(context, &desc, &layer));
  synfire_model_destroy(model);

  Buffer x(context, synfire::buffer_desc<float>(n_steps * n_neurons));
  const Buffer spikes(context, synfire::buffer_desc<float>(n_steps * n_neurons));
  Buffer ones(context, synfire::buffer_desc<float>(n_steps * n_neurons));
  const Buffer grad_x(context, synfire::buffer_desc<float>(n_steps * n_neurons));
  const Buffer grad_k(context, synfire::buffer_desc<float>(1));
  x.upload(noise());
  ones.fill(1);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.spikes = spikes;
  synfire::check(synfire_layer_forward(layer, &forward, nullptr));
  const synfire_parameter_gradient gradient = {"relu_k", grad_k};
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  backward.grad_spike_seq = ones;
  backward.grad_x_seq = grad_x;
  backward.parameter_gradients = &gradient;
  backward.n_parameter_gradients = 1;
  synfire::check(synfire_layer_backward(layer, &backward, nullptr));
  context.synchronize();
  synfire_layer_destroy(layer);
  return {spikes.download<float>(), grad_x.download<float>(), grad_k.download<float>()};
}

TEST(Loaded, GivesTheBitsOfC) {
  const Answers expected = in_c();
  EXPECT_NE(expected.grad_k[0], 0.0f);
  const synfire::Context context = make_context();
  synfire::Model klif(context, cached(synfire::load_file_desc(klif_path.c_str())));
  const synfire_load_info info = klif.info();
  EXPECT_STREQ(info.name, "klif");
  EXPECT_EQ(info.id, klif);
  EXPECT_EQ(info.n_states, 1);
  Layer layer(context, synfire::layer_desc(klif, synfire::steps{n_steps}, synfire::neurons{n_neurons}));
  klif.reset();  // the layer keeps what it needs

  Buffer x = layer.make_sequence<float>(), spikes = layer.make_sequence<float>();
  Buffer ones = layer.make_sequence<float>(), grad_x = layer.make_sequence<float>();
  Buffer grad_k(context, synfire::buffer_desc<float>(1));
  x.upload(noise());
  ones.fill(1);
  synfire::Graph graph(context);
  graph.record_forward(layer, synfire::forward_desc(x, spikes));
  const synfire_parameter_gradient gradient = {"relu_k", grad_k};
  synfire_backward_desc backward = synfire::backward_desc(ones, grad_x);
  backward.parameter_gradients = &gradient;
  backward.n_parameter_gradients = 1;
  graph.record_backward(layer, backward);
  graph.instantiate();
  graph.wait(graph.launch());
  EXPECT_EQ(spikes.download<float>(), expected.spikes);
  EXPECT_EQ(grad_x.download<float>(), expected.grad_x);
  EXPECT_EQ(grad_k.download<float>(), expected.grad_k);
}

TEST(Loaded, StandForBuiltInOnes) {
  const synfire::Context context = make_context();
  std::vector<std::int32_t> stages;
  synfire::Model klif(context, cached(synfire::load_file_desc(klif_path.c_str())),
                      [&](std::int32_t stage, std::chrono::nanoseconds elapsed) {
                        stages.push_back(stage);
                        return elapsed.count() >= 0;
                      });
  EXPECT_EQ(stages.front(), SYNFIRE_LOAD_CHECK);
  synfire::Surrogate smooth(context, cached(synfire::load_desc("smooth", smooth_text)));
  EXPECT_STREQ(smooth.info().name, "smooth");

  synfire_layer_desc desc = synfire::layer_desc(klif, synfire::steps{n_steps}, synfire::neurons{n_neurons});
  desc.surrogate = smooth;
  const Layer layer(context, desc);
  EXPECT_EQ(layer.get_parameter("steepness"), 4.0);
  EXPECT_NE(layer.source().find("struct Klif"), std::string::npos);

  synfire::Network network(context, synfire::network_desc(synfire::steps{4}, SYNFIRE_DTYPE_F32, 2));
  network.add_input("rates", SYNFIRE_NETWORK_INPUT_RATES, 3);
  network.add_synapse("first", 5);
  network.add_neurons("hidden", klif);
  network.set_value("hidden", "surrogate", smooth);
  network.add_readout("scores", SYNFIRE_READOUT_SUM, true);
  synfire::Model moved = std::move(klif);
  moved.reset();
  smooth.reset();
  network.build();
  EXPECT_EQ(network.layer("hidden").get_parameter("steepness"), 4.0);

  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_HANDLE, "SYN-HANDLE-NULL", "model", [&] { moved.info(); }));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_HANDLE, "SYN-HANDLE-NULL", "surrogate", [&] { smooth.check(); }));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_HANDLE, "SYN-HANDLE-NULL", "model",
                     [&] { synfire::layer_desc(moved, synfire::steps{4}, synfire::neurons{4}); }));
  EXPECT_FALSE(moved);
}

TEST(Loaded, MistakesAreTold) {
  const synfire::Context context = make_context(), other = make_context();
  const std::string text = text_at(klif_path);
  std::string wrong = text;
  const std::size_t at = wrong.find("fma(constants[0], v,");
  ASSERT_NE(at, std::string::npos);
  wrong.replace(at, 20, "fma(constants[0], y,");
  const auto line = 1 + std::count(wrong.begin(), wrong.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  synfire_load_desc desc = synfire::load_desc("klif", wrong);
  desc.no_cache = 1;
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-MODEL-COMPILE", "klif.hpp:" + std::to_string(line) + ":",
                     [&] { synfire::Model(context, desc); }));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-MODEL-STRUCT", "OtherKlif",
                     [&] { synfire::Model(context, cached(synfire::load_desc("other_klif", text))); }));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-MODEL-TEXT", "empty",
                     [&] { synfire::Model(context, cached(synfire::load_desc("klif", ""))); }));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-FILE-OPEN", "nowhere",
                     [&] { synfire::Surrogate(context, synfire::load_file_desc("/nowhere/smooth.hpp")); }));

  desc = cached(synfire::load_file_desc(klif_path.c_str()));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_CALLBACK, "SYN-MODEL-CANCELLED", "progress", [&] {
    synfire::Model(context, desc, [](std::int32_t, std::chrono::nanoseconds) { return false; });
  }));
  EXPECT_THROW(synfire::Model(context, desc,
                              [](std::int32_t, std::chrono::nanoseconds) -> bool { throw std::logic_error("enough"); }),
               std::logic_error);

  const synfire::Model klif(context, desc);
  EXPECT_TRUE(
      throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-MODEL-EXISTS", "klif", [&] { synfire::Model(context, desc); }));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-MODEL-SAMPLES", "n_samples", [&] { klif.check(0, 0); }));
  const synfire_layer_desc layer = synfire::layer_desc(klif, synfire::steps{4}, synfire::neurons{4});
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_HANDLE, "SYN-HANDLE-FOREIGN", "model", [&] { Layer(other, layer); }));
  EXPECT_TRUE(Layer(context, layer));
}

}  // namespace

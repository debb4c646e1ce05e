// A whole training step in one graph, replayed until training has converged.
#include <algorithm>

#include "recording_support.hpp"

namespace synfire_test {
namespace {

template <typename Scalar>
class TrainingStep : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(TrainingStep, Scalars);

// Four layers, both directions, frames in and out, and an update of each layer: the rate of the last layer approaches
// that of a target.
TYPED_TEST(TrainingStep, FourLayersLearnInReplaysAlone) {
  const Context context = make_context();
  const Shape shape{16, 1, 32};
  constexpr int n_layers = 4;
  const auto type = dtype_of<TypeParam>;
  std::vector<Layer> layers, teachers;
  for (int i = 0; i < n_layers; ++i) {
    synfire_layer_desc desc = describe(shape, type);
    desc.model = i % 2 == 0 ? SYNFIRE_MODEL_PLIF : SYNFIRE_MODEL_LIF;
    layers.push_back(make_layer(context, desc));
  }
  const auto sequence = [&] { return make_buffer(context, type, shape.sequence()); };
  const Buffer frame = make_frame(context, shape.sequence(), SYNFIRE_MEMORY_PINNED, type);
  const Buffer potential = make_frame(context, shape.sequence(), SYNFIRE_MEMORY_PINNED, type);
  const Buffer target = sequence(), error = sequence(), zero = make_buffer(context, type, shape.row());
  EXPECT_OK(synfire_buffer_fill(zero, 0));
  std::vector<Buffer> x, v, grad_x, gradients;
  for (int i = 0; i < n_layers; ++i) {
    x.push_back(sequence());
    v.push_back(sequence());
    grad_x.push_back(sequence());
    gradients.push_back(make_buffer(context, type, 1));
  }
  // V of each layer is X of the next. With a threshold out of reach no layer fires, so this is a chain of filters.
  const auto tau_name = [](int i) { return i % 2 == 0 ? "reciprocal_tau" : "tau"; };
  const auto forward_desc = [&](int i, bool reads_frame) {
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = i == 0 ? (reads_frame ? frame.get() : x[0].get()) : v[static_cast<size_t>(i - 1)].get();
    forward.v_init = zero;
    forward.v_seq = v[static_cast<size_t>(i)];
    return forward;
  };
  for (int i = 0; i < n_layers; ++i) set_parameter(layers[static_cast<size_t>(i)], "v_threshold", {1e6});
  Random random(11);
  const std::vector<TypeParam> input = random.values<TypeParam>(shape.sequence(), 0, 2);
  void* data = nullptr;
  EXPECT_OK(synfire_buffer_get_data(frame, &data, nullptr));
  std::copy(input.begin(), input.end(), static_cast<TypeParam*>(data));
  // The teacher has other time constants.
  upload(x[0], input);
  for (int i = 0; i < n_layers; ++i) {
    const auto index = static_cast<size_t>(i);
    set_parameter(layers[index], tau_name(i), {i % 2 == 0 ? 0.8 : 1.5});
    const synfire_forward_desc forward = forward_desc(i, false);
    EXPECT_OK(synfire_layer_forward(layers[index], &forward, nullptr));
    set_parameter(layers[index], tau_name(i), {i % 2 == 0 ? 0.4 : 3.0});
  }
  upload(target, download<TypeParam>(v[n_layers - 1], shape.sequence()));

  const Graph graph = make_graph(context);
  for (int i = 0; i < n_layers; ++i) {
    const synfire_forward_desc forward = forward_desc(i, true);
    EXPECT_OK(synfire_graph_record_forward(graph, layers[static_cast<size_t>(i)], &forward));
  }
  record_copy(graph, v[n_layers - 1], potential);
  // error = V - target
  record_scale_add(graph, v[n_layers - 1], error, 1, 0);
  record_scale_add(graph, target, error, -1, 1);
  std::vector<int32_t> updates(n_layers);
  for (int i = n_layers - 1; i >= 0; --i) {
    const auto index = static_cast<size_t>(i);
    const synfire_parameter_gradient gradient = {tau_name(i), gradients[index]};
    synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
    backward.grad_v_seq = i == n_layers - 1 ? error : grad_x[index + 1];
    backward.grad_x_seq = grad_x[index];
    backward.parameter_gradients = &gradient;
    backward.n_parameter_gradients = 1;
    EXPECT_OK(synfire_graph_record_backward(graph, layers[index], &backward));
  }
  for (int i = 0; i < n_layers; ++i) {
    synfire_update_parameter_desc desc =
        update_desc(tau_name(i), gradients[static_cast<size_t>(i)], i % 2 == 0 ? 2e-4 : 4e-3);
    desc.bounds = SYNFIRE_BOUND_LOWER;
    desc.lower = i % 2 == 0 ? 0.05 : 1.0;
    EXPECT_OK(synfire_graph_record_update_parameter(graph, layers[static_cast<size_t>(i)], &desc));
    updates[static_cast<size_t>(i)] = last_operation(graph);
  }
  EXPECT_OK(synfire_graph_instantiate(graph));

  EXPECT_OK(synfire_buffer_get_data(potential, &data, nullptr));
  const std::vector<TypeParam> wanted = download<TypeParam>(target, shape.sequence());
  const auto loss = [&] {
    double sum = 0;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const double difference = static_cast<double>(static_cast<TypeParam*>(data)[i]) - static_cast<double>(wanted[i]);
      sum += difference * difference / 2;
    }
    return sum;
  };
  double first = 0, last = 0;
  for (int step = 0; step < 400; ++step) {
    replay(graph);  // one launch per training step
    if (step == 0) first = loss();
    last = loss();
  }
  EXPECT_GT(first, 1);
  EXPECT_LT(last, first / 10) << "from " << first;
  // The rates may change during training.
  for (const int32_t operation : updates) EXPECT_OK(synfire_graph_set_value(graph, operation, "learning_rate", 0));
  const double tau = get_parameter(layers[1], "tau")[0];
  replay(graph);
  EXPECT_EQ(get_parameter(layers[1], "tau")[0], tau);
  EXPECT_NE(tau, 3);
}

}  // namespace
}  // namespace synfire_test

// Operations between the passes of a training step, with replays held in flight: changed values, parameters and rows
// belong to one launch, and two graphs with the same layer need an order.
#include "stream_fixture.hpp"

namespace synfire_test {
namespace {

class StepsInFlight : public WithStream {
 protected:
  static constexpr uint64_t n = 8;

  // All pieces of work that one replay enqueues: writes of changed values, the graph, and its signal.
  void run_until(synfire_graph graph, uint64_t ticket) {
    for (int i = 0; i < 100 && synfire_graph_poll(graph, ticket) == SYNFIRE_PENDING; ++i) fake::run_one();
    EXPECT_EQ(synfire_graph_poll(graph, ticket), SYNFIRE_OK);
    EXPECT_EQ(synfire_graph_poll(graph, ticket + 1), SYNFIRE_PENDING) << "and no more than that";
  }
};

TEST_F(StepsInFlight, NumbersBelongToTheirLaunch) {
  const Buffer source = make_frame(context, n), sum = make_frame(context, n), filled = make_frame(context, n);
  EXPECT_OK(synfire_buffer_fill(source, 1));
  EXPECT_OK(synfire_buffer_fill(sum, 0));
  const Graph graph = make_slotted_graph(context, SYNFIRE_SLOTS_SHARED);
  const int32_t fill = record_fill(graph, filled, 1), add = record_scale_add(graph, source, sum, 1, 1);
  EXPECT_OK(synfire_graph_instantiate(graph));
  fake::hold();
  for (int k = 1; k <= 4; ++k) {
    EXPECT_OK(synfire_graph_set_value(graph, fill, "value", 10 * k));
    EXPECT_OK(synfire_graph_set_value(graph, add, "scale", 100 * k));
    EXPECT_OK(synfire_graph_set_value(graph, add, "keep", k == 3 ? 0 : 1));
    EXPECT_EQ(launch(graph), static_cast<uint64_t>(k));
  }
  EXPECT_EQ(launch(graph), 5u) << "nothing was set in between";
  const float sums[] = {100, 300, 300, 700, 1100}, fills[] = {10, 20, 30, 40, 40};
  for (uint64_t ticket = 1; ticket <= 4; ++ticket) {
    run_until(graph, ticket);
    EXPECT_EQ(data_of(filled)[3], fills[ticket - 1]);
    EXPECT_EQ(data_of(sum)[7], sums[ticket - 1]);
  }
  fake::release();
  EXPECT_EQ(data_of(sum)[7], sums[4]);
  EXPECT_EQ(data_of(filled)[3], fills[4]);
}

TEST_F(StepsInFlight, ActiveRowsBelongToTheirLaunch) {
  const Layer layer = make_layer(context, describe(Shape{1, 2, 4}, SYNFIRE_DTYPE_F32));
  const Buffer x = make_frame(context, n), h = make_frame(context, n);
  EXPECT_OK(synfire_buffer_fill(x, 1));
  const Graph graph = make_slotted_graph(context, SYNFIRE_SLOTS_SHARED);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.h_seq = h;
  EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward));
  EXPECT_OK(synfire_graph_instantiate(graph));
  fake::hold();
  const int64_t rows[] = {1, 0, 2};
  for (const int64_t active : rows) {
    EXPECT_OK(synfire_layer_set_n_active(layer, active));
    launch(graph);
  }
  EXPECT_OK(synfire_layer_set_n_active(layer, 1));
  launch(graph);
  for (uint64_t ticket = 1; ticket <= 3; ++ticket) {
    for (uint64_t i = 0; i < n; ++i) data_of(h)[i] = -1;
    run_until(graph, ticket);
    for (uint64_t i = 0; i < n; ++i)
      EXPECT_EQ(data_of(h)[i] != -1, static_cast<int64_t>(i / 4) < rows[ticket - 1])
          << "ticket " << ticket << ", " << i;
  }
}

// p as set by the host, then the updates of the replays launched afterwards, 1 each.
TEST_F(StepsInFlight, AHostsValueComesBetweenTwoReplays) {
  const Layer layer = make_layer(context, describe(Shape{1, 1, 8}, SYNFIRE_DTYPE_F32));
  const Buffer x = make_frame(context, n), h = make_frame(context, n), gradient = make_frame(context, 1);
  EXPECT_OK(synfire_buffer_fill(x, 64));
  EXPECT_OK(synfire_buffer_fill(gradient, -1));
  const Graph graph = make_slotted_graph(context, SYNFIRE_SLOTS_SHARED);
  record_update(graph, layer, "tau", gradient, 1);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.h_seq = h;
  EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward));
  const int32_t reset = [&] {
    const synfire_state_desc all = rows_desc(0, 0);
    EXPECT_OK(synfire_graph_record_reset_rows(graph, layer, &all));
    return last_operation(graph);
  }();
  EXPECT_EQ(reset, 2);
  EXPECT_OK(synfire_graph_instantiate(graph));
  const double three = 3, fifteen = 15;
  fake::hold();
  EXPECT_OK(synfire_layer_set_parameter(layer, "tau", &three, 1));
  launch(graph);  // tau 4
  launch(graph);  // 5
  EXPECT_OK(synfire_layer_set_parameter(layer, "tau", &fifteen, 1));
  launch(graph);  // 16
  launch(graph);  // 17
  const float taus[] = {4, 5, 16};
  for (uint64_t ticket = 1; ticket <= 3; ++ticket) {
    run_until(graph, ticket);
    EXPECT_FLOAT_EQ(data_of(h)[2], 64 / taus[ticket - 1]) << "ticket " << ticket;
  }
  fake::release();
  EXPECT_EQ(get_parameter(layer, "tau")[0], 17);
}

// Four layers, both directions, an update of each, a frame in and one out: one CUDA call per training step, however
// much is recorded.
TEST_F(StepsInFlight, AStepOfFourLayersIsOneCall) {
  constexpr size_t n_layers = 4;
  const Shape shape{4, 1, static_cast<int64_t>(n)};
  const Buffer frame = make_frame(context, shape.sequence()), out = make_frame(context, shape.sequence());
  std::vector<Layer> layers;
  std::vector<Buffer> spikes, grad_x, gradients;
  for (size_t i = 0; i < n_layers; ++i) {
    layers.push_back(make_layer(context, describe(shape, SYNFIRE_DTYPE_F32)));
    set_parameter(layers.back(), "v_threshold", {0.3});  // a single spike reaches it
    spikes.push_back(make_buffer(context, SYNFIRE_DTYPE_F32, shape.sequence()));
    grad_x.push_back(make_buffer(context, SYNFIRE_DTYPE_F32, shape.sequence()));
    gradients.push_back(make_buffer(context, SYNFIRE_DTYPE_F32, 1));
  }
  const Graph graph = make_slotted_graph(context, SYNFIRE_SLOTS_SHARED);
  for (size_t i = 0; i < n_layers; ++i) {
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = i == 0 ? frame.get() : spikes[i - 1].get();
    forward.spikes = spikes[i];
    EXPECT_OK(synfire_graph_record_forward(graph, layers[i], &forward));
  }
  record_copy(graph, spikes.back(), out);
  for (size_t i = n_layers; i-- > 0;) {
    const synfire_parameter_gradient gradient = {"tau", gradients[i]};
    synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
    backward.grad_spike_seq = i + 1 == n_layers ? spikes[i].get() : grad_x[i + 1].get();
    backward.grad_x_seq = grad_x[i];
    backward.parameter_gradients = &gradient;
    backward.n_parameter_gradients = 1;
    EXPECT_OK(synfire_graph_record_backward(graph, layers[i], &backward));
  }
  for (size_t i = 0; i < n_layers; ++i) {
    const synfire_update_parameter_desc desc = update_desc("tau", gradients[i], 0.01);
    EXPECT_OK(synfire_graph_record_update_parameter(graph, layers[i], &desc));
  }
  EXPECT_OK(synfire_graph_instantiate(graph));
  std::fill_n(data_of(frame), shape.sequence(), 3.0f);
  wait(graph, launch(graph));
  for (int step = 0; step < 100; ++step) {
    fake::reset_calls();
    wait(graph, launch(graph));
    EXPECT_EQ(fake::calls("cuGraphLaunch"), 1u);
    EXPECT_EQ(fake::calls(), 1u);
  }
  EXPECT_NE(get_parameter(layers[0], "tau")[0], 2) << "it has learned";
}

TEST_F(StepsInFlight, TwoGraphsWithOneLayerNeedAnOrder) {
  const Layer layer = make_layer(context, describe(Shape{1, 1, 8}, SYNFIRE_DTYPE_F32));
  const Buffer x = make_frame(context, n), h = make_frame(context, n);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.h_seq = h;
  const auto make = [&] {
    Graph graph = make_slotted_graph(context, SYNFIRE_SLOTS_SHARED);
    EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward));
    EXPECT_OK(synfire_graph_instantiate(graph));
    return graph;
  };
  const Graph one = make(), two = make();
  const synfire_stream other = callers();
  const synfire_state_desc all = rows_desc(0, 0);
  fake::hold();
  EXPECT_EQ(launch(one), 1u);
  uint64_t ticket = 77;
  fake::reset_calls();
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("another graph", "stream"), synfire_graph_launch(two, other, &ticket));
  EXPECT_EQ(ticket, 77u);
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("another graph", "stream"),
               synfire_layer_reset_rows(layer, &all, other));
  EXPECT_EQ(fake::calls("cuGraphLaunch"), 0u);
  EXPECT_EQ(launch(two), 1u) << "the stream of the first one defines an order";
  EXPECT_OK(synfire_layer_reset_rows(layer, &all, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("this graph"), synfire_graph_launch(one, other, &ticket))
      << "an eager call in between does not change that";
  fake::release();
  wait(two, 1);
  EXPECT_OK(synfire_graph_launch(one, other, &ticket)) << "nothing is in flight any more";
  EXPECT_EQ(ticket, 2u);
  wait(one, 2);
  EXPECT_OK(synfire_layer_reset_rows(layer, &all, nullptr));

  // A launch that is refused because of one layer leaves no trace in another one.
  const Layer second = make_layer(context, describe(Shape{1, 1, 8}, SYNFIRE_DTYPE_F32));
  const Graph both = make_slotted_graph(context, SYNFIRE_SLOTS_SHARED);
  EXPECT_OK(synfire_graph_record_forward(both, second, &forward));
  EXPECT_OK(synfire_graph_record_forward(both, layer, &forward));
  EXPECT_OK(synfire_graph_instantiate(both));
  const Graph alone = make_slotted_graph(context, SYNFIRE_SLOTS_SHARED);
  EXPECT_OK(synfire_graph_record_forward(alone, second, &forward));
  EXPECT_OK(synfire_graph_instantiate(alone));
  fake::hold();
  launch(both);
  launch(one);
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("this graph"), synfire_graph_launch(both, other, &ticket));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("another graph"), synfire_graph_launch(alone, other, &ticket));
  fake::release();

  // If it is destroyed with a replay in flight, the other graph is not blocked for ever.
  fake::hold();
  Graph third = make();
  EXPECT_EQ(launch(third), 1u);
  third.reset();
  fake::release();
  EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
  EXPECT_OK(synfire_graph_launch(two, other, &ticket));
  wait(two, ticket);
}

}  // namespace
}  // namespace synfire_test

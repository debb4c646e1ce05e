// Updates between launches while replays are held in flight: everything that is changed between two launches belongs
// to the second one, whatever streams the replays use. training_step_test.cpp tests values and rows one kind at a
// time.
#include "stream_fixture.hpp"

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>

namespace synfire_test {
namespace {

// A training step over one time step, of a layer with two batch rows of 32 neurons, with its backward, an update, a
// fill and a copy. Every number in it may change between launches.
class Updates : public WithStream {
 protected:
  static constexpr uint64_t n_neurons = 32;

  static uint64_t launch_on(synfire_graph graph, synfire_stream where) {
    uint64_t ticket = 0;
    EXPECT_OK(synfire_graph_launch(graph, where, &ticket));
    return ticket;
  }
};

struct Numbers {
  double tau, v_reset, alpha, rate, filled;
  int64_t active;
  bool copies;
};

class TrainingStep {
 public:
  static constexpr size_t n_neurons = 32, n = 2 * n_neurons;

  // Tau and v_reset: one number, or one per neuron.
  TrainingStep(synfire_context context, uint32_t n_slots, size_t count)
      : n_values(count),
        layer(make_layer(context, describe(Shape{1, 2, static_cast<int64_t>(n_neurons)}, SYNFIRE_DTYPE_F32))),
        x(make_frame(context, n)),
        h(make_frame(context, n)),
        v(make_frame(context, n)),
        grad_s(make_frame(context, n)),
        grad_x(make_frame(context, n)),
        grad_rest(make_frame(context, 1)),
        filled(make_frame(context, 4)),
        from(make_frame(context, 4)),
        to(make_frame(context, 4)),
        v_init(make_frame(context, n)),
        graph(make_slotted_graph(context, n_slots)) {
    for (size_t i = 0; i < n; ++i) {
      data_of(x)[i] = i % 2 == 0 ? 8 : 1;  // neurons with even numbers fire
      data_of(grad_s)[i] = 1;
    }
    EXPECT_OK(synfire_buffer_fill(grad_rest, -1));
    EXPECT_OK(synfire_buffer_fill(from, 5));
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x;
    forward.v_init = v_init;
    forward.h_seq = h;
    forward.v_seq = v;
    EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward));
    synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
    backward.grad_spike_seq = grad_s;
    backward.grad_x_seq = grad_x;
    EXPECT_OK(synfire_graph_record_backward(graph, layer, &backward));
    update = record_update(graph, layer, "v_rest", grad_rest, 0);
    fill = record_fill(graph, filled, 0);
    record_copy(graph, from, to);
    copy = last_operation(graph);
    EXPECT_OK(synfire_graph_instantiate(graph));
  }
  void set(const Numbers& numbers) const {
    const std::vector<double> tau(n_values, numbers.tau), v_reset(n_values, numbers.v_reset);
    const synfire_parameter_values list[] = {
        {"tau", tau.data(), n_values}, {"v_reset", v_reset.data(), n_values}, {"alpha", &numbers.alpha, 1}};
    EXPECT_OK(synfire_layer_set_parameters(layer, list, 3));
    EXPECT_OK(synfire_layer_set_n_active(layer, numbers.active));
    EXPECT_OK(synfire_graph_set_value(graph, update, "learning_rate", numbers.rate));
    EXPECT_OK(synfire_graph_set_value(graph, fill, "value", numbers.filled));
    EXPECT_OK(synfire_graph_set_enabled(graph, copy, numbers.copies ? 1 : 0));
  }
  // Resets what the next replay may leave unwritten.
  void clear() const {
    for (const Buffer* buffer : {&h, &v, &grad_x})
      for (size_t i = 0; i < n; ++i) slot_of(graph, 0, *buffer)[i] = -99;
    for (size_t i = 0; i < 4; ++i) slot_of(graph, 0, to)[i] = -99;
  }
  // `rest`: the value of v_rest after the updates of the previous replays.
  void expect(uint64_t ticket, const Numbers& numbers, double rest) const {
    SCOPED_TRACE(testing::Message() << "ticket " << ticket);
    const auto at = [&](const Buffer& buffer, size_t i) { return slot_of(graph, ticket, buffer)[i]; };
    for (const size_t row : {size_t{0}, size_t{1}}) {
      const size_t fires = row * n_neurons + 30, rests = row * n_neurons + 31;
      if (static_cast<int64_t>(row) >= numbers.active) {
        for (const Buffer* buffer : {&h, &v, &grad_x})
          EXPECT_EQ(at(*buffer, fires), -99) << "row " << row << " is not active";
        continue;
      }
      EXPECT_FLOAT_EQ(at(h, fires), static_cast<float>((8 + rest) / numbers.tau));
      EXPECT_FLOAT_EQ(at(v, fires), static_cast<float>(numbers.v_reset)) << "v_reset";
      EXPECT_FLOAT_EQ(at(v, rests), static_cast<float>((1 + rest) / numbers.tau));
      // alpha·s·(1 − s)/tau, s the logistic function of alpha·(H − 1)
      const double s = 1 / (1 + std::exp(-numbers.alpha * ((1 + rest) / numbers.tau - 1)));
      EXPECT_NEAR(at(grad_x, rests), numbers.alpha * s * (1 - s) / numbers.tau, 1e-5) << "alpha";
    }
    EXPECT_EQ(at(filled, 3), static_cast<float>(numbers.filled));
    EXPECT_EQ(at(to, 3), numbers.copies ? 5 : -99);
  }

  size_t n_values;
  Layer layer;
  Buffer x, h, v, grad_s, grad_x, grad_rest, filled, from, to, v_init;
  Graph graph;
  int32_t update = 0, fill = 0, copy = 0;
};

constexpr Numbers updates[] = {{2, 0.125, 4, 0, 10, 2, true},
                               {4, 0.25, 2, 0.5, 20, 1, false},
                               {4, 0.25, 2, 0.5, 20, 1, false},
                               {8, -0.5, 1, 0.25, 30, 2, true},
                               {2.5, 0, 3, 0, 40, 2, false}};

// Parameters per neuron and shared, the surrogate's, active rows, a learning rate, a value and an operation, all
// changed between launches. Some values are set and restored before the launch that would have used them.
TEST_F(Updates, EverythingOfOneUpdateIsSeenByTheNextReplayAndByNoneBefore) {
  for (const char* mode : {"", "0"})
    for (const size_t count : {size_t{1}, TrainingStep::n_neurons})
      for (const synfire_stream where : {synfire_stream{}, callers()}) {
        SCOPED_TRACE(testing::Message() << "SYNFIRE_GRAPH=" << mode << ", " << count << " values, stream " << where);
        ASSERT_EQ(setenv("SYNFIRE_GRAPH", mode, 1), 0);
        const TrainingStep step(context, 5, count);
        ASSERT_EQ(unsetenv("SYNFIRE_GRAPH"), 0);
        double rest = 0, rests[5];
        fake::hold();
        for (uint64_t i = 0; i < 5; ++i) {
          step.clear();
          step.set({3, 0.75, 5, 9, 99, 0, !updates[i].copies});
          step.set(updates[i]);
          EXPECT_EQ(launch_on(step.graph, where), i + 1);
          rests[i] = rest;
          rest += updates[i].rate;
        }
        if (count == 1) {
          EXPECT_EQ(synfire_graph_poll(step.graph, 1), SYNFIRE_PENDING) << "all of them are in flight";
        }
        fake::release();
        wait(step.graph, 5);
        for (uint64_t i = 0; i < 5; ++i) step.expect(i + 1, updates[i], rests[i]);
        EXPECT_EQ(get_parameter(step.layer, "v_rest")[0], rest);
      }
}

// A layer whose parameters only the host sets, one value per neuron, and a graph of its forward. Twelve replays may be
// in flight.
class ValuesPerNeuron : public Updates {
 protected:
  static constexpr uint64_t n_slots = 12, most_in_flight = 8;  // replays, and changes of one parameter

  Layer layer;
  Buffer x, h, v_init;
  Graph graph;

  void SetUp() override {
    Updates::SetUp();
    layer = make_layer(context, describe(Shape{1, 1, static_cast<int64_t>(n_neurons)}, SYNFIRE_DTYPE_F32));
    x = make_frame(context, n_neurons);
    h = make_frame(context, n_neurons);
    v_init = make_frame(context, n_neurons);
    EXPECT_OK(synfire_buffer_fill(x, 1));
    graph = make_slotted_graph(context, n_slots);
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x;
    forward.v_init = v_init;
    forward.h_seq = h;
    EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward));
    EXPECT_OK(synfire_graph_instantiate(graph));
    set_tau(2);
    wait(graph, launch_on(graph, nullptr));
  }
  void TearDown() override {
    fake::release();
    for (Buffer* buffer : {&x, &h, &v_init}) buffer->reset();
    graph.reset();
    layer.reset();
    Updates::TearDown();
  }
  void set_tau(double tau) const { set_parameter(layer, "tau", std::vector<double>(n_neurons, tau)); }
  // Replays in flight, each with its own tau.
  std::vector<uint64_t> launch_changes(uint64_t count, synfire_stream where) const {
    std::vector<uint64_t> tickets;
    for (uint64_t i = 0; i < count; ++i) {
      set_tau(4 + static_cast<double>(i));
      tickets.push_back(launch_on(graph, where));
    }
    return tickets;
  }
  void expect_changes(const std::vector<uint64_t>& tickets) const {
    for (size_t i = 0; i < tickets.size(); ++i)
      EXPECT_EQ(slot_of(graph, tickets[i], h)[17], 1 / (4 + static_cast<float>(i))) << i;
  }
};

TEST_F(ValuesPerNeuron, AreSeenByTheNextReplayAndWaitForNone) {
  for (const synfire_stream where : {synfire_stream{}, callers()}) {
    fake::hold();
    const std::vector<uint64_t> tickets = launch_changes(most_in_flight, where);
    EXPECT_EQ(synfire_graph_poll(graph, tickets[0]), SYNFIRE_PENDING);
    fake::release();
    wait(graph, tickets.back());
    expect_changes(tickets);
  }
}

TEST_F(ValuesPerNeuron, WaitForTheFirstOfEightChangesInFlight) {
  fake::hold();
  std::vector<uint64_t> tickets = launch_changes(most_in_flight, callers());
  std::atomic<bool> ran{false};
  std::thread device([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    ran = true;
    fake::run_one();
  });
  set_tau(77);
  EXPECT_TRUE(ran) << "it returned before any room was free";
  device.join();
  EXPECT_EQ(synfire_graph_poll(graph, tickets[0]), SYNFIRE_PENDING) << "its values have arrived, but it has not begun";
  const uint64_t last = launch_on(graph, callers());
  fake::release();
  wait(graph, last);
  expect_changes(tickets);
  EXPECT_EQ(slot_of(graph, last, h)[17], static_cast<float>(1.0 / 77));
}

// Values that are set without a launch take no more memory, and neither do changes that have been applied.
TEST_F(ValuesPerNeuron, TakeNoMemoryOnceThereIsEnough) {
  fake::reset_calls();
  for (int i = 0; i < 100; ++i) set_tau(3 + i);
  for (int i = 0; i < 100; ++i) {
    set_tau(3 + i);
    wait(graph, launch_on(graph, nullptr));
  }
  for (const char* call : {"cudaMalloc", "cudaFree", "cudaHostAlloc", "cudaFreeHost", "cudaStreamSynchronize"})
    EXPECT_EQ(fake::calls(call), 0u) << call;
}

// From values per neuron to one value and back, with and without a launch in between.
TEST_F(ValuesPerNeuron, MayBecomeOneNumberAndAgainManyInFlight) {
  fake::hold();
  std::vector<uint64_t> tickets;
  for (int i = 0; i < 10; ++i) {
    set_tau(99);
    set_parameter(layer, "tau", {4.0 + i});
    if (i % 3 == 0) set_tau(4 + i);
    tickets.push_back(launch_on(graph, callers()));
  }
  fake::release();
  wait(graph, tickets.back());
  expect_changes(tickets);
}

// The device is lost during the wait: an error is returned, and the values are unchanged.
TEST_F(ValuesPerNeuron, AreNotSetWhenTheDeviceIsLost) {
  fake::hold();
  launch_changes(most_in_flight, callers());
  fake::lose(cudaErrorIllegalAddress);
  const std::vector<double> tau(n_neurons, 77);
  EXPECT_FAILS(SYNFIRE_ERROR_DEVICE_LOST, WORDS("cudaErrorIllegalAddress"),
               synfire_layer_set_parameter(layer, "tau", tau.data(), n_neurons));
  EXPECT_EQ(get_parameter(layer, "tau", n_neurons)[3], 4 + most_in_flight - 1);
}

// If any of the allocations fails, nothing is set, and it can be set later.
TEST_F(Updates, ValuesPerNeuronAreSetWholeOrNotAtAll) {
  int n_failures = 0;
  for (const char* call : {"cudaMalloc", "cudaHostAlloc"})
    for (int nth = 1; nth <= 10; ++nth) {
      SCOPED_TRACE(testing::Message() << call << " " << nth);
      const Layer layer =
          make_layer(context, describe(Shape{1, 1, static_cast<int64_t>(n_neurons)}, SYNFIRE_DTYPE_F32));
      set_parameter(layer, "tau", {2});
      const std::vector<double> tau(n_neurons, 4), rest(n_neurons, 0.5);
      const synfire_parameter_values list[] = {{"tau", tau.data(), n_neurons}, {"v_rest", rest.data(), n_neurons}};
      fake::fail(call, cudaErrorMemoryAllocation, nth);
      const synfire_status status = synfire_layer_set_parameters(layer, list, 2);
      fake::fail(call, cudaSuccess, 1 << 30);
      if (status == SYNFIRE_OK) break;
      ++n_failures;
      EXPECT_EQ(status, SYNFIRE_ERROR_OUT_OF_MEMORY) << last_error_text();
      EXPECT_EQ(get_parameter(layer, "tau")[0], 2);
      EXPECT_EQ(get_parameter(layer, "v_rest")[0], 0);
      const Buffer x = make_frame(context, n_neurons), h = make_frame(context, n_neurons);
      EXPECT_OK(synfire_buffer_fill(x, 1));
      synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
      forward.x = x;
      forward.h_seq = h;
      EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
      EXPECT_OK(synfire_context_synchronize(context));
      EXPECT_EQ(data_of(h)[3], 0.5f);
      EXPECT_OK(synfire_layer_set_parameters(layer, list, 2));
      EXPECT_OK(synfire_layer_reset_state(layer, nullptr));
      EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
      EXPECT_OK(synfire_context_synchronize(context));
      EXPECT_EQ(data_of(h)[3], 0.375f);
    }
  EXPECT_GE(n_failures, 6);  // constants and two rows of values; a value and two rows in transfer
}

// A launch into the caller's capture writes changes to the device at once, but not during a replay in flight.
TEST_F(Updates, ALaunchIntoACaptureLeavesReplaysInFlightAlone) {
  cudaStream_t capturing = fake::make_stream();
  const Buffer v_init = make_frame(context, n_neurons), h = make_frame(context, n_neurons),
               x = make_frame(context, n_neurons);
  const Layer layer = make_layer(context, describe(Shape{1, 1, static_cast<int64_t>(n_neurons)}, SYNFIRE_DTYPE_F32));
  const Buffer filled = make_frame(context, 4);
  EXPECT_OK(synfire_buffer_fill(x, 1));
  const Graph graph = make_graph(context);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.v_init = v_init;
  forward.h_seq = h;
  forward.tape = SYNFIRE_TAPE_NONE;
  EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward));
  const int32_t fill = record_fill(graph, filled, 10);
  EXPECT_OK(synfire_graph_instantiate(graph));
  for (const bool eager : {false, true}) {
    SCOPED_TRACE(eager ? "an eager call" : "a graph");
    set_parameter(layer, "tau", {2});
    EXPECT_OK(synfire_graph_set_value(graph, fill, "value", 10));
    fake::hold();
    const uint64_t ticket = launch_on(graph, callers());
    set_parameter(layer, "tau", {4});
    EXPECT_OK(synfire_graph_set_value(graph, fill, "value", 20));
    float h_seen = 0, filled_seen = 0;
    fake::launch(stream, [&] {
      h_seen = data_of(h)[3];
      filled_seen = data_of(filled)[3];
    });
    std::thread device([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
      fake::release();
    });
    ASSERT_EQ(fake::begin_capture(capturing, cudaStreamCaptureModeGlobal), cudaSuccess);
    const auto into = reinterpret_cast<synfire_stream>(capturing);
    EXPECT_EQ(eager ? synfire_layer_forward(layer, &forward, into) : synfire_graph_launch(graph, into, nullptr),
              SYNFIRE_CAPTURED)
        << last_error_text();
    device.join();
    EXPECT_TRUE(fake::capture_is_valid(capturing));
    cudaGraph_t captured = nullptr;
    ASSERT_EQ(fake::end_capture(capturing, &captured), cudaSuccess);
    wait(graph, ticket);
    fake::synchronize(stream);
    EXPECT_EQ(h_seen, 0.5f) << "it was launched before";
    EXPECT_EQ(filled_seen, 10);
    EXPECT_EQ(fake::launch_graph(captured, stream), cudaSuccess);
    EXPECT_EQ(data_of(h)[3], 0.25f);
    EXPECT_EQ(data_of(filled)[3], eager ? 10 : 20);
    fake::destroy_graph(captured);
  }
  fake::destroy_stream(capturing);
}

// Captured graphs of the caller's may update a parameter at any time, so it is always read from the device. But a
// value that was set and not yet launched takes precedence over the device's.
TEST_F(Updates, AValueJustSetIsReadBackAlthoughACaptureUpdatesIt) {
  cudaStream_t capturing = fake::make_stream();
  for (const size_t count : {size_t{1}, static_cast<size_t>(n_neurons)}) {
    SCOPED_TRACE(count);
    const Layer layer = make_layer(context, describe(Shape{1, 1, static_cast<int64_t>(n_neurons)}, SYNFIRE_DTYPE_F32));
    const auto expect = [&](double value) {
      EXPECT_TRUE(same_bits(get_parameter(layer, "v_rest", count), std::vector<double>(count, value)));
    };
    const auto set = [&](double value) { set_parameter(layer, "v_rest", std::vector<double>(count, value)); };
    const Buffer gradient = make_frame(context, count);
    EXPECT_OK(synfire_buffer_fill(gradient, -1));
    set(10);
    const Graph graph = make_graph(context);
    record_update(graph, layer, "v_rest", gradient, 1);
    EXPECT_OK(synfire_graph_instantiate(graph));
    ASSERT_EQ(fake::begin_capture(capturing, cudaStreamCaptureModeGlobal), cudaSuccess);
    EXPECT_EQ(synfire_graph_launch(graph, reinterpret_cast<synfire_stream>(capturing), nullptr), SYNFIRE_CAPTURED)
        << last_error_text();
    cudaGraph_t captured = nullptr;
    ASSERT_EQ(fake::end_capture(capturing, &captured), cudaSuccess);
    expect(10);
    for (int time = 0; time < 2; ++time) {
      EXPECT_EQ(fake::launch_graph(captured, stream), cudaSuccess);
      expect(11 + time);
    }
    set(50);
    expect(50);
    expect(50);
    EXPECT_EQ(fake::launch_graph(captured, stream), cudaSuccess);
    expect(50);  // not yet written to the device
    wait(graph, launch(graph));
    expect(51);
    EXPECT_EQ(fake::launch_graph(captured, stream), cudaSuccess);
    expect(52);
    fake::destroy_graph(captured);
  }
  fake::destroy_stream(capturing);
}

// ---- Calls that fail ------------------------------------------------------------------------------------------------

// A launch that fails to apply the changes returns no ticket, and the next launch applies all of them.
TEST_F(Updates, ChangesThatALaunchCouldNotBringAreBroughtByTheNext) {
  for (const size_t count : {size_t{1}, TrainingStep::n_neurons}) {
    for (int nth = 1; nth <= 2; ++nth) {
      SCOPED_TRACE(testing::Message() << count << " values, kernel " << nth);
      const TrainingStep step(context, 1, count);
      step.clear();
      step.set(updates[0]);
      wait(step.graph, launch_on(step.graph, nullptr));
      step.expect(1, updates[0], 0);
      step.clear();
      step.set(updates[1]);
      fake::fail("cudaLaunchKernel", cudaErrorLaunchOutOfResources, nth);
      uint64_t ticket = 77;
      EXPECT_FAILS(SYNFIRE_ERROR_CUDA, WORDS("cudaLaunchKernel"), synfire_graph_launch(step.graph, nullptr, &ticket));
      EXPECT_EQ(ticket, 77u);
      EXPECT_EQ(launch_on(step.graph, nullptr), 2u);
      wait(step.graph, 2);
      step.expect(2, updates[1], 0);
    }
  }
}

// If an allocation fails while recording, the graph is unchanged, and the same operation can be recorded afterwards.
TEST_F(Updates, ARecordThatFailsLeavesTheGraphAsItWas) {
  const Shape shape{4, 1, 32};
  const Buffer number = make_frame(context, 1), filled = make_frame(context, 4);
  const auto every_record = [&](synfire_graph graph, const Rig<float>& rig, int which) -> synfire_status {
    const synfire_forward_desc forward = rig.forward_desc();
    synfire_backward_desc backward = rig.backward_desc();
    const synfire_parameter_gradient gradient = {"tau", number};
    backward.parameter_gradients = &gradient;
    backward.n_parameter_gradients = 1;
    synfire_fill_desc fill = SYNFIRE_FILL_DESC_INIT;
    fill.buffer = filled;
    fill.value = 6;
    const synfire_scale_add_desc add = scale_add_desc(number, number, 0, 1);
    const synfire_update_parameter_desc update = update_desc("tau", number, 0);
    switch (which) {
      case 0:
        return synfire_graph_record_forward(graph, rig.layer, &forward);
      case 1:
        return synfire_graph_record_backward(graph, rig.layer, &backward);
      case 2:
        return synfire_graph_record_update_parameter(graph, rig.layer, &update);
      case 3:
        return synfire_graph_record_fill(graph, &fill);
      default:
        return synfire_graph_record_scale_add(graph, &add);
    }
  };
  int n_failures = 0;
  const auto fail_at = [&](const char* call, int which) {
    for (int nth = 1; nth <= 40; ++nth) {
      SCOPED_TRACE(testing::Message() << "record " << which << ", " << call << " " << nth);
      Rig<float> rig(context, describe(shape, SYNFIRE_DTYPE_F32));
      if (call == std::string("cudaMalloc")) set_parameter(rig.layer, "v_rest", std::vector<double>(32, 0));
      rig.load(random_inputs<float>(shape, 3));
      const Graph graph = make_graph(context);
      for (int before = 0; before < which; ++before) EXPECT_OK(every_record(graph, rig, before));
      fake::fail(call, cudaErrorMemoryAllocation, nth);
      const synfire_status status = every_record(graph, rig, which);
      fake::fail(call, cudaSuccess, 1 << 30);
      if (status == SYNFIRE_OK) break;
      ++n_failures;
      EXPECT_EQ(status, SYNFIRE_ERROR_OUT_OF_MEMORY) << last_error_text();
      if (which > 0) {
        EXPECT_EQ(last_operation(graph), which - 1);
      }
      set_parameter(rig.layer, "tau", {3});
      for (int after = which; after < 5; ++after) EXPECT_OK(every_record(graph, rig, after));
      EXPECT_EQ(last_operation(graph), 4);
      EXPECT_OK(synfire_graph_instantiate(graph));
      wait(graph, launch(graph));
      EXPECT_EQ(data_of(filled)[3], 6);
      EXPECT_EQ(get_parameter(rig.layer, "tau")[0], 3);
    }
  };
  for (const char* call : {"cudaMalloc", "cudaHostAlloc"})
    for (int which = 0; which < 5; ++which) fail_at(call, which);
  // The tape, the slopes of the constants of each neuron, values of operations; the number that confirms their arrival.
  EXPECT_EQ(n_failures, 4);
}

}  // namespace
}  // namespace synfire_test

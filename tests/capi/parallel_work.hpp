// Work for several threads, with its results.
#ifndef SYNFIRE_TESTS_CAPI_PARALLEL_WORK_HPP
#define SYNFIRE_TESTS_CAPI_PARALLEL_WORK_HPP

#include "support.hpp"

namespace synfire_test {

struct Work {
  static constexpr Shape shape{16, 1, 140'003};  // large enough that counts use several threads too

  struct Results {
    std::vector<float> grad_x;
    std::vector<uint32_t> spikes;
    std::vector<uint64_t> counts;
  };

  // Forward, backward, a count and a scale-and-add of a large layer, replayed and as eager calls.
  static Results run(synfire_context context, bool as_graph = true) {
    const Layer layer = make_layer(context, describe(shape, SYNFIRE_DTYPE_F32));
    const Inputs<float> inputs = random_inputs<float>(shape, 7);
    const Buffer x = make_buffer_of(context, inputs.x), grad_spikes = make_buffer_of(context, inputs.grad_spike_seq);
    const Buffer spikes = make_buffer(context, SYNFIRE_DTYPE_BITS, shape.words());
    const Buffer grad_x = make_buffer(context, SYNFIRE_DTYPE_F32, shape.sequence());
    const Buffer counts = make_buffer(context, SYNFIRE_DTYPE_U64, static_cast<uint64_t>(shape.n_steps));
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x;
    forward.spikes = spikes;
    synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
    backward.grad_spike_seq = grad_spikes;
    backward.grad_x_seq = grad_x;
    synfire_count_spikes_desc count = SYNFIRE_COUNT_SPIKES_DESC_INIT;
    count.kind = SYNFIRE_COUNT_PER_STEP;
    count.n_steps = shape.n_steps;
    count.batch = shape.batch;
    count.n_neurons = shape.n_neurons;
    count.spikes = spikes;
    count.counts = counts;
    synfire_scale_add_desc scale = SYNFIRE_SCALE_ADD_DESC_INIT;
    scale.source = grad_spikes;
    scale.destination = grad_x;
    scale.scale = 0.3;
    scale.keep = 0.7;
    if (as_graph) {
      const Graph graph = make_graph(context);
      EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward));
      EXPECT_OK(synfire_graph_record_backward(graph, layer, &backward));
      EXPECT_OK(synfire_graph_record_count_spikes(graph, &count));
      EXPECT_OK(synfire_graph_record_scale_add(graph, &scale));
      EXPECT_OK(synfire_graph_instantiate(graph));
      for (int i = 0; i < 3; ++i) {
        EXPECT_OK(synfire_layer_reset_state(layer, nullptr));
        replay(graph);
      }
    } else {
      EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
      EXPECT_OK(synfire_layer_backward(layer, &backward, nullptr));
      EXPECT_OK(synfire_count_spikes(context, &count, nullptr));
      EXPECT_OK(synfire_scale_add(context, &scale, nullptr));
      EXPECT_OK(synfire_context_synchronize(context));
    }
    return {download<float>(grad_x, shape.sequence()), download<uint32_t>(spikes, shape.words()),
            download<uint64_t>(counts, static_cast<size_t>(shape.n_steps))};
  }

  static void expect_same(const Results& a, const Results& b) {
    EXPECT_TRUE(same_bits(a.grad_x, b.grad_x));
    EXPECT_EQ(a.spikes, b.spikes);
    EXPECT_EQ(a.counts, b.counts);
  }
};

}  // namespace synfire_test

#endif

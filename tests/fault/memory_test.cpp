// Device memory and nodes, where every allocation and every node can be counted: a layer takes what the query
// reported, and a forward with packed spikes is one kernel without a dense sequence.
#include "../capi/network_by_hand.hpp"
#include "../capi/storage_rig.hpp"
#include "stream_fixture.hpp"

namespace synfire_test {
namespace {

class DeviceMemory : public WithStream {
 protected:
  // The increase of device memory in use by `work`.
  template <class Work>
  static uint64_t added(const Work& work) {
    EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));  // frees memory of earlier handles first
    const uint64_t before = fake::device_bytes();
    work();
    return fake::device_bytes() - before;
  }
  size_t nodes_of(synfire_layer layer, const synfire_forward_desc& forward) {
    EXPECT_EQ(fake::begin_capture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    EXPECT_EQ(synfire_layer_forward(layer, &forward, stream), SYNFIRE_CAPTURED) << last_error_text();
    cudaGraph_t captured = nullptr;
    EXPECT_EQ(fake::end_capture(stream, &captured), cudaSuccess);
    const size_t n_nodes = fake::count_nodes(captured);
    fake::destroy_graph(captured);
    return n_nodes;
  }
};

constexpr Shape large{100, 3, 701};

TEST_F(DeviceMemory, AForwardWithPackedSpikesIsOneKernelAndNothingDense) {
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16})
    for (int32_t model = SYNFIRE_MODEL_IF; model <= SYNFIRE_MODEL_IZHIKEVICH; ++model)
      for (const int32_t format : {SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS}) {
        synfire_layer_desc desc = describe(large, dtype);
        desc.model = model;
        SCOPED_TRACE(name_of(desc));
        const Layer layer = make_layer(context, desc);
        const Buffer x = make_buffer(context, dtype, large.sequence());
        const uint64_t words = format == SYNFIRE_DTYPE_BITS ? large.words() : (100 + 31) / 32 * large.row();
        const Buffer spikes = make_buffer(context, format, words);
        synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
        forward.x = x;
        forward.spikes = spikes;
        EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));  // allocates the tape of eager forwards
        EXPECT_EQ(nodes_of(layer, forward), 1u);
        synfire_layer_memory memory = SYNFIRE_LAYER_MEMORY_INIT;
        ASSERT_OK(synfire_layer_query_memory(&desc, &memory));
        const Graph graph = make_graph(context);
        // In addition to its tape. A sequence [T, N] with one bit per spike would take 26 KB.
        EXPECT_LE(added([&] {
                    EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward));
                    EXPECT_OK(synfire_graph_instantiate(graph));
                  }),
                  memory.tape_bytes + 1024u);
      }
}

// Each recorded forward has its own tape, of the size that the query reported, until its graph is destroyed.
TEST_F(DeviceMemory, ATapeForEachForwardOfAGraph) {
  for (const int32_t tape : {SYNFIRE_TAPE_NONE, SYNFIRE_TAPE_RECOMPUTE, SYNFIRE_TAPE_STORE}) {
    SCOPED_TRACE(tape);
    const synfire_layer_desc desc = describe(large, SYNFIRE_DTYPE_F32);
    synfire_layer_memory memory = SYNFIRE_LAYER_MEMORY_INIT;
    ASSERT_OK(synfire_layer_query_memory(&desc, &memory));
    const uint64_t told = (tape == SYNFIRE_TAPE_NONE ? 0 : memory.tape_bytes) +
                          (tape == SYNFIRE_TAPE_STORE ? memory.stored_tape_bytes : 0);
    const Layer layer = make_layer(context, desc);
    const Buffer x = make_buffer(context, SYNFIRE_DTYPE_F32, large.sequence());
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x;
    forward.tape = tape;
    Graph graph = make_graph(context);
    for (int n_forwards = 1; n_forwards <= 3; ++n_forwards)
      EXPECT_EQ(added([&] { EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward)); }), told);
    const uint64_t with = fake::device_bytes();
    graph.reset();
    EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
    EXPECT_EQ(with - fake::device_bytes(), 3 * told);
  }
}

TEST_F(DeviceMemory, ALayerTakesWhatTheQueryTold) {
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16})
    for (const int32_t model : {SYNFIRE_MODEL_LIF, SYNFIRE_MODEL_IZHIKEVICH})
      for (const int32_t tape :
           {SYNFIRE_TAPE_NONE, SYNFIRE_TAPE_RECOMPUTE, SYNFIRE_TAPE_STORE, SYNFIRE_TAPE_STORE_NARROW}) {
        if (tape == SYNFIRE_TAPE_STORE_NARROW && dtype != SYNFIRE_DTYPE_F16) continue;
        synfire_layer_desc desc = describe(large, dtype);
        desc.model = model;
        SCOPED_TRACE(testing::Message() << name_of(desc) << " tape " << tape);
        synfire_layer_memory memory = SYNFIRE_LAYER_MEMORY_INIT;
        ASSERT_OK(synfire_layer_query_memory(&desc, &memory));

        Layer layer;
        EXPECT_EQ(added([&] { layer = make_layer(context, desc); }), memory.state_bytes + memory.parameter_bytes);
        EXPECT_EQ(added([&] { set_parameter(layer, "v_threshold", std::vector<double>(701, 1.5)); }),
                  memory.per_neuron_parameter_bytes + memory.per_neuron_value_bytes);
        EXPECT_EQ(added([&] { set_parameter(layer, "v_reset", std::vector<double>(701, 0.5)); }),
                  memory.per_neuron_value_bytes);
        EXPECT_EQ(added([&] { set_parameter(layer, "v_reset", std::vector<double>(701, 0.25)); }), 0u);

        const Buffer x = make_buffer(context, dtype, large.sequence());
        synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
        forward.x = x;
        forward.tape = tape;
        uint64_t taped = tape == SYNFIRE_TAPE_NONE ? 0 : memory.tape_bytes;
        if (tape == SYNFIRE_TAPE_STORE) taped += memory.stored_tape_bytes;
        if (tape == SYNFIRE_TAPE_STORE_NARROW) taped += memory.narrow_tape_bytes + memory.narrow_tape_spike_bytes;
        EXPECT_EQ(added([&] { EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr)); }), taped);
        EXPECT_EQ(added([&] { EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr)); }), 0u);
        if (tape == SYNFIRE_TAPE_NONE) continue;

        const Buffer grad_s = make_buffer(context, dtype, large.sequence());
        const Buffer grad_x = make_buffer(context, dtype, large.sequence());
        const Buffer gradient = make_buffer(context, dtype == SYNFIRE_DTYPE_F64 ? dtype : SYNFIRE_DTYPE_F32, 701);
        synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
        backward.grad_spike_seq = grad_s;
        backward.grad_x_seq = grad_x;
        EXPECT_EQ(added([&] { EXPECT_OK(synfire_layer_backward(layer, &backward, nullptr)); }), 0u);
        const synfire_parameter_gradient asked = {"v_threshold", gradient};
        backward.parameter_gradients = &asked;
        backward.n_parameter_gradients = 1;
        EXPECT_EQ(added([&] { EXPECT_OK(synfire_layer_backward(layer, &backward, nullptr)); }),
                  memory.gradient_bytes + memory.per_neuron_gradient_bytes);
      }
}

// A network too, with what its graphs need for temporary arrays and for what operations become that are joined. Its
// three graphs share one arena.
TEST_F(DeviceMemory, ANetworkTakesWhatTheQueryTold) {
  for (const int32_t transient_arrays : {0, 1})
    for (const int64_t n_steps : {12, 40}) {
      SCOPED_TRACE(testing::Message() << transient_arrays << " " << n_steps);
      StagePlan plan;
      plan.sizes = {64, 128, 128, 8};
      plan.n_steps = n_steps;
      plan.input = SYNFIRE_NETWORK_INPUT_SPIKES;
      plan.input_dtype = SYNFIRE_DTYPE_BITS;
      plan.last = SYNFIRE_MODEL_LIF;
      plan.of_spikes = true;
      plan.transient_arrays = transient_arrays;
      const Data data = make_data(context, plan, plan.n_rows, 1);
      Network network = make_stages(context, plan);
      synfire_network_memory memory = SYNFIRE_NETWORK_MEMORY_INIT;
      ASSERT_OK(synfire_network_query_memory(network, &memory));
      EXPECT_EQ(added([&] {
                  EXPECT_OK(synfire_network_build(network));
                  set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, data);
                  set_data(network, SYNFIRE_DATA_EVALUATION, plan.n_rows, data);
                  EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));  // what looked at the data
                }),
                memory.device_bytes + 2 * (static_cast<uint64_t>(plan.n_rows * n_steps) * 2 + 10) * 4);
      EXPECT_EQ(added([&] {
                  network.reset();
                  EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
                }) + memory.device_bytes +
                    2 * (static_cast<uint64_t>(plan.n_rows * n_steps) * 2 + 10) * 4,
                0u);
    }
}

// A refused call takes nothing: no memory for values per neuron and no CUDA call. Freeing memory waits for the device,
// its default streams included, because enqueued work there still reads it.
TEST_F(DeviceMemory, IsReadByTheDefaultStreamsUntilItIsGivenBack) {
  for (const cudaStream_t default_stream : {cudaStreamLegacy, cudaStreamPerThread}) {
    Buffer source = make_buffer(context, SYNFIRE_DTYPE_F32, 64);
    const Buffer sum = make_buffer(context, SYNFIRE_DTYPE_F32, 64);
    EXPECT_OK(synfire_buffer_fill(source, 3));
    EXPECT_OK(synfire_buffer_fill(sum, 1));
    synfire_scale_add_desc add = SYNFIRE_SCALE_ADD_DESC_INIT;
    add.source = source;
    add.destination = sum;
    add.scale = 2;
    add.keep = 1;
    fake::hold();
    EXPECT_OK(synfire_scale_add(context, &add, default_stream));
    source.reset();
    EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
    const Buffer next = make_buffer(context, SYNFIRE_DTYPE_F32, 64);  // possibly at the same address
    fake::release();
    EXPECT_TRUE(all_are(download<float>(sum, 64), 7.0f));
  }
}

TEST_F(DeviceMemory, RefusedParametersTakeNone) {
  const Layer layer = make_layer(context, describe(large, SYNFIRE_DTYPE_F32));
  const fake::Live before = fake::live();
  fake::reset_calls();
  std::vector<double> values(701, 2);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("count", "5", "701"),
               synfire_layer_set_parameter(layer, "tau", values.data(), 5));
  values[700] = -1;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("values[700]", "tau"),
               synfire_layer_set_parameter(layer, "tau", values.data(), 701));
  values[700] = 1e-45;  // 1/tau overflows f32
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("values[700]", "constant"),
               synfire_layer_set_parameter(layer, "tau", values.data(), 701));
  EXPECT_EQ(fake::live(), before);
  EXPECT_EQ(fake::calls(), 0u);
}

// The library says that it holds what CUDA has given, and counts it where it belongs.
TEST_F(DeviceMemory, IsCountedByKinds) {
  const auto use = [&] {
    synfire_memory_use answer = SYNFIRE_MEMORY_USE_INIT;
    EXPECT_OK(synfire_context_get_memory_use(context, &answer));
    return answer;
  };
  const synfire_memory_use before = use();
  {
    const Layer layer = make_layer(context, describe(large, SYNFIRE_DTYPE_F32));
    const Buffer x = make_buffer(context, SYNFIRE_DTYPE_F32, large.sequence());
    const Buffer frame = make_frame(context, 100);
    const Graph graph = make_graph(context);
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x;
    EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward));
    EXPECT_OK(synfire_graph_instantiate(graph));
    const synfire_memory_use now = use();
    EXPECT_EQ(now.device_bytes, fake::device_bytes());
    EXPECT_GE(now.pinned_bytes - before.pinned_bytes, 400u);
    EXPECT_GE(now.buffer_bytes - before.buffer_bytes, large.sequence() * sizeof(float) + 400);
    synfire_memory_use of_layer = SYNFIRE_MEMORY_USE_INIT, of_graph = SYNFIRE_MEMORY_USE_INIT;
    EXPECT_OK(synfire_layer_get_memory_use(layer, &of_layer));
    EXPECT_OK(synfire_graph_get_memory_use(graph, &of_graph));
    EXPECT_GT(of_layer.device_bytes, 0u);
    EXPECT_GT(of_graph.device_bytes, 0u);  // its tape
    EXPECT_LT(of_layer.device_bytes + of_graph.device_bytes, now.device_bytes);
  }
  EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
  EXPECT_EQ(use().device_bytes, before.device_bytes);
  EXPECT_EQ(use().pinned_bytes, before.pinned_bytes);
  EXPECT_EQ(use().device_bytes, fake::device_bytes());
}

}  // namespace
}  // namespace synfire_test

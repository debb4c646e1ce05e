// Every rule that only the CUDA backend enforces, broken once: checks the status and the id at the start of the text.
// Rules of both backends are in tests/capi/errors/rules_test.cpp.
#include "stream_fixture.hpp"

#include <functional>

namespace synfire_test {
namespace {

using Callback = std::function<synfire_status(const synfire_native_call&)>;

class Rules : public WithStream {
 protected:
  static constexpr uint64_t n = 8;

  synfire_status create_context(int32_t device = 0) {
    synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
    desc.backend = SYNFIRE_BACKEND_CUDA;
    desc.device = device;
    synfire_context made = nullptr;
    const synfire_status status = synfire_context_create(&desc, &made);
    EXPECT_EQ(made, nullptr);
    return status;
  }
  synfire_status create_buffer(int32_t memory, void* data = nullptr) {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.memory = memory;
    desc.n_elements = n;
    desc.data = data;
    synfire_buffer made = nullptr;
    const synfire_status status = synfire_buffer_create(context, &desc, &made);
    EXPECT_EQ(made, nullptr);
    return status;
  }
  // A graph with only a native node, instantiated, which calls the callback.
  synfire_status instantiate(Callback callback) {
    synfire_native_desc desc = SYNFIRE_NATIVE_DESC_INIT;
    desc.callback = [](void* user, const synfire_native_call* call) { return (*static_cast<Callback*>(user))(*call); };
    desc.user = &callback;
    const Graph graph = make_graph(context);
    EXPECT_OK(synfire_graph_record_native(graph, &desc));
    return synfire_graph_instantiate(graph);
  }
  static synfire_status enqueue(const synfire_native_call& call) {
    return fake::launch(call.stream, [] {}) == cudaSuccess ? SYNFIRE_OK : -1;
  }
  // A graph of a forward of this layer, instantiated.
  Graph forward(synfire_layer layer, synfire_buffer x) {
    Graph graph = make_graph(context);
    synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
    desc.x = x;
    EXPECT_OK(synfire_graph_record_forward(graph, layer, &desc));
    EXPECT_OK(synfire_graph_instantiate(graph));
    return graph;
  }
  Layer make_forward_layer() { return make_layer(context, describe(Shape{1, 1, n}, SYNFIRE_DTYPE_F32)); }
};

// ---- devices --------------------------------------------------------------------------------------------------------

TEST_F(Rules, OfDevices) {
  EXPECT_FAILS(SYNFIRE_ERROR_NO_DEVICE, WORDS("SYN-CONTEXT-DEVICE", "7"), create_context(7));
  fake::install(0);
  EXPECT_FAILS(SYNFIRE_ERROR_NO_DEVICE, WORDS("SYN-CONTEXT-NO-DEVICE"), create_context());
  fake::install();
}

// A GPU that is older than what the library was compiled for.
TEST_F(Rules, OfADeviceWithoutCode) {
  for (const cudaError_t error : {cudaErrorNoKernelImageForDevice, cudaErrorInvalidDeviceFunction}) {
    fake::fail("cudaFuncGetAttributes", error);
    EXPECT_FAILS(SYNFIRE_ERROR_CUDA,
                 WORDS("SYN-CUDA-ARCHITECTURE", "device 0, fake, has compute capability", "SYNFIRE_CUDA_ARCHITECTURES"),
                 create_context());
    int32_t cuda_error = 0;
    synfire_last_error(nullptr, 0, &cuda_error);
    EXPECT_EQ(cuda_error, error);
  }
  fake::fail("cudaFuncGetAttributes", cudaErrorNotSupported);
  EXPECT_FAILS(SYNFIRE_ERROR_CUDA, WORDS("SYN-CUDA", "cudaErrorNotSupported"), create_context());
  // The automatic choice is then the host.
  fake::fail("cudaFuncGetAttributes", cudaErrorNoKernelImageForDevice);
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  synfire_context handle = nullptr;
  EXPECT_EQ(synfire_context_create(&desc, &handle), SYNFIRE_HOST_FALLBACK);
  const Context made(handle);
  synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
  EXPECT_OK(synfire_context_get_properties(made, &properties));
  EXPECT_EQ(properties.backend, SYNFIRE_BACKEND_HOST);
  EXPECT_EQ(properties.fallback_reason, SYNFIRE_FALLBACK_DEVICE_FAILED);
}

TEST_F(Rules, OfADeviceThatIsLost) {
  fake::lose(cudaErrorIllegalAddress);
  EXPECT_FAILS(SYNFIRE_ERROR_DEVICE_LOST, WORDS("SYN-DEVICE-LOST"), synfire_context_synchronize(context));
  fake::install();
}

TEST_F(Rules, OfCallsThatFail) {
  fake::fail("cudaMalloc", cudaErrorMemoryAllocation);
  EXPECT_FAILS(SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS("SYN-MEMORY-DEVICE"), create_buffer(SYNFIRE_MEMORY_DEVICE));
  fake::fail("cudaMalloc", cudaErrorNotSupported);
  EXPECT_FAILS(SYNFIRE_ERROR_CUDA, WORDS("SYN-CUDA"), create_buffer(SYNFIRE_MEMORY_DEVICE));
}

// ---- buffers --------------------------------------------------------------------------------------------------------

TEST_F(Rules, OfMemory) {
  const Layer layer = make_forward_layer();
  const Buffer pageable = make_frame(context, n, SYNFIRE_MEMORY_HOST), x = make_frame(context, n);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = pageable;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-KIND", "x"),
               synfire_layer_forward(layer, &forward, nullptr));
  const Graph graph = make_graph(context);
  synfire_copy_desc copy = SYNFIRE_COPY_DESC_INIT;
  copy.source = pageable;
  copy.destination = x;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-KIND", "source"),
               synfire_graph_record_copy(graph, &copy));
  alignas(256) static float callers_own[n];
  for (const int32_t memory : {SYNFIRE_MEMORY_DEVICE, SYNFIRE_MEMORY_PINNED})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-BORROWED"), create_buffer(memory, callers_own));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-BORROWED"),
               create_buffer(SYNFIRE_MEMORY_DEVICE, data_of(x)));
}

// ---- streams and replays in flight ----------------------------------------------------------------------------------

TEST_F(Rules, OfStreams) {
  const Layer layer = make_forward_layer();
  const Buffer x = make_frame(context, n, SYNFIRE_MEMORY_DEVICE);
  const Graph graph = forward(layer, x);
  fake::install(2);
  fake::recycle(stream, 1);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-STREAM-DEVICE", "stream"),
               synfire_graph_launch(graph, callers(), nullptr));
  fake::recycle(stream, 0);
  ASSERT_EQ(fake::begin_capture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_NE(fake::synchronize(stream), cudaSuccess);  // which ends the capture
  EXPECT_FAILS(SYNFIRE_ERROR_CAPTURING, WORDS("SYN-STREAM-CAPTURING", "stream"),
               synfire_graph_launch(graph, callers(), nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_CAPTURING, WORDS("SYN-STREAM-CAPTURING", "stream"),
               synfire_layer_reset_state(layer, callers()));
  cudaGraph_t captured = nullptr;
  EXPECT_EQ(fake::end_capture(stream, &captured), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Rules, OfReplaysInFlight) {
  const Layer layer = make_forward_layer();
  const Buffer x = make_frame(context, n, SYNFIRE_MEMORY_DEVICE), frame = make_frame(context, n);
  const Graph graph = forward(layer, x), other = forward(layer, x);
  const Graph slotted = make_slotted_graph(context, 1);
  record_copy(slotted, x, frame);
  EXPECT_OK(synfire_graph_instantiate(slotted));
  fake::hold();
  EXPECT_OK(synfire_graph_launch(graph, callers(), nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-GRAPH-STREAM", "stream"),
               synfire_graph_launch(graph, nullptr, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-LAYER-SHARED", "stream"),
               synfire_graph_launch(other, nullptr, nullptr));
  EXPECT_OK(synfire_graph_launch(slotted, nullptr, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_BUSY, WORDS("SYN-GRAPH-SLOTS", "n_slots"),
               synfire_graph_launch(slotted, nullptr, nullptr));
  fake::release();
}

TEST_F(Rules, OfSynapsesInFlight) {
  synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
  desc.n_inputs = desc.n_outputs = n;
  synfire_synapse synapse = nullptr;
  ASSERT_OK(synfire_synapse_create(context, &desc, &synapse));
  const Buffer x = make_frame(context, n, SYNFIRE_MEMORY_DEVICE), y = make_frame(context, n, SYNFIRE_MEMORY_DEVICE),
               z = make_frame(context, n, SYNFIRE_MEMORY_DEVICE);
  const Graph reader = make_graph(context), other_reader = make_graph(context), writer = make_graph(context);
  synfire_synapse_forward_desc forward = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
  forward.n_steps = 1;
  forward.input = x;
  forward.output = y;
  ASSERT_OK(synfire_graph_record_synapse_forward(reader, synapse, &forward));
  forward.output = z;
  ASSERT_OK(synfire_graph_record_synapse_forward(other_reader, synapse, &forward));
  synfire_synapse_backward_desc backward = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
  backward.n_steps = 1;
  backward.grad_output = z;
  backward.input = x;
  ASSERT_OK(synfire_graph_record_synapse_backward(writer, synapse, &backward));
  for (const synfire_graph graph : {reader.get(), other_reader.get(), writer.get()})
    ASSERT_OK(synfire_graph_instantiate(graph));
  fake::hold();
  EXPECT_OK(synfire_graph_launch(reader, callers(), nullptr));
  EXPECT_OK(synfire_graph_launch(other_reader, nullptr, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-SYNAPSE-SHARED", "stream"),
               synfire_graph_launch(writer, callers(), nullptr));
  fake::release();
  EXPECT_OK(synfire_graph_launch(writer, callers(), nullptr));
  synfire_synapse_destroy(synapse);
}

// ---- native nodes ---------------------------------------------------------------------------------------------------

TEST_F(Rules, OfNativeNodes) {
  cudaStream_t side = fake::make_stream();
  constexpr synfire_status callback = SYNFIRE_ERROR_CALLBACK;
  EXPECT_FAILS(callback, WORDS("SYN-GRAPH-NATIVE"), instantiate([](auto&) { return -1; }));
  EXPECT_FAILS(callback, WORDS("SYN-GRAPH-NATIVE-EMPTY"), instantiate([](auto&) { return SYNFIRE_OK; }));
  EXPECT_FAILS(callback, WORDS("SYN-GRAPH-NATIVE-CAPTURE"), instantiate([](auto& call) {
                 fake::synchronize(call.stream);  // which ends the capture
                 return SYNFIRE_OK;
               }));
  EXPECT_FAILS(callback, WORDS("SYN-GRAPH-NATIVE-NODE"), instantiate([](auto& call) {
                 return fake::add_node(call.stream, cudaGraphNodeTypeHost) == cudaSuccess ? SYNFIRE_OK : -1;
               }));
  EXPECT_FAILS(callback, WORDS("SYN-GRAPH-NATIVE-JOIN"), instantiate([side](auto& call) {
                 fake::fork(call.stream, side);
                 fake::launch(side, [] {});
                 return enqueue(call);
               }));
  const Buffer x = make_frame(context, n), y = make_frame(context, n);
  const Graph inner = make_graph(context);
  record_copy(inner, x, y);
  EXPECT_OK(instantiate([&](auto& call) {
    EXPECT_FAILS(SYNFIRE_ERROR_CAPTURING, WORDS("SYN-GRAPH-NESTED", "callback"), synfire_graph_instantiate(inner));
    return enqueue(call);
  }));
  fake::destroy_stream(side);
}

// ---- defects --------------------------------------------------------------------------------------------------------

// Anything in a captured graph beyond the recorded operations would be replayed unnoticed, so the graph is checked.
TEST_F(Rules, OfCapturedGraphs) {
  const Layer layer = make_forward_layer();
  const Buffer x = make_frame(context, n, SYNFIRE_MEMORY_DEVICE);
  const Graph graph = make_graph(context);
  synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
  desc.x = x;
  EXPECT_OK(synfire_graph_record_forward(graph, layer, &desc));
  fake::distort({cudaGraphNodeTypeKernel, cudaGraphNodeTypeKernel});
  EXPECT_FAILS(SYNFIRE_ERROR_INTERNAL, WORDS("SYN-GRAPH-NODES"), synfire_graph_instantiate(graph));
  fake::distort({cudaGraphNodeTypeHost});
  EXPECT_FAILS(SYNFIRE_ERROR_INTERNAL, WORDS("SYN-GRAPH-NODE-TYPE"), synfire_graph_instantiate(graph));
  EXPECT_OK(synfire_graph_instantiate(graph));
  wait(graph, launch(graph));
}

}  // namespace
}  // namespace synfire_test

// Descriptors: sizes that are too small, nonzero tails and reserved fields, null pointers.
#include <functional>

#include "errors.hpp"

namespace synfire_test {
namespace {

template <typename Desc>
struct Larger {
  Desc known;
  unsigned char tail[24];
};

// Sizes that are too small, nonzero tails, and a tail of zeros. `call` must succeed with `good`.
template <typename Desc>
void check_struct_size(const Desc& good, const std::function<synfire_status(Desc*)>& call) {
  for (const uint32_t size : {0u, 1u, 4u, static_cast<uint32_t>(sizeof(Desc) - 1)}) {
    SCOPED_TRACE(size);
    Desc desc = good;
    desc.struct_size = size;
    EXPECT_FAILS(SYNFIRE_ERROR_STRUCT_SIZE, WORDS("struct_size"), call(&desc));
  }
  for (const size_t position : {size_t{0}, size_t{5}, sizeof(Larger<Desc>::tail) - 1}) {
    SCOPED_TRACE(position);
    Larger<Desc> larger = {};
    larger.known = good;
    larger.known.struct_size = static_cast<uint32_t>(sizeof larger);
    larger.tail[position] = 1;
    EXPECT_FAILS(SYNFIRE_ERROR_STRUCT_SIZE, WORDS("struct_size|desc|properties|memory|info"), call(&larger.known));
  }
  Larger<Desc> larger = {};
  larger.known = good;
  larger.known.struct_size = static_cast<uint32_t>(sizeof larger);
  EXPECT_GE(call(&larger.known), 0) << "a larger descriptor with a zero tail: " << last_error_text();
  EXPECT_EQ(larger.known.struct_size, sizeof larger);
  for (const unsigned char byte : larger.tail) EXPECT_EQ(byte, 0);
}

TEST_F(Errors, StructSizes) {
  synfire_context_desc context_desc = SYNFIRE_CONTEXT_DESC_INIT;
  context_desc.backend = backend();
  check_struct_size<synfire_context_desc>(context_desc, [&](synfire_context_desc* desc) {
    synfire_context handle = some_handle<synfire_context>();
    const synfire_status status = synfire_context_create(desc, &handle);
    EXPECT_EQ(status < 0, handle == nullptr);
    synfire_context_destroy(handle);
    return status;
  });
  check_struct_size<synfire_context_properties>(
      SYNFIRE_CONTEXT_PROPERTIES_INIT,
      [&](synfire_context_properties* properties) { return synfire_context_get_properties(context, properties); });
  synfire_buffer_desc buffer_desc = SYNFIRE_BUFFER_DESC_INIT;
  buffer_desc.n_elements = 3;
  check_struct_size<synfire_buffer_desc>(buffer_desc, [&](synfire_buffer_desc* desc) {
    synfire_buffer handle = some_handle<synfire_buffer>();
    const synfire_status status = synfire_buffer_create(context, desc, &handle);
    EXPECT_EQ(status < 0, handle == nullptr);
    synfire_buffer_destroy(handle);
    return status;
  });
  const synfire_layer_desc layer_desc = describe(shape, SYNFIRE_DTYPE_F32);
  check_struct_size<synfire_layer_desc>(layer_desc, [&](synfire_layer_desc* desc) {
    synfire_layer handle = some_handle<synfire_layer>();
    const synfire_status status = synfire_layer_create(context, desc, &handle);
    EXPECT_EQ(status < 0, handle == nullptr);
    synfire_layer_destroy(handle);
    return status;
  });
  check_struct_size<synfire_layer_desc>(layer_desc, [&](synfire_layer_desc* desc) {
    synfire_layer_memory memory = SYNFIRE_LAYER_MEMORY_INIT;
    const synfire_status status = synfire_layer_query_memory(desc, &memory);
    EXPECT_EQ(status < 0, memory.state_bytes == 0);
    return status;
  });
  check_struct_size<synfire_layer_memory>(SYNFIRE_LAYER_MEMORY_INIT, [&](synfire_layer_memory* memory) {
    return synfire_layer_query_memory(&layer_desc, memory);
  });
  check_struct_size<synfire_parameter_info>(SYNFIRE_PARAMETER_INFO_INIT, [&](synfire_parameter_info* info) {
    return synfire_layer_get_parameter_info(rig.layer, 0, info);
  });
  check_struct_size<synfire_buffer_desc>(
      SYNFIRE_BUFFER_DESC_INIT, [&](synfire_buffer_desc* desc) { return synfire_buffer_get_desc(rig.x, desc); });
  check_struct_size<synfire_layer_desc>(
      SYNFIRE_LAYER_DESC_INIT, [&](synfire_layer_desc* desc) { return synfire_layer_get_desc(rig.layer, desc); });
  check_struct_size<synfire_forward_desc>(
      rig.forward_desc(), [&](synfire_forward_desc* desc) { return synfire_layer_forward(rig.layer, desc, nullptr); });
  check_struct_size<synfire_backward_desc>(rig.backward_desc(), [&](synfire_backward_desc* desc) {
    return synfire_layer_backward(rig.layer, desc, nullptr);
  });
  void* x = nullptr;
  EXPECT_OK(synfire_buffer_get_data(rig.x, &x, nullptr));
  synfire_pointers_desc pointers = SYNFIRE_POINTERS_DESC_INIT;
  pointers.tape = SYNFIRE_TAPE_NONE;
  pointers.x = x;
  check_struct_size<synfire_pointers_desc>(
      pointers, [&](synfire_pointers_desc* desc) { return synfire_layer_run_forward(rig.layer, desc, nullptr); });
  check_struct_size<synfire_graph_desc>(SYNFIRE_GRAPH_DESC_INIT, [&](synfire_graph_desc* desc) {
    synfire_graph handle = some_handle<synfire_graph>();
    const synfire_status status = synfire_graph_create(context, desc, &handle);
    EXPECT_EQ(status < 0, handle == nullptr);
    synfire_graph_destroy(handle);
    return status;
  });
  const Graph scratch = make_graph(context);
  check_struct_size<synfire_forward_desc>(rig.forward_desc(), [&](synfire_forward_desc* desc) {
    return synfire_graph_record_forward(scratch, rig.layer, desc);
  });
  check_struct_size<synfire_backward_desc>(rig.backward_desc(), [&](synfire_backward_desc* desc) {
    return synfire_graph_record_backward(scratch, rig.layer, desc);
  });
  synfire_copy_desc copy_desc = SYNFIRE_COPY_DESC_INIT;
  copy_desc.source = rig.x;
  copy_desc.destination = rig.spikes;
  check_struct_size<synfire_copy_desc>(
      copy_desc, [&](synfire_copy_desc* desc) { return synfire_graph_record_copy(scratch, desc); });
  expect_usable();
}

TEST_F(Errors, ReservedFieldsMustBeZero) {
  const auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;
  synfire_context_desc context_desc = SYNFIRE_CONTEXT_DESC_INIT;
  context_desc.backend = backend();
  context_desc.reserved = 1;
  synfire_context new_context = some_handle<synfire_context>();
  EXPECT_FAILS(refused, WORDS("reserved"), synfire_context_create(&context_desc, &new_context));
  EXPECT_EQ(new_context, nullptr);
  synfire_buffer_desc buffer_desc = SYNFIRE_BUFFER_DESC_INIT;
  buffer_desc.n_elements = 3;
  buffer_desc.reserved = 0x80000000u;
  synfire_buffer buffer = some_handle<synfire_buffer>();
  EXPECT_FAILS(refused, WORDS("reserved"), synfire_buffer_create(context, &buffer_desc, &buffer));
  EXPECT_EQ(buffer, nullptr);
  synfire_graph_desc graph_desc = SYNFIRE_GRAPH_DESC_INIT;
  graph_desc.n_slots = 65;
  synfire_graph new_graph = some_handle<synfire_graph>();
  EXPECT_FAILS(refused, WORDS("n_slots", "65", "64"), synfire_graph_create(context, &graph_desc, &new_graph));
  EXPECT_EQ(new_graph, nullptr);
  EXPECT_OK(rig.run_forward());
  rig.poison();
  synfire_backward_desc backward_desc = rig.backward_desc();
  backward_desc.in_place = 2;
  EXPECT_FAILS(refused, WORDS("in_place", "2"), synfire_layer_backward(rig.layer, &backward_desc, nullptr));
  EXPECT_FAILS(refused, WORDS("in_place", "2"), synfire_graph_record_backward(graph, rig.layer, &backward_desc));
  synfire_forward_desc forward_desc = rig.forward_desc();
  forward_desc.reserved = 1;
  EXPECT_FAILS(refused, WORDS("reserved"), synfire_layer_forward(rig.layer, &forward_desc, nullptr));
  EXPECT_FAILS(refused, WORDS("reserved"), synfire_graph_record_forward(graph, rig.layer, &forward_desc));
  synfire_copy_desc copy_desc = SYNFIRE_COPY_DESC_INIT;
  copy_desc.source = rig.x;
  copy_desc.destination = rig.spikes;
  copy_desc.reserved = 1;
  EXPECT_FAILS(refused, WORDS("reserved"), synfire_graph_record_copy(graph, &copy_desc));
  EXPECT_TRUE(rig.untouched());
  expect_usable();
}

TEST_F(Errors, NullPointersWhereSomethingIsNeeded) {
  const auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;
  synfire_context_desc context_desc = SYNFIRE_CONTEXT_DESC_INIT;
  context_desc.backend = backend();
  EXPECT_FAILS(refused, WORDS("context"), synfire_context_create(&context_desc, nullptr));
  EXPECT_FAILS(refused, WORDS("properties"), synfire_context_get_properties(context, nullptr));
  synfire_buffer_desc buffer_desc = SYNFIRE_BUFFER_DESC_INIT;
  buffer_desc.n_elements = 3;
  synfire_buffer buffer = some_handle<synfire_buffer>();
  EXPECT_FAILS(refused, WORDS("desc"), synfire_buffer_create(context, nullptr, &buffer));
  EXPECT_EQ(buffer, nullptr);
  EXPECT_FAILS(refused, WORDS("buffer"), synfire_buffer_create(context, &buffer_desc, nullptr));
  EXPECT_FAILS(refused, WORDS("source"), synfire_buffer_upload(rig.x, 0, nullptr, 4));
  EXPECT_FAILS(refused, WORDS("destination"), synfire_buffer_download(rig.x, 0, nullptr, 4));
  EXPECT_OK(synfire_buffer_get_data(rig.x, nullptr, nullptr));
  const synfire_layer_desc layer_desc = describe(shape, SYNFIRE_DTYPE_F32);
  synfire_layer layer = some_handle<synfire_layer>();
  synfire_layer_memory memory = SYNFIRE_LAYER_MEMORY_INIT;
  EXPECT_FAILS(refused, WORDS("desc"), synfire_layer_query_memory(nullptr, &memory));
  EXPECT_FAILS(refused, WORDS("memory"), synfire_layer_query_memory(&layer_desc, nullptr));
  EXPECT_FAILS(refused, WORDS("desc"), synfire_layer_create(context, nullptr, &layer));
  EXPECT_EQ(layer, nullptr);
  EXPECT_FAILS(refused, WORDS("layer"), synfire_layer_create(context, &layer_desc, nullptr));
  double value = 3;
  std::vector<float> state(shape.row(), 5);
  const uint64_t bytes = state.size() * sizeof(float);
  EXPECT_FAILS(refused, WORDS("name"), synfire_layer_set_parameter(rig.layer, nullptr, &value, 1));
  EXPECT_FAILS(refused, WORDS("values"), synfire_layer_set_parameter(rig.layer, "tau", nullptr, 1));
  EXPECT_FAILS(refused, WORDS("name"), synfire_layer_get_parameter(rig.layer, nullptr, &value, 1));
  EXPECT_FAILS(refused, WORDS("values"), synfire_layer_get_parameter(rig.layer, "tau", nullptr, 1));
  EXPECT_FAILS(refused, WORDS("info"), synfire_layer_get_parameter_info(rig.layer, 0, nullptr));
  EXPECT_FAILS(refused, WORDS("name"), synfire_layer_read_state(rig.layer, nullptr, state.data(), bytes));
  EXPECT_FAILS(refused, WORDS("values"), synfire_layer_read_state(rig.layer, "v", nullptr, bytes));
  EXPECT_FAILS(refused, WORDS("name"), synfire_layer_write_state(rig.layer, nullptr, state.data(), bytes));
  EXPECT_FAILS(refused, WORDS("values"), synfire_layer_write_state(rig.layer, "v", nullptr, bytes));
  EXPECT_FAILS(refused, WORDS("desc"), synfire_layer_forward(rig.layer, nullptr, nullptr));
  EXPECT_FAILS(refused, WORDS("desc"), synfire_layer_backward(rig.layer, nullptr, nullptr));
  EXPECT_FAILS(refused, WORDS("graph"), synfire_graph_create(context, nullptr, nullptr));
  EXPECT_FAILS(refused, WORDS("desc"), synfire_graph_record_forward(graph, rig.layer, nullptr));
  EXPECT_FAILS(refused, WORDS("desc"), synfire_graph_record_backward(graph, rig.layer, nullptr));
  EXPECT_FAILS(refused, WORDS("desc"), synfire_graph_record_copy(graph, nullptr));
  EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
  EXPECT_TRUE(all_are(read_state<float>(rig.layer, shape.row()), 0.0f));
  expect_usable();
}

}  // namespace
}  // namespace synfire_test

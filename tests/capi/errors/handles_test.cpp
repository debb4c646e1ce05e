// Every function refuses a handle that is null, stale, of another type or no handle at all, and names it.
// What does not live here: order of destruction (lifetime_test.cpp), handles in descriptors (buffers_test.cpp).
#include "errors.hpp"

namespace synfire_test {
namespace {

TEST_F(Errors, EveryFunctionRefusesABadContext) {
  synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
  synfire_buffer_desc buffer_desc = SYNFIRE_BUFFER_DESC_INIT;
  buffer_desc.n_elements = 1;
  const synfire_layer_desc layer_desc = describe(shape, SYNFIRE_DTYPE_F32);
  Context gone = make_context();
  const synfire_context stale = gone;
  gone.reset();
  for (const auto& [what, bad] : bad_handles(stale, {value_of(rig.layer), value_of(rig.x), value_of(graph)})) {
    SCOPED_TRACE(what);
    if (bad != nullptr) {  // null means the whole process here
      uint64_t still_queued = 77;
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("context"), synfire_context_reclaim(bad, &still_queued));
      EXPECT_EQ(still_queued, 77u);
    }
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("context"), synfire_context_synchronize(bad));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("context"), synfire_context_get_properties(bad, &properties));
    EXPECT_EQ(properties.name[0], '\0');
    synfire_buffer buffer = some_handle<synfire_buffer>();
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("context"), synfire_buffer_create(bad, &buffer_desc, &buffer));
    EXPECT_EQ(buffer, nullptr);
    synfire_layer layer = some_handle<synfire_layer>();
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("context"), synfire_layer_create(bad, &layer_desc, &layer));
    EXPECT_EQ(layer, nullptr);
    synfire_graph new_graph = some_handle<synfire_graph>();
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("context"), synfire_graph_create(bad, nullptr, &new_graph));
    EXPECT_EQ(new_graph, nullptr);
  }
  expect_usable();
}

TEST_F(Errors, EveryFunctionRefusesABadBuffer) {
  Buffer gone = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
  const synfire_buffer stale = gone;
  gone.reset();
  for (const auto& [what, bad] : bad_handles(stale, {value_of(context), value_of(rig.layer), value_of(graph)})) {
    SCOPED_TRACE(what);
    void* data = this;
    uint64_t bytes = 77;
    float value = 5;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("buffer"), synfire_buffer_get_data(bad, &data, &bytes));
    EXPECT_EQ(data, this);
    EXPECT_EQ(bytes, 77u);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("buffer"), synfire_buffer_upload(bad, 0, &value, 4));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("buffer"), synfire_buffer_download(bad, 0, &value, 4));
    EXPECT_EQ(value, 5);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("buffer"), synfire_buffer_fill(bad, 1));
  }
  expect_usable();
}

TEST_F(Errors, EveryFunctionRefusesABadLayer) {
  Layer gone = make_layer(context, describe(shape, SYNFIRE_DTYPE_F32));
  const synfire_layer stale = gone;
  gone.reset();
  const synfire_forward_desc forward = rig.forward_desc();
  const synfire_backward_desc backward = rig.backward_desc();
  EXPECT_OK(rig.run_forward());
  rig.poison();
  for (const auto& [what, bad] : bad_handles(stale, {value_of(context), value_of(rig.x), value_of(graph)})) {
    SCOPED_TRACE(what);
    double value = 5;
    std::vector<float> state(shape.row(), 5);
    const uint64_t bytes = state.size() * sizeof(float);
    synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_set_parameter(bad, "tau", &value, 1));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_get_parameter(bad, "tau", &value, 1));
    EXPECT_EQ(value, 5);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_get_parameter_info(bad, 0, &info));
    EXPECT_EQ(info.name, nullptr);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_reset_state(bad, nullptr));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_read_state(bad, "v", state.data(), bytes));
    EXPECT_TRUE(all_are(state, 5.0f));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"),
                 synfire_layer_write_state(bad, "v", state.data(), bytes));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_forward(bad, &forward, nullptr));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_backward(bad, &backward, nullptr));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_graph_record_forward(graph, bad, &forward));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_graph_record_backward(graph, bad, &backward));
  }
  EXPECT_TRUE(rig.untouched());
  expect_usable();
}

TEST_F(Errors, EveryFunctionRefusesABadGraph) {
  Graph gone = make_graph(context);
  const synfire_graph stale = gone;
  gone.reset();
  const synfire_forward_desc forward = rig.forward_desc();
  const synfire_backward_desc backward = rig.backward_desc();
  synfire_copy_desc copy = SYNFIRE_COPY_DESC_INIT;
  copy.source = rig.x;
  copy.destination = rig.spikes;
  for (const auto& [what, bad] : bad_handles(stale, {value_of(context), value_of(rig.x), value_of(rig.layer)})) {
    SCOPED_TRACE(what);
    uint64_t ticket = 77;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_record_forward(bad, rig.layer, &forward));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"),
                 synfire_graph_record_backward(bad, rig.layer, &backward));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_record_copy(bad, &copy));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_instantiate(bad));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_launch(bad, nullptr, &ticket));
    EXPECT_EQ(ticket, 77u);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_wait(bad, 1, SYNFIRE_WAIT_SPIN, 0));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_poll(bad, 1));
  }
  expect_usable();
}

}  // namespace
}  // namespace synfire_test

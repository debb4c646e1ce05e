// Every function refuses a handle that is null, stale, of another type or never was a handle, and names it. Handles in
// descriptors are in buffers_test.cpp.
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
    if (bad != nullptr) {  // here, null means the whole process
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
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("buffer"), synfire_buffer_get_desc(bad, &desc));
    EXPECT_EQ(desc.n_elements, 0u);
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
  const Buffer number = make_buffer(context, SYNFIRE_DTYPE_F32, 1),
               in_bytes = make_buffer(context, SYNFIRE_DTYPE_U8, 4096);
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
    synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_get_desc(bad, &desc));
    EXPECT_EQ(desc.n_neurons, 0);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_reset_state(bad, nullptr));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_read_state(bad, "v", state.data(), bytes));
    EXPECT_TRUE(all_are(state, 5.0f));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"),
                 synfire_layer_write_state(bad, "v", state.data(), bytes));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_forward(bad, &forward, nullptr));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_backward(bad, &backward, nullptr));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_graph_record_forward(graph, bad, &forward));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_graph_record_backward(graph, bad, &backward));
    const synfire_parameter_values list[1] = {{"tau", &value, 1}};
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_set_parameters(bad, list, 1));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_set_n_active(bad, 1));
    const synfire_pointers_desc pointers = SYNFIRE_POINTERS_DESC_INIT;
    uint64_t tape_bytes = 5, scratch_bytes = 5;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"),
                 synfire_layer_get_run_memory(bad, SYNFIRE_TAPE_RECOMPUTE, 0, 0, 0, &tape_bytes, &scratch_bytes));
    EXPECT_EQ(tape_bytes + scratch_bytes, 10u);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_run_forward(bad, &pointers, nullptr));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_run_backward(bad, &pointers, nullptr));
    synfire_state_desc rows = SYNFIRE_STATE_DESC_INIT, snapshot = SYNFIRE_STATE_DESC_INIT;
    rows.buffer = rig.v_init;
    snapshot.buffer = in_bytes;
    const synfire_state_desc all = SYNFIRE_STATE_DESC_INIT;
    synfire_copy_rows_desc copy = SYNFIRE_COPY_ROWS_DESC_INIT;
    copy.source = rig.layer;
    synfire_copy_rows_desc copy_of_bad = SYNFIRE_COPY_ROWS_DESC_INIT;
    copy_of_bad.source = bad;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_reset_rows(bad, &all, nullptr));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_read_rows(bad, &rows, nullptr));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_write_rows(bad, &rows, nullptr));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_copy_rows(bad, &copy, nullptr));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("source"),
                 synfire_layer_copy_rows(rig.layer, &copy_of_bad, nullptr));
    uint64_t snapshot_bytes = 77;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"),
                 synfire_layer_snapshot(bad, nullptr, nullptr, &snapshot_bytes));
    EXPECT_EQ(snapshot_bytes, 77u);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"),
                 synfire_layer_restore(bad, nullptr, state.data(), bytes));
    synfire_update_parameter_desc update = SYNFIRE_UPDATE_PARAMETER_DESC_INIT;
    update.name = "tau";
    update.gradient = number;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"),
                 synfire_graph_record_update_parameter(graph, bad, &update));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_graph_record_reset_rows(graph, bad, &all));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_graph_record_read_rows(graph, bad, &rows));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_graph_record_write_rows(graph, bad, &rows));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_graph_record_copy_rows(graph, bad, &copy));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_graph_record_snapshot(graph, bad, &snapshot));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_graph_record_restore(graph, bad, &snapshot));
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
  synfire_fill_desc fill = SYNFIRE_FILL_DESC_INIT;
  fill.buffer = rig.x;
  synfire_scale_add_desc add = SYNFIRE_SCALE_ADD_DESC_INIT;
  add.source = rig.x;
  add.destination = rig.spikes;
  synfire_update_parameter_desc update = SYNFIRE_UPDATE_PARAMETER_DESC_INIT;
  const Buffer number = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
  update.name = "tau";
  update.gradient = number;
  const synfire_state_desc all = SYNFIRE_STATE_DESC_INIT;
  synfire_native_desc native = SYNFIRE_NATIVE_DESC_INIT;
  native.callback = [](void*, const synfire_native_call*) -> synfire_status { return SYNFIRE_OK; };
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
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_record_fill(bad, &fill));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_record_scale_add(bad, &add));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"),
                 synfire_graph_record_update_parameter(bad, rig.layer, &update));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_record_reset_rows(bad, rig.layer, &all));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_record_snapshot(bad, rig.layer, &all));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_record_native(bad, &native));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_set_value(bad, 0, "value", 1));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_set_enabled(bad, 0, 0));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_rebind(bad, rig.x, rig.spikes));
    int32_t operation = 77;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_get_last_operation(bad, &operation));
    EXPECT_EQ(operation, 77);
    void* data = this;
    uint64_t bytes = 77;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_get_slot(bad, 0, rig.x, &data, &bytes));
    EXPECT_EQ(data, this);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_write_dot(bad, nullptr, &bytes));
    EXPECT_EQ(bytes, 77u);
    synfire_graph_statistics statistics = SYNFIRE_GRAPH_STATISTICS_INIT;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_get_statistics(bad, &statistics));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_reset_statistics(bad));
  }
  expect_usable();
}

}  // namespace
}  // namespace synfire_test

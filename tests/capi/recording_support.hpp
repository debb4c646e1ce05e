// Functions that record the operations between the passes in one line each.
#ifndef SYNFIRE_TESTS_CAPI_RECORDING_SUPPORT_HPP
#define SYNFIRE_TESTS_CAPI_RECORDING_SUPPORT_HPP

#include "graph_support.hpp"

namespace synfire_test {

inline int32_t last_operation(synfire_graph graph) {
  int32_t operation = -1;
  EXPECT_OK(synfire_graph_get_last_operation(graph, &operation));
  return operation;
}

inline int32_t record_fill(synfire_graph graph, synfire_buffer buffer, double value) {
  synfire_fill_desc desc = SYNFIRE_FILL_DESC_INIT;
  desc.buffer = buffer;
  desc.value = value;
  EXPECT_OK(synfire_graph_record_fill(graph, &desc));
  return last_operation(graph);
}

inline synfire_scale_add_desc scale_add_desc(synfire_buffer source, synfire_buffer destination, double scale,
                                             double keep) {
  synfire_scale_add_desc desc = SYNFIRE_SCALE_ADD_DESC_INIT;
  desc.source = source;
  desc.destination = destination;
  desc.scale = scale;
  desc.keep = keep;
  return desc;
}

inline int32_t record_scale_add(synfire_graph graph, synfire_buffer source, synfire_buffer destination, double scale,
                                double keep) {
  const synfire_scale_add_desc desc = scale_add_desc(source, destination, scale, keep);
  EXPECT_OK(synfire_graph_record_scale_add(graph, &desc));
  return last_operation(graph);
}

inline synfire_update_parameter_desc update_desc(const char* name, synfire_buffer gradient, double learning_rate) {
  synfire_update_parameter_desc desc = SYNFIRE_UPDATE_PARAMETER_DESC_INIT;
  desc.name = name;
  desc.gradient = gradient;
  desc.learning_rate = learning_rate;
  return desc;
}

inline int32_t record_update(synfire_graph graph, synfire_layer layer, const char* name, synfire_buffer gradient,
                             double learning_rate) {
  const synfire_update_parameter_desc desc = update_desc(name, gradient, learning_rate);
  EXPECT_OK(synfire_graph_record_update_parameter(graph, layer, &desc));
  return last_operation(graph);
}

inline synfire_state_desc rows_desc(int64_t first_row, int64_t n_rows, synfire_buffer buffer = nullptr,
                                    const char* name = nullptr) {
  synfire_state_desc desc = SYNFIRE_STATE_DESC_INIT;
  desc.first_row = first_row;
  desc.n_rows = n_rows;
  desc.buffer = buffer;
  desc.name = name;
  return desc;
}

inline std::vector<double> get_parameter(synfire_layer layer, const char* name, size_t count = 1) {
  std::vector<double> values(count);
  EXPECT_OK(synfire_layer_get_parameter(layer, name, values.data(), count));
  return values;
}

}  // namespace synfire_test

#endif

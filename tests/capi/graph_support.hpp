// Shared by the tests of changes between replays: pinned frames, graphs with slots, and a step of a layer that reads
// one frame and writes another.
#ifndef SYNFIRE_TESTS_CAPI_GRAPH_SUPPORT_HPP
#define SYNFIRE_TESTS_CAPI_GRAPH_SUPPORT_HPP

#include "oracle.hpp"

namespace synfire_test {

inline Buffer make_frame(synfire_context context, uint64_t n_elements, int32_t memory = SYNFIRE_MEMORY_PINNED,
                         int32_t dtype = SYNFIRE_DTYPE_F32) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = memory;
  desc.dtype = dtype;
  desc.n_elements = n_elements;
  synfire_buffer handle = nullptr;
  EXPECT_OK(synfire_buffer_create(context, &desc, &handle));
  return Buffer(handle);
}

inline float* data_of(synfire_buffer buffer) {
  void* data = nullptr;
  EXPECT_OK(synfire_buffer_get_data(buffer, &data, nullptr));
  return static_cast<float*>(data);
}

inline Graph make_slotted_graph(synfire_context context, uint32_t n_slots) {
  synfire_graph_desc desc = SYNFIRE_GRAPH_DESC_INIT;
  desc.n_slots = n_slots;
  synfire_graph handle = nullptr;
  EXPECT_OK(synfire_graph_create(context, &desc, &handle));
  return Graph(handle);
}

inline void record_copy(synfire_graph graph, synfire_buffer source, synfire_buffer destination) {
  synfire_copy_desc desc = SYNFIRE_COPY_DESC_INIT;
  desc.source = source;
  desc.destination = destination;
  EXPECT_OK(synfire_graph_record_copy(graph, &desc));
}

inline uint64_t launch(synfire_graph graph) {
  uint64_t ticket = 0;
  EXPECT_OK(synfire_graph_launch(graph, nullptr, &ticket));
  return ticket;
}

inline void wait(synfire_graph graph, uint64_t ticket) {
  EXPECT_OK(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_YIELD, -1));
}

inline float* slot_of(synfire_graph graph, uint64_t ticket, synfire_buffer buffer) {
  void* data = nullptr;
  EXPECT_OK(synfire_graph_get_slot(graph, ticket, buffer, &data, nullptr));
  return static_cast<float*>(data);
}

}  // namespace synfire_test

#endif

// The functions of synfire.h for graphs. Functions that record an operation are in the file of its kind.
#include "held.hpp"

#include <cstring>
#include <string>

using namespace synfire;
using namespace synfire::capi;

extern "C" {

synfire_status SYNFIRE_CALL synfire_graph_create(synfire_context context, const synfire_graph_desc* desc,
                                                 synfire_graph* graph) noexcept {
  return guarded(__func__, [&] {
    check_pointer(graph, "graph");
    *graph = nullptr;
    core::drain();
    const auto owner = held(context);
    synfire_graph_desc checked = SYNFIRE_GRAPH_DESC_INIT;
    if (desc) checked = read_descriptor(desc, "desc");
    if (checked.n_slots > core::Graph::most_slots && checked.n_slots != core::Graph::shared_slots)
      core::fail_argument("SYN-GRAPH-SLOT-COUNT",
                          "desc.n_slots is %u; allowed are 0 (default) to %u, and SYNFIRE_SLOTS_SHARED",
                          checked.n_slots, core::Graph::most_slots);
    *graph = registered<synfire_graph>(
        core::charged_to_new_account(SYNFIRE_TAG_GRAPH, [&] { return new core::Graph(*owner, checked.n_slots); }));
    return SYNFIRE_OK;
  });
}

void SYNFIRE_CALL synfire_graph_destroy(synfire_graph graph) noexcept {
  capi::remove(value_of(graph), core::ObjectType::graph);
}

synfire_status SYNFIRE_CALL synfire_graph_get_last_operation(synfire_graph graph, int32_t* operation) noexcept {
  return guarded(__func__, [&] {
    const auto target = held(graph);
    check_pointer(operation, "operation");
    *operation = target->last_operation();
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_instantiate(synfire_graph graph) noexcept {
  return guarded(__func__, [&] {
    held(graph)->instantiate();
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_set_enabled(synfire_graph graph, int32_t operation,
                                                      int32_t enabled) noexcept {
  return guarded(__func__, [&] {
    const auto target = held(graph);
    check_flag(enabled, "SYN-GRAPH-ENABLED", "enabled");
    target->set_enabled(operation, enabled == 1);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_set_value(synfire_graph graph, int32_t operation, const char* name,
                                                    double value) noexcept {
  return guarded(__func__, [&] {
    const auto target = held(graph);
    check_pointer(name, "name");
    target->set_value(operation, name, value);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_rebind(synfire_graph graph, synfire_buffer old_buffer,
                                                 synfire_buffer new_buffer) noexcept {
  return guarded(__func__, [&] {
    const auto target = held(graph);
    const auto before = required(old_buffer, "old_buffer", *target->context());
    const auto now = required(new_buffer, "new_buffer", *target->context());
    target->rebind(*before, *now);
    return SYNFIRE_OK;
  });
}

[[gnu::hot]] synfire_status SYNFIRE_CALL synfire_graph_launch(synfire_graph graph, synfire_stream stream,
                                                              uint64_t* ticket) noexcept {
  return guarded(__func__, [&] {
    core::Launched launched;
    {
      HeldGraph target = held(graph, Charges::no);
      const core::Graph::Launch launch(*target, stream);
      // The launch keeps the graph alive. Letting go is a locked instruction, which after the driver's call would wait
      // until the driver's writes have reached the device (docs/pages/tuning.md, "The path of a launch").
      target.let_go();
      launched = launch.run();
    }
    if (ticket) *ticket = launched.ticket;
    return run_or_captured(launched.captured);
  });
}

synfire_status SYNFIRE_CALL synfire_graph_wait(synfire_graph graph, uint64_t ticket, int32_t policy,
                                               int64_t timeout_ns) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(graph, Charges::no);
    if (policy < SYNFIRE_WAIT_SPIN || policy > SYNFIRE_WAIT_BLOCK)
      core::fail_argument("SYN-WAIT-POLICY",
                          "policy is %d; allowed are SYNFIRE_WAIT_SPIN (0), _YIELD (1) and _BLOCK (2)", policy);
    const synfire_status status = found->wait(ticket, static_cast<core::WaitPolicy>(policy), timeout_ns);
    // Freeing may wait for the device, longer than a time-out allows.
    if (policy == SYNFIRE_WAIT_BLOCK && timeout_ns < 0) core::drain();
    return status;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_poll(synfire_graph graph, uint64_t ticket) noexcept {
  return guarded(__func__, [&] { return held(graph, Charges::no)->wait(ticket, core::WaitPolicy::spin, 0); });
}

synfire_status SYNFIRE_CALL synfire_graph_get_slot(synfire_graph graph, uint64_t ticket, synfire_buffer buffer,
                                                   void** data, uint64_t* bytes) noexcept {
  return guarded(__func__, [&] {
    check_pointer(data, "data");
    const auto found = held(graph, Charges::no);
    const auto memory = required(buffer, "buffer", *found->context());
    const core::SlotMemory slot = found->slot_memory(ticket, *memory);
    *data = slot.data;
    if (bytes) *bytes = slot.bytes;
    return slot.data ? SYNFIRE_OK : SYNFIRE_PENDING;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_write_dot(synfire_graph graph, char* text, uint64_t* bytes) noexcept {
  return guarded(__func__, [&] {
    check_pointer(bytes, "bytes");
    const std::string dot = held(graph)->dot();
    const uint64_t needed = dot.size() + 1;
    if (text && *bytes < needed)
      core::fail_argument("SYN-TEXT-SIZE", "bytes is %llu; the text needs %llu",
                          static_cast<unsigned long long>(*bytes), static_cast<unsigned long long>(needed));
    if (text) std::memcpy(text, dot.c_str(), needed);
    *bytes = needed;
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_get_statistics(synfire_graph graph,
                                                         synfire_graph_statistics* statistics) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(graph);
    const Answer out(statistics, "statistics");
    synfire_graph_statistics answer = SYNFIRE_GRAPH_STATISTICS_INIT;
    found->read_statistics(answer);
    out.write(answer);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_reset_statistics(synfire_graph graph) noexcept {
  return guarded(__func__, [&] {
    held(graph)->reset_statistics();
    return SYNFIRE_OK;
  });
}

}  // extern "C"

// The functions of synfire.h for the library's host memory and messages, and for how much memory objects hold.
#include "held.hpp"

#include <base/heap.hpp>
#include <base/log.hpp>
#include <network/network.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

void answer_use(const core::Account& account, synfire_memory_use* use) {
  const Answer out(use, "use");
  synfire_memory_use answer = SYNFIRE_MEMORY_USE_INIT;
  account.read(answer);
  out.write(answer);
}

template <class Handle>
synfire_status answer_use_of(const char* function, Handle handle, synfire_memory_use* use) noexcept {
  return guarded(function, [&] {
    answer_use(held(handle)->charge().account(), use);
    return SYNFIRE_OK;
  });
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_memory_set_functions(const synfire_memory_desc* desc) noexcept {
  return guarded(__func__, [&] {
    synfire_memory_desc checked = SYNFIRE_MEMORY_DESC_INIT;
    if (desc) checked = read_descriptor(desc, "desc");
    check_reserved(checked.reserved, "desc.reserved");
    if (!checked.allocate != !checked.release)
      core::fail_argument("SYN-MEMORY-FUNCTIONS", "desc.%s is given and desc.%s is null; both are needed, or neither",
                          checked.allocate ? "allocate" : "release", checked.allocate ? "release" : "allocate");
    core::drain();
    core::set_heap_functions(checked);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_memory_get_use(synfire_memory_use* use) noexcept {
  return guarded(__func__, [&] {
    answer_use(core::Account::of_library(), use);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_context_get_memory_use(synfire_context context, synfire_memory_use* use) noexcept {
  return answer_use_of(__func__, context, use);
}

synfire_status SYNFIRE_CALL synfire_layer_get_memory_use(synfire_layer layer, synfire_memory_use* use) noexcept {
  return answer_use_of(__func__, layer, use);
}

synfire_status SYNFIRE_CALL synfire_graph_get_memory_use(synfire_graph graph, synfire_memory_use* use) noexcept {
  return answer_use_of(__func__, graph, use);
}

synfire_status SYNFIRE_CALL synfire_network_get_memory_use(synfire_network network, synfire_memory_use* use) noexcept {
  return guarded(__func__, [&] {
    const Held<network::Network> found{value_of(network), "network", core::ObjectType::network};
    answer_use(found->charge().account(), use);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_log_set_function(const synfire_log_desc* desc) noexcept {
  return guarded(__func__, [&] {
    synfire_log_desc checked = SYNFIRE_LOG_DESC_INIT;
    if (desc) checked = read_descriptor(desc, "desc");
    check_choice(checked.level, "SYN-LOG-LEVEL", "desc.level", 0, SYNFIRE_LOG_CHOICE,
                 "0 (all), SYNFIRE_LOG_WARNING (1) and SYNFIRE_LOG_CHOICE (2)");
    core::set_log(checked);
    return SYNFIRE_OK;
  });
}

}  // extern "C"

// The functions of synfire.h for communicators.
#include "held.hpp"

#include <ranks/create.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_communicator_create(synfire_context context, const synfire_communicator_desc* desc,
                                                        synfire_communicator* communicator) noexcept {
  return guarded(__func__, [&] {
    check_pointer(communicator, "communicator");
    *communicator = nullptr;
    core::drain();
    const auto owner = held(context);
    const synfire_communicator_desc checked =
        desc ? read_descriptor(desc, "desc") : synfire_communicator_desc SYNFIRE_COMMUNICATOR_DESC_INIT;
    check_choice(checked.transport, "SYN-COMMUNICATOR-TRANSPORT", "desc.transport", SYNFIRE_TRANSPORT_AUTO,
                 SYNFIRE_TRANSPORT_MPI, "SYNFIRE_TRANSPORT_AUTO (0), _LOOPBACK (1) and _MPI (2)");
    *communicator = registered<synfire_communicator>(ranks::create(*owner, checked));
    return SYNFIRE_OK;
  });
}

void SYNFIRE_CALL synfire_communicator_destroy(synfire_communicator communicator) noexcept {
  capi::remove(value_of(communicator), core::ObjectType::communicator);
}

synfire_status SYNFIRE_CALL synfire_communicator_get_properties(synfire_communicator communicator,
                                                                synfire_communicator_properties* properties) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(communicator);
    const Answer out(properties, "properties");
    synfire_communicator_properties answer = SYNFIRE_COMMUNICATOR_PROPERTIES_INIT;
    answer.transport = found->transport();
    answer.rank = found->place().rank;
    answer.size = found->place().size;
    out.write(answer);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_communicator_barrier(synfire_communicator communicator) noexcept {
  return guarded(__func__, [&] {
    held(communicator)->barrier();
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_communicator_abort(synfire_communicator communicator) noexcept {
  return guarded(__func__, [&] {
    held(communicator)->give_up();
    return SYNFIRE_OK;
  });
}

}  // extern "C"

// From a descriptor and the environment to one's place in a group.
#ifndef SYNFIRE_RANKS_CREATE_HPP
#define SYNFIRE_RANKS_CREATE_HPP

#include "communicator.hpp"

namespace synfire::ranks {

// Waits for the other ranks. Throws INVALID_ARGUMENT, UNSUPPORTED, PEER_LOST or OUT_OF_MEMORY.
Communicator* create(core::Context& context, const synfire_communicator_desc& desc);

}  // namespace synfire::ranks

#endif

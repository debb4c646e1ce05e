#include "transport.hpp"

#include <base/error.hpp>

namespace synfire::ranks {

std::unique_ptr<Transport> join_mpi(const std::optional<Place>&, int64_t) {
  core::fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-COMMUNICATOR-MPI", "Synfire has no MPI on Windows");
}

}  // namespace synfire::ranks

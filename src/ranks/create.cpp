#include "create.hpp"

#include <base/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace synfire::ranks {

using namespace synfire::core;

namespace {

constexpr int32_t most_ranks = 65536;
constexpr int64_t default_timeout_ns = 60'000'000'000;
constexpr int64_t longest_timeout_ns = int64_t{1} << 62;  // 146 years; its end is within the range of clocks

struct Variables {
  const char *rank, *size;
};
// The pairs of the program itself, of the mpirun of Open MPI and of MPICH, and of srun of Slurm, in the order in which
// they are looked for.
constexpr Variables variables[] = {{"SYNFIRE_RANK", "SYNFIRE_WORLD_SIZE"},
                                   {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                   {"PMI_RANK", "PMI_SIZE"},
                                   {"SLURM_PROCID", "SLURM_NTASKS"}};

int32_t number_in(const char* name, const char* text) {
  char* end = nullptr;
  errno = 0;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || errno != 0 || value < 0 || value > most_ranks)
    fail_argument("SYN-COMMUNICATOR-ENVIRONMENT", "the environment variable %s is \"%.40s\"; 0 to %d are allowed", name,
                  text, most_ranks);
  return static_cast<int32_t>(value);
}

// None: the environment has no rank.
std::optional<Place> place_in_environment() {
  for (const Variables& one : variables) {
    const char *const rank = std::getenv(one.rank), *const size = std::getenv(one.size);
    if (!rank && !size) continue;
    if (!rank || !size)
      fail_argument("SYN-COMMUNICATOR-ENVIRONMENT", "the environment has %s and no %s; both are needed",
                    rank ? one.rank : one.size, rank ? one.size : one.rank);
    const Place place = {number_in(one.rank, rank), number_in(one.size, size)};
    if (place.rank >= place.size)
      fail_argument("SYN-COMMUNICATOR-ENVIRONMENT", "the environment has %s=%d and %s=%d; ranks are 0 to %d", one.rank,
                    place.rank, one.size, place.size, place.size - 1);
    return place;
  }
  return std::nullopt;
}

// None: neither the descriptor nor the environment says.
std::optional<Place> place_of(const synfire_communicator_desc& desc) {
  if (desc.size < 0 || desc.size > most_ranks)
    fail_argument("SYN-COMMUNICATOR-SIZE", "desc.size is %d; 1 to %d are allowed (0: that of the environment)",
                  desc.size, most_ranks);
  if (desc.size == 0 && desc.rank != 0)
    fail_argument("SYN-COMMUNICATOR-RANK", "desc.rank is %d and desc.size 0; the size is needed too", desc.rank);
  if (desc.size == 0) return place_in_environment();
  if (desc.rank < 0 || desc.rank >= desc.size)
    fail_argument("SYN-COMMUNICATOR-RANK", "desc.rank is %d and desc.size %d; ranks are 0 to %d", desc.rank, desc.size,
                  desc.size - 1);
  return Place{desc.rank, desc.size};
}

std::string group_of(const synfire_communicator_desc& desc) {
  constexpr size_t longest = 64;
  if (!desc.id) return {};
  const std::string_view id = desc.id;
  if (id.empty() || id.size() > longest)
    fail_argument("SYN-COMMUNICATOR-ID", "desc.id has %zu bytes; 1 to %zu are allowed (null: no name)", id.size(),
                  longest);
  return std::string(id);
}

std::unique_ptr<Transport> join(const synfire_communicator_desc& desc, int32_t transport, int64_t timeout_ns) {
  const std::optional<Place> place = place_of(desc);
  if (transport == SYNFIRE_TRANSPORT_MPI) {
    if (desc.id)
      fail_argument("SYN-COMMUNICATOR-ID",
                    "desc.id is given; with MPI the group is MPI_COMM_WORLD, and null is needed");
    return join_mpi(place, timeout_ns);
  }
  if (!place)
    fail_argument(
        "SYN-COMMUNICATOR-SIZE",
        "desc.size is 0, and the environment has no SYNFIRE_RANK and SYNFIRE_WORLD_SIZE, nor the variables of "
        "mpirun or srun");
  return join_loopback(group_of(desc), *place, timeout_ns);
}

}  // namespace

Communicator* create(Context& context, const synfire_communicator_desc& desc) {
  if (!context.device().is_host())
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-COMMUNICATOR-DEVICE",
         "context is one of a GPU; ranks exchange arrays of the host backend in this version");
  const int32_t transport = desc.transport == SYNFIRE_TRANSPORT_AUTO ? SYNFIRE_TRANSPORT_MPI : desc.transport;
  const int64_t timeout_ns = desc.timeout_ns == 0 ? default_timeout_ns : std::min(desc.timeout_ns, longest_timeout_ns);
  std::unique_ptr<Transport> reached = join(desc, transport, timeout_ns);
  return new Communicator(context, transport, std::move(reached));
}

}  // namespace synfire::ranks

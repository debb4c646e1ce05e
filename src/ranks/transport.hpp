// How the ranks of a group reach each other. A transport joins arrays of all ranks element by element, in the memory of
// the host, and finds ranks that are lost. Each kind is a file here.
#ifndef SYNFIRE_RANKS_TRANSPORT_HPP
#define SYNFIRE_RANKS_TRANSPORT_HPP

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace synfire::ranks {

// Operations without an order: any number of ranks, in any tree, gives the same bits.
enum class Join : int32_t {
  largest,  // of u32
  sum       // of u64, modulo 2^64
};

// Elements of an array.
struct Part {
  void* elements;
  uint64_t count;
};

// Where a rank is in its group.
struct Place {
  int32_t rank, size;
};

class Transport {
 public:
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  // This rank leaves: exchanges that all ranks have begun end, and others never do.
  virtual ~Transport() = default;

  virtual Place place() const noexcept = 0;
  // Replaces the elements by those of all ranks joined, as one message: between the two calls, while the caller
  // computes something else, or in the second one. The list and the arrays must stay as they are until then. Every rank
  // makes the same calls in the same order; one thread at a time. Both throw PEER_LOST if a rank is lost or has given
  // up, and from then on always.
  virtual void begin(Join how, std::span<const Part> parts) = 0;
  virtual void end() = 0;
  // This rank gives up: calls of all ranks that wait throw PEER_LOST. Any thread.
  virtual void give_up() noexcept = 0;

 protected:
  Transport() = default;
};

// Both wait for the other ranks, and throw PEER_LOST after this many nanoseconds (less than 0: never), and
// INVALID_ARGUMENT for a place that the group does not have.
std::unique_ptr<Transport> join_loopback(const std::string& group, const Place& place, int64_t timeout_ns);
// MPI knows the place; it must be the expected one. Throws UNSUPPORTED without MPI.
std::unique_ptr<Transport> join_mpi(const std::optional<Place>& expected, int64_t timeout_ns);

}  // namespace synfire::ranks

#endif

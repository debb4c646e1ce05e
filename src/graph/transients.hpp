// Transient arrays have a type and lengths, but no memory of their own. A replay or an eager call gives each of them a
// place in its arena (memory_plan.hpp). Their contents are undefined before and after it. There are three sorts:
//
//  - scratch operands (Access::scratch), each of one entry;
//  - arrays that the entries of one list pass on to each other (transient_array());
//  - transient buffers (Buffer), with which the recorded operations of a graph pass something on.
#ifndef SYNFIRE_GRAPH_TRANSIENTS_HPP
#define SYNFIRE_GRAPH_TRANSIENTS_HPP

#include "address_index.hpp"
#include "operation.hpp"

#include <initializer_list>
#include <span>

namespace synfire::core {

// An array of a list that no graph has taken yet: the entries that use the same number, from 1 to most_of_a_list, use
// the same array. Throws OUT_OF_MEMORY if its bytes cannot be represented.
View transient_array(int32_t number, int32_t dtype, std::initializer_list<int64_t> lengths);
constexpr int32_t most_of_a_list = 8;

struct TransientArray {
  uintptr_t address;  // where its views point until they are placed
  uint64_t bytes;
  bool is_buffer = false;
};

// Returns true if a list has transient arrays, which must be placed before it runs.
bool has_transients(std::span<const Operation> operations);

// The transient arrays of a graph, or of an eager call, by number from 1 on.
class Transients {
 public:
  // Gives the transient arrays of a new list their numbers, and addresses that no other array of these has. A transient
  // buffer keeps its address and has one number in all lists. Throws bad_alloc, and OUT_OF_MEMORY if the addresses are
  // used up; drop_from() then undoes what was done.
  void number(std::span<Operation> operations);
  size_t count() const noexcept { return arrays_.size(); }
  // Forgets the arrays beyond the first `count`.
  void drop_from(size_t count) noexcept;
  std::span<const TransientArray> arrays() const noexcept { return arrays_; }

 private:
  int32_t add(uint64_t bytes);
  int32_t number_of_buffer(const View& view);

  static constexpr uintptr_t first_address = uintptr_t{3} << 62, end_of_addresses = uintptr_t{7} << 61;

  uintptr_t next_address_ = first_address;
  std::vector<TransientArray> arrays_;
  std::vector<const Object*> buffers_;  // of each array, the buffer; null: there is none
  AddressIndex at_;                     // the number of each buffer
};

// Moves the views of transient arrays to their places: array i + 1 begins at `memory` + offsets[i].
void place_transients(std::span<Operation> operations, std::span<const TransientArray> arrays,
                      std::span<const uint64_t> offsets, void* memory);

}  // namespace synfire::core

#endif

// Operations that a machine puts into lists itself. It knows no kind: whoever makes the machine gives it these.
#ifndef SYNFIRE_GRAPH_MACHINE_OPERATIONS_HPP
#define SYNFIRE_GRAPH_MACHINE_OPERATIONS_HPP

#include "operation.hpp"

#include <span>

namespace synfire::core {

// Neighbouring entries of a list as one operation, which does the same in fewer launches.
struct Join {
  size_t first, count;  // entries
  Operation operation;
  // For each entry, when the operation does its work: after that of lower numbers, and at the same time as that of the
  // same number.
  std::vector<uint32_t> order;
  // The transient arrays of its entries that it does not use, by number, in ascending order.
  std::vector<int32_t> left_out;
};

struct MachineOperations {
  // Copies between two views of the same size.
  Operation (*copy)(const View& source, const View& destination);
  // The entries that gain from it on this GPU, in order. Neither the results nor what is in the caller's memory
  // afterwards depend on whether they are joined. Their transient arrays are placed later.
  std::vector<Join> (*find_joins)(std::span<const Operation> entries, const cuda::GpuShape& gpu);
};

}  // namespace synfire::core

#endif

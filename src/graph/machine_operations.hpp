// Operations that a machine puts into lists itself. It knows no kind: whoever makes the machine gives it these.
#ifndef SYNFIRE_GRAPH_MACHINE_OPERATIONS_HPP
#define SYNFIRE_GRAPH_MACHINE_OPERATIONS_HPP

#include "operation.hpp"

#include <base/function_ref.hpp>

#include <span>

namespace synfire::core {

// Neighbouring entries of a list as one operation, which does the same in fewer launches.
struct Join {
  size_t first, count;  // entries
  Operation operation;
};

struct MachineOperations {
  // Copies between two views of the same size.
  Operation (*copy)(const View& source, const View& destination);
  // The entries that gain from it on this GPU, in order. Neither the results nor what is in the caller's memory
  // afterwards depend on whether they are joined. `allocate` provides device memory for what entries that share scratch
  // memory must then keep apart.
  std::vector<Join> (*find_joins)(std::span<const Operation> entries, const cuda::GpuShape& gpu,
                                  FunctionRef<void*(uint64_t bytes)> allocate);
};

}  // namespace synfire::core

#endif

// Neighbouring entries of a list as one operation, which does the same in fewer launches.
#ifndef SYNFIRE_GRAPH_JOIN_HPP
#define SYNFIRE_GRAPH_JOIN_HPP

#include "operation.hpp"

#include <base/function_ref.hpp>

#include <span>

namespace synfire::core {

struct Join {
  size_t first, count;  // entries
  Operation operation;
};

// The entries that gain from it on this GPU, in order (operations/stack). Neither the results nor what is in the
// caller's memory afterwards depend on whether they are joined. `allocate` provides device memory for what entries that
// share scratch memory must then keep apart.
std::vector<Join> find_joins(std::span<const Operation> entries, const cuda::GpuShape& gpu,
                             FunctionRef<void*(uint64_t bytes)> allocate);

}  // namespace synfire::core

#endif

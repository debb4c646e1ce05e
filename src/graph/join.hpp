// Neighbouring entries of a list as one operation, which does the same in fewer launches.
#ifndef SYNFIRE_GRAPH_JOIN_HPP
#define SYNFIRE_GRAPH_JOIN_HPP

#include "operation.hpp"

#include <span>

namespace synfire::core {

struct Join {
  size_t first, count;  // entries
  Operation operation;
};

// The entries that gain from it on this GPU, in order (operations/stack). Neither the results nor what is in the
// caller's memory afterwards depend on whether they are joined.
std::vector<Join> find_joins(std::span<const Operation> entries, const cuda::GpuShape& gpu);

}  // namespace synfire::core

#endif

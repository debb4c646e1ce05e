// Finds the entries of a list that become stacks, forward and backward.
#ifndef SYNFIRE_OPERATIONS_STACK_FIND_HPP
#define SYNFIRE_OPERATIONS_STACK_FIND_HPP

#include <graph/machine_operations.hpp>

namespace synfire::operations {

std::vector<core::Join> find_joins(std::span<const core::Operation> entries, const cuda::GpuShape& gpu);

}  // namespace synfire::operations

#endif

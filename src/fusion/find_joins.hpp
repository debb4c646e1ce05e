// Finds the entries of a list that become stacks, forward and backward.
#ifndef SYNFIRE_FUSION_FIND_JOINS_HPP
#define SYNFIRE_FUSION_FIND_JOINS_HPP

#include <graph/machine_operations.hpp>

namespace synfire::operations {

std::vector<core::Join> find_joins(std::span<const core::Operation> entries, const cuda::GpuShape& gpu,
                                   core::FunctionRef<void*(uint64_t bytes)> allocate);

}  // namespace synfire::operations

#endif

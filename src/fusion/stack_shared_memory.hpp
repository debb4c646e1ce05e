// The shared memory of a stack.
#ifndef SYNFIRE_FUSION_STACK_SHARED_MEMORY_HPP
#define SYNFIRE_FUSION_STACK_SHARED_MEMORY_HPP

#include "stack.hpp"
#include "stack_kernels.hpp"

#include <algorithm>
#include <span>

namespace synfire::operations {

// The shared memory of a block with these links. Enters all offsets, if there is a launch.
int64_t stack_shared_bytes(std::span<const StackLink> links, cuda::StackLaunch* launch = nullptr);

}  // namespace synfire::operations

#endif

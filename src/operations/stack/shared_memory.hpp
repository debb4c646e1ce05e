// How much shared memory a stack takes.
#ifndef SYNFIRE_OPERATIONS_STACK_SHARED_MEMORY_HPP
#define SYNFIRE_OPERATIONS_STACK_SHARED_MEMORY_HPP

#include "kernels.hpp"
#include "stack.hpp"

#include <algorithm>
#include <span>

namespace synfire::operations {

// Of a block with these links. Enters where everything lies, if there is a launch.
int64_t stack_shared_bytes(std::span<const StackLink> links, cuda::StackLaunch* launch = nullptr);

}  // namespace synfire::operations

#endif

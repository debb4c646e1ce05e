// The operations that the CUDA machine puts into lists itself.
#ifndef SYNFIRE_KINDS_OPERATIONS_FOR_MACHINES_HPP
#define SYNFIRE_KINDS_OPERATIONS_FOR_MACHINES_HPP

#include <graph/machine_operations.hpp>

namespace synfire::operations {

extern const core::MachineOperations machine_operations;

}  // namespace synfire::operations

#endif

// The operations that the CUDA machine puts into lists itself.
#ifndef SYNFIRE_OPERATIONS_MACHINE_OPERATIONS_HPP
#define SYNFIRE_OPERATIONS_MACHINE_OPERATIONS_HPP

#include <graph/machine_operations.hpp>

namespace synfire::operations {

extern const core::MachineOperations machine_operations;

}  // namespace synfire::operations

#endif

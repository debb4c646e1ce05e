#include "operations_for_machines.hpp"

#include <fusion/find_joins.hpp>
#include <operations/elementwise/copy.hpp>

namespace synfire::operations {

constinit const core::MachineOperations machine_operations = {
    [](const View& source, const View& destination) -> core::Operation {
      return Copy{source, destination};
    },
    find_joins};

}  // namespace synfire::operations

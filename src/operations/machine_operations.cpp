#include "machine_operations.hpp"

#include "elementwise/copy.hpp"
#include "stack/find.hpp"

namespace synfire::operations {

constinit const core::MachineOperations machine_operations = {
    [](const View& source, const View& destination) -> core::Operation {
      return Copy{source, destination};
    },
    find_joins};

}  // namespace synfire::operations

// A stack on the host: its operations one after the other.
#include "stack.hpp"

namespace synfire::operations {

OperationLabel label(const Stack& op) {
  return {nullptr, std::to_string(op.links.size()).append(op.links.size() == 1 ? " layer" : " layers")};
}

bool wants_threads(const Stack& op) {
  for (const StackLink& link : op.links)
    if (wants_threads(link.product) || wants_threads(link.pass)) return true;
  return false;
}

void run(const Stack& op, host::Launcher& launcher) {
  for (const StackLink& link : op.links) {
    run(link.product, launcher);
    run(link.pass, launcher);
  }
}

}  // namespace synfire::operations

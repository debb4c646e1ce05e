// Stacks on the host: their operations one after the other.
#include "stack.hpp"

namespace synfire::operations {

namespace {

std::string layers(size_t count) {
  return std::to_string(count).append(count == 1 ? " layer" : " layers");
}

bool any_wants_threads(const core::OperationList& operations) {
  for (const core::Operation& operation : operations)
    if (operation.kind().wants_threads(operation.data())) return true;
  return false;
}
void run_all(const core::OperationList& operations, host::Launcher& launcher) {
  for (const core::Operation& operation : operations) operation.kind().run(operation.data(), launcher);
}

}  // namespace

OperationLabel label(const Readout& op) {
  return op.operations[1].label();
}
bool wants_threads(const Readout& op) {
  return any_wants_threads(op.operations);
}
void run(const Readout& op, host::Launcher& launcher) {
  run_all(op.operations, launcher);
}

OperationLabel label(const Stack& op) {
  return {nullptr, layers(op.links.size())};
}
OperationLabel label(const StackBackward& op) {
  return {nullptr, layers(op.weights.size())};
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

bool wants_threads(const StackBackward& op) {
  if (any_wants_threads(op.operations)) return true;
  for (const DenseWeightGradient& gradient : op.weights)
    if (wants_threads(gradient)) return true;
  return false;
}

void run(const StackBackward& op, host::Launcher& launcher) {
  run_all(op.operations, launcher);
  for (const DenseWeightGradient& gradient : op.weights) run(gradient, launcher);
}

}  // namespace synfire::operations

// A stack: small layers one behind the other, each with the synapse before it, in one launch. No program records one: a
// GPU joins recorded operations (find.cpp), because small networks wait for their launches.
//
// Batch rows do not depend on each other. So a block has one of them through all layers and all steps; the spikes
// between the layers stay in its shared memory.
#ifndef SYNFIRE_OPERATIONS_STACK_STACK_HPP
#define SYNFIRE_OPERATIONS_STACK_STACK_HPP

#include <graph/join.hpp>
#include <operations/neuron/forward.hpp>
#include <operations/synapse/synapse.hpp>

namespace synfire::operations {

struct StackLink {
  SynapseForward product;
  Forward pass;  // of its output
};

struct Stack {
  std::vector<StackLink> links;

  static constexpr const char* name = "stack";
  static void operands(Stack& op, OperandVisitor visit) {
    for (StackLink& link : op.links) {
      SynapseForward::operands(link.product, visit);
      Forward::operands(link.pass, visit);
    }
  }
};
OperationLabel label(const Stack& op);
bool wants_threads(const Stack& op);
void run(const Stack& op, host::Launcher& launcher);
cuda::Hints hints(const Stack& op, const cuda::GpuShape& gpu);
void enqueue(const Stack& op, cuda::Launcher& launcher);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(Stack);

#endif

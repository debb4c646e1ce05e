// Stacks: small layers one after the other, joined. No program records them: a GPU joins recorded operations
// (find_joins.cpp), because small networks wait for their launches.
#ifndef SYNFIRE_FUSION_STACK_HPP
#define SYNFIRE_FUSION_STACK_HPP

#include <neurons/passes/forward.hpp>
#include <operations/loss/loss.hpp>
#include <operations/reduce/reduce.hpp>
#include <synapses/dense/dense.hpp>

namespace synfire::operations {

// Layers, each with the synapse before it, in one launch. Batch rows do not depend on each other, so a block takes one
// of them through all layers and steps; the spikes between layers stay in its shared memory.
struct StackLink {
  DenseProduct product;
  Forward pass;  // of its output
};

struct Stack {
  std::vector<StackLink> links;

  static constexpr const char* name = "stack";
  static void operands(Stack& op, OperandVisitor visit) {
    for (StackLink& link : op.links) {
      DenseProduct::operands(link.product, visit);
      Forward::operands(link.pass, visit);
    }
  }
};

// Their gradients. Those of the weights, for which nothing waits, come last and in one launch.
struct StackBackward {
  core::OperationList operations;            // passes, and gradients of inputs
  std::vector<DenseWeightGradient> weights;  // over few rows, of inputs that are bits

  static constexpr const char* name = "stack, backward";
  static void operands(StackBackward& op, OperandVisitor visit) {
    for (core::Operation& operation : op.operations) operation.kind().operands(operation.data(), visit);
    for (DenseWeightGradient& gradient : op.weights) DenseWeightGradient::operands(gradient, visit);
  }
};

// The readout by one block: sums or means of spikes over the steps, their loss, and the gradient of the sums.
struct Readout {
  core::OperationList operations;  // Reduce, Loss and, if it is there, ReduceBackward

  static constexpr const char* name = "readout";
  static void operands(Readout& op, OperandVisitor visit) {
    for (core::Operation& operation : op.operations) operation.kind().operands(operation.data(), visit);
  }
};

#define SYNFIRE_STACK_FUNCTIONS(Kind)                       \
  OperationLabel label(const Kind& op);                     \
  bool wants_threads(const Kind& op);                       \
  void run(const Kind& op, host::Launcher& launcher);       \
  cuda::Hints hints(const Kind& op, const cuda::GpuShape&); \
  void enqueue(const Kind& op, cuda::Launcher& launcher)
SYNFIRE_STACK_FUNCTIONS(Stack);
SYNFIRE_STACK_FUNCTIONS(StackBackward);
SYNFIRE_STACK_FUNCTIONS(Readout);
#undef SYNFIRE_STACK_FUNCTIONS

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(Stack);
SYNFIRE_DECLARE_KIND(StackBackward);
SYNFIRE_DECLARE_KIND(Readout);

#endif

// Finds the first element of an array that is not allowed: the check of a data set before a network takes it. It runs
// when the data set is set, never in a graph.
#ifndef SYNFIRE_OPERATIONS_CHECK_ELEMENTS_CHECK_ELEMENTS_HPP
#define SYNFIRE_OPERATIONS_CHECK_ELEMENTS_CHECK_ELEMENTS_HPP

#include "check_elements_arguments.hpp"

#include <operations/kind.hpp>

namespace synfire::operations {

// A GPU's memory for it besides `found`: the minimum of each block. 150 multiprocessors use 50 KB.
inline constexpr uint64_t check_elements_workspace_bytes = uint64_t{1} << 18;

struct CheckElements {
  AllowedElements allowed;
  View elements;   // [R, T, N] without gaps
  View lengths;    // u32 [R], in steps; null: all steps count
  View found;      // u64 [1]: the index of the first element that is refused, or nothing_refused
  View workspace;  // null on the host

  static constexpr const char* name = "check elements";
  static void operands(CheckElements& op, OperandVisitor visit) {
    visit({"elements", op.elements, Access::read, Transfer::shared});
    visit({"lengths", op.lengths, Access::read, Transfer::shared});
    visit({"found", op.found, Access::write});
    visit({"workspace", op.workspace, Access::write});
  }
};
OperationLabel label(const CheckElements& op);
bool wants_threads(const CheckElements& op);
void run(const CheckElements& op, host::Launcher& launcher);
cuda::Hints hints(const CheckElements& op, const cuda::GpuShape& gpu);
void enqueue(const CheckElements& op, cuda::Launcher& launcher);

CheckElementsArguments arguments_of(const CheckElements& op);
// Searches processor-accessible memory on the calling thread; returns the first refused element from `begin`, or `end`.
int64_t first_refused(const CheckElementsArguments& arguments, int64_t begin, int64_t end);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(CheckElements);

#endif

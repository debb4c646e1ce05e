// Joins an array of each rank with those of the others, element by element: the operation between the entries of a sum
// (sum_entry.hpp) if a group of ranks has the rows.
#ifndef SYNFIRE_OPERATIONS_ALL_REDUCE_ALL_REDUCE_HPP
#define SYNFIRE_OPERATIONS_ALL_REDUCE_ALL_REDUCE_HPP

#include <operations/kind.hpp>
#include <ranks/communicator.hpp>

namespace synfire::operations {

struct AllReduce {
  core::Ref<ranks::Communicator> ranks;
  ranks::Join how;
  View array;  // u32 of maxima, u64 of sums

  static constexpr const char* name = "all-reduce";
  static void operands(AllReduce& op, OperandVisitor visit) {
    visit({"what the ranks exchange", op.array, Access::update});
  }
};
OperationLabel label(const AllReduce& op);
bool wants_threads(const AllReduce& op);
void run(const AllReduce& op, host::Launcher& launcher);
cuda::Hints hints(const AllReduce& op, const cuda::GpuShape& gpu);
void enqueue(const AllReduce& op, cuda::Launcher& launcher);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(AllReduce);

#endif

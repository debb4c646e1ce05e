// Joins arrays of each rank with those of the others, element by element: the operation between the entries of sums
// (sum_entry.hpp) if a group of ranks has the rows. All its arrays are one message.
#ifndef SYNFIRE_OPERATIONS_ALL_REDUCE_ALL_REDUCE_HPP
#define SYNFIRE_OPERATIONS_ALL_REDUCE_ALL_REDUCE_HPP

#include <operations/kind.hpp>
#include <ranks/communicator.hpp>

#include <vector>

namespace synfire::operations {

// A message is one operation, or two between which others run.
enum class Message : int32_t { whole, begin, end };

struct AllReduce {
  core::Ref<ranks::Communicator> ranks;
  ranks::Join how;
  std::vector<View> arrays;  // u32 of maxima, u64 of sums
  Message message = Message::whole;

  static constexpr const char* name = "all-reduce";
  static void operands(AllReduce& op, OperandVisitor visit) {
    for (View& array : op.arrays) visit({"what the ranks exchange", array, Access::update});
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

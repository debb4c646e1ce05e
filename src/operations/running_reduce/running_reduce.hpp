// A reduction over steps that continues from replay to replay: the sum, the mean or the largest of all steps since its
// state was 0. Sums are added in f64 in the order of the steps, so no result depends on how many steps a replay has.
#ifndef SYNFIRE_OPERATIONS_RUNNING_REDUCE_RUNNING_REDUCE_HPP
#define SYNFIRE_OPERATIONS_RUNNING_REDUCE_RUNNING_REDUCE_HPP

#include <base/buffer.hpp>
#include <base/extents.hpp>
#include <operations/kind.hpp>
#include <operations/reduce/reduce.hpp>

namespace synfire::operations {

struct RunningReduce {
  Reduction reduction;  // sum, mean or max
  core::Extents extents;
  View source;       // [T, B, N]: spikes as bits, f32 or f64
  View totals;       // f64 [1, B, N]: the sum, or the largest; 0 at first
  View n_steps;      // u64 [1, B, N]: how many steps the total has
  View destination;  // f32 or f64 [B, N]

  static constexpr const char* name = "running reduce";
  static void operands(RunningReduce& op, OperandVisitor visit) {
    visit({"the readout's source", op.source, Access::read});
    visit({"the readout's totals", op.totals, Access::update});
    visit({"the readout's steps", op.n_steps, Access::update});
    visit({"the readout's result", op.destination, Access::write});
  }
};
OperationLabel label(const RunningReduce& op);
bool wants_threads(const RunningReduce& op);
void run(const RunningReduce& op, host::Launcher& launcher);
cuda::Hints hints(const RunningReduce& op, const cuda::GpuShape& gpu);
void enqueue(const RunningReduce& op, cuda::Launcher& launcher);

struct RunningReduceRequest {
  Reduction reduction;
  core::Extents extents;
  core::Buffer *source, *totals, *n_steps, *destination;
};
core::OperationList running_reduce(const RunningReduceRequest& request);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(RunningReduce);

#endif

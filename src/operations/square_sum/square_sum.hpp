// The sum of the squares of an array, in f64 and in the order of model/reduction.hpp: what norms are made of.
#ifndef SYNFIRE_OPERATIONS_SQUARE_SUM_SQUARE_SUM_HPP
#define SYNFIRE_OPERATIONS_SQUARE_SUM_SQUARE_SUM_HPP

#include <base/buffer.hpp>
#include <operations/kind.hpp>

namespace synfire::operations {

struct SquareSum {
  bool accumulate;  // add to what the sums hold
  View source;      // [n], f32 or f64
  View sums;        // f64 [2]: the sum, and of how many runs
  View partials;    // f64 for each chunk

  static constexpr const char* name = "square sum";
  static void operands(SquareSum& op, OperandVisitor visit) {
    visit({"the array of a norm", op.source, Access::read});
    visit({"the sums of a norm", op.sums, op.accumulate ? Access::update : Access::write});
    visit({"the partial sums of a norm", op.partials, Access::scratch});
  }
};
OperationLabel label(const SquareSum& op);
bool wants_threads(const SquareSum& op);
void run(const SquareSum& op, host::Launcher& launcher);
cuda::Hints hints(const SquareSum& op, const cuda::GpuShape& gpu);
void enqueue(const SquareSum& op, cuda::Launcher& launcher);

// An array of a synapse, in one piece of memory, or its gradient.
core::OperationList square_sum(const View& source, core::Buffer& sums, bool accumulate);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(SquareSum);

#endif

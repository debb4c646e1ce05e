#include "all_reduce.hpp"

#include <base/dtype.hpp>

#include <cstdio>

namespace synfire::operations {

OperationLabel label(const AllReduce& op) {
  char text[80];
  std::snprintf(text, sizeof text, "%s of %d ranks, %llu bytes", op.how == ranks::Join::largest ? "maxima" : "sums",
                op.ranks->place().size, static_cast<unsigned long long>(op.array.bytes));
  return {nullptr, text};
}

bool wants_threads(const AllReduce&) {
  return false;
}

void run(const AllReduce& op, host::Launcher&) {
  op.ranks->join(op.how, op.array.data, op.array.bytes / core::bytes_of_dtype(op.array.dtype));
}

}  // namespace synfire::operations

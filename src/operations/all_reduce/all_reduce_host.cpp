#include "all_reduce.hpp"

#include <base/dtype.hpp>

#include <cstdio>

namespace synfire::operations {

OperationLabel label(const AllReduce& op) {
  constexpr const char* parts[] = {"", "beginning of ", "end of "};
  uint64_t bytes = 0;
  for (const View& array : op.arrays) bytes += array.bytes;
  char text[100];
  std::snprintf(text, sizeof text, "%s%s of %d ranks, %llu bytes", parts[static_cast<size_t>(op.message)],
                op.how == ranks::Join::largest ? "maxima" : "sums", op.ranks->place().size,
                static_cast<unsigned long long>(bytes));
  return {nullptr, text};
}

bool wants_threads(const AllReduce&) {
  return false;
}

void run(const AllReduce& op, host::Launcher&) {
  if (op.message != Message::end)
    op.ranks->begin(op.how, op.arrays.size(), [&](size_t i) {
      const View& array = op.arrays[i];
      return ranks::Part{array.data, array.bytes / core::bytes_of_dtype(array.dtype)};
    });
  if (op.message != Message::begin) op.ranks->end();
}

}  // namespace synfire::operations

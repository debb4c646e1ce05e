// A copy of bytes from one view to another.
#ifndef SYNFIRE_OPERATIONS_ELEMENTWISE_COPY_HPP
#define SYNFIRE_OPERATIONS_ELEMENTWISE_COPY_HPP

#include <graph/graph.hpp>
#include <operations/kind.hpp>

namespace synfire::operations {

struct Copy {
  View source;
  View destination;  // the same number of bytes

  static constexpr const char* name = "copy";
  static void operands(Copy& op, OperandVisitor visit);
};
OperationLabel label(const Copy& op);
inline bool wants_threads(const Copy&) {
  return false;
}
void run(const Copy& op, host::Launcher& launcher);
cuda::Hints hints(const Copy& op, const cuda::GpuShape& gpu);
void enqueue(const Copy& op, cuda::Launcher& launcher);

// A request; 0 bytes means all from the offset on.
struct CopyRequest {
  core::Buffer* source;
  uint64_t source_offset;
  core::Buffer* destination;
  uint64_t destination_offset;
  uint64_t bytes;
};
core::OperationList copy(const CopyRequest& request);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(Copy);

#endif

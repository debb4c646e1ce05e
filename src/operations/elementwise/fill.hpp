// Sets every element of an array to one value.
#ifndef SYNFIRE_OPERATIONS_ELEMENTWISE_FILL_HPP
#define SYNFIRE_OPERATIONS_ELEMENTWISE_FILL_HPP

#include <graph/graph.hpp>
#include <operations/kind.hpp>

namespace synfire::operations {

struct Fill {
  View array;
  double value;
  const uint64_t* bits = nullptr;  // in device memory, instead of `value`: the bits of an element

  static constexpr const char* name = "fill";
  static void operands(Fill& op, OperandVisitor visit);
};
OperationLabel label(const Fill& op);
inline bool wants_threads(const Fill&) {
  return false;
}
void run(const Fill& op, host::Launcher& launcher);
cuda::Hints hints(const Fill& op, const cuda::GpuShape& gpu);
void enqueue(const Fill& op, cuda::Launcher& launcher);

void fill_memory(const Fill& op);
// Appends a fill whose "value" may change between replays. Throws INVALID_ARGUMENT.
void record_fill(core::Graph& graph, const core::Buffer& buffer, double value);
// Fills memory of any kind at once, and waits for completion.
void fill_now(core::Buffer& buffer, double value);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(Fill);

#endif

// destination = keep·destination + scale·source, element by element: fma(scale, source, keep·destination) in f32, in
// f64 when the arrays are f64. With a keep of 0 the destination is not read.
#ifndef SYNFIRE_OPERATIONS_ELEMENTWISE_SCALE_ADD_HPP
#define SYNFIRE_OPERATIONS_ELEMENTWISE_SCALE_ADD_HPP

#include <graph/graph.hpp>
#include <operations/kind.hpp>

namespace synfire::operations {

struct ScaleAdd {
  View source;
  View destination;
  double scale;
  double keep;
  const double* scale_value = nullptr;  // in device memory, instead of `scale`
  const double* keep_value = nullptr;

  static constexpr const char* name = "scale and add";
  static void operands(ScaleAdd& op, OperandVisitor visit);
};
OperationLabel label(const ScaleAdd& op);
bool wants_threads(const ScaleAdd& op);
void run(const ScaleAdd& op, host::Launcher& launcher);
cuda::Hints hints(const ScaleAdd& op, const cuda::GpuShape& gpu);
void enqueue(const ScaleAdd& op, cuda::Launcher& launcher);

struct ScaleAddRequest {
  core::Buffer* source;
  core::Buffer* destination;
  double scale;
  double keep;
};
// Both throw INVALID_ARGUMENT. "scale" and "keep" of a graph may change between replays.
core::OperationList scale_add(const ScaleAddRequest& request);
void record_scale_add(core::Graph& graph, const ScaleAddRequest& request);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(ScaleAdd);

#endif

// A fixed-order sum (model/reduction.hpp) over the per-neuron gradients that a backward left.
#ifndef SYNFIRE_NEURONS_SUM_GRADIENT_SUM_GRADIENT_HPP
#define SYNFIRE_NEURONS_SUM_GRADIENT_SUM_GRADIENT_HPP

#include <operations/kind.hpp>

namespace synfire::operations {

enum class SumKind : int32_t {
  batch,   // f64 [B, N] to [N], over the batch rows
  chunks,  // f64 [n] to f64 [ceil(n/reduction_chunk)]
  total,   // f64 [n] to [1]
};

struct SumGradient {
  SumKind sum;
  int32_t dtype;  // of the output (batch, total)
  View input;
  int64_t batch;  // B for batch, else 1
  int64_t count;  // N for batch, else n
  View output;
  int32_t gradient = -1;            // the number of the gradient that it is part of
  const int64_t* active = nullptr;  // in device memory: how many inputs, from the first on, are summed; null: all
  bool add = false;                 // to what the output holds, in f64 (batch, total)

  static constexpr const char* name = "sum of gradients";
  static void operands(SumGradient& op, OperandVisitor visit) {
    visit({"the layer's sums of gradients", op.input, Access::read});
    visit({"desc.parameter_gradients[].gradient", op.output, op.add ? Access::update : Access::write, Transfer::staged,
           nullptr, false, op.gradient});
  }
};
inline OperationLabel label(const SumGradient&) {
  return {};
}
inline bool wants_threads(const SumGradient&) {
  return false;
}
void run(const SumGradient& op, host::Launcher& launcher);
cuda::Hints hints(const SumGradient& op, const cuda::GpuShape& gpu);
void enqueue(const SumGradient& op, cuda::Launcher& launcher);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(SumGradient);

#endif

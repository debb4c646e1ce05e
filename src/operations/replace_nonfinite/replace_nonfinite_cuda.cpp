#include "replace_nonfinite_arguments_of.hpp"
#include "replace_nonfinite_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>
#include <base/dtype.hpp>
#include <operations/elementwise/fill.hpp>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

namespace {

// Up to this many elements, such as a frame, one block writes the count, which no kernel then has to clear first.
constexpr int64_t one_block_elements = int64_t{8} * threads_per_block;

}  // namespace

Hints hints(const ReplaceNonfinite&, const GpuShape&) {
  return {};
}

void enqueue(const ReplaceNonfinite& op, Launcher& launcher) {
  const ReplaceNonfiniteArguments arguments = arguments_of(op);
  const bool one_block = arguments.n_elements <= one_block_elements;
  if (!one_block && !op.accumulate) enqueue(Fill{op.count, 0}, launcher);
  launcher.launch(replace_nonfinite_kernel(static_cast<int>(bytes_of_dtype(op.source.dtype))),
                  one_block ? Grid{1} : launcher.over_elements(arguments.n_elements),
                  ReplaceNonfiniteLaunch{arguments, !one_block || op.accumulate});
}

}  // namespace synfire::operations

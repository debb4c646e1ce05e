// The inner loops of a step on the host.
#ifndef SYNFIRE_OPTIMIZER_OPTIMIZER_HOST_KERNELS_HPP
#define SYNFIRE_OPTIMIZER_OPTIMIZER_HOST_KERNELS_HPP

#include "optimizer_arguments.hpp"

#include <backends/host/level.hpp>

namespace synfire::host {

template <class R>
struct StepKernels {
  double (*squares)(const R* values, int64_t count);
  void (*accumulate)(const R* gradients, R* means, R share, bool is_first, int64_t count);
  void (*step)(const operations::MemberArray& array, const operations::OptimizerState& state,
               const operations::OptimizerRates& rates, int64_t first, int64_t count);
};

struct OptimizerKernels {
  StepKernels<float> f32;
  StepKernels<double> f64;
};
SYNFIRE_LEVEL_TABLES(OptimizerKernels, optimizer_kernels)

}  // namespace synfire::host

#endif

// Stacks by the twins of the kernels that they replace, one after the other.
#include "twin.hpp"

#include <fusion/stack_kernels.hpp>
#include <neurons/passes/cuda/passes_kernels.hpp>

#include <synfire/synfire.h>

namespace synfire::cuda {

const void* stack_kernel() {
  return twin<StackLaunch>({}, [](const StackLaunch& launch) {
    const auto run = [](const void* kernel, const auto& arguments) {
      static_cast<const Twin*>(kernel)->run(&arguments);
    };
    for (int i = 0; i < launch.n_links; ++i) {
      const StackLinkLaunch& link = launch.links[i];
      run(spike_product_kernel(SpikeProduct::small, false, 0), link.product);
      run(forward_kernel<float>(link.model, {1}, ForwardOutputs::any), ForwardLaunch<float>{link.pass, {}});
    }
  });
}

const void* readout_kernel() {
  return twin<ReadoutLaunch>({}, [](const ReadoutLaunch& launch) {
    const core::Extents& e = launch.extents;
    const auto steps_of = [&](const operations::Counting& counting, int64_t b) {
      return b < counting.rows(e.batch) ? counting.steps(e.n_steps, b) : 0;
    };
    for (int64_t b = 0; b < e.batch; ++b)
      for (int64_t n = 0; n < e.n_neurons; ++n) {
        const int64_t n_steps = steps_of(launch.counting, b);
        uint64_t sum = 0;
        for (int64_t t = 0; t < n_steps; ++t)
          sum += launch.spikes[t * launch.pitch + b * e.words_per_row() + n / 32] >> (n % 32) & 1u;
        launch.results[b * e.n_neurons + n] =
            launch.mean ? operations::mean_of<float>(sum, n_steps) : static_cast<float>(sum);
      }
    static_cast<const Twin*>(loss_block_kernel(SYNFIRE_DTYPE_F32))->run(&launch.loss);
    if (!launch.to) return;
    for (int64_t b = 0; b < e.batch; ++b)
      for (int64_t n = 0; n < e.n_neurons; ++n) {
        const int64_t n_steps = steps_of(launch.spread_counting, b);
        float value = launch.from[b * e.n_neurons + n];
        if (launch.spread_mean) value /= static_cast<float>(n_steps);
        for (int64_t t = 0; t < e.n_steps; ++t) {
          float& to = launch.to[t * launch.to_pitch + b * e.n_neurons + n];
          if (!launch.add)
            to = t < n_steps ? value : 0.0f;
          else if (t < n_steps)
            to += value;
        }
      }
  });
}

}  // namespace synfire::cuda

// Link after link, by the twins of the kernels that a stack stands for.
#include "kernels.hpp"

#include <cuda/twin.hpp>
#include <operations/neuron/kernels.hpp>

namespace synfire::cuda {

const void* stack_kernel() {
  return twin<StackLaunch>({}, [](const StackLaunch& launch) {
    const auto run = [](const void* kernel, const auto& arguments) {
      static_cast<const Twin*>(kernel)->run(&arguments);
    };
    for (int i = 0; i < launch.n_links; ++i) {
      const StackLinkLaunch& link = launch.links[i];
      run(spike_product_kernel(SpikeProduct::small, false), link.product);
      run(forward_kernel<float>(link.model, 1, ForwardOutputs::any), ForwardLaunch<float>{link.pass, {}});
    }
  });
}

}  // namespace synfire::cuda

// FPTT kernels of layers with rules that few layers have (model/ruled.hpp).
#include "forward_instances.cuh"

namespace synfire::cuda {

template <class E>
const void* ruled_forward_kernel(int32_t model) {
  const void* found = nullptr;
  visit_built<E>(model, [&](auto entry) {
    using Model = typename decltype(entry)::dynamics;
    if constexpr (!never_fires<Model>) found = address(forward<Ruled<Model>, E, OneNeuron, ForwardOutputs::any>);
  });
  return found;
}

template const void* ruled_forward_kernel<double>(int32_t);
template const void* ruled_forward_kernel<AnyStorage>(int32_t);

}  // namespace synfire::cuda

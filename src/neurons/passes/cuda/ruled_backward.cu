// BPTT kernels of layers with rules that few layers have (model/ruled.hpp).
#include "backward_instances.cuh"

namespace synfire::cuda {

template <class E>
const void* ruled_backward_kernel(int32_t model) {
  const void* found = nullptr;
  visit_built<E>(model, [&](auto entry) {
    using Model = typename decltype(entry)::dynamics;
    if constexpr (!never_fires<Model>)
      found = address(backward<Ruled<Model>, AnySurrogate, E, OneNeuron, BackwardInputs::parameters>);
  });
  return found;
}

template const void* ruled_backward_kernel<double>(int32_t);
template const void* ruled_backward_kernel<AnyStorage>(int32_t);

}  // namespace synfire::cuda

// The instances of the FPTT kernel and their addresses.
#ifndef SYNFIRE_NEURONS_PASSES_CUDA_FORWARD_INSTANCES_CUH
#define SYNFIRE_NEURONS_PASSES_CUDA_FORWARD_INSTANCES_CUH

#include "built.hpp"
#include "forward.cuh"
#include "passes_storage.hpp"

namespace synfire::cuda {
namespace {

template <ForwardOutputs Outputs>
struct KnownOutputs {
  static constexpr ForwardOutputs value = Outputs;
};

template <class Model, class E, Instances Of>
const void* forward_address(const Ownership& ownership, ForwardOutputs outputs) {
  const void* found = nullptr;
  const auto find = [&](auto kind) {
    constexpr ForwardOutputs own = decltype(kind)::value;
    if constexpr (has_forward<E>(Of, never_fires<Model>, own))
      if (outputs == own)
        visit_ownership<forward_widths<E>(Of, own)>(
            ownership, [&](auto o) { found = address(forward<Model, E, decltype(o), own>); });
  };
  find(KnownOutputs<ForwardOutputs::potential>{});
  find(KnownOutputs<ForwardOutputs::bits>{});
  find(KnownOutputs<ForwardOutputs::time_bits>{});
  find(KnownOutputs<ForwardOutputs::dense>{});
  find(KnownOutputs<ForwardOutputs::bytes>{});
  find(KnownOutputs<ForwardOutputs::any>{});
  return found;
}

}  // namespace

template <class E>
const void* forward_kernel(int32_t model, Ownership ownership, ForwardOutputs outputs) {
  const void* found = nullptr;
  visit_built<E>(model, [&](auto entry) {
    using Entry = decltype(entry);
    using Model = typename Entry::dynamics;
    if constexpr (AdaptsThreshold<Model>)
      return;  // has Ruled kernels only
    else if constexpr (instances_of(Entry::id, never_fires<Model>) == Instances::all)
      found = forward_address<Model, E, Instances::all>(ownership, outputs);
    else if constexpr (few_have<E>)
      found = FewInstances<ModelsOfFile<Entry>>::forward(model, storage_of<E>, ownership, outputs);
  });
  return found;
}

}  // namespace synfire::cuda

#endif

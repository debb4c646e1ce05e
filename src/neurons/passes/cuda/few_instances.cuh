// The kernels of models with few instances (passes_kernels.hpp).
#ifndef SYNFIRE_NEURONS_PASSES_CUDA_FEW_INSTANCES_CUH
#define SYNFIRE_NEURONS_PASSES_CUDA_FEW_INSTANCES_CUH

#include "backward_instances.cuh"
#include "forward_instances.cuh"

namespace synfire::cuda {
namespace {

// Calls f with the entry of the model and a value of the storage type, if the build has such kernels.
template <class Entries, class F>
void visit_few([[maybe_unused]] int32_t model, [[maybe_unused]] Storage storage, [[maybe_unused]] F f) {
  if constexpr (!is_same<Entries, List<>>)
    visit(Entries{}, model, [&](auto entry) {
      using Entry = decltype(entry);
      if constexpr (instances_of(Entry::id, never_fires<typename Entry::type>) == Instances::few &&
                    !AdaptsThreshold<typename Entry::type> && built_kernels.have_model(Entry::id, Entry::type::name))
        with_storage(storage, [&](auto e) {
          using E = decltype(e);
          if constexpr (few_have<E> && builds_storage<E>) f(entry, e);
        });
    });
}

}  // namespace

template <class Entries>
const void* FewInstances<Entries>::forward(int32_t model, Storage storage, const Ownership& ownership,
                                           ForwardOutputs outputs) {
  const void* found = nullptr;
  visit_few<Entries>(model, storage, [&](auto entry, auto e) {
    found = forward_address<typename decltype(entry)::dynamics, decltype(e), Instances::few>(ownership, outputs);
  });
  return found;
}

template <class Entries>
const void* FewInstances<Entries>::backward(int32_t model, Storage storage, int32_t surrogate,
                                            const Ownership& ownership, BackwardInputs inputs) {
  const void* found = nullptr;
  visit_few<Entries>(model, storage, [&](auto entry, auto e) {
    found =
        backward_address<typename decltype(entry)::dynamics, decltype(e), Instances::few>(surrogate, ownership, inputs);
  });
  return found;
}

}  // namespace synfire::cuda

#endif

// The instances of the BPTT kernel and their addresses.
#ifndef SYNFIRE_NEURONS_PASSES_CUDA_BACKWARD_INSTANCES_CUH
#define SYNFIRE_NEURONS_PASSES_CUDA_BACKWARD_INSTANCES_CUH

#include "backward.cuh"
#include "built.hpp"
#include "passes_storage.hpp"

namespace synfire::cuda {
namespace {

template <class Model, class E>
const void* linear_backward_address(const Ownership& ownership, BackwardInputs inputs) {
  if constexpr (is_same<E, AnyStorage> || is_same<E, double>)
    if (inputs == BackwardInputs::parameters)
      return address(backward<Model, NoSurrogate, E, OneNeuron, BackwardInputs::parameters>);
  constexpr BackwardInputs own = is_same<E, AnyStorage> ? BackwardInputs::any : BackwardInputs::potential;
  constexpr Widths widths = is_same<E, AnyStorage> ? Widths{} : linear_backward_widths<E>();
  const void* found = nullptr;
  if (inputs == own)
    visit_ownership<widths>(ownership, [&](auto o) { found = address(linear_backward<Model, E, decltype(o)>); });
  return found;
}

// Storing two variables needs twice the shared memory; fewer neurons per thread keep a block's share small.
template <class Model, class Surrogate, class E, Widths Of, bool WithOne = true>
const void* spikes_address(const Ownership& ownership) {
  constexpr Widths widths = backward_variables<Model>(BackwardInputs::spikes) == 1 ? Of : Widths{};
  const void* found = nullptr;
  visit_ownership<widths, WithOne>(
      ownership, [&](auto o) { found = address(backward<Model, Surrogate, E, decltype(o), BackwardInputs::spikes>); });
  return found;
}

// The instance of a model that fires, with storage E. Rare surrogates share one, which selects them at run time, so
// that the common ones are not slowed. Gradients of parameters, and sequences other than spikes and inputs, use one
// neuron per thread, for any surrogate; so does a model with few instances wherever a thread has one neuron.
template <class Model, class E, Instances Of>
const void* backward_address(int32_t surrogate, const Ownership& ownership, BackwardInputs inputs) {
  if constexpr (is_same<E, AnyStorage> || is_same<E, double>) {
    if (inputs == BackwardInputs::parameters)
      return address(backward<Model, AnySurrogate, E, OneNeuron, BackwardInputs::parameters>);
    if constexpr (Of == Instances::all)
      if (inputs == BackwardInputs::any)
        return address(backward<Model, AnySurrogate, E, OneNeuron, BackwardInputs::any>);
  }
  if constexpr (has_backward<E>(Of, BackwardInputs::spikes)) {
    if (inputs != BackwardInputs::spikes) return nullptr;
    constexpr bool shares_one = Of == Instances::few;
    if (!has_own_backward(Of, surrogate) || (shares_one && ownership == Ownership{1}))
      return spikes_address<Model, AnySurrogate, E, backward_widths<E>(Of, any_surrogate)>(ownership);
    const void* found = nullptr;
    visit(Surrogates{}, surrogate, [&](auto entry) {
      using Entry = decltype(entry);
      if constexpr (has_own_backward(Of, Entry::id))
        found =
            spikes_address<Model, typename Entry::type, E, backward_widths<E>(Of, Entry::id), !shares_one>(ownership);
    });
    return found;
  }
  return nullptr;
}

// IF's backward in f32 has instances without the product by LIF's decay, which is on the chain from step to step.
template <class Entry, class E>
struct BackwardDynamics {
  using type = typename Entry::dynamics;
};
template <class Entry>
  requires(Entry::id == SYNFIRE_MODEL_IF)
struct BackwardDynamics<Entry, float> {
  using type = typename Entry::type;
};

}  // namespace

template <class E>
const void* backward_kernel(int32_t model, int32_t surrogate, Ownership ownership, BackwardInputs inputs) {
  const void* found = nullptr;
  visit_built<E>(model, [&](auto entry) {
    using Entry = decltype(entry);
    using Model = typename BackwardDynamics<Entry, E>::type;
    if constexpr (AdaptsThreshold<Model>)
      return;  // has Ruled kernels only
    else if constexpr (never_fires<Model>)
      found = linear_backward_address<Model, E>(ownership, inputs);
    else if constexpr (instances_of(Entry::id, false) == Instances::all)
      found = backward_address<Model, E, Instances::all>(surrogate, ownership, inputs);
    else if constexpr (few_have<E>)
      found = FewInstances<ModelsOfFile<Entry>>::backward(model, storage_of<E>, surrogate, ownership, inputs);
  });
  return found;
}

}  // namespace synfire::cuda

#endif

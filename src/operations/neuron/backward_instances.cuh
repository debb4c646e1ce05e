// The instances of the BPTT kernel and their addresses.
#ifndef SYNFIRE_OPERATIONS_NEURON_BACKWARD_INSTANCES_CUH
#define SYNFIRE_OPERATIONS_NEURON_BACKWARD_INSTANCES_CUH

#include "backward.cuh"
#include "built.hpp"

namespace synfire::cuda {
namespace {

// Gradients of parameters take the general kernel.
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

// Storing two variables needs twice the shared memory; threads with fewer neurons keep a block's share small.
template <class Model, class Surrogate, class E, Widths Of>
const void* spikes_address(const Ownership& ownership) {
  constexpr Widths widths = backward_variables<Model>(BackwardInputs::spikes) == 1 ? Of : Widths{};
  const void* found = nullptr;
  visit_ownership<widths>(
      ownership, [&](auto o) { found = address(backward<Model, Surrogate, E, decltype(o), BackwardInputs::spikes>); });
  return found;
}

// Rare surrogates share one instance, which selects them at run time, so the common ones are not slowed. Gradients of
// parameters, and sequences other than spikes and inputs, use one neuron per thread, for any surrogate.
template <class Model, class E>
const void* backward_address(int32_t surrogate, const Ownership& ownership, BackwardInputs inputs) {
  constexpr bool any_type = is_same<E, AnyStorage> || is_same<E, double>;
  if constexpr (any_type) {
    if (inputs == BackwardInputs::parameters)
      return address(backward<Model, AnySurrogate, E, OneNeuron, BackwardInputs::parameters>);
    if (inputs == BackwardInputs::any) return address(backward<Model, AnySurrogate, E, OneNeuron, BackwardInputs::any>);
  }
  if constexpr (!is_same<E, AnyStorage>) {
    if (inputs == BackwardInputs::spikes) {
      const void* found = nullptr;
      if (!has_own_backward(surrogate))
        return spikes_address<Model, AnySurrogate, E, backward_widths<E>(any_surrogate)>(ownership);
      visit(Surrogates{}, surrogate, [&](auto entry) {
        using Entry = decltype(entry);
        if constexpr (has_own_backward(Entry::id))
          found = spikes_address<Model, typename Entry::type, E, backward_widths<E>(Entry::id)>(ownership);
      });
      return found;
    }
  }
  return nullptr;
}

}  // namespace

template <class E>
const void* backward_kernel(int32_t model, int32_t surrogate, Ownership ownership, BackwardInputs inputs) {
  const void* found = nullptr;
  visit_built<E>(model, [&](auto entry) {
    using Model = typename decltype(entry)::dynamics;
    if constexpr (never_fires<Model>)
      found = linear_backward_address<Model, E>(ownership, inputs);
    else
      found = backward_address<Model, E>(surrogate, ownership, inputs);
  });
  return found;
}

}  // namespace synfire::cuda

#endif

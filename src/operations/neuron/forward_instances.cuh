// The instances of the FPTT kernel and their addresses.
#ifndef SYNFIRE_OPERATIONS_NEURON_FORWARD_INSTANCES_CUH
#define SYNFIRE_OPERATIONS_NEURON_FORWARD_INSTANCES_CUH

#include "built.hpp"
#include "forward.cuh"

namespace synfire::cuda {
namespace {

template <ForwardOutputs Outputs>
struct KnownOutputs {
  static constexpr ForwardOutputs value = Outputs;
};

}  // namespace

template <class E>
const void* forward_kernel(int32_t model, Ownership ownership, ForwardOutputs outputs) {
  constexpr bool any_type = is_same<E, AnyStorage> || is_same<E, double>;
  constexpr bool one_type = !is_same<E, AnyStorage>;
  const void* found = nullptr;
  visit_built<E>(model, [&](auto entry) {
    using Model = typename decltype(entry)::dynamics;
    const auto find = [&](auto kind) {
      constexpr ForwardOutputs own = decltype(kind)::value;
      if (outputs == own)
        visit_ownership<forward_widths<E>(own)>(ownership,
                                                [&](auto o) { found = address(forward<Model, E, decltype(o), own>); });
    };
    if constexpr (one_type && never_fires<Model>) {
      find(KnownOutputs<ForwardOutputs::potential>{});
    } else if constexpr (one_type) {
      find(KnownOutputs<ForwardOutputs::bits>{});
      find(KnownOutputs<ForwardOutputs::time_bits>{});
      find(KnownOutputs<ForwardOutputs::dense>{});
      find(KnownOutputs<ForwardOutputs::bytes>{});
    }
    if constexpr (any_type) find(KnownOutputs<ForwardOutputs::any>{});
  });
  return found;
}

}  // namespace synfire::cuda

#endif

// The storage types of the kernels as numbers, and the instances of a model for each.
#ifndef SYNFIRE_NEURONS_PASSES_CUDA_PASSES_STORAGE_HPP
#define SYNFIRE_NEURONS_PASSES_CUDA_PASSES_STORAGE_HPP

#include "built.hpp"
#include "passes_kernels.hpp"

namespace synfire::cuda {

template <class E>
inline constexpr Storage storage_of = Storage::any;
template <>
inline constexpr Storage storage_of<float> = Storage::f32;
template <>
inline constexpr Storage storage_of<double> = Storage::f64;
template <>
inline constexpr Storage storage_of<F16> = Storage::f16;
template <>
inline constexpr Storage storage_of<Bf16> = Storage::bf16;

// Calls f with a value of the type.
template <class F>
auto with_storage(Storage storage, F f) {
  switch (storage) {
    case Storage::f32:
      return f(float{});
    case Storage::f64:
      return f(double{});
    case Storage::f16:
      return f(F16{});
    case Storage::bf16:
      return f(Bf16{});
    case Storage::any:
      break;
  }
  return f(AnyStorage{});
}

// True if a layer of this dtype takes the instance with storage E.
template <class E>
constexpr bool has_forward(Instances instances, bool never_fires, ForwardOutputs outputs) {
  const bool fits = outputs == ForwardOutputs::any || never_fires == (outputs == ForwardOutputs::potential);
  bool taken = false;
  for (const Storage layer : layer_storages)
    for (int wanted = 0; wanted <= static_cast<int>(ForwardOutputs::potential); ++wanted) {
      const ForwardInstance instance = instance_for(instances, layer, static_cast<ForwardOutputs>(wanted));
      taken = taken || (instance.storage == storage_of<E> && instance.outputs == outputs);
    }
  return fits && taken;
}
template <class E>
constexpr bool has_backward(Instances instances, BackwardInputs inputs) {
  bool taken = false;
  for (const Storage layer : layer_storages)
    for (int wanted = 0; wanted <= static_cast<int>(BackwardInputs::potential); ++wanted) {
      const BackwardInstance instance = instance_for(instances, layer, static_cast<BackwardInputs>(wanted));
      taken = taken || (instance.storage == storage_of<E> && instance.inputs == inputs);
    }
  return taken;
}

// True if models with few instances have any with this storage.
template <class E>
inline constexpr bool few_have = is_float<E> || is_double<E> || storage_of<E> == Storage::any;

// The models whose few instances are in the same file.
template <class Entry>
struct FileOf {
  using models = model::List<Entry>;
};
template <class Entry>
  requires(Entry::id >= model::first_added_id)
struct FileOf<Entry> {
  using models = model::AddedModels;
};
template <class Dynamics>
inline constexpr bool has_current = false;
template <>
inline constexpr bool has_current<model::CubaLif> = true;
template <class Entry>
  requires(has_current<typename Entry::dynamics>)
struct FileOf<Entry> {
  using models = model::CubaModels;
};
template <class Entry>
using ModelsOfFile = typename FileOf<Entry>::models;

}  // namespace synfire::cuda

#endif

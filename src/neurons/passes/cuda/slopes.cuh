// The surrogate's derivative in a backward: of one known at compile time, or of any, selected at run time.
#ifndef SYNFIRE_NEURONS_PASSES_CUDA_SLOPES_CUH
#define SYNFIRE_NEURONS_PASSES_CUDA_SLOPES_CUH

#include "passes_kernels.cuh"

namespace synfire::cuda {
namespace {

struct AnySurrogate {
  static constexpr int n_constants = max_surrogate_constants;
};

// The surrogate of a model that never fires.
struct NoSurrogate {
  static constexpr int n_constants = 0;
  template <class R>
  static __device__ __forceinline__ R derivative(const R* /*constants*/, R /*x*/) {
    return R(0);
  }
};

template <class R, class... Entries>
__device__ __forceinline__ R derivative_of(List<Entries...>, int32_t surrogate, const R* constants, R x) {
  R g = R(0);
  ((Entries::id == surrogate ? static_cast<void>(g = Entries::type::derivative(constants, x)) : static_cast<void>(0)),
   ...);
  return g;
}

// Not inlined: in an unrolled loop, a choice among many surrogates would fill the instruction cache.
template <class R>
__device__ __noinline__ R any_derivative(int32_t surrogate, R c0, R c1, R c2, R c3, R x) {
  const R constants[max_surrogate_constants] = {c0, c1, c2, c3};
  return derivative_of(Surrogates{}, surrogate, constants, x);
}

// Surrogates cheap enough for unrolled loops, with one choice for a whole chunk of steps: a few additions, products and
// at most a reciprocal. A call would wait for every load in flight.
template <class Surrogate>
inline constexpr bool is_rational = false;
template <class Surrogate>
  requires requires {
    Surrogate::rational;
  }
inline constexpr bool is_rational<Surrogate> = Surrogate::rational;
// Includes those that have their own instances with models that have all, for a model with few.
template <class Model, class Entry>
inline constexpr bool is_unrolled = is_rational<typename Entry::type> || (!is_same<Model, Lif> && !is_same<Model, If> &&
                                                                          has_own_backward(Instances::all, Entry::id));

template <class Model, class F, class... Entries>
__device__ __forceinline__ bool visit_unrolled(List<Entries...>, int32_t surrogate, F f) {
  bool found = false;
  const auto visit_one = [&](auto entry) {
    using Entry = decltype(entry);
    if constexpr (is_unrolled<Model, Entry>)
      if (Entry::id == surrogate) {
        f(typename Entry::type{});
        found = true;
      }
  };
  (visit_one(Entries{}), ...);
  return found;
}

template <class Surrogate, class R>
__device__ __forceinline__ R derivative(int32_t surrogate, const R* constants, R x) {
  if constexpr (is_same<Surrogate, AnySurrogate>)
    return any_derivative(surrogate, constants[0], constants[1], constants[2], constants[3], x);
  else
    return Surrogate::derivative(constants, x);
}

}  // namespace
}  // namespace synfire::cuda

#endif

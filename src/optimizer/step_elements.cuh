// Steps on elements of arrays, for kernels.
#ifndef SYNFIRE_OPTIMIZER_STEP_ELEMENTS_CUH
#define SYNFIRE_OPTIMIZER_STEP_ELEMENTS_CUH

#include "optimizer_arithmetic.hpp"

namespace synfire::cuda {
namespace {

using namespace synfire::operations;

// Four numbers of an array, which may end before the fourth or have another alignment.
template <class R>
struct alignas(4 * sizeof(R) > 16 ? 16 : 4 * sizeof(R)) Four {
  R at[4];
};

template <OptimizerRule rule, class R>
__device__ __forceinline__ void step_element(const StepConstants<R>& k, const MemberArray& array, int64_t at) {
  R moment1 = 0, moment2 = 0;
  if constexpr (rule != OptimizerRule::descent) moment1 = static_cast<const R*>(array.moment1)[at];
  if constexpr (rule == OptimizerRule::adam) moment2 = static_cast<const R*>(array.moment2)[at];
  R* const values = static_cast<R*>(array.values);
  values[at] = stepped_weight<rule>(k, static_cast<const R*>(array.gradient)[at], values[at], moment1, moment2);
  if constexpr (rule != OptimizerRule::descent) static_cast<R*>(array.moment1)[at] = moment1;
  if constexpr (rule == OptimizerRule::adam) static_cast<R*>(array.moment2)[at] = moment2;
}

template <OptimizerRule rule, class R>
__device__ __forceinline__ Four<R> step_four(const StepConstants<R>& k, const MemberArray& array, int64_t at) {
  const auto four = [&](void* data) -> Four<R>& { return *reinterpret_cast<Four<R>*>(static_cast<R*>(data) + at); };
  Four<R> weights = four(array.values), moments1 = {}, moments2 = {};
  const Four<R> gradients = *reinterpret_cast<const Four<R>*>(static_cast<const R*>(array.gradient) + at);
  if constexpr (rule != OptimizerRule::descent) moments1 = four(array.moment1);
  if constexpr (rule == OptimizerRule::adam) moments2 = four(array.moment2);
#pragma unroll
  for (int i = 0; i < 4; ++i)
    weights.at[i] = stepped_weight<rule>(k, gradients.at[i], weights.at[i], moments1.at[i], moments2.at[i]);
  if constexpr (rule != OptimizerRule::descent) four(array.moment1) = moments1;
  if constexpr (rule == OptimizerRule::adam) four(array.moment2) = moments2;
  return weights;
}

// The entry of a list that a piece belongs to: `at` is the first piece of an entry.
template <class Entry, class At>
__device__ __forceinline__ const Entry& entry_of(const Entry* entries, int32_t count, int64_t index, At at) {
  int32_t low = 0, high = count - 1;
  while (low < high) {
    const int32_t middle = (low + high + 1) / 2;
    if (at(entries[middle]) <= index)
      low = middle;
    else
      high = middle - 1;
  }
  return entries[low];
}

}  // namespace
}  // namespace synfire::cuda

#endif

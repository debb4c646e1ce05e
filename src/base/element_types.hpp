// C++ types of elements, lists of them, and the one dispatch from a type at run time to one of a list. Kernels and
// models compiled at run time read this too, so it includes no standard header but those that they have.
#ifndef SYNFIRE_BASE_ELEMENT_TYPES_HPP
#define SYNFIRE_BASE_ELEMENT_TYPES_HPP

#include <synfire/synfire.h>

#include <cstdint>

namespace synfire::core {

// The type's SYNFIRE_DTYPE_. Types that C++ does not have state their own.
template <class E>
inline constexpr int32_t dtype_of = E::dtype;
template <>
inline constexpr int32_t dtype_of<float> = SYNFIRE_DTYPE_F32;
template <>
inline constexpr int32_t dtype_of<double> = SYNFIRE_DTYPE_F64;
template <>
inline constexpr int32_t dtype_of<uint8_t> = SYNFIRE_DTYPE_U8;
template <>
inline constexpr int32_t dtype_of<uint32_t> = SYNFIRE_DTYPE_U32;
template <>
inline constexpr int32_t dtype_of<uint64_t> = SYNFIRE_DTYPE_U64;

// The types of a dispatch, in the order in which they are compared; the last one is taken without a comparison.
template <class... E>
struct ElementTypes {
  template <class... More>
  using with = ElementTypes<More..., E...>;
  template <template <class> class Of>
  using each = ElementTypes<Of<E>...>;
};

// The argument of the function of a dispatch.
template <class E>
struct ElementType {
  using Type = E;
};

// Calls f with the type of the list that has this dtype: f(ElementType<E>{}).
template <class First, class... Rest, class F>
constexpr decltype(auto) with_element_type(ElementTypes<First, Rest...>, int32_t dtype, F&& f) {
  if constexpr (sizeof...(Rest) > 0)
    if (dtype != dtype_of<First>) return with_element_type(ElementTypes<Rest...>{}, dtype, f);
  return f(ElementType<First>{});
}

}  // namespace synfire::core

#endif

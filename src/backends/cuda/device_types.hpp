// Types for kernels and the host code that launches them: threads of a block, and elements.
#ifndef SYNFIRE_BACKENDS_CUDA_DEVICE_TYPES_HPP
#define SYNFIRE_BACKENDS_CUDA_DEVICE_TYPES_HPP

#include <base/element_types.hpp>

#include <cstdint>

namespace synfire::cuda {

// The threads of a block, unless a layer asks for fewer.
inline constexpr int threads_per_block = 128;

// How an instance reads and writes sequences: in one type or, as AnyStorage, in the type of each at run time (f32, f16
// or bf16, beside f32 arithmetic).
struct F16 {
  static constexpr int32_t dtype = SYNFIRE_DTYPE_F16;
  uint16_t bits;
};
struct Bf16 {
  static constexpr int32_t dtype = SYNFIRE_DTYPE_BF16;
  uint16_t bits;
};
struct AnyStorage {
  uint32_t bits;
};

// Types of numbers: those whose arithmetic is f32, all.
using F32NumberTypes = core::ElementTypes<F16, Bf16, float>;
using NumberTypes = F32NumberTypes::with<double>;

template <class E>
struct ArithmeticOf {
  using type = float;
};
template <>
struct ArithmeticOf<double> {
  using type = double;
};
template <class E>
using Arithmetic = typename ArithmeticOf<E>::type;
// Types of numbers beside arithmetic in R.
template <class R>
struct NumbersBeside {
  using types = F32NumberTypes;
};
template <>
struct NumbersBeside<double> {
  using types = core::ElementTypes<double>;
};
template <class R>
using NumberTypesBeside = typename NumbersBeside<R>::types;

template <class E>
inline constexpr bool is_double = sizeof(Arithmetic<E>) == sizeof(double);

}  // namespace synfire::cuda

#endif

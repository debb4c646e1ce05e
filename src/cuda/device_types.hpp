// Types for kernels and the host code that launches them: threads of a block, and elements.
#ifndef SYNFIRE_CUDA_DEVICE_TYPES_HPP
#define SYNFIRE_CUDA_DEVICE_TYPES_HPP

#include <cstdint>

namespace synfire::cuda {

// The threads of a block, unless a layer asks for fewer.
inline constexpr int threads_per_block = 128;

// How an instance reads and writes sequences: in one type or, as AnyStorage, in the type of each at run time (f32, f16
// or bf16, beside f32 arithmetic).
struct F16 {
  uint16_t bits;
};
struct Bf16 {
  uint16_t bits;
};
struct AnyStorage {
  uint32_t bits;
};

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
template <class E>
inline constexpr bool is_double = sizeof(Arithmetic<E>) == sizeof(double);

}  // namespace synfire::cuda

#endif

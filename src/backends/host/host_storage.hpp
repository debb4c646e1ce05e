// Conversions of rows between their storage type and the arithmetic type R, and packed spikes. They are branch-free
// integer arithmetic that compilers vectorise at every level; they round to nearest, ties to even, and keep subnormals,
// as the GPU's instructions do. Included by kernels, some of which are compiled once per instruction level.
#ifndef SYNFIRE_BACKENDS_HOST_HOST_STORAGE_HPP
#define SYNFIRE_BACKENDS_HOST_HOST_STORAGE_HPP

#include <base/element_types.hpp>
#include <base/extents.hpp>

#include <synfire/synfire.h>
#include <synfire/model/models.hpp>

namespace synfire::host {

// The most neurons of a tile, for rows on a thread's stack.
inline constexpr int max_tile = 512;

}  // namespace synfire::host

namespace synfire::host::SYNFIRE_MODEL_LEVEL {
namespace {

using namespace synfire::model;
using core::Sequence;

// ---- one number -----------------------------------------------------------------------------------------------------

struct F16 {
  static constexpr int32_t dtype = SYNFIRE_DTYPE_F16;
  uint16_t bits;
};
struct Bf16 {
  static constexpr int32_t dtype = SYNFIRE_DTYPE_BF16;
  uint16_t bits;
};
struct U8 {
  static constexpr int32_t dtype = SYNFIRE_DTYPE_U8;
  uint8_t bits;
};

// Types of numbers: those that are converted, those whose arithmetic is f32, all.
using NarrowTypes = core::ElementTypes<F16, Bf16>;
using WrittenTypes = core::ElementTypes<F16, Bf16, U8>;  // u8: spikes
using F32NumberTypes = core::ElementTypes<F16, Bf16, float>;
using NumberTypes = F32NumberTypes::with<double>;
// Those beside arithmetic in R.
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
struct ArithmeticOf {
  using type = float;
};
template <>
struct ArithmeticOf<double> {
  using type = double;
};
template <class E>
using Arithmetic = typename ArithmeticOf<E>::type;

SYNFIRE_MODEL_FN float decode(float stored) {
  return stored;
}
SYNFIRE_MODEL_FN double decode(double stored) {
  return stored;
}
SYNFIRE_MODEL_FN float decode(F16 stored) {
  const u32 magnitude = stored.bits & 0x7FFFu, sign = static_cast<u32>(stored.bits & 0x8000u) << 16;
  // 2¹¹² moves the exponent from its place in f16 to that in f32, and normalises subnormals.
  const u32 finite = bits_of(from_bits(magnitude << 13) * from_bits(0x77800000u));
  return from_bits(sign | (magnitude >= 0x7C00u ? (finite | 0x7F800000u) : finite));
}
SYNFIRE_MODEL_FN float decode(Bf16 stored) {
  return from_bits(static_cast<u32>(stored.bits) << 16);
}

template <class E>
E encode(Arithmetic<E> value) = delete;

template <>
SYNFIRE_MODEL_FN float encode<float>(float value) {
  return value;
}
template <>
SYNFIRE_MODEL_FN double encode<double>(double value) {
  return value;
}
template <>
SYNFIRE_MODEL_FN F16 encode<F16>(float value) {
  const u32 bits = bits_of(value), magnitude = bits & 0x7FFFFFFFu, sign = bits >> 31 << 15;
  // Adding ½ rounds a number below 2⁻¹⁴ at the last place that an f16 subnormal has.
  const u32 subnormal = bits_of(from_bits(magnitude) + 0.5f) - 0x3F000000u;
  const u32 normal = (magnitude + 0xC8000FFFu + ((magnitude >> 13) & 1u)) >> 13;
  u32 f16 = magnitude < 0x38800000u ? subnormal : normal;
  f16 = magnitude >= 0x477FF000u ? 0x7C00u : f16;  // 65520 and more round to infinity
  f16 = magnitude > 0x7F800000u ? 0x7FFFu : f16;
  return {static_cast<uint16_t>(sign | f16)};
}
template <>
SYNFIRE_MODEL_FN Bf16 encode<Bf16>(float value) {
  const u32 bits = bits_of(value);
  const u32 rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  return {static_cast<uint16_t>((bits & 0x7FFFFFFFu) > 0x7F800000u ? 0x7FFFu : rounded)};
}
template <>
SYNFIRE_MODEL_FN U8 encode<U8>(float value) {
  return {static_cast<uint8_t>(static_cast<int>(value))};
}

// One element of an array of numbers of any of these types.
template <class R, class Types>
R number_at(Types types, int32_t dtype, const void* data, int64_t at) {
  return core::with_element_type(types, dtype, [&](auto type) {
    return static_cast<R>(decode(static_cast<const typename decltype(type)::Type*>(data)[at]));
  });
}

// ---- rows -----------------------------------------------------------------------------------------------------------

template <class R>
void copy_row(R* __restrict to, const R* __restrict from, int count) {
  for (int i = 0; i < count; ++i) to[i] = from[i];
}

template <class R>
void fill_row(R* to, R value, int count) {
  for (int i = 0; i < count; ++i) to[i] = value;
}

// Prefetches bytes to read (0) or write (1) soon. Inlined, because g++ drops calls of functions that only prefetch.
template <int Write>
SYNFIRE_MODEL_FN void prefetch_bytes(const char* bytes, int64_t count) {
  for (int64_t at = 0; at < count; at += 64) __builtin_prefetch(bytes + at, Write, 3);
}

template <int Write, class R>
SYNFIRE_MODEL_FN void prefetch_array(const R* array, int64_t element, int count) {
  if (array)
    prefetch_bytes<Write>(reinterpret_cast<const char*>(array + element), count * static_cast<int64_t>(sizeof(R)));
}

template <int Write>
SYNFIRE_MODEL_FN void prefetch_row(const Sequence& sequence, int64_t t, int64_t element, int count) {
  if (!sequence) return;
  const int64_t bytes = sequence.dtype == SYNFIRE_DTYPE_F32   ? 4
                        : sequence.dtype == SYNFIRE_DTYPE_F64 ? 8
                        : sequence.dtype == SYNFIRE_DTYPE_U8  ? 1
                                                              : 2;
  prefetch_bytes<Write>(static_cast<const char*>(sequence.data) + (t * sequence.pitch + element) * bytes,
                        count * bytes);
}

template <class E>
void decode_row(float* __restrict to, const E* __restrict from, int count) {
  for (int i = 0; i < count; ++i) to[i] = decode(from[i]);
}

template <class E>
void encode_row(E* __restrict to, const float* __restrict from, int count) {
  for (int i = 0; i < count; ++i) to[i] = encode<E>(from[i]);
}

template <class E>
E* element(const Sequence& sequence, int64_t step, int64_t at) {
  return static_cast<E*>(sequence.data) + step * sequence.pitch + at;
}

inline bool holds(const Sequence& sequence, float) {
  return sequence.dtype == SYNFIRE_DTYPE_F32;
}
inline bool holds(const Sequence& sequence, double) {
  return sequence.dtype == SYNFIRE_DTYPE_F64;
}

template <class R>
struct Row {
  R values[max_tile];
  constexpr explicit Row(R value) : values() {
    for (R& v : values) v = value;
  }
};
template <class R>
constexpr Row<R> zeros(R(0));
// Stands for a gradient that is not given: adding −0 changes no number.
template <class R>
constexpr Row<R> negative_zeros(R(-0.0));

// A row as R: in place if it is stored as R, else converted into `scratch`; `absent` if it is not given.
template <class R>
const R* read_row(const Sequence& sequence, int64_t step, int64_t at, int count, R* scratch,
                  const Row<R>& absent = zeros<R>) {
  if (!sequence) return absent.values;
  if (holds(sequence, R())) return element<const R>(sequence, step, at);
  if constexpr (sizeof(R) == 4)
    core::with_element_type(NarrowTypes{}, sequence.dtype, [&](auto type) {
      decode_row(scratch, element<const typename decltype(type)::Type>(sequence, step, at), count);
    });
  return scratch;
}

template <class R>
void write_row(const Sequence& sequence, int64_t step, int64_t at, int count, const R* row) {
  if (!sequence) return;
  if (holds(sequence, R())) return copy_row(element<R>(sequence, step, at), row, count);
  if constexpr (sizeof(R) == 4) {
    core::with_element_type(WrittenTypes{}, sequence.dtype, [&](auto type) {
      encode_row(element<typename decltype(type)::Type>(sequence, step, at), row, count);
    });
  } else {  // the only other type beside f64 is u8, for spikes
    auto* const bytes = element<uint8_t>(sequence, step, at);
    for (int i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(row[i] != R(0));
  }
}

// ---- packed spikes --------------------------------------------------------------------------------------------------

template <class R>
void pack_words(uint32_t* __restrict words, const R* __restrict spikes, int n_words) {
  for (int w = 0; w < n_words; ++w) {
    uint32_t word = 0;
    for (int j = 0; j < 32; ++j) word |= static_cast<uint32_t>(spikes[32 * w + j] != R(0)) << j;
    words[w] = word;
  }
}

template <class R>
void pack_step(uint32_t* __restrict words, const R* __restrict spikes, int step, int count) {
  const uint32_t bit = uint32_t{1} << step;
  if (step == 0)
    for (int i = 0; i < count; ++i) words[i] = spikes[i] != R(0) ? bit : 0u;
  else
    for (int i = 0; i < count; ++i) words[i] |= spikes[i] != R(0) ? bit : 0u;
}

}  // namespace
}  // namespace synfire::host::SYNFIRE_MODEL_LEVEL

#endif

// Combinations: a thread for a unit of neighbouring elements, which it loads and stores by 16 bytes where addresses
// allow. Integers are combined in packed bytes or bits. Each kernel is for one kind of destination; a source's format
// is looked at where it is read, which is the same for all threads.
#include "combine_kernels.hpp"

#include <backends/cuda/cuda_storage.cuh>

#include <synfire/synfire.h>

namespace synfire::cuda {
namespace {

using operations::bits_from;
using operations::CombineArrays;
using operations::CombineGradientArrays;
using operations::CombineKind;
using operations::CombineSource;
using operations::SpikeStorage;

// ---- places ---------------------------------------------------------------------------------------------------------

struct Quotient {
  int64_t whole, rest;
};

// Divides in 32 bits where that is enough, because a division in 64 bits takes much longer.
__device__ __forceinline__ Quotient divided(int64_t value, int64_t by) {
  if (static_cast<uint64_t>(value | by) >> 32 == 0) {
    const uint32_t whole = static_cast<uint32_t>(value) / static_cast<uint32_t>(by);
    return {whole, static_cast<uint32_t>(value) - whole * static_cast<uint32_t>(by)};
  }
  return {value / by, value % by};
}

// A unit: of step t (or of 32 steps), batch row b, `count` elements from n on.
struct Unit {
  int64_t t, b, n;
  int count;
};

__device__ __forceinline__ Unit unit_at(const core::Extents& e, int64_t per_row, int64_t index, int length) {
  const Quotient row = divided(index, per_row), step = divided(row.whole, e.batch);
  const int64_t n = row.rest * length, left = e.n_neurons - n;
  return {step.whole, step.rest, n, left < length ? static_cast<int>(left) : length};
}

// The source that has an element of a concatenation: the element there, and how many channels follow in it.
struct Part {
  int source;
  int64_t element, left;
};

__device__ __forceinline__ Part part_of(const CombineArrays& arrays, int64_t n) {
  const Quotient at = divided(n, arrays.channels);
  const int k = operations::source_of(arrays, at.rest);
  const CombineSource& source = arrays.sources[k];
  const int64_t inside = at.rest - source.first;
  return {k, at.whole * source.channels + inside, source.channels - inside};
}

// ---- four elements --------------------------------------------------------------------------------------------------

template <class E>
struct alignas(4 * sizeof(E) < 16 ? 4 * sizeof(E) : 16) Four {
  E at[4];
};

template <class E>
__device__ __forceinline__ bool is_whole(const E* address, int count) {
  return count == 4 && reinterpret_cast<uintptr_t>(address) % alignof(Four<E>) == 0;
}

template <class E>
__device__ __forceinline__ Four<E> load_four(const E* from, int count) {
  if (is_whole(from, count)) return *reinterpret_cast<const Four<E>*>(from);
  Four<E> loaded = {};
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (k < count) loaded.at[k] = from[k];
  return loaded;
}

template <class E>
__device__ __forceinline__ void store_four(E* to, const Four<E>& values, int count) {
  if (is_whole(to, count)) {
    *reinterpret_cast<Four<E>*>(to) = values;
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (k < count) to[k] = values.at[k];
}

// ---- integers: four in the bytes of a word
// ---------------------------------------------------------------------------

__device__ __forceinline__ uint32_t limited(uint32_t bytes, int32_t bound) {
  return __vminu4(bytes, static_cast<uint32_t>(bound) * 0x01010101u);
}

template <class E>
__device__ __forceinline__ uint32_t four_spikes(const CombineSource& source, int64_t at, int count) {
  const Four<E> loaded = load_four(static_cast<const E*>(source.array.data) + at, count);
  const E magnitude = static_cast<E>(source.array.magnitude);
  uint32_t bytes = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) bytes |= static_cast<uint32_t>((loaded.at[k] & magnitude) != 0) << (8 * k);
  return bytes;
}

// The lower four bits of a word as bytes, and back.
__device__ __forceinline__ uint32_t bytes_of_bits(uint32_t bits) {
  return ((bits & 0xFu) * 0x00204081u) & 0x01010101u;
}
__device__ __forceinline__ uint32_t bits_of_bytes(uint32_t bytes) {
  return (bytes * 0x10204080u) >> 28;
}

__device__ __forceinline__ uint32_t four_integers(const CombineSource& source, int64_t t, int64_t b, int64_t n,
                                                  int count) {
  const int64_t at = source.dense(t, b, n);
  switch (source.storage) {
    case SpikeStorage::bytes1: {
      const Four<uint8_t> loaded = load_four(static_cast<const uint8_t*>(source.array.data) + at, count);
      const uint32_t bytes = loaded.at[0] | static_cast<uint32_t>(loaded.at[1]) << 8 |
                             static_cast<uint32_t>(loaded.at[2]) << 16 | static_cast<uint32_t>(loaded.at[3]) << 24;
      return limited(bytes, source.bound);
    }
    case SpikeStorage::bytes2:
      return four_spikes<uint16_t>(source, at, count);
    case SpikeStorage::bytes4:
      return four_spikes<uint32_t>(source, at, count);
    case SpikeStorage::bytes8:
      return four_spikes<uint64_t>(source, at, count);
    case SpikeStorage::bits:
      return bytes_of_bits(bits_from(source.words(t, b), n, count));
    default: {
      const Four<uint32_t> words = load_four(source.time_words(t / 32, b, n), count);
      const int bit = static_cast<int>(t % 32);
      uint32_t bytes = 0;
#pragma unroll
      for (int k = 0; k < 4; ++k) bytes |= (words.at[k] >> bit & 1u) << (8 * k);
      return bytes;
    }
  }
}

__device__ __forceinline__ uint32_t combined(CombineKind kind, uint32_t a, uint32_t b) {
  if (kind == CombineKind::sum) return a + b;  // no byte overflows: the sum of the bounds is at most 255
  return kind == CombineKind::both ? a & b : a & ~b;
}

// ---- numbers --------------------------------------------------------------------------------------------------------

template <class R, class First, class... Rest>
__device__ __forceinline__ void load_numbers(core::ElementTypes<First, Rest...>, int32_t dtype, const void* data,
                                             int64_t at, int count, R (&to)[4]) {
  if constexpr (sizeof...(Rest) > 0)
    if (dtype != core::dtype_of<First>) return load_numbers(core::ElementTypes<Rest...>{}, dtype, data, at, count, to);
  const Four<First> loaded = load_four(static_cast<const First*>(data) + at, count);
#pragma unroll
  for (int k = 0; k < 4; ++k) to[k] = static_cast<R>(decode(loaded.at[k]));
}

template <class R>
__device__ __forceinline__ void four_numbers(const CombineSource& source, const Unit& at, int64_t n, int count,
                                             R (&to)[4]) {
  if (source.is_number)
    return load_numbers<R>(NumberTypesBeside<R>{}, source.dtype, source.array.data, source.dense(at.t, at.b, n), count,
                           to);
  const uint32_t bytes = four_integers(source, at.t, at.b, n, count);
#pragma unroll
  for (int k = 0; k < 4; ++k) to[k] = static_cast<R>(bytes >> (8 * k) & 0xFFu);
}

template <class R>
__device__ __forceinline__ void joined_numbers(const CombineArrays& arrays, const Unit& at, R (&to)[4]) {
  const Part part = part_of(arrays, at.n);
  if (part.left >= at.count) return four_numbers(arrays.sources[part.source], at, part.element, at.count, to);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (k < at.count) {
      const Part own = part_of(arrays, at.n + k);
      R one[4];
      four_numbers(arrays.sources[own.source], at, own.element, 1, one);
      to[k] = one[0];
    }
  }
}

template <class R>
__device__ __forceinline__ R combined(CombineKind kind, R a, R b) {
  if (kind == CombineKind::sum) return a + b;
  return kind == CombineKind::both ? a * b : a * (R(1) - b);
}

template <class To>
__global__ void __launch_bounds__(threads_per_block) combine_numbers(const __grid_constant__ CombineLaunch launch) {
  wait_for_previous();
  using R = Arithmetic<To>;
  const CombineArrays& arrays = launch.arrays;
  for (int64_t index = first_element(); index < launch.n_units; index += stride()) {
    const Unit at = unit_at(arrays.extents, launch.per_row, index, combine_numbers_unit);
    R row[4] = {};
    if (arrays.kind == CombineKind::concatenate) {
      joined_numbers(arrays, at, row);
    } else {
      four_numbers(arrays.sources[0], at, at.n, at.count, row);
      for (int s = 1; s < arrays.n_sources; ++s) {
        R other[4];
        four_numbers(arrays.sources[s], at, at.n, at.count, other);
#pragma unroll
        for (int k = 0; k < 4; ++k) row[k] = combined<R>(arrays.kind, row[k], other[k]);
      }
    }
    Four<To> written;
#pragma unroll
    for (int k = 0; k < 4; ++k) written.at[k] = encode<To, R>(row[k]);
    store_four(static_cast<To*>(arrays.destination.data) + at.t * arrays.destination.pitch +
                   at.b * arrays.extents.n_neurons + at.n,
               written, at.count);
  }
}

// ---- bytes ----------------------------------------------------------------------------------------------------------

struct alignas(16) Sixteen {
  uint32_t bytes[4];  // four elements in each
};

template <class E>
__device__ __forceinline__ bool is_aligned_for_sixteen(const E* address) {
  return reinterpret_cast<uintptr_t>(address) % alignof(Sixteen) == 0;
}

__device__ __forceinline__ int in_quarter(int count, int quarter) {
  const int left = count - 4 * quarter;
  return left < 0 ? 0 : left < 4 ? left : 4;
}

__device__ __forceinline__ Sixteen sixteen_integers(const CombineSource& source, const Unit& at, int64_t n) {
  Sixteen loaded;
  if (source.storage == SpikeStorage::bytes1 && at.count == combine_bytes_unit) {
    const uint8_t* const from = static_cast<const uint8_t*>(source.array.data) + source.dense(at.t, at.b, n);
    if (is_aligned_for_sixteen(from)) {
      loaded = *reinterpret_cast<const Sixteen*>(from);
#pragma unroll
      for (uint32_t& bytes : loaded.bytes) bytes = limited(bytes, source.bound);
      return loaded;
    }
  }
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    const int count = in_quarter(at.count, q);
    loaded.bytes[q] = count > 0 ? four_integers(source, at.t, at.b, n + 4 * q, count) : 0;
  }
  return loaded;
}

// Bytes that may be of several sources.
__device__ __forceinline__ uint32_t four_joined(const CombineArrays& arrays, const Unit& at, int64_t n, int count) {
  const Part part = part_of(arrays, n);
  if (part.left >= count) return four_integers(arrays.sources[part.source], at.t, at.b, part.element, count);
  uint32_t bytes = 0;
  for (int k = 0; k < count; ++k) {
    const Part own = part_of(arrays, n + k);
    bytes |= (four_integers(arrays.sources[own.source], at.t, at.b, own.element, 1) & 0xFFu) << (8 * k);
  }
  return bytes;
}

__device__ __forceinline__ Sixteen sixteen_joined(const CombineArrays& arrays, const Unit& at) {
  const Part part = part_of(arrays, at.n);
  if (part.left >= at.count) return sixteen_integers(arrays.sources[part.source], at, part.element);
  Sixteen joined;
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    const int count = in_quarter(at.count, q);
    joined.bytes[q] = count > 0 ? four_joined(arrays, at, at.n + 4 * q, count) : 0;
  }
  return joined;
}

__global__ void __launch_bounds__(threads_per_block) combine_bytes(const __grid_constant__ CombineLaunch launch) {
  wait_for_previous();
  const CombineArrays& arrays = launch.arrays;
  for (int64_t index = first_element(); index < launch.n_units; index += stride()) {
    const Unit at = unit_at(arrays.extents, launch.per_row, index, combine_bytes_unit);
    Sixteen row;
    if (arrays.kind == CombineKind::concatenate) {
      row = sixteen_joined(arrays, at);
    } else {
      row = sixteen_integers(arrays.sources[0], at, at.n);
      for (int s = 1; s < arrays.n_sources; ++s) {
        const Sixteen other = sixteen_integers(arrays.sources[s], at, at.n);
#pragma unroll
        for (int q = 0; q < 4; ++q) row.bytes[q] = combined(arrays.kind, row.bytes[q], other.bytes[q]);
      }
    }
    uint8_t* const to = static_cast<uint8_t*>(arrays.destination.data) + at.t * arrays.destination.pitch +
                        at.b * arrays.extents.n_neurons + at.n;
    if (at.count == combine_bytes_unit && is_aligned_for_sixteen(to)) {
      *reinterpret_cast<Sixteen*>(to) = row;
    } else {
#pragma unroll
      for (int k = 0; k < combine_bytes_unit; ++k)
        if (k < at.count) to[k] = static_cast<uint8_t>(row.bytes[k / 4] >> (8 * (k % 4)));
    }
  }
}

// ---- packed words ---------------------------------------------------------------------------------------------------

// `count` spikes, at most 32, from element n of a row on.
__device__ __forceinline__ uint32_t packed_spikes(const CombineSource& source, int64_t t, int64_t b, int64_t n,
                                                  int count) {
  if (source.storage == SpikeStorage::bits) return bits_from(source.words(t, b), n, count);
  uint32_t word = 0;
  for (int k = 0; k < count; k += 4)
    word |= bits_of_bytes(four_integers(source, t, b, n + k, count - k < 4 ? count - k : 4)) << k;
  return word;
}

__global__ void __launch_bounds__(threads_per_block) combine_bits(const __grid_constant__ CombineLaunch launch) {
  wait_for_previous();
  const CombineArrays& arrays = launch.arrays;
  for (int64_t index = first_element(); index < launch.n_units; index += stride()) {
    const Unit at = unit_at(arrays.extents, launch.per_row, index, combine_bits_unit);
    uint32_t word = 0;
    if (arrays.kind == CombineKind::concatenate) {
      for (int k = 0; k < at.count;) {
        const Part part = part_of(arrays, at.n + k);
        const int count = part.left < at.count - k ? static_cast<int>(part.left) : at.count - k;
        word |= packed_spikes(arrays.sources[part.source], at.t, at.b, part.element, count) << k;
        k += count;
      }
    } else {
      word = packed_spikes(arrays.sources[0], at.t, at.b, at.n, at.count);
      for (int s = 1; s < arrays.n_sources; ++s)
        word = combined(arrays.kind, word, packed_spikes(arrays.sources[s], at.t, at.b, at.n, at.count));
    }
    static_cast<uint32_t*>(
        arrays.destination.data)[at.t * arrays.destination.pitch + at.b * arrays.extents.words_per_row() + at.n / 32] =
        word;
  }
}

// The word of an element and up to 32 steps.
__device__ __forceinline__ uint32_t time_packed_spikes(const CombineSource& source, int64_t group, int steps, int64_t b,
                                                       int64_t n) {
  if (source.storage == SpikeStorage::time_bits) return *source.time_words(group, b, n) & (0xFFFFFFFFu >> (32 - steps));
  uint32_t word = 0;
  for (int step = 0; step < steps; ++step) word |= (four_integers(source, group * 32 + step, b, n, 1) & 1u) << step;
  return word;
}

__global__ void __launch_bounds__(threads_per_block) combine_time_bits(const __grid_constant__ CombineLaunch launch) {
  wait_for_previous();
  const CombineArrays& arrays = launch.arrays;
  for (int64_t index = first_element(); index < launch.n_units; index += stride()) {
    const Unit at = unit_at(arrays.extents, launch.per_row, index, 1);
    const int64_t left = arrays.extents.n_steps - at.t * 32;
    const int steps = left < 32 ? static_cast<int>(left) : 32;
    uint32_t word = 0;
    if (arrays.kind == CombineKind::concatenate) {
      const Part part = part_of(arrays, at.n);
      word = time_packed_spikes(arrays.sources[part.source], at.t, steps, at.b, part.element);
    } else {
      word = time_packed_spikes(arrays.sources[0], at.t, steps, at.b, at.n);
      for (int s = 1; s < arrays.n_sources; ++s)
        word = combined(arrays.kind, word, time_packed_spikes(arrays.sources[s], at.t, steps, at.b, at.n));
    }
    static_cast<uint32_t*>(
        arrays.destination.data)[at.t * arrays.destination.pitch + at.b * arrays.extents.n_neurons + at.n] = word;
  }
}

// ---- gradients ------------------------------------------------------------------------------------------------------

template <class R>
__device__ __forceinline__ void four_gradients(const CombineGradientArrays& arrays, const Unit& at, R (&to)[4]) {
  const int64_t row = at.t * arrays.from_pitch + at.b * arrays.from_neurons;
  const auto load = [&](int64_t n, int count, R(&numbers)[4]) {
    load_numbers<R>(NumberTypesBeside<R>{}, arrays.from_dtype, arrays.from, row + n, count, numbers);
  };
  if (arrays.kind != CombineKind::concatenate) return load(at.n, at.count, to);
  const Quotient first = divided(at.n, arrays.channels);
  if (first.rest + at.count <= arrays.channels)
    return load(first.whole * arrays.from_channels + arrays.first + first.rest, at.count, to);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (k < at.count) {
      const Quotient own = divided(at.n + k, arrays.channels);
      R one[4];
      load(own.whole * arrays.from_channels + arrays.first + own.rest, 1, one);
      to[k] = one[0];
    }
  }
}

template <class To>
__global__ void __launch_bounds__(threads_per_block)
    combine_gradient(const __grid_constant__ CombineGradientLaunch launch) {
  wait_for_previous();
  using R = Arithmetic<To>;
  const CombineGradientArrays& arrays = launch.arrays;
  const bool both = arrays.kind == CombineKind::both, alone = arrays.kind == CombineKind::first_alone;
  for (int64_t index = first_element(); index < launch.n_units; index += stride()) {
    const Unit at = unit_at(arrays.extents, launch.per_row, index, combine_numbers_unit);
    R gradient[4] = {};
    four_gradients(arrays, at, gradient);
    if (both || alone) {
      R other[4];
      four_numbers(arrays.other, at, at.n, at.count, other);
#pragma unroll
      for (int k = 0; k < 4; ++k)
        gradient[k] = both               ? gradient[k] * other[k]
                      : arrays.of_second ? -gradient[k] * other[k]
                                         : gradient[k] * (R(1) - other[k]);
    }
    To* const to = static_cast<To*>(arrays.to) + at.t * arrays.to_pitch + at.b * arrays.extents.n_neurons + at.n;
    if (arrays.add) {
      const Four<To> held = load_four(static_cast<const To*>(to), at.count);
#pragma unroll
      for (int k = 0; k < 4; ++k) gradient[k] = static_cast<R>(decode(held.at[k])) + gradient[k];
    }
    Four<To> written;
#pragma unroll
    for (int k = 0; k < 4; ++k) written.at[k] = encode<To, R>(gradient[k]);
    store_four(to, written, at.count);
  }
}

}  // namespace

const void* combine_numbers_kernel(int32_t dtype) {
  return core::with_element_type(NumberTypes{}, dtype,
                                 [](auto type) { return address(combine_numbers<typename decltype(type)::Type>); });
}
const void* combine_bytes_kernel() {
  return address(combine_bytes);
}
const void* combine_bits_kernel() {
  return address(combine_bits);
}
const void* combine_time_bits_kernel() {
  return address(combine_time_bits);
}
const void* combine_gradient_kernel(int32_t dtype) {
  return core::with_element_type(NumberTypes{}, dtype,
                                 [](auto type) { return address(combine_gradient<typename decltype(type)::Type>); });
}

}  // namespace synfire::cuda

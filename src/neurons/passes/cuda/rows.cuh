// One step of a thread's neurons: loads, stores and stored form.
#ifndef SYNFIRE_NEURONS_PASSES_CUDA_ROWS_CUH
#define SYNFIRE_NEURONS_PASSES_CUDA_ROWS_CUH

#include "tiles.cuh"

#include <backends/cuda/cuda_storage.cuh>

namespace synfire::cuda {
namespace {

// ---- W elements of a thread -----------------------------------------------------------------------------------------

template <class R, int W>
struct alignas(sizeof(R) * W) Vector {
  R e[W];
};

template <class O, class R>
__device__ __forceinline__ Vector<R, O::width> load(const R* at) {
  if constexpr (O::adjacent > 1) {
    return *reinterpret_cast<const Vector<R, O::width>*>(at);
  } else {
    Vector<R, O::width> values;
#pragma unroll
    for (int w = 0; w < O::width; ++w) values.e[w] = at[O::offset(w)];
    return values;
  }
}
// At most sixteen bytes per access.
template <class O, class R>
__device__ __forceinline__ void store(R* at, const Vector<R, O::width>& values, const Owned<O>& owned) {
  if constexpr (O::adjacent > 1) {
    constexpr int part = O::width * static_cast<int>(sizeof(R)) <= 16 ? O::width : 16 / static_cast<int>(sizeof(R));
    if (!owned.any()) return;
#pragma unroll
    for (int w = 0; w < O::width; w += part) {
      Vector<R, part> some;
#pragma unroll
      for (int k = 0; k < part; ++k) some.e[k] = values.e[w + k];
      *reinterpret_cast<Vector<R, part>*>(at + w) = some;
    }
  } else {
#pragma unroll
    for (int w = 0; w < O::width; ++w)
      if (owned[w]) at[O::offset(w)] = values.e[w];
  }
}

// A load under a condition of the whole warp, without a branch, over which the compiler would not move other loads. If
// the condition does not hold, the value is none. The compiler keeps the order of these loads.
template <int Offset, class T>
__device__ __forceinline__ void load_if(bool condition, const T* at, T& value) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16);
  constexpr int bytes = Offset * static_cast<int>(sizeof(T));
  const u32 wanted = condition ? 1u : 0u;
  if constexpr (sizeof(T) == 2) {
    uint16_t half;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.u16 %0, [%1 + %3]; }"
                 : "=h"(half)
                 : "l"(at), "r"(wanted), "n"(bytes));
    memcpy(&value, &half, sizeof half);
  } else {
    u32 words[sizeof(T) / 4];
    if constexpr (sizeof(T) == 4)
      asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.u32 %0, [%1 + %3]; }"
                   : "=r"(words[0])
                   : "l"(at), "r"(wanted), "n"(bytes));
    else if constexpr (sizeof(T) == 8)
      asm volatile("{ .reg .pred p; setp.ne.u32 p, %3, 0; @p ld.global.v2.u32 {%0, %1}, [%2 + %4]; }"
                   : "=r"(words[0]), "=r"(words[1])
                   : "l"(at), "r"(wanted), "n"(bytes));
    else
      asm volatile("{ .reg .pred p; setp.ne.u32 p, %5, 0; @p ld.global.v4.u32 {%0, %1, %2, %3}, [%4 + %6]; }"
                   : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                   : "l"(at), "r"(wanted), "n"(bytes));
    memcpy(&value, words, sizeof value);
  }
}
// A load that begins here, before all that does not need its value.
template <class T>
__device__ __forceinline__ T load_now(const T* at) {
  T value;
  load_if<0>(true, at, value);
  return value;
}

template <int W>
struct Index {
  static constexpr int value = W;
};
template <int W, class F>
__device__ __forceinline__ void for_each_neuron(F f) {
  if constexpr (W > 1) for_each_neuron<W - 1>(f);
  f(Index<W - 1>{});
}

template <class O, class R>
__device__ __forceinline__ void load_row_if(bool condition, const R* at, Vector<R, O::width>& values) {
  if constexpr (O::adjacent > 1) {
    static_assert(O::width * sizeof(R) <= 16, "one access");
    load_if<0>(condition, reinterpret_cast<const Vector<R, O::width>*>(at), values);
  } else {
    for_each_neuron<O::width>([&](auto w) {
      constexpr int w_value = decltype(w)::value;
      load_if<w_value * warp_lanes>(condition, at, values.e[w_value]);
    });
  }
}
template <class O, class R>
__device__ __forceinline__ Vector<R, O::width> load_row_now(const R* at) {
  Vector<R, O::width> values;
  load_row_if<O>(true, at, values);
  return values;
}

// ---- a row between load and use, and between use and store ----------------------------------------------------------

// In registers: neighbouring 16-bit elements in pairs, as the conversion instructions take them.
template <class E, class O>
inline constexpr bool in_pairs = sizeof(E) == 2 && O::adjacent % 2 == 0;
template <class E, class O, bool Pairs = in_pairs<E, O>>
struct RowOf {
  using type = Vector<E, O::width>;
};
template <class E, class O>
struct RowOf<E, O, true> {
  using type = Vector<u32, O::width / 2>;
};

template <class E>
__device__ __forceinline__ float2 decode_pair(u32 pair) {
  if constexpr (is_same<E, F16>)
    return {f32_of_f16(static_cast<uint16_t>(pair)), f32_of_f16(static_cast<uint16_t>(pair >> 16))};
  else
    return {__uint_as_float(pair << 16), __uint_as_float(pair & 0xFFFF0000u)};
}
template <class E>
__device__ __forceinline__ u32 encode_pair(float low, float high) {
  return is_same<E, F16> ? f16_pair(low, high) : bf16_pair(low, high);
}

template <class E, class O>
__device__ __forceinline__ Vector<Arithmetic<E>, O::width> decoded_row(const typename RowOf<E, O>::type& row) {
  constexpr int W = O::width;
  Vector<Arithmetic<E>, W> values;
  if constexpr (in_pairs<E, O>) {
#pragma unroll
    for (int w = 0; w < W; w += 2) {
      const float2 pair = decode_pair<E>(row.e[w / 2]);
      values.e[w] = pair.x;
      values.e[w + 1] = pair.y;
    }
  } else {
#pragma unroll
    for (int w = 0; w < W; ++w) values.e[w] = decode(row.e[w]);
  }
  return values;
}

template <class E, class O>
__device__ __forceinline__ typename RowOf<E, O>::type encoded_row(const Vector<Arithmetic<E>, O::width>& values) {
  constexpr int W = O::width;
  typename RowOf<E, O>::type row;
  if constexpr (in_pairs<E, O>) {
#pragma unroll
    for (int w = 0; w < W; w += 2) row.e[w / 2] = encode_pair<E>(values.e[w], values.e[w + 1]);
  } else {
#pragma unroll
    for (int w = 0; w < W; ++w) row.e[w] = encode<E>(values.e[w]);
  }
  return row;
}

}  // namespace
}  // namespace synfire::cuda

#endif
